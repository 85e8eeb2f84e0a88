// RUN: relay-opt %s -p fold-constant | filecheck %s

// Blocks of one pixel stay where they are.
relay.func @one(%x: tensor<?x8x4x6xf32>) -> tensor<?x8x4x6xf32> {
  %0 = relay.nn.depth_to_space %x : tensor<?x8x4x6xf32>
  %1 = relay.nn.space_to_depth %0 {mode = "CRD"} : tensor<?x8x4x6xf32>
  relay.return %1 : tensor<?x8x4x6xf32>
}
// CHECK-LABEL: relay.func @one
// CHECK-NEXT:    relay.return %x
