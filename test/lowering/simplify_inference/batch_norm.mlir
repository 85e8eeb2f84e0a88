// RUN: relay-opt %s -p simplify-inference --split-input-file | filecheck %s

// Constant statistics become a factor and a summand for each channel.
relay.func @main(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %g = relay.weight "g" : tensor<2xf32>
  %b = relay.weight "b" : tensor<2xf32>
  %m = relay.weight "m" : tensor<2xf32>
  %v = relay.weight "v" : tensor<2xf32>
  %0 = relay.nn.batch_norm %x, %g, %b, %m, %v : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  relay.return %0 : tensor<1x2x4x4xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK:         %[[E:.*]] = relay.constant dense<1.000000e-05> : tensor<f32>
// CHECK-NEXT:    %[[S:.*]] = relay.add %{{.*}}, %[[E]]
// CHECK-NEXT:    %[[R:.*]] = relay.sqrt %[[S]]
// CHECK-NEXT:    %[[F:.*]] = relay.divide %{{.*}}, %[[R]]
// CHECK-NEXT:    %[[M:.*]] = relay.multiply %{{.*}}, %[[F]]
// CHECK-NEXT:    %[[T:.*]] = relay.subtract %{{.*}}, %[[M]]
// CHECK-NEXT:    %[[F2:.*]] = relay.expand_dims %[[F]] {axis = 1, num_newaxis = 2}
// CHECK-NEXT:    %[[T2:.*]] = relay.expand_dims %[[T]] {axis = 1, num_newaxis = 2}
// CHECK-NEXT:    %[[X:.*]] = relay.multiply %x, %[[F2]]
// CHECK-NEXT:    %[[Y:.*]] = relay.add %[[X]], %[[T2]]
// CHECK-NEXT:    relay.return %[[Y]]

// -----

// Without scale and center gamma and beta take no part; along the last axis nothing is expanded.
relay.func @main(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %w = relay.weight "w" : tensor<2xf32>
  %0 = relay.nn.batch_norm %x, %w, %w, %w, %w {center = false, scale = false} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  relay.return %0 : tensor<4x2xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK:         %[[ONE:.*]] = relay.constant dense<1.000000e+00
// CHECK-NEXT:    relay.divide %[[ONE]]
// CHECK:         relay.negative
// CHECK-NOT:     relay.expand_dims
// CHECK:         relay.multiply %x
// CHECK-NEXT:    relay.add

// -----

// Statistics that the program computes, and half precision, keep the operator.
relay.func @main(%x: tensor<1x2xf32>, %v: tensor<2xf32>, %h: tensor<1x2xf16>) -> (tensor<1x2xf32>, tensor<1x2xf16>) {
  %w = relay.weight "w" : tensor<2xf32>
  %u = relay.weight "u" : tensor<2xf16>
  %0 = relay.nn.batch_norm %x, %w, %w, %w, %v : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %1 = relay.nn.batch_norm %h, %u, %u, %u, %u : (tensor<1x2xf16>, tensor<2xf16>, tensor<2xf16>, tensor<2xf16>, tensor<2xf16>) -> tensor<1x2xf16>
  relay.return %0, %1 : tensor<1x2xf32>, tensor<1x2xf16>
}
// CHECK-LABEL: relay.func @main
// CHECK-COUNT-2: relay.nn.batch_norm
// CHECK-NEXT:    relay.return
