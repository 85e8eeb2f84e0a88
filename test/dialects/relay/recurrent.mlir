// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

relay.func @rnn(%x: tensor<5x2x3xf32>, %w: tensor<4x3xf32>, %r: tensor<4x4xf32>, %b: tensor<4xf32>, %h: tensor<2x4xf32>) {
  %0:2 = relay.nn.rnn %x, %w, %r, %b, %h {activations = ["Relu"], clip = 2.5, reverse = true} : (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
  relay.return
}
// CHECK-LABEL: relay.func @rnn
// CHECK-NEXT:    relay.nn.rnn %x, %w, %r, %b, %h {activations = ["Relu"], clip = 2.5, reverse = true} :

// -----

relay.func @gru(%x: tensor<?x?x3xf16>, %w: tensor<12x3xf16>, %r: tensor<8x4xf16>, %c: tensor<4x4xf16>, %b: tensor<12xf16>, %d: tensor<4xf16>, %h: tensor<2x4xf16>, %n: tensor<2xi32>) {
  %0:2 = relay.nn.gru %x, %w, %r, %c, %b, %d, %h, %n {with_lengths = true, linear_before_reset = true} : (tensor<?x?x3xf16>, tensor<12x3xf16>, tensor<8x4xf16>, tensor<4x4xf16>, tensor<12xf16>, tensor<4xf16>, tensor<2x4xf16>, tensor<2xi32>) -> (tensor<?x2x4xf16>, tensor<2x4xf16>)
  relay.return
}
// CHECK-LABEL: relay.func @gru
// CHECK-NEXT:    relay.nn.gru {{.*}}with_lengths = true{{.*}} -> (tensor<?x2x4xf16>, tensor<2x4xf16>)

// -----

relay.func @lstm(%x: tensor<5x2x3xf32>, %w: tensor<16x3xf32>, %r: tensor<16x4xf32>, %b: tensor<16xf32>, %h: tensor<2x4xf32>, %c: tensor<2x4xf32>, %p: tensor<12xf32>) {
  %0:3 = relay.nn.lstm %x, %w, %r, %b, %h, %c, %p {with_peepholes = true} : (tensor<5x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<16xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<12xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  relay.return
}
// CHECK-LABEL: relay.func @lstm
// CHECK-NEXT:    relay.nn.lstm {{.*}} {with_peepholes = true} :

// -----

relay.func @missing_state(%x: tensor<5x2x3xf32>, %w: tensor<16x3xf32>, %r: tensor<16x4xf32>, %b: tensor<16xf32>, %h: tensor<2x4xf32>) {
  // expected-error @below {{expected 6 operands (data, weight, recurrence, bias, initial_h, initial_c), but found 5}}
  %0:3 = relay.nn.lstm %x, %w, %r, %b, %h : (tensor<5x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<16xf32>, tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  relay.return
}

// -----

relay.func @units(%x: tensor<5x2x3xf32>, %w: tensor<4x3xf32>, %r: tensor<4x4xf32>, %b: tensor<5xf32>, %h: tensor<2x4xf32>) {
  // expected-error @below {{dimension 0 of bias and the layer's}}
  %0:2 = relay.nn.rnn %x, %w, %r, %b, %h : (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<4x4xf32>, tensor<5xf32>, tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
  relay.return
}

// -----

relay.func @activations(%x: tensor<5x2x3xf32>, %w: tensor<4x3xf32>, %r: tensor<4x4xf32>, %b: tensor<4xf32>, %h: tensor<2x4xf32>) {
  // expected-error @below {{expected 1 activations, but found 2}}
  %0:2 = relay.nn.rnn %x, %w, %r, %b, %h {activations = ["Tanh", "Tanh"]} : (tensor<5x2x3xf32>, tensor<4x3xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>)
  relay.return
}
