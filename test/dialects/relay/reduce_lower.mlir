// RUN: relay-opt %s -p relay-to-linalg --split-input-file | filecheck %s

// f16 accumulates in f32 and is rounded once, after the division.
relay.func @mean(%x: tensor<2x3xf16>) -> tensor<2x1xf16> {
  %0 = relay.mean %x {axis = [1], keepdims = true} : (tensor<2x3xf16>) -> tensor<2x1xf16>
  relay.return %0 : tensor<2x1xf16>
}
// CHECK-LABEL: @mean
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]{{.*}} outs(%{{.*}} : tensor<2xf32>)
// CHECK-NOT:     arith.truncf
// CHECK:         arith.divf
// CHECK-NEXT:    arith.truncf

// -----

// One pass over the data finds the element and its position.
relay.func @argmax(%x: tensor<2x3xf32>) -> tensor<2xi64> {
  %0 = relay.argmax %x {axis = [1]} : (tensor<2x3xf32>) -> tensor<2xi64>
  relay.return %0 : tensor<2xi64>
}
// CHECK-LABEL: @argmax
// CHECK:         %{{.*}}, %[[POSITION:.*]] = linalg.generic
// CHECK:         arith.cmpf ogt
// CHECK:         linalg.index 1
// CHECK:         linalg.yield %{{.*}}, %{{.*}} : f32, i64
// CHECK:         func.return %[[POSITION]]
