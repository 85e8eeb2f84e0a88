"""LSTM, GRU and RNN: one recurrent operator a direction, what the node leaves out put in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay_mlir.dialects.relay.recurrent_activations import FUNCTIONS
from relay_mlir.dialects.relay.types import numpy_dtype, show_shape
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.registry import converts

_SPELLING = {name.lower(): name for name in FUNCTIONS}
"""The functions' names, which ONNX models write in any case."""


@dataclass(frozen=True)
class _Layer:
    """What the three nodes read in the same way."""

    c: Emitter
    node: NodeView
    gates: int
    functions: tuple[str, ...]
    """The activations of one direction where the node names none."""

    @property
    def directions(self) -> Sequence[bool]:
        """For each direction, whether it goes backwards."""
        allowed = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
        return allowed[self.node.choice("direction", *allowed, default="forward")]

    def data(self) -> tuple[Value, bool]:
        """The steps, sequences and inputs in this order; and whether sequences come first in the node."""
        data = self.node.input(0)
        batch_first = self.node.opset >= 14 and self.node.flag("layout")
        if data.rank != 3:
            raise Problem(f"input 0 (X) must have 3 dimensions, but has shape {show_shape(data.shape)}")
        return (self.c.transpose(data, (1, 0, 2)) if batch_first else data), batch_first

    def weights(self, position: int, rank: int) -> list[Value]:
        """An input with a leading dimension for the directions, one a direction."""
        return self.split(self.node.input(position), rank, self.node.input_name(position))

    def split(self, value: Value, rank: int, name: str) -> list[Value]:
        """The parts of a tensor along its leading dimension, which stands for the directions."""
        count = len(self.directions)
        if value.rank != rank or value.shape[0] != count:
            raise Problem(
                f"input {name} must have {rank} dimensions, of which the first is {count}, the number of directions, "
                f"but has shape {show_shape(value.shape)}"
            )
        if count == 1:
            return [self.c.op("squeeze", value, axis=(0,))]
        return [self.part(value, 0, at, 1, squeeze=True) for at in range(count)]

    def part(self, value: Value, axis: int, begin: int, size: int, squeeze: bool = False) -> Value:
        """A range of one axis; without the axis where it is one position."""
        found = self.c.op("strided_slice", value, begin=(begin,), end=(begin + size,), axes=(axis,))
        return self.c.op("squeeze", found, axis=(axis,)) if squeeze else found

    def units(self) -> int:
        """The number of units of a direction."""
        recurrence = self.node.input(2)
        if recurrence.rank != 3:
            raise Problem(f"input 2 (R) must have 3 dimensions, but has shape {show_shape(recurrence.shape)}")
        units = recurrence.static_shape("the number of units must be known", [2])[2]
        declared = self.node.integer("hidden_size", None)
        if declared not in (None, units):
            raise Problem(f"attribute 'hidden_size' is {declared}, but input 2 (R) is for {units} units")
        return units

    def biases(self, units: int) -> list[tuple[Value, Value]]:
        """The biases of the data and of the recurrence for each direction, zeros where there are none."""
        bias = self.node.optional(3)
        rows = self.gates * units
        if bias is None:
            zeros = self.c.constant(np.zeros(rows, numpy_dtype(self.node.input(0).element)))
            return [(zeros, zeros) for _ in self.directions]
        parts = self.split(bias, 2, self.node.input_name(3))
        return [(self.part(value, 0, 0, rows), self.part(value, 0, rows, rows)) for value in parts]

    def states(self, position: int, data: Value, units: int, batch_first: bool) -> list[Value]:
        """The initial state of each direction, zeros where the node has none."""
        state = self.node.optional(position)
        if state is None:
            batch = data.static_shape("the number of sequences must be known where an initial state is left out", [1])
            zeros = np.zeros((batch[1], units), numpy_dtype(data.element))
            return [self.c.constant(zeros) for _ in self.directions]
        state = self.c.transpose(state, (1, 0, 2)) if batch_first and state.rank == 3 else state
        return self.split(state, 3, self.node.input_name(position))

    def attributes(self) -> list[dict[str, Any]]:
        """The attributes that the operators of each direction take."""
        names = self._strings("activations")
        count = len(self.functions)
        given = [_SPELLING.get(name.lower(), name) for name in names] or [*self.functions] * len(self.directions)
        if len(given) != count * len(self.directions):
            raise Problem(f"attribute 'activations' must name {count} for each direction, but is {list(names)}")
        if unknown := [name for name in given if name not in FUNCTIONS]:
            raise Problem(f"attribute 'activations': '{unknown[0]}' is not one of {', '.join(FUNCTIONS)}")
        alphas, betas = (self._parameters(given, which) for which in ("alpha", "beta"))
        clip = self.node.real("clip", None)
        result: list[dict[str, Any]] = []
        for at, backwards in enumerate(self.directions):
            mine = slice(at * count, (at + 1) * count)
            attributes: dict[str, Any] = {"reverse": backwards, "with_lengths": self.node.optional(4) is not None}
            if tuple(given[mine]) != self.functions:
                attributes["activations"] = tuple(given[mine])
            attributes |= {"alphas": tuple(alphas[mine]), "betas": tuple(betas[mine])}
            if clip:  # 0 stands for none
                attributes["clip"] = clip
            result.append(attributes)
        return result

    def _strings(self, name: str) -> tuple[str, ...]:
        return self.node.strings(name, ())

    def _parameters(self, names: Sequence[str], which: str) -> list[float]:
        """A parameter of each function: the values given go to the functions that use it, in order."""
        values = list(self.node.reals(f"activation_{which}", ()))
        if not values:
            return []
        users = [getattr(FUNCTIONS[name], which) is not None for name in names]
        if len(values) > len(names) or (len(values) not in (sum(users), len(names))):
            raise Problem(
                f"attribute 'activation_{which}' has {len(values)} values, but {sum(users)} of the activations use one"
            )
        if len(values) == len(names):
            return values
        rest = iter(values)
        return [next(rest) if uses else 0.0 for uses in users]

    def outputs(self, results: Sequence[Sequence[Value]], batch_first: bool) -> list[Value]:
        """The node's outputs from those of its directions: all steps, then the last states."""
        rows = self.c.op("stack", *(result[0] for result in results), axis=1)
        states = [self.c.op("stack", *column, axis=0) for column in zip(*(r[1:] for r in results), strict=True)]
        if batch_first:
            rows = self.c.transpose(rows, (2, 0, 1, 3))
            states = [self.c.transpose(state, (1, 0, 2)) for state in states]
        return [rows, *states]

    def lengths(self) -> list[Value]:
        """The operand that gives the number of steps of each sequence, or none."""
        lengths = self.node.optional(4)
        return [] if lengths is None else [lengths]


@converts("RNN", since=7)
def rnn(c: Emitter, node: NodeView) -> list[Value]:
    layer = _Layer(c, node, 1, ("Tanh",))
    data, batch_first = layer.data()
    units = layer.units()
    initial = layer.states(5, data, units, batch_first)
    inputs = zip(layer.weights(1, 3), layer.weights(2, 3), layer.biases(units), initial, strict=True)
    results = [
        c.ops("nn.rnn", data, w, r, c.op("add", *bias), h, *layer.lengths(), **attributes)
        for (w, r, bias, h), attributes in zip(inputs, layer.attributes(), strict=True)
    ]
    return layer.outputs(results, batch_first)


@converts("GRU", since=7)
def gru(c: Emitter, node: NodeView) -> list[Value]:
    layer = _Layer(c, node, 3, ("Sigmoid", "Tanh"))
    data, batch_first = layer.data()
    units = layer.units()
    linear = node.flag("linear_before_reset")
    initial = layer.states(5, data, units, batch_first)
    inputs = zip(layer.weights(1, 3), layer.weights(2, 3), layer.biases(units), initial, strict=True)
    results: list[list[Value]] = []
    for (w, r, (own, recurrent), h), attributes in zip(inputs, layer.attributes(), strict=True):
        zeros = c.constant(np.zeros(units, numpy_dtype(data.element)))
        gates = c.op("concatenate", layer.part(recurrent, 0, 0, 2 * units), zeros, axis=0)
        operands = [
            layer.part(r, 0, 0, 2 * units),
            layer.part(r, 0, 2 * units, units),
            c.op("add", own, gates),
            layer.part(recurrent, 0, 2 * units, units),
        ]
        results.append(
            c.ops("nn.gru", data, w, *operands, h, *layer.lengths(), linear_before_reset=linear, **attributes)
        )
    return layer.outputs(results, batch_first)


@converts("LSTM", since=7)
def lstm(c: Emitter, node: NodeView) -> list[Value]:
    layer = _Layer(c, node, 4, ("Sigmoid", "Tanh", "Tanh"))
    data, batch_first = layer.data()
    units = layer.units()
    couple = node.flag("input_forget")
    hidden, cells = (layer.states(position, data, units, batch_first) for position in (5, 6))
    peepholes = node.optional(7)
    peeps: list[list[Value]] = [[] for _ in hidden]
    if peepholes is not None:
        peeps = [[p] for p in layer.split(peepholes, 2, node.input_name(7))]
    inputs = zip(layer.weights(1, 3), layer.weights(2, 3), layer.biases(units), hidden, cells, peeps, strict=True)
    results = [
        c.ops(
            "nn.lstm",
            *(data, w, r, c.op("add", *bias), h, cell, *layer.lengths(), *peep),
            couple=couple,
            with_peepholes=bool(peep),
            **attributes,
        )
        for (w, r, bias, h, cell, peep), attributes in zip(inputs, layer.attributes(), strict=True)
    ]
    return layer.outputs(results, batch_first)
