// RUN: relay-opt %s -p fuse-ops --split-input-file | filecheck %s

// A diamond of element-wise operators is one group.
relay.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = relay.nn.relu %x : tensor<8xf32>
  %1 = relay.negative %0 : tensor<8xf32>
  %2 = relay.sqrt %0 : tensor<8xf32>
  %3 = relay.add %1, %2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  relay.return %3 : tensor<8xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    relay.call @relu_negative_sqrt_add(%x)
// CHECK-NEXT:    relay.return

// -----

// One path of the diamond goes through an opaque reader: nothing joins across it.
relay.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = relay.nn.relu %x : tensor<8x8xf32>
  %1 = relay.nn.dense %0, %0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = relay.sqrt %0 : tensor<8x8xf32>
  %3 = relay.add %1, %2 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  relay.return %3 : tensor<8x8xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    %[[R:.*]] = relay.call @relu(%x)
// CHECK-NEXT:    relay.call @dense_sqrt_add(%[[R]])
// CHECK-NEXT:    relay.return

// -----

// A reduction takes what it reads and ends the group.
relay.func @main(%x: tensor<8x4xf32>) -> tensor<8xf32> {
  %0 = relay.negative %x : tensor<8x4xf32>
  %1 = relay.sum %0 {axis = [1]} : (tensor<8x4xf32>) -> tensor<8xf32>
  %2 = relay.sqrt %1 : tensor<8xf32>
  relay.return %2 : tensor<8xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    relay.call @negative_sum(%x)
// CHECK-NEXT:    relay.call @sqrt(
// CHECK-NEXT:    relay.return

// -----

// Data movement joins element-wise readers and writers.
relay.func @main(%x: tensor<8x4xf32>) -> tensor<4x8xf32> {
  %0 = relay.negative %x : tensor<8x4xf32>
  %1 = relay.transpose %0 : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %2 = relay.sqrt %1 : tensor<4x8xf32>
  relay.return %2 : tensor<4x8xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    relay.call @negative_transpose_sqrt(%x)
// CHECK-NEXT:    relay.return

// -----

// Arithmetic on a small tensor is not repeated for every element that reads it; a reshape may be.
relay.func @main(%x: tensor<8x4xf32>, %s: tensor<8x1xf32>, %t: tensor<8xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = relay.sqrt %s : tensor<8x1xf32>
  %1 = relay.multiply %x, %0 : (tensor<8x4xf32>, tensor<8x1xf32>) -> tensor<8x4xf32>
  %2 = relay.reshape %t {newshape = [8, 1]} : (tensor<8xf32>) -> tensor<8x1xf32>
  %3 = relay.multiply %x, %2 : (tensor<8x4xf32>, tensor<8x1xf32>) -> tensor<8x4xf32>
  relay.return %1, %3 : tensor<8x4xf32>, tensor<8x4xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    relay.call @sqrt(%s)
// CHECK-NEXT:    relay.call @multiply(%x,
// CHECK-NEXT:    relay.call @reshape_multiply(%t, %x)
// CHECK-NEXT:    relay.return
