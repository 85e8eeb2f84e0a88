// RUN: relay-opt %s -p collapse-loops --split-input-file | filecheck %s

#image = affine_map<(n, y, x, o, dy, dx, i) -> (n, y + dy, x + dx, i)>
#kernel = affine_map<(n, y, x, o, dy, dx, i) -> (dy, dx, i, o)>
#pixel = affine_map<(n, y, x, o, dy, dx, i) -> (n, y, x, o)>

// A pointwise convolution becomes a matrix product: the kernel's loops of one iteration go, all pixels are one loop.
// CHECK-LABEL: func.func @pointwise(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<1x5x7x4xf32>, %[[K:[^:]*]]: tensor<1x1x4x8xf32>)
// CHECK:         %[[ROWS:.*]] = tensor.expand_shape {{.*}} into tensor<35x4xf32>
// CHECK:         %[[ZERO:.*]] = linalg.fill {{.*}} -> tensor<35x8xf32>
// CHECK:         linalg.generic
// CHECK-SAME:      affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (0, 0, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-SAME:      ["parallel", "parallel", "reduction"]
// CHECK-SAME:      ins(%[[ROWS]], %[[K]] : tensor<35x4xf32>, tensor<1x1x4x8xf32>) outs(%[[ZERO]] : tensor<35x8xf32>)
// CHECK:         %[[Y:.*]] = tensor.expand_shape {{.*}} into tensor<1x5x7x8xf32>
// CHECK-NEXT:    func.return %[[Y]]
func.func @pointwise(%x: tensor<1x5x7x4xf32>, %k: tensor<1x1x4x8xf32>) -> tensor<1x5x7x8xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<1x5x7x8xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<1x5x7x8xf32>) -> tensor<1x5x7x8xf32>
  %2 = linalg.generic {indexing_maps = [#image, #kernel, #pixel], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %k : tensor<1x5x7x4xf32>, tensor<1x1x4x8xf32>) outs(%1 : tensor<1x5x7x8xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x5x7x8xf32>
  func.return %2 : tensor<1x5x7x8xf32>
}

// -----

#image = affine_map<(n, y, x, o, dy, dx, i) -> (n, y + dy, x + dx, i)>
#kernel = affine_map<(n, y, x, o, dy, dx, i) -> (dy, dx, i, o)>
#pixel = affine_map<(n, y, x, o, dy, dx, i) -> (n, y, x, o)>

// A window reads rows that overlap, so its loops stay.
// CHECK-LABEL: func.func @window(
// CHECK-NOT:     tensor.collapse_shape
// CHECK:         linalg.generic
// CHECK-SAME:      ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
// CHECK-NOT:     tensor.expand_shape
func.func @window(%x: tensor<2x7x9x4xf32>, %k: tensor<3x3x4x8xf32>, %zero: tensor<2x5x7x8xf32>) -> tensor<2x5x7x8xf32> {
  %2 = linalg.generic {indexing_maps = [#image, #kernel, #pixel], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %k : tensor<2x7x9x4xf32>, tensor<3x3x4x8xf32>) outs(%zero : tensor<2x5x7x8xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x5x7x8xf32>
  func.return %2 : tensor<2x5x7x8xf32>
}

// -----

#left = affine_map<(m, n, k) -> (m, k)>
#right = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(b, t, n) -> (b, t, n)>
#bias = affine_map<(b, t, n) -> (n)>

// What reads the product through a reshape takes the product's loops, and the reshape between them goes.
// CHECK-LABEL: func.func @epilogue(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<6x4xf32>, %[[W:[^:]*]]: tensor<4x8xf32>, %[[B:[^:]*]]: tensor<8xf32>
// CHECK:         %[[P:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[W]] :
// CHECK-NOT:     tensor.expand_shape
// CHECK:         linalg.generic
// CHECK-SAME:      affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>
// CHECK-SAME:      ins(%[[P]], %[[B]] : tensor<6x8xf32>, tensor<8xf32>)
// CHECK:         %[[Y:.*]] = tensor.expand_shape {{.*}} into tensor<2x3x8xf32>
// CHECK-NEXT:    func.return %[[Y]]
func.func @epilogue(%x: tensor<6x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>, %zero: tensor<6x8xf32>) -> tensor<2x3x8xf32> {
  %1 = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<6x4xf32>, tensor<4x8xf32>) outs(%zero : tensor<6x8xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<6x8xf32>
  %2 = tensor.expand_shape %1 [[0, 1], [2]] output_shape [2, 3, 8] : tensor<6x8xf32> into tensor<2x3x8xf32>
  %3 = tensor.empty() : tensor<2x3x8xf32>
  %4 = linalg.generic {indexing_maps = [#id, #bias, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %b : tensor<2x3x8xf32>, tensor<8xf32>) outs(%3 : tensor<2x3x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<2x3x8xf32>
  func.return %4 : tensor<2x3x8xf32>
}

// -----

#left = affine_map<(m, n, k) -> (m, k)>
#right = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(b, t, n) -> (b, t, n)>

// A body that asks for its position keeps its loops, and with them the reshape.
// CHECK-LABEL: func.func @position(
// CHECK:         %[[E:.*]] = tensor.expand_shape {{.*}} into tensor<2x3x8xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[E]] : tensor<2x3x8xf32>)
// CHECK:           linalg.index 1
func.func @position(%x: tensor<6x4xf32>, %w: tensor<4x8xf32>, %zero: tensor<6x8xf32>) -> tensor<2x3x8xi64> {
  %1 = linalg.generic {indexing_maps = [#left, #right, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<6x4xf32>, tensor<4x8xf32>) outs(%zero : tensor<6x8xf32>) {
  ^bb0(%p: f32, %q: f32, %acc: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<6x8xf32>
  %2 = tensor.expand_shape %1 [[0, 1], [2]] output_shape [2, 3, 8] : tensor<6x8xf32> into tensor<2x3x8xf32>
  %3 = tensor.empty() : tensor<2x3x8xi64>
  %4 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2 : tensor<2x3x8xf32>) outs(%3 : tensor<2x3x8xi64>) {
  ^bb0(%p: f32, %o: i64):
    %t = linalg.index 1 : index
    %s = arith.index_cast %t : index to i64
    linalg.yield %s : i64
  } -> tensor<2x3x8xi64>
  func.return %4 : tensor<2x3x8xi64>
}

// -----

#first = affine_map<(r, k) -> (r, k)>
#rows = affine_map<(r, k) -> (r)>

// Reshapes that undo each other vanish.
// CHECK-LABEL: func.func @there_and_back(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<6x4xf32>
// CHECK-NOT:     tensor.expand_shape
// CHECK:         linalg.generic {{.*}} ins(%[[X]] : tensor<6x4xf32>)
func.func @there_and_back(%x: tensor<6x4xf32>, %zero: tensor<6xf32>) -> tensor<6xf32> {
  %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, 3, 4] : tensor<6x4xf32> into tensor<2x3x4xf32>
  %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x3x4xf32> into tensor<6x4xf32>
  %2 = linalg.generic {indexing_maps = [#first, #rows], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<6x4xf32>) outs(%zero : tensor<6xf32>) {
  ^bb0(%p: f32, %acc: f32):
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  func.return %2 : tensor<6xf32>
}
