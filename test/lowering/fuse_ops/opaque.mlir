// RUN: relay-opt %s -p fuse-ops --split-input-file | filecheck %s

// A normalization takes element-wise consumers and no producers; an opaque operator is alone.
relay.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = relay.negative %x : tensor<4x4xf32>
  %1 = relay.nn.softmax %0 : tensor<4x4xf32>
  %2 = relay.negative %1 : tensor<4x4xf32>
  %3 = relay.cumsum %2 {axis = 0} : tensor<4x4xf32>
  %4 = relay.negative %3 : tensor<4x4xf32>
  relay.return %4 : tensor<4x4xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    relay.call @negative(
// CHECK-NEXT:    relay.call @softmax_negative(
// CHECK-NEXT:    relay.call @cumsum(
// CHECK-NEXT:    relay.call @negative(
// CHECK-NEXT:    relay.return

// -----

// Nothing that creates or moves data joins a contraction.
relay.func @main(%x: tensor<4x4xf32>, %s: tensor<f32>, %r: tensor<1x4xf32>) -> tensor<4x4xf32> {
  %0 = relay.nn.dense %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = relay.full %s {shape = [4, 4]} : (tensor<f32>) -> tensor<4x4xf32>
  %2 = relay.add %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = relay.broadcast_to %r {shape = [4, 4]} : (tensor<1x4xf32>) -> tensor<4x4xf32>
  %4 = relay.add %2, %3 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  relay.return %4 : tensor<4x4xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    relay.call @full(%s)
// CHECK-NEXT:    relay.call @broadcast_to(%r)
// CHECK-NEXT:    relay.call @dense_add_add(
// CHECK-NEXT:    relay.return
