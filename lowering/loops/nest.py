"""Loop nests of linalg.generic: vectors along a parallel loop, along a reduction loop, or scalars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import DYNAMIC_INDEX, VectorType
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from relay_mlir.dialects.relay.types import is_float
from relay_mlir.lowering.loops.body import Point, evaluate, expensive, lanes_for, read, vectorizable, write
from relay_mlir.lowering.loops.emitter import Emitter, Index, Lanes
from relay_mlir.lowering.structured import Structured, element_of, likely

PARALLEL_ELEMENTS = 16384
"""A nest with fewer iterations is not worth distributing over threads."""
OPEN_UNROLL = 4
"""Vectors side by side in a reduction whose length is known at run time only."""

LoopBody = Callable[[Index, Sequence[SSAValue]], Sequence[SSAValue]]


@dataclass(frozen=True)
class Task:
    """What one cluster of operations computes: a generic, the constant its output starts from, and what follows it."""

    view: Structured
    initial: Attribute | None
    """The constant that a linalg.fill put into the output just before; None: the output is read."""
    epilogue: Structured | None
    """An element-wise generic that alone reads the output, which then never reaches memory."""
    epilogue_input: int = -1
    """Which input of the epilogue the output is."""


def finish(emit: Emitter, task: Task, values: Sequence[SSAValue], point: Point) -> None:
    """Runs the epilogue, if any, on the values at a point of the main generic, and stores the result."""
    view = task.view
    if task.epilogue is None:
        for value, access in zip(values, view.outputs, strict=True):
            write(emit, value, access, point)
        return
    positions = tuple(emit.evaluate(expr, point.positions) for expr in view.outputs[0].map.results)
    there = Point(positions, len(positions) - 1 if point.lanes else -1, point.lanes)
    known: dict[SSAValue, SSAValue] = {task.epilogue.body.args[task.epilogue_input]: values[0]}
    results = evaluate(emit, task.epilogue, there, known)
    for value, access in zip(results, task.epilogue.outputs, strict=True):
        write(emit, value, access, there)


def start(emit: Emitter, task: Task, point: Point) -> list[SSAValue]:
    """The accumulators of a reduction at a point: the constant of the fill, or what the outputs hold."""
    if task.initial is None:
        return [read(emit, access, point) for access in task.view.outputs]
    if point.lanes is None:
        return [emit.constant(task.initial)]
    value = cast(Any, task.initial).value.data
    return [emit.splat(value, VectorType(element_of(task.view.outputs[0].value), [point.lanes.count]))]


def emit_task(emit: Emitter, task: Task, vector_bits: int) -> None:
    """Emits the loops of a task that is not a scheduled contraction."""
    view = task.view
    if 0 in (view.extents[loop] for loop in view.parallels):
        return
    lanes = min(lanes_for(v, vector_bits) for v in (view, *([task.epilogue] if task.epilogue else [])))
    along = _parallel_lane(task, lanes)
    across = _reduction_lane(task, lanes, emit.strict) if view.reductions else None
    if along is not None and (across is None or likely(view.extents[along]) * 2 >= lanes):
        if view.extents[along] == DYNAMIC_INDEX:
            emit_along_open(emit, task, along, lanes)
            return
        _emit_along(emit, task, along, lanes)
    elif across is not None:
        _emit_across(emit, task, across, lanes)
    else:
        outer = list(view.parallels)
        _outer(emit, task, outer, lambda point: _reduce_point(emit, task, [point]))


def _parallel_lane(task: Task, lanes: int) -> int | None:
    """The parallel loop that vectors run along, or None."""
    view = task.view
    for loop in reversed(view.parallels):
        if likely(view.extents[loop]) < 2 or lanes < 2 or not all(output.contiguous(loop) for output in view.outputs):
            continue
        strided = [a for a in view.inputs if a.uses(loop) and not a.contiguous(loop) and _is_read(view, a.value)]
        if strided and not expensive(view):
            continue
        if vectorizable(view, loop) and (task.epilogue is None or follows(task.epilogue)):
            return loop
    return None


def _is_read(view: Structured, value: SSAValue) -> bool:
    return any(
        bool(argument.uses)
        for argument, access in zip(view.body.args, view.inputs, strict=False)
        if access.value is value
    )


def follows(epilogue: Structured) -> bool:
    """Whether an epilogue can run on vectors along its last loop."""
    last = len(epilogue.extents) - 1
    return all(output.contiguous(last) for output in epilogue.outputs) and vectorizable(epilogue, last)


def _outer(emit: Emitter, task: Task, loops: Sequence[int], inner: Callable[[Point], None]) -> None:
    """Nests loops over all positions; the first with more than one iteration is parallel where it pays."""
    view = task.view
    work = 1
    for extent in view.extents:
        work *= likely(extent)
    positions = [Index() for _ in view.extents]
    pending = work >= PARALLEL_ELEMENTS

    def nest(rest: Sequence[int], may_distribute: bool) -> None:
        if not rest:
            inner(Point(tuple(positions)))
            return
        loop, *others = rest
        distribute = may_distribute and likely(view.extents[loop]) > 1
        if view.extents[loop] == DYNAMIC_INDEX and any(view.extents[other] > 1 for other in others):
            distribute = False  # an open loop may run once: threads share one of known length

        def body(index: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            positions[loop] = index
            nest(others, may_distribute and not distribute)
            return ()

        emit.loop(emit.extent(view, loop), body, parallel=distribute)

    nest(loops, pending)


def _emit_along(emit: Emitter, task: Task, lane: int, lanes: int) -> None:
    """Vectors along a parallel loop: an element-wise nest, or a reduction with one accumulator a lane."""
    view = task.view
    extent = view.extents[lane]
    outer = [loop for loop in view.parallels if loop != lane]

    def pieces(point: Point, base: Index, size: int, distribute: bool) -> None:
        def at(offset: Index) -> Point:
            return _with(point, lane, base + offset, Lanes(lanes, lanes))

        unroll = min(4, size // lanes) if view.reductions else 1
        whole = size // (lanes * unroll) * (lanes * unroll) if unroll else 0

        def block(index: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            _reduce_point(emit, task, [at(index + unit * lanes) for unit in range(unroll)])
            return ()

        if whole:
            emit.loop(whole, block, step=lanes * unroll, parallel=distribute)
        done = whole
        while size - done >= lanes:
            _reduce_point(emit, task, [at(Index((), done))])
            done += lanes
        if done < size:
            _reduce_point(emit, task, [_with(point, lane, base + done, Lanes(lanes, size - done))])

    if all(view.extents[loop] == 1 for loop in outer) and extent >= 2 * PARALLEL_ELEMENTS and not view.reductions:
        point = Point(tuple(Index() for _ in view.extents))
        chunk = -(-extent // 16 // lanes) * lanes

        def body(index: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            pieces(point, index, chunk, False)
            return ()

        whole = extent // chunk * chunk
        emit.loop(whole, body, step=chunk, parallel=True)
        if whole < extent:
            pieces(point, Index((), whole), extent - whole, False)
        return
    _outer(emit, task, outer, lambda point: pieces(point, Index(), extent, False))


def emit_along_open(emit: Emitter, task: Task, lane: int, lanes: int) -> None:
    """`_emit_along` for a loop whose length is known at run time only: whole vectors, then a masked one or scalars."""
    view = task.view
    outer = [loop for loop in view.parallels if loop != lane]
    total = cast(SSAValue, emit.extent(view, lane))
    unroll = OPEN_UNROLL if view.reductions else 1
    views = [view, *([task.epilogue] if task.epilogue else [])]
    gathers = any(a.uses(lane) and not a.contiguous(lane) and _is_read(view, a.value) for a in view.inputs) or any(
        a.uses(loop) and not a.contiguous(loop) and _is_read(v, a.value)
        for v in views[1:]
        for loop in [len(v.extents) - 1]
        for a in v.inputs
    )

    def pieces(point: Point) -> None:
        def block(units: int) -> LoopBody:
            def body(index: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
                full = Lanes(lanes, lanes)
                points = [_with(point, lane, index + unit * lanes, full) for unit in range(units)]
                _reduce_point(emit, task, points)
                return ()

            return body

        def last(index: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            if gathers:
                positions = [index if loop == lane else at for loop, at in enumerate(point.positions)]
                _reduce_point(emit, task, [Point(tuple(positions))])
            else:
                _reduce_point(emit, task, [_with(point, lane, index, Lanes(lanes, emit.rest(total, index)))])
            return ()

        done: SSAValue | None = None
        for units in dict.fromkeys((unroll, 1)):
            end = emit.whole(total, lanes * units, done)
            emit.loop(end, block(units), step=lanes * units, start=done, parallel=not outer and not view.reductions)
            done = end
        emit.loop(total, last, step=1 if gathers else lanes, start=done)

    _outer(emit, task, outer, pieces)


def _with(point: Point, loop: int, position: Index, lanes: Lanes) -> Point:
    positions = list(point.positions)
    positions[loop] = position
    return Point(tuple(positions), loop, lanes)


def _reduce_point(emit: Emitter, task: Task, points: Sequence[Point]) -> None:
    """Computes and stores the outputs at some points, their reductions side by side in one loop."""
    view = task.view
    outputs = view.body.args[len(view.inputs) :]
    if not view.reductions:
        for point in points:
            # A reduction over one element has lost its loop, but still starts from what the fill gave.
            filled = start(emit, task, point) if task.initial is not None else []
            known = dict(zip(outputs, filled, strict=False))
            finish(emit, task, evaluate(emit, view, point, cast(Any, known)), point)
        return
    width = len(view.outputs)
    initial = [value for point in points for value in start(emit, task, point)]

    def reduce(rest: Sequence[int], at: list[dict[int, Index]], carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if not rest:
            results: list[SSAValue] = []
            for number, point in enumerate(points):
                positions = tuple(at[0].get(loop, position) for loop, position in enumerate(point.positions))
                known = dict(zip(outputs, carried[number * width : (number + 1) * width], strict=True))
                results += evaluate(emit, view, Point(positions, point.lane_loop, point.lanes), cast(Any, known))
            return [_like(emit, value, old) for value, old in zip(results, carried, strict=True)]
        loop, *others = rest

        def body(index: Index, inner: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return reduce(others, [at[0] | {loop: index}], inner)

        return emit.loop(emit.extent(view, loop), body, carried)

    values = reduce(view.ordered_reductions, [{}], initial)
    for number, point in enumerate(points):
        finish(emit, task, values[number * width : (number + 1) * width], point)


def _like(emit: Emitter, value: SSAValue, old: SSAValue) -> SSAValue:
    """A value as a vector where the carried one is a vector."""
    if isinstance(old.type, VectorType) and not isinstance(value.type, VectorType):
        return emit.splat(value, cast("VectorType[Attribute]", old.type))
    return value


_COMBINERS: dict[type[Operation], tuple[str, Callable[[Any], Any]]] = {
    arith.AddfOp: ("add", lambda t: 0.0),
    arith.MulfOp: ("mul", lambda t: 1.0),
    arith.MaximumfOp: ("maximumf", lambda t: float("-inf")),
    arith.MinimumfOp: ("minimumf", lambda t: float("inf")),
    arith.AddiOp: ("add", lambda t: 0),
    arith.MuliOp: ("mul", lambda t: 1),
    arith.MaxSIOp: ("maxsi", lambda t: -(1 << (t.width.data - 1))),
    arith.MinSIOp: ("minsi", lambda t: (1 << (t.width.data - 1)) - 1),
    arith.MaxUIOp: ("maxui", lambda t: 0),
    arith.MinUIOp: ("minui", lambda t: -1),
    arith.AndIOp: ("and", lambda t: -1),
    arith.OrIOp: ("or", lambda t: 0),
    arith.XOrIOp: ("xor", lambda t: 0),
}
"""The operations that a reduction may be split over lanes for: vector.reduction's kind, and the identity."""


def _combiner(view: Structured) -> Operation | None:
    """The operation that joins the accumulator and one element, where it is all that happens to the accumulator."""
    (value,) = view.yielded if len(view.outputs) == 1 else (None,)
    accumulator = view.body.args[-1]
    if not isinstance(value, OpResult) or type(value.op) not in _COMBINERS or not accumulator.has_one_use():
        return None
    return value.op if any(operand is accumulator for operand in value.op.operands) else None


def _reduction_lane(task: Task, lanes: int, strict: bool) -> int | None:
    """The reduction loop that vectors run along, or None."""
    view = task.view
    combiner = _combiner(view)
    if combiner is None or (strict and isinstance(combiner, arith.AddfOp | arith.MulfOp)):
        return None
    for loop in sorted(view.reductions, reverse=True):
        reads = [access for access in view.inputs if access.uses(loop)]
        if (
            likely(view.extents[loop]) >= max(2, lanes // 2)
            and all(access.contiguous(loop) or not _is_read(view, access.value) for access in reads)
            and not view.outputs[0].uses(loop)
            and vectorizable(view, loop)
        ):
            return loop
    return None


def _emit_across(emit: Emitter, task: Task, lane: int, lanes: int) -> None:
    """Vectors along a reduction loop: partial results in the lanes, joined at the end."""
    view = task.view
    combiner = cast(Operation, _combiner(view))
    kind, identity = _COMBINERS[type(combiner)]
    element: Any = element_of(view.outputs[0].value)
    neutral = identity(element)
    vector_type = VectorType(element, [lanes])
    accumulator: BlockArgument = view.body.args[-1]
    outer_reductions = [loop for loop in view.ordered_reductions if loop != lane]
    extent = view.extents[lane]
    is_open = extent == DYNAMIC_INDEX
    unroll = OPEN_UNROLL if is_open else max(1, min(4, extent // lanes))
    whole = 0 if is_open else extent // (lanes * unroll) * (lanes * unroll)

    def join(left: SSAValue, right: SSAValue) -> SSAValue:
        return emit.vectorized(combiner, [left, right], lanes)[0]

    def at(point: Point, position: Index, valid: int | SSAValue, carried: SSAValue) -> SSAValue:
        there = _with(point, lane, position, Lanes(lanes, valid))
        (value,) = evaluate(emit, view, there, {accumulator: carried})
        return _like(emit, value, carried)

    def masked(point: Point, position: Index, valid: int | SSAValue, carried: SSAValue) -> SSAValue:
        """One more vector of which only some lanes are there."""
        rest = at(point, position, valid, emit.splat(neutral, vector_type))
        mask = emit.mask(Lanes(lanes, valid))
        return join(carried, emit.value(arith.SelectOp(mask, rest, emit.splat(neutral, vector_type))))

    def row(point: Point, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        def body(index: Index, partial: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [at(point, index + unit * lanes, lanes, value) for unit, value in enumerate(partial)]

        if is_open:
            return open_row(point, carried, body)
        values = list(emit.loop(whole, body, carried, step=lanes * unroll)) if whole else list(carried)
        done = whole
        while extent - done >= lanes:
            values[0] = at(point, Index((), done), lanes, values[0])
            done += lanes
        if done < extent:
            values[0] = masked(point, Index((), done), extent - done, values[0])
        return values

    def open_row(point: Point, carried: Sequence[SSAValue], body: LoopBody) -> Sequence[SSAValue]:
        """Several vectors at once, then one at a time, then one of which only some lanes are there."""
        total = cast(SSAValue, emit.extent(view, lane))
        blocks = emit.whole(total, lanes * unroll)
        first, *others = emit.loop(blocks, body, carried, step=lanes * unroll)
        singles = emit.whole(total, lanes)
        (first,) = emit.loop(singles, body, [first], step=lanes, start=blocks)

        def last(index: Index, partial: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [masked(point, index, emit.rest(total, index), partial[0])]

        (first,) = emit.loop(total, last, [first], step=lanes, start=singles)
        return [first, *others]

    def nest(rest: Sequence[int], point: Point, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if not rest:
            return row(point, carried)
        loop, *others = rest

        def body(index: Index, inner: Sequence[SSAValue]) -> Sequence[SSAValue]:
            positions = list(point.positions)
            positions[loop] = index
            return nest(others, Point(tuple(positions)), inner)

        return emit.loop(emit.extent(view, loop), body, carried)

    def point_(point: Point) -> None:
        (first,) = start(emit, task, point)
        partial = nest(outer_reductions, point, [emit.splat(neutral, vector_type)] * unroll)
        total = partial[0]
        for other in partial[1:]:
            total = join(total, other)
        flags = FastMathFlagsAttr("none" if emit.strict or not is_float(element) else [FastMathFlag.REASSOC])
        made = vector.ReductionOp.build(
            operands=[total, []],
            result_types=[element],
            properties={"kind": vector.CombiningKindAttr(vector.CombiningKindFlag(kind)), "fastmath": flags},
        )
        (value,) = emit.vectorized(combiner, [emit.value(made), first], None)
        finish(emit, task, [value], point)

    _outer(emit, task, view.parallels, point_)
