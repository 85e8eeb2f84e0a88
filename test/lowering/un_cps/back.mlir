// RUN: relay-opt %s -p to-cps,un-cps --split-input-file | filecheck %s
// RUN: relay-opt %s -p un-cps --split-input-file | filecheck %s

// To continuation-passing style and back is the program itself.
// CHECK-NOT: _cps
// CHECK-LABEL: relay.func @f(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<f32>, %[[C:[^:]*]]: tensor<i1>) -> tensor<f32> {
// CHECK-NEXT:    %[[R:[^ ]*]] = relay.if %[[C]] : tensor<i1> -> (tensor<f32>) {
// CHECK-NEXT:      %[[A:[^ ]*]] = relay.call @f(%[[X]], %[[C]]) : (tensor<f32>, tensor<i1>) -> tensor<f32>
// CHECK-NEXT:      relay.yield %[[A]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      relay.yield %[[X]]
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[N:[^ ]*]] = relay.negative %[[R]]
// CHECK-NEXT:    %[[S:[^ ]*]] = relay.call @f(%[[N]], %[[C]])
// CHECK-NEXT:    relay.return %[[S]]
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

// CHECK-LABEL: relay.func @twice(
// CHECK-SAME:    %[[F:[^:]*]]: (!relay.type_var<A>) -> !relay.type_var<A>, %[[X:[^:]*]]: !relay.type_var<A>) -> !relay.type_var<A> attributes {type_params = ["A"]} {
// CHECK-NEXT:    %[[Y:[^ ]*]] = relay.apply %[[F]](%[[X]])
// CHECK-NEXT:    %[[Z:[^ ]*]] = relay.apply %[[F]](%[[Y]])
// CHECK-NEXT:    relay.return %[[Z]]
relay.func @twice(%f: (!relay.type_var<A>) -> !relay.type_var<A>, %x: !relay.type_var<A>) -> !relay.type_var<A>
    attributes {type_params = ["A"]} {
  %y = relay.apply %f(%x) : (!relay.type_var<A>) -> !relay.type_var<A>, (!relay.type_var<A>) -> !relay.type_var<A>
  %z = relay.apply %f(%y) : (!relay.type_var<A>) -> !relay.type_var<A>, (!relay.type_var<A>) -> !relay.type_var<A>
  relay.return %z : !relay.type_var<A>
}
