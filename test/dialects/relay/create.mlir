// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

relay.func @syntax(%n: tensor<?xi64>, %v: tensor<f32>) -> tensor<?x4xf32> {
  %0 = relay.zeros {shape = [2, 0]} : () -> tensor<2x0xf32>
  %1 = relay.ones {shape = [], dtype = i8} : () -> tensor<i8>
  %2 = relay.full %v {shape = [2], dtype = i1} : (tensor<f32>) -> tensor<2xi1>
  %3 = relay.full_like %n, %v : (tensor<?xi64>, tensor<f32>) -> tensor<?xi64>
  %4 = relay.arange {start = 0.0, stop = 1.0, step = 0.25, dtype = f16} : () -> tensor<4xf16>
  %5 = relay.one_hot %n, %v, %v {depth = 4} : (tensor<?xi64>, tensor<f32>, tensor<f32>) -> tensor<?x4xf32>
  relay.return %5 : tensor<?x4xf32>
}
// CHECK-LABEL: relay.func @syntax
// CHECK-NEXT:    relay.zeros {shape = [2, 0]} : () -> tensor<2x0xf32>
// CHECK-NEXT:    relay.ones {shape = [], dtype = i8} : () -> tensor<i8>
// CHECK-NEXT:    relay.full %v {shape = [2], dtype = i1} : (tensor<f32>) -> tensor<2xi1>
// CHECK-NEXT:    relay.full_like %n, %v : (tensor<?xi64>, tensor<f32>) -> tensor<?xi64>
// CHECK-NEXT:    relay.arange {start = 0.0, stop = 1.0, step = 0.25, dtype = f16} : () -> tensor<4xf16>
// CHECK-NEXT:    relay.one_hot %n, %v, %v {depth = 4} : (tensor<?xi64>, tensor<f32>, tensor<f32>) -> tensor<?x4xf32>

// -----

relay.func @scalar(%v: tensor<1xf32>) {
  // expected-error @below {{fill_value must be a scalar, but is tensor<1xf32>}}
  %0 = relay.full %v {shape = [2]} : (tensor<1xf32>) -> tensor<2xf32>
  relay.return
}

// -----

relay.func @step() {
  // expected-error @below {{start, stop and step must be finite and step not 0}}
  %0 = relay.arange {start = 0.0, stop = 1.0, step = 0.0, dtype = f32} : () -> tensor<1xf32>
  relay.return
}

// -----

relay.func @range() {
  // expected-error @below {{i8 cannot hold 0 to 299}}
  %0 = relay.arange {start = 0.0, stop = 300.0, step = 1.0, dtype = i8} : () -> tensor<300xi8>
  relay.return
}
