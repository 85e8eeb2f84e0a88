// RUN: relay-opt %s -p dead-code-elimination --split-input-file | filecheck %s

// What no result depends on goes, in branches too; the rest stays.
relay.func @main(%c: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %w = relay.weight "w" : tensor<f32>
  %0 = relay.add %x, %w : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %1 = relay.sqrt %0 : tensor<f32>
  %2 = relay.if %c : tensor<i1> -> (tensor<f32>) {
    %3 = relay.exp %x : tensor<f32>
    %4 = relay.negative %x : tensor<f32>
    relay.yield %4 : tensor<f32>
  } else {
    relay.yield %x : tensor<f32>
  }
  relay.return %2 : tensor<f32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    relay.if
// CHECK-NEXT:      %[[N:.*]] = relay.negative
// CHECK-NEXT:      relay.yield %[[N]]

// -----

// A relay.if or a call without used results has no effect.
relay.func @main(%c: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %0 = relay.if %c : tensor<i1> -> (tensor<f32>) {
    relay.yield %x : tensor<f32>
  } else {
    relay.yield %x : tensor<f32>
  }
  %1 = relay.call @main(%c, %x) : (tensor<i1>, tensor<f32>) -> tensor<f32>
  relay.return %x : tensor<f32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    relay.return %x

// -----

// Private functions live as long as a public one reaches them.
relay.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.call @f(%x) : (tensor<f32>) -> tensor<f32>
  %1 = relay.call @dead(%x) : (tensor<f32>) -> tensor<f32>
  relay.return %0 : tensor<f32>
}
relay.func private @f(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.call @g(%x) : (tensor<f32>) -> tensor<f32>
  relay.return %0 : tensor<f32>
}
relay.func private @g(%x: tensor<f32>) -> tensor<f32> {
  relay.return %x : tensor<f32>
}
relay.func private @dead(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.call @dead(%x) : (tensor<f32>) -> tensor<f32>
  relay.return %0 : tensor<f32>
}
relay.func @also_public(%x: tensor<f32>) -> tensor<f32> {
  relay.return %x : tensor<f32>
}
// CHECK:       relay.func @main
// CHECK:       relay.func private @f
// CHECK:       relay.func private @g
// CHECK-NOT:   @dead
// CHECK:       relay.func @also_public
