// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

relay.func @syntax(%x: tensor<3x4xf32>, %i: tensor<2x?xi32>, %u: tensor<2x?xf32>, %v: tensor<?xf32>) -> tensor<3x4xf32> {
  %0 = relay.scatter_elements %x, %i, %u {axis = 1, reduction = "add"} : (tensor<3x4xf32>, tensor<2x?xi32>, tensor<2x?xf32>) -> tensor<3x4xf32>
  %1 = relay.scatter_nd %x, %i, %v {mode = "max"} : (tensor<3x4xf32>, tensor<2x?xi32>, tensor<?xf32>) -> tensor<3x4xf32>
  relay.return %0 : tensor<3x4xf32>
}
// CHECK-LABEL: relay.func @syntax
// CHECK-NEXT:    relay.scatter_elements %x, %i, %u {axis = 1, reduction = "add"} : (tensor<3x4xf32>, tensor<2x?xi32>, tensor<2x?xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:    relay.scatter_nd %x, %i, %v {mode = "max"} : (tensor<3x4xf32>, tensor<2x?xi32>, tensor<?xf32>) -> tensor<3x4xf32>

// -----

relay.func @updates(%x: tensor<3x4xf32>, %i: tensor<2x4xi64>, %u: tensor<2x3xf32>) {
  // expected-error @below {{updates must be [2, 4] elements of type f32, but are tensor<2x3xf32>}}
  %0 = relay.scatter_elements %x, %i, %u : (tensor<3x4xf32>, tensor<2x4xi64>, tensor<2x3xf32>) -> tensor<3x4xf32>
  relay.return
}

// -----

relay.func @reduction(%x: tensor<3xf32>, %i: tensor<2xi64>, %u: tensor<2xf32>) {
  // expected-error @below {{reduction is "mean"; expected one of update, add, mul, min, max}}
  %0 = relay.scatter_elements %x, %i, %u {reduction = "mean"} : (tensor<3xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<3xf32>
  relay.return
}

// -----

relay.func @coordinates(%x: tensor<3xf32>, %i: tensor<2x4xi64>, %u: tensor<4xf32>) {
  // expected-error @below {{2 coordinates are more than the 1 dimensions of the data}}
  %0 = relay.scatter_nd %x, %i, %u : (tensor<3xf32>, tensor<2x4xi64>, tensor<4xf32>) -> tensor<3xf32>
  relay.return
}
