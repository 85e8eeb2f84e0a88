// RUN: relay-opt %s -p relay-to-linalg --split-input-file --verify-diagnostics | filecheck %s

// The shape function: the first check that fails with its two sizes, then the open sizes of the outputs.
// CHECK-LABEL: func.func @main(
// CHECK:       func.func private @main.shapes(%[[X:.*]]: index, %[[Y:.*]]: index) -> (index, index, index, index)
// CHECK-SAME:      checks = ["/add: y.shape[0] and x.shape[0] must be equal"]
// CHECK:         %[[SIZE:.*]] = arith.muli %[[X]], %{{.*}} : index
// CHECK:         %[[DIFFER:.*]] = arith.cmpi ne, %[[Y]], %[[X]] : index
// CHECK:         %[[NUMBER:.*]] = arith.select %[[DIFFER]], %{{.*}}, %{{.*}} : index
// CHECK:         %[[LEFT:.*]] = arith.select %[[DIFFER]], %[[Y]], %{{.*}} : index
// CHECK:         %[[RIGHT:.*]] = arith.select %[[DIFFER]], %[[X]], %{{.*}} : index
// CHECK:         func.return %[[NUMBER]], %[[LEFT]], %[[RIGHT]], %[[SIZE]]
relay.func @main(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<?xf32> attributes {input_names = ["x", "y"]} {
  %0 = relay.add %x, %y : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32> loc("/add")
  %1 = relay.reshape %0 {newshape = [-1]} : (tensor<?x4xf32>) -> tensor<?xf32>
  relay.return %1 : tensor<?xf32>
}

// -----

// Dimensions of one name are one size, checked once; the addition needs no check of its own.
// CHECK-LABEL: func.func @main(
// CHECK:         %[[N:.*]] = tensor.dim %x, %{{.*}} : tensor<?xf32>
// CHECK:         tensor.empty(%[[N]]) : tensor<?xf32>
// CHECK:       @main.shapes
// CHECK-SAME:      checks = ["{{.*}}: y.shape[0] and x.shape[0] must be equal"]
relay.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> attributes {input_names = ["x", "y"], dim_names = [["N"], ["N"]]} {
  %0 = relay.add %y, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32> loc("/add")
  relay.return %0 : tensor<?xf32>
}

// -----

// A size in a body is an index that is converted there.
// CHECK-LABEL: func.func @mean(
// CHECK:         %[[N:.*]] = tensor.dim %x, %{{.*}} : tensor<2x?xf32>
// CHECK:         %[[I:.*]] = arith.index_cast %[[N]] : index to i64
// CHECK:         %[[F:.*]] = arith.sitofp %[[I]] : i64 to f32
// CHECK:         arith.divf %{{.*}}, %[[F]] : f32
relay.func @mean(%x: tensor<2x?xf32>) -> tensor<2xf32> {
  %0 = relay.mean %x {axis = [1]} : (tensor<2x?xf32>) -> tensor<2xf32>
  relay.return %0 : tensor<2xf32>
}

// -----

relay.func @depends_on_the_size(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @below {{dimension 0 of the result, tensor<?xf32>, cannot be told from the sizes of the operands; bind the model's dynamic input dimensions with --shape}}
  %0 = relay.strided_slice %x {begin = [1], end = [3]} : (tensor<?xf32>) -> tensor<?xf32>
  relay.return %0 : tensor<?xf32>
}
