// RUN: relay-opt %s --split-input-file --verify-diagnostics -o %t

relay.func @f(%x: tensor<2xf32>) -> tensor<3xf32> {
  // expected-error @below {{'relay.return' op returns (tensor<2xf32>), but @f declares (tensor<3xf32>)}}
  relay.return %x : tensor<2xf32>
}

// -----

relay.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  relay.return %y : tensor<2xf32> // expected-error {{use of undefined value %y}}
}

// -----

// A valid part needs no comment.
relay.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  relay.return %x : tensor<2xf32>
}
