// RUN: relay-opt %s -p relay-infer-type --split-input-file | filecheck %s

// Holes are filled from operands, through a closure that is called, and in both directions.
// CHECK-LABEL: relay.func @holes(
// CHECK-SAME:    %{{.*}}: tensor<4xf32>) -> tensor<4xf32>
// CHECK:         relay.fn (%{{.*}}: tensor<4xf32>) -> tensor<4xf32>
// CHECK:           relay.nn.relu {{.*}} : tensor<4xf32>
// CHECK:         relay.add {{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK:         relay.apply {{.*}} : (tensor<4xf32>) -> tensor<4xf32>, (tensor<4xf32>) -> tensor<4xf32>
relay.func @holes(%x: tensor<4xf32>) -> !relay.incomplete {
  %f = relay.fn (%y: !relay.incomplete) -> !relay.incomplete {
    %z = relay.nn.relu %y : !relay.incomplete
    relay.yield %z : !relay.incomplete
  }
  %0 = relay.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> !relay.incomplete
  %1 = relay.apply %f(%0) : (!relay.incomplete) -> !relay.incomplete, (!relay.incomplete) -> !relay.incomplete
  relay.return %1 : !relay.incomplete
}

// -----

// A polymorphic function is instantiated at each call; a constructor at each use; a recursive result is found.
// CHECK-LABEL: relay.func @id(
// CHECK-LABEL: relay.func @length(
// CHECK-SAME:    -> tensor<i32>
// CHECK:         case @Cons(%{{.*}}: !relay.type_var<A>, %{{.*}}: !relay.adt<@List<!relay.type_var<A>>>)
// CHECK-LABEL: relay.func @main(
// CHECK-SAME:    -> tensor<i32>
// CHECK:         relay.call @id({{.*}}) : (tensor<f32>) -> tensor<f32>
// CHECK:         relay.construct @Nil() : () -> !relay.adt<@List<tensor<f32>>>
// CHECK:         relay.call @id({{.*}}) : (!relay.adt<@List<tensor<f32>>>) -> !relay.adt<@List<tensor<f32>>>
relay.adt @List<A> {
  relay.constructor @Nil
  relay.constructor @Cons(!relay.type_var<A>, !relay.adt<@List<!relay.type_var<A>>>)
}
relay.func @id(%x: !relay.type_var<A>) -> !relay.type_var<A> attributes {type_params = ["A"]} {
  relay.return %x : !relay.type_var<A>
}
relay.func @length(%l: !relay.adt<@List<!relay.type_var<A>>>) -> !relay.incomplete attributes {type_params = ["A"]} {
  %r = relay.match %l : !relay.adt<@List<!relay.type_var<A>>> -> !relay.incomplete {
  case @Nil {
    %zero = relay.constant dense<0> : tensor<i32>
    relay.yield %zero : tensor<i32>
  }
  case @Cons(%h: !relay.incomplete, %t: !relay.incomplete) {
    %n = relay.call @length(%t) : (!relay.incomplete) -> !relay.incomplete
    %one = relay.constant dense<1> : tensor<i32>
    %s = relay.add %n, %one : (!relay.incomplete, tensor<i32>) -> !relay.incomplete
    relay.yield %s : !relay.incomplete
  }
  }
  relay.return %r : !relay.incomplete
}
relay.func @main(%x: tensor<f32>) -> !relay.incomplete {
  %0 = relay.call @id(%x) : (tensor<f32>) -> !relay.incomplete
  %1 = relay.construct @Nil() : () -> !relay.incomplete
  %2 = relay.construct @Cons(%0, %1) : (!relay.incomplete, !relay.incomplete) -> !relay.incomplete
  %3 = relay.call @id(%2) : (!relay.incomplete) -> !relay.incomplete
  %4 = relay.call @length(%3) : (!relay.incomplete) -> !relay.incomplete
  relay.return %4 : !relay.incomplete
}

// -----

// A relation waits for its operands; a branch that knows less makes the result known less.
// CHECK-LABEL: relay.func @waits(
// CHECK:         relay.ref_read {{.*}} -> tensor<4xf32>
// CHECK:         relay.if {{.*}} -> (tensor<?xf32>)
relay.func @waits(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<?xf32>) -> !relay.incomplete {
  %r = relay.ref_create %x : tensor<4xf32> -> !relay.ref<!relay.incomplete>
  %0 = relay.ref_read %r : !relay.ref<!relay.incomplete> -> !relay.incomplete
  %1 = relay.nn.relu %0 : !relay.incomplete
  %2 = relay.if %c : tensor<i1> -> (!relay.incomplete) {
    relay.yield %1 : !relay.incomplete
  } else {
    relay.yield %y : tensor<?xf32>
  }
  relay.return %2 : !relay.incomplete
}

// -----

// A polymorphic function may stand where a function at certain types is wanted.
// CHECK-LABEL: relay.func @twice(
// CHECK-LABEL: relay.func @main(
// CHECK-SAME:    -> tensor<f32>
// CHECK:         relay.call @twice({{.*}}) : (!relay.poly<[A], (!relay.type_var<A>) -> !relay.type_var<A>>, tensor<f32>) -> tensor<f32>
relay.func @twice(%f: (tensor<f32>) -> tensor<f32>, %x: tensor<f32>) -> tensor<f32> {
  %0 = relay.apply %f(%x) : (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>
  %1 = relay.apply %f(%0) : (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>
  relay.return %1 : tensor<f32>
}
relay.func @main(%x: tensor<f32>) -> !relay.incomplete {
  %id = relay.fn <A> (%y: !relay.type_var<A>) -> !relay.type_var<A> {
    relay.yield %y : !relay.type_var<A>
  }
  %0 = relay.call @twice(%id, %x) : (!relay.poly<[A], (!relay.type_var<A>) -> !relay.type_var<A>>, tensor<f32>) -> !relay.incomplete
  relay.return %0 : !relay.incomplete
}
