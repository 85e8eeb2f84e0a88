// RUN: relay-opt %s -p fuse-ops --split-input-file | filecheck %s

// Groups of one structure share a function whatever weights they read; another type or attribute makes another one.
relay.func @main(%x: tensor<4x4xf32>, %y: tensor<5x4xf32>) -> (tensor<4x4xf32>, tensor<5x4xf32>) {
  %w = relay.weight "w" : tensor<4x4xf32>
  %v = relay.weight "v" : tensor<4x4xf32>
  %0 = relay.nn.dense %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = relay.nn.dense %0, %v : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = relay.nn.dense %y, %v : (tensor<5x4xf32>, tensor<4x4xf32>) -> tensor<5x4xf32>
  relay.return %1, %2 : tensor<4x4xf32>, tensor<5x4xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK:         %[[W:.*]] = relay.weight "w"
// CHECK:         %[[V:.*]] = relay.weight "v"
// CHECK:         %[[A:.*]] = relay.call @dense(%x, %[[W]])
// CHECK-NEXT:    relay.call @dense(%[[A]], %[[V]])
// CHECK-NEXT:    relay.call @dense_1(%y, %[[V]])
// CHECK-NOT:   @dense_2

// -----

// Small constants are part of the structure and live in the function.
relay.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relay.constant dense<2.0> : tensor<f32>
  %b = relay.constant dense<3.0> : tensor<f32>
  %0 = relay.multiply %x, %a : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = relay.call @opaque(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = relay.multiply %1, %b : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  relay.return %2 : tensor<4xf32>
}
relay.func private @opaque(%x: tensor<4xf32>) -> tensor<4xf32> {
  relay.return %x : tensor<4xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    %[[A:.*]] = relay.call @multiply(%x)
// CHECK-NEXT:    %[[B:.*]] = relay.call @opaque(%[[A]])
// CHECK-NEXT:    relay.call @multiply_1(%[[B]])
// CHECK:       relay.func private @multiply(
// CHECK-NEXT:    relay.constant dense<2.0
// CHECK:       relay.func private @multiply_1(
// CHECK-NEXT:    relay.constant dense<3.0
