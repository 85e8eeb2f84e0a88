// RUN: relay-opt %s -p relay-to-linalg --split-input-file --verify-diagnostics | filecheck %s
// RUN: relay-opt %s -p relay-to-linalg --print-debuginfo --split-input-file --verify-diagnostics | filecheck %s --check-prefix=LOC

// A function becomes a func.func on tensors; a weight is an external constant buffer; names survive.
// CHECK:       memref.global "private" constant @"fc weight" : memref<4xf32> = uninitialized
// CHECK-LABEL: func.func private @group(
// CHECK:         linalg.generic
// CHECK:         arith.addf
// LOC:           loc("/fc/Add")
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<4xf32>) -> tensor<4xf32> attributes {input_names = ["in"], output_names = ["out"]}
// CHECK-NEXT:    %[[BUFFER:.*]] = memref.get_global @"fc weight"
// CHECK-NEXT:    %[[W:.*]] = bufferization.to_tensor %[[BUFFER]] restrict
// CHECK-NEXT:    %[[Y:.*]] = func.call @group(%[[X]], %[[W]])
// CHECK-NEXT:    func.return %[[Y]]
relay.func private @group(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> attributes {primitive} {
  %0 = relay.add %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("/fc/Add")
  relay.return %0 : tensor<4xf32>
}
relay.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {input_names = ["in"], output_names = ["out"]} {
  %w = relay.weight "fc weight" : tensor<4xf32>
  %0 = relay.call @group(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relay.return %0 : tensor<4xf32>
}

// -----

// A tuple is its fields; unsigned elements become signless.
// CHECK-LABEL: func.func @tuple(
// CHECK-SAME:    %[[A:[^:]*]]: tensor<2xi8>, %[[B:[^:]*]]: tensor<3xf32>) -> tensor<2xi8>
// CHECK-NEXT:    func.return %[[A]]
relay.func @tuple(%a: tensor<2xui8>, %b: tensor<3xf32>) -> tensor<2xui8> {
  %t = relay.tuple %b, %a : tuple<tensor<3xf32>, tensor<2xui8>>
  %0 = relay.tuple_get_item %t[1] : tuple<tensor<3xf32>, tensor<2xui8>> -> tensor<2xui8>
  relay.return %0 : tensor<2xui8>
}

// -----

// A conditional reads its condition as a scalar.
// CHECK-LABEL: func.func @conditional(
// CHECK-SAME:    %[[C:[^:]*]]: tensor<i1>, %[[A:[^:]*]]: tensor<2xf32>, %[[B:[^:]*]]: tensor<2xf32>)
// CHECK-NEXT:    %[[BIT:.*]] = tensor.extract %[[C]][]
// CHECK-NEXT:    %[[Y:.*]] = scf.if %[[BIT]] -> (tensor<2xf32>) {
// CHECK-NEXT:      scf.yield %[[A]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %[[B]]
// CHECK:         func.return %[[Y]]
relay.func @conditional(%c: tensor<i1>, %a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.if %c : tensor<i1> -> (tensor<2xf32>) {
    relay.yield %a : tensor<2xf32>
  } else {
    relay.yield %b : tensor<2xf32>
  }
  relay.return %0 : tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @open(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32>
// CHECK:         %[[ZERO:.*]] = arith.constant 0 : index
// CHECK:         %[[N:.*]] = tensor.dim %x, %[[ZERO]] : tensor<?xf32>
// CHECK:         tensor.empty(%[[N]]) : tensor<?xf32>
relay.func @open(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = relay.add %x, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  relay.return %0 : tensor<?xf32>
}

// -----

relay.func @two_types(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>) {
  %0 = relay.weight "w" : tensor<4xf32>
  // expected-error @below {{weight 'w' is read as memref<4xf32> and as memref<2xf32>}}
  %1 = relay.weight "w" : tensor<2xf32>
  relay.return %0, %1 : tensor<4xf32>, tensor<2xf32>
}
