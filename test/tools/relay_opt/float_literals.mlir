// RUN: relay-opt %s | relay-opt | filecheck %s

// CHECK-LABEL: relay.func @nonfinite(
relay.func @nonfinite() -> tensor<4xf32> {
  // CHECK-NEXT: dense<[0x7f800000, 0xff800000, 0x7fc00001, -0.000000e+00]> : tensor<4xf32>
  %c = "arith.constant"() <{value = dense<[0x7F800000, 0xFF800000, 0x7FC00001, -0.0]> : tensor<4xf32>}> : () -> tensor<4xf32>
  relay.return %c : tensor<4xf32>
}

// A zero of each sign is not a splat.
// CHECK-LABEL: relay.func @zeros(
relay.func @zeros() -> tensor<1x2xf32> {
  // CHECK-NEXT: dense<{{\[\[}}0.000000e+00, -0.000000e+00]]> : tensor<1x2xf32>
  %c = "arith.constant"() <{value = dense<[[0.0, -0.0]]> : tensor<1x2xf32>}> : () -> tensor<1x2xf32>
  relay.return %c : tensor<1x2xf32>
}

// CHECK-LABEL: relay.func @splats(
relay.func @splats() -> () {
  // CHECK-NEXT: dense<0x7e01> : tensor<2xf16>
  %0 = "arith.constant"() <{value = dense<0x7E01> : tensor<2xf16>}> : () -> tensor<2xf16>
  // CHECK-NEXT: dense<0xff80> : tensor<2xbf16>
  %1 = "arith.constant"() <{value = dense<0xFF80> : tensor<2xbf16>}> : () -> tensor<2xbf16>
  // CHECK-NEXT: dense<0x7ff8000000000123> : tensor<f64>
  %2 = "arith.constant"() <{value = dense<0x7FF8000000000123> : tensor<f64>}> : () -> tensor<f64>
  // CHECK-NEXT: dense<-0.000000e+00> : tensor<2xf16>
  %3 = "arith.constant"() <{value = dense<-0.0> : tensor<2xf16>}> : () -> tensor<2xf16>
  // CHECK-NEXT: dense<1.500000e+00> : tensor<2xf32>
  %4 = "arith.constant"() <{value = dense<0x3FC00000> : tensor<2xf32>}> : () -> tensor<2xf32>
  // CHECK-NEXT: dense<> : tensor<0xf32>
  %5 = "arith.constant"() <{value = dense<> : tensor<0xf32>}> : () -> tensor<0xf32>
  relay.return
}

// CHECK-LABEL: relay.func @arrays(
// CHECK-SAME: a = array<f32: 0xff800000, -0.000000e+00, 1.500000e+00>
// CHECK-SAME: b = array<f64: 0x7ff0000000000000, 1.000000e-05>
relay.func @arrays() -> () attributes {a = array<f32: 0xFF800000, -0.0, 1.5>, b = array<f64: 0x7FF0000000000000, 1e-5>} {
  relay.return
}

// CHECK-LABEL: relay.func @scalars(
// CHECK-SAME: a = 1.000000e-05 : f32
// CHECK-SAME: b = 0x7f800000 : f32
// CHECK-SAME: c = 0xfc00 : f16
// CHECK-SAME: d = -0.000000e+00 : f64
relay.func @scalars() -> () attributes {a = 1e-5 : f32, b = 0x7F800000 : f32, c = 0xFC00 : f16, d = -0.0 : f64} {
  relay.return
}
