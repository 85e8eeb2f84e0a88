// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: @max(
// CHECK: relay.nn.max_pool2d %x {pool_size = [3, 3], strides = [2, 2], padding = [1, 1, 1, 1]} : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
relay.func @max(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32> {
  %0 = relay.nn.max_pool2d %x {pool_size = [3, 3], strides = [2, 2], padding = [1, 1, 1, 1], ceil_mode = false} : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  relay.return %0 : tensor<1x4x4x4xf32>
}

// -----

// CHECK-LABEL: @average(
// CHECK: relay.nn.avg_pool2d %x {pool_size = [2, 2], strides = [2, 2], layout = "NHWC", ceil_mode = true, count_include_pad = true}
relay.func @average(%x: tensor<1x7x7x4xf32>) -> tensor<1x4x4x4xf32> {
  %0 = relay.nn.avg_pool2d %x {pool_size = [2, 2], strides = [2, 2], layout = "NHWC", ceil_mode = true, count_include_pad = true} : (tensor<1x7x7x4xf32>) -> tensor<1x4x4x4xf32>
  relay.return %0 : tensor<1x4x4x4xf32>
}

// -----

// CHECK-LABEL: @global(
// CHECK: relay.nn.global_avg_pool2d %x : (tensor<?x4x7x7xf32>) -> tensor<?x4x1x1xf32>
relay.func @global(%x: tensor<?x4x7x7xf32>) -> tensor<?x4x1x1xf32> {
  %0 = relay.nn.global_avg_pool2d %x : (tensor<?x4x7x7xf32>) -> tensor<?x4x1x1xf32>
  relay.return %0 : tensor<?x4x1x1xf32>
}

// -----

// CHECK-LABEL: @indices(
// CHECK: %0, %1 = relay.nn.max_pool1d_with_indices %x {pool_size = [2]} : (tensor<1x2x5xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xi64>)
relay.func @indices(%x: tensor<1x2x5xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xi64>) {
  %0, %1 = relay.nn.max_pool1d_with_indices %x {pool_size = [2]} : (tensor<1x2x5xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xi64>)
  relay.return %0, %1 : tensor<1x2x4xf32>, tensor<1x2x4xi64>
}

// -----

relay.func @no_size(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
  // expected-error @below {{attribute 'pool_size' is required}}
  %0 = relay.nn.max_pool2d %x : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  relay.return %0 : tensor<1x4x8x8xf32>
}

// -----

relay.func @too_large(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x1x1xf32> {
  // expected-error @below {{spatial dimension 1 has 8 elements with its padding: fewer than the 9 that a window of size 9 and dilation 1 spans}}
  %0 = relay.nn.max_pool2d %x {pool_size = [8, 9]} : (tensor<1x4x8x8xf32>) -> tensor<1x4x1x1xf32>
  relay.return %0 : tensor<1x4x1x1xf32>
}

// -----

relay.func @not_a_pool_attribute(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32> {
  // expected-error @below {{relay.nn.max_pool2d has no attribute 'stride'; did you mean 'strides'?}}
  %0 = relay.nn.max_pool2d %x {pool_size = [2, 2], stride = [2, 2]} : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  relay.return %0 : tensor<1x4x4x4xf32>
}
