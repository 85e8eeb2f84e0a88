"""Recurrent layers kept whole: a plain recurrent layer, GRU and LSTM, one direction each.

data: (T, B, I), T steps of B sequences. The layer has H units. Weights stand for x * W^T + h * R^T + b, the gates one
below the other in ONNX's order. A layer of two directions is two operators, one with `reverse`, which goes from the
last step to the first; each result row stands at the step that it was computed for.

With `with_lengths` an operand (B,) of i32 or i64 gives the number of steps of each sequence: at later steps the
state stays as it is and the result row is 0. The states of a sequence of no steps are 0, as onnxruntime has it.

`activations` names the functions f, g (and h) of recurrent_activations.py, `alphas` and `betas` their parameters, where
these are not the defaults. `clip` bounds what goes into f and g to [-clip, clip]; the cell goes into h as it is.

f16 and bf16 compute in f32; the state is not rounded between steps, the results are rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.contraction import accumulator, same_dim
from relay_mlir.dialects.relay.elementwise import Kind, check_kind, common_element
from relay_mlir.dialects.relay.op import Operator, operator
from relay_mlir.dialects.relay.recurrent_activations import Activation, activation, check_parameters
from relay_mlir.dialects.relay.types import Tensor, element_type, numpy_dtype, show_shape, tensor

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder

    Array = npt.NDArray[Any]


def _known_dim(type_: Tensor, position: int, expected: int, what: str) -> int:
    return same_dim(type_.get_shape()[position], expected, what)


def _check_rank(type_: Tensor, rank: int, what: str) -> None:
    if type_.get_num_dims() != rank:
        raise VerifyException(f"{what} must have {rank} dimensions, but has shape {show_shape(type_.get_shape())}")


@dataclass(frozen=True)
class Recurrent(Operator):
    """What the three layers share: the operands' types, and the loop over the steps."""

    gates: ClassVar[int]
    """Blocks of H rows in the weight of the data."""
    states: ClassVar[int]
    """Tensors (B, H) that are carried from step to step; the first is the result of a step."""
    functions: ClassVar[tuple[str, ...]]
    """The activations where none are given."""

    activations: tuple[str, ...] = ()
    alphas: tuple[float, ...] = ()
    betas: tuple[float, ...] = ()
    clip: float | None = None
    reverse: bool = False
    with_lengths: bool = False

    @cached_property
    def chosen(self) -> tuple[Activation, ...]:
        """The activation functions; raises VerifyException where they are not as many as the layer has."""
        names = self.activations or self.functions
        if len(names) != len(self.functions):
            raise VerifyException(f"expected {len(self.functions)} activations, but found {len(names)}")
        check_parameters(names, self.alphas, self.betas)
        alphas, betas = (self.alphas or (None,) * len(names)), (self.betas or (None,) * len(names))
        return tuple(activation(*parameters) for parameters in zip(names, alphas, betas, strict=True))

    @property
    def extras(self) -> tuple[str, ...]:
        """Names of the operands behind the initial states."""
        return ("lengths",) if self.with_lengths else ()

    # The type relation.

    def recurrences(self, hidden: int) -> Sequence[tuple[int, ...]]:
        """The shapes of the operands between weight and states, for H units."""
        raise NotImplementedError

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        _ = self.chosen
        if self.clip is not None and not self.clip >= 0:
            raise VerifyException(f"clip must not be negative, but is {self.clip}")
        fixed = 2 + len(self.recurrences(1))
        expected = fixed + self.states + len(self.extras)
        if len(types) != expected:
            names = [*self.operands[:fixed], *self.state_names, *self.extras]
            raise VerifyException(f"expected {expected} operands ({', '.join(names)}), but found {len(types)}")
        floats = [type_ for position, type_ in enumerate(types) if not self._is_lengths(position)]
        check_kind(common_element(floats), Kind.FLOAT)
        steps, batch, hidden = self._dimensions(types)
        element = types[0].element_type
        row = tensor((batch, hidden), element)
        return [tensor((steps, batch, hidden), element), *[row] * self.states]

    @property
    def state_names(self) -> tuple[str, ...]:
        """The names of the initial states."""
        return ("initial_h", "initial_c")[: self.states]

    def _is_lengths(self, position: int) -> bool:
        first = 2 + len(self.recurrences(1)) + self.states
        return self.with_lengths and position == first + self.extras.index("lengths")

    def _dimensions(self, types: Sequence[Tensor]) -> tuple[int, int, int]:
        """T, B and H; raises VerifyException where the operands' shapes do not fit each other."""
        data, weight, recurrence = types[:3]
        for type_, rank, what in ((data, 3, "data"), (weight, 2, "weight"), (recurrence, 2, "recurrence")):
            _check_rank(type_, rank, what)
        steps, batch, inputs = data.get_shape()
        same_dim(inputs, weight.get_shape()[1], "the last dimensions of data and weight")
        hidden = recurrence.get_shape()[1]
        shapes = self.recurrences(hidden)
        _known_dim(weight, 0, self._scaled(hidden, self.gates), "rows of weight and gates times units")
        names = [*self.operands[2 : 2 + len(shapes)], *self.state_names, *self.extras]
        rows = [(batch, hidden)] * self.states
        others = [(batch,) if name == "lengths" else (self._scaled(hidden, 3),) for name in self.extras]
        for name, type_, shape in zip(names, types[2:], [*shapes, *rows, *others], strict=True):
            _check_rank(type_, len(shape), name)
            for position, size in enumerate(shape):
                found = _known_dim(type_, position, size, f"dimension {position} of {name} and the layer's")
                if name in self.state_names and position == 0:
                    batch = found
            if name == "lengths" and type_.element_type not in (i32, i64):
                raise VerifyException(f"lengths must be i32 or i64, but are {type_.element_type}")
        return steps, batch, hidden

    @staticmethod
    def _scaled(hidden: int, gates: int) -> int:
        return hidden if hidden < 0 else hidden * gates

    # The meaning.

    def step(
        self, projected: Array, states: Sequence[Array], weights: Sequence[Array], extra: Array | None
    ) -> list[Array]:
        """The states after a step, from x * W^T (B, gates * H); `extra` are the peepholes."""
        raise NotImplementedError

    def function(self, which: int, x: Array) -> Array:
        """An activation function, behind the clip if it is one of the gates'."""
        import numpy as np

        bounded = x if self.clip is None or which == 2 else np.clip(x, -self.clip, self.clip)
        return self.chosen[which].numpy(bounded)

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        element = element_type(args[0].dtype)
        wide = numpy_dtype(accumulator(element, element, element))
        fixed = 2 + len(self.recurrences(1))
        data, weight, *weights = [cast("Array", arg.astype(wide, copy=False)) for arg in args[:fixed]]
        states = [arg.astype(wide, copy=False) for arg in args[fixed : fixed + self.states]]
        extra = dict(zip(self.extras, args[fixed + self.states :], strict=True))
        peepholes = extra["peepholes"].astype(wide, copy=False) if "peepholes" in extra else None
        steps, batch, hidden = len(data), data.shape[1], weights[0].shape[1]
        if "lengths" in extra:
            states = [np.where(extra["lengths"][:, None] > 0, state, 0).astype(wide) for state in states]
        rows = np.zeros((steps, batch, hidden), wide)
        with np.errstate(all="ignore"):
            projected = cast("Array", np.matmul(data, weight.T))
            for at in reversed(range(steps)) if self.reverse else range(steps):
                after = self.step(projected[at], states, weights, peepholes)
                running = np.ones((batch, 1), np.bool_)
                if "lengths" in extra:
                    running = (at < extra["lengths"])[:, None]
                states = [np.where(running, new, old) for new, old in zip(after, states, strict=True)]
                rows[at] = np.where(running, after[0], 0)
            return [array.astype(args[0].dtype, copy=False) for array in (rows, *states)]

    # The lower form.

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        from relay_mlir.dialects.relay.recurrent_lower import lower

        return lower(cast(Recurrent, self), build, args, results)


@operator
class Rnn(Recurrent):
    """A plain recurrent layer: h' = f(x * W^T + h * R^T + b).

    data: (T, B, I). weight: (H, I). recurrence: (H, H). bias: (H,). states: initial_h (B, H), then lengths (B,) if
    `with_lengths`. Results: every h (T, B, H) and the last (B, H). ONNX RNN.
    """

    name = "nn.rnn"
    operands = ("data", "weight", "recurrence", "bias", "states*")
    gates, states = 1, 1
    functions = ("Tanh",)

    def recurrences(self, hidden: int) -> Sequence[tuple[int, ...]]:
        return [(hidden, hidden), (hidden,)]

    def step(
        self, projected: Array, states: Sequence[Array], weights: Sequence[Array], extra: Array | None
    ) -> list[Array]:
        recurrence, bias = weights
        return [self.function(0, projected + bias + states[0] @ recurrence.T)]


@operator
class Gru(Recurrent):
    """A layer of gated recurrent units.

    z, r = f(x * W[z,r]^T + h * R[z,r]^T + b[z,r]), c = g(x * W[c]^T + b[c] + d), h' = (1 - z) * c + z * h, where d is
    (r * h) * Rc^T + bc, or r * (h * Rc^T + bc) with `linear_before_reset`.

    data: (T, B, I). weight: (3 H, I), gates z, r, c. recurrence: (2 H, H), gates z, r. candidate: (H, H), Rc.
    bias: (3 H,), gates z, r, c. candidate_bias: (H,), bc. states: initial_h (B, H), then lengths (B,) if
    `with_lengths`. Results: every h (T, B, H) and the last (B, H). ONNX GRU.
    """

    name = "nn.gru"
    operands = ("data", "weight", "recurrence", "candidate", "bias", "candidate_bias", "states*")
    gates, states = 3, 1
    functions = ("Sigmoid", "Tanh")
    linear_before_reset: bool = False

    def recurrences(self, hidden: int) -> Sequence[tuple[int, ...]]:
        double, triple = self._scaled(hidden, 2), self._scaled(hidden, 3)
        return [(double, hidden), (hidden, hidden), (triple,), (hidden,)]

    def step(
        self, projected: Array, states: Sequence[Array], weights: Sequence[Array], extra: Array | None
    ) -> list[Array]:
        recurrence, candidate, bias, candidate_bias = weights
        (h,) = states
        units = h.shape[1]
        projected = projected + bias
        both = self.function(0, projected[:, : 2 * units] + h @ recurrence.T)
        z, r = both[:, :units], both[:, units:]
        if self.linear_before_reset:
            rest = r * (h @ candidate.T + candidate_bias)
        else:
            rest = (r * h) @ candidate.T + candidate_bias
        return [(1 - z) * self.function(1, projected[:, 2 * units :] + rest) + z * h]


@operator
class Lstm(Recurrent):
    """A layer of long short-term memory.

    i, f = f(...), c' = f * c + i * g(...), o = f(...), h' = o * h(c'), where ... is x * W^T + h * R^T + b of the gate,
    and with `with_peepholes` also p[i] * c, p[f] * c and p[o] * c'. With `couple` f is 1 - i.

    data: (T, B, I). weight: (4 H, I), gates i, o, f, c. recurrence: (4 H, H). bias: (4 H,). states: initial_h and
    initial_c (B, H), then lengths (B,) if `with_lengths`, then peepholes (3 H,), gates i, o, f, if `with_peepholes`.
    Results: every h (T, B, H), the last h and the last c (B, H). ONNX LSTM.
    """

    name = "nn.lstm"
    operands = ("data", "weight", "recurrence", "bias", "states*")
    gates, states = 4, 2
    functions = ("Sigmoid", "Tanh", "Tanh")
    couple: bool = False
    with_peepholes: bool = False

    @property
    def extras(self) -> tuple[str, ...]:
        return (*super().extras, *(("peepholes",) if self.with_peepholes else ()))

    def recurrences(self, hidden: int) -> Sequence[tuple[int, ...]]:
        return [(self._scaled(hidden, 4), hidden), (self._scaled(hidden, 4),)]

    def step(
        self, projected: Array, states: Sequence[Array], weights: Sequence[Array], extra: Array | None
    ) -> list[Array]:
        import numpy as np

        recurrence, bias = weights
        h, c = states
        i, o, f, g = np.split(projected + bias + h @ recurrence.T, 4, axis=1)
        pi, po, pf = np.split(extra, 3) if extra is not None else (None, None, None)
        i = self.function(0, i if pi is None else i + pi * c)
        f = 1 - i if self.couple else self.function(0, f if pf is None else f + pf * c)
        c = f * c + i * self.function(1, g)
        o = self.function(0, o if po is None else o + po * c)
        return [o * self.function(2, c), c]


__all__ = ["Gru", "Lstm", "Recurrent", "Rnn"]
