// RUN: relay-opt %s -p fold-scale-axis --split-input-file | filecheck %s

// A scale before a convolution, and before the activation in front of it, goes into the input channels of its weight.
relay.func @main(%x: tensor<1x2x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %w = relay.weight "w" : tensor<4x2x1x1xf32>
  %s = relay.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %0 = relay.multiply %x, %s : (tensor<1x2x8x8xf32>, tensor<2x1x1xf32>) -> tensor<1x2x8x8xf32>
  %1 = relay.nn.relu %0 : tensor<1x2x8x8xf32>
  %2 = relay.nn.conv2d %1, %w : (tensor<1x2x8x8xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x8x8xf32>
  relay.return %2 : tensor<1x4x8x8xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK:         %[[R:.*]] = relay.nn.relu %x
// CHECK-NEXT:    %[[S:.*]] = relay.constant {{.*}} : tensor<1x2x1x1xf32>
// CHECK-NEXT:    %[[W:.*]] = relay.multiply %w, %[[S]]
// CHECK-NEXT:    relay.nn.conv2d %[[R]], %[[W]]

// -----

// With groups, each group of output channels has the scales of its own input channels.
relay.func @main(%x: tensor<1x4x8x8xf32>) -> tensor<1x2x8x8xf32> {
  %w = relay.weight "w" : tensor<2x2x1x1xf32>
  %s = relay.constant dense<[[[2.0]], [[3.0]], [[4.0]], [[5.0]]]> : tensor<4x1x1xf32>
  %0 = relay.multiply %x, %s : (tensor<1x4x8x8xf32>, tensor<4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = relay.nn.conv2d %0, %w {groups = 2} : (tensor<1x4x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
  relay.return %1 : tensor<1x2x8x8xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    %w = relay.weight
// CHECK:         relay.constant dense<{{\[\[\[\[}}2.000000e+00]], {{\[\[}}3.000000e+00]]], {{\[\[\[}}4.000000e+00]], {{\[\[}}5.000000e+00]]]]> : tensor<2x2x1x1xf32>
// CHECK-NEXT:    relay.multiply %w
// CHECK-NEXT:    relay.nn.conv2d %x

// -----

// Not where something else reads the scaled value, and not past an addition.
relay.func @main(%x: tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<4x3xf32>, tensor<4x3xf32>) {
  %w = relay.weight "w" : tensor<3x2xf32>
  %s = relay.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %0 = relay.multiply %x, %s : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %1 = relay.nn.dense %0, %w : (tensor<4x2xf32>, tensor<3x2xf32>) -> tensor<4x3xf32>
  %2 = relay.multiply %x, %s : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %3 = relay.add %2, %s : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %4 = relay.nn.dense %3, %w : (tensor<4x2xf32>, tensor<3x2xf32>) -> tensor<4x3xf32>
  relay.return %0, %1, %4 : tensor<4x2xf32>, tensor<4x3xf32>, tensor<4x3xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK:         %[[A:.*]] = relay.multiply %x, %s
// CHECK-NEXT:    relay.nn.dense %[[A]], %w
// CHECK-NEXT:    %[[B:.*]] = relay.multiply %x, %s
// CHECK-NEXT:    %[[C:.*]] = relay.add %[[B]], %s
// CHECK-NEXT:    relay.nn.dense %[[C]], %w
