// RUN: relay-opt %s -p eta-expand | filecheck %s
// RUN: relay-opt %s -p 'eta-expand{constructors=false globals=true}' | filecheck %s --check-prefix=GLOBALS

relay.adt @List<A> {
  relay.constructor @Nil
  relay.constructor @Cons(!relay.type_var<A>, !relay.adt<@List<!relay.type_var<A>>>)
}
// A constructor as a value becomes a closure that applies it; a function of the module only where that is asked for.
// CHECK-LABEL: relay.func @constructor(
// CHECK-NEXT:    %[[F:[^ ]*]] = relay.fn (%[[X:[^:]*]]: tensor<f32>, %[[XS:[^:]*]]: !relay.adt<@List<tensor<f32>>>) -> !relay.adt<@List<tensor<f32>>> {
// CHECK-NEXT:      %[[C:[^ ]*]] = relay.construct @Cons(%[[X]], %[[XS]])
// CHECK-NEXT:      relay.yield %[[C]]
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.return %[[F]]
// GLOBALS-LABEL: relay.func @constructor(
// GLOBALS-NEXT:    relay.constructor_value @Cons
relay.func @constructor() -> ((tensor<f32>, !relay.adt<@List<tensor<f32>>>) -> !relay.adt<@List<tensor<f32>>>) {
  %f = relay.constructor_value @Cons : (tensor<f32>, !relay.adt<@List<tensor<f32>>>) -> !relay.adt<@List<tensor<f32>>>
  relay.return %f : (tensor<f32>, !relay.adt<@List<tensor<f32>>>) -> !relay.adt<@List<tensor<f32>>>
}
relay.func @id(%x: !relay.type_var<A>) -> !relay.type_var<A> attributes {type_params = ["A"]} {
  relay.return %x : !relay.type_var<A>
}
// A polymorphic value stays polymorphic.
// CHECK-LABEL: relay.func @polymorphic(
// CHECK-NEXT:    relay.global @id
// GLOBALS-LABEL: relay.func @polymorphic(
// GLOBALS-NEXT:    relay.fn <A> (%[[X:[^:]*]]: !relay.type_var<A>) -> !relay.type_var<A> {
// GLOBALS-NEXT:      relay.call @id(%[[X]]) : (!relay.type_var<A>) -> !relay.type_var<A>
relay.func @polymorphic(%x: tensor<f32>) -> tensor<f32> {
  %f = relay.global @id : !relay.poly<[A], (!relay.type_var<A>) -> !relay.type_var<A>>
  %y = relay.apply %f(%x) : !relay.poly<[A], (!relay.type_var<A>) -> !relay.type_var<A>>, (tensor<f32>) -> tensor<f32>
  relay.return %y : tensor<f32>
}
