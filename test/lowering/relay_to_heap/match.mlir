// RUN: relay-opt %s -p relay-to-heap | filecheck %s

relay.adt @List<A> {
  relay.constructor @Nil
  relay.constructor @Cons(!relay.type_var<A>, !relay.adt<@List<!relay.type_var<A>>>)
}

// Each constructor is tested once, a field is read where a case needs it, and what no case covers fails.
// CHECK-LABEL: heap.func private @second(%xs: !heap.object, %other: f32) -> !heap.object {
// CHECK-NEXT:    %[[TAG:.*]] = heap.tag %xs : !heap.object
// CHECK-NEXT:    cf.switch %[[TAG]] : i32, [
// CHECK-NEXT:    default: ^[[FAIL:.*]],
// CHECK-NEXT:      1: ^[[CONS:.*]]
// CHECK:       ^[[FAIL]]:
// CHECK-NEXT:    heap.fail "no case matches"
// CHECK:       ^[[CONS]]:
// CHECK-NEXT:    %[[REST:.*]] = heap.field %xs[1 of 2] : !heap.object -> !heap.object
// CHECK-NEXT:    %[[TAG2:.*]] = heap.tag %[[REST]] : !heap.object
// CHECK-NEXT:    cf.switch %[[TAG2]] : i32, [
// CHECK-NEXT:    default: ^[[TWO:.*]],
// CHECK-NEXT:      0: ^[[ONE:.*]]
// CHECK:       ^[[TWO]]:
// CHECK-NEXT:    %[[X:.*]] = heap.field %[[REST]][0 of 2] : !heap.object -> !heap.immediate
// CHECK-NEXT:    heap.return %[[X]]
// CHECK:       ^[[ONE]]:
// CHECK-NEXT:    %[[O:.*]] = heap.box %other : f32 -> !heap.immediate
// CHECK-NEXT:    heap.return %[[O]]
relay.func private @second(%xs: !relay.adt<@List<tensor<f32>>>, %other: tensor<f32>) -> tensor<f32> {
  %r = relay.match partial %xs : !relay.adt<@List<tensor<f32>>> -> tensor<f32> {
  case @Cons(_, @Cons(%x: tensor<f32>, _)) {
    relay.yield %x : tensor<f32>
  }
  case @Cons(_, @Nil) {
    relay.yield %other : tensor<f32>
  }
  }
  relay.return %r : tensor<f32>
}

// A tuple that is only matched is never made.
// CHECK-LABEL: heap.func private @both(
// CHECK-NOT:     heap.record
// CHECK-NOT:     heap.field
// CHECK:         heap.return
relay.func private @both(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %t = relay.tuple %a, %b : tuple<tensor<f32>, tensor<f32>>
  %r = relay.match %t : tuple<tensor<f32>, tensor<f32>> -> tensor<f32> {
  case (_, %y: tensor<f32>) {
    relay.yield %y : tensor<f32>
  }
  }
  relay.return %r : tensor<f32>
}

// What follows a match is a block of its own, which gets the result.
// CHECK-LABEL: heap.func private @after(
// CHECK:         cf.br ^[[AFTER:.*]](%{{.*}} : !heap.object)
// CHECK:         cf.br ^[[AFTER]](%{{.*}} : !heap.object)
// CHECK:       ^[[AFTER]](%[[R:.*]]: !heap.object):
// CHECK-NEXT:    %[[L:.*]] = heap.record 1(%[[R]], %{{.*}})
// CHECK-NEXT:    heap.return %[[L]]
relay.func private @after(%c: tensor<i1>, %a: tensor<2xf32>, %b: tensor<2xf32>, %l: !relay.adt<@List<tensor<2xf32>>>) -> !relay.adt<@List<tensor<2xf32>>> {
  %r = relay.if %c : tensor<i1> -> (tensor<2xf32>) {
    relay.yield %a : tensor<2xf32>
  } else {
    relay.yield %b : tensor<2xf32>
  }
  %m = relay.construct @Cons(%r, %l) : (tensor<2xf32>, !relay.adt<@List<tensor<2xf32>>>) -> !relay.adt<@List<tensor<2xf32>>>
  relay.return %m : !relay.adt<@List<tensor<2xf32>>>
}
