// RUN: relay-opt %s -p convert-layout --split-input-file | filecheck %s

// Attributes that name axes follow the data; per-channel constants lose the dimensions they no longer need.
relay.func @main(%x: tensor<1x2x8x8xf32>) -> tensor<1x8xf32> {
  %s = relay.weight "s" : tensor<2x1x1xf32>
  %b = relay.weight "b" : tensor<2xf32>
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.nn.max_pool2d %x {pool_size = [2, 2], strides = [2, 2]} : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  %1 = relay.multiply %0, %s : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %2 = relay.nn.bias_add %1, %b : (tensor<1x2x4x4xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %3 = relay.nn.pad %2, %zero {pad_width = [[0, 0], [0, 0], [1, 0], [0, 1]]} : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x5x5xf32>
  %4 = relay.strided_slice %3 {begin = [1, 0], end = [2, 4], axes = [1, 2]} : (tensor<1x2x5x5xf32>) -> tensor<1x1x4x5xf32>
  %5 = relay.concatenate %4, %4 {axis = 1} : (tensor<1x1x4x5xf32>, tensor<1x1x4x5xf32>) -> tensor<1x2x4x5xf32>
  %6 = relay.max %5 {axis = [3]} : (tensor<1x2x4x5xf32>) -> tensor<1x2x4xf32>
  %7 = relay.nn.batch_flatten %6 : (tensor<1x2x4xf32>) -> tensor<1x8xf32>
  relay.return %7 : tensor<1x8xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK:         %[[S:.*]] = relay.reshape %s {newshape = [2]}
// CHECK:         relay.nn.max_pool2d {{.*}} layout = "NHWC"
// CHECK-NEXT:    relay.multiply {{.*}}, %[[S]] : (tensor<1x4x4x2xf32>, tensor<2xf32>)
// CHECK-NEXT:    relay.nn.bias_add {{.*}} {axis = 3}
// CHECK-NEXT:    relay.nn.pad {{.*}} {pad_width = {{\[}}[0, 0], [1, 0], [0, 1], [0, 0]]}
// CHECK-NEXT:    relay.strided_slice {{.*}} {begin = [1, 0], end = [2, 4], axes = [3, 1]}
// CHECK-NEXT:    relay.concatenate {{.*}} {axis = 3}
// CHECK-NEXT:    %[[M:.*]] = relay.max {{.*}} {axis = [2]} : (tensor<1x4x5x2xf32>) -> tensor<1x4x2xf32>
// CHECK-NEXT:    %[[T:.*]] = relay.transpose %[[M]] {axes = [0, 2, 1]}
// CHECK-NEXT:    %[[F:.*]] = relay.nn.batch_flatten %[[T]]
// CHECK-NEXT:    relay.return %[[F]]

// -----

// Flattening what has one pixel needs no transpose; nor does splitting channels.
relay.func @main(%x: tensor<2x4x8x8xf32>) -> (tensor<2x4xf32>, tensor<2x2x2x1x1xf32>) {
  %0 = relay.nn.global_avg_pool2d %x : (tensor<2x4x8x8xf32>) -> tensor<2x4x1x1xf32>
  %1 = relay.reshape %0 {newshape = [0, -1]} : (tensor<2x4x1x1xf32>) -> tensor<2x4xf32>
  %2 = relay.reshape %0 {newshape = [2, 2, 2, 1, 1]} : (tensor<2x4x1x1xf32>) -> tensor<2x2x2x1x1xf32>
  relay.return %1, %2 : tensor<2x4xf32>, tensor<2x2x2x1x1xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    relay.transpose %x
// CHECK-NEXT:    relay.nn.global_avg_pool2d
// CHECK-NOT:     relay.transpose
// CHECK:         relay.return

// -----

// An operator without a rule gets its operand as it was, in a branch too.
relay.func @main(%c: tensor<i1>, %x: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
  %0 = relay.nn.max_pool2d %x {pool_size = [1, 1]} : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %1 = relay.if %c : tensor<i1> -> (tensor<1x2x8x8xf32>) {
    %2 = relay.trilu %0 : tensor<1x2x8x8xf32>
    relay.yield %2 : tensor<1x2x8x8xf32>
  } else {
    %3 = relay.nn.relu %0 : tensor<1x2x8x8xf32>
    relay.yield %3 : tensor<1x2x8x8xf32>
  }
  relay.return %1 : tensor<1x2x8x8xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK:         %[[P:.*]] = relay.nn.max_pool2d
// CHECK-NEXT:    %[[T:.*]] = relay.transpose %[[P]] {axes = [0, 3, 1, 2]}
// CHECK-NEXT:    relay.if
// CHECK-NEXT:      relay.trilu %[[T]]
// CHECK:         } else {
// CHECK-NEXT:      %[[R:.*]] = relay.nn.relu %[[P]]
// CHECK-NEXT:      %[[U:.*]] = relay.transpose %[[R]] {axes = [0, 3, 1, 2]}
// CHECK-NEXT:      relay.yield %[[U]]

// -----

// Softmax stays along the last dimension.
relay.func @main(%x: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
  %0 = relay.nn.max_pool2d %x {pool_size = [1, 1]} : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %1 = relay.nn.softmax %0 {axis = 1} : tensor<1x2x8x8xf32>
  %2 = relay.nn.softmax %1 {axis = 3} : tensor<1x2x8x8xf32>
  relay.return %2 : tensor<1x2x8x8xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK:         %[[A:.*]] = relay.nn.softmax {{.*}} {axis = 3} : tensor<1x8x8x2xf32>
// CHECK-NEXT:    %[[T:.*]] = relay.transpose %[[A]] {axes = [0, 3, 1, 2]}
// CHECK-NEXT:    relay.nn.softmax %[[T]] {axis = 3} : tensor<1x2x8x8xf32>

// -----

// What is made before a convolution is computed in its layout, so that its operand is transposed once.
relay.func @main(%x: tensor<1x2x8x8xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x4x1x1xf32> {
  %0 = relay.nn.relu %x : tensor<1x2x8x8xf32>
  %1 = relay.concatenate %0, %x {axis = 1} : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x4x8x8xf32>
  %2 = relay.nn.conv2d %1, %w : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %3 = relay.add %1, %2 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %4 = relay.nn.global_avg_pool2d %3 : (tensor<1x4x8x8xf32>) -> tensor<1x4x1x1xf32>
  relay.return %4 : tensor<1x4x1x1xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK:         %[[X:.*]] = relay.transpose %x

// CHECK-NEXT:    %[[R:.*]] = relay.nn.relu %[[X]]
// CHECK-NEXT:    relay.concatenate %[[R]], %[[X]] {axis = 3}
// CHECK-NOT:     relay.transpose
// CHECK:         relay.return

// -----

// Two tensors that are added are not transposed each; their sum is. What creates data has no operand to transpose.
relay.func @main(%x: tensor<1x2x8x8xf32>, %y: tensor<1x2x8x8xf32>) -> (tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>) {
  %0 = relay.add %x, %y : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %1 = relay.nn.global_avg_pool2d %0 : (tensor<1x2x8x8xf32>) -> tensor<1x2x1x1xf32>
  %2 = relay.ones {shape = [1, 2, 8, 8]} : () -> tensor<1x2x8x8xf32>
  %3 = relay.nn.global_avg_pool2d %2 : (tensor<1x2x8x8xf32>) -> tensor<1x2x1x1xf32>
  relay.return %1, %3 : tensor<1x2x1x1xf32>, tensor<1x2x1x1xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    %[[S:.*]] = relay.add %x, %y
// CHECK-NEXT:    relay.transpose %[[S]]
// CHECK:         %[[O:.*]] = relay.ones
// CHECK-NEXT:    relay.transpose %[[O]]

// -----

// A reshape from another rank stays before the transpose.
relay.func @main(%x: tensor<1x16xf32>) -> tensor<1x4x1x1xf32> {
  %0 = relay.reshape %x {newshape = [1, 4, 2, 2]} : (tensor<1x16xf32>) -> tensor<1x4x2x2xf32>
  %1 = relay.nn.relu %0 : tensor<1x4x2x2xf32>
  %2 = relay.nn.global_avg_pool2d %1 : (tensor<1x4x2x2xf32>) -> tensor<1x4x1x1xf32>
  relay.return %2 : tensor<1x4x1x1xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    %[[R:.*]] = relay.reshape %x
// CHECK-NEXT:    %[[T:.*]] = relay.transpose %[[R]]
// CHECK-NEXT:    relay.nn.relu %[[T]]
