// RUN: relay-opt %s -p fold-constant --split-input-file | filecheck %s

relay.func @same(%x: tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32> {
  %0 = relay.image.resize2d %x {size = [5, 7]} : tensor<1x2x5x7xf32>
  relay.return %0 : tensor<1x2x5x7xf32>
}
// CHECK-LABEL: relay.func @same
// CHECK-NEXT:    relay.return %x

// -----

// A scale that the size was rounded from moves the positions.
relay.func @scaled(%x: tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32> {
  %0 = relay.image.resize2d %x {size = [5, 7], scales = [1.1, 1.1]} : tensor<1x2x5x7xf32>
  relay.return %0 : tensor<1x2x5x7xf32>
}
// CHECK-LABEL: relay.func @scaled
// CHECK-NEXT:    relay.image.resize2d
