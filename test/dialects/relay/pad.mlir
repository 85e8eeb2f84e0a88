// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

relay.func @syntax(%x: tensor<?x3xf32>, %v: tensor<f32>) -> tensor<?x4xf32> {
  %0 = relay.nn.pad %x, %v {pad_width = [[0, 0], [2, -1]]} : (tensor<?x3xf32>, tensor<f32>) -> tensor<?x4xf32>
  %1 = relay.nn.pad %x, %v {pad_width = [[1, 1], [1, 1]], pad_mode = "reflect"} : (tensor<?x3xf32>, tensor<f32>) -> tensor<?x5xf32>
  relay.return %0 : tensor<?x4xf32>
}
// CHECK-LABEL: relay.func @syntax
// CHECK-NEXT:    relay.nn.pad %x, %v {pad_width = {{\[\[}}0, 0], [2, -1]]} : (tensor<?x3xf32>, tensor<f32>) -> tensor<?x4xf32>
// CHECK-NEXT:    relay.nn.pad %x, %v {pad_width = {{\[\[}}1, 1], [1, 1]], pad_mode = "reflect"} : (tensor<?x3xf32>, tensor<f32>) -> tensor<?x5xf32>

// -----

relay.func @widths(%x: tensor<2x3xf32>, %v: tensor<f32>) {
  // expected-error @below {{pad_width [[0, 0]] does not fit the shape [2, 3]; expected [before, after] for each dimension}}
  %0 = relay.nn.pad %x, %v {pad_width = [[0, 0]]} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  relay.return
}

// -----

relay.func @value(%x: tensor<3xf32>, %v: tensor<f64>) {
  // expected-error @below {{pad_value must be a tensor<f32>, but is tensor<f64>}}
  %0 = relay.nn.pad %x, %v {pad_width = [[0, 1]]} : (tensor<3xf32>, tensor<f64>) -> tensor<4xf32>
  relay.return
}

// -----

relay.func @crop(%x: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error @below {{widths [-2, -2] crop more than the size 3}}
  %0 = relay.nn.pad %x, %v {pad_width = [[-2, -2]]} : (tensor<3xf32>, tensor<f32>) -> tensor<0xf32>
  relay.return
}

// -----

relay.func @nothing(%x: tensor<0xf32>, %v: tensor<f32>) {
  // expected-error @below {{pad_mode edge has no element to pad a dimension of size 0 with}}
  %0 = relay.nn.pad %x, %v {pad_width = [[1, 0]], pad_mode = "edge"} : (tensor<0xf32>, tensor<f32>) -> tensor<1xf32>
  relay.return
}
