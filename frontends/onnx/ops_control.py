"""Control flow: If, and loops whose number of iterations is known at import, which are written out."""

from __future__ import annotations

from itertools import count

import numpy as np
from xdsl.ir import Block, Region

from relay_mlir.dialects.relay.core import IfOp, YieldOp
from relay_mlir.dialects.relay.types import normalize_axis, show_shape
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.registry import converts


@converts("If")
def if_(c: Emitter, node: NodeView) -> list[Value]:
    """One branch where the condition is known at import, else `relay.if`."""
    condition = node.input(0)
    branches = (node.graph("then_branch"), node.graph("else_branch"))
    if condition.rank:
        condition = c.reshape(condition, ())
    if condition.known:
        return node.subgraph(branches[0 if bool(condition.array()) else 1], ())
    regions: list[Region] = []
    yielded: list[list[Value]] = []
    for graph in branches:
        block = Block()
        with c.into(block):
            values = node.subgraph(graph, ())
            c.append(YieldOp(*map(c.ssa, values)))
        regions.append(Region(block))
        yielded.append(values)
    _check_branches(*yielded)
    op = c.append(IfOp(c.ssa(condition), [value.type for value in yielded[0]], regions[0], regions[1]))
    return [Value(value.type, ssa=result) for value, result in zip(yielded[0], op.results, strict=True)]


def _check_branches(then: list[Value], other: list[Value]) -> None:
    """Raises Problem unless both branches give tensors of the same types."""
    if len(then) != len(other):
        raise Problem(f"the branches give {len(then)} and {len(other)} outputs")
    for position, (a, b) in enumerate(zip(then, other, strict=True)):
        if a.type != b.type:
            raise Problem(
                f"output {position} is {a.element} {show_shape(a.shape)} in the then branch, but {b.element} "
                f"{show_shape(b.shape)} in the else branch"
            )


MAX_UNROLLED = 128
"""The number of iterations up to which a loop is written out."""


def _unrolled_too_far(iterations: str) -> Problem:
    return Problem(f"loops of at most {MAX_UNROLLED} iterations are supported (they are written out), not {iterations}")


@converts("Scan", since=9)
def scan(c: Emitter, node: NodeView) -> list[Value]:
    body, scanned_count = node.graph("body"), node.integer("num_scan_inputs")
    values = node.rest()
    state, scanned = values[: len(values) - scanned_count], values[len(values) - scanned_count :]
    results = len(body.output) - len(state)
    if not scanned or results < 0:
        raise Problem(
            f"it has {len(values)} inputs and {scanned_count} of them are scanned, which its body does not fit"
        )
    in_axes = _per_value(node, "scan_input_axes", scanned_count)
    backwards = _per_value(node, "scan_input_directions", scanned_count)
    out_axes = _per_value(node, "scan_output_axes", results)
    out_backwards = _per_value(node, "scan_output_directions", results)
    axes = [normalize_axis(axis, x.rank) for axis, x in zip(in_axes, scanned, strict=True)]
    lengths = {
        x.static_shape("the number of iterations must be known", [axis])[axis]
        for axis, x in zip(axes, scanned, strict=True)
    }
    length = max(lengths)
    if len(lengths) != 1 or not 1 <= length <= MAX_UNROLLED:
        raise _unrolled_too_far(", ".join(map(str, sorted(lengths))))
    rows: list[list[Value]] = []
    for step in range(length):
        taken = [
            _element(c, x, axis, length - 1 - step if back else step)
            for x, axis, back in zip(scanned, axes, backwards, strict=True)
        ]
        outputs = node.subgraph(body, [*state, *taken])
        state = outputs[: len(state)]
        rows.append(outputs[len(state) :])
    stacked = [
        c.op("stack", *(row[at] for row in (reversed(rows) if out_backwards[at] else rows)), axis=out_axes[at])
        for at in range(results)
    ]
    return [*state, *stacked]


def _per_value(node: NodeView, name: str, length: int) -> tuple[int, ...]:
    values = node.integers(name, (0,) * length)
    if len(values) != length:
        raise Problem(f"attribute '{name}' must have {length} entries, but is {list(values)}")
    return values


def _element(c: Emitter, x: Value, axis: int, at: int) -> Value:
    """The slice at one position of an axis, without the axis."""
    return c.op("squeeze", c.op("strided_slice", x, begin=(at,), end=(at + 1,), axes=(axis,)), axis=(axis,))


@converts("Loop")
def loop(c: Emitter, node: NodeView) -> list[Value]:
    body, limit, condition = node.graph("body"), node.known_or_none(0), node.optional(1)
    trips = None if limit is None else int(limit.reshape(()))
    state = node.rest(2) if len(node.inputs) > 2 else []
    rows: list[list[Value]] = []
    for step in count():
        if step == trips or (condition is not None and not _known_condition(condition)):
            break
        if step == MAX_UNROLLED:
            raise _unrolled_too_far("more" if trips is None else str(trips))
        running = c.constant(np.asarray(True)) if condition is None else condition
        outputs = node.subgraph(body, [c.constant(np.asarray(step, np.int64)), running, *state])
        condition = outputs[0] if condition is not None else None  # without one, what the body says is ignored
        state = outputs[1 : 1 + len(state)]
        rows.append(outputs[1 + len(state) :])
    if not rows and len(body.output) > 1 + len(state):
        raise Problem("a loop without iterations gives no rows to stack, and their shapes are not known")
    return [*state, *(c.op("stack", *column, axis=0) for column in zip(*rows, strict=True))]


def _known_condition(condition: Value) -> bool:
    if not condition.known:
        raise Problem("whether a loop goes on must be known when the model is imported: loops are written out")
    return bool(condition.array().reshape(()))
