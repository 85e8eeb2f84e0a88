// RUN: relay-opt %s -p to-basic-block-normal-form | filecheck %s

// What one branch alone uses is computed there; what both use, or a closure, stays outside; so does an effect.
// CHECK-LABEL: relay.func @main(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<f32>, %[[C:[^:]*]]: tensor<i1>)
// CHECK-NEXT:    %[[BOTH:[^ ]*]] = relay.tanh %[[X]]
// CHECK-NEXT:    %[[REF:[^ ]*]] = relay.ref_create %[[X]]
// CHECK-NEXT:    relay.if %[[C]]
// CHECK-NEXT:      %[[ONE:[^ ]*]] = relay.negative %[[X]]
// CHECK-NEXT:      %[[TWO:[^ ]*]] = relay.exp %[[ONE]]
// CHECK-NEXT:      relay.add %[[TWO]], %[[BOTH]]
// CHECK:         } else {
// CHECK-NEXT:      %[[IN:[^ ]*]] = relay.sigmoid %[[X]]
// CHECK-NEXT:      relay.fn
// CHECK-NEXT:        relay.ref_read %[[REF]]
// CHECK:             relay.add %{{[^,]*}}, %[[IN]]
relay.func @main(%x: tensor<f32>, %c: tensor<i1>) -> tensor<f32> {
  %one = relay.negative %x : tensor<f32>
  %two = relay.exp %one : tensor<f32>
  %both = relay.tanh %x : tensor<f32>
  %in = relay.sigmoid %x : tensor<f32>
  %ref = relay.ref_create %x : tensor<f32> -> !relay.ref<tensor<f32>>
  %r = relay.if %c : tensor<i1> -> (tensor<f32>) {
    %a = relay.add %two, %both : (tensor<f32>, tensor<f32>) -> tensor<f32>
    relay.yield %a : tensor<f32>
  } else {
    %f = relay.fn (%y: tensor<f32>) -> tensor<f32> {
      %v = relay.ref_read %ref : !relay.ref<tensor<f32>> -> tensor<f32>
      %z = relay.add %v, %in : (tensor<f32>, tensor<f32>) -> tensor<f32>
      relay.yield %z : tensor<f32>
    }
    %a = relay.apply %f(%both) : (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>
    relay.yield %a : tensor<f32>
  }
  relay.return %r : tensor<f32>
}
