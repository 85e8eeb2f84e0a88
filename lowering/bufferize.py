"""linalg on tensors -> the same operations on buffers (memref).

Functions take buffers and return nothing: a tensor result is written into a trailing argument. bool elements are
stored as i8. Dense constants become `memref.global`, as weights are. Operations write in place where
`bufferize_analysis` proves that nobody reads the old value; inputs and constants are never written to. The attribute
`in_place = [array<i64: 0, 2>]` of a private function says that a caller may give it one buffer for arguments 0 and 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    i1,
    i8,
    i64,
)
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from relay_mlir.dialects.relay.types import Shape
from relay_mlir.lowering.bufferize_analysis import InPlaceAnalysis, check_supported, same_position, sink_empties
from relay_mlir.lowering.bufferize_rewrite import FunctionRewriter, open_shapes
from relay_mlir.lowering.bufferize_types import buffer_type
from relay_mlir.lowering.diagnostics import OpError


class _Constants:
    """The globals of dense constants, one for each value."""

    def __init__(self, module: ModuleOp):
        self._block = module.body.block
        self._taken = {name.data for op in module.ops if (name := _symbol(op)) is not None}
        self._names: dict[DenseIntOrFPElementsAttr, str] = {}

    def name(self, value: DenseIntOrFPElementsAttr) -> str:
        """The name of the global that holds the value, made when first asked for."""
        if value not in self._names:
            number = len(self._names)
            while f"constant_{number}" in self._taken:
                number += 1
            self._names[value] = f"constant_{number}"
            self._taken.add(f"constant_{number}")
            self._insert(f"constant_{number}", value)
        return self._names[value]

    def _insert(self, name: str, value: DenseIntOrFPElementsAttr) -> None:
        type_ = cast(MemRefType[Attribute], buffer_type(value.type))
        global_op = memref.GlobalOp.get(StringAttr(name), type_, stored_value(value), constant=UnitAttr())
        self._block.insert_op_before(global_op, cast(Operation, self._block.first_op))


def stored_value(value: DenseIntOrFPElementsAttr) -> DenseIntOrFPElementsAttr:
    """The constant as its buffer holds it: bools as bytes."""
    if value.get_element_type() != i1:
        return value
    bytes_ = [int(bool(v)) for v in value.get_values()]
    return DenseIntOrFPElementsAttr.from_list(TensorType(i8, value.get_shape()), bytes_)


def _symbol(op: Operation) -> StringAttr | None:
    return cast("StringAttr | None", op.properties.get("sym_name"))


def _remove_dead(function: func.FuncOp) -> None:
    """Erases tensor operations whose results nobody uses: linalg operations have no effects on tensors."""
    for op in reversed(list(function.walk())):
        dead = not any(True for result in op.results for _ in result.uses)
        if dead and op.results and (isinstance(op, LinalgStructuredOperation) or op.name.startswith("tensor.")):
            cast(Block, op.parent).erase_op(op)


@dataclass(frozen=True)
class BufferizePass(ModulePass):
    """Replaces tensors by buffers, in place where nobody reads the old value."""

    name = "bufferize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        constants = _Constants(op)
        functions = [nested for nested in op.ops if isinstance(nested, func.FuncOp)]
        for function in functions:
            _prepare(function)
        # Sizes of a call's results are read off the tensor form of the function that it calls.
        shapes = {function: open_shapes(function) for function in functions}
        for nested in list(op.ops):
            match nested:
                case func.FuncOp():
                    _bufferize(nested, constants, shapes[nested])
                case memref.GlobalOp():
                    _bufferize_global(nested)
                case _:
                    pass


def _prepare(function: func.FuncOp) -> None:
    if not function.body.blocks:
        raise OpError(function, f"bufferize: function @{function.sym_name.data} has no body")
    for op in function.walk():
        check_supported(op)
    _remove_dead(function)
    sink_empties(function)


def _bufferize(function: func.FuncOp, constants: _Constants, shapes: Mapping[SSAValue, Shape]) -> None:
    arguments = len(function.body.block.args)
    FunctionRewriter(function, InPlaceAnalysis(function), constants.name, shapes).rewrite()
    if pairs := _in_place_pairs(function, arguments):
        function.attributes["in_place"] = ArrayAttr([DenseArrayBase.from_list(i64, pair) for pair in pairs])


def _in_place_pairs(function: func.FuncOp, inputs: int) -> list[tuple[int, int]]:
    """The (input, output) arguments that a caller may give one buffer for.

    One loop nest reads the input and writes the output, nothing else touches them, and each iteration reads the
    element that it writes.
    """
    if function.sym_visibility is None:
        return []
    args = function.body.block.args
    pairs: list[tuple[int, int]] = []
    for output in args[inputs:]:
        users = [use.operation for use in output.uses]
        if len(users) != 1 or not isinstance(users[0], GenericOp) or users[0].parent is not function.body.block:
            continue
        for source in args[:inputs]:
            reads = list(source.uses)
            if source.type == output.type and len(reads) == 1 and reads[0].operation is users[0]:
                written = list(users[0].operands).index(output)
                if same_position(users[0], reads[0].index, written):
                    pairs.append((source.index, output.index))
                    break
    return pairs


def _bufferize_global(op: memref.GlobalOp) -> None:
    """A global of bools holds bytes, as every buffer does."""
    type_ = op.type
    if type_.element_type == i1:
        op.properties["type"] = MemRefType(i8, type_.get_shape())
        if isinstance(op.initial_value, DenseIntOrFPElementsAttr):
            op.properties["initial_value"] = stored_value(op.initial_value)
