// RUN: relay-opt %s -p simplify-expr --split-input-file | filecheck %s

// Constants added one after the other are added up first, a bias among them.
relay.func @main(%x: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
  %a = relay.weight "a" : tensor<2xf32>
  %b = relay.weight "b" : tensor<2x1x1xf32>
  %0 = relay.nn.bias_add %x, %a : (tensor<1x2x8x8xf32>, tensor<2xf32>) -> tensor<1x2x8x8xf32>
  %1 = relay.add %b, %0 : (tensor<2x1x1xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  relay.return %1 : tensor<1x2x8x8xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK:         %[[A:.*]] = relay.expand_dims %a {axis = 1, num_newaxis = 2}
// CHECK-NEXT:    %[[C:.*]] = relay.add %[[A]], %b
// CHECK-NEXT:    %[[Y:.*]] = relay.add %x, %[[C]]
// CHECK-NEXT:    relay.return %[[Y]]

// -----

// Not where the first sum is read elsewhere, and not in half precision.
relay.func @main(%x: tensor<2xf32>, %h: tensor<2xf16>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf16>) {
  %a = relay.weight "a" : tensor<2xf32>
  %b = relay.weight "b" : tensor<2xf16>
  %0 = relay.add %x, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.add %0, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = relay.add %h, %b : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>
  %3 = relay.add %2, %b : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>
  relay.return %0, %1, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf16>
}
// CHECK-LABEL: relay.func @main
// CHECK:         %[[A:.*]] = relay.add %x, %a
// CHECK-NEXT:    relay.add %[[A]], %a
// CHECK-NEXT:    %[[B:.*]] = relay.add %h, %b
// CHECK-NEXT:    relay.add %[[B]], %b
// CHECK-NEXT:    relay.return

// -----

// A convolution takes over the padding of its data.
relay.func @main(%x: tensor<1x2x8x8xf32>, %w: tensor<4x2x3x3xf32>) -> tensor<1x4x9x8xf32> {
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.nn.pad %x, %zero {pad_width = [[0, 0], [0, 0], [1, 2], [0, 0]]} : (tensor<1x2x8x8xf32>, tensor<f32>) -> tensor<1x2x11x8xf32>
  %1 = relay.nn.conv2d %0, %w {padding = [0, 1, 0, 1]} : (tensor<1x2x11x8xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x9x8xf32>
  relay.return %1 : tensor<1x4x9x8xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NOT:     relay.nn.pad
// CHECK:         relay.nn.conv2d %x, %w {padding = [1, 1, 2, 1]}

// -----

// Not one of another value, nor one of channels.
relay.func @main(%x: tensor<1x2x8x8xf32>, %w: tensor<4x2x3x3xf32>, %v: tensor<4x3x3x3xf32>) -> (tensor<1x4x8x6xf32>, tensor<1x4x6x6xf32>) {
  %one = relay.constant dense<1.0> : tensor<f32>
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.nn.pad %x, %one {pad_width = [[0, 0], [0, 0], [1, 1], [0, 0]]} : (tensor<1x2x8x8xf32>, tensor<f32>) -> tensor<1x2x10x8xf32>
  %1 = relay.nn.conv2d %0, %w : (tensor<1x2x10x8xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x8x6xf32>
  %2 = relay.nn.pad %x, %zero {pad_width = [[0, 0], [1, 0], [0, 0], [0, 0]]} : (tensor<1x2x8x8xf32>, tensor<f32>) -> tensor<1x3x8x8xf32>
  %3 = relay.nn.conv2d %2, %v : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  relay.return %1, %3 : tensor<1x4x8x6xf32>, tensor<1x4x6x6xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-COUNT-2: relay.nn.pad
// CHECK-NOT:     padding

// -----

// Reshapes and transposes in a row become one.
relay.func @main(%x: tensor<2x3x4xf32>) -> (tensor<12x2xf32>, tensor<4x2x3xf32>) {
  %0 = relay.reshape %x {newshape = [6, 4]} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %1 = relay.expand_dims %0 {axis = 0} : (tensor<6x4xf32>) -> tensor<1x6x4xf32>
  %2 = relay.reshape %1 {newshape = [12, 2]} : (tensor<1x6x4xf32>) -> tensor<12x2xf32>
  %3 = relay.transpose %x {axes = [1, 2, 0]} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %4 = relay.transpose %3 {axes = [1, 2, 0]} : (tensor<3x4x2xf32>) -> tensor<4x2x3xf32>
  relay.return %2, %4 : tensor<12x2xf32>, tensor<4x2x3xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    relay.reshape %x {newshape = [12, 2]}
// CHECK-NEXT:    relay.transpose %x {axes = [2, 0, 1]}
// CHECK-NEXT:    relay.return
