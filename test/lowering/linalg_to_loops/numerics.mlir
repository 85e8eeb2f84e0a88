// RUN: relay-opt %s -p 'relay-to-linalg,tile-contractions,bufferize,linalg-to-loops{numerics=strict}' | filecheck %s --check-prefix=STRICT
// RUN: relay-opt %s -p relay-to-linalg,tile-contractions,bufferize,linalg-to-loops | filecheck %s --check-prefix=RELAXED

// strict: product and sum are rounded each, and a sum keeps its order; relaxed: neither.
// STRICT-NOT:   vector.fma
// STRICT:       arith.mulf
// STRICT:       arith.addf
// STRICT-NOT:   vector.reduction
// RELAXED:      vector.fma
// RELAXED:      vector.reduction <add>, %{{.*}} fastmath<reassoc>
relay.func @main(%x: tensor<2x64xf32>, %w: tensor<64x32xf32>) -> (tensor<2x32xf32>, tensor<2xf32>) {
  %0 = relay.nn.matmul %x, %w : (tensor<2x64xf32>, tensor<64x32xf32>) -> tensor<2x32xf32>
  %1 = relay.sum %x {axis = [1]} : (tensor<2x64xf32>) -> tensor<2xf32>
  relay.return %0, %1 : tensor<2x32xf32>, tensor<2xf32>
}
