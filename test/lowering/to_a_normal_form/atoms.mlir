// RUN: relay-opt %s -p to-a-normal-form | filecheck %s

// Constants, weights and functions stand before each operation that uses them, in its scope.
// CHECK-LABEL: relay.func @main(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<f32>, %[[C:[^:]*]]: tensor<i1>)
// CHECK-NEXT:    %[[ONE:[^ ]*]] = relay.constant dense<1.0{{.*}}> : tensor<f32>
// CHECK-NEXT:    %[[A:[^ ]*]] = relay.add %[[ONE]], %[[ONE]]
// CHECK-NEXT:    relay.if %[[C]]
// CHECK-NEXT:      %[[TWO:[^ ]*]] = relay.constant dense<1.0{{.*}}> : tensor<f32>
// CHECK-NEXT:      %[[B:[^ ]*]] = relay.add %[[A]], %[[TWO]]
// CHECK-NEXT:      relay.yield %[[B]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %[[F:[^ ]*]] = relay.global @main
// CHECK-NEXT:      relay.apply %[[F]](
relay.func @main(%x: tensor<f32>, %c: tensor<i1>) -> tensor<f32> {
  %f = relay.global @main : (tensor<f32>, tensor<i1>) -> tensor<f32>
  %one = relay.constant dense<1.0> : tensor<f32>
  %a = relay.add %one, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %r = relay.if %c : tensor<i1> -> (tensor<f32>) {
    %b = relay.add %a, %one : (tensor<f32>, tensor<f32>) -> tensor<f32>
    relay.yield %b : tensor<f32>
  } else {
    %b = relay.apply %f(%a, %c) : (tensor<f32>, tensor<i1>) -> tensor<f32>, (tensor<f32>, tensor<i1>) -> tensor<f32>
    relay.yield %b : tensor<f32>
  }
  relay.return %r : tensor<f32>
}
