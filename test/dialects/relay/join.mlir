// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

relay.func @syntax(%x: tensor<2x3xf32>, %y: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %0 = relay.concatenate %x, %y : (tensor<2x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  %1 = relay.concatenate %x, %x, %x {axis = -1} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x9xf32>
  %2 = relay.stack %x, %x {axis = 2} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x2xf32>
  %3, %4 = relay.split %x {indices_or_sections = [1], axis = 1} : (tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x2xf32>)
  relay.return %0 : tensor<?x3xf32>
}
// CHECK-LABEL: relay.func @syntax
// CHECK-NEXT:    relay.concatenate %x, %y : (tensor<2x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
// CHECK-NEXT:    relay.concatenate %x, %x, %x {axis = -1} : {{.*}} -> tensor<2x9xf32>
// CHECK-NEXT:    relay.stack %x, %x {axis = 2} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x2xf32>
// CHECK-NEXT:    {{.*}}, {{.*}} = relay.split %x {indices_or_sections = [1], axis = 1} : (tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x2xf32>)

// -----

relay.func @dims(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error @below {{shapes [2, 3], [2, 4] do not agree in dimension 1}}
  %0 = relay.concatenate %x, %y : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  relay.return
}

// -----

relay.func @elements(%x: tensor<2xf32>, %y: tensor<2xi8>) {
  // expected-error @below {{expected tensors of one element type, but found f32, i8}}
  %0 = relay.concatenate %x, %y : (tensor<2xf32>, tensor<2xi8>) -> tensor<4xf32>
  relay.return
}

// -----

relay.func @none() {
  // expected-error @below {{expected at least 1 operands (data*), but found 0}}
  %0 = relay.concatenate : () -> tensor<4xf32>
  relay.return
}

// -----

relay.func @cut(%x: tensor<2x3xf32>) {
  // expected-error @below {{cannot cut dimension 1 of [2, 3] at [4]}}
  %0, %1 = relay.split %x {indices_or_sections = [4], axis = 1} : (tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x0xf32>)
  relay.return
}
