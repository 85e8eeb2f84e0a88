// RUN: relay-opt %s | relay-opt | filecheck %s
// RUN: relay-opt %s --print-op-generic | relay-opt | filecheck %s

// Every form of the language prints and parses, in its own syntax and in the generic one.
// CHECK:       relay.adt @List<A> {
// CHECK-NEXT:    relay.constructor @Nil
// CHECK-NEXT:    relay.constructor @Cons(!relay.type_var<A>, !relay.adt<@List<!relay.type_var<A>>>)
// CHECK:       relay.adt extern @Storage
// CHECK-LABEL: relay.func @sum(
// CHECK:         relay.match %{{.*}} : !relay.adt<@List<tensor<f32>>> -> tensor<f32> {
// CHECK-NEXT:    case @Nil {
// CHECK:         case @Cons(%{{.*}}: tensor<f32>, %{{.*}}: !relay.adt<@List<tensor<f32>>>) {
// CHECK-LABEL: relay.func @id(
// CHECK-SAME:    attributes {type_params = ["A"]}
// CHECK-LABEL: relay.func @main(
// CHECK:         relay.construct @Nil() : () -> !relay.adt<@List<tensor<f32>>>
// CHECK:         relay.fn (%{{.*}}: tensor<f32>) -> tensor<f32> {
// CHECK:         relay.fn rec %[[SELF:[^:]*]]: (tensor<f32>) -> tensor<f32>, (%{{.*}}: tensor<f32>) -> tensor<f32> attributes {Inline = 1 : i64} {
// CHECK-NEXT:      relay.apply %[[SELF]](
// CHECK:         relay.fn <A> (%{{.*}}: !relay.type_var<A>) -> !relay.type_var<A> {
// CHECK:         relay.ref_create
// CHECK:         relay.ref_write
// CHECK:         relay.ref_read
// CHECK:         relay.apply %{{.*}} : !relay.poly<[A], (!relay.type_var<A>) -> !relay.type_var<A>>, (tensor<f32>) -> tensor<f32>
// CHECK:         relay.constructor_value @Cons
// CHECK:         relay.global @sum
// CHECK:         relay.match partial
// CHECK-NEXT:    case (_, @Cons(%{{.*}}: tensor<f32>, @Nil)) {
relay.adt @List<A> {
  relay.constructor @Nil
  relay.constructor @Cons(!relay.type_var<A>, !relay.adt<@List<!relay.type_var<A>>>)
}
relay.adt extern @Storage
relay.func @sum(%xs: !relay.adt<@List<tensor<f32>>>, %acc: tensor<f32>) -> tensor<f32> {
  %r = relay.match %xs : !relay.adt<@List<tensor<f32>>> -> tensor<f32> {
  case @Nil {
    relay.yield %acc : tensor<f32>
  }
  case @Cons(%x: tensor<f32>, %rest: !relay.adt<@List<tensor<f32>>>) {
    %s = relay.add %acc, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %t = relay.call @sum(%rest, %s) : (!relay.adt<@List<tensor<f32>>>, tensor<f32>) -> tensor<f32>
    relay.yield %t : tensor<f32>
  }
  }
  relay.return %r : tensor<f32>
}
relay.func @id(%x: !relay.type_var<A>) -> !relay.type_var<A> attributes {type_params = ["A"]} {
  relay.return %x : !relay.type_var<A>
}
relay.func @main(%x: tensor<f32>) -> tensor<f32> {
  %n = relay.construct @Nil() : () -> !relay.adt<@List<tensor<f32>>>
  %c = relay.construct @Cons(%x, %n) : (tensor<f32>, !relay.adt<@List<tensor<f32>>>) -> !relay.adt<@List<tensor<f32>>>
  %f = relay.fn (%y: tensor<f32>) -> tensor<f32> {
    %z = relay.add %x, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>
    relay.yield %z : tensor<f32>
  }
  %g = relay.fn rec %self: (tensor<f32>) -> tensor<f32>, (%y: tensor<f32>) -> tensor<f32> attributes {Inline = 1 : i64} {
    %z = relay.apply %self(%y) : (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>
    relay.yield %z : tensor<f32>
  }
  %p = relay.fn <A> (%y: !relay.type_var<A>) -> !relay.type_var<A> {
    relay.yield %y : !relay.type_var<A>
  }
  %r = relay.ref_create %x : tensor<f32> -> !relay.ref<tensor<f32>>
  %u = relay.ref_write %r, %x : !relay.ref<tensor<f32>>, tensor<f32> -> tuple<>
  %v = relay.ref_read %r : !relay.ref<tensor<f32>> -> tensor<f32>
  %q = relay.apply %p(%v) : !relay.poly<[A], (!relay.type_var<A>) -> !relay.type_var<A>>, (tensor<f32>) -> tensor<f32>
  %k = relay.constructor_value @Cons : (tensor<f32>, !relay.adt<@List<tensor<f32>>>) -> !relay.adt<@List<tensor<f32>>>
  %i = relay.call @id(%q) : (tensor<f32>) -> tensor<f32>
  %h = relay.global @sum : (!relay.adt<@List<tensor<f32>>>, tensor<f32>) -> tensor<f32>
  %t = relay.tuple %x, %c : tuple<tensor<f32>, !relay.adt<@List<tensor<f32>>>>
  %m = relay.match partial %t : tuple<tensor<f32>, !relay.adt<@List<tensor<f32>>>> -> tensor<f32> {
  case (_, @Cons(%a: tensor<f32>, @Nil)) {
    relay.yield %a : tensor<f32>
  }
  }
  relay.return %m : tensor<f32>
}
