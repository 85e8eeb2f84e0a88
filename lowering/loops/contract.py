"""Contraction kernels: a register tile of the output, reduction loops that carry it, the epilogue in the store.

The tile is that of the operation's schedule (tile_contractions.py). Accumulators are loop-carried vectors and never
memory. The vector operand streams through registers, the other one is broadcast an element at a time; in a depthwise
convolution both are vectors. What is left over of a loop at its end gets a smaller tile of its own, and a last vector
that reaches over the end of the output is masked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, VectorType
from xdsl.ir import Attribute, SSAValue

from relay_mlir.dialects.relay.types import is_float
from relay_mlir.lowering.loops.body import Point
from relay_mlir.lowering.loops.emitter import Emitter, Index, Lanes
from relay_mlir.lowering.loops.nest import PARALLEL_ELEMENTS, LoopBody, Task, finish, start
from relay_mlir.lowering.structured import Access, Contraction, element_of, likely, shape_of
from relay_mlir.lowering.tile_contractions import Schedule

CACHED_BYTES = 256 * 1024
"""A vector operand of at most this size stays in the second-level cache while the whole output is walked."""


def _tile_sizes(largest: int) -> list[int]:
    """Tiles of rows that make up any number of them: the largest, then powers of two below it."""
    return [largest, *(1 << power for power in reversed(range((largest - 1).bit_length())))]


@dataclass(frozen=True)
class _Tile:
    """The tile under way: where each loop stands, the tile's rows, and its vectors along the lane loop."""

    positions: dict[int, Index]
    rows: int = 1
    outer_rows: int = 1
    vectors: tuple[Lanes, ...] = ()


class ContractionKernel:
    """Emits the loops of one scheduled contraction."""

    def __init__(self, emit: Emitter, task: Task, found: Contraction, schedule: Schedule):
        self.emit = emit
        self.task = task
        self.view = found.view
        self.found = found
        self.schedule = schedule
        self.element = cast(Any, element_of(found.out.value))
        self.vector_type = VectorType(self.element, [schedule.lanes])
        work = 1
        for extent in self.view.extents:
            work *= likely(extent)
        self.distribute = work >= PARALLEL_ELEMENTS

    def run(self) -> None:
        """Emits everything."""
        if 0 not in (self.view.extents[loop] for loop in self.view.parallels):
            self._nest(self._order(), _Tile({}), self.distribute)

    def _order(self) -> list[int]:
        """The parallel loops, outermost first: panels outside rows where the vector operand outgrows the cache."""
        view, schedule = self.view, self.schedule
        both = [loop for loop in view.parallels if all(access.uses(loop) for access in view.inputs)]
        batches = [loop for loop in both if loop != schedule.lane_loop]
        rest = [loop for loop in view.parallels if loop not in batches and loop != schedule.lane_loop]
        size = max(self._bytes(a) for a in view.inputs if a.uses(schedule.lane_loop))
        for loop in batches:
            size //= max(1, likely(view.extents[loop]))
        lane = [schedule.lane_loop]
        if size <= CACHED_BYTES and not self._depthwise:
            return [*batches, *rest, *lane]
        return [*batches, *lane, *rest]

    @property
    def _depthwise(self) -> bool:
        return all(access.uses(self.schedule.lane_loop) for access in self.view.inputs)

    @staticmethod
    def _bytes(access: Access) -> int:
        total = cast(Any, element_of(access.value)).size
        for size in shape_of(access.value):
            total *= likely(size)
        return total

    def _nest(self, loops: Sequence[int], tile: _Tile, distribute: bool) -> None:
        if not loops:
            self._tile(tile)
            return
        loop, *rest = loops
        extent = self.view.extents[loop]
        if extent == DYNAMIC_INDEX:
            self._open_nest(loop, rest, tile, distribute)
            return
        for first, size, step, shape in self._pieces(loop, tile):
            spread = distribute and size > step

            inner = partial(self._nest, rest, distribute=distribute and not spread and extent <= step)

            def body(index: Index, _: Sequence[SSAValue], first: int = first, shape: _Tile = shape, inner: Any = inner):
                inner(replace(shape, positions=shape.positions | {loop: index + first}))
                return ()

            if loop == self.schedule.lane_loop:
                # Counted in panels, so that a position divides into panel and place within it.
                self.emit.loop(size // step, lambda i, c, step=step, body=body: body(i * step, c), parallel=spread)
            else:
                self.emit.loop(size, body, step=step, parallel=spread)

    def _open_nest(self, loop: int, rest: Sequence[int], tile: _Tile, distribute: bool) -> None:
        """A loop whose length is known at run time only: whole tiles, then smaller and smaller ones."""
        emit, schedule = self.emit, self.schedule
        extent = cast(SSAValue, emit.extent(self.view, loop))
        # Threads share a loop of known length where there is one: an open one may run once.
        inner = distribute and any(self._trips(each) > 1 for each in rest)
        distribute = distribute and not inner

        def run(index: Index, shape: _Tile) -> Sequence[SSAValue]:
            self._nest(rest, replace(shape, positions=tile.positions | {loop: index}), inner)
            return ()

        def rows(count: int) -> LoopBody:
            return lambda index, _: run(index, replace(tile, rows=count) if loop == schedule.rows_loop else tile)

        if loop != schedule.lane_loop:
            done: SSAValue | None = None
            for step in _tile_sizes(schedule.rows) if loop == schedule.rows_loop else [1]:
                end = emit.whole(extent, step, done)
                emit.loop(end, rows(step), step=step, parallel=distribute and done is None, start=done)
                done = end
            return

        def panel(index: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            full = tuple(Lanes(schedule.lanes, schedule.lanes) for _ in range(schedule.vectors))
            return run(index, replace(tile, vectors=full))

        def last(index: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            starts = [index + number * schedule.lanes for number in range(schedule.vectors)]
            vectors = tuple(Lanes(schedule.lanes, emit.rest(extent, start)) for start in starts)
            return run(index, replace(tile, vectors=vectors))

        end = emit.whole(extent, schedule.panel)
        emit.loop(end, panel, step=schedule.panel, parallel=distribute)
        emit.loop(extent, last, step=schedule.panel, start=end)

    def _trips(self, loop: int) -> int:
        """The whole tiles along a loop; 0 where its length is known at run time only."""
        schedule, extent = self.schedule, self.view.extents[loop]
        steps = {schedule.lane_loop: schedule.panel, schedule.rows_loop: schedule.rows}
        return 0 if extent == DYNAMIC_INDEX else extent // steps.get(loop, 1)

    def _pieces(self, loop: int, tile: _Tile) -> list[tuple[int, int, int, _Tile]]:
        """A loop cut into ranges of one tile shape each: first position, size, step and the tile."""
        schedule, extent = self.schedule, self.view.extents[loop]
        if loop == schedule.lane_loop:
            step = schedule.panel
            whole = extent // step * step
            full = tuple(Lanes(schedule.lanes, schedule.lanes) for _ in range(schedule.vectors))
            pieces = [(0, whole, step, replace(tile, vectors=full))] if whole else []
            if whole < extent:
                vectors: list[Lanes] = []
                left = extent - whole
                while left > 0:
                    vectors.append(Lanes(schedule.lanes, min(left, schedule.lanes)))
                    left -= schedule.lanes
                pieces.append((whole, 1, 1, replace(tile, vectors=tuple(vectors))))
            return pieces
        if loop in (schedule.rows_loop, schedule.outer_rows_loop):
            field = "rows" if loop == schedule.rows_loop else "outer_rows"
            step = getattr(schedule, field)
            whole = extent // step * step
            pieces = [(0, whole, step, replace(tile, **{field: step}))] if whole else []
            if whole < extent:
                pieces.append((whole, 1, 1, replace(tile, **{field: extent - whole})))
            return pieces
        return [(0, extent, 1, tile)]

    # One tile

    def _points(self, tile: _Tile) -> list[Point]:
        """Where the accumulators stand: by outer row, row, vector."""
        points: list[Point] = []
        for outer in range(tile.outer_rows):
            for row in range(tile.rows):
                for number, lanes in enumerate(tile.vectors):
                    offsets = {
                        self.schedule.outer_rows_loop: outer,
                        self.schedule.rows_loop: row,
                        self.schedule.lane_loop: number * self.schedule.lanes,
                    }
                    positions = tuple(
                        tile.positions.get(loop, Index()) + offsets.get(loop, 0)
                        for loop in range(len(self.view.extents))
                    )
                    points.append(Point(positions, self.schedule.lane_loop, lanes))
        return points

    def _tile(self, tile: _Tile) -> None:
        points = self._points(tile)
        accumulators = [value for point in points for value in start(self.emit, self.task, point)]
        sums = self._reduce(self.view.ordered_reductions, {}, points, accumulators)
        for point, value in zip(points, sums, strict=True):
            finish(self.emit, self.task, [value], point)

    def _reduce(
        self, loops: Sequence[int], at: dict[int, Index], points: Sequence[Point], carried: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        if not loops:
            return self._step(at, points, carried)
        loop, *rest = loops

        def body(index: Index, inner: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return self._reduce(rest, at | {loop: index}, points, inner)

        return self.emit.loop(self.emit.extent(self.view, loop), body, carried)

    def _step(self, at: dict[int, Index], points: Sequence[Point], carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """One term of the sums: every accumulator plus one product. Equal operands are loaded once."""
        loaded: dict[tuple[int, tuple[Index, ...]], SSAValue] = {}
        results: list[SSAValue] = []
        for point, total in zip(points, carried, strict=True):
            positions = tuple(at.get(loop, position) for loop, position in enumerate(point.positions))
            factors = [self._operand(number, replace(point, positions=positions), loaded) for number in range(2)]
            results.append(self._multiply_add(factors[0], factors[1], total))
        return results

    def _operand(self, number: int, point: Point, loaded: dict[tuple[int, tuple[Index, ...]], SSAValue]) -> SSAValue:
        access = self.view.inputs[number]
        at = tuple(self.emit.evaluate(expr, point.positions) for expr in access.map.results)
        key = (number, at)
        if key not in loaded:
            lanes = cast(Lanes, point.lanes)
            moving = access.uses(self.schedule.lane_loop)
            if not moving:
                value = self.emit.load(access.value, at)
            else:
                value = self.emit.load_vector(access.value, at, self._readable(access, lanes))
            value = self._widen(number, value)
            loaded[key] = value if moving else self.emit.splat(value, self.vector_type)
        return loaded[key]

    def _readable(self, access: Access, lanes: Lanes) -> Lanes:
        """The lanes that may be loaded: all of a packed operand, whose panels are padded with zeros."""
        packed = access.map.results and shape_of(access.value)[-1] == self.schedule.panel
        return Lanes(lanes.count, lanes.count) if packed and not access.contiguous(self.schedule.lane_loop) else lanes

    def _widen(self, number: int, value: SSAValue) -> SSAValue:
        """The widening casts that the body applies to an operand."""
        for cast_op in self.found.casts[number]:
            wide = isinstance(value.type, VectorType)
            target: Attribute = cast_op.results[0].type
            made = type(cast_op).create(
                operands=[value],
                result_types=[VectorType(target, [self.schedule.lanes]) if wide else target],
                properties=dict(cast_op.properties),
                attributes=dict(cast_op.attributes),
            )
            value = self.emit.value(made)
        return value

    def _multiply_add(self, left: SSAValue, right: SSAValue, total: SSAValue) -> SSAValue:
        if is_float(self.element) and not self.emit.strict:
            return self.emit.value(vector.FMAOp(left, right, total))
        multiply: Any = arith.MulfOp if is_float(self.element) else arith.MuliOp
        add: Any = arith.AddfOp if is_float(self.element) else arith.AddiOp
        return self.emit.value(add(total, self.emit.value(multiply(left, right))))
