// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

relay.func @syntax(%x: tensor<2x3x?xf32>) -> tensor<2x1x1xi32> {
  %0 = relay.sum %x : (tensor<2x3x?xf32>) -> tensor<f32>
  %1 = relay.max %x {axis = [-1], keepdims = true} : (tensor<2x3x?xf32>) -> tensor<2x3x1xf32>
  %2 = relay.mean %x {axis = [0], exclude = true} : (tensor<2x3x?xf32>) -> tensor<2xf32>
  %3 = relay.variance %x, %1 {axis = [2], unbiased = true} : (tensor<2x3x?xf32>, tensor<2x3x1xf32>) -> tensor<2x3xf32>
  %4 = relay.argmax %x {axis = [1, 2], keepdims = true, dtype = i32} : (tensor<2x3x?xf32>) -> tensor<2x1x1xi32>
  relay.return %4 : tensor<2x1x1xi32>
}
// CHECK-LABEL: relay.func @syntax
// CHECK-NEXT:    relay.sum %x : (tensor<2x3x?xf32>) -> tensor<f32>
// CHECK-NEXT:    relay.max %x {axis = [-1], keepdims = true}
// CHECK-NEXT:    relay.mean %x {axis = [0], exclude = true} : (tensor<2x3x?xf32>) -> tensor<2xf32>
// CHECK-NEXT:    relay.variance %x, %{{.*}} {axis = [2], unbiased = true}
// CHECK-NEXT:    relay.argmax %x {axis = [1, 2], keepdims = true, dtype = i32} : (tensor<2x3x?xf32>) -> tensor<2x1x1xi32>

// -----

relay.func @axis(%x: tensor<2x3xf32>) {
  // expected-error @below {{axis 2 is out of range for rank 2; expected -2 to 1}}
  %0 = relay.sum %x {axis = [2]} : (tensor<2x3xf32>) -> tensor<2xf32>
  relay.return
}

// -----

relay.func @twice(%x: tensor<2x3xf32>) {
  // expected-error @below {{an axis occurs twice in [1, 1]}}
  %0 = relay.sum %x {axis = [1, -1]} : (tensor<2x3xf32>) -> tensor<2xf32>
  relay.return
}

// -----

relay.func @kind(%x: tensor<2x3xf32>) {
  // expected-error @below {{element type must be bool, but is f32}}
  %0 = relay.all %x : (tensor<2x3xf32>) -> tensor<f32>
  relay.return
}

// -----

relay.func @nothing(%x: tensor<2x0xf32>) {
  // expected-error @below {{tensor<2x0xf32> has no elements along the axes to search}}
  %0 = relay.argmin %x {axis = [1]} : (tensor<2x0xf32>) -> tensor<2xi64>
  relay.return
}

// -----

relay.func @mean(%x: tensor<2x3xf32>, %m: tensor<2xf32>) {
  // expected-error @below {{mean must be tensor<2x1xf32>, with the reduced dimensions kept, but is tensor<2xf32>}}
  %0 = relay.variance %x, %m {axis = [1]} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2xf32>
  relay.return
}
