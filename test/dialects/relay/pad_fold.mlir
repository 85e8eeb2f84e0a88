// RUN: relay-opt %s -p fold-constant | filecheck %s

relay.func @nothing(%x: tensor<2x?xf32>, %v: tensor<f32>) -> tensor<2x?xf32> {
  %0 = relay.nn.pad %x, %v {pad_width = [[0, 0], [0, 0]]} : (tensor<2x?xf32>, tensor<f32>) -> tensor<2x?xf32>
  relay.return %0 : tensor<2x?xf32>
}
// CHECK-LABEL: relay.func @nothing
// CHECK-NEXT:    relay.return %x
