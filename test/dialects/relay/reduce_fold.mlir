// RUN: relay-opt %s -p fold-constant --split-input-file | filecheck %s

// A reduction over no axes is its operand.
relay.func @none(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = relay.sum %x {axis = []} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  relay.return %0 : tensor<2x3xf32>
}
// CHECK-LABEL: relay.func @none
// CHECK-NEXT:    relay.return %x

// -----

// A reduction over an axis of size 1 is a reshape, not its operand.
relay.func @one(%x: tensor<2x1xf32>) -> tensor<2xf32> {
  %0 = relay.sum %x {axis = [1]} : (tensor<2x1xf32>) -> tensor<2xf32>
  relay.return %0 : tensor<2xf32>
}
// CHECK-LABEL: relay.func @one
// CHECK-NEXT:    relay.sum
