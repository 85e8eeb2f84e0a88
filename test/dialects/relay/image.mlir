// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

relay.func @syntax(%x: tensor<?x2x5x7xf32>, %s: tensor<1x2x?xf32>, %v: tensor<1x2x3x5x7xf32>) -> tensor<?x2x8x3xf32> {
  %0 = relay.image.resize2d %x {size = [8, 3]} : (tensor<?x2x5x7xf32>) -> tensor<?x2x8x3xf32>
  %1 = relay.image.resize1d %s {size = [4], method = "cubic", cubic_alpha = -0.75, antialias = true} : (tensor<1x2x?xf32>) -> tensor<1x2x4xf32>
  %2 = relay.image.resize3d %v {size = [4, 4, 4], method = "nearest_neighbor", rounding_method = "floor", scales = [1.4, 0.8, 0.6]} : (tensor<1x2x3x5x7xf32>) -> tensor<1x2x4x4x4xf32>
  relay.return %0 : tensor<?x2x8x3xf32>
}
// CHECK-LABEL: relay.func @syntax
// CHECK-NEXT:    relay.image.resize2d %x {size = [8, 3]} : (tensor<?x2x5x7xf32>) -> tensor<?x2x8x3xf32>
// CHECK-NEXT:    relay.image.resize1d %s {size = [4], method = "cubic", cubic_alpha = -0.75, antialias = true} : (tensor<1x2x?xf32>) -> tensor<1x2x4xf32>
// CHECK-NEXT:    relay.image.resize3d %v {size = [4, 4, 4], method = "nearest_neighbor", rounding_method = "floor", scales = [1.4, 0.8, 0.6]} : (tensor<1x2x3x5x7xf32>) -> tensor<1x2x4x4x4xf32>

// -----

relay.func @mode(%x: tensor<1x2x5x7xf32>) {
  // expected-error @below {{coordinate_transformation_mode is "corners"; expected one of half_pixel, }}
  %0 = relay.image.resize2d %x {size = [8, 3], coordinate_transformation_mode = "corners"} : (tensor<1x2x5x7xf32>) -> tensor<1x2x8x3xf32>
  relay.return
}

// -----

relay.func @roi(%x: tensor<1x2x5x7xf32>) {
  // expected-error @below {{roi has 0 entries; expected 4}}
  %0 = relay.image.resize2d %x {size = [8, 3], coordinate_transformation_mode = "tf_crop_and_resize"} : (tensor<1x2x5x7xf32>) -> tensor<1x2x8x3xf32>
  relay.return
}

// -----

relay.func @layout(%x: tensor<1x2x5x7xf32>) {
  // expected-error @below {{layout NCW of data of shape [1, 2, 5, 7] must have its rank and 2 of D, H, W}}
  %0 = relay.image.resize2d %x {size = [8, 3], layout = "NCW"} : (tensor<1x2x5x7xf32>) -> tensor<1x2x8x3xf32>
  relay.return
}

// -----

relay.func @bool(%x: tensor<1x2x5x7xi1>) {
  // expected-error @below {{bool cannot be interpolated by linear; cast it}}
  %0 = relay.image.resize2d %x {size = [8, 3]} : (tensor<1x2x5x7xi1>) -> tensor<1x2x8x3xi1>
  relay.return
}
