// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

relay.func @syntax(%x: tensor<?x8x3xf32>, %y: tensor<1x8x3x5xf32>) -> tensor<3x8x?xf32> {
  %0 = relay.transpose %x : (tensor<?x8x3xf32>) -> tensor<3x8x?xf32>
  %1 = relay.transpose %x {axes = [1, 0, -1]} : (tensor<?x8x3xf32>) -> tensor<8x?x3xf32>
  %2 = relay.layout_transform %y {src_layout = "NCHW", dst_layout = "NHWC4c"} : (tensor<1x8x3x5xf32>) -> tensor<1x3x5x2x4xf32>
  relay.return %0 : tensor<3x8x?xf32>
}
// CHECK-LABEL: relay.func @syntax
// CHECK-NEXT:    relay.transpose %x : (tensor<?x8x3xf32>) -> tensor<3x8x?xf32>
// CHECK-NEXT:    relay.transpose %x {axes = [1, 0, -1]} : (tensor<?x8x3xf32>) -> tensor<8x?x3xf32>
// CHECK-NEXT:    relay.layout_transform %y {src_layout = "NCHW", dst_layout = "NHWC4c"} : (tensor<1x8x3x5xf32>) -> tensor<1x3x5x2x4xf32>

// -----

relay.func @twice(%x: tensor<2x3xf32>) {
  // expected-error @below {{an axis occurs twice in [1, 1]}}
  %0 = relay.transpose %x {axes = [1, -1]} : (tensor<2x3xf32>) -> tensor<3x3xf32>
  relay.return
}

// -----

relay.func @few(%x: tensor<2x3xf32>) {
  // expected-error @below {{axes [0] do not permute 2 dimensions}}
  %0 = relay.transpose %x {axes = [0]} : (tensor<2x3xf32>) -> tensor<2xf32>
  relay.return
}

// -----

relay.func @blocks(%x: tensor<1x6x3x5xf32>) {
  // expected-error @below {{dimension C of size 6 cannot be split into blocks of 4}}
  %0 = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x6x3x5xf32>) -> tensor<1x1x3x5x4xf32>
  relay.return
}

// -----

relay.func @letters(%x: tensor<1x6x3x5xf32>) {
  // expected-error @below {{layouts NCHW and NCDH do not have the same dimensions}}
  %0 = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCDH"} : tensor<1x6x3x5xf32>
  relay.return
}

// -----

relay.func @malformed(%x: tensor<1x6x3x5xf32>) {
  // expected-error @below {{layout 'NCHw' is malformed; expected letters and blocks such as NCHW or NCHW4c}}
  %0 = relay.layout_transform %x {src_layout = "NCHw", dst_layout = "NCHW"} : tensor<1x6x3x5xf32>
  relay.return
}
