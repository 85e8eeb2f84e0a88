// RUN: relay-opt %s -p split-conv-transpose --split-input-file | filecheck %s

// Stride 2: four convolutions with a quarter of the kernel each, woven together.
// CHECK-LABEL: relay.func @main(
// CHECK-NEXT:    %[[W:.*]] = relay.weight "w"
// CHECK:         relay.strided_slice %[[W]] {{.*}} -> tensor<8x6x2x2xf32>
// CHECK-NEXT:    relay.nn.conv2d {{.*}} -> tensor<1x6x4x4xf32>
// CHECK-COUNT-3: relay.nn.conv2d {{.*}} -> tensor<1x6x4x4xf32>
// CHECK:         relay.concatenate {{.*}} -> tensor<1x24x4x4xf32>
// CHECK:         relay.nn.depth_to_space {{.*}} -> tensor<1x6x8x8xf32>
// CHECK-NOT:     conv2d_transpose
relay.func @main(%x: tensor<1x8x4x4xf32>) -> tensor<1x6x8x8xf32> {
  %w = relay.weight "w" : tensor<8x6x4x4xf32>
  %0 = relay.nn.conv2d_transpose %x, %w {strides = [2, 2], padding = [1, 1, 1, 1]} : (tensor<1x8x4x4xf32>, tensor<8x6x4x4xf32>) -> tensor<1x6x8x8xf32>
  relay.return %0 : tensor<1x6x8x8xf32>
}

// -----

// A kernel smaller than the stride, a kernel computed by the program, groups, and stride 1 stay as they are.
// CHECK-LABEL: relay.func @main(
// CHECK-NOT:     relay.nn.conv2d {{%}}
// CHECK-COUNT-4: relay.nn.conv2d_transpose
relay.func @main(%x: tensor<1x8x4x4xf32>, %v: tensor<8x6x4x4xf32>) -> (tensor<1x6x7x7xf32>, tensor<1x6x10x10xf32>, tensor<1x6x10x10xf32>, tensor<1x6x7x7xf32>) {
  %p = relay.weight "p" : tensor<8x6x1x1xf32>
  %q = relay.weight "q" : tensor<8x3x4x4xf32>
  %r = relay.weight "r" : tensor<8x6x4x4xf32>
  %0 = relay.nn.conv2d_transpose %x, %p {strides = [2, 2]} : (tensor<1x8x4x4xf32>, tensor<8x6x1x1xf32>) -> tensor<1x6x7x7xf32>
  %1 = relay.nn.conv2d_transpose %x, %v {strides = [2, 2]} : (tensor<1x8x4x4xf32>, tensor<8x6x4x4xf32>) -> tensor<1x6x10x10xf32>
  %2 = relay.nn.conv2d_transpose %x, %q {strides = [2, 2], groups = 2} : (tensor<1x8x4x4xf32>, tensor<8x3x4x4xf32>) -> tensor<1x6x10x10xf32>
  %3 = relay.nn.conv2d_transpose %x, %r : (tensor<1x8x4x4xf32>, tensor<8x6x4x4xf32>) -> tensor<1x6x7x7xf32>
  relay.return %0, %1, %2, %3 : tensor<1x6x7x7xf32>, tensor<1x6x10x10xf32>, tensor<1x6x10x10xf32>, tensor<1x6x7x7xf32>
}
