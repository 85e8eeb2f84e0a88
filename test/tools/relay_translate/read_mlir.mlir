// RUN: relay-translate %s | filecheck %s

// CHECK: relay.func @main(%x: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: relay.nn.relu %x : tensor<2xf32>
relay.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.nn.relu %x : tensor<2xf32>
  relay.return %0 : tensor<2xf32>
}
