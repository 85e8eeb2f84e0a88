"""heap-to-llvm: functions on heap objects become functions of the llvm dialect that call the runtime (runtime/heap.ll).

A word is a pointer. Every function takes the heap in front of its arguments and gives a word, in the calling convention
`tailcc`, in which a tail call is a jump; a call of a function by itself in tail position is a branch. `@main` is called
from C with the heap. The texts of what may fail at run time are the attribute `failures` of `@main`: failure i ends the
run with the status 3 + i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from relay_mlir.dialects import upstream
from relay_mlir.dialects.heap import ops as heap
from relay_mlir.lowering.heap_to_llvm_function import ENTRY, RUNTIME, Failures, HeapFunction, Kernel
from relay_mlir.lowering.heap_to_llvm_ops import HANDLERS
from relay_mlir.lowering.loops_to_llvm import PASSTHROUGH


def _kernels(module: ModuleOp) -> dict[str, Kernel]:
    found: dict[str, Kernel] = {}
    for op in module.ops:
        weights = op.attributes.get("kernel_weights")
        if isinstance(op, llvm.FuncOp) and isinstance(weights, DenseArrayBase):
            offsets = [int(offset) for offset in cast("Sequence[int]", weights.get_values())]
            found[op.sym_name.data] = Kernel(offsets, "kernel_scratch" in op.attributes)
    return found


def _inline_scalar_kernels(module: ModuleOp) -> None:
    """What computes on scalars alone becomes part of its callers: then they stay in registers."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, llvm.FuncOp)}
    for op in module.walk():
        if isinstance(op, heap.KernelOp):
            tensors = [*op.tensors.inputs, *op.tensors.outputs]
            if not any(cast("TensorType[Attribute]", tensor).get_shape() for tensor in tensors):
                callee = functions[op.callee.string_value()]
                callee.properties["passthrough"] = ArrayAttr([*PASSTHROUGH, StringAttr("alwaysinline")])


@dataclass(frozen=True)
class HeapToLlvmPass(ModulePass):
    """Converts functions on heap objects to the llvm dialect."""

    name = "heap-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        upstream.load("llvm")
        kernels = _kernels(op)
        failures = Failures()
        used: set[str] = set()
        block = op.body.block
        _inline_scalar_kernels(op)
        for function in [each for each in op.ops if isinstance(each, heap.FuncOp)]:
            made = HeapFunction(function, kernels, failures, used, HANDLERS).write()
            block.insert_op_before(made, function)
            block.erase_op(function, safe_erase=False)
        for name in sorted(used):
            block.add_op(llvm.FuncOp(name, RUNTIME[name], llvm.LinkageAttr("external")))
        for made in op.ops:
            if isinstance(made, llvm.FuncOp) and made.sym_name.data == ENTRY:
                made.attributes["failures"] = ArrayAttr([StringAttr(text) for text in failures.texts])
