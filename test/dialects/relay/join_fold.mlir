// RUN: relay-opt %s -p fold-constant | filecheck %s

// One part is the whole.
relay.func @one(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = relay.concatenate %x : tensor<2x3xf32>
  %1 = relay.split %0 {indices_or_sections = []} : tensor<2x3xf32>
  relay.return %1 : tensor<2x3xf32>
}
// CHECK-LABEL: relay.func @one
// CHECK-NEXT:    relay.return %x
