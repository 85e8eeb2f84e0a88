// A dense layer: relu(x . w^T + b).
relay.func @main(%x: tensor<56x256xf32>, %w: tensor<128x256xf32>, %b: tensor<128xf32>) -> tensor<56x128xf32>
    attributes {input_names = ["x", "w", "b"], output_names = ["y"]} {
  %0 = relay.nn.dense %x, %w : (tensor<56x256xf32>, tensor<128x256xf32>) -> tensor<56x128xf32>
  %1 = relay.nn.bias_add %0, %b {axis = 1} : (tensor<56x128xf32>, tensor<128xf32>) -> tensor<56x128xf32>
  %2 = relay.nn.relu %1 : tensor<56x128xf32>
  relay.return %2 : tensor<56x128xf32>
}
