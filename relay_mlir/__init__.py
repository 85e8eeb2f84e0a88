"""relay-mlir: the deep-learning compiler Relay as a family of MLIR-style dialects on xDSL.

A model enters through `relay_mlir.frontends` as a program of the `relay` dialect (`relay_mlir.dialects.relay`):
whole-tensor operators, functions, calls, tuples, `if` and named weights. `relay_mlir.lowering` rewrites it step
by step; `lowering/pipeline.py` is the only place that states the order:

    relay    whole-tensor operators          relay -> relay passes: inference form, folding, layout, fusion
    linalg   one function per fused group    upstream linalg, tensor, arith, math, on tensors
    loops    buffers, register tiles         upstream scf, memref, vector, arith, on memrefs
    llvm     the llvm dialect                upstream llvm, then LLVM IR text and object code

`relay_mlir.runtime` turns the last level into something that runs: in this process, or as an object, a shared
library and a C header. `relay_mlir.tools` holds the command line. Imports go downwards only:
tools -> frontends, runtime -> lowering -> dialects -> xDSL.
"""
