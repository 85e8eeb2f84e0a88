// RUN: relay-opt %s -p relay-to-linalg --split-input-file | filecheck %s

// NaN and -0.0 pass a relu: a compare and a select. f16 computes in f32; the output is not read.
relay.func @relu(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = relay.nn.relu %x : tensor<4xf16>
  relay.return %0 : tensor<4xf16>
}
// CHECK-LABEL: @relu
// CHECK:       ^bb0(%[[IN:.*]]: f16, %{{.*}}: f16):
// CHECK-NEXT:    %[[X:.*]] = arith.extf %[[IN]] : f16 to f32
// CHECK-NEXT:    %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %[[BELOW:.*]] = arith.cmpf olt, %[[X]], %[[ZERO]] : f32
// CHECK-NEXT:    %[[RELU:.*]] = arith.select %[[BELOW]], %[[ZERO]], %[[X]] : f32
// CHECK-NEXT:    %[[OUT:.*]] = arith.truncf %[[RELU]] : f32 to f16
// CHECK-NEXT:    linalg.yield %[[OUT]] : f16

// -----

// A dimension of size 1 is read at 0; unsigned operands compare unsigned.
relay.func @less(%x: tensor<4xui8>, %y: tensor<1xui8>) -> tensor<4xi1> {
  %0 = relay.less %x, %y : (tensor<4xui8>, tensor<1xui8>) -> tensor<4xi1>
  relay.return %0 : tensor<4xi1>
}
// CHECK-LABEL: @less(%x: tensor<4xi8>, %y: tensor<1xi8>) -> tensor<4xi1>
// CHECK:         affine_map<(d0) -> (0)>
// CHECK:         arith.cmpi ult

// -----

// No divisor that traps reaches the division.
relay.func @divide(%x: tensor<4xi8>, %y: tensor<4xi8>) -> tensor<4xi8> {
  %0 = relay.divide %x, %y : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  relay.return %0 : tensor<4xi8>
}
// CHECK-LABEL: @divide
// CHECK:         %[[SAFE:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : i8
// CHECK-NEXT:    arith.divsi %{{.*}}, %[[SAFE]] : i8

// -----

// No shift by the width or more.
relay.func @right_shift(%x: tensor<4xi8>, %y: tensor<4xi8>) -> tensor<4xi8> {
  %0 = relay.right_shift %x, %y : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  relay.return %0 : tensor<4xi8>
}
// CHECK-LABEL: @right_shift
// CHECK:         %[[INSIDE:.*]] = arith.cmpi ult
// CHECK-NEXT:    %[[MOST:.*]] = arith.constant 7 : i8
// CHECK-NEXT:    %[[SAFE:.*]] = arith.select %[[INSIDE]], %{{.*}}, %[[MOST]] : i8
// CHECK-NEXT:    arith.shrsi %{{.*}}, %[[SAFE]] : i8

// -----

// Operators that only move values do not convert them.
relay.func @where(%c: tensor<4xi1>, %x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = relay.copy %x : tensor<4xf16>
  %1 = relay.where %c, %x, %0 : (tensor<4xi1>, tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  relay.return %1 : tensor<4xf16>
}
// CHECK-LABEL: @where
// CHECK-NOT:     arith.extf
// CHECK:         arith.select %{{.*}} : f16
