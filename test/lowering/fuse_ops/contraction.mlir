// RUN: relay-opt %s -p fuse-ops --split-input-file | filecheck %s

// A contraction takes the element-wise and broadcast operators after it, and a residual from outside.
relay.func @main(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x1x1xf32>, %b: tensor<4x1x1xf32>, %r: tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = relay.add %0, %b : (tensor<1x4x8x8xf32>, tensor<4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %2 = relay.add %r, %1 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %3 = relay.nn.relu %2 : tensor<1x4x8x8xf32>
  relay.return %3 : tensor<1x4x8x8xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    %[[Y:.*]] = relay.call @conv2d_add_add_relu(%x, %w, %b, %r)
// CHECK-NEXT:    relay.return %[[Y]]
// CHECK:       relay.func private @conv2d_add_add_relu({{.*}}) -> tensor<1x4x8x8xf32> attributes {primitive}
// CHECK-NEXT:    relay.nn.conv2d
// CHECK-NEXT:    relay.add
// CHECK-NEXT:    relay.add
// CHECK-NEXT:    relay.nn.relu

// -----

// Of two contractions that meet in an addition, the first one takes it.
relay.func @main(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>, %v: tensor<4x3xf32>) -> tensor<2x4xf32> {
  %0 = relay.nn.dense %x, %w : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %1 = relay.nn.dense %x, %v : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %2 = relay.add %0, %1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  relay.return %2 : tensor<2x4xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    %[[A:.*]] = relay.call @dense(%x, %v)
// CHECK-NEXT:    relay.call @dense_add(%x, %w, %[[A]])
// CHECK-NEXT:    relay.return

// -----

// A value that is read outside of the group as well, or that is moved or stretched, ends the group.
relay.func @main(%x: tensor<1x3xf32>, %w: tensor<4x3xf32>, %y: tensor<2x4xf32>)
    -> (tensor<1x4xf32>, tensor<1x4xf32>, tensor<4x1xf32>, tensor<2x4xf32>) {
  %0 = relay.nn.dense %x, %w : (tensor<1x3xf32>, tensor<4x3xf32>) -> tensor<1x4xf32>
  %1 = relay.nn.relu %0 : tensor<1x4xf32>
  %2 = relay.nn.dense %x, %w : (tensor<1x3xf32>, tensor<4x3xf32>) -> tensor<1x4xf32>
  %3 = relay.transpose %2 : (tensor<1x4xf32>) -> tensor<4x1xf32>
  %4 = relay.nn.dense %x, %w : (tensor<1x3xf32>, tensor<4x3xf32>) -> tensor<1x4xf32>
  %5 = relay.add %4, %y : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  relay.return %0, %1, %3, %5 : tensor<1x4xf32>, tensor<1x4xf32>, tensor<4x1xf32>, tensor<2x4xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    relay.call @dense(
// CHECK-NEXT:    relay.call @relu(
// CHECK-NEXT:    relay.call @dense(
// CHECK-NEXT:    relay.call @transpose(
// CHECK-NEXT:    relay.call @dense(
// CHECK-NEXT:    relay.call @add(
// CHECK-NEXT:    relay.return
