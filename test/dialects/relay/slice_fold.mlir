// RUN: relay-opt %s -p fold-constant --split-input-file | filecheck %s

relay.func @whole(%x: tensor<4x1xf32>) -> tensor<4x1xf32> {
  %0 = relay.strided_slice %x {begin = [0, -5], end = [9, 9]} : tensor<4x1xf32>
  %1 = relay.reverse %0 {axis = 1} : tensor<4x1xf32>
  %2 = relay.tile %1 {reps = [1, 1]} : tensor<4x1xf32>
  %3 = relay.repeat %2 {repeats = 1, axis = 0} : tensor<4x1xf32>
  relay.return %3 : tensor<4x1xf32>
}
// CHECK-LABEL: relay.func @whole
// CHECK-NEXT:    relay.return %x

// -----

// Backwards over the whole keeps the type, but not the order; of an unknown size nothing is known to be the whole.
relay.func @kept(%x: tensor<4xf32>, %y: tensor<?xf32>) -> (tensor<4xf32>, tensor<?xf32>) {
  %0 = relay.strided_slice %x {begin = [-1], end = [-9], strides = [-1]} : tensor<4xf32>
  %1 = relay.strided_slice %y {begin = [0], end = [9]} : tensor<?xf32>
  relay.return %0, %1 : tensor<4xf32>, tensor<?xf32>
}
// CHECK-LABEL: relay.func @kept
// CHECK-NEXT:    relay.strided_slice
// CHECK-NEXT:    relay.strided_slice
