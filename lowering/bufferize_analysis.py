"""Which tensor operations may write in place, and which buffers can be the final place of a value from the start.

Every tensor value lives in a `Root`, a piece of memory. An operation that updates a tensor (`outs` of linalg
operations, `tensor.insert`, `tensor.insert_slice`, values carried by loops) writes into the root of that tensor where
no value of the same root is read afterwards; otherwise it gets a root of its own. Positions are those of the program
text, which order the execution of everything but loops: a root made outside a loop is never written inside it, except
through the values that the loop carries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from xdsl.dialects import arith, bufferization, func, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, TensorType
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from relay_mlir.lowering.diagnostics import OpError

VIEWS = (tensor.ExtractSliceOp, tensor.CollapseShapeOp, tensor.ExpandShapeOp)
"""Operations whose result shares the memory of their first operand."""

RESHAPES = (tensor.CollapseShapeOp, tensor.ExpandShapeOp)

Reshape: TypeAlias = "tensor.CollapseShapeOp | tensor.ExpandShapeOp"


def is_tensor(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType)


def tied_operands(op: Operation) -> list[int]:
    """The operand that each tensor result is an update of, by result; for the operations that update tensors."""
    match op:
        case LinalgStructuredOperation():
            return list(range(len(op.inputs), len(op.operands)))
        case tensor.InsertOp() | tensor.InsertSliceOp():
            return [1]
        case scf.ForOp():
            return list(range(3, len(op.operands)))
        case _:
            return []


@dataclass(eq=False)
class Root:
    """A piece of memory: whether it may be written to, the loop body it was made in, and the values that live in it."""

    writable: bool
    loop: Block | None
    values: list[SSAValue] = field(default_factory=list[SSAValue])


@dataclass(frozen=True)
class Place:
    """Where a value that would get a buffer of its own is put instead.

    `kind` says what: the trailing function argument `index` of the result, the buffer of result `index` of the
    `scf.if` in `op`, or the rectangle of its destination that the `tensor.insert_slice` in `op` writes. `reshapes`,
    from last to first, lie between the value and that place.
    """

    kind: Literal["result", "if", "slice"]
    index: int
    op: Operation
    reshapes: tuple[Reshape, ...] = ()
    base: SSAValue | None = None
    """For a rectangle: the destination whose buffer is written, which other rectangles may have been put into since."""


class InPlaceAnalysis:
    """The decisions for one function, on its tensor form."""

    def __init__(self, function: func.FuncOp):
        self.roots: dict[SSAValue, Root] = {}
        self._in_place: set[tuple[Operation, int]] = set()
        self.places: dict[SSAValue, Place] = {}
        """The values (of tensor.empty, scf.if and func.call) that are made in a given place."""
        self.landed: set[tuple[Operation, int]] = set()
        """Operands of return, yield and insert_slice whose value is made in the right place, so that no copy is due."""
        self._block = function.body.block
        for op in list(function.walk()):
            if isinstance(op, tensor.InsertSliceOp):
                self._make_destination_early(op)
        self._position = {op: position for position, op in enumerate(function.walk())}
        for argument in self._block.args:
            self._own(argument, None, writable=False)
        self._visit_block(self._block, None)
        self._place_returned()
        for op in function.walk():
            if isinstance(op, scf.IfOp):
                self._place_branches(op)
        for op in function.walk():
            if isinstance(op, tensor.InsertSliceOp):
                self._place_slice(op)

    def in_place(self, op: Operation, operand: int) -> bool:
        """Whether the operation writes into the memory of this operand."""
        return (op, operand) in self._in_place

    # Roots and in-place decisions, in program order.

    def _own(self, value: SSAValue, loop: Block | None, writable: bool = True) -> None:
        if is_tensor(value):
            self.roots[value] = Root(writable, loop, [value])

    def _share(self, value: SSAValue, other: SSAValue) -> None:
        root = self.roots[other]
        root.values.append(value)
        self.roots[value] = root

    def _visit_block(self, block: Block, loop: Block | None) -> None:
        for op in block.ops:
            self._visit(op, loop)

    def _visit(self, op: Operation, loop: Block | None) -> None:
        for index, result in zip(tied_operands(op), op.results, strict=False):
            if not is_tensor(result):
                continue
            if self._may_write(op, index, loop):
                self._in_place.add((op, index))
                self._share(result, op.operands[index])
            else:
                self._own(result, loop)
        match op:
            case tensor.ExtractSliceOp() | tensor.CollapseShapeOp() | tensor.ExpandShapeOp():
                self._share(op.results[0], op.operands[0])
            case arith.ConstantOp() | bufferization.ToTensorOp():
                self._own(op.results[0], loop, writable=False)
            case scf.ForOp():
                for argument in op.body.block.args:
                    self._own(argument, op.body.block)
                self._visit_block(op.body.block, op.body.block)
            case scf.WhileOp():
                self._visit_while(op, loop)
            case _:
                for result in op.results:
                    if result not in self.roots:
                        self._own(result, loop)
                for region in op.regions:
                    for block in region.blocks:
                        self._visit_block(block, loop)

    def _visit_while(self, op: scf.WhileOp, loop: Block | None) -> None:
        for index, argument in enumerate(op.arguments):
            if is_tensor(argument) and self._may_write(op, index, loop):
                self._in_place.add((op, index))
        before, after = op.before_region.block, op.after_region.block
        for block in (before, after):
            for argument in block.args:
                self._own(argument, block)
            self._visit_block(block, block)
        for result in op.results:
            self._own(result, loop)

    def _may_write(self, op: Operation, index: int, loop: Block | None) -> bool:
        """Whether `op` may overwrite the memory of its operand: nothing that lives there is read afterwards."""
        written = op.operands[index]
        root = self.roots[written]
        if not root.writable or root.loop is not loop:
            return False
        position = self._position[op]
        for value in root.values:
            for use in value.uses:
                if use.operation is op:
                    if use.index != index and not (value is written and same_position(op, use.index, index)):
                        return False
                elif self._position[use.operation] > position:
                    return False
        return True

    # Places: a value is made where it is wanted, if the operations that update it on its way all do so in place.

    def _start(self, value: SSAValue, views: bool) -> tuple[SSAValue, tuple[Reshape, ...]] | None:
        """The value that gets the buffer which `value` ends up in, and the reshapes between; None where unknown."""
        reshapes: list[Reshape] = []
        while isinstance(value, OpResult):
            op = value.op
            if isinstance(op, tensor.EmptyOp | scf.IfOp) or (isinstance(op, func.CallOp) and views):
                return value, tuple(reshapes)
            if isinstance(op, RESHAPES) and views:
                reshapes.append(op)
                value = op.operands[0]
                continue
            tied = tied_operands(op)
            if not tied or not self.in_place(op, tied[value.index]):
                return None
            value = op.operands[tied[value.index]]
        return None

    def _place(self, user: Operation, operand: int, index: int, kind: Literal["result", "if"], into: Operation) -> None:
        start = self._start(user.operands[operand], views=True)
        if start is None or start[0] in self.places or _block_of(start[0]) is not user.parent:
            return
        self.places[start[0]] = Place(kind, index, into, start[1])
        self.landed.add((user, operand))

    def _place_returned(self) -> None:
        last = cast(func.ReturnOp, self._block.last_op)
        for index, value in enumerate(last.operands):
            if is_tensor(value):
                self._place(last, index, index, "result", last)

    def _place_branches(self, op: scf.IfOp) -> None:
        for index, result in enumerate(op.results):
            if is_tensor(result):
                for region in op.regions:
                    if region.blocks:
                        self._place(cast(Operation, region.block.last_op), index, index, "if", op)

    def _place_slice(self, op: tensor.InsertSliceOp) -> None:
        """Lets the source of an insert_slice be computed in the destination, if nobody looks at it meanwhile."""
        start = self._start(op.source, views=False)
        if start is None or start[0] in self.places or _block_of(start[0]) is not op.parent:
            return
        if not (self.in_place(op, 1) and _uses(op.source) == 1 and _uses(op.dest) == 1):
            return
        begin, end = self._position[cast(OpResult, start[0]).op], self._position[op]
        base, before = self._destination(op, begin)
        if any(self._defined_at(operand) >= begin for operand in [base, *list(op.operands)[2:]]):
            return
        for value in self.roots[op.dest].values:
            if any(begin <= self._position[use.operation] < end and use.operation not in before for use in value.uses):
                return
        self.places[start[0]] = Place("slice", 0, op, base=base)
        self.landed.add((op, 0))

    def _destination(self, op: tensor.InsertSliceOp, begin: int) -> tuple[SSAValue, set[Operation]]:
        """The destination of an insert_slice as it was at `begin`, and the ones since, which write other rectangles."""
        base, between = op.dest, set[Operation]()
        while self._defined_at(base) >= begin and isinstance(base, OpResult):
            earlier = base.op
            if not isinstance(earlier, tensor.InsertSliceOp) or earlier.parent is not op.parent:
                break
            if not self.in_place(earlier, 1) or _uses(base) != 1 or not _disjoint(earlier, op):
                break
            between.add(earlier)
            base = earlier.dest
        return base, between

    def _defined_at(self, value: SSAValue) -> int:
        return self._position[value.op] if isinstance(value, OpResult) else -1

    def _make_destination_early(self, op: tensor.InsertSliceOp) -> None:
        """Moves what the destination of an insert_slice is made of above the value that is to be computed in it.

        Padding computes its source first and fills the destination afterwards; tensor operations have no effects, so
        that their order is free.
        """
        start = op.source
        while isinstance(start, OpResult) and start.op.parent is op.parent:
            tied = tied_operands(start.op)
            if not tied:
                break
            start = start.op.operands[tied[start.index]]
        if not (isinstance(start, OpResult) and isinstance(start.op, tensor.EmptyOp) and start.op.parent is op.parent):
            return
        block = cast(Block, op.parent)
        order = {operation: position for position, operation in enumerate(block.ops)}
        late: set[Operation] = set()
        pending = list(op.operands)[1:]
        while pending:
            value = pending.pop()
            if isinstance(value, OpResult) and order.get(value.op, -1) > order[start.op] and value.op not in late:
                if value.op.regions and not isinstance(value.op, LinalgStructuredOperation):
                    return
                late.add(value.op)
                pending += [*value.op.operands, *_captured(value.op)]
        chain = _chain(op.source)
        if any(result in chain for moved in late for result in moved.results):
            return
        for moved in sorted(late, key=order.__getitem__):
            moved.detach()
            block.insert_op_before(moved, start.op)


def _disjoint(left: tensor.InsertSliceOp, right: tensor.InsertSliceOp) -> bool:
    """Whether two rectangles with known offsets, sizes and strides have no element in common."""
    if any((*op.offsets, *op.sizes, *op.strides) for op in (left, right)):
        return False
    properties = ("static_offsets", "static_sizes", "static_strides")
    a, b = (
        zip(*(cast(DenseArrayBase[Any], op.properties[name]).get_values() for name in properties), strict=True)
        for op in (left, right)
    )
    for (start, size, step), (other, count, stride) in zip(a, b, strict=True):
        if start + (size - 1) * step < other or other + (count - 1) * stride < start:
            return True
        if step == stride and (start - other) % step:
            return True
    return False


def _chain(value: SSAValue) -> set[SSAValue]:
    """The values that `value` is a sequence of updates of."""
    found = {value}
    while isinstance(value, OpResult) and (tied := tied_operands(value.op)):
        value = value.op.operands[tied[value.index]]
        found.add(value)
    return found


def _captured(op: Operation) -> Iterator[SSAValue]:
    """The operands of the operations nested in `op`."""
    for nested in op.walk():
        if nested is not op:
            yield from nested.operands


def _uses(value: SSAValue) -> int:
    return sum(1 for _ in value.uses)


def _block_of(value: SSAValue) -> Block | None:
    return value.block if isinstance(value, BlockArgument) else cast(OpResult, value).op.parent


def sink_empties(function: func.FuncOp) -> None:
    """Gives every use of a tensor.empty one of its own, right before its user."""
    for op in list(function.walk()):
        if not isinstance(op, tensor.EmptyOp):
            continue
        for use in sorted(op.tensor.uses, key=lambda use: use.index):
            clone = op.clone()
            cast(Block, use.operation.parent).insert_op_before(clone, use.operation)
            use.operation.operands[use.index] = clone.results[0]
        op.detach()
        op.erase()


def overwrites(op: Operation, operand: int) -> bool:
    """Whether a linalg operation gives every element of this `outs` operand a value without reading it."""
    if isinstance(op, FillOp):
        return True
    if not isinstance(op, GenericOp):
        return False
    map_ = op.indexing_maps.data[operand].data
    return not any(True for _ in op.body.block.args[operand].uses) and _is_permutation(map_)


def _is_permutation(map_: AffineMap) -> bool:
    positions = [expr.position for expr in map_.results if isinstance(expr, AffineDimExpr)]
    return len(positions) == len(map_.results) and sorted(positions) == list(range(map_.num_dims))


def same_position(op: Operation, read: int, written: int) -> bool:
    """Whether each iteration of a linalg.generic reads the element that it writes and no other."""
    if not isinstance(op, GenericOp):
        return False
    maps = op.indexing_maps.data
    parallel = all(iterator.data == IteratorType.PARALLEL for iterator in op.iterator_types.data)
    return parallel and maps[read] == maps[written] and _is_permutation(maps[written].data)


def static_values(attribute: DenseArrayBase[Any], dynamic: Sequence[SSAValue]) -> list[SSAValue | int]:
    """A list of offsets, sizes or strides, with the values of those that are not constants."""
    values = iter(dynamic)
    return [next(values) if v == DYNAMIC_INDEX else v for v in attribute.get_values()]


def check_supported(op: Operation) -> None:
    """Raises OpError for an operation on tensors that has no form on buffers."""
    if not any(is_tensor(value) for value in (*op.operands, *op.results)):
        return
    if not isinstance(op, (LinalgStructuredOperation, *_SUPPORTED)):
        raise OpError(op, f"bufferize: '{op.name}' on tensors has no form on buffers")


_SUPPORTED: tuple[type[Operation], ...] = (
    *VIEWS,
    tensor.EmptyOp,
    tensor.DimOp,
    tensor.ExtractOp,
    tensor.InsertOp,
    tensor.InsertSliceOp,
    scf.ForOp,
    scf.IfOp,
    scf.WhileOp,
    scf.YieldOp,
    scf.ConditionOp,
    func.CallOp,
    func.ReturnOp,
    arith.ConstantOp,
    bufferization.ToTensorOp,
)
