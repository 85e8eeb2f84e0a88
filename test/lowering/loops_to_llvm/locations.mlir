// RUN: relay-opt %s -p loops-to-llvm --print-debuginfo | filecheck %s

// Every operation remembers where it comes from, addresses included.
// CHECK: llvm.getelementptr {{.*}} loc("/conv")
// CHECK: llvm.load {{.*}} loc("/conv")
// CHECK: llvm.return {{.*}} loc("/end")
func.func @f(%x: memref<8xf32>, %i: index) -> f32 {
  %v = memref.load %x[%i] : memref<8xf32> loc("/conv")
  return %v : f32 loc("/end")
}
