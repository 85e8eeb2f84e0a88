// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

relay.func @syntax(%x: tensor<4x?xf32>, %n: tensor<4xi64>) -> tensor<2x?xf32> {
  %0 = relay.strided_slice %x {begin = [-1], end = [-9], strides = [-2]} : (tensor<4x?xf32>) -> tensor<2x?xf32>
  %1 = relay.strided_slice %x {begin = [1], end = [-1], axes = [0], slice_mode = "size"} : (tensor<4x?xf32>) -> tensor<3x?xf32>
  %2 = relay.reverse %x {axis = 1} : tensor<4x?xf32>
  %3 = relay.reverse_sequence %x, %n : (tensor<4x?xf32>, tensor<4xi64>) -> tensor<4x?xf32>
  %4 = relay.tile %x {reps = [2, 1]} : (tensor<4x?xf32>) -> tensor<8x?xf32>
  %5 = relay.repeat %x {repeats = 3, axis = 0} : (tensor<4x?xf32>) -> tensor<12x?xf32>
  relay.return %0 : tensor<2x?xf32>
}
// CHECK-LABEL: relay.func @syntax
// CHECK-NEXT:    relay.strided_slice %x {begin = [-1], end = [-9], strides = [-2]} : (tensor<4x?xf32>) -> tensor<2x?xf32>
// CHECK-NEXT:    relay.strided_slice %x {begin = [1], end = [-1], axes = [0], slice_mode = "size"} : (tensor<4x?xf32>) -> tensor<3x?xf32>
// CHECK-NEXT:    relay.reverse %x {axis = 1} : tensor<4x?xf32>
// CHECK-NEXT:    relay.reverse_sequence %x, %n : (tensor<4x?xf32>, tensor<4xi64>) -> tensor<4x?xf32>
// CHECK-NEXT:    relay.tile %x {reps = [2, 1]} : (tensor<4x?xf32>) -> tensor<8x?xf32>
// CHECK-NEXT:    relay.repeat %x {repeats = 3, axis = 0} : (tensor<4x?xf32>) -> tensor<12x?xf32>

// -----

relay.func @zero(%x: tensor<4xf32>) {
  // expected-error @below {{strides are [0]; expected none to be 0}}
  %0 = relay.strided_slice %x {begin = [0], end = [1], strides = [0]} : (tensor<4xf32>) -> tensor<1xf32>
  relay.return
}

// -----

relay.func @entries(%x: tensor<4xf32>) {
  // expected-error @below {{begin, end, strides and axes have 1, 2, 1 and 1 entries for 1 dimensions}}
  %0 = relay.strided_slice %x {begin = [0], end = [1, 2]} : (tensor<4xf32>) -> tensor<1xf32>
  relay.return
}

// -----

relay.func @lengths(%x: tensor<4x2xf32>, %n: tensor<2xi64>) {
  // expected-error @below {{seq_lengths is tensor<2xi64>; expected one length for each of 4 batches}}
  %0 = relay.reverse_sequence %x, %n : (tensor<4x2xf32>, tensor<2xi64>) -> tensor<4x2xf32>
  relay.return
}

// -----

relay.func @reps(%x: tensor<4xf32>) {
  // expected-error @below {{reps are [-1]; expected none to be negative}}
  %0 = relay.tile %x {reps = [-1]} : (tensor<4xf32>) -> tensor<4xf32>
  relay.return
}
