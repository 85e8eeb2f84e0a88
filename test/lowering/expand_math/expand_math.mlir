// RUN: relay-opt %s -p expand-math --print-debuginfo | filecheck %s

// A function of f32 becomes arithmetic that remembers where it came from.
// CHECK-LABEL: @f32
// CHECK-NOT:   math.exp
// CHECK:       math.fma {{.*}} : vector<4xf32> loc("/exp")
// CHECK-NOT:   math.exp
// CHECK:       return
func.func @f32(%x: vector<4xf32>) -> vector<4xf32> {
  %y = math.exp %x : vector<4xf32> loc("/exp")
  return %y : vector<4xf32>
}

// What is an instruction stays, and so does a function of f64.
// CHECK-LABEL: @stays
// CHECK:       math.sqrt %x : f32
// CHECK:       math.exp %y : f64
func.func @stays(%x: f32, %y: f64) -> (f32, f64) {
  %a = math.sqrt %x : f32
  %b = math.exp %y : f64
  return %a, %b : f32, f64
}

// The sine of a huge number is the C library's, on a path of its own.
// CHECK-LABEL: @sine
// CHECK:       scf.if
// CHECK-NEXT:  math.sin {{.*}} : f64
func.func @sine(%x: f32) -> f32 {
  %y = math.sin %x : f32
  return %y : f32
}
