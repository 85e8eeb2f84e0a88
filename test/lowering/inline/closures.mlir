// RUN: relay-opt %s -p inline | filecheck %s

// A closure that is called in one place only takes the place of the call, wherever that is.
// CHECK-LABEL: relay.func @once(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<f32>, %[[C:[^:]*]]: tensor<i1>)
// CHECK-NEXT:    relay.if %[[C]]
// CHECK-NEXT:      %[[Y:[^ ]*]] = relay.add %[[X]], %[[X]]
// CHECK-NEXT:      relay.yield %[[Y]]
relay.func @once(%x: tensor<f32>, %c: tensor<i1>) -> tensor<f32> {
  %f = relay.fn (%a: tensor<f32>) -> tensor<f32> {
    %s = relay.add %a, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    relay.yield %s : tensor<f32>
  }
  %r = relay.if %c : tensor<i1> -> (tensor<f32>) {
    %y = relay.apply %f(%x) : (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>
    relay.yield %y : tensor<f32>
  } else {
    relay.yield %x : tensor<f32>
  }
  relay.return %r : tensor<f32>
}

// One that is called twice stays, unless it is marked Inline.
// CHECK-LABEL: relay.func @twice(
// CHECK-NEXT:    %[[F:[^ ]*]] = relay.fn (%{{[^:]*}}: tensor<f32>) -> tensor<f32> {
// CHECK:         %[[A:[^ ]*]] = relay.apply %[[F]](
// CHECK-NEXT:    %[[B:[^ ]*]] = relay.apply %[[F]](%[[A]])
// CHECK-NEXT:    %[[C:[^ ]*]] = relay.negative %[[B]]
// CHECK-NEXT:    %[[D:[^ ]*]] = relay.negative %[[C]]
// CHECK-NEXT:    relay.return %[[D]]
relay.func @twice(%x: tensor<f32>) -> tensor<f32> {
  %f = relay.fn (%a: tensor<f32>) -> tensor<f32> {
    %s = relay.add %a, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    relay.yield %s : tensor<f32>
  }
  %g = relay.fn (%a: tensor<f32>) -> tensor<f32> attributes {Inline = 1 : i64} {
    %s = relay.negative %a : tensor<f32>
    relay.yield %s : tensor<f32>
  }
  %a = relay.apply %f(%x) : (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>
  %b = relay.apply %f(%a) : (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>
  %c = relay.apply %g(%b) : (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>
  %d = relay.apply %g(%c) : (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>
  relay.return %d : tensor<f32>
}

// A known function that is applied is called directly.
// CHECK-LABEL: relay.func @known(
// CHECK-NEXT:    %[[Y:[^ ]*]] = relay.call @twice(
// CHECK-NEXT:    relay.return %[[Y]]
relay.func @known(%x: tensor<f32>) -> tensor<f32> {
  %f = relay.global @twice : (tensor<f32>) -> tensor<f32>
  %y = relay.apply %f(%x) : (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>
  relay.return %y : tensor<f32>
}
