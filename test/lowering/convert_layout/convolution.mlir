// RUN: relay-opt %s -p convert-layout --split-input-file | filecheck %s

// Channels go last at the entry, stay there, and come back where the program returns them.
relay.func @main(%x: tensor<1x3x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %w = relay.weight "w" : tensor<4x3x1x1xf32>
  %v = relay.weight "v" : tensor<4x1x3x3xf32>
  %0 = relay.nn.conv2d %x, %w : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = relay.nn.relu %0 : tensor<1x4x8x8xf32>
  %2 = relay.nn.conv2d %1, %v {padding = [1, 1, 1, 1], groups = 4} : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x8x8xf32>
  relay.return %2 : tensor<1x4x8x8xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    %[[X:.*]] = relay.transpose %x {axes = [0, 2, 3, 1]}
// CHECK:         %[[W:.*]] = relay.transpose %w {axes = [2, 3, 1, 0]}
// CHECK:         %[[V:.*]] = relay.transpose %v {axes = [2, 3, 1, 0]}
// CHECK-NEXT:    %[[A:.*]] = relay.nn.conv2d %[[X]], %[[W]] {data_layout = "NHWC", kernel_layout = "HWIO"}
// CHECK-NEXT:    %[[B:.*]] = relay.nn.relu %[[A]]
// CHECK-NEXT:    %[[C:.*]] = relay.nn.conv2d %[[B]], %[[V]] {padding = [1, 1, 1, 1], groups = 4, data_layout = "NHWC", kernel_layout = "HWIO"}
// CHECK-NEXT:    %[[Y:.*]] = relay.transpose %[[C]] {axes = [0, 3, 1, 2]}
// CHECK-NEXT:    relay.return %[[Y]]

// -----

// A program that has channels last already gets no transpose.
relay.func @main(%x: tensor<1x8x8x3xf32>, %w: tensor<1x1x3x4xf32>) -> tensor<1x8x8x4xf32> {
  %0 = relay.nn.conv2d %x, %w {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x8x8x3xf32>, tensor<1x1x3x4xf32>) -> tensor<1x8x8x4xf32>
  relay.return %0 : tensor<1x8x8x4xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    relay.nn.conv2d %x, %w
// CHECK-NEXT:    relay.return

// -----

// Transposes of the program around a convolution and those it would need cancel out.
relay.func @main(%x: tensor<1x8x8x3xf32>, %w: tensor<1x1x3x4xf32>) -> tensor<1x8x8x4xf32> {
  %0 = relay.transpose %x {axes = [0, 3, 1, 2]} : (tensor<1x8x8x3xf32>) -> tensor<1x3x8x8xf32>
  %1 = relay.layout_transform %w {src_layout = "HWIO", dst_layout = "OIHW"} : (tensor<1x1x3x4xf32>) -> tensor<4x3x1x1xf32>
  %2 = relay.nn.conv2d %0, %1 : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>
  %3 = relay.transpose %2 {axes = [0, 2, 3, 1]} : (tensor<1x4x8x8xf32>) -> tensor<1x8x8x4xf32>
  relay.return %3 : tensor<1x8x8x4xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    %[[Y:.*]] = relay.nn.conv2d %x, %w
// CHECK-NEXT:    relay.return %[[Y]]

// -----

// Where no operator asks for a layout, none is changed.
relay.func @main(%x: tensor<1x3x8x8xf32>, %s: tensor<3x1x1xf32>) -> tensor<1x8x8x3xf32> {
  %0 = relay.multiply %x, %s : (tensor<1x3x8x8xf32>, tensor<3x1x1xf32>) -> tensor<1x3x8x8xf32>
  %1 = relay.nn.relu %0 : tensor<1x3x8x8xf32>
  %2 = relay.transpose %1 {axes = [0, 2, 3, 1]} : (tensor<1x3x8x8xf32>) -> tensor<1x8x8x3xf32>
  relay.return %2 : tensor<1x8x8x3xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    %[[M:.*]] = relay.multiply %x, %s
// CHECK-NEXT:    %[[R:.*]] = relay.nn.relu %[[M]]
// CHECK-NEXT:    %[[T:.*]] = relay.transpose %[[R]]
// CHECK-NEXT:    relay.return %[[T]]
