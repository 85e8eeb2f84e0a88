// RUN: relay-opt %s -p bufferize --split-input-file --verify-diagnostics

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'arith.negf' on tensors has no form on buffers}}
  %0 = arith.negf %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
