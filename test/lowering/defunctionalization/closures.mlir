// RUN: relay-opt %s -p defunctionalization --split-input-file --verify-diagnostics | filecheck %s

// A function type becomes a data type with a constructor for each function that is a value of it; a call is a match.
// CHECK-LABEL: relay.adt @Function {
// CHECK-NEXT:    relay.constructor @Call_lambda(tensor<f32>)
// CHECK-NEXT:    relay.constructor @Call_negate
// CHECK-LABEL: relay.func @main(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<f32>, %[[C:[^:]*]]: tensor<i1>)
// CHECK:         %[[F:[^ ]*]] = relay.construct @Call_lambda(%[[X]]) : (tensor<f32>) -> !relay.adt<@Function>
// CHECK:         %[[G:[^ ]*]] = relay.construct @Call_negate() : () -> !relay.adt<@Function>
// CHECK:         %[[H:[^ ]*]] = relay.if %[[C]] : tensor<i1> -> (!relay.adt<@Function>)
// CHECK:         relay.call @apply(%[[H]], %[[X]]) : (!relay.adt<@Function>, tensor<f32>) -> tensor<f32>
// CHECK-LABEL: relay.func private @lambda(
// CHECK-LABEL: relay.func @negate(
// CHECK-LABEL: relay.func private @apply(
// CHECK-SAME:    %[[F:[^:]*]]: !relay.adt<@Function>, %[[X:[^:]*]]: tensor<f32>) -> tensor<f32> {
// CHECK-NEXT:    relay.match %[[F]]
// CHECK-NEXT:    case @Call_lambda(%[[V:[^:]*]]: tensor<f32>) {
// CHECK-NEXT:      relay.call @lambda(%[[V]], %[[X]])
// CHECK:         case @Call_negate {
// CHECK-NEXT:      relay.call @negate(%[[X]])
relay.func @main(%x: tensor<f32>, %c: tensor<i1>) -> tensor<f32> {
  %f = relay.fn (%y: tensor<f32>) -> tensor<f32> {
    %z = relay.add %x, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>
    relay.yield %z : tensor<f32>
  }
  %g = relay.global @negate : (tensor<f32>) -> tensor<f32>
  %h = relay.if %c : tensor<i1> -> ((tensor<f32>) -> tensor<f32>) {
    relay.yield %f : (tensor<f32>) -> tensor<f32>
  } else {
    relay.yield %g : (tensor<f32>) -> tensor<f32>
  }
  %r = relay.apply %h(%x) : (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>
  relay.return %r : tensor<f32>
}
relay.func @negate(%y: tensor<f32>) -> tensor<f32> {
  %z = relay.negative %y : tensor<f32>
  relay.return %z : tensor<f32>
}

// -----

// A polymorphic function has a copy for each type that it is used at.
// CHECK-LABEL: relay.func @main(
// CHECK:         relay.call @twice_1(%{{.*}}) : (!relay.adt<@Function>, tensor<f32>) -> tensor<f32>
// CHECK-NOT:   type_var
relay.func @twice(%f: (!relay.type_var<A>) -> !relay.type_var<A>, %x: !relay.type_var<A>) -> !relay.type_var<A>
    attributes {type_params = ["A"]} {
  %y = relay.apply %f(%x) : (!relay.type_var<A>) -> !relay.type_var<A>, (!relay.type_var<A>) -> !relay.type_var<A>
  %z = relay.apply %f(%y) : (!relay.type_var<A>) -> !relay.type_var<A>, (!relay.type_var<A>) -> !relay.type_var<A>
  relay.return %z : !relay.type_var<A>
}
relay.func @main(%x: tensor<f32>) -> tensor<f32> {
  %f = relay.fn (%y: tensor<f32>) -> tensor<f32> {
    %z = relay.negative %y : tensor<f32>
    relay.yield %z : tensor<f32>
  }
  %r = relay.call @twice(%f, %x) : ((tensor<f32>) -> tensor<f32>, tensor<f32>) -> tensor<f32>
  relay.return %r : tensor<f32>
}

// -----

// expected-error @below {{takes or gives functions, which callers could not make or call any more}}
relay.func @main(%f: (tensor<f32>) -> tensor<f32>) -> tensor<f32> {
  %c = relay.constant dense<1.0> : tensor<f32>
  %r = relay.apply %f(%c) : (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>
  relay.return %r : tensor<f32>
}

// -----

relay.adt @Lazy<A> {
  // expected-error @below {{the data for functions of type variables is not known}}
  relay.constructor @Delay(() -> !relay.type_var<A>)
}
