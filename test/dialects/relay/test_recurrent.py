"""Recurrent layers: evaluate against equations written out element by element, the lower form against evaluate."""

import math

import numpy as np
import pytest

from relay_mlir.dialects.relay.op import OPERATORS, Operator
from relay_mlir.dialects.relay.recurrent_activations import FUNCTIONS, activation
from test.support.mlir_oracle import AVAILABLE
from test.support.operator_check import dtype_of, run_lowered_together


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def operands(name: str, steps: int, batch: int, inputs: int, units: int, dtype: str = "float64") -> list[np.ndarray]:
    """Seeded operands of a layer."""
    random = np.random.default_rng(2)
    gates = {"nn.rnn": 1, "nn.gru": 3, "nn.lstm": 4}[name]
    shapes = [(steps, batch, inputs), (gates * units, inputs)]
    shapes += [(2 * units, units), (units, units)] if name == "nn.gru" else [(gates * units, units)]
    shapes += [(gates * units,)] + [(units,)] * (name == "nn.gru") + [(batch, units)] * (1 + (name == "nn.lstm"))
    return [(random.standard_normal(shape) * 0.7).astype(dtype_of(dtype)) for shape in shapes]


def dot(row: np.ndarray, other: np.ndarray) -> float:
    return sum(a * b for a, b in zip(row.tolist(), other.tolist(), strict=True))


def unit(
    name: str, linear: bool, j: int, x: np.ndarray, h: np.ndarray, c: float, rest: list[np.ndarray]
) -> list[float]:
    """The states of one unit of one sequence after a step, from the equations."""
    size = len(h)
    w = rest[0]
    if name == "nn.rnn":
        return [math.tanh(dot(w[j], x) + dot(rest[1][j], h) + rest[2][j])]
    if name == "nn.lstm":
        i, o, f, g = (dot(w[j + k * size], x) + dot(rest[1][j + k * size], h) + rest[2][j + k * size] for k in range(4))
        c = sigmoid(f) * c + sigmoid(i) * math.tanh(g)
        return [sigmoid(o) * math.tanh(c), c]
    r, rc, b, bc = rest[1:5]

    def gate(at: int) -> float:
        return sigmoid(dot(w[at], x) + dot(r[at], h) + b[at])

    own = dot(w[j + 2 * size], x) + b[j + 2 * size]
    if linear:
        inner = gate(j + size) * (dot(rc[j], h) + bc[j])
    else:
        inner = dot(rc[j], np.array([gate(k + size) * h[k] for k in range(size)])) + bc[j]
    return [(1 - gate(j)) * math.tanh(own + inner) + gate(j) * h[j]]


CASES = [
    ("nn.rnn", {}),
    ("nn.gru", {}),
    ("nn.gru", {"linear_before_reset": True}),
    ("nn.lstm", {}),
]


@pytest.mark.parametrize(("name", "attributes"), CASES)
@pytest.mark.parametrize("reverse", [False, True])
def test_equations(name: str, attributes: dict, reverse: bool) -> None:
    args = operands(name, 3, 2, 3, 4)
    count = 2 if name == "nn.lstm" else 1
    data, rest, states = args[0], args[1:-count], [state.copy() for state in args[-count:]]
    rows = np.zeros((3, 2, 4))
    for at in (2, 1, 0) if reverse else (0, 1, 2):
        after = [state.copy() for state in states]
        for sequence in range(2):
            for j in range(4):
                linear = attributes.get("linear_before_reset", False)
                cell = states[-1][sequence, j]
                new = unit(name, linear, j, data[at, sequence], states[0][sequence], cell, rest)
                for state, value in zip(after, new, strict=True):
                    state[sequence, j] = value
        states = after
        rows[at] = states[0]
    found = OPERATORS[name](reverse=reverse, **attributes).evaluate(args)
    for got, want in zip(found, [rows, *states], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_functions_at_large_arguments() -> None:
    """No function overflows into NaN, where its limit is a number."""
    x = np.array([-1e4, -200.0, -0.0, 0.0, 200.0, 1e4], np.float32)
    for name in FUNCTIONS:
        with np.errstate(all="ignore"):
            values = activation(name).numpy(x)
        assert not np.isnan(values).any(), name
        assert values.dtype == np.float32


def test_not_a_number_stays_in_its_sequence() -> None:
    args = operands("nn.lstm", 3, 2, 3, 4)
    args[0][1, 0, 0] = np.nan
    rows = OPERATORS["nn.lstm"]().evaluate(args)[0]
    assert np.isnan(rows[1:, 0]).all()
    assert not np.isnan(rows[:, 1]).any()
    assert not np.isnan(rows[0]).any()


@pytest.mark.skipif(not AVAILABLE, reason="needs mlir-opt")
def test_lower() -> None:
    cases: list[tuple[Operator, list[np.ndarray]]] = []
    lengths = np.array([2, 0], np.int64)
    for name, attributes in CASES:
        cases += [
            (OPERATORS[name](**attributes), operands(name, 3, 2, 5, 4, "float32")),
            (OPERATORS[name](clip=0.5, reverse=True, **attributes), operands(name, 1, 1, 2, 3, "float16")),
            (OPERATORS[name](with_lengths=True, **attributes), [*operands(name, 3, 2, 1, 3, "float64"), lengths]),
            (OPERATORS[name](**attributes), operands(name, 0, 2, 5, 4, "float32")),
        ]
    peepholes = [*operands("nn.lstm", 2, 2, 3, 3), np.float64([0.5, -1, 2, 0.25, 1, -2, 3, 0.1, -0.3])]
    cases += [
        (OPERATORS["nn.lstm"](with_peepholes=True), peepholes),
        (OPERATORS["nn.lstm"](with_peepholes=True, couple=True), peepholes),
        *((OPERATORS["nn.rnn"](activations=(function,)), operands("nn.rnn", 2, 2, 3, 3)) for function in FUNCTIONS),
    ]
    for (op, args), found in zip(cases, run_lowered_together(cases), strict=True):
        for got, want in zip(found, op.evaluate(args), strict=True):
            tolerance = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3}[args[0].dtype.name]
            assert got.dtype == want.dtype
            np.testing.assert_allclose(
                got.astype(float), want.astype(float), rtol=tolerance, atol=tolerance, err_msg=str(op)
            )
