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

// -----

// What may write to a reference, or fail, stays; reading and making references goes.
relay.func private @write(%r: !relay.ref<tensor<f32>>, %x: tensor<f32>) -> tensor<f32> {
  %u = relay.ref_write %r, %x : !relay.ref<tensor<f32>>, tensor<f32> -> tuple<>
  relay.return %x : tensor<f32>
}
relay.func @main(%x: tensor<f32>) -> tensor<f32> {
  %r = relay.ref_create %x : tensor<f32> -> !relay.ref<tensor<f32>>
  %s = relay.ref_create %x : tensor<f32> -> !relay.ref<tensor<f32>>
  %v = relay.ref_read %s : !relay.ref<tensor<f32>> -> tensor<f32>
  %w = relay.call @write(%r, %x) : (!relay.ref<tensor<f32>>, tensor<f32>) -> tensor<f32>
  %y = relay.ref_read %r : !relay.ref<tensor<f32>> -> tensor<f32>
  relay.return %y : tensor<f32>
}
// CHECK-LABEL: relay.func private @write(
// CHECK:         relay.ref_write
// CHECK-LABEL: relay.func @main(
// CHECK-NEXT:    relay.ref_create
// CHECK-NEXT:    relay.call @write
// CHECK-NEXT:    relay.ref_read
// CHECK-NEXT:    relay.return
