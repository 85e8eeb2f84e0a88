// RUN: relay-opt %s -p fold-constant --split-input-file | filecheck %s

// The taken branch stands in for a relay.if on a constant, and is folded in turn.
relay.func @main(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %t = relay.constant dense<true> : tensor<i1>
  %0, %1 = relay.if %t : tensor<i1> -> (tensor<f32>, tensor<f32>) {
    %a = relay.constant dense<2.0> : tensor<f32>
    %b = relay.negative %a : tensor<f32>
    %c = relay.add %x, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
    relay.yield %c, %x : tensor<f32>, tensor<f32>
  } else {
    relay.yield %x, %x : tensor<f32>, tensor<f32>
  }
  relay.return %0, %1 : tensor<f32>, tensor<f32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NOT:     relay.if
// CHECK:         %[[C:.*]] = relay.constant dense<-2.0
// CHECK-NEXT:    %[[A:.*]] = relay.add %x, %[[C]]
// CHECK-NEXT:    relay.return %[[A]], %x

// -----

// Both branches of a relay.if on a computed condition are folded.
relay.func @main(%c: tensor<i1>) -> tensor<f32> {
  %a = relay.constant dense<2.0> : tensor<f32>
  %n = relay.negative %a : tensor<f32>
  %0 = relay.if %c : tensor<i1> -> (tensor<f32>) {
    %b = relay.multiply %n, %n : (tensor<f32>, tensor<f32>) -> tensor<f32>
    relay.yield %b : tensor<f32>
  } else {
    relay.yield %n : tensor<f32>
  }
  relay.return %0 : tensor<f32>
}
// CHECK-LABEL: relay.func @main
// CHECK:         %[[N:.*]] = relay.constant dense<-2.0
// CHECK:         relay.if %c
// CHECK-NEXT:      %[[P:.*]] = relay.constant dense<4.0
// CHECK-NEXT:      relay.yield %[[P]]
// CHECK:           relay.yield %[[N]]

// -----

// A field of a known tuple is forwarded, that of an argument stays.
relay.func @main(%x: tensor<f32>, %t: tuple<tensor<f32>>) -> (tensor<f32>, tensor<f32>) {
  %0 = relay.tuple %x, %x : tuple<tensor<f32>, tensor<f32>>
  %1 = relay.tuple_get_item %0[1] : tuple<tensor<f32>, tensor<f32>> -> tensor<f32>
  %2 = relay.tuple_get_item %t[0] : tuple<tensor<f32>> -> tensor<f32>
  relay.return %1, %2 : tensor<f32>, tensor<f32>
}
// CHECK-LABEL: relay.func @main
// CHECK:         %[[G:.*]] = relay.tuple_get_item %t
// CHECK-NEXT:    relay.return %x, %[[G]]
