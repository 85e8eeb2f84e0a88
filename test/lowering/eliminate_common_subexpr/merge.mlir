// RUN: relay-opt %s -p eliminate-common-subexpr --split-input-file --print-debuginfo | filecheck %s

// Equal operators, weights, tuples and calls are computed once; the first keeps its location.
relay.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tuple<tensor<4xf32>>, tuple<tensor<4xf32>>) {
  %w = relay.weight "w" : tensor<4xf32>
  %v = relay.weight "w" : tensor<4xf32>
  %0 = relay.add %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("first")
  %1 = relay.add %x, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("second")
  %2 = relay.call @f(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = relay.call @f(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = relay.tuple %2 : tuple<tensor<4xf32>>
  %5 = relay.tuple %3 : tuple<tensor<4xf32>>
  relay.return %1, %4, %5 : tensor<4xf32>, tuple<tensor<4xf32>>, tuple<tensor<4xf32>>
}
relay.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  relay.return %x : tensor<4xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    %[[W:.*]] = relay.weight
// CHECK-NEXT:    %[[A:.*]] = relay.add %x, %[[W]] {{.*}} loc("first")
// CHECK-NEXT:    %[[C:.*]] = relay.call @f(%[[A]])
// CHECK-NEXT:    %[[T:.*]] = relay.tuple %[[C]]
// CHECK-NEXT:    relay.return %[[A]], %[[T]], %[[T]]

// -----

// Other attributes, operands or bits make another operation.
relay.func @main(%x: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) {
  %0 = relay.sum %x {axis = [0]} : (tensor<4x4xf32>) -> tensor<4xf32>
  %1 = relay.sum %x {axis = [1]} : (tensor<4x4xf32>) -> tensor<4xf32>
  %2 = relay.constant dense<0.0> : tensor<f32>
  %3 = relay.constant dense<-0.0> : tensor<f32>
  relay.return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>
}
// CHECK-LABEL: relay.func @main
// CHECK:         %[[A:.*]] = relay.sum
// CHECK-NEXT:    %[[B:.*]] = relay.sum
// CHECK-NEXT:    %[[C:.*]] = relay.constant
// CHECK-NEXT:    %[[D:.*]] = relay.constant
// CHECK-NEXT:    relay.return %[[A]], %[[B]], %[[C]], %[[D]]

// -----

// A branch uses what is computed before the relay.if; branches and what follows do not use each other's.
relay.func @main(%c: tensor<i1>, %x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %0 = relay.negative %x : tensor<f32>
  %1 = relay.if %c : tensor<i1> -> (tensor<f32>) {
    %2 = relay.negative %x : tensor<f32>
    %3 = relay.sqrt %2 : tensor<f32>
    relay.yield %3 : tensor<f32>
  } else {
    %4 = relay.sqrt %0 : tensor<f32>
    relay.yield %4 : tensor<f32>
  }
  %5 = relay.sqrt %0 : tensor<f32>
  relay.return %0, %1, %5 : tensor<f32>, tensor<f32>, tensor<f32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    %[[N:.*]] = relay.negative
// CHECK-NEXT:    relay.if
// CHECK-NEXT:      %[[S:.*]] = relay.sqrt %[[N]]
// CHECK-NEXT:      relay.yield %[[S]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %[[T:.*]] = relay.sqrt %[[N]]
// CHECK-NEXT:      relay.yield %[[T]]
// CHECK:         relay.sqrt %[[N]]
