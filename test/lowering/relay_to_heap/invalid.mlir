// RUN: relay-opt %s -p relay-to-heap --split-input-file --verify-diagnostics

relay.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{has no heap form; run fuse-ops first}}
  %y = relay.negative %x : (tensor<4xf32>) -> tensor<4xf32>
  relay.return %y : tensor<4xf32>
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
