// RUN: relay-opt %s -p bufferize --split-input-file | filecheck %s

// A result is a trailing argument, and is computed there.

// CHECK: func.func private @add(%a: memref<4xf32>, %b: memref<4xf32>, [[OUT:%.*]]: memref<4xf32>)
// CHECK-SAME: in_place = [array<i64: 0, 2>]
// CHECK-NEXT: linalg.generic
// CHECK-SAME: ins(%a, %b : memref<4xf32>, memref<4xf32>) outs([[OUT]] : memref<4xf32>)
// CHECK: func.return
#id = affine_map<(i) -> (i)>
func.func private @add(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// An input is never written to: it is copied first.

// CHECK: func.func @main(%x: memref<4xf32>, [[OUT:%.*]]: memref<4xf32>)
// CHECK: memref.alloc
// CHECK: copy
// CHECK: memref.store
func.func @main(%x: tensor<4xf32>, %v: f32) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %r = tensor.insert %v into %x[%c0] : tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// A returned argument is copied.

// CHECK: func.func @main(%x: memref<4xf32>, [[OUT:%.*]]: memref<4xf32>)
// CHECK-NEXT: memref.copy %x, [[OUT]]
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// The source of padding is computed inside the padded buffer.

// CHECK: func.func @main(%v: f32, [[OUT:%.*]]: memref<6xf32>)
// CHECK: linalg.fill ins(%zero : f32) outs([[OUT]] : memref<6xf32>)
// CHECK: [[VIEW:%.*]] = memref.subview [[OUT]][1] [4] [1] : memref<6xf32> to memref<4xf32, strided<[1], offset: 1>>
// CHECK-NEXT: linalg.fill ins(%v : f32) outs([[VIEW]]
// CHECK-NEXT: func.return
func.func @main(%v: f32) -> tensor<6xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %s = linalg.fill ins(%v : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %zero = arith.constant 0.0 : f32
  %w = tensor.empty() : tensor<6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%w : tensor<6xf32>) -> tensor<6xf32>
  %p = tensor.insert_slice %s into %f[1] [4] [1] : tensor<4xf32> into tensor<6xf32>
  return %p : tensor<6xf32>
}

// -----

// A bool takes a byte; a body and a load see one bit.

// CHECK: func.func @main(%x: memref<2xi8>, [[OUT:%.*]]: memref<2xi8>)
// CHECK: [[BYTE:%.*]] = memref.load %x[%c0]
// CHECK: [[BIT:%.*]] = arith.trunci [[BYTE]] : i8 to i1
// CHECK: arith.extui [[BIT]] : i1 to i8
// CHECK: linalg.fill
func.func @main(%x: tensor<2xi1>) -> tensor<2xi1> {
  %c0 = arith.constant 0 : index
  %b = tensor.extract %x[%c0] : tensor<2xi1>
  %e = tensor.empty() : tensor<2xi1>
  %f = linalg.fill ins(%b : i1) outs(%e : tensor<2xi1>) -> tensor<2xi1>
  return %f : tensor<2xi1>
}

// -----

// Equal constants are one global.

// CHECK: memref.global "private" constant @constant_0 : memref<2xi8> = dense<[1, 0]>
// CHECK-NOT: @constant_1
func.func @main() -> (tensor<2xi1>, tensor<2xi1>) {
  %a = arith.constant dense<[true, false]> : tensor<2xi1>
  %b = arith.constant dense<[true, false]> : tensor<2xi1>
  return %a, %b : tensor<2xi1>, tensor<2xi1>
}
