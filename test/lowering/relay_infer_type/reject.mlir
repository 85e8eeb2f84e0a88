// RUN: relay-opt %s -p relay-infer-type --split-input-file --verify-diagnostics

relay.func @unknown(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{cannot be inferred}}
  %f = relay.fn (%y: !relay.incomplete) -> !relay.incomplete {
    relay.yield %y : !relay.incomplete
  }
  relay.return %x : tensor<f32>
}

// -----

relay.func @branches(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<5xf32>) -> !relay.incomplete {
  %0 = relay.if %c : tensor<i1> -> (!relay.incomplete) {
    relay.yield %x : tensor<4xf32>
  } else {
    // expected-error @below {{the value of this branch is tensor<5xf32>, but tensor<4xf32> is expected: dimension 0 is 5 in the one and 4 in the other (tensor<4xf32> comes from line 15, column 5)}}
    relay.yield %y : tensor<5xf32>
  }
  relay.return %0 : !relay.incomplete
}

// -----

relay.func @operator(%x: tensor<4xf32>, %y: tensor<5xf32>) -> !relay.incomplete {
  // expected-error @below {{do not broadcast}}
  %0 = relay.add %x, %y : (tensor<4xf32>, tensor<5xf32>) -> !relay.incomplete
  relay.return %0 : !relay.incomplete
}

// -----

relay.adt @Shape {
  relay.constructor @Circle(tensor<f32>)
  relay.constructor @Box(tensor<f32>, tensor<f32>)
}
relay.func @cover(%s: !relay.adt<@Shape>, %x: tensor<f32>) -> tensor<f32> {
  %t = relay.tuple %s, %s : tuple<!relay.adt<@Shape>, !relay.adt<@Shape>>
  // expected-error @below {{the match does not cover (Box(_, _), Box(_, _))}}
  %r = relay.match %t : tuple<!relay.adt<@Shape>, !relay.adt<@Shape>> -> tensor<f32> {
  case (@Circle(%a: tensor<f32>), _) {
    relay.yield %a : tensor<f32>
  }
  case (@Box(_, _), @Circle(%a: tensor<f32>)) {
    relay.yield %a : tensor<f32>
  }
  }
  relay.return %r : tensor<f32>
}

// -----

relay.func @infinite(%x: tensor<f32>) -> tensor<f32> {
  %f = relay.fn rec %self: !relay.incomplete, (%y: tensor<f32>) -> !relay.incomplete {
    // expected-error @below {{the type would contain itself}}
    relay.yield %self : !relay.incomplete
  }
  relay.return %x : tensor<f32>
}

// -----

relay.func @not_a_function(%x: tensor<f32>) -> tensor<f32> {
  %g = relay.nn.relu %x : (tensor<f32>) -> !relay.incomplete
  // expected-error @below {{the function, as called, is (tensor<f32>) -> tensor<f32>, but tensor<f32> is expected}}
  %0 = relay.apply %g(%x) : !relay.incomplete, (tensor<f32>) -> tensor<f32>
  relay.return %0 : tensor<f32>
}
