// RUN: relay-opt %s -p fold-constant --split-input-file | filecheck %s

relay.func @identity(%x: tensor<?x3xf32>, %y: tensor<1x2x3x4xf32>) -> (tensor<?x3xf32>, tensor<1x2x3x4xf32>) {
  %0 = relay.transpose %x {axes = [0, -1]} : tensor<?x3xf32>
  %1 = relay.layout_transform %y {src_layout = "NCHW", dst_layout = "NCHW"} : tensor<1x2x3x4xf32>
  relay.return %0, %1 : tensor<?x3xf32>, tensor<1x2x3x4xf32>
}
// CHECK-LABEL: relay.func @identity
// CHECK-NEXT:    relay.return %x, %y

// -----

// A square matrix keeps its type, but not its elements.
relay.func @square(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = relay.transpose %x : tensor<3x3xf32>
  relay.return %0 : tensor<3x3xf32>
}
// CHECK-LABEL: relay.func @square
// CHECK-NEXT:    relay.transpose
