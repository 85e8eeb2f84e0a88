// RUN: relay-opt %s -p fuse-elementwise --split-input-file | filecheck %s

#id = affine_map<(i, j) -> (i, j)>
#swap = affine_map<(i, j) -> (j, i)>

// A producer that is read once moves into its consumer; what it reads is indexed through both maps.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<4x8xf32>
// CHECK:         linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>]
// CHECK-SAME:      ins(%[[X]] : tensor<4x8xf32>)
// CHECK:           arith.negf
// CHECK-NEXT:      arith.addf
// CHECK-NOT:     linalg.generic
func.func @chain(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %0 = tensor.empty() : tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<4x8xf32>
  %2 = tensor.empty() : tensor<8x4xf32>
  %3 = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<4x8xf32>) outs(%2 : tensor<8x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  func.return %3 : tensor<8x4xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// A value that is read twice stays a tensor: it would be computed twice.
// CHECK-LABEL: func.func @read_twice(
// CHECK:         %[[N:.*]] = linalg.generic
// CHECK:         linalg.generic
// CHECK:         func.return %[[N]]
func.func @read_twice(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = tensor.empty() : tensor<4x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<4x8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<4x8xf32>) outs(%0 : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  func.return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
#one = affine_map<(i) -> (i)>

// A costly value that is broadcast stays a tensor; a cheap one is computed at each position.
// CHECK-LABEL: func.func @broadcast(
// CHECK:         math.exp
// CHECK:         linalg.generic
// CHECK-NOT:     linalg.generic
// CHECK:           arith.negf
// CHECK:           arith.addf
func.func @broadcast(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = tensor.empty() : tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%0 : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = math.exp %a : f32
    linalg.yield %n : f32
  } -> tensor<8xf32>
  %2 = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%y : tensor<8xf32>) outs(%0 : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.negf %a : f32
    linalg.yield %n : f32
  } -> tensor<8xf32>
  %3 = tensor.empty() : tensor<4x8xf32>
  %4 = linalg.generic {indexing_maps = [#row, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%1, %2 : tensor<8xf32>, tensor<8xf32>) outs(%3 : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  func.return %4 : tensor<4x8xf32>
}

// -----

#one = affine_map<(i) -> (i)>

// A tensor of one value is the value.
// CHECK-LABEL: func.func @fill(
// CHECK:         %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-NOT:     linalg.fill
// CHECK:         linalg.generic
// CHECK:           arith.addf %{{.*}}, %[[ONE]] : f32
func.func @fill(%x: tensor<8xf32>) -> tensor<8xf32> {
  %one = arith.constant 1.0 : f32
  %0 = tensor.empty() : tensor<8xf32>
  %1 = linalg.fill ins(%one : f32) outs(%0 : tensor<8xf32>) -> tensor<8xf32>
  %2 = linalg.generic {indexing_maps = [#one, #one, #one], iterator_types = ["parallel"]} ins(%x, %1 : tensor<8xf32>, tensor<8xf32>) outs(%0 : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  func.return %2 : tensor<8xf32>
}
