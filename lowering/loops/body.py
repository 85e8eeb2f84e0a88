"""Bodies of linalg.generic on scalars or vectors: which loop can run along vector lanes, and how a body is emitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith, math, memref
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, VectorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Operation, OpResult, SSAValue

from relay_mlir.lowering.loops.emitter import INDEX, Emitter, Index, Lanes, lane_width
from relay_mlir.lowering.structured import Access, Structured, element_of

_ELEMENTWISE_DIALECTS = ("arith.", "math.")


def _varying(view: Structured, lane_loop: int) -> set[SSAValue] | None:
    """The body's values that differ between neighbouring positions of a loop; None where it cannot be vectorized."""
    varying: set[SSAValue] = set()
    for argument, access in zip(view.body.args, (*view.inputs, *view.outputs), strict=True):
        if access.uses(lane_loop):
            varying.add(argument)
    for op in view.body.ops:
        if isinstance(op, linalg.YieldOp):
            continue
        if isinstance(op, linalg.IndexOp):
            if op.dim.value.data == lane_loop:
                varying.add(op.result)
            continue
        if isinstance(op, memref.LoadOp):
            moving = [index for index in op.indices if index in varying]
            if moving:
                if len(moving) > 1 or moving[0] is not op.indices[-1] or not _is_index(moving[0], lane_loop):
                    return None
                varying.add(op.res)
            continue
        if not op.name.startswith(_ELEMENTWISE_DIALECTS) or op.regions:
            return None
        if any(operand in varying for operand in op.operands):
            varying.update(op.results)
    return varying


def _is_index(value: SSAValue, loop: int) -> bool:
    return isinstance(value, OpResult) and isinstance(value.op, linalg.IndexOp) and value.op.dim.value.data == loop


def vectorizable(view: Structured, lane_loop: int) -> bool:
    """Whether the body can run on vectors along a loop."""
    return _varying(view, lane_loop) is not None


def lanes_for(view: Structured, vector_bits: int) -> int:
    """How many lanes fit a vector register, by the widest type that the body computes with."""
    types = [element_of(access.value) for access in (*view.inputs, *view.outputs)]
    types += [result.type for op in view.body.ops for result in op.results]
    return max(1, vector_bits // max(lane_width(type_) for type_ in types))


def expensive(view: Structured) -> bool:
    """Whether the body has operations that cost many instructions."""
    return any(isinstance(op, math.ExpOp | math.ErfOp | math.TanhOp | math.PowFOp) for op in view.body.ops)


@dataclass(frozen=True)
class Point:
    """Where a body is evaluated: the position of each loop, and which loop runs along the lanes."""

    positions: tuple[Index, ...]
    lane_loop: int = -1
    lanes: Lanes | None = None


def read(emit: Emitter, access: Access, point: Point) -> SSAValue:
    """The operand of a body at a point: a scalar where it does not depend on the lanes, else a vector."""
    at = [emit.evaluate(expr, point.positions) for expr in access.map.results]
    if point.lanes is None or not access.uses(point.lane_loop):
        return emit.load(access.value, at)
    if access.contiguous(point.lane_loop):
        return emit.load_vector(access.value, at, point.lanes)

    def moved(lane: int) -> list[Index]:
        positions = list(point.positions)
        positions[point.lane_loop] = positions[point.lane_loop] + lane
        return [emit.evaluate(expr, positions) for expr in access.map.results]

    return emit.gather_vector(access.value, moved, point.lanes)


def write(emit: Emitter, value: SSAValue, access: Access, point: Point) -> None:
    """Stores the yielded value of a body at a point."""
    at = [emit.evaluate(expr, point.positions) for expr in access.map.results]
    if point.lanes is None:
        emit.store(value, access.value, at)
        return
    if not isinstance(value.type, VectorType):
        value = emit.splat(value, VectorType(value.type, [point.lanes.count]))
    emit.store_vector(value, access.value, at, point.lanes)


def evaluate(emit: Emitter, view: Structured, point: Point, known: Mapping[SSAValue, SSAValue]) -> list[SSAValue]:
    """The yielded values of a body at a point. `known` gives block arguments; the others that are used are read."""
    values: dict[SSAValue, SSAValue] = dict(known)
    for argument, access in zip(view.body.args, (*view.inputs, *view.outputs), strict=True):
        if argument not in values and argument.uses:
            values[argument] = read(emit, access, point)
    for op in view.body.ops:
        if isinstance(op, linalg.YieldOp):
            return [_lookup(values, operand) for operand in op.operands]
        for result, value in zip(op.results, _operation(emit, op, values, point), strict=True):
            values[result] = value
    raise ValueError("a body without linalg.yield")


def _lookup(values: Mapping[SSAValue, SSAValue], value: SSAValue) -> SSAValue:
    """The emitted value; one from outside the body stands for itself."""
    return values.get(value, value)


def _operation(emit: Emitter, op: Operation, values: dict[SSAValue, SSAValue], point: Point) -> Sequence[SSAValue]:
    count = point.lanes.count if point.lanes else None
    match op:
        case arith.ConstantOp():
            return [emit.constant(op.value)]
        case linalg.IndexOp():
            loop = op.dim.value.data
            start = emit.index(point.positions[loop])
            if point.lanes is None or loop != point.lane_loop:
                return [start]
            type_ = VectorType(IndexType(), [point.lanes.count])
            offsets: Any = DenseIntOrFPElementsAttr.from_list(type_, list(range(point.lanes.count)))
            return [emit.value(arith.AddiOp(emit.splat(start, type_), emit.constant(offsets)))]
        case memref.LoadOp():
            indices = [_lookup(values, index) for index in op.indices]
            source = _lookup(values, op.memref)
            if point.lanes is not None and indices and isinstance(indices[-1].type, VectorType):
                at = [Index(((index, 1),)) for index in indices[:-1]]
                return [emit.load_vector(source, [*at, point.positions[point.lane_loop]], point.lanes)]
            return [emit.load(source, [Index(((index, 1),)) for index in indices])]
        case _:
            return emit.vectorized(op, [_lookup(values, operand) for operand in op.operands], count)


__all__ = ["INDEX", "Point", "evaluate", "expensive", "lanes_for", "read", "vectorizable", "write"]
