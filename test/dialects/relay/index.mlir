// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

relay.func @syntax(%x: tensor<3x4xf32>, %i: tensor<2x?xi64>) -> tensor<2x?x4xf32> {
  %0 = relay.take %x, %i {axis = 0, mode = "wrap"} : (tensor<3x4xf32>, tensor<2x?xi64>) -> tensor<2x?x4xf32>
  %1 = relay.take %x, %i : (tensor<3x4xf32>, tensor<2x?xi64>) -> tensor<2x?xf32>
  %2 = relay.gather %x, %i {axis = 1} : (tensor<3x4xf32>, tensor<2x?xi64>) -> tensor<2x?xf32>
  %3 = relay.gather_nd %x, %i : (tensor<3x4xf32>, tensor<2x?xi64>) -> tensor<?xf32>
  %4 = relay.trilu %x {k = -1, upper = false} : tensor<3x4xf32>
  relay.return %0 : tensor<2x?x4xf32>
}
// CHECK-LABEL: relay.func @syntax
// CHECK-NEXT:    relay.take %x, %i {axis = 0, mode = "wrap"} : (tensor<3x4xf32>, tensor<2x?xi64>) -> tensor<2x?x4xf32>
// CHECK-NEXT:    relay.take %x, %i : (tensor<3x4xf32>, tensor<2x?xi64>) -> tensor<2x?xf32>
// CHECK-NEXT:    relay.gather %x, %i {axis = 1} : (tensor<3x4xf32>, tensor<2x?xi64>) -> tensor<2x?xf32>
// CHECK-NEXT:    relay.gather_nd %x, %i : (tensor<3x4xf32>, tensor<2x?xi64>) -> tensor<?xf32>
// CHECK-NEXT:    relay.trilu %x {k = -1, upper = false} : tensor<3x4xf32>

// -----

relay.func @element(%x: tensor<3xf32>, %i: tensor<2xui8>) {
  // expected-error @below {{indices must be i32 or i64, but are ui8; cast them}}
  %0 = relay.take %x, %i {axis = 0} : (tensor<3xf32>, tensor<2xui8>) -> tensor<2xf32>
  relay.return
}

// -----

relay.func @mode(%x: tensor<3xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{mode is "clamp"; expected "clip", "wrap" or "fast"}}
  %0 = relay.take %x, %i {axis = 0, mode = "clamp"} : (tensor<3xf32>, tensor<2xi64>) -> tensor<2xf32>
  relay.return
}

// -----

relay.func @nothing(%x: tensor<0xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{take reads 2 elements of a dimension of size 0}}
  %0 = relay.take %x, %i {axis = 0} : (tensor<0xf32>, tensor<2xi64>) -> tensor<2xf32>
  relay.return
}

// -----

relay.func @larger(%x: tensor<3x4xf32>, %i: tensor<4x1xi64>) {
  // expected-error @below {{indices of shape [4, 1] do not fit data of shape [3, 4]}}
  %0 = relay.gather %x, %i {axis = 1} : (tensor<3x4xf32>, tensor<4x1xi64>) -> tensor<4x1xf32>
  relay.return
}

// -----

relay.func @coordinates(%x: tensor<3x4xf32>, %i: tensor<?x2xi64>) {
  // expected-error @below {{the first dimension of the indices must be known, but they are [?, 2]}}
  %0 = relay.gather_nd %x, %i : (tensor<3x4xf32>, tensor<?x2xi64>) -> tensor<2xf32>
  relay.return
}

// -----

relay.func @vector(%x: tensor<3xf32>) {
  // expected-error @below {{trilu expects a tensor of rank 2 or more, but found tensor<3xf32>}}
  %0 = relay.trilu %x : tensor<3xf32>
  relay.return
}
