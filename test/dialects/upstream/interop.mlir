// REQUIRES: mlir-opt-22
// RUN: relay-opt %S/syntax.mlir | mlir-opt-22 | relay-opt | filecheck %s --check-prefix=LOOPS
// RUN: relay-opt %S/llvm.mlir | mlir-opt-22 | relay-opt | filecheck %s --check-prefix=LLVM

// Stock MLIR reads what is printed, and what stock MLIR prints is read.
// LOOPS: memref.global "private" constant @table
// LOOPS: memref.copy
// LOOPS: scf.parallel
// LOOPS: scf.reduce.return
// LOOPS: arith.select %{{.*}} : vector<4xi1>, vector<4xf32>
// LOOPS: vector.step
// LLVM: llvm.intr.masked.store
// LLVM: llvm.intr.maximum
// LLVM: llvm.switch
