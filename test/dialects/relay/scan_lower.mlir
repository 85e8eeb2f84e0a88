// RUN: relay-opt %s -p relay-to-linalg | filecheck %s

// The running sum is a value of the loop along the axis, in f32.
relay.func @cumsum(%x: tensor<5xf16>) -> tensor<5xf16> {
  %0 = relay.cumsum %x {axis = 0} : tensor<5xf16>
  relay.return %0 : tensor<5xf16>
}
// CHECK-LABEL: @cumsum
// CHECK:         scf.for {{.*}} -> (tensor<1x5x1xf16>, f32)
// CHECK:         %[[SUM:.*]] = arith.addf
// CHECK:         tensor.insert
// CHECK-NEXT:    scf.yield %{{.*}}, %[[SUM]]
