// RUN: relay-opt %s -p loops-to-llvm | filecheck %s

// A memref is a pointer; sizes that its type leaves open follow. Attributes stay at the pointer.
// CHECK-LABEL: llvm.func @arguments(%x: !llvm.ptr {llvm.noalias, llvm.readonly}, %{{.*}}: i64, %{{.*}}: f32)
// CHECK-SAME: passthrough = ["nounwind", ["prefer-vector-width", "512"]]
// CHECK-NEXT: llvm.return
func.func @arguments(%x: memref<?x4xf32> {llvm.noalias, llvm.readonly}, %y: f32) {
  return
}

// A private function is internal, under a name that no function of a C library has.
// CHECK-LABEL: llvm.func internal @hidden.local()
func.func private @hidden() {
  return
}

// The step of the row stands in front of the inner loop, that of the column and the constant inside of it.
// CHECK-LABEL: llvm.func @hoisted
func.func @hoisted(%from: memref<8x256xf32>, %to: memref<8x256xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c256 = arith.constant 256 : index
  scf.for %i = %c0 to %c7 step %c1 {
    %j = arith.addi %i, %c1 : index
    scf.for %k = %c0 to %c256 step %c1 {
      %v = memref.load %from[%j, %k] : memref<8x256xf32>
      memref.store %v, %to[%i, %k] : memref<8x256xf32>
    }
  }
  return
}
// CHECK:      llvm.br ^[[OUTER:.*]](%{{.*}} : i64)
// CHECK-NEXT: ^[[OUTER]](%i: i64):
// CHECK-NEXT: %[[X:.*]] = llvm.getelementptr inbounds %from[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<256 x f32>
// CHECK-NEXT: %[[Y:.*]] = llvm.getelementptr inbounds %to[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<256 x f32>
// CHECK-NEXT: llvm.br ^[[INNER:.*]](%{{.*}} : i64)
// CHECK-NEXT: ^[[INNER]](%k: i64):
// CHECK-NEXT: %[[XK:.*]] = llvm.getelementptr inbounds %[[X]][%k] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT: %[[XJK:.*]] = llvm.getelementptr inbounds %[[XK]][256] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK-NEXT: %v = llvm.load %[[XJK]] {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK-NEXT: %[[YK:.*]] = llvm.getelementptr inbounds %[[Y]][%k] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT: llvm.store %v, %[[YK]] {alignment = 4 : i64} : f32, !llvm.ptr

// An index that may be negative on the way makes no promise to stay in bounds.
// CHECK-LABEL: llvm.func @negative
// CHECK-NOT:   inbounds
func.func @negative(%x: memref<8xf32>, %i: index) -> f32 {
  %c1 = arith.constant 1 : index
  %j = arith.subi %i, %c1 : index
  %v = memref.load %x[%j] : memref<8xf32>
  return %v : f32
}

// A subview costs nothing: its offset is part of the address.
// CHECK-LABEL: llvm.func @subview
// CHECK-NEXT:  %[[A:.*]] = llvm.getelementptr %whole[%row] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<8 x f32>
// CHECK-NEXT:  %[[B:.*]] = llvm.getelementptr %[[A]][%column] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT:  llvm.getelementptr %[[B]][18] : (!llvm.ptr) -> !llvm.ptr, f32
func.func @subview(%whole: memref<8x8xf32>, %row: index, %column: index) -> f32 {
  %c2 = arith.constant 2 : index
  %s = memref.subview %whole[%row, 2] [4, 4] [1, 1] : memref<8x8xf32> to memref<4x4xf32, strided<[8, 1], offset: ?>>
  %v = memref.load %s[%c2, %column] : memref<4x4xf32, strided<[8, 1], offset: ?>>
  return %v : f32
}

// A stride that is known at run time only: the product with a counter stands in front of the inner loop.
// CHECK-LABEL: llvm.func @dynamic
// CHECK:      ^{{.*}}(%r: i64):
// CHECK-NEXT: %[[ROW:.*]] = llvm.mul %r, %{{.*}} : i64
// CHECK-NEXT: %[[PTR:.*]] = llvm.getelementptr %{{.*}}[%[[ROW]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT: llvm.br ^[[BODY:.*]](%{{.*}} : i64)
// CHECK-NEXT: ^[[BODY]](%c: i64):
// CHECK-NEXT: llvm.getelementptr %[[PTR]][%c] : (!llvm.ptr, i64) -> !llvm.ptr, f32
func.func @dynamic(%strided: memref<8x8xf32, strided<[?, 1]>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %r = %c0 to %c8 step %c1 {
    scf.for %c = %c0 to %c8 step %c1 {
      %w = memref.load %strided[%r, %c] : memref<8x8xf32, strided<[?, 1]>>
      memref.store %w, %strided[%r, %c] : memref<8x8xf32, strided<[?, 1]>>
    }
  }
  return
}
