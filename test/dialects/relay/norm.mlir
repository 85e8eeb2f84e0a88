// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: @batch_norm(
// CHECK: relay.nn.batch_norm %x, %p, %p, %p, %p {epsilon = 0.001}
relay.func @batch_norm(%x: tensor<2x3x4xf32>, %p: tensor<3xf32>) -> tensor<2x3x4xf32> {
  %0 = relay.nn.batch_norm %x, %p, %p, %p, %p {axis = 1, epsilon = 0.001} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  relay.return %0 : tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: @layer_norm(
// CHECK: relay.nn.layer_norm %x, %p, %p {axis = 1, scale = false} : (tensor<2x3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x4xf32>
relay.func @layer_norm(%x: tensor<2x3x4xf32>, %p: tensor<3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = relay.nn.layer_norm %x, %p, %p {axis = 1, scale = false} : (tensor<2x3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x4xf32>
  relay.return %0 : tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: @softmax(
// CHECK: relay.nn.softmax %x : tensor<2x3xf32>
// CHECK-NEXT: relay.nn.log_softmax %0 {axis = 0} : tensor<2x3xf32>
relay.func @softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = relay.nn.softmax %x {axis = -1} : tensor<2x3xf32>
  %1 = relay.nn.log_softmax %0 {axis = 0} : tensor<2x3xf32>
  relay.return %1 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: @l2_normalize(
// CHECK: relay.nn.l2_normalize %x {eps = 1.0e-10, axis = [1]} : tensor<2x3xf32>
relay.func @l2_normalize(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = relay.nn.l2_normalize %x {eps = 1.0e-10, axis = [1]} : tensor<2x3xf32>
  relay.return %0 : tensor<2x3xf32>
}

// -----

relay.func @channels(%x: tensor<2x3x4xf32>, %b: tensor<4xf32>) -> tensor<2x3x4xf32> {
  // expected-error @below {{dimension 1 of the data and the length of bias must agree, but are 3 and 4}}
  %0 = relay.nn.bias_add %x, %b : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  relay.return %0 : tensor<2x3x4xf32>
}

// -----

relay.func @groups(%x: tensor<2x3x4xf32>, %p: tensor<3xf32>) -> tensor<2x3x4xf32> {
  // expected-error @below {{num_groups (2) must divide the 3 channels}}
  %0 = relay.nn.group_norm %x, %p, %p {num_groups = 2} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  relay.return %0 : tensor<2x3x4xf32>
}

// -----

relay.func @axis(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error @below {{axis 2 is out of range for rank 2; expected -2 to 1}}
  %0 = relay.nn.softmax %x {axis = 2} : tensor<2x3xf32>
  relay.return %0 : tensor<2x3xf32>
}
