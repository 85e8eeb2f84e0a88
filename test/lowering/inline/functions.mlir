// RUN: relay-opt %s -p inline | filecheck %s

// A function marked Inline takes the place of its calls, with its type variables replaced, and goes.
// CHECK-NOT: @pair
// CHECK-LABEL: relay.func @marked(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<f32>)
// CHECK-NEXT:    %[[T:[^ ]*]] = relay.tuple %[[X]], %[[X]] : tuple<tensor<f32>, tensor<f32>>
// CHECK-NEXT:    relay.return %[[T]]
relay.func @pair(%x: !relay.type_var<A>) -> tuple<!relay.type_var<A>, !relay.type_var<A>>
    attributes {Inline = 1 : i64, type_params = ["A"]} {
  %t = relay.tuple %x, %x : tuple<!relay.type_var<A>, !relay.type_var<A>>
  relay.return %t : tuple<!relay.type_var<A>, !relay.type_var<A>>
}
relay.func @marked(%x: tensor<f32>) -> tuple<tensor<f32>, tensor<f32>> {
  %t = relay.call @pair(%x) : (tensor<f32>) -> tuple<tensor<f32>, tensor<f32>>
  relay.return %t : tuple<tensor<f32>, tensor<f32>>
}

// A recursive function stays, marked or not, and so does one that is not marked.
// CHECK-LABEL: relay.func @forever(
// CHECK-NEXT:    relay.call @forever(
relay.func @forever(%x: tensor<f32>) -> tensor<f32> attributes {Inline = 1 : i64} {
  %y = relay.call @forever(%x) : (tensor<f32>) -> tensor<f32>
  relay.return %y : tensor<f32>
}
relay.func @plain(%x: tensor<f32>) -> tensor<f32> {
  relay.return %x : tensor<f32>
}
// CHECK-LABEL: relay.func @kept(
// CHECK-NEXT:    relay.call @plain(
relay.func @kept(%x: tensor<f32>) -> tensor<f32> {
  %y = relay.call @plain(%x) : (tensor<f32>) -> tensor<f32>
  relay.return %y : tensor<f32>
}

// A call that narrows an open dimension checks it at run time, and stays.
// CHECK-LABEL: relay.func @narrow(
// CHECK-NEXT:    relay.call @three(
relay.func @three(%x: tensor<3xf32>) -> tensor<3xf32> attributes {Inline = 1 : i64} {
  relay.return %x : tensor<3xf32>
}
relay.func @narrow(%x: tensor<?xf32>) -> tensor<3xf32> {
  %y = relay.call @three(%x) : (tensor<?xf32>) -> tensor<3xf32>
  relay.return %y : tensor<3xf32>
}
