// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: relay.func @lstm(
// CHECK:         relay.nn.lstm %{{[^:]*}} {reverse = true} :
// CHECK-SAME:      -> (tensor<?x2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
relay.func @lstm(%x: tensor<?x2x4xf32>, %w: tensor<32x4xf32>, %r: tensor<32x8xf32>, %b: tensor<32xf32>, %h: tensor<2x8xf32>, %c: tensor<2x8xf32>) -> tensor<?x2x8xf32> {
  %y, %yh, %yc = relay.nn.lstm %x, %w, %r, %b, %h, %c {reverse = true} : (tensor<?x2x4xf32>, tensor<32x4xf32>, tensor<32x8xf32>, tensor<32xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<?x2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  relay.return %y : tensor<?x2x8xf32>
}

// -----

// CHECK-LABEL: relay.func @gru(
// CHECK:         relay.nn.gru %{{[^:]*}} {activations = ["HardSigmoid", "Tanh"], with_lengths = true, linear_before_reset = true} :
relay.func @gru(%x: tensor<3x?x4xf16>, %w: tensor<24x4xf16>, %r: tensor<16x8xf16>, %rc: tensor<8x8xf16>, %b: tensor<24xf16>, %bc: tensor<8xf16>, %h: tensor<?x8xf16>, %n: tensor<?xi32>) -> tensor<?x8xf16> {
  %y, %yh = relay.nn.gru %x, %w, %r, %rc, %b, %bc, %h, %n {activations = ["HardSigmoid", "Tanh"], with_lengths = true, linear_before_reset = true} : (tensor<3x?x4xf16>, tensor<24x4xf16>, tensor<16x8xf16>, tensor<8x8xf16>, tensor<24xf16>, tensor<8xf16>, tensor<?x8xf16>, tensor<?xi32>) -> (tensor<3x?x8xf16>, tensor<?x8xf16>)
  relay.return %yh : tensor<?x8xf16>
}

// -----

relay.func @units(%x: tensor<3x2x4xf32>, %w: tensor<8x4xf32>, %r: tensor<9x9xf32>, %b: tensor<8xf32>, %h: tensor<2x8xf32>) {
  // expected-error @below {{rows of weight and gates times units must agree, but are 8 and 9}}
  %y, %yh = relay.nn.rnn %x, %w, %r, %b, %h : (tensor<3x2x4xf32>, tensor<8x4xf32>, tensor<9x9xf32>, tensor<8xf32>, tensor<2x8xf32>) -> (tensor<3x2x8xf32>, tensor<2x8xf32>)
  relay.return
}

// -----

relay.func @batch(%x: tensor<3x2x4xf32>, %w: tensor<8x4xf32>, %r: tensor<8x8xf32>, %b: tensor<8xf32>, %h: tensor<1x8xf32>) {
  // expected-error @below {{dimension 0 of initial_h and the layer's must agree, but are 1 and 2}}
  %y, %yh = relay.nn.rnn %x, %w, %r, %b, %h : (tensor<3x2x4xf32>, tensor<8x4xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<1x8xf32>) -> (tensor<3x2x8xf32>, tensor<2x8xf32>)
  relay.return
}

// -----

relay.func @lengths(%x: tensor<3x2x4xf32>, %w: tensor<8x4xf32>, %r: tensor<8x8xf32>, %b: tensor<8xf32>, %h: tensor<2x8xf32>) {
  // expected-error @below {{expected 6 operands (data, weight, recurrence, bias, initial_h, lengths), but found 5}}
  %y, %yh = relay.nn.rnn %x, %w, %r, %b, %h {with_lengths = true} : (tensor<3x2x4xf32>, tensor<8x4xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<2x8xf32>) -> (tensor<3x2x8xf32>, tensor<2x8xf32>)
  relay.return
}

// -----

relay.func @activation(%x: tensor<3x2x4xf32>, %w: tensor<8x4xf32>, %r: tensor<8x8xf32>, %b: tensor<8xf32>, %h: tensor<2x8xf32>) {
  // expected-error @below {{activation 'Sine' is not one of Sigmoid, Tanh}}
  %y, %yh = relay.nn.rnn %x, %w, %r, %b, %h {activations = ["Sine"]} : (tensor<3x2x4xf32>, tensor<8x4xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<2x8xf32>) -> (tensor<3x2x8xf32>, tensor<2x8xf32>)
  relay.return
}
