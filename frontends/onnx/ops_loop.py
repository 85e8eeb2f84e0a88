"""Loop and Scan: written out where they are short and known at import, else functions that call themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
from onnx import GraphProto

from relay_mlir.dialects.relay.types import ANY, Tensor, normalize_axis, show_shape
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.recursion import repeat, settled
from relay_mlir.frontends.onnx.registry import converts
from relay_mlir.frontends.onnx.structures import Item, tensors

MAX_UNROLLED = 128
"""The number of iterations up to which a loop is written out."""

Body = Callable[[Value, Sequence[Value]], tuple["list[Value]", "list[Value]"]]
"""The carried values and the rows that an iteration gives, from its number and the carried values before it."""


def _number(c: Emitter, value: int) -> Value:
    return c.constant(np.asarray(value, np.int64))


# Rows: one result of each iteration, stacked.


@dataclass(frozen=True)
class _Rows:
    """Rows that a recursive function collects: in a tensor for all of them if `length` is known, else one by one."""

    type: Tensor
    length: int | None
    backwards: bool = False

    def __post_init__(self) -> None:
        if ANY in self.type.get_shape():
            raise Problem(
                f"the rows that a loop stacks must have a shape known at import, but it is "
                f"{show_shape(self.type.get_shape())}"
            )

    def empty(self, c: Emitter) -> Value:
        """What there is before the first iteration."""
        return c.op("zeros", shape=(self.length or 0, *self.type.get_shape()), dtype=self.type.element_type)

    def added(self, c: Emitter, rows: Value, step: Value, row: Value) -> Value:
        """The rows after an iteration."""
        if self.length is None:
            return c.op("concatenate", rows, c.op("expand_dims", row, axis=0), axis=0)
        at = c.op("subtract", _number(c, self.length - 1), step) if self.backwards else step
        return c.op("scatter_nd", rows, c.reshape(at, (1,)), row)


def _recursive(
    c: Emitter, body: Body, state: Sequence[Value], rows: Sequence[_Rows], limit: Value | None, tested: bool
) -> tuple[list[Value], list[Value]]:
    """The carried values and the stacked rows after a loop that is a recursive function.

    With `tested` the first carried value says whether the next iteration runs; `limit` is how many run at most.
    """
    types, _ = settled(c, [value.type for value in state], lambda values: body(_number(c, 0), values)[0])
    started = [_number(c, 0), *state, *(row.empty(c) for row in rows)]
    first = 1 + len(state)

    def step(values: Sequence[Value]) -> list[Value]:
        after, given = body(values[0], values[1:first])
        collected = [
            kind.added(c, before, values[0], row) for kind, before, row in zip(rows, values[first:], given, strict=True)
        ]
        return [c.op("add", values[0], _number(c, 1)), *after, *collected]

    def test(values: Sequence[Value]) -> Value:
        below = None if limit is None else c.op("less", values[0], limit)
        going = values[1] if tested else None
        if below is None or going is None:
            return below or going or c.constant(np.asarray(True))
        return c.op("logical_and", below, going)

    with_rows, _ = settled(c, [started[0].type, *types, *(value.type for value in started[first:])], step)
    results = repeat(c, started, with_rows, test, step)
    return results[1:first], results[first:]


# Scan.


@converts("Scan", since=9)
def scan(c: Emitter, node: NodeView) -> list[Value]:
    body, scanned_count = node.graph("body"), node.integer("num_scan_inputs")
    values = node.rest()
    state, scanned = _divided(values, scanned_count, body)
    results = len(body.output) - len(state)
    in_axes = _per_value(node, "scan_input_axes", scanned_count)
    backwards = _per_value(node, "scan_input_directions", scanned_count)
    out_axes = _per_value(node, "scan_output_axes", results)
    out_backwards = _per_value(node, "scan_output_directions", results)
    axes = [normalize_axis(axis, x.rank) for axis, x in zip(in_axes, scanned, strict=True)]
    return _scanned(c, node, state, list(zip(scanned, axes, backwards, strict=True)), out_axes, out_backwards)


@converts("Scan")
def scan_of_batches(c: Emitter, node: NodeView) -> list[Value]:
    """The form of opset 8: sequences along the first axis, each scanned on its own, and no choice of axes."""
    body, scanned_count = node.graph("body"), node.integer("num_scan_inputs")
    if node.optional(0) is not None:
        raise Problem("sequences of different lengths (input 0, sequence_lens) are not supported")
    state, scanned = _divided(node.rest(1), scanned_count, body)
    backwards = _per_value(node, "directions", scanned_count)
    results = len(body.output) - len(state)
    batches = {x.static_shape("the number of sequences must be known", [0])[0] for x in (*state, *scanned)}
    if len(batches) != 1:
        raise Problem(f"the inputs have {' and '.join(map(str, sorted(batches)))} sequences")
    columns: list[list[Value]] = []
    for at in range(batches.pop()):
        first, rows = ([_element(c, x, 0, at) for x in values] for values in (state, scanned))
        parts = [(row, 0, back) for row, back in zip(rows, backwards, strict=True)]
        columns.append(_scanned(c, node, first, parts, (0,) * results, (0,) * results))
    return [c.op("stack", *column, axis=0) for column in zip(*columns, strict=True)]


def _divided(values: list[Value], scanned: int, body: GraphProto) -> tuple[list[Value], list[Value]]:
    """The carried values and the scanned ones; raises Problem where the body does not fit."""
    state, rest = values[: len(values) - scanned], values[len(values) - scanned :]
    if not 0 < scanned <= len(values) or len(body.output) < len(state):
        raise Problem(f"it has {len(values)} inputs and {scanned} of them are scanned, which its body does not fit")
    return state, rest


def _scanned(
    c: Emitter,
    node: NodeView,
    state: list[Value],
    scanned: Sequence[tuple[Value, int, int]],
    out_axes: Sequence[int],
    out_backwards: Sequence[int],
) -> list[Value]:
    """The results of a scan; `scanned` are values with their axis and whether they are walked backwards."""
    body = node.graph("body")
    lengths = {x.static_shape("the number of iterations must be known", [axis])[axis] for x, axis, _ in scanned}
    if len(lengths) != 1:
        raise Problem(f"the scanned inputs have {' and '.join(map(str, sorted(lengths)))} elements")
    length = lengths.pop()

    def iteration(take: Callable[[Value, int, int], Value], state: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        outputs = node.tensors(body, [*state, *(take(*each) for each in scanned)])
        return outputs[: len(state)], outputs[len(state) :]

    if 1 <= length <= MAX_UNROLLED:
        rows: list[list[Value]] = []
        for index in range(length):

            def place(x: Value, axis: int, back: int, at: int = index) -> Value:
                return _element(c, x, axis, length - 1 - at if back else at)

            state, given = iteration(place, state)
            rows.append(given)
        stacked = [
            c.op("stack", *(row[at] for row in (reversed(rows) if backwards else rows)), axis=axis)
            for at, (axis, backwards) in enumerate(zip(out_axes, out_backwards, strict=True))
        ]
        return [*state, *stacked]

    def step(number: Value, values: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        def take(x: Value, axis: int, back: int) -> Value:
            at = c.op("subtract", _number(c, length - 1), number) if back else number
            return c.op("take", x, at, axis=axis, mode="fast")

        return iteration(take, values)

    kinds = _row_types(c, step, state)
    rows_ = [_Rows(type_, length, bool(back)) for type_, back in zip(kinds, out_backwards, strict=True)]
    after, stacked = _recursive(c, step, state, rows_, _number(c, length), False)
    return [*after, *(_moved(c, value, axis) for value, axis in zip(stacked, out_axes, strict=True))]


def _row_types(c: Emitter, body: Body, state: Sequence[Value]) -> list[Tensor]:
    """The types of the rows that an iteration gives."""
    return settled(
        c, [value.type for value in state], lambda values: [v for part in body(_number(c, 0), values) for v in part]
    )[1]


def _moved(c: Emitter, value: Value, axis: int) -> Value:
    """The first axis moved to a place."""
    to = normalize_axis(axis, value.rank)
    order = list(range(1, value.rank))
    return c.transpose(value, [*order[:to], 0, *order[to:]])


def _per_value(node: NodeView, name: str, length: int) -> tuple[int, ...]:
    values = node.integers(name, (0,) * length)
    if len(values) != length:
        raise Problem(f"attribute '{name}' must have {length} entries, but is {list(values)}")
    return values


def _element(c: Emitter, x: Value, axis: int, at: int) -> Value:
    """The slice at one position of an axis, without the axis."""
    return c.op("squeeze", c.op("strided_slice", x, begin=(at,), end=(at + 1,), axes=(axis,)), axis=(axis,))


# Loop.


@converts("Loop")
def loop(c: Emitter, node: NodeView) -> Sequence[Item]:
    """A loop with a limit, a condition, both or none; without a condition what the body says of it is ignored."""
    state = node.items(2)
    limit, condition = (_scalar(c, node.optional(position)) for position in (0, 1))
    trips = int(limit.array()) if limit is not None and limit.known else None
    if (trips is not None and trips <= MAX_UNROLLED) or (condition is not None and condition.known):
        written = _written_out(c, node, trips, condition, state)
        if written is not None:
            return written
    return _looping(
        c,
        node,
        trips,
        limit,
        condition,
        tensors(state, "carried by a loop: input 0 (M) must be known when the model is imported"),
    )


def _scalar(c: Emitter, value: Value | None) -> Value | None:
    return value if value is None or not value.rank else c.reshape(value, ())


def _written_out(
    c: Emitter, node: NodeView, trips: int | None, condition: Value | None, state: list[Item]
) -> list[Item] | None:
    """The results of a loop whose conditions are known at import; None where one is not, or the loop is too long."""
    body = node.graph("body")
    rows: list[list[Item]] = []
    if trips is not None and trips > MAX_UNROLLED:
        return None
    for step in count():
        if step == trips:
            break
        if condition is not None and not condition.known:
            return None
        if condition is not None and not bool(condition.array()):
            break
        if step == MAX_UNROLLED:
            return None
        outputs = node.subgraph(body, [_number(c, step), c.constant(np.asarray(True)), *state])
        condition = None if condition is None else _scalar(c, tensors(outputs[:1], "a condition")[0])
        state = outputs[1 : 1 + len(state)]
        rows.append(outputs[1 + len(state) :])
    if not rows and len(body.output) > 1 + len(state):
        return None
    columns = [tensors(column, "a row of a loop") for column in zip(*rows, strict=True)]
    return [*state, *(c.op("stack", *column, axis=0) for column in columns)]


def _looping(
    c: Emitter, node: NodeView, trips: int | None, limit: Value | None, condition: Value | None, state: list[Value]
) -> list[Value]:
    """The results of a loop that is a recursive function."""
    body = node.graph("body")
    always = True

    def whole(number: Value, values: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        # An iteration only runs where the condition is true.
        outputs = node.tensors(body, [number, c.constant(np.asarray(True)), *values])
        nonlocal always
        going = _scalar(c, outputs[0])
        assert going is not None
        always &= going.known and bool(going.array())
        return [going, *outputs[1 : 1 + len(state)]], outputs[1 + len(state) :]

    def untested(number: Value, values: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        after, rows = whole(number, values)
        return after[1:], rows

    def tested(number: Value, values: Sequence[Value]) -> tuple[list[Value], list[Value]]:
        return whole(number, values[1:])

    kinds = _row_types(c, untested, state)
    if condition is None or (always and condition.known and bool(condition.array())):
        if limit is None:
            raise Problem("it has no limit and its condition is always true: it would never end")
        length = None if trips is None else max(trips, 0)
        rows = [_Rows(type_, length) for type_ in kinds]
        after, stacked = _recursive(c, untested, state, rows, limit, False)
        return [*after, *stacked]
    rows = [_Rows(type_, None) for type_ in kinds]
    after, stacked = _recursive(c, tested, [condition, *state], rows, limit, True)
    return [*after[1:], *stacked]


__all__ = ["MAX_UNROLLED", "loop", "scan", "scan_of_batches"]
