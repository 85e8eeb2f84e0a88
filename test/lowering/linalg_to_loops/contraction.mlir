// RUN: relay-opt %s -p relay-to-linalg,fuse-elementwise,tile-contractions,pack-weights,bufferize,linalg-to-loops --split-input-file | filecheck %s

// The sum is carried in registers: no buffer for it, and what follows happens before the store.
// CHECK-LABEL: func.func private @dense_relu(
// CHECK-SAME:    %[[X:[^:]*]]: memref<2x8xf32>, %[[W:[^:]*]]: memref<1x8x32xf32>, %[[Y:[^:]*]]: memref<2x32xf32>)
// CHECK-NOT:     memref.alloc
// CHECK:         %[[SUM:[0-9]*]], %{{.*}}, %{{.*}}, %{{.*}} = scf.for %[[K:[0-9]*]] = {{.*}} iter_args(%[[S0:[0-9]*]] = {{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK-NEXT:      %[[A:.*]] = memref.load %[[X]][%{{.*}}, %[[K]]]
// CHECK-NEXT:      %[[V:.*]] = vector.broadcast %[[A]] : f32 to vector<16xf32>
// CHECK-NEXT:      %[[P:.*]] = vector.load %[[W]][%{{.*}}, %[[K]], %{{.*}}]
// CHECK-NEXT:      %{{.*}} = vector.fma %[[V]], %[[P]], %[[S0]]
// CHECK:           scf.yield
// CHECK:         arith.cmpf olt, %[[SUM]]
// CHECK:         vector.store {{.*}}, %[[Y]]
relay.func private @dense_relu(%x: tensor<2x8xf32>, %w: tensor<32x8xf32>) -> tensor<2x32xf32> attributes {primitive} {
  %0 = relay.nn.dense %x, %w : (tensor<2x8xf32>, tensor<32x8xf32>) -> tensor<2x32xf32>
  %1 = relay.nn.relu %0 : tensor<2x32xf32>
  relay.return %1 : tensor<2x32xf32>
}
relay.func @main(%x: tensor<2x8xf32>) -> tensor<2x32xf32> {
  %w = relay.weight "w" : tensor<32x8xf32>
  %0 = relay.call @dense_relu(%x, %w) : (tensor<2x8xf32>, tensor<32x8xf32>) -> tensor<2x32xf32>
  relay.return %0 : tensor<2x32xf32>
}

// -----

// Columns that do not fill a vector are masked.
// CHECK-LABEL: func.func @masked(
// CHECK:         %[[MASK:.*]] = arith.constant dense<[true, true, true, true, true, false,
// CHECK:         vector.maskedload {{.*}}, %[[MASK]]
// CHECK:         vector.maskedstore {{.*}}, %[[MASK]]
relay.func @masked(%x: tensor<2x8xf32>, %w: tensor<8x5xf32>) -> tensor<2x5xf32> {
  %0 = relay.nn.matmul %x, %w : (tensor<2x8xf32>, tensor<8x5xf32>) -> tensor<2x5xf32>
  relay.return %0 : tensor<2x5xf32>
}
