// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

relay.func @syntax(%x: tensor<?x3x5x7xf32>, %g: tensor<2x2x4x?xf32>) -> tensor<2x3x4x?xf32> {
  %0 = relay.image.grid_sample %x, %g {method = "bicubic", padding_mode = "border", align_corners = false} : (tensor<?x3x5x7xf32>, tensor<2x2x4x?xf32>) -> tensor<2x3x4x?xf32>
  relay.return %0 : tensor<2x3x4x?xf32>
}
// CHECK-LABEL: relay.func @syntax
// CHECK-NEXT:    relay.image.grid_sample %x, %g {method = "bicubic", padding_mode = "border", align_corners = false} : (tensor<?x3x5x7xf32>, tensor<2x2x4x?xf32>) -> tensor<2x3x4x?xf32>

// -----

relay.func @grid(%x: tensor<2x3x5x7xf32>, %g: tensor<2x4x4x2xf32>) {
  // expected-error @below {{a grid of shape [2, 4, 4, 2] does not fit data of shape [2, 3, 5, 7]}}
  %0 = relay.image.grid_sample %x, %g : (tensor<2x3x5x7xf32>, tensor<2x4x4x2xf32>) -> tensor<2x3x4x4xf32>
  relay.return
}

// -----

relay.func @layout(%x: tensor<2x3x5x7xf32>, %g: tensor<2x2x4x4xf32>) {
  // expected-error @below {{layout is NHWC; expected NCHW, or NCDHW where method is not bicubic}}
  %0 = relay.image.grid_sample %x, %g {layout = "NHWC"} : (tensor<2x3x5x7xf32>, tensor<2x2x4x4xf32>) -> tensor<2x3x4x4xf32>
  relay.return
}
