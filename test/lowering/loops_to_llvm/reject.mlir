// RUN: relay-opt %s -p loops-to-llvm --split-input-file --verify-diagnostics

func.func @bf16(%x: bf16) -> bf16 {
  // expected-error @below {{arithmetic on bf16; extend to f32 first}}
  %y = arith.addf %x, %x : bf16
  return %y : bf16
}

// -----

func.func @function(%x: f32) -> f32 {
  // expected-error @below {{a function of f32; run expand-math before}}
  %y = math.sin %x : f32
  return %y : f32
}

// -----

func.func @stack(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{a stack buffer of unknown size in a loop}}
    %b = memref.alloca(%n) : memref<?xf32>
  }
  return
}
