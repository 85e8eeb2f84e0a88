"""When buffers are alive, and where in one piece of memory they go so that no two that are alive together overlap."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, FixedBitwidthType, IndexType, IntegerAttr, MemRefType, NoneAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.dims import Dim, product
from relay_mlir.dialects.relay.sizes import Sizes

ALIGNMENT = 64
"""Bytes; a cache line and the widest vector."""

VIEWS = (
    memref.SubviewOp,
    memref.CollapseShapeOp,
    memref.ExpandShapeOp,
    memref.CastOp,
    memref.ReinterpretCastOp,
    memref.ViewOp,
    memref.AssumeAlignmentOp,
)
"""Operations whose result looks at the memory of their first operand."""

RESHAPES = (memref.CollapseShapeOp, memref.ExpandShapeOp)


def aligned(size: int) -> int:
    """The size rounded up to whole cache lines."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def byte_size(type_: Attribute) -> int:
    """The bytes of a buffer of static shape and identity layout; raises VerifyException for another one."""
    buffer = cast(MemRefType[Attribute], type_)
    shape = buffer.get_shape()
    if any(size < 0 for size in shape) or not isinstance(buffer.layout, NoneAttr):
        raise VerifyException(f"plan-memory: a buffer of type {type_} has no size that is known at compile time")
    return math.prod(shape) * element_size(buffer.element_type)


def element_size(element: Attribute) -> int:
    """The bytes of an element."""
    if isinstance(element, IndexType):
        return 8
    if not isinstance(element, FixedBitwidthType) or element.bitwidth % 8:
        raise VerifyException(f"plan-memory: elements of type {element} are not whole bytes")
    return element.bitwidth // 8


@dataclass
class Interval:
    """Buffers that share a place, and the first and last operation of the function that uses one of them."""

    allocs: list[memref.AllocOp]
    size: int
    """In bytes, or in units."""
    start: int
    end: int
    unit: int = 1
    """What the size counts, where it is known at run time only: a Dim."""


def measured(buffer: SSAValue, sizes: Sizes) -> tuple[int, int]:
    """The size of a buffer in whole cache lines of bytes, as a number of units; see `Interval`.

    A size that is known at run time only is a constant times a sum of products, the unit.
    """
    type_ = cast(MemRefType[Attribute], buffer.type)
    if DYNAMIC_INDEX not in type_.get_shape():
        return aligned(byte_size(type_)), 1
    size = product(sizes.shape(buffer)) * element_size(type_.element_type)
    if not isinstance(size, Dim):
        return aligned(size), 1
    factor = math.gcd(*cast(Dim, size).terms.values())
    if factor >= ALIGNMENT:
        return aligned(factor), size // factor
    return ALIGNMENT, (size + ALIGNMENT - 1) // ALIGNMENT


def lifetimes(function: func.FuncOp, in_place: Mapping[str, Sequence[tuple[int, int]]], sizes: Sizes) -> list[Interval]:
    """The intervals of the buffers that a function makes.

    Positions are those of the operations of its body; an operation with regions counts as a whole. `in_place` says
    which (input, output) arguments of the functions it calls may be one buffer.
    """
    body = function.body.block
    position = {op: index for index, op in enumerate(body.ops)}
    intervals: dict[memref.AllocOp, Interval] = {}
    for op in function.walk():
        if isinstance(op, memref.AllocOp):
            uses = [position[_top(use, body)] for use in _users(op.memref)]
            if uses:
                size, unit = measured(op.memref, sizes)
                intervals[op] = Interval([op], size * _instances(op), min(uses), max(uses), unit)
    for op in body.ops:
        if isinstance(op, func.CallOp):
            for read, written in in_place.get(op.callee.string_value(), ()):
                _share(op, op.operands[read], op.operands[written], position[op], intervals)
    return list({id(interval): interval for interval in intervals.values()}.values())


def _share(
    call: func.CallOp,
    read: SSAValue,
    written: SSAValue,
    position: int,
    intervals: dict[memref.AllocOp, Interval],
) -> None:
    """Puts the output of a call over an input that nobody reads afterwards."""
    source, target = _whole(read), _whole(written)
    if source is None or target is None or source not in intervals or target not in intervals:
        return
    old, new = intervals[source], intervals[target]
    if old is new or old.end != position or new.start != position or (old.size, old.unit) != (new.size, new.unit):
        return
    if sum(1 for user in _users(source.memref) if user is call) != 1:
        return
    old.allocs += new.allocs
    old.end = new.end
    for alloc in new.allocs:
        intervals[alloc] = old


def _whole(value: SSAValue) -> memref.AllocOp | None:
    """The allocation that a value is, or is a reshape of."""
    while isinstance(value, OpResult) and isinstance(value.op, RESHAPES):
        value = value.op.operands[0]
    owner = value.owner
    return owner if isinstance(owner, memref.AllocOp) else None


def _users(value: SSAValue) -> list[Operation]:
    """The operations that use a buffer or a view of it, one entry for each use."""
    found: list[Operation] = []
    for use in value.uses:
        found.append(use.operation)
        if isinstance(use.operation, VIEWS):
            found += _users(use.operation.results[0])
    return found


def _top(op: Operation, body: Block) -> Operation:
    """The operation of `body` that is or contains `op`."""
    while op.parent is not body:
        op = cast(Operation, op.parent_op())
    return op


def _instances(op: Operation) -> int:
    """How many iterations that run at the same time need one of their own."""
    count, parent = 1, op.parent_op()
    while parent is not None:
        if isinstance(parent, scf.ParallelOp):
            for low, high, step in zip(parent.lowerBound, parent.upperBound, parent.step, strict=True):
                count *= -(-(constant_of(high) - constant_of(low)) // constant_of(step))
        parent = parent.parent_op()
    return count


def constant_of(value: SSAValue) -> int:
    """The value of an arith.constant; raises VerifyException for another value."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    raise VerifyException("plan-memory: a buffer is made in a parallel loop whose bounds are not constants")


def layout(intervals: Sequence[Interval]) -> tuple[list[tuple[Interval, int]], int]:
    """An offset for each interval, and the bytes that they need together.

    Largest first, each into the tightest gap between those that are alive at the same time.
    """
    placed: list[tuple[Interval, int]] = []
    total = 0
    for interval in sorted(intervals, key=lambda i: (-i.size, i.start, i.end)):
        busy = sorted(
            (offset, offset + other.size)
            for other, offset in placed
            if other.start <= interval.end and interval.start <= other.end
        )
        offset = _best_gap(busy, interval.size)
        placed.append((interval, offset))
        total = max(total, offset + interval.size)
    return placed, total


def _best_gap(busy: Sequence[tuple[int, int]], size: int) -> int:
    """The start of the smallest gap that `size` bytes fit into, or the end of what is busy."""
    end, best, room = 0, None, 0
    for low, high in busy:
        if low - end >= size and (best is None or low - end < room):
            best, room = end, low - end
        end = max(end, high)
    return end if best is None else best
