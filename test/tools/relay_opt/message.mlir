// RUN: not relay-opt %s 2>&1 | filecheck %s --match-full-lines --strict-whitespace
// RUN: not relay-opt - < %s 2>&1 | filecheck %s --check-prefix=STDIN

// One located line, the source line, a caret at the operation; nothing else.
relay.func @f(%x: tensor<2xf32>) -> tensor<3xf32> {
  %0 = relay.nn.relu %x : tensor<2xf32>
  relay.return %0 : tensor<2xf32> loc("/classifier/Relu")
}
//      CHECK:{{.*}}message.mlir:7:3: error: 'relay.return' op returns (tensor<2xf32>), but @f declares (tensor<3xf32>) [from "/classifier/Relu"]
// CHECK-NEXT:  relay.return %0 : tensor<2xf32> loc("/classifier/Relu")
// CHECK-NEXT:  ^
//  CHECK-NOT:{{.+}}
// STDIN: <stdin>:7:3: error: 'relay.return' op
