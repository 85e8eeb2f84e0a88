// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

// Attributes print where they differ from the default; equal operand and result types print once.
relay.func @syntax(%x: tensor<2x?xf32>, %a: tensor<2xf32>) -> tensor<2x?xi8> {
  %0 = relay.exp %x : tensor<2x?xf32>
  %1 = relay.nn.leaky_relu %0 {alpha = 0.25} : tensor<2x?xf32>
  %2 = relay.clip %1 {a_min = 0.0, a_max = 6.0} : tensor<2x?xf32>
  %3 = relay.nn.prelu %2, %a {axis = 0} : (tensor<2x?xf32>, tensor<2xf32>) -> tensor<2x?xf32>
  %4 = relay.cast %3 {dtype = i8} : (tensor<2x?xf32>) -> tensor<2x?xi8>
  relay.return %4 : tensor<2x?xi8>
}
// CHECK-LABEL: relay.func @syntax
// CHECK-NEXT:    relay.exp %x : tensor<2x?xf32>
// CHECK-NEXT:    relay.nn.leaky_relu %{{.*}} : tensor<2x?xf32>
// CHECK-NEXT:    relay.clip %{{.*}} {a_min = 0.0, a_max = 6.0} : tensor<2x?xf32>
// CHECK-NEXT:    relay.nn.prelu %{{.*}}, %a {axis = 0} : (tensor<2x?xf32>, tensor<2xf32>) -> tensor<2x?xf32>
// CHECK-NEXT:    relay.cast %{{.*}} {dtype = i8} : (tensor<2x?xf32>) -> tensor<2x?xi8>

// -----

// Operands broadcast; a comparison gives i1.
relay.func @broadcast(%x: tensor<3x1xf32>, %y: tensor<4xf32>) -> tensor<3x4xf32> {
  %0 = relay.less %x, %y : (tensor<3x1xf32>, tensor<4xf32>) -> tensor<3x4xi1>
  %1 = relay.where %0, %x, %y : (tensor<3x4xi1>, tensor<3x1xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  relay.return %1 : tensor<3x4xf32>
}
// CHECK-LABEL: relay.func @broadcast
// CHECK-NEXT:    relay.less %x, %y : (tensor<3x1xf32>, tensor<4xf32>) -> tensor<3x4xi1>
// CHECK-NEXT:    relay.where

// -----

relay.func @shapes(%x: tensor<3xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{shapes [3] and [4] do not broadcast: dimensions 3 and 4 do not broadcast}}
  %0 = relay.add %x, %y : (tensor<3xf32>, tensor<4xf32>) -> tensor<4xf32>
  relay.return
}

// -----

relay.func @mixed(%x: tensor<3xf32>, %y: tensor<3xi32>) {
  // expected-error @below {{operands must have the same element type, but have f32 and i32; insert relay.cast}}
  %0 = relay.add %x, %y : (tensor<3xf32>, tensor<3xi32>) -> tensor<3xf32>
  relay.return
}

// -----

relay.func @kind(%x: tensor<3xi32>) {
  // expected-error @below {{element type must be float, but is i32}}
  %0 = relay.exp %x : tensor<3xi32>
  relay.return
}

// -----

relay.func @result(%x: tensor<3xf32>) {
  // expected-error @below {{result is tensor<3xi16>, but the operands give tensor<3xi8>}}
  %0 = relay.cast %x {dtype = i8} : (tensor<3xf32>) -> tensor<3xi16>
  relay.return
}

// -----

relay.func @width(%x: tensor<3xf32>) {
  // expected-error @below {{dtype f64 must have as many bits as f32}}
  %0 = relay.reinterpret %x {dtype = f64} : (tensor<3xf32>) -> tensor<3xf64>
  relay.return
}

// -----

relay.func @slopes(%x: tensor<2x3xf32>, %a: tensor<2xf32>) {
  // expected-error @below {{alpha must have shape [3], the size of axis 1, but is tensor<2xf32>}}
  %0 = relay.nn.prelu %x, %a : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  relay.return
}

// -----

relay.func @bounds(%x: tensor<2xf32>) {
  // expected-error @below {{attribute 'a_max' is required}}
  %0 = relay.clip %x {a_min = 0.0} : tensor<2xf32>
  relay.return
}
