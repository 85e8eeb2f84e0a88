// RUN: relay-opt %s | relay-opt | filecheck %s

// CHECK: relay.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
// CHECK-NEXT: relay.return %x : tensor<2xf32>
relay.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  relay.return %x : tensor<2xf32>
}
