// RUN: relay-opt %s -p remove-unused-functions | filecheck %s
// RUN: relay-opt %s -p 'remove-unused-functions{entries=other}' | filecheck %s --check-prefix=OTHER
// RUN: relay-opt %s -p 'remove-unused-functions{entries=absent}' | filecheck %s --check-prefix=ALL

// What an entry calls or takes as a value stays, also through others; data types stay.
// CHECK: relay.adt @Option
// CHECK-NOT: @dead
// CHECK: relay.func @main(
// CHECK: relay.func @called(
// CHECK: relay.func @value(
// CHECK-NOT: relay.func
// OTHER: relay.adt @Option
// OTHER-NOT: @main
// OTHER: relay.func @other(
// OTHER-NOT: relay.func
// ALL-COUNT-5: relay.func
relay.adt @Option<A> {
  relay.constructor @None
  relay.constructor @Some(!relay.type_var<A>)
}
relay.func @dead(%x: tensor<f32>) -> tensor<f32> {
  %y = relay.call @dead(%x) : (tensor<f32>) -> tensor<f32>
  relay.return %y : tensor<f32>
}
relay.func @main(%x: tensor<f32>) -> tensor<f32> {
  %y = relay.call @called(%x) : (tensor<f32>) -> tensor<f32>
  relay.return %y : tensor<f32>
}
relay.func @called(%x: tensor<f32>) -> tensor<f32> {
  %f = relay.global @value : (tensor<f32>) -> tensor<f32>
  %y = relay.apply %f(%x) : (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>
  relay.return %y : tensor<f32>
}
relay.func @value(%x: tensor<f32>) -> tensor<f32> {
  relay.return %x : tensor<f32>
}
relay.func @other(%x: tensor<f32>) -> tensor<f32> {
  relay.return %x : tensor<f32>
}
