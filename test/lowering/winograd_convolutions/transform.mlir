// RUN: relay-opt %s -p relay-to-linalg,winograd-convolutions --split-input-file | filecheck %s
// RUN: relay-opt %s -p 'relay-to-linalg,winograd-convolutions{numerics=strict}' --split-input-file | filecheck %s --check-prefix=STRICT

// Tiles of the data become 36 matrices, which are multiplied by 36 matrices made of the weight; the products become
// tiles of the result. The padding reaches to the end of the last tile.
// CHECK:       memref.global "private" constant @w.winograd : memref<36x32x48xf32>
// CHECK-LABEL: func.func private @conv(
// CHECK-SAME:    %[[U:[^:]*]]: tensor<36x32x48xf32>
// CHECK:         tensor.insert_slice {{.*}} : tensor<1x14x14x32xf32> into tensor<1x18x18x32xf32>
// CHECK:         linalg.generic {{.*}} -> (d0, ((d1 * 4) + 5), ((d2 * 4) + 5), d3)>
// CHECK:         tensor.insert_slice {{.*}}[35, 0, 0, 0, 0] {{.*}} into tensor<36x1x4x4x32xf32>
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %[[U]] : tensor<36x16x32xf32>, tensor<36x32x48xf32>)
// CHECK:         tensor.insert_slice {{.*}}[0, 3, 3, 0] [1, 4, 4, 48] [1, 4, 4, 1] {{.*}} into tensor<1x16x16x48xf32>
// CHECK-NEXT:    tensor.extract_slice {{.*}} to tensor<1x14x14x48xf32>
// STRICT-LABEL: func.func private @conv(
// STRICT-NOT:    tensor<36x
relay.func private @conv(%x: tensor<1x14x14x32xf32>, %w: tensor<3x3x32x48xf32>) -> tensor<1x14x14x48xf32> attributes {primitive} {
  %0 = relay.nn.conv2d %x, %w {padding = [1, 1, 1, 1], data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x14x14x32xf32>, tensor<3x3x32x48xf32>) -> tensor<1x14x14x48xf32>
  relay.return %0 : tensor<1x14x14x48xf32>
}
relay.func @main(%x: tensor<1x14x14x32xf32>) -> tensor<1x14x14x48xf32> {
  %w = relay.weight "w" : tensor<3x3x32x48xf32>
  %0 = relay.call @conv(%x, %w) : (tensor<1x14x14x32xf32>, tensor<3x3x32x48xf32>) -> tensor<1x14x14x48xf32>
  relay.return %0 : tensor<1x14x14x48xf32>
}

// -----

// Few tiles, few channels, stride 2, and a kernel that the program computes stay direct.
// CHECK-NOT:     tensor<36x
// CHECK-LABEL: func.func @main(
relay.func private @few_tiles(%x: tensor<1x7x7x32xf32>, %w: tensor<3x3x32x48xf32>) -> tensor<1x7x7x48xf32> attributes {primitive} {
  %0 = relay.nn.conv2d %x, %w {padding = [1, 1, 1, 1], data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x7x7x32xf32>, tensor<3x3x32x48xf32>) -> tensor<1x7x7x48xf32>
  relay.return %0 : tensor<1x7x7x48xf32>
}
relay.func private @few_channels(%x: tensor<1x56x56x3xf32>, %w: tensor<3x3x3x48xf32>) -> tensor<1x54x54x48xf32> attributes {primitive} {
  %0 = relay.nn.conv2d %x, %w {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x56x56x3xf32>, tensor<3x3x3x48xf32>) -> tensor<1x54x54x48xf32>
  relay.return %0 : tensor<1x54x54x48xf32>
}
relay.func private @strided(%x: tensor<1x57x57x32xf32>, %w: tensor<3x3x32x48xf32>) -> tensor<1x28x28x48xf32> attributes {primitive} {
  %0 = relay.nn.conv2d %x, %w {strides = [2, 2], data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x57x57x32xf32>, tensor<3x3x32x48xf32>) -> tensor<1x28x28x48xf32>
  relay.return %0 : tensor<1x28x28x48xf32>
}
relay.func private @computed(%x: tensor<1x16x16x32xf32>, %w: tensor<3x3x32x48xf32>) -> tensor<1x14x14x48xf32> attributes {primitive} {
  %0 = relay.nn.conv2d %x, %w {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x16x16x32xf32>, tensor<3x3x32x48xf32>) -> tensor<1x14x14x48xf32>
  relay.return %0 : tensor<1x14x14x48xf32>
}
relay.func @main(%a: tensor<1x7x7x32xf32>, %b: tensor<1x56x56x3xf32>, %c: tensor<1x57x57x32xf32>, %d: tensor<1x16x16x32xf32>, %e: tensor<3x3x32x48xf32>)
    -> (tensor<1x7x7x48xf32>, tensor<1x54x54x48xf32>, tensor<1x28x28x48xf32>, tensor<1x14x14x48xf32>) {
  %w = relay.weight "w" : tensor<3x3x32x48xf32>
  %v = relay.weight "v" : tensor<3x3x3x48xf32>
  %0 = relay.call @few_tiles(%a, %w) : (tensor<1x7x7x32xf32>, tensor<3x3x32x48xf32>) -> tensor<1x7x7x48xf32>
  %1 = relay.call @few_channels(%b, %v) : (tensor<1x56x56x3xf32>, tensor<3x3x3x48xf32>) -> tensor<1x54x54x48xf32>
  %2 = relay.call @strided(%c, %w) : (tensor<1x57x57x32xf32>, tensor<3x3x32x48xf32>) -> tensor<1x28x28x48xf32>
  %3 = relay.call @computed(%d, %e) : (tensor<1x16x16x32xf32>, tensor<3x3x32x48xf32>) -> tensor<1x14x14x48xf32>
  relay.return %0, %1, %2, %3 : tensor<1x7x7x48xf32>, tensor<1x54x54x48xf32>, tensor<1x28x28x48xf32>, tensor<1x14x14x48xf32>
}
