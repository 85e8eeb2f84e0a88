// RUN: relay-opt %s -p relay-to-heap --split-input-file --verify-diagnostics

relay.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{has no heap form; run fuse-ops first}}
  %y = relay.negative %x : (tensor<4xf32>) -> tensor<4xf32>
  relay.return %y : tensor<4xf32>
}

// -----

// expected-error @below {{@main takes a (tensor<f32>) -> tensor<f32>; a compiled program takes and gives tensors}}
relay.func @main(%f: (tensor<f32>) -> tensor<f32>, %x: tensor<f32>) -> tensor<f32> {
  %y = relay.apply %f(%x) : (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>
  relay.return %y : tensor<f32>
}

// -----

// expected-error @below {{a value of type !relay.incomplete has no native form; run relay-infer-type}}
relay.func private @f(%x: !relay.incomplete) -> !relay.incomplete {
  relay.return %x : !relay.incomplete
}

// -----

// expected-error @below {{tensor<?xf32> has a dimension that is not known at compile time}}
relay.func private @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  relay.return %x : tensor<?xf32>
}
