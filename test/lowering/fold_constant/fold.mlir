// RUN: relay-opt %s -p fold-constant --split-input-file | filecheck %s

// Only what reads nothing but constants is evaluated; a chain leaves one constant.
relay.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = relay.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = relay.constant dense<3.0> : tensor<f32>
  %0 = relay.multiply %a, %b : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = relay.negative %0 : tensor<2xf32>
  %2 = relay.add %x, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  relay.return %2 : tensor<2xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NOT:     relay.multiply
// CHECK:         %[[C:.*]] = relay.constant dense<[-3.000000e+00, -6.000000e+00]>
// CHECK-NEXT:    relay.add %x, %[[C]]
// CHECK-NEXT:    relay.return

// -----

// NaN, infinity and the sign of zero survive.
relay.func @main() -> tensor<3xf32> {
  %a = relay.constant dense<[1.0, 0.0, 0.0]> : tensor<3xf32>
  %b = relay.constant dense<[0.0, 0.0, -1.0]> : tensor<3xf32>
  %0 = relay.divide %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  relay.return %0 : tensor<3xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK:         relay.constant dense<"0x0000807F0000C0FF00000080"> : tensor<3xf32>

// -----

// A scalar is not stretched into megabytes of constant; a small tensor is made.
relay.func @main() -> (tensor<1024x1024xf32>, tensor<2x2xf32>) {
  %a = relay.constant dense<1.0> : tensor<f32>
  %0 = relay.broadcast_to %a {shape = [1024, 1024]} : (tensor<f32>) -> tensor<1024x1024xf32>
  %1 = relay.broadcast_to %a {shape = [2, 2]} : (tensor<f32>) -> tensor<2x2xf32>
  relay.return %0, %1 : tensor<1024x1024xf32>, tensor<2x2xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK:         relay.broadcast_to {{.*}} -> tensor<1024x1024xf32>
// CHECK-NEXT:    relay.constant dense<1.000000e+00> : tensor<2x2xf32>

// -----

// A result of many elements becomes a weight.
relay.func @main() -> tensor<17xf32> {
  %a = relay.constant dense<1.0> : tensor<f32>
  %0 = relay.broadcast_to %a {shape = [17]} : (tensor<f32>) -> tensor<17xf32>
  relay.return %0 : tensor<17xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK:         relay.weight "broadcast_to.{{[0-9a-f]+}}" : tensor<17xf32>

// -----

// What an operator says its results equal is forwarded.
relay.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = relay.transpose %x {axes = [0, 1]} : tensor<2x3xf32>
  relay.return %0 : tensor<2x3xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    relay.return %x

// -----

// A weight that no store holds is left to be computed with.
relay.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %w = relay.weight "missing" : tensor<4x4xf32>
  %0 = relay.negative %w : tensor<4x4xf32>
  relay.return %0 : tensor<4x4xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    %[[W:.*]] = relay.weight "missing"
// CHECK-NEXT:    relay.negative %[[W]]
