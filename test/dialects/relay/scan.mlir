// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

relay.func @syntax(%x: tensor<2x?xi8>) -> tensor<2x?xi64> {
  %0 = relay.cumsum %x : (tensor<2x?xi8>) -> tensor<?xi8>
  %1 = relay.cumprod %x {axis = 0, exclusive = true} : tensor<2x?xi8>
  %2 = relay.cumsum %1 {axis = -1, dtype = i64, reverse = true} : (tensor<2x?xi8>) -> tensor<2x?xi64>
  relay.return %2 : tensor<2x?xi64>
}
// CHECK-LABEL: relay.func @syntax
// CHECK-NEXT:    relay.cumsum %x : (tensor<2x?xi8>) -> tensor<?xi8>
// CHECK-NEXT:    relay.cumprod %x {axis = 0, exclusive = true} : tensor<2x?xi8>
// CHECK-NEXT:    relay.cumsum %{{.*}} {axis = -1, dtype = i64, reverse = true} : (tensor<2x?xi8>) -> tensor<2x?xi64>

// -----

relay.func @axis(%x: tensor<2xf32>) {
  // expected-error @below {{axis 1 is out of range for rank 1; expected -1 to 0}}
  %0 = relay.cumsum %x {axis = 1} : tensor<2xf32>
  relay.return
}

// -----

relay.func @kind(%x: tensor<2xi1>) {
  // expected-error @below {{element type must be float or integer, but is i1}}
  %0 = relay.cumsum %x {axis = 0} : tensor<2xi1>
  relay.return
}
