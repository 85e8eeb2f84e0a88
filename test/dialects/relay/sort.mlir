// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

relay.func @syntax(%x: tensor<?x4xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>) {
  %0, %1 = relay.topk %x {k = 2} : (tensor<?x4xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %2 = relay.topk %x {k = 2, ret_type = "indices", is_ascend = true, dtype = i32} : (tensor<?x4xf32>) -> tensor<?x2xi32>
  %3 = relay.sort %x {axis = 0, is_ascend = false} : tensor<?x4xf32>
  %4 = relay.argsort %x : (tensor<?x4xf32>) -> tensor<?x4xi64>
  relay.return %0, %1 : tensor<?x2xf32>, tensor<?x2xi64>
}
// CHECK-LABEL: relay.func @syntax
// CHECK-NEXT:    {{.*}}, {{.*}} = relay.topk %x {k = 2} : (tensor<?x4xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
// CHECK-NEXT:    relay.topk %x {k = 2, ret_type = "indices", is_ascend = true, dtype = i32} : (tensor<?x4xf32>) -> tensor<?x2xi32>
// CHECK-NEXT:    relay.sort %x {axis = 0, is_ascend = false} : tensor<?x4xf32>
// CHECK-NEXT:    relay.argsort %x : (tensor<?x4xf32>) -> tensor<?x4xi64>

// -----

relay.func @many(%x: tensor<4xf32>) {
  // expected-error @below {{k is 5; expected 0 to the size 4 of dimension 0}}
  %0 = relay.topk %x {k = 5, ret_type = "values"} : (tensor<4xf32>) -> tensor<5xf32>
  relay.return
}

// -----

relay.func @dtype(%x: tensor<4xf32>) {
  // expected-error @below {{dtype is f32; expected i32 or i64}}
  %0 = relay.argsort %x {dtype = f32} : (tensor<4xf32>) -> tensor<4xf32>
  relay.return
}

// -----

relay.func @scalar(%x: tensor<f32>) {
  // expected-error @below {{axis -1 is out of range for rank 0}}
  %0 = relay.sort %x : tensor<f32>
  relay.return
}
