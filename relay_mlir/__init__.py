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
tools -> runtime -> frontends -> lowering -> dialects -> xDSL.

    import relay_mlir

    exe = relay_mlir.compile("model.onnx", shapes={"x": (1, 3, 224, 224)})
    outputs = exe(x=array)
    exe.save("model.so")

    relay_mlir.interpret("model.onnx")(array)  # the same, by the interpreter; slow, but it runs every program

Every error that is the caller's to mend derives from `relay_mlir.Error`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relay_mlir.dialects.errors import CompileError, Error, InputError, ModelError, RunError
    from relay_mlir.runtime.compiler import compile
    from relay_mlir.runtime.executable import Executable
    from relay_mlir.runtime.interpreter import ExecutionError, interpret
    from relay_mlir.runtime.values import ADT, Ref

__version__ = "0.1.0"

__all__ = [
    "ADT",
    "CompileError",
    "Error",
    "Executable",
    "ExecutionError",
    "InputError",
    "ModelError",
    "Ref",
    "RunError",
    "compile",
    "interpret",
]

_HOMES = {
    "ADT": "runtime.values",
    "CompileError": "dialects.errors",
    "Error": "dialects.errors",
    "Executable": "runtime.executable",
    "ExecutionError": "runtime.interpreter",
    "InputError": "dialects.errors",
    "ModelError": "dialects.errors",
    "Ref": "runtime.values",
    "RunError": "dialects.errors",
    "compile": "runtime.compiler",
    "interpret": "runtime.interpreter",
}


def __getattr__(name: str) -> Any:
    """Imports a name of `__all__` when it is first used: the tools that need none of them start faster."""
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
