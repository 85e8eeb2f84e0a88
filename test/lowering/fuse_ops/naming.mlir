// RUN: relay-opt %s -p fuse-ops --split-input-file --print-debuginfo | filecheck %s

// The call has the locations of all operators, the function those of its first group, operator by operator.
relay.func @main(%x: tensor<4x3xf32>, %w: tensor<2x3xf32>) -> tensor<4x2xf32> {
  %0 = relay.nn.dense %x, %w : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<4x2xf32> loc("/fc/Gemm")
  %1 = relay.nn.relu %0 : tensor<4x2xf32> loc("/act/Relu")
  relay.return %1 : tensor<4x2xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    relay.call @dense_relu({{.*}} loc(fused["/fc/Gemm", "/act/Relu"])
// CHECK:       relay.func private @dense_relu
// CHECK-NEXT:    relay.nn.dense {{.*}} loc("/fc/Gemm")
// CHECK-NEXT:    relay.nn.relu {{.*}} loc("/act/Relu")

// -----

// A name that is taken gets a number; a long one tells its first operators.
relay.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = relay.call @relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = relay.nn.relu %0 : tensor<4xf32>
  %2 = relay.exp %x : tensor<4xf32>
  %3 = relay.log %2 : tensor<4xf32>
  %4 = relay.sqrt %3 : tensor<4xf32>
  %5 = relay.tanh %4 : tensor<4xf32>
  %6 = relay.negative %5 : tensor<4xf32>
  %7 = relay.abs %6 : tensor<4xf32>
  %8 = relay.exp %7 : tensor<4xf32>
  %9 = relay.log %8 : tensor<4xf32>
  relay.return %1, %9 : tensor<4xf32>, tensor<4xf32>
}
relay.func private @relu(%x: tensor<4xf32>) -> tensor<4xf32> {
  relay.return %x : tensor<4xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    relay.call @relu(
// CHECK-NEXT:    relay.call @relu_1(
// CHECK-NEXT:    relay.call @exp_log_sqrt_tanh_negative_abs_and_2_more(

// -----

// Groups are not fused again.
relay.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.call @relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relay.return %0 : tensor<4xf32>
}
relay.func private @relu(%x: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  %0 = relay.nn.relu %x : tensor<4xf32>
  relay.return %0 : tensor<4xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    relay.call @relu(
// CHECK:       relay.func private @relu
// CHECK-NEXT:    relay.nn.relu
