// RUN: relay-opt %s -p plan-memory --split-input-file | filecheck %s

// Buffers that are not alive together share bytes; an output lies over its dying input where the callee allows it.

// CHECK: func.func @main
// CHECK-SAME: %weights: memref<0xi8>, %arena: memref<128xi8>
// CHECK-SAME: weight_layout = []
// CHECK: [[A:%.*]] = arith.constant 0 : index
// CHECK: memref.view %arena[[[A]]][] : memref<128xi8> to memref<4xf32>
// CHECK: [[B:%.*]] = arith.constant 64 : index
// CHECK: memref.view %arena[[[B]]][]
// CHECK: [[C:%.*]] = arith.constant 64 : index
// CHECK: memref.view %arena[[[C]]][]
// CHECK: func.return
func.func private @over(%a: memref<4xf32>, %o: memref<4xf32>) attributes {in_place = [array<i64: 0, 1>]} {
  return
}
func.func private @apart(%a: memref<4xf32>, %o: memref<4xf32>) {
  return
}
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) {
  %0 = memref.alloc() : memref<4xf32>
  func.call @apart(%x, %0) : (memref<4xf32>, memref<4xf32>) -> ()
  %1 = memref.alloc() : memref<4xf32>
  func.call @apart(%0, %1) : (memref<4xf32>, memref<4xf32>) -> ()
  %2 = memref.alloc() : memref<4xf32>
  func.call @over(%1, %2) : (memref<4xf32>, memref<4xf32>) -> ()
  func.call @apart(%2, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  return
}

// -----

// The temporaries of a function lie in memory that its caller hands it.

// CHECK: func.func private @g(%o: memref<4xf32>, %scratch: memref<64xi8>)
// CHECK: memref.view %scratch
// CHECK: func.func @main
// CHECK-SAME: %arena: memref<64xi8>
// CHECK: [[S:%.*]] = memref.view %arena[%{{.*}}][] : memref<64xi8> to memref<64xi8>
// CHECK: func.call @g(%y, [[S]])
func.func private @g(%o: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %0 = memref.alloc() : memref<4xf32>
  %v = memref.load %0[%c0] : memref<4xf32>
  memref.store %v, %o[%c0] : memref<4xf32>
  return
}
func.func @main(%y: memref<4xf32>) {
  func.call @g(%y) : (memref<4xf32>) -> ()
  return
}

// -----

// Weights lie in the blob, those that functions read are handed to them, and those that nobody reads are left out.

// CHECK-NOT: memref.global
// CHECK: func.func private @g(%o: memref<4xf32>, [[W:%.*]]: memref<4xf32>)
// CHECK: memref.copy [[W]], %o
// CHECK: func.func @main
// CHECK-SAME: %weights: memref<128xi8>
// CHECK-SAME: weight_layout = [["a", 0 : i64, 16 : i64], ["layer/b", 64 : i64, 12 : i64]]
memref.global "private" constant @"a" : memref<4xf32> = uninitialized
memref.global "private" constant @"layer/b" : memref<3xf32> = uninitialized
memref.global "private" constant @"unused" : memref<3xf32> = uninitialized
func.func private @g(%o: memref<4xf32>) {
  %w = memref.get_global @a : memref<4xf32>
  memref.copy %w, %o : memref<4xf32> to memref<4xf32>
  return
}
func.func @main(%y: memref<4xf32>, %z: memref<3xf32>) {
  func.call @g(%y) : (memref<4xf32>) -> ()
  %w = memref.get_global @"layer/b" : memref<3xf32>
  memref.copy %w, %z : memref<3xf32> to memref<3xf32>
  return
}
