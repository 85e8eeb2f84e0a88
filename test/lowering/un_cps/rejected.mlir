// RUN: relay-opt %s -p un-cps --verify-diagnostics

// A continuation that is not called in tail position is no way back.
relay.func private @f_cps(%x: tensor<f32>, %k: (tensor<f32>) -> !relay.type_var<Answer>) -> !relay.type_var<Answer>
    attributes {type_params = ["Answer"], cps_of = "f"} {
  %r = relay.apply %k(%x) : (tensor<f32>) -> !relay.type_var<Answer>, (tensor<f32>) -> !relay.type_var<Answer>
  %t = relay.tuple %r : tuple<!relay.type_var<Answer>>
  %s = relay.tuple_get_item %t[0] : tuple<!relay.type_var<Answer>> -> !relay.type_var<Answer>
  // expected-error @above {{expected a call in tail position}}
  relay.return %s : !relay.type_var<Answer>
}
