// RUN: relay-opt %s | relay-opt | filecheck %s

// Operations of the llvm dialect that xDSL lacks.
// CHECK-LABEL: llvm.func internal @f
llvm.func internal @f(%p: !llvm.ptr {llvm.noalias}, %v: vector<4xf32>, %w: vector<4xi32>, %n: i64, %x: f32, %j: i32, %m: vector<4xi1>) -> f32 {
  // CHECK: llvm.extractelement %v[%n : i64] : vector<4xf32>
  %0 = llvm.extractelement %v[%n : i64] : vector<4xf32>
  // CHECK: llvm.freeze %x : f32
  %1 = llvm.freeze %x : f32
  // CHECK: llvm.mlir.poison : vector<4xf32>
  %2 = llvm.mlir.poison : vector<4xf32>
  // CHECK: llvm.fptosi %x : f32 to i32
  %3 = llvm.fptosi %x : f32 to i32
  // CHECK: llvm.uitofp %w : vector<4xi32> to vector<4xf32>
  %4 = llvm.uitofp %w : vector<4xi32> to vector<4xf32>
  // CHECK: %[[L:.*]] = llvm.intr.masked.load %p, %m, %v {alignment = 4 : i32} : (!llvm.ptr, vector<4xi1>, vector<4xf32>) -> vector<4xf32>
  %5 = llvm.intr.masked.load %p, %m, %v {alignment = 4 : i32} : (!llvm.ptr, vector<4xi1>, vector<4xf32>) -> vector<4xf32>
  // CHECK: llvm.intr.masked.store %[[L]], %p, %m {alignment = 4 : i32} : vector<4xf32>, vector<4xi1> into !llvm.ptr
  llvm.intr.masked.store %5, %p, %m {alignment = 4 : i32} : vector<4xf32>, vector<4xi1> into !llvm.ptr
  // CHECK: "llvm.intr.memcpy"(%p, %p, %n) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  "llvm.intr.memcpy"(%p, %p, %n) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  // CHECK: "llvm.intr.vector.reduce.fadd"(%x, %v) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<4xf32>) -> f32
  %6 = "llvm.intr.vector.reduce.fadd"(%x, %v) <{fastmathFlags = #llvm.fastmath<reassoc>}> : (f32, vector<4xf32>) -> f32
  // CHECK: "llvm.intr.vector.reduce.add"(%w) : (vector<4xi32>) -> i32
  %7 = "llvm.intr.vector.reduce.add"(%w) : (vector<4xi32>) -> i32
  // CHECK: llvm.intr.vector.reduce.fmaximum(%v) {fastmathFlags = #llvm.fastmath<nnan>} : (vector<4xf32>) -> f32
  %8 = llvm.intr.vector.reduce.fmaximum(%v) {fastmathFlags = #llvm.fastmath<nnan>} : (vector<4xf32>) -> f32
  // CHECK: llvm.intr.smax(%j, %j) : (i32, i32) -> i32
  %9 = llvm.intr.smax(%j, %j) : (i32, i32) -> i32
  // CHECK: llvm.intr.maximum(%v, %v) {fastmathFlags = #llvm.fastmath<nsz>} : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %10 = llvm.intr.maximum(%v, %v) {fastmathFlags = #llvm.fastmath<nsz>} : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK: "llvm.intr.ctlz"(%j) <{is_zero_poison = false}> : (i32) -> i32
  %11 = "llvm.intr.ctlz"(%j) <{is_zero_poison = false}> : (i32) -> i32
  // CHECK: %[[C:.*]] = llvm.fcmp "olt" %v, %v {fastmathFlags = #llvm.fastmath<nnan>} : vector<4xf32>
  %12 = llvm.fcmp "olt" %v, %v {fastmathFlags = #llvm.fastmath<nnan>} : vector<4xf32>
  // CHECK: llvm.select %[[C]], %v, %v : vector<4xi1>, vector<4xf32>
  %13 = llvm.select %12, %v, %v : vector<4xi1>, vector<4xf32>
  // CHECK: llvm.switch %j : i32, ^[[D:.*]] [0: ^[[D]], 1: ^[[Q:.*]](%j : i32)]
  llvm.switch %j : i32, ^default [0: ^default, 1: ^next(%j : i32)]
^default:
  llvm.br ^next(%j : i32)
^next(%t: i32):
  llvm.return %x : f32
}
