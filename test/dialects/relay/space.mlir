// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

relay.func @syntax(%x: tensor<?x8x4x6xf32>) -> tensor<?x2x8x12xf32> {
  %0 = relay.nn.depth_to_space %x {block_size = 2, mode = "CRD"} : (tensor<?x8x4x6xf32>) -> tensor<?x2x8x12xf32>
  %1 = relay.nn.space_to_depth %x {block_size = 2, layout = "NHWC"} : (tensor<?x8x4x6xf32>) -> tensor<?x4x2x24xf32>
  relay.return %0 : tensor<?x2x8x12xf32>
}
// CHECK-LABEL: relay.func @syntax
// CHECK-NEXT:    relay.nn.depth_to_space %x {block_size = 2, mode = "CRD"} : (tensor<?x8x4x6xf32>) -> tensor<?x2x8x12xf32>
// CHECK-NEXT:    relay.nn.space_to_depth %x {block_size = 2, layout = "NHWC"} : (tensor<?x8x4x6xf32>) -> tensor<?x4x2x24xf32>

// -----

relay.func @channels(%x: tensor<1x6x4x6xf32>) {
  // expected-error @below {{the channel dimension of [1, 6, 4, 6] of size 6 is not divisible by 4}}
  %0 = relay.nn.depth_to_space %x {block_size = 2} : (tensor<1x6x4x6xf32>) -> tensor<1x1x8x12xf32>
  relay.return
}

// -----

relay.func @pixels(%x: tensor<1x6x4x5xf32>) {
  // expected-error @below {{dimension W of size 5 is not divisible by 2}}
  %0 = relay.nn.space_to_depth %x {block_size = 2} : (tensor<1x6x4x5xf32>) -> tensor<1x24x2x2xf32>
  relay.return
}
