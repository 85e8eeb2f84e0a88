// RUN: relay-opt %s -p print-analysis --verify-diagnostics
// RUN: relay-opt %s -p 'print-analysis{which=operators}' 2>&1 | filecheck %s
// RUN: not relay-opt %s -p 'print-analysis{which=operatrs}' 2>&1 | filecheck %s --check-prefix=UNKNOWN

// CHECK: remarks.mlir:{{[0-9]+}}:1: remark: 'relay.func' op operators: add x1, negative x2
// CHECK-NOT: multiply-accumulates
// UNKNOWN: there is no analysis 'operatrs'; did you mean 'operators'?

// expected-remark @below {{free variables: none; bound: %x, %n, %f, %y, %z, %w, %g}}
// expected-remark @below {{free type variables: none; bound: none}}
// expected-remark @below {{features: fVar, fGlobalVar, fFunction, fOp, fCall, fLet}}
// expected-remark @below {{@main calls @helper x1; named 0 times}}
// expected-remark @below {{operators: add x1, negative x2}}
// expected-remark @below {{multiply-accumulates: 0}}
relay.func @main(%x: tensor<f32>) -> ((tensor<f32>) -> tensor<f32>) {
  %n = relay.negative %x : tensor<f32>
  // expected-remark @below {{free variables: %n, %x; bound: %y, %z, %w}}
  // expected-remark @below {{free type variables: none; bound: none}}
  %f = relay.fn (%y: tensor<f32>) -> tensor<f32> {
    %z = relay.add %y, %n : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %w = relay.negative %x : tensor<f32>
    relay.yield %z : tensor<f32>
  }
  %g = relay.call @helper(%f) : ((tensor<f32>) -> tensor<f32>) -> ((tensor<f32>) -> tensor<f32>)
  relay.return %g : (tensor<f32>) -> tensor<f32>
}
// expected-remark @below {{free variables: none; bound: %a, %r}}
// expected-remark @below {{free type variables: none; bound: A}}
// expected-remark @below {{features: fVar, fGlobalVar, fFunction, fCall, fLet}}
// expected-remark @below {{@helper (recursive) calls @helper x1; named 2 times}}
// expected-remark @below {{operators: none}}
// expected-remark @below {{multiply-accumulates: 0}}
relay.func @helper(%a: !relay.type_var<A>) -> !relay.type_var<A> attributes {type_params = ["A"]} {
  %r = relay.call @helper(%a) : (!relay.type_var<A>) -> !relay.type_var<A>
  relay.return %r : !relay.type_var<A>
}
