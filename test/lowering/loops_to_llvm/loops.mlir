// RUN: relay-opt %s -p loops-to-llvm | filecheck %s

// The number of iterations is known: one test, at the end, and the counter cannot overflow.
// CHECK-LABEL: llvm.func @counted
// CHECK:      llvm.br ^[[BODY:.*]](%{{.*}}, %{{.*}} : i64, f32)
// CHECK-NEXT: ^[[BODY]](%i: i64, %s: f32):
// CHECK-NEXT: %t = llvm.fadd %s, %x : f32
// CHECK-NEXT: %[[NEXT:.*]] = llvm.add %i, %{{.*}} overflow<nsw,nuw> : i64
// CHECK-NEXT: %[[MORE:.*]] = llvm.icmp "slt" %[[NEXT]], %{{.*}} : i64
// CHECK-NEXT: llvm.cond_br %[[MORE]], ^[[BODY]](%[[NEXT]], %t : i64, f32), ^[[DONE:.*]]
// CHECK-NEXT: ^[[DONE]]:
// CHECK-NEXT: llvm.return %t : f32
func.func @counted(%x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %c9 step %c1 iter_args(%s = %zero) -> (f32) {
    %t = arith.addf %s, %x : f32
    scf.yield %t : f32
  }
  return %r : f32
}

// Otherwise a test in front skips a loop of no iterations.
// CHECK-LABEL: llvm.func @guarded
// CHECK:      %[[ANY:.*]] = llvm.icmp "slt" %{{.*}}, %n : i64
// CHECK-NEXT: llvm.cond_br %[[ANY]], ^{{.*}}, ^[[DONE:.*]](%from : f32)
// CHECK:      ^[[DONE]](%[[R:.*]]: f32):
// CHECK-NEXT: llvm.return %[[R]] : f32
func.func @guarded(%from: f32, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %from) -> (f32) {
    %t = arith.addf %s, %from fastmath<contract> : f32
    scf.yield %t : f32
  }
  return %r : f32
}

// Flags are carried.
// CHECK-LABEL: llvm.func @flags
// CHECK: llvm.fadd %v, %v {fastmathFlags = #llvm.fastmath<contract>} : f32
// CHECK: llvm.intr.maximum(%v, %v) {fastmathFlags = #llvm.fastmath<nsz>} : (f32, f32) -> f32
// CHECK: llvm.add %w, %w overflow<nsw> : i32
func.func @flags(%v: f32, %w: i32) -> (f32, f32, i32) {
  %a = arith.addf %v, %v fastmath<contract> : f32
  %b = arith.maximumf %v, %v fastmath<nsz> : f32
  %c = arith.addi %w, %w overflow<nsw> : i32
  return %a, %b, %c : f32, f32, i32
}
