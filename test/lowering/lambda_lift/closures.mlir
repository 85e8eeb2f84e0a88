// RUN: relay-opt %s -p lambda-lift | filecheck %s
// RUN: relay-opt %s -p lambda-lift,lambda-lift | filecheck %s

// A closure without captured values is a function of the module; with captured values a partial application of one.
// CHECK-LABEL: relay.func @main(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<f32>)
// CHECK-NEXT:    %[[F:[^ ]*]] = relay.global @lambda : (tensor<f32>) -> tensor<f32>
// CHECK-NEXT:    %[[G:[^ ]*]] = relay.fn (%[[Y:[^:]*]]: tensor<f32>) -> tensor<f32> {
// CHECK-NEXT:      %[[R:[^ ]*]] = relay.call @lambda_1(%[[X]], %[[Y]]) : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK-NEXT:      relay.yield %[[R]]
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.tuple %[[F]], %[[G]]
// CHECK-LABEL: relay.func private @lambda_1(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<f32>, %[[Y:[^:]*]]: tensor<f32>) -> tensor<f32> {
// CHECK-NEXT:    relay.add %[[X]], %[[Y]]
// CHECK-LABEL: relay.func private @lambda(
// CHECK-NEXT:    relay.negative
relay.func @main(%x: tensor<f32>) -> tuple<(tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>> {
  %f = relay.fn (%y: tensor<f32>) -> tensor<f32> {
    %z = relay.negative %y : tensor<f32>
    relay.yield %z : tensor<f32>
  }
  %g = relay.fn (%y: tensor<f32>) -> tensor<f32> {
    %z = relay.add %x, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>
    relay.yield %z : tensor<f32>
  }
  %t = relay.tuple %f, %g : tuple<(tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>>
  relay.return %t : tuple<(tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>>
}

// A recursive closure calls the function; type variables around it become type parameters.
// CHECK-LABEL: relay.func @recursive(
// CHECK-NEXT:    relay.fn (%[[N:[^:]*]]: tensor<i1>) -> !relay.type_var<A> {
// CHECK-NEXT:      relay.call @lambda_2(%{{[^,]*}}, %[[N]])
// CHECK-LABEL: relay.func private @lambda_2(
// CHECK-SAME:    %[[X:[^:]*]]: !relay.type_var<A>, %[[N:[^:]*]]: tensor<i1>) -> !relay.type_var<A> attributes {type_params = ["A"]} {
// CHECK-NEXT:    relay.if %[[N]]
// CHECK:           relay.call @lambda_2(%[[X]],
relay.func @recursive(%x: !relay.type_var<A>) -> ((tensor<i1>) -> !relay.type_var<A>) attributes {type_params = ["A"]} {
  %f = relay.fn rec %self: (tensor<i1>) -> !relay.type_var<A>, (%n: tensor<i1>) -> !relay.type_var<A> {
    %r = relay.if %n : tensor<i1> -> (!relay.type_var<A>) {
      %m = relay.logical_not %n : tensor<i1>
      %a = relay.apply %self(%m) : (tensor<i1>) -> !relay.type_var<A>, (tensor<i1>) -> !relay.type_var<A>
      relay.yield %a : !relay.type_var<A>
    } else {
      relay.yield %x : !relay.type_var<A>
    }
    relay.yield %r : !relay.type_var<A>
  }
  relay.return %f : (tensor<i1>) -> !relay.type_var<A>
}
