// RUN: relay-opt %s -p to-graph-normal-form | filecheck %s

// Two functions that differ in the order of their bindings and in one that is not used become the same.
// CHECK-LABEL: relay.func @one(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<f32>)
// CHECK-NEXT:    %[[A:[^ ]*]] = relay.negative %[[X]]
// CHECK-NEXT:    %[[B:[^ ]*]] = relay.tanh %[[X]]
// CHECK-NEXT:    relay.add %[[A]], %[[B]]
// CHECK-LABEL: relay.func @other(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<f32>)
// CHECK-NEXT:    %[[A:[^ ]*]] = relay.negative %[[X]]
// CHECK-NEXT:    %[[B:[^ ]*]] = relay.tanh %[[X]]
// CHECK-NEXT:    relay.add %[[A]], %[[B]]
relay.func @one(%x: tensor<f32>) -> tensor<f32> {
  %a = relay.negative %x : tensor<f32>
  %b = relay.tanh %x : tensor<f32>
  %c = relay.add %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
  relay.return %c : tensor<f32>
}
relay.func @other(%x: tensor<f32>) -> tensor<f32> {
  %unused = relay.exp %x : tensor<f32>
  %b = relay.tanh %x : tensor<f32>
  %more = relay.exp %unused : tensor<f32>
  %a = relay.negative %x : tensor<f32>
  %c = relay.add %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
  relay.return %c : tensor<f32>
}

// Effects keep their order, and what they need stands before them.
// CHECK-LABEL: relay.func @effects(
// CHECK-NEXT:    %[[R:[^ ]*]] = relay.ref_create
// CHECK-NEXT:    %[[A:[^ ]*]] = relay.negative
// CHECK-NEXT:    relay.ref_write %[[R]], %[[A]]
// CHECK-NEXT:    %[[V:[^ ]*]] = relay.ref_read
// CHECK-NEXT:    %[[B:[^ ]*]] = relay.tanh
// CHECK-NEXT:    relay.ref_write %[[R]], %[[B]]
// CHECK-NEXT:    relay.return %[[V]]
relay.func @effects(%x: tensor<f32>) -> tensor<f32> {
  %b = relay.tanh %x : tensor<f32>
  %a = relay.negative %x : tensor<f32>
  %r = relay.ref_create %x : tensor<f32> -> !relay.ref<tensor<f32>>
  %u = relay.ref_write %r, %a : !relay.ref<tensor<f32>>, tensor<f32> -> tuple<>
  %v = relay.ref_read %r : !relay.ref<tensor<f32>> -> tensor<f32>
  %w = relay.ref_write %r, %b : !relay.ref<tensor<f32>>, tensor<f32> -> tuple<>
  relay.return %v : tensor<f32>
}
