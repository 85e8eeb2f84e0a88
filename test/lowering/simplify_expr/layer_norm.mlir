// RUN: relay-opt %s -p simplify-expr,dead-code-elimination --split-input-file | filecheck %s

relay.func @main(%x: tensor<2x4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<2x4xf32> {
  %two = relay.constant dense<2.0> : tensor<f32>
  %e = relay.constant dense<0.5> : tensor<f32>
  %0 = relay.mean %x {axis = [-1], keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %1 = relay.subtract %x, %0 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %2 = relay.power %1, %two : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = relay.mean %2 {axis = [1], keepdims = true} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %4 = relay.add %e, %3 : (tensor<f32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %5 = relay.sqrt %4 : tensor<2x1xf32>
  %6 = relay.divide %1, %5 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %7 = relay.multiply %g, %6 : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %8 = relay.add %7, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  relay.return %8 : tensor<2x4xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    %[[Y:.*]] = relay.nn.layer_norm %x, %g, %b {epsilon = 0.5}
// CHECK-NEXT:    relay.return %[[Y]]

// -----

// Not along another axis, and not of a product of two different things.
relay.func @main(%x: tensor<4x4xf32>, %z: tensor<4x4xf32>, %g: tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %e = relay.constant dense<0.5> : tensor<f32>
  %0 = relay.mean %x {axis = [0], keepdims = true} : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %1 = relay.subtract %x, %0 : (tensor<4x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  %2 = relay.multiply %1, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = relay.mean %2 {axis = [0], keepdims = true} : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %4 = relay.add %3, %e : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xf32>
  %5 = relay.sqrt %4 : tensor<1x4xf32>
  %6 = relay.divide %1, %5 : (tensor<4x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  %7 = relay.multiply %6, %g : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %8 = relay.add %7, %g : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %9 = relay.mean %x {axis = [1], keepdims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %10 = relay.subtract %x, %9 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %11 = relay.multiply %10, %z : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %12 = relay.mean %11 {axis = [1], keepdims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %13 = relay.add %12, %e : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %14 = relay.sqrt %13 : tensor<4x1xf32>
  %15 = relay.divide %10, %14 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %16 = relay.multiply %15, %g : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %17 = relay.add %16, %g : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  relay.return %8, %17 : tensor<4x4xf32>, tensor<4x4xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NOT:     relay.nn.layer_norm
// CHECK:         relay.return
