// RUN: relay-opt %s -p relay-to-linalg,fuse-elementwise,tile-contractions,pack-weights,bufferize,linalg-to-loops --split-input-file | filecheck %s

// Rows whose number is known at run time only: whole tiles, then tiles of powers of two for what is left.
// CHECK-LABEL: func.func private @dense(
// CHECK-SAME:    %[[X:[^:]*]]: memref<?x8xf32>, %[[W:[^:]*]]: memref<1x8x32xf32>, %[[Y:[^:]*]]: memref<?x32xf32>)
// CHECK:         %[[N:.*]] = memref.dim %{{.*}}, %{{.*}} : memref<?x{{.*}}xf32>
// CHECK:         %[[REST:.*]] = arith.remui %[[N]], %[[TILE:.*]] : index
// CHECK:         %[[WHOLE:.*]] = arith.subi %[[N]], %[[REST]] : index
// CHECK:         scf.parallel (%{{.*}}) = (%{{.*}}) to (%[[WHOLE]]) step (%[[TILE]]) {
// CHECK:         %[[LEFT:.*]] = arith.subi %[[N]], %[[WHOLE]] : index
// CHECK:         arith.remui %[[LEFT]], %[[EIGHT:.*]] : index
// CHECK:         scf.for %{{.*}} = %[[WHOLE]] to %{{.*}} step %[[EIGHT]] {
// CHECK:         scf.for %{{.*}} to %[[N]] step %{{.*}} {
// CHECK:           vector.fma
relay.func private @dense(%x: tensor<?x8xf32>, %w: tensor<32x8xf32>) -> tensor<?x32xf32> attributes {primitive} {
  %0 = relay.nn.dense %x, %w : (tensor<?x8xf32>, tensor<32x8xf32>) -> tensor<?x32xf32>
  relay.return %0 : tensor<?x32xf32>
}
relay.func @main(%x: tensor<?x8xf32>) -> tensor<?x32xf32> {
  %w = relay.weight "w" : tensor<32x8xf32>
  %0 = relay.call @dense(%x, %w) : (tensor<?x8xf32>, tensor<32x8xf32>) -> tensor<?x32xf32>
  relay.return %0 : tensor<?x32xf32>
}

// -----

// An open loop along the lanes: whole vectors, and a masked one for the last lanes.
// CHECK-LABEL: func.func @relu(
// CHECK-SAME:    %x: memref<?xf32>, %[[Y:.*]]: memref<?xf32>)
// CHECK:         %[[N:.*]] = memref.dim %[[Y]], %{{.*}} : memref<?xf32>
// CHECK:         %[[WHOLE:.*]] = arith.subi %[[N]], %{{.*}} : index
// CHECK:         scf.parallel (%[[I:.*]]) = (%{{.*}}) to (%[[WHOLE]]) step (%{{.*}}) {
// CHECK:           vector.load %x[%[[I]]] : memref<?xf32>, vector<16xf32>
// CHECK:         scf.for %[[LAST:.*]] = %[[WHOLE]] to %[[N]] step %{{.*}} {
// CHECK-NEXT:      %[[REST:.*]] = arith.subi %[[N]], %[[LAST]] : index
// CHECK-NEXT:      %[[MASK:.*]] = vector.create_mask %[[REST]] : vector<16xi1>
// CHECK-NEXT:      vector.maskedload %x[%[[LAST]]], %[[MASK]]
// CHECK:           vector.maskedstore %[[Y]][%[[LAST]]], %[[MASK]]
relay.func @relu(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = relay.nn.relu %x : tensor<?xf32>
  relay.return %0 : tensor<?xf32>
}

// -----

// A reduction along an open loop: four vectors side by side, then one, then a masked one.
// CHECK-LABEL: func.func @sum(
// CHECK:         %[[FOUR:[0-9]*]], %{{.*}}, %{{.*}}, %{{.*}} = scf.for
// CHECK:         %[[ONE:[0-9]*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[FOUR]]) -> (vector<16xf32>)
// CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %[[ONE]]) -> (vector<16xf32>)
// CHECK:           vector.create_mask
// CHECK:           arith.select
// CHECK:         vector.reduction <add>
relay.func @sum(%x: tensor<?xf32>) -> tensor<f32> {
  %0 = relay.sum %x : (tensor<?xf32>) -> tensor<f32>
  relay.return %0 : tensor<f32>
}
