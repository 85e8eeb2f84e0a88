// RUN: relay-opt %s -p to-cps --split-input-file --verify-diagnostics | filecheck %s

// What follows a call is a closure that the call gets; a call in tail position gets the continuation itself. The
// function keeps its signature and starts with a continuation that returns.
// CHECK-LABEL: relay.func @f(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<f32>, %[[C:[^:]*]]: tensor<i1>) -> tensor<f32> {
// CHECK-NEXT:    %[[ID:[^ ]*]] = relay.fn (%[[V:[^:]*]]: tensor<f32>) -> tensor<f32> attributes {continuation} {
// CHECK-NEXT:      relay.yield %[[V]]
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.call @f_cps(%[[X]], %[[C]], %[[ID]])
// CHECK-LABEL: relay.func private @f_cps(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<f32>, %[[C:[^:]*]]: tensor<i1>, %[[K:[^:]*]]: (tensor<f32>) -> !relay.type_var<Answer>) -> !relay.type_var<Answer> attributes {type_params = ["Answer"], cps_of = "f"} {
// CHECK-NEXT:    %[[JOIN:[^ ]*]] = relay.fn (%[[R:[^:]*]]: tensor<f32>) -> !relay.type_var<Answer> attributes {continuation} {
// CHECK-NEXT:      %[[N:[^ ]*]] = relay.negative %[[R]]
// CHECK-NEXT:      relay.call @f_cps(%[[N]], %[[C]], %[[K]])
// CHECK:         relay.if %[[C]] : tensor<i1> -> (!relay.type_var<Answer>) {
// CHECK-NEXT:      relay.call @f_cps(%[[X]], %[[C]], %[[JOIN]])
// CHECK:         } else {
// CHECK-NEXT:      relay.apply %[[JOIN]](%[[X]])
relay.func @f(%x: tensor<f32>, %c: tensor<i1>) -> tensor<f32> {
  %r = relay.if %c : tensor<i1> -> (tensor<f32>) {
    %a = relay.call @f(%x, %c) : (tensor<f32>, tensor<i1>) -> tensor<f32>
    relay.yield %a : tensor<f32>
  } else {
    relay.yield %x : tensor<f32>
  }
  %n = relay.negative %r : tensor<f32>
  %s = relay.call @f(%n, %c) : (tensor<f32>, tensor<i1>) -> tensor<f32>
  relay.return %s : tensor<f32>
}

// -----

// A function that takes functions takes them in continuation-passing style, and has no other form any more.
// CHECK-NOT: @twice(
// CHECK-LABEL: relay.func private @twice_cps(
// CHECK-SAME:    %[[F:[^:]*]]: (!relay.type_var<A>, (!relay.type_var<A>) -> !relay.type_var<Answer>) -> !relay.type_var<Answer>, %[[X:[^:]*]]: !relay.type_var<A>, %[[K:[^:]*]]: (!relay.type_var<A>) -> !relay.type_var<Answer>)
// CHECK-NEXT:    %[[THEN:[^ ]*]] = relay.fn (%[[Y:[^:]*]]: !relay.type_var<A>)
// CHECK-NEXT:      relay.apply %[[F]](%[[Y]], %[[K]])
// CHECK:         relay.apply %[[F]](%[[X]], %[[THEN]])
relay.func @twice(%f: (!relay.type_var<A>) -> !relay.type_var<A>, %x: !relay.type_var<A>) -> !relay.type_var<A>
    attributes {type_params = ["A"]} {
  %y = relay.apply %f(%x) : (!relay.type_var<A>) -> !relay.type_var<A>, (!relay.type_var<A>) -> !relay.type_var<A>
  %z = relay.apply %f(%y) : (!relay.type_var<A>) -> !relay.type_var<A>, (!relay.type_var<A>) -> !relay.type_var<A>
  relay.return %z : !relay.type_var<A>
}

// -----

relay.adt @Lazy<A> {
  // expected-error @below {{has a field that is a function, which has no continuation-passing form}}
  relay.constructor @Delay(() -> !relay.type_var<A>)
}
