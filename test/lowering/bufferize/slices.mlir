// RUN: relay-opt %s -p bufferize --split-input-file | filecheck %s

#id = affine_map<(i) -> (i)>

// Two results that are put into rectangles of one tensor without a common element are computed there.
// CHECK-LABEL: func.func @disjoint(
// CHECK-SAME:    %[[X:[^:]*]]: memref<4xf32>, %[[Y:[^:]*]]: memref<8xf32>)
// CHECK-DAG:     %[[EVEN:.*]] = memref.subview %[[Y]][0] [4] [2]
// CHECK-DAG:     %[[ODD:.*]] = memref.subview %[[Y]][1] [4] [2]
// CHECK:         linalg.generic {{.*}} outs(%[[EVEN]], %[[ODD]]
// CHECK-NOT:     memref.copy
// CHECK:         return
func.func @disjoint(%x: tensor<4xf32>) -> tensor<8xf32> {
  %y = tensor.empty() : tensor<8xf32>
  %e = tensor.empty() : tensor<4xf32>
  %o = tensor.empty() : tensor<4xf32>
  %0, %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e, %o : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %n = arith.negf %a : f32
    linalg.yield %a, %n : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  %2 = tensor.insert_slice %0 into %y[0] [4] [2] : tensor<4xf32> into tensor<8xf32>
  %3 = tensor.insert_slice %1 into %2[1] [4] [2] : tensor<4xf32> into tensor<8xf32>
  func.return %3 : tensor<8xf32>
}

// -----

#id = affine_map<(i) -> (i)>

// Where the rectangles overlap the later one has to win: it is copied.
// CHECK-LABEL: func.func @overlapping(
// CHECK:         linalg.generic
// CHECK:         memref.copy
// CHECK:         return
func.func @overlapping(%x: tensor<4xf32>) -> tensor<8xf32> {
  %y = tensor.empty() : tensor<8xf32>
  %e = tensor.empty() : tensor<4xf32>
  %o = tensor.empty() : tensor<4xf32>
  %0, %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e, %o : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %n = arith.negf %a : f32
    linalg.yield %a, %n : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  %2 = tensor.insert_slice %0 into %y[0] [4] [1] : tensor<4xf32> into tensor<8xf32>
  %3 = tensor.insert_slice %1 into %2[3] [4] [1] : tensor<4xf32> into tensor<8xf32>
  func.return %3 : tensor<8xf32>
}
