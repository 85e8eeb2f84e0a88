// REQUIRES: mlir-opt-22
// RUN: relay-opt %s | mlir-opt-22 | relay-opt | filecheck %s

// What MLIR prints for these bits is read back as the same bits.
module attributes {
  // CHECK: test.a = dense<[0x7e01, 0xfc00, -0.000000e+00]> : tensor<3xf16>
  test.a = dense<[0x7E01, 0xFC00, -0.0]> : tensor<3xf16>,
  // CHECK-SAME: test.b = dense<[0x7fc1, 0xff80, -0.000000e+00]> : tensor<3xbf16>
  test.b = dense<[0x7FC1, 0xFF80, -0.0]> : tensor<3xbf16>,
  // CHECK-SAME: test.c = dense<{{\[\[}}0x7fc00001, 0xff800000], [-0.000000e+00, 0.000000e+00]]> : tensor<2x2xf32>
  test.c = dense<[[0x7FC00001, 0xFF800000], [-0.0, 0.0]]> : tensor<2x2xf32>,
  // CHECK-SAME: test.d = dense<[0x7ff8000000000001, 0xfff0000000000000, -0.000000e+00]> : tensor<3xf64>
  test.d = dense<[0x7FF8000000000001, 0xFFF0000000000000, -0.0]> : tensor<3xf64>,
  // CHECK-SAME: test.e = array<f32: 0x7fc00001, 0xff800000, -0.000000e+00>
  test.e = array<f32: 0x7FC00001, 0xFF800000, -0.0>,
  // CHECK-SAME: test.f = dense<[true, false, true]> : tensor<3xi1>
  test.f = dense<[true, false, true]> : tensor<3xi1>,
  // CHECK-SAME: test.g = 0x7f800000 : f32
  test.g = 0x7F800000 : f32
} {
}
