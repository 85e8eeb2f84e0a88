"""LSTM, GRU and plain recurrent layers: one recurrent operator for each layer and direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from relay_mlir.dialects.relay.types import numpy_dtype, tensor
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.torch.node import NodeView
from relay_mlir.frontends.torch.registry import converts


@dataclass(frozen=True)
class Parameters:
    """The weights of one direction of a layer: (gates * H, I), (gates * H, H), and two biases (gates * H,)."""

    weight: Value
    recurrence: Value
    bias: Value
    recurrent_bias: Value


_Compute = Callable[[Sequence[np.ndarray]], np.ndarray]

_Direction = Callable[[Value, Parameters, Sequence[Value], bool], list[Value]]
"""Rows and last states from the data, the weights, the first states, and whether it goes backwards."""


def derived(c: Emitter, suffix: str, values: Sequence[Value], rows: int, compute: _Compute) -> Value:
    """A weight computed from weights when it is needed, `rows` along its first dimension."""
    first = values[0]
    held = list(values)
    type_ = tensor((rows, *first.shape[1:]), first.element)
    name = f"{first.name}.{suffix}" if first.name else ""
    return c.weight(type_, lambda: compute([value.array() for value in held]), name)


def gates(c: Emitter, value: Value, order: Sequence[int], count: int) -> Value:
    """Some of the `count` blocks of rows of a weight, in another order."""
    size = value.static_shape("the number of units must be known", [0])[0] // count
    if value.load is not None:
        suffix = "gates" + "".join(map(str, order))
        parts = [slice(at * size, (at + 1) * size) for at in order]
        return derived(
            c,
            suffix,
            [value],
            size * len(order),
            lambda arrays: np.concatenate([arrays[0][part] for part in parts], axis=0),
        )
    blocks = c.ops("split", value, indices_or_sections=tuple(range(size, size * count, size)), axis=0)
    return c.op("concatenate", *(blocks[at] for at in order), axis=0)


def added(c: Emitter, a: Value, b: Value) -> Value:
    """The sum of two biases, computed at import where they are weights."""
    if a.load is not None and b.load is not None:
        return derived(c, "sum", [a, b], a.shape[0], lambda arrays: np.add(*arrays))
    return c.op("add", a, b)


def _layers(c: Emitter, node: NodeView, count: int, states: Sequence[Value], run: _Direction) -> list[Value]:
    """All layers and directions; `states` are the first states, (layers * directions, B, H) each."""
    layers, directions = node.integer("num_layers"), 2 if node.flag("bidirectional") else 1
    if node.real("dropout") != 0 and node.flag("train") and layers > 1:
        raise Problem("argument 'train' is True: export the module in eval() mode")
    node.ignore("train")
    x = node.value("input")
    if x.rank != 3:
        raise Problem(f"the input must have 3 dimensions, but is {x.type}")
    batch_first = node.flag("batch_first")
    x = c.transpose(x, (1, 0, 2)) if batch_first else x
    weights = _parameters(c, node, layers * directions, count)
    first = [_taken_apart(c, state) for state in states]
    last: list[list[Value]] = []
    for layer in range(layers):
        rows: list[Value] = []
        for direction in range(directions):
            at = layer * directions + direction
            row, *after = run(x, weights[at], [state[at] for state in first], direction == 1)
            rows.append(row)
            last.append(after)
        x = c.op("concatenate", *rows, axis=2) if directions == 2 else rows[0]
    stacked = [c.op("stack", *column, axis=0) for column in zip(*last, strict=True)]
    return [c.transpose(x, (1, 0, 2)) if batch_first else x, *stacked]


def _taken_apart(c: Emitter, state: Value) -> list[Value]:
    size = state.static_shape("the number of layers must be known", [0])[0]
    parts = c.ops("split", state, indices_or_sections=tuple(range(1, size)), axis=0) if size > 1 else [state]
    return [c.op("squeeze", part, axis=(0,)) for part in parts]


def _parameters(c: Emitter, node: NodeView, count: int, gates_: int) -> list[Parameters]:
    """The weights of each direction of each layer, zeros for biases that are not there."""
    params, biases = node.values("params"), node.flag("has_biases")
    each = 4 if biases else 2
    if len(params) != each * count:
        raise Problem(
            f"argument 'params' has {len(params)} tensors, but {count} directions take {each} each "
            "(projections, proj_size, are not supported)"
        )
    found: list[Parameters] = []
    for at in range(0, len(params), each):
        own = params[at : at + each]
        if own[0].shape[0] != own[1].shape[0] or own[1].shape[0] != gates_ * own[1].shape[1]:
            raise Problem("the weights do not fit each other (projections, proj_size, are not supported)")
        if not biases:
            zeros = c.constant(np.zeros(own[0].static_shape("units")[0], numpy_dtype(own[0].element)))
            own = [*own, zeros, zeros]
        found.append(Parameters(*own))
    return found


@converts("aten.lstm.input")
def lstm(c: Emitter, node: NodeView) -> list[Value]:
    """Torch's gates are i, f, g, o; relay's i, o, f, c."""
    order = (0, 3, 1, 2)

    def run(x: Value, p: Parameters, states: Sequence[Value], backwards: bool) -> list[Value]:
        weight, recurrence = (gates(c, value, order, 4) for value in (p.weight, p.recurrence))
        bias = gates(c, added(c, p.bias, p.recurrent_bias), order, 4)
        return c.ops("nn.lstm", x, weight, recurrence, bias, *states, reverse=backwards)

    return _layers(c, node, 4, node.values("hx"), run)


@converts("aten.gru.input")
def gru(c: Emitter, node: NodeView) -> list[Value]:
    """Torch's gates are r, z, n; relay's z, r, c, and the bias of the candidate stays apart."""

    def run(x: Value, p: Parameters, states: Sequence[Value], backwards: bool) -> list[Value]:
        size = p.bias.shape[0] // 3
        recurrent = gates(c, p.recurrent_bias, (1, 0), 3)
        zeros = c.constant(np.zeros(size, numpy_dtype(x.element)))
        bias = added(c, gates(c, p.bias, (1, 0, 2), 3), _joined(c, recurrent, zeros))
        operands = [
            gates(c, p.weight, (1, 0, 2), 3),
            gates(c, p.recurrence, (1, 0), 3),
            gates(c, p.recurrence, (2,), 3),
            bias,
            gates(c, p.recurrent_bias, (2,), 3),
        ]
        return c.ops("nn.gru", x, *operands, *states, linear_before_reset=True, reverse=backwards)

    return _layers(c, node, 3, [node.value("hx")], run)


def _joined(c: Emitter, a: Value, b: Value) -> Value:
    if a.load is not None and b.load is not None:
        return derived(c, "padded", [a, b], a.shape[0] + b.shape[0], np.concatenate)
    return c.op("concatenate", a, b, axis=0)


@converts("aten.rnn_tanh.input", "aten.rnn_relu.input")
def rnn(c: Emitter, node: NodeView) -> list[Value]:
    functions = {"activations": ("Relu",)} if node.operator == "rnn_relu" else {}

    def run(x: Value, p: Parameters, states: Sequence[Value], backwards: bool) -> list[Value]:
        bias = added(c, p.bias, p.recurrent_bias)
        return c.ops("nn.rnn", x, p.weight, p.recurrence, bias, *states, reverse=backwards, **functions)

    return _layers(c, node, 1, [node.value("hx")], run)
