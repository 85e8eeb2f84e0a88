// RUN: relay-opt %s -p propagate-weights | filecheck %s

// A weight that a function hands on to itself is known inside; so is a constant. What differs stays a parameter.
// CHECK-LABEL: relay.func private @cell(%x: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-DAG:     %[[W:.*]] = relay.weight "w" : tensor<4xf32>
// CHECK-DAG:     %[[C:.*]] = relay.constant dense<2.000000e+00> : tensor<f32>
// CHECK:         relay.multiply %x, %[[W]]
// CHECK:         relay.multiply %{{.*}}, %[[C]]
// CHECK:         relay.call @cell(%{{.*}}, %s) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
relay.func private @cell(%w: tensor<4xf32>, %x: tensor<4xf32>, %c: tensor<f32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %y = relay.multiply %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %z = relay.multiply %y, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %v = relay.add %z, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r = relay.call @cell(%w, %v, %c, %s) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  relay.return %r : tensor<4xf32>
}

// A function that is a value may be called with anything.
// CHECK-LABEL: relay.func private @value(%w: tensor<4xf32>) -> tensor<4xf32> {
relay.func private @value(%w: tensor<4xf32>) -> tensor<4xf32> {
  relay.return %w : tensor<4xf32>
}

// CHECK-LABEL: relay.func @main(
// CHECK:         relay.call @cell(%x, %w)
// CHECK:         relay.call @cell(%x, %x)
// CHECK:         relay.call @value(%w)
relay.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = relay.weight "w" : tensor<4xf32>
  %c = relay.constant dense<2.0> : tensor<f32>
  %a = relay.call @cell(%w, %x, %c, %w) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %b = relay.call @cell(%w, %x, %c, %x) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %d = relay.call @value(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %f = relay.global @value : (tensor<4xf32>) -> tensor<4xf32>
  %e = relay.add %a, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relay.return %e : tensor<4xf32>
}
