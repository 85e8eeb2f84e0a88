// RUN: relay-opt %s --split-input-file --verify-diagnostics -o %t

relay.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{unknown operation 'relay.nn.rleu'; did you mean 'relay.nn.relu'?}}
  %0 = relay.nn.rleu %x : tensor<2xf32>
  relay.return %0 : tensor<2xf32>
}

// -----

// expected-error @below {{unknown dialect 'relya' of operation 'relya.func'; did you mean 'relay'?}}
relya.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
}

// -----

relay.func @f(%input: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{use of undefined value %inptu; did you mean '%input'?}}
  relay.return %inptu : tensor<2xf32>
}

// -----

relay.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{300 is out of the range of i8, -128 to 255}}
  %0 = relay.constant dense<[300, 1]> : tensor<2xi8>
  relay.return %x : tensor<2xf32>
}

// -----

relay.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{1e39 is out of the range of f32}}
  %0 = relay.constant dense<[1e39, 1.0]> : tensor<2xf32>
  relay.return %x : tensor<2xf32>
}

// -----

relay.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{the bit pattern 0x1FF800000 does not fit f32, which has 32 bits}}
  %0 = relay.constant dense<[0x1FF800000, 1.0]> : tensor<2xf32>
  relay.return %x : tensor<2xf32>
}

// -----

relay.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{the literal has shape [3], but tensor<2xf32> has shape [2]}}
  %0 = relay.constant dense<[1.0, 2.0, 3.0]> : tensor<2xf32>
  relay.return %x : tensor<2xf32>
}

// -----

// expected-error @below {{out of range}}
relay.func @f() -> () attributes {a = 70000 : i8} {
}

// -----

// expected-error @below {{1.0e400 is out of the range of f64}}
relay.func @f() -> () attributes {a = 1.0e400 : f64} {
}

// -----

// expected-error @below {{unknown attribute 'relay.foo'}}
relay.func @f() -> () attributes {a = #relay.foo} {
}

// -----

relay.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.nn.relu %x : tensor<2xf32>
  // expected-error @below {{SSA value %0 is already defined}}
  %0 = relay.nn.relu %x : tensor<2xf32>
  relay.return %0 : tensor<2xf32>
}
