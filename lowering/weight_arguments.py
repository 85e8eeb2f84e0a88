"""Weights that reach a function as arguments, and their replacement by weights derived from them.

What packs or transforms a weight works inside a function, where the weight is an argument; the weight itself is named
at each call, in the function that calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from xdsl.builder import Builder
from xdsl.dialects import bufferization, func, memref
from xdsl.dialects.builtin import FunctionType, MemRefType, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint

from relay_mlir.dialects.heap import ops as heap
from relay_mlir.dialects.relay.types import tensor
from relay_mlir.dialects.relay.weights import WeightStore
from relay_mlir.lowering.structured import element_of

if TYPE_CHECKING:
    import numpy as np


def weight_key(value: SSAValue) -> str | None:
    """The name of the weight that a tensor is, or None."""
    if isinstance(value, OpResult) and isinstance(value.op, heap.WeightOp):
        return value.op.key.string_value()
    if isinstance(value, OpResult) and isinstance(value.op, bufferization.ToTensorOp):
        source = value.op.memref
        if isinstance(source, OpResult) and isinstance(source.op, memref.GetGlobalOp):
            return source.op.name_.string_value()
    return None


def _erase_unused(op: Operation) -> None:
    """Removes the reading of a weight that nothing uses any more."""
    if any(result.uses for result in op.results):
        return
    sources = [operand.op for operand in op.operands if isinstance(operand, OpResult)]
    op.detach()
    op.erase()
    for source in sources:
        _erase_unused(source)


def _read(call: func.CallOp | heap.KernelOp, index: int, key: str, type_: MemRefType) -> SSAValue:
    """Reads a weight for an argument of a call, with the location of what was read before."""
    location = cast(OpResult, call.operands[index]).op.location
    builder = Builder(InsertPoint.before(call))
    if isinstance(call, heap.KernelOp):
        pointer = builder.insert(heap.WeightOp(key))
        pointer.location = location
        inputs = list(call.tensors.inputs)
        inputs[index] = tensor(type_.get_shape(), type_.element_type)
        call.properties["tensors"] = FunctionType.from_lists(inputs, list(call.tensors.outputs))
        return pointer.result
    buffer = builder.insert(memref.GetGlobalOp(key, type_))
    value = builder.insert(bufferization.ToTensorOp(buffer, restrict=True))
    buffer.location = value.location = location
    return value.tensor


class WeightArguments:
    """The calls and weights of a module."""

    def __init__(self, module: ModuleOp, store: WeightStore):
        self._module = module
        self._store = store
        self._globals = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, memref.GlobalOp)}
        self._calls: dict[str, list[func.CallOp | heap.KernelOp]] = {}
        for op in module.walk():
            if isinstance(op, func.CallOp | heap.KernelOp):
                self._calls.setdefault(op.callee.string_value(), []).append(op)

    def is_weight(self, value: SSAValue, function: func.FuncOp) -> bool:
        """Whether a value is an argument that is a weight at every call, and is read once."""
        calls = self._calls.get(function.sym_name.data, [])
        return (
            isinstance(value, BlockArgument)
            and value.owner is function.body.block
            and value.has_one_use()
            and bool(calls)
            and all(weight_key(call.operands[value.index]) is not None for call in calls)
        )

    def replace(
        self,
        function: func.FuncOp,
        argument: BlockArgument,
        suffix: str,
        shape: Sequence[int],
        derive: Callable[[np.ndarray], np.ndarray],
    ) -> BlockArgument:
        """Gives the function another weight in place of one: `derive(weight)`, of this shape and the same element type.

        The new weight is named `key.suffix`; it is computed when it is read from the store. Returns the new argument.
        """
        element = element_of(argument)
        type_ = MemRefType(element, shape)
        for call in self._calls[function.sym_name.data]:
            old = cast(OpResult, call.operands[argument.index]).op
            key = cast(str, weight_key(old.results[0]))
            self._define(key, f"{key}.{suffix}", type_, derive)
            call.operands[argument.index] = _read(call, argument.index, f"{key}.{suffix}", type_)
            _erase_unused(old)
        fresh = function.body.block.insert_arg(tensor(shape, element), argument.index)
        fresh.name_hint = argument.name_hint
        argument.replace_all_uses_with(fresh)
        function.body.block.erase_arg(argument)
        function.update_function_type()
        return fresh

    def _define(self, key: str, derived: str, type_: MemRefType, derive: Callable[[np.ndarray], np.ndarray]) -> None:
        if derived in self._globals:
            return
        made = memref.GlobalOp.get(StringAttr(derived), type_, UnitAttr(), constant=UnitAttr())
        made.location = self._globals[key].location
        first = self._module.body.block.first_op
        assert first is not None
        self._module.body.block.insert_op_before(made, first)
        self._globals[derived] = made
        if derived not in self._store and key in self._store:
            self._store.add_lazily(derived, key, derive)

    def erase_unread(self) -> None:
        """Removes the globals of weights that nothing reads."""
        read = {op.name_.string_value() for op in self._module.walk() if isinstance(op, memref.GetGlobalOp)}
        read |= {op.key.string_value() for op in self._module.walk() if isinstance(op, heap.WeightOp)}
        for key, made in list(self._globals.items()):
            if key not in read:
                made.detach()
                made.erase()
                del self._globals[key]
