// RUN: relay-opt %s -p relay-to-heap | filecheck %s

relay.adt @Box<A> {
  relay.constructor @Box(!relay.type_var<A>)
}
relay.func private @add(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> attributes {primitive} {
  %s = relay.add %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
  relay.return %s : tensor<f32>
}

// A closure that is only called is never made: its function takes what it captures.
// CHECK-LABEL: heap.func private @known(%x: f32) -> !heap.object {
// CHECK-NEXT:    %[[R:.*]] = heap.call @known.fn(%x, %x) : (f32, f32) -> !heap.immediate
// CHECK-NEXT:    heap.return %[[R]]
relay.func private @known(%x: tensor<f32>) -> tensor<f32> {
  %f = relay.fn (%y: tensor<f32>) -> tensor<f32> {
    %z = relay.call @add(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    relay.yield %z : tensor<f32>
  }
  %r = relay.apply %f(%x) : (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>
  relay.return %r : tensor<f32>
}

// One that is a value captures words; its entry takes them out of the closure.
// CHECK-LABEL: heap.func private @value(%x: f32) -> !heap.object {
// CHECK-NEXT:    %[[X:.*]] = heap.box %x : f32 -> !heap.immediate
// CHECK-NEXT:    %[[F:.*]] = heap.closure @value.fn.entry(%[[X]]) : (!heap.immediate) -> !heap.object
// CHECK-NEXT:    heap.return %[[F]]
// CHECK-LABEL: heap.func private @value.fn.entry(%0: !heap.object, %1: !heap.immediate) -> !heap.object {
// CHECK-NEXT:    %[[C:.*]] = heap.field %0[1 of 2] : !heap.object -> !heap.immediate
// CHECK-NEXT:    %[[X:.*]] = heap.unbox %[[C]] : !heap.immediate -> f32
// CHECK-NEXT:    %[[Y:.*]] = heap.unbox %1 : !heap.immediate -> f32
// CHECK-NEXT:    %[[R:.*]] = heap.call @value.fn(%[[X]], %[[Y]])
// CHECK-NEXT:    heap.return %[[R]]
relay.func private @value(%x: tensor<f32>) -> ((tensor<f32>) -> tensor<f32>) {
  %f = relay.fn (%y: tensor<f32>) -> tensor<f32> {
    %z = relay.call @add(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    relay.yield %z : tensor<f32>
  }
  relay.return %f : (tensor<f32>) -> tensor<f32>
}

// A recursive closure calls its function, with what it captured.
// CHECK-LABEL: heap.func private @loop(%x: f32) -> !heap.object {
// CHECK-NEXT:    heap.call @loop.fn(%x, %x)
relay.func private @loop(%x: tensor<f32>) -> tensor<f32> {
  %f = relay.fn rec %self: (tensor<f32>) -> tensor<f32>, (%y: tensor<f32>) -> tensor<f32> {
    %z = relay.call @add(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %r = relay.apply %self(%z) : (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>
    relay.yield %r : tensor<f32>
  }
  %r = relay.apply %f(%x) : (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>
  relay.return %r : tensor<f32>
}

// Functions and constructors become closures without captured values; scalars are boxed for polymorphic functions.
// CHECK-LABEL: heap.func private @names(%x: f32) -> !heap.object {
// CHECK-DAG:     heap.closure @id.entry() : () -> !heap.object
// CHECK-DAG:     heap.closure @Box.entry() : () -> !heap.object
// CHECK-DAG:     %[[X:.*]] = heap.box %x : f32 -> !heap.immediate
// CHECK-DAG:     heap.call @id(%[[X]]) : (!heap.immediate) -> !heap.immediate
relay.func private @id(%x: !relay.type_var<A>) -> !relay.type_var<A> attributes {type_params = ["A"]} {
  relay.return %x : !relay.type_var<A>
}
relay.func private @names(%x: tensor<f32>) -> tuple<tensor<f32>, (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> !relay.adt<@Box<tensor<f32>>>> {
  %f = relay.global @id : (tensor<f32>) -> tensor<f32>
  %b = relay.constructor_value @Box : (tensor<f32>) -> !relay.adt<@Box<tensor<f32>>>
  %y = relay.call @id(%x) : (tensor<f32>) -> tensor<f32>
  %t = relay.tuple %y, %f, %b : tuple<tensor<f32>, (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> !relay.adt<@Box<tensor<f32>>>>
  relay.return %t : tuple<tensor<f32>, (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> !relay.adt<@Box<tensor<f32>>>>
}

// CHECK-LABEL: heap.func private @loop.fn(%x: f32, %y: f32) -> !heap.object {
// CHECK-NEXT:    %[[Z:.*]] = heap.kernel @add(%x, %y)
// CHECK-NEXT:    %[[R:.*]] = heap.call @loop.fn(%x, %[[Z]]) : (f32, f32) -> !heap.immediate
// CHECK-NEXT:    heap.return %[[R]]
