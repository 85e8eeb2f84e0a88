"""Rewrites the operations of one function from tensors to buffers, as `bufferize_analysis` decided."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, cast

from xdsl.builder import Builder
from xdsl.dialects import arith, bufferization, func, memref, scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FunctionType,
    MemRefType,
    TensorType,
    i1,
    i8,
)
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from relay_mlir.dialects.relay.dims import Dim, substitute
from relay_mlir.dialects.relay.sizes import SizeOf, Sizes
from relay_mlir.dialects.relay.types import Shape
from relay_mlir.dialects.upstream.memref import CopyOp
from relay_mlir.lowering.bufferize_analysis import (
    InPlaceAnalysis,
    Place,
    check_supported,
    is_tensor,
    overwrites,
    static_values,
    tied_operands,
)
from relay_mlir.lowering.bufferize_types import (
    Buffer,
    buffer_type,
    drop_unit_dims,
    inverse_reshape,
    is_contiguous,
    memory,
    reshape,
    shape_of_tensor,
    store_bools_in_body,
)
from relay_mlir.lowering.diagnostics import OpError


def open_shapes(function: func.FuncOp) -> dict[SSAValue, Shape]:
    """The shapes of the tensors of a function that have open dimensions, by what these depend on."""
    sizes = Sizes()
    values = [*function.body.block.args]
    for op in function.walk():
        values += [*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)]
    return {
        value: sizes.shape(value)
        for value in values
        if is_tensor(value) and DYNAMIC_INDEX in cast(TensorType[Attribute], value.type).get_shape()
    }


ConstantName = Callable[[DenseIntOrFPElementsAttr], str]


class FunctionRewriter:
    """Rewrites one function; `constant` gives the name of the global that holds a dense constant.

    `shapes` are those of tensors with open dimensions; see `open_shapes`.
    """

    def __init__(
        self,
        function: func.FuncOp,
        analysis: InPlaceAnalysis,
        constant: ConstantName,
        shapes: Mapping[SSAValue, Shape],
    ):
        self._function = function
        self._analysis = analysis
        self._constant = constant
        self._buffers: dict[SSAValue, SSAValue] = {}
        self._dead: list[Operation] = []
        self._results: list[SSAValue] = []
        self._dead_arguments: list[tuple[Block, SSAValue]] = []
        self._if_buffers: dict[tuple[Operation, int], SSAValue] = {}
        self._slices: dict[Operation, SSAValue] = {}
        self._shapes = shapes
        self._sizes = Sizes(function.body.block)

    def rewrite(self) -> None:
        """Replaces the tensors of the function; results become trailing arguments."""
        block = self._function.body.block
        self._replace_arguments(block)
        returned = self._function.function_type.outputs.data
        scalars = [type_ for type_ in returned if not isinstance(type_, TensorType)]
        for type_ in returned:
            if isinstance(type_, TensorType):
                self._results.append(block.insert_arg(buffer_type(cast(Attribute, type_)), len(block.args)))
        self._rewrite_block(block)
        for op in reversed(self._dead):
            op.detach()
            op.erase(safe_erase=False)
        for owner, argument in self._dead_arguments:
            owner.erase_arg(cast(Any, argument))
        self._function.properties["function_type"] = FunctionType.from_lists([arg.type for arg in block.args], scalars)

    # Helpers.

    def _replace_arguments(self, block: Block, buffers: Sequence[SSAValue] | None = None) -> None:
        """Maps the tensor arguments of a block to buffers: new arguments of the block, or the given ones."""
        given = iter(buffers) if buffers is not None else None
        for argument in list(block.args):
            if not is_tensor(argument):
                continue
            if given is None:
                buffer = block.insert_arg(buffer_type(argument.type), argument.index)
                buffer.location = argument.location
                buffer.name_hint = argument.name_hint
            else:
                buffer = next(given)
            self._buffers[argument] = buffer
            self._dead_arguments.append((block, argument))

    def _insert(self, op: Operation, before: Operation) -> SSAValue | None:
        op.location = before.location
        Rewriter.insert_op(op, InsertPoint.before(before))
        return op.results[0] if op.results else None

    def _make(self, op: Operation, before: Operation) -> SSAValue:
        return cast(SSAValue, self._insert(op, before))

    def _alloc(self, value: SSAValue, before: Operation) -> SSAValue:
        """A new buffer for a tensor of the type and sizes of `value`."""
        buffer = cast(Buffer, buffer_type(value.type))
        sizes = self._open_sizes(value, before)
        return self._make(memref.AllocOp.get(buffer.element_type, None, buffer.get_shape(), sizes), before)

    def _open_sizes(self, value: SSAValue, before: Operation) -> list[SSAValue]:
        """The index values of the open dimensions of a tensor."""
        shape = self._shapes.get(value, ())
        builder = Builder(InsertPoint.before(before))

        def stored(atom: Hashable) -> int:
            match atom:
                case SizeOf(BlockArgument() as argument, position) if argument.owner is self._function.body.block:
                    return Dim.atom(SizeOf(self._buffers[argument], position))
                case BlockArgument() if atom.owner is self._function.body.block:
                    return Dim.atom(atom)
                case _:
                    raise OpError(before, f"bufferize: the sizes of {value.type} depend on data")

        return [
            self._sizes.index(substitute(size, stored), builder, before.location)
            for size in shape
            if isinstance(size, Dim)
        ]

    def _buffer(self, value: SSAValue) -> SSAValue:
        return self._buffers[value]

    def _contiguous(self, value: SSAValue, before: Operation) -> SSAValue:
        """A contiguous buffer that holds the tensor: its own, or a copy."""
        buffer = self._buffer(value)
        if is_contiguous(buffer.type):
            return buffer
        copy = self._alloc(value, before)
        self._insert(CopyOp(buffer, copy), before)
        return copy

    def _destination(self, value: SSAValue, before: Operation) -> SSAValue:
        """The buffer for a value that needs one: the place it was assigned, or a new one."""
        place = self._analysis.places.get(value)
        return self._alloc(value, before) if place is None else self._resolve(place, before)

    def _resolve(self, place: Place, before: Operation) -> SSAValue:
        match place.kind:
            case "result":
                buffer = self._results[self._result_position(place)]
            case "if":
                buffer = self._if_buffers[place.op, place.index]
            case "slice":
                op = cast(tensor.InsertSliceOp, place.op)
                into = self._buffer(op.dest if place.base is None else place.base)
                buffer = self._slices[op] = self._subview(op, into, shape_of_tensor(op.source), before)
        for step in place.reshapes:
            buffer = self._make(inverse_reshape(step, buffer, self._open_sizes(step.src, before)), before)
        return buffer

    def _result_position(self, place: Place) -> int:
        return sum(1 for value in list(place.op.operands)[: place.index] if is_tensor(value))

    def _subview(self, op: Any, source: SSAValue, shape: Sequence[int], before: Operation) -> SSAValue:
        offsets = static_values(cast(DenseArrayBase[Any], op.static_offsets), op.offsets)
        sizes = static_values(cast(DenseArrayBase[Any], op.static_sizes), op.sizes)
        strides = static_values(cast(DenseArrayBase[Any], op.static_strides), op.strides)
        full = memref.SubviewOp.infer_result_type(cast(Buffer, source.type), offsets, sizes, strides)
        return self._make(memref.SubviewOp.get(source, offsets, sizes, strides, drop_unit_dims(full, shape)), before)

    def _store_bool(self, value: SSAValue, before: Operation) -> SSAValue:
        """The byte for a bool, any other scalar itself."""
        return self._make(arith.ExtUIOp(value, i8), before) if value.type == i1 else value

    # Operations.

    def _rewrite_block(self, block: Block) -> None:
        for op in list(block.ops):
            check_supported(op)
            self._rewrite_op(op)

    def _rewrite_op(self, op: Operation) -> None:
        match op:
            case LinalgStructuredOperation() if any(map(is_tensor, op.operands)):
                self._rewrite_linalg(op)
            case scf.ForOp():
                self._rewrite_for(op)
                return
            case scf.IfOp():
                self._rewrite_if(op)
                return
            case scf.WhileOp():
                self._rewrite_while(op)
                return
            case func.ReturnOp():
                self._rewrite_return(op)
            case tensor.EmptyOp():
                self._buffers[op.tensor] = self._destination(op.tensor, op)
            case tensor.ExtractOp():
                self._rewrite_extract(op)
            case tensor.DimOp():
                size = self._make(memref.DimOp(self._buffer(op.source), op.index), op)
                op.result.replace_all_uses_with(size)
            case tensor.InsertOp():
                into = self._updated(op, 1, op)
                value = self._store_bool(op.scalar, op)
                self._insert(memref.StoreOp.get(value, into, list(op.indices)), op)
                self._buffers[op.result] = into
            case tensor.InsertSliceOp():
                self._rewrite_insert_slice(op)
            case tensor.ExtractSliceOp():
                shape = shape_of_tensor(op.result)
                self._buffers[op.result] = self._subview(op, self._buffer(op.source), shape, op)
            case tensor.CollapseShapeOp() | tensor.ExpandShapeOp():
                source = self._contiguous(op.src, op)
                self._buffers[op.result] = self._make(reshape(op, source, self._open_sizes(op.result, op)), op)
            case arith.ConstantOp() if is_tensor(op.result):
                name = self._constant(cast(DenseIntOrFPElementsAttr, op.value))
                self._buffers[op.result] = self._make(memref.GetGlobalOp(name, buffer_type(op.result.type)), op)
            case memref.GetGlobalOp():
                self._rewrite_get_global(op)
                return
            case bufferization.ToTensorOp():
                self._buffers[op.tensor] = op.memref
            case func.CallOp() if any(map(is_tensor, (*op.operands, *op.results))):
                self._rewrite_call(op)
            case _:
                for region in op.regions:
                    for block in region.blocks:
                        self._rewrite_block(block)
                return
        self._dead.append(op)

    def _updated(self, op: Operation, index: int, before: Operation) -> SSAValue:
        """The buffer that an update writes into: that of its operand, or a copy of it."""
        operand = op.operands[index]
        buffer = self._buffer(operand)
        if self._analysis.in_place(op, index):
            return buffer
        copy = self._alloc(operand, before)
        made = operand.op if isinstance(operand, OpResult) else None
        if not isinstance(made, tensor.EmptyOp) and not overwrites(op, index):
            self._insert(CopyOp(buffer, copy), before)
        return copy

    def _rewrite_linalg(self, op: LinalgStructuredOperation) -> None:
        buffers: list[SSAValue] = []
        for index, operand in enumerate(op.operands):
            if index in tied_operands(op):
                buffers.append(self._updated(op, index, op))
            else:
                buffers.append(self._buffer(operand) if is_tensor(operand) else self._store_bool(operand, op))
        for index, result in zip(tied_operands(op), op.results, strict=True):
            self._buffers[result] = buffers[index]
        body = op.detach_region(0)
        store_bools_in_body(body)
        new = type(op).create(
            operands=buffers, properties=dict(op.properties), attributes=dict(op.attributes), regions=[body]
        )
        self._insert(new, op)
        self._rewrite_block(body.block)

    def _rewrite_extract(self, op: tensor.ExtractOp) -> None:
        value = self._make(memref.LoadOp.get(self._buffer(op.tensor), list(op.indices)), op)
        if op.result.type == i1:
            value = self._make(arith.TruncIOp(value, i1), op)
        op.result.replace_all_uses_with(value)

    def _rewrite_get_global(self, op: memref.GetGlobalOp) -> None:
        """A weight of bools is stored as bytes, as every buffer is."""
        type_ = op.memref.type
        if type_.element_type == i1:
            new = memref.GetGlobalOp(op.name_, MemRefType(i8, type_.get_shape()))
            op.memref.replace_all_uses_with(self._make(new, op))
            self._dead.append(op)

    def _rewrite_insert_slice(self, op: tensor.InsertSliceOp) -> None:
        into = self._updated(op, 1, op)
        self._buffers[op.result] = into
        if (op, 0) in self._analysis.landed:
            return
        target = self._subview(op, into, shape_of_tensor(op.source), op)
        self._insert(CopyOp(self._buffer(op.source), target), op)

    def _rewrite_call(self, op: func.CallOp) -> None:
        arguments = [self._contiguous(v, op) if is_tensor(v) else v for v in op.operands]
        for result in op.results:
            if is_tensor(result):
                self._buffers[result] = self._destination(result, op)
                arguments.append(self._buffers[result])
        scalars = [result for result in op.results if not is_tensor(result)]
        new = func.CallOp(op.callee, arguments, [result.type for result in scalars])
        new.attributes |= op.attributes
        self._insert(new, op)
        for old, replacement in zip(scalars, new.results, strict=True):
            old.replace_all_uses_with(replacement)

    def _rewrite_return(self, op: func.ReturnOp) -> None:
        targets = iter(self._results)
        for index, value in enumerate(op.operands):
            if is_tensor(value):
                target = next(targets)
                if (op, index) not in self._analysis.landed:
                    self._insert(CopyOp(self._buffer(value), target), op)
        self._insert(func.ReturnOp(*[value for value in op.operands if not is_tensor(value)]), op)

    def _rewrite_if(self, op: scf.IfOp) -> None:
        for index, result in enumerate(op.results):
            if is_tensor(result):
                buffer = self._destination(result, op)
                self._buffers[result] = self._if_buffers[op, index] = buffer
        scalars = [result for result in op.results if not is_tensor(result)]
        targets = [self._buffers[result] for result in op.results if is_tensor(result)]
        regions = [op.detach_region(region) for region in list(op.regions)]
        new = scf.IfOp(op.cond, [result.type for result in scalars], regions[0], regions[1])
        new.attributes |= op.attributes
        self._insert(new, op)
        for old, replacement in zip(scalars, new.results, strict=True):
            old.replace_all_uses_with(replacement)
        for region in regions:
            for block in region.blocks:
                self._rewrite_block(block)
                self._end_region(cast(Operation, block.last_op), 0, targets)
        self._dead.append(op)

    def _end_region(self, last: Operation, first: int, targets: Sequence[SSAValue]) -> None:
        """Puts the tensors that a terminator passes on, from operand `first` on, into their buffers."""
        values = [(i, v) for i, v in enumerate(last.operands) if i >= first and is_tensor(v)]
        moves: list[tuple[SSAValue, SSAValue]] = []
        for (index, value), target in zip(values, targets, strict=True):
            if (last, index) not in self._analysis.landed and self._buffer(value) is not target:
                moves.append((value, target))
        if len(moves) > 1:  # what one copy overwrites may be the source of another
            copies = [self._alloc(value, last) for value, _ in moves]
            for (value, _), copy in zip(moves, copies, strict=True):
                self._insert(CopyOp(self._buffer(value), copy), last)
            for copy, (_, target) in zip(copies, moves, strict=True):
                self._insert(CopyOp(copy, target), last)
        elif moves and self._overlap(*moves[0]):
            copy = self._alloc(moves[0][0], last)
            self._insert(CopyOp(self._buffer(moves[0][0]), copy), last)
            self._insert(CopyOp(copy, moves[0][1]), last)
        elif moves:
            self._insert(CopyOp(self._buffer(moves[0][0]), moves[0][1]), last)
        kept = [value for value in last.operands if not is_tensor(value)]
        new = type(last).create(operands=kept, attributes=dict(last.attributes))
        self._insert(new, last)
        self._dead.append(last)

    def _overlap(self, value: SSAValue, target: SSAValue) -> bool:
        """Whether a value lives, in part or as a view, in the buffer that it is to be copied to."""
        return memory(self._buffer(value)) is memory(target)

    def _carried(self, op: Operation, first: int) -> list[SSAValue]:
        """The buffers of the tensors that a loop carries, holding their initial values."""
        return [self._updated(op, i, op) for i in range(first, len(op.operands)) if is_tensor(op.operands[i])]

    def _rewrite_for(self, op: scf.ForOp) -> None:
        buffers = self._carried(op, 3)
        scalars = [result for result in op.results if not is_tensor(result)]
        kept = [value for value in op.operands if not is_tensor(value)]
        for result, buffer in zip([r for r in op.results if is_tensor(r)], buffers, strict=True):
            self._buffers[result] = buffer
        body = op.detach_region(0)
        new = scf.ForOp.create(
            operands=kept, result_types=[r.type for r in scalars], regions=[body], attributes=dict(op.attributes)
        )
        self._insert(new, op)
        for old, replacement in zip(scalars, new.results, strict=True):
            old.replace_all_uses_with(replacement)
        self._replace_arguments(body.block, buffers)
        self._rewrite_block(body.block)
        self._end_region(cast(Operation, body.block.last_op), 0, buffers)
        self._dead.append(op)

    def _rewrite_while(self, op: scf.WhileOp) -> None:
        """Values carried into the condition and those that leave it have buffers each."""
        buffers = self._carried(op, 0)
        passed = [self._alloc(result, op) for result in op.results if is_tensor(result)]
        for result, buffer in zip([r for r in op.results if is_tensor(r)], passed, strict=True):
            self._buffers[result] = buffer
        scalars = [result for result in op.results if not is_tensor(result)]
        kept = [value for value in op.operands if not is_tensor(value)]
        before, after = op.detach_region(0), op.detach_region(0)
        new = scf.WhileOp.create(
            operands=kept,
            result_types=[r.type for r in scalars],
            regions=[before, after],
            attributes=dict(op.attributes),
        )
        self._insert(new, op)
        for old, replacement in zip(scalars, new.results, strict=True):
            old.replace_all_uses_with(replacement)
        self._replace_arguments(before.block, buffers)
        self._rewrite_block(before.block)
        self._end_region(cast(Operation, before.block.last_op), 1, passed)
        self._replace_arguments(after.block, passed)
        self._rewrite_block(after.block)
        self._end_region(cast(Operation, after.block.last_op), 0, buffers)
        self._dead.append(op)
