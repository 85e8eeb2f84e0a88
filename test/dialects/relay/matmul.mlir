// RUN: relay-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK-LABEL: @dense(
// CHECK: relay.nn.dense %x, %w : (tensor<2x5xf32>, tensor<3x5xf32>) -> tensor<2x3xf32>
relay.func @dense(%x: tensor<2x5xf32>, %w: tensor<3x5xf32>) -> tensor<2x3xf32> {
  %0 = relay.nn.dense %x, %w : (tensor<2x5xf32>, tensor<3x5xf32>) -> tensor<2x3xf32>
  relay.return %0 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: @wide(
// CHECK: relay.nn.matmul %x, %w {out_dtype = i32, transpose_a = true} : (tensor<5x2xui8>, tensor<5x3xi8>) -> tensor<2x3xi32>
relay.func @wide(%x: tensor<5x2xui8>, %w: tensor<5x3xi8>) -> tensor<2x3xi32> {
  %0 = relay.nn.matmul %x, %w {out_dtype = i32, transpose_a = true, transpose_b = false} : (tensor<5x2xui8>, tensor<5x3xi8>) -> tensor<2x3xi32>
  relay.return %0 : tensor<2x3xi32>
}

// -----

// CHECK-LABEL: @batches(
// CHECK: relay.nn.batch_matmul %x, %w {transpose_b = true} : (tensor<?x2x5xf32>, tensor<1x3x5xf32>) -> tensor<?x2x3xf32>
relay.func @batches(%x: tensor<?x2x5xf32>, %w: tensor<1x3x5xf32>) -> tensor<?x2x3xf32> {
  %0 = relay.nn.batch_matmul %x, %w {transpose_b = true} : (tensor<?x2x5xf32>, tensor<1x3x5xf32>) -> tensor<?x2x3xf32>
  relay.return %0 : tensor<?x2x3xf32>
}

// -----

relay.func @depth(%x: tensor<2x5xf32>, %w: tensor<5x3xf32>) -> tensor<2x3xf32> {
  // expected-error @below {{the reduced dimensions of the operands must agree, but are 5 and 3}}
  %0 = relay.nn.dense %x, %w : (tensor<2x5xf32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  relay.return %0 : tensor<2x3xf32>
}

// -----

relay.func @mixed(%x: tensor<2x5xui8>, %w: tensor<3x5xi8>) -> tensor<2x3xi32> {
  // expected-error @below {{element types ui8 and i8 differ: give the type of the result as out_dtype}}
  %0 = relay.nn.dense %x, %w : (tensor<2x5xui8>, tensor<3x5xi8>) -> tensor<2x3xi32>
  relay.return %0 : tensor<2x3xi32>
}
