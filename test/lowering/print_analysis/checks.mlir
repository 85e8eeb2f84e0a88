// RUN: relay-opt %s -p 'print-analysis{which=basic-block-normal-form,kinds,well-formed}' --split-input-file --verify-diagnostics

// A value that one branch alone uses is bound too far outside.
relay.func @scopes(%x: tensor<f32>, %c: tensor<i1>) -> tensor<f32> {
  // expected-remark @below {{is used in one inner scope only, but is bound outside of it}}
  %one = relay.negative %x : tensor<f32>
  %both = relay.tanh %x : tensor<f32>
  %r = relay.if %c : tensor<i1> -> (tensor<f32>) {
    %a = relay.add %one, %both : (tensor<f32>, tensor<f32>) -> tensor<f32>
    relay.yield %a : tensor<f32>
  } else {
    relay.yield %both : tensor<f32>
  }
  relay.return %r : tensor<f32>
}

// -----

relay.adt @List<A> {
  relay.constructor @Nil
  relay.constructor @Cons(!relay.type_var<A>, !relay.adt<@List<!relay.type_var<A>>>)
}
relay.adt @Other {
  // expected-remark @below {{@List has a constructor @Nil too}}
  relay.constructor @Nil
}
// expected-remark @below {{!relay.adt<@List>: @List takes 1 types, but is given 0}}
// expected-remark @below {{!relay.adt<@List>: @List takes 1 types, but is given 0}}
relay.func @arity(%x: !relay.adt<@List>) -> !relay.adt<@List> {
  relay.return %x : !relay.adt<@List>
}
// expected-remark @below {{!relay.adt<@Missing>: @Missing is not a data type of this module}}
// expected-remark @below {{!relay.adt<@Missing>: @Missing is not a data type of this module}}
relay.func @undeclared(%x: !relay.adt<@Missing>) -> !relay.adt<@Missing> {
  relay.return %x : !relay.adt<@Missing>
}
// expected-remark @below {{the type variable B is not bound}}
relay.func @unbound(%x: !relay.type_var<B>) -> !relay.type_var<B> {
  relay.return %x : !relay.type_var<B>
}
