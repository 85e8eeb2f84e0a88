"""The lower form of recurrent layers: x * W^T of all steps as one contraction, then a loop over the steps on tensors.

The body of the loop is h * R^T as a contraction (two for GRU) and one element-wise generic with the activations, which
writes the state in place and the result row into the result. Weights are read where the function gets them, so that
they can be packed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from relay_mlir.dialects.relay.contraction import accumulator, contract
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder, dims, identity
from relay_mlir.dialects.relay.recurrent import Gru, Lstm, Recurrent
from relay_mlir.dialects.relay.types import Tensor, tensor

Read: TypeAlias = "tuple[SSAValue, AffineMap]"
"""A tensor, and how the loops over sequences and units index it."""
Gates: TypeAlias = "Callable[[ScalarBuilder, Sequence[SSAValue], Sequence[SSAValue]], Sequence[SSAValue]]"
"""Makes the states after a step from the scalars read and the states before it."""


def lower(
    op: Recurrent, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]
) -> Sequence[SSAValue]:
    """The results of a recurrent layer; raises VerifyException for shapes that are not static."""
    return _Lowering(op, build, args, results).run()


class _Lowering:
    """One layer: its sizes, and the values outside the loop."""

    def __init__(self, op: Recurrent, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]):
        self.op = op
        self.build = build
        self.results = results
        self.steps, self.batch, self.inputs = build.shape(args[0])
        self.units = results[0].get_shape()[2]
        self.element = results[0].element_type
        self.wide = accumulator(self.element, self.element, self.element)
        fixed = 2 + len(op.recurrences(1))
        self.data, self.weight, *self.weights = args[:fixed]
        self.initial = list(args[fixed : fixed + op.states])
        self.extra = dict(zip(op.extras, args[fixed + op.states :], strict=True))

    def run(self) -> Sequence[SSAValue]:
        rows = self.build.empty((self.steps, self.batch, self.units), self.element)
        states = [self._first(value) for value in self.initial]
        if not self.steps:
            return [rows, *(self._copy(value, type_) for value, type_ in zip(states, self.results[1:], strict=True))]
        self.projected = self._project()
        rows, *states = self.build.loop(self.steps, [rows, *states], self._step)
        return [rows, *(self._converted(value, type_) for value, type_ in zip(states, self.results[1:], strict=True))]

    def _first(self, value: SSAValue) -> SSAValue:
        """An initial state in the type that bodies compute in; 0 for sequences of no steps."""
        type_ = tensor((self.batch, self.units), self.wide)
        if "lengths" not in self.extra:
            return self._copy(value, type_)  # the loop writes to it

        def masked(s: ScalarBuilder, x: SSAValue, length: SSAValue, _: SSAValue) -> SSAValue:
            return s.select(s.compare("gt", length, s.like(0, length)), x, s.like(0, x))

        inputs, maps = [value, self.extra["lengths"]], [identity(2), dims(0, rank=2)]
        into = self.build.empty(type_.get_shape(), self.wide)
        return self.build.generic(inputs, maps, [into], [identity(2)], ["parallel"] * 2, masked)[0]

    def _converted(self, value: SSAValue, type_: Tensor) -> SSAValue:
        return value if value.type == type_ else self._copy(value, type_)

    def _copy(self, value: SSAValue, type_: Tensor) -> SSAValue:
        def same(_: ScalarBuilder, x: SSAValue) -> SSAValue:
            return x

        return self.build.elementwise([value], type_, same)

    def _project(self) -> SSAValue:
        """x * W^T + b of every step: (T, B, gates * H)."""
        columns = self.op.gates * self.units
        rows = self.steps * self.batch
        flat = self.build.reshape(self.data, (rows, self.inputs))
        product = self._matmul(self.build, flat, self.weight, rows, columns)
        bias = self.weights[2 if isinstance(self.op, Gru) else 1]

        def add(s: ScalarBuilder, x: SSAValue, b: SSAValue) -> SSAValue:
            return s.add(x, b)

        total = self.build.elementwise([product, bias], tensor((rows, columns), self.wide), add)
        return self.build.reshape(total, (self.steps, self.batch, columns))

    def _matmul(self, build: LinalgBuilder, left: SSAValue, weight: SSAValue, rows: int, columns: int) -> SSAValue:
        """left (rows, K) times the transpose of weight (columns, K), in the type that bodies compute in."""
        typed = build.typed([left, weight])
        maps = [dims(0, 2, rank=3), dims(1, 2, rank=3)]
        return contract(typed, [left, weight], maps, (rows, columns), 1, self.wide)

    # One step.

    def _step(self, build: LinalgBuilder, count: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        rows, *states = carried
        scalars = build.scalars
        at = scalars.sub(scalars.const(self.steps - 1, IndexType()), count) if self.op.reverse else count
        projected = build.row(self.projected, at)
        reads, gates = self._gates(build, projected, states)
        if "lengths" in self.extra:
            reads = [*reads, (self.extra["lengths"], dims(0, rank=2))]
        row, *after = self._update(build, at, reads, states, gates)
        return [build.put_row(row, rows, at), *after]

    def _update(
        self, build: LinalgBuilder, at: SSAValue, reads: Sequence[Read], states: Sequence[SSAValue], gates: Gates
    ) -> tuple[SSAValue, ...]:
        """One generic that writes the result row and, in place, the states."""
        masked = "lengths" in self.extra

        def body(s: ScalarBuilder, *scalars: SSAValue) -> Sequence[SSAValue]:
            values, before = list(scalars[: len(reads)]), scalars[len(reads) + 1 :]
            length = values.pop() if masked else None
            after = list(gates(s, values, before))
            row = after[0]
            if length is not None:
                running = s.compare("lt", s.from_index(at, length.type), length)
                row = s.select(running, row, s.like(0, row))
                after = [s.select(running, new, old) for new, old in zip(after, before, strict=True)]
            return [row, *after]

        into = [build.empty((self.batch, self.units), self.element), *states]
        values, maps = zip(*reads, strict=True)
        return build.generic(values, maps, into, [identity(2)] * len(into), ["parallel"] * 2, body)

    def _blocks(self, build: LinalgBuilder, value: SSAValue, blocks: Sequence[int]) -> list[Read]:
        """Blocks of H columns of a tensor (B, n * H), or of H elements of a vector."""
        *rows, _ = build.shape(value)
        map_ = identity(2) if rows else dims(1, rank=2)
        offsets = [[*[0] * len(rows), block * self.units] for block in blocks]
        return [(build.slice(value, offset, [*rows, self.units]), map_) for offset in offsets]

    def function(self, s: ScalarBuilder, which: int, x: SSAValue) -> SSAValue:
        """An activation function, behind the clip if it is one of the gates'."""
        clip = self.op.clip if which < 2 else None
        if clip is not None:
            x = s.maximum(s.minimum(x, s.like(clip, x)), s.like(-clip, x))
        return self.op.chosen[which].scalar(s, x)

    def _gates(self, build: LinalgBuilder, projected: SSAValue, states: Sequence[SSAValue]) -> tuple[list[Read], Gates]:
        """What the element-wise part of a step reads, and what it computes."""
        if isinstance(self.op, Gru):
            return self._gru(build, projected, states[0])
        columns = self.op.gates * self.units
        product = self._matmul(build, states[0], self.weights[0], self.batch, columns)
        blocks = range(self.op.gates)
        reads = [*self._blocks(build, projected, blocks), *self._blocks(build, product, blocks)]
        if not isinstance(self.op, Lstm):
            return reads, lambda s, v, before: [self.function(s, 0, s.add(v[0], v[1]))]
        if "peepholes" in self.extra:
            reads += self._blocks(build, self.extra["peepholes"], range(3))
        return reads, self._lstm

    def _lstm(self, s: ScalarBuilder, values: Sequence[SSAValue], before: Sequence[SSAValue]) -> Sequence[SSAValue]:
        i, o, f, g = (s.add(x, h) for x, h in zip(values[:4], values[4:8], strict=True))
        pi, po, pf = values[8:] or (None, None, None)
        c = before[1]

        def peep(gate: SSAValue, weight: SSAValue | None, cell: SSAValue) -> SSAValue:
            return gate if weight is None else s.add(gate, s.mul(weight, cell))

        i = self.function(s, 0, peep(i, pi, c))
        couple = isinstance(self.op, Lstm) and self.op.couple
        f = s.sub(s.like(1, i), i) if couple else self.function(s, 0, peep(f, pf, c))
        c = s.add(s.mul(f, c), s.mul(i, self.function(s, 1, g)))
        o = self.function(s, 0, peep(o, po, c))
        return [s.mul(o, self.function(s, 2, c)), c]

    def _gru(self, build: LinalgBuilder, projected: SSAValue, h: SSAValue) -> tuple[list[Read], Gates]:
        recurrence, candidate, _, candidate_bias = self.weights
        product = self._matmul(build, h, recurrence, self.batch, 2 * self.units)
        bias = self._blocks(build, candidate_bias, [0])

        def mixed(s: ScalarBuilder, z: SSAValue, rest: SSAValue, before: SSAValue) -> Sequence[SSAValue]:
            c = self.function(s, 1, rest)
            return [s.add(s.mul(s.sub(s.like(1, z), z), c), s.mul(z, before))]

        if isinstance(self.op, Gru) and self.op.linear_before_reset:
            other = self._matmul(build, h, candidate, self.batch, self.units)

            def gates(s: ScalarBuilder, v: Sequence[SSAValue], before: Sequence[SSAValue]) -> Sequence[SSAValue]:
                xz, xr, xc, hz, hr, hc, b = v
                z, r = self.function(s, 0, s.add(xz, hz)), self.function(s, 0, s.add(xr, hr))
                return mixed(s, z, s.add(xc, s.mul(r, s.add(hc, b))), before[0])

            reads = [
                *self._blocks(build, projected, range(3)),
                *self._blocks(build, product, range(2)),
                *self._blocks(build, other, [0]),
            ]
            return [*reads, *bias], gates
        z, reset = self._reset(build, projected, product, h)
        other = self._matmul(build, reset, candidate, self.batch, self.units)

        def gates_after(s: ScalarBuilder, v: Sequence[SSAValue], before: Sequence[SSAValue]) -> Sequence[SSAValue]:
            z, xc, hc, b = v
            return mixed(s, z, s.add(xc, s.add(hc, b)), before[0])

        return [
            *self._blocks(build, z, [0]),
            *self._blocks(build, projected, [2]),
            *self._blocks(build, other, [0]),
            *bias,
        ], gates_after

    def _reset(self, build: LinalgBuilder, projected: SSAValue, product: SSAValue, h: SSAValue) -> tuple[SSAValue, ...]:
        """The gate z, and r * h."""
        reads = [
            *self._blocks(build, projected, range(2)),
            *self._blocks(build, product, range(2)),
            *self._blocks(build, h, [0]),
        ]

        def body(s: ScalarBuilder, *v: SSAValue) -> Sequence[SSAValue]:
            xz, xr, hz, hr, before = v[:5]
            z, r = self.function(s, 0, s.add(xz, hz)), self.function(s, 0, s.add(xr, hr))
            return [z, s.mul(r, before)]

        into = [build.empty((self.batch, self.units), self.wide) for _ in range(2)]
        values, maps = zip(*reads, strict=True)
        return build.generic(values, maps, into, [identity(2)] * 2, ["parallel"] * 2, body)


__all__ = ["lower"]
