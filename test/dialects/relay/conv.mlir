// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

// Attributes at their defaults are not printed.
// CHECK-LABEL: @defaults(
// CHECK: relay.nn.conv2d %x, %w : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
relay.func @defaults(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32> {
  %0 = relay.nn.conv2d %x, %w {strides = [1, 1], groups = 1} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  relay.return %0 : tensor<1x4x6x6xf32>
}

// -----

// CHECK-LABEL: @channels_last(
// CHECK: relay.nn.conv2d %x, %w {strides = [2, 1], padding = [1, 0, 1, 0], groups = 2, data_layout = "NHWC", kernel_layout = "HWIO"}
relay.func @channels_last(%x: tensor<1x8x8x4xf32>, %w: tensor<3x1x2x6xf32>) -> tensor<1x4x8x6xf32> {
  %0 = relay.nn.conv2d %x, %w {strides = [2, 1], padding = [1, 0, 1, 0], groups = 2, data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x8x8x4xf32>, tensor<3x1x2x6xf32>) -> tensor<1x4x8x6xf32>
  relay.return %0 : tensor<1x4x8x6xf32>
}

// -----

// A result may know more than the operands tell.
// CHECK-LABEL: @unknown(
// CHECK: relay.nn.conv1d %x, %w {out_dtype = i32} : (tensor<?x3x?xi8>, tensor<4x3x3xi8>) -> tensor<?x4x6xi32>
relay.func @unknown(%x: tensor<?x3x?xi8>, %w: tensor<4x3x3xi8>) -> tensor<?x4x6xi32> {
  %0 = relay.nn.conv1d %x, %w {out_dtype = i32} : (tensor<?x3x?xi8>, tensor<4x3x3xi8>) -> tensor<?x4x6xi32>
  relay.return %0 : tensor<?x4x6xi32>
}

// -----

// CHECK-LABEL: @transposed(
// CHECK: relay.nn.conv2d_transpose %x, %w {strides = [2, 2], output_padding = [1, 0]}
relay.func @transposed(%x: tensor<1x3x4x4xf32>, %w: tensor<3x2x3x3xf32>) -> tensor<1x2x10x9xf32> {
  %0 = relay.nn.conv2d_transpose %x, %w {strides = [2, 2], output_padding = [1, 0]} : (tensor<1x3x4x4xf32>, tensor<3x2x3x3xf32>) -> tensor<1x2x10x9xf32>
  relay.return %0 : tensor<1x2x10x9xf32>
}

// -----

relay.func @result(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32> {
  // expected-error @below {{result is tensor<1x4x8x8xf32>, but the operands give tensor<1x4x6x6xf32>}}
  %0 = relay.nn.conv2d %x, %w : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  relay.return %0 : tensor<1x4x8x8xf32>
}

// -----

relay.func @groups(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32> {
  // expected-error @below {{the data's channels (3) must be a multiple of groups (2)}}
  %0 = relay.nn.conv2d %x, %w {groups = 2} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  relay.return %0 : tensor<1x4x6x6xf32>
}

// -----

relay.func @padding(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32> {
  // expected-error @below {{padding (every low side, then every high side) must be 4 integers of at least 0, but is [1, 1]}}
  %0 = relay.nn.conv2d %x, %w {padding = [1, 1]} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  relay.return %0 : tensor<1x4x8x8xf32>
}

// -----

relay.func @no_elements(%x: tensor<1x3x1xf32>, %w: tensor<3x4x1xf32>) -> tensor<1x4x1xf32> {
  // expected-error @below {{spatial dimension 0 of the data has 1 elements: with padding 2 the result has none}}
  %0 = relay.nn.conv1d_transpose %x, %w {padding = [1, 1]} : (tensor<1x3x1xf32>, tensor<3x4x1xf32>) -> tensor<1x4x1xf32>
  relay.return %0 : tensor<1x4x1xf32>
}
