// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

relay.func @syntax(%x: tensor<?x3x4xf32>, %y: tensor<1x3xi8>) -> tensor<?x12xf32> {
  %0 = relay.reshape %x {newshape = [0, -1]} : (tensor<?x3x4xf32>) -> tensor<?x12xf32>
  %1 = relay.reshape %y {newshape = [-4, 1, -1, 3], allowzero = false} : (tensor<1x3xi8>) -> tensor<1x1x3xi8>
  %2 = relay.squeeze %y : (tensor<1x3xi8>) -> tensor<3xi8>
  %3 = relay.squeeze %y {axis = [0]} : (tensor<1x3xi8>) -> tensor<3xi8>
  %4 = relay.expand_dims %y {axis = -1, num_newaxis = 2} : (tensor<1x3xi8>) -> tensor<1x3x1x1xi8>
  %5 = relay.reshape_like %y, %2 {lhs_end = 2} : (tensor<1x3xi8>, tensor<3xi8>) -> tensor<3xi8>
  %6 = relay.nn.batch_flatten %x : (tensor<?x3x4xf32>) -> tensor<?x12xf32>
  %7 = relay.broadcast_to %y {shape = [2, 2, 3]} : (tensor<1x3xi8>) -> tensor<2x2x3xi8>
  %8 = relay.broadcast_to_like %y, %7 : (tensor<1x3xi8>, tensor<2x2x3xi8>) -> tensor<2x2x3xi8>
  relay.return %0 : tensor<?x12xf32>
}
// CHECK-LABEL: relay.func @syntax
// CHECK-NEXT:    relay.reshape %x {newshape = [0, -1]} : (tensor<?x3x4xf32>) -> tensor<?x12xf32>
// CHECK-NEXT:    relay.reshape %y {newshape = [-4, 1, -1, 3]} : (tensor<1x3xi8>) -> tensor<1x1x3xi8>
// CHECK-NEXT:    relay.squeeze %y : (tensor<1x3xi8>) -> tensor<3xi8>
// CHECK-NEXT:    relay.squeeze %y {axis = [0]} : (tensor<1x3xi8>) -> tensor<3xi8>
// CHECK-NEXT:    relay.expand_dims %y {axis = -1, num_newaxis = 2} : (tensor<1x3xi8>) -> tensor<1x3x1x1xi8>
// CHECK-NEXT:    relay.reshape_like %y, {{.*}} {lhs_end = 2} : (tensor<1x3xi8>, tensor<3xi8>) -> tensor<3xi8>
// CHECK-NEXT:    relay.nn.batch_flatten %x : (tensor<?x3x4xf32>) -> tensor<?x12xf32>
// CHECK-NEXT:    relay.broadcast_to %y {shape = [2, 2, 3]} : (tensor<1x3xi8>) -> tensor<2x2x3xi8>
// CHECK-NEXT:    relay.broadcast_to_like %y, {{.*}} : (tensor<1x3xi8>, tensor<2x2x3xi8>) -> tensor<2x2x3xi8>

// -----

relay.func @count(%x: tensor<2x3xf32>) {
  // expected-error @below {{a tensor of shape [2, 3] cannot be reshaped to [5]}}
  %0 = relay.reshape %x {newshape = [5]} : (tensor<2x3xf32>) -> tensor<5xf32>
  relay.return
}

// -----

relay.func @infer(%x: tensor<2x3xf32>) {
  // expected-error @below {{cannot infer -1 in [4, -1] from the shape [2, 3]}}
  %0 = relay.reshape %x {newshape = [4, -1]} : (tensor<2x3xf32>) -> tensor<4x1xf32>
  relay.return
}

// -----

relay.func @result(%x: tensor<2x3xf32>) {
  // expected-error @below {{result is tensor<3x2xf32>, but the operands give tensor<6xf32>}}
  %0 = relay.reshape %x {newshape = [6]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  relay.return
}

// -----

relay.func @squeeze(%x: tensor<2x3xf32>) {
  // expected-error @below {{cannot squeeze dimension 0 of size 2; expected 1}}
  %0 = relay.squeeze %x {axis = [0]} : (tensor<2x3xf32>) -> tensor<3xf32>
  relay.return
}

// -----

relay.func @squeeze_unknown(%x: tensor<?x3xf32>) {
  // expected-error @below {{squeeze of [?, 3] needs 'axis': a `?` may or may not be 1}}
  %0 = relay.squeeze %x : (tensor<?x3xf32>) -> tensor<3xf32>
  relay.return
}

// -----

relay.func @broadcast(%x: tensor<2x3xf32>) {
  // expected-error @below {{dimensions 3 and 4 do not broadcast}}
  %0 = relay.broadcast_to %x {shape = [2, 4]} : (tensor<2x3xf32>) -> tensor<2x4xf32>
  relay.return
}

// -----

relay.func @shrink(%x: tensor<2x3xf32>) {
  // expected-error @below {{a tensor of shape [2, 3] does not broadcast to [1, 3]}}
  %0 = relay.broadcast_to %x {shape = [1, 3]} : (tensor<2x3xf32>) -> tensor<1x3xf32>
  relay.return
}
