// RUN: relay-opt %s -p fold-constant --split-input-file | filecheck %s

relay.func @same(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = relay.reshape %x {newshape = [0, -1]} : tensor<2x3xf32>
  %1 = relay.broadcast_to %0 {shape = [2, 3]} : tensor<2x3xf32>
  relay.return %1 : tensor<2x3xf32>
}
// CHECK-LABEL: relay.func @same
// CHECK-NEXT:    relay.return %x

// -----

// Equal types with a `?` do not make an identity: the element counts agree only as a whole.
relay.func @unknown(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = relay.reshape %x {newshape = [3, -1]} : tensor<?x?xf32>
  relay.return %0 : tensor<?x?xf32>
}
// CHECK-LABEL: relay.func @unknown
// CHECK-NEXT:    relay.reshape
