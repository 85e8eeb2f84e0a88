// RUN: relay-opt %s -p fold-scale-axis --split-input-file | filecheck %s

// A scale after a convolution goes into its weight; a constant added between is scaled.
relay.func @main(%x: tensor<1x3x8x8xf32>) -> tensor<1x2x8x8xf32> {
  %w = relay.weight "w" : tensor<2x3x1x1xf32>
  %b = relay.constant dense<[[[5.0]], [[7.0]]]> : tensor<2x1x1xf32>
  %s = relay.constant dense<[[[2.0]], [[-3.0]]]> : tensor<2x1x1xf32>
  %0 = relay.nn.conv2d %x, %w : (tensor<1x3x8x8xf32>, tensor<2x3x1x1xf32>) -> tensor<1x2x8x8xf32>
  %1 = relay.add %0, %b : (tensor<1x2x8x8xf32>, tensor<2x1x1xf32>) -> tensor<1x2x8x8xf32>
  %2 = relay.multiply %1, %s : (tensor<1x2x8x8xf32>, tensor<2x1x1xf32>) -> tensor<1x2x8x8xf32>
  relay.return %2 : tensor<1x2x8x8xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK:         %[[S:.*]] = relay.constant {{.*}} : tensor<2x1x1x1xf32>
// CHECK-NEXT:    %[[W:.*]] = relay.multiply %w, %[[S]]
// CHECK-NEXT:    %[[C:.*]] = relay.nn.conv2d %x, %[[W]]
// CHECK-NEXT:    %[[T:.*]] = relay.constant
// CHECK-NEXT:    %[[B:.*]] = relay.multiply %b, %[[T]]
// CHECK-NEXT:    %[[A:.*]] = relay.add %[[C]], %[[B]]
// CHECK-NEXT:    relay.return %[[A]]

// -----

// Through relu only where every scale is positive.
relay.func @main(%x: tensor<4x3xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  %w = relay.weight "w" : tensor<2x3xf32>
  %p = relay.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %n = relay.constant dense<[2.0, -3.0]> : tensor<2xf32>
  %0 = relay.nn.dense %x, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %1 = relay.nn.relu %0 : tensor<4x2xf32>
  %2 = relay.multiply %1, %p : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %3 = relay.nn.dense %x, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32>
  %4 = relay.nn.relu %3 : tensor<4x2xf32>
  %5 = relay.multiply %4, %n : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  relay.return %2, %5 : tensor<4x2xf32>, tensor<4x2xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK:         %[[W:.*]] = relay.multiply %w
// CHECK-NEXT:    %[[D:.*]] = relay.nn.dense %x, %[[W]]
// CHECK-NEXT:    %[[R:.*]] = relay.nn.relu %[[D]]
// CHECK-NEXT:    relay.nn.dense %x, %w
// CHECK-NEXT:    relay.nn.relu
// CHECK-NEXT:    %[[M:.*]] = relay.multiply %{{.*}}, %n
// CHECK-NEXT:    relay.return %[[R]], %[[M]]

// -----

// Not along another axis than the channels, not where the value is read elsewhere, not by infinity.
relay.func @main(%x: tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %w = relay.weight "w" : tensor<2x3xf32>
  %rows = relay.constant dense<[[2.0], [3.0]]> : tensor<2x1xf32>
  %s = relay.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %i = relay.constant dense<"0x0000803F0000807F"> : tensor<2xf32>
  %0 = relay.nn.dense %x, %w : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  %1 = relay.multiply %0, %rows : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %2 = relay.nn.dense %x, %w : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  %3 = relay.multiply %2, %s : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %4 = relay.nn.dense %x, %w : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  %5 = relay.multiply %4, %i : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  relay.return %1, %2, %3, %5 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK:         %[[A:.*]] = relay.nn.dense %x, %w
// CHECK-NEXT:    relay.multiply %[[A]], %rows
// CHECK-NEXT:    %[[B:.*]] = relay.nn.dense %x, %w
// CHECK-NEXT:    relay.multiply %[[B]], %s
// CHECK-NEXT:    %[[C:.*]] = relay.nn.dense %x, %w
// CHECK-NEXT:    relay.multiply %[[C]], %i
