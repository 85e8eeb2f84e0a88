"""Transformed convolutions give the numbers of direct ones, in every size of tile, padding and batch."""

from fractions import Fraction

import numpy as np
import pytest

from relay_mlir.dialects.relay import OPERATORS
from relay_mlir.lowering.ir_text import parse_text
from relay_mlir.lowering.winograd_matrices import OUTPUTS, TAPS, matrices
from relay_mlir.runtime.compiler import Options, compile_module, make_context
from relay_mlir.runtime.executable import Executable


def test_matrices_are_exact() -> None:
    """A^T ((G g) * (B^T d)) is the filter of any data, in rational numbers."""
    inverse, filters, data = matrices()
    g = [Fraction(3), Fraction(-1, 2), Fraction(5, 7)]
    d = [Fraction(k * k - 3, k + 2) for k in range(OUTPUTS + TAPS - 1)]

    def times(matrix: tuple[tuple[Fraction, ...], ...], vector: list[Fraction]) -> list[Fraction]:
        return [sum((a * b for a, b in zip(row, vector, strict=True)), Fraction(0)) for row in matrix]

    products = [a * b for a, b in zip(times(filters, g), times(data, d), strict=True)]
    direct = [sum(g[k] * d[i + k] for k in range(TAPS)) for i in range(OUTPUTS)]
    assert times(inverse, products) == direct


@pytest.mark.parametrize(
    ("batch", "height", "width", "inputs", "outputs", "padding"),
    [
        (1, 16, 16, 32, 32, (1, 1, 1, 1)),
        (2, 13, 17, 40, 36, (1, 1, 1, 1)),
        (1, 19, 15, 32, 33, (0, 0, 0, 0)),
        (1, 15, 14, 33, 32, (0, 2, 1, 0)),
    ],
)
def test_agrees_with_the_direct_sum(
    batch: int, height: int, width: int, inputs: int, outputs: int, padding: tuple[int, int, int, int]
) -> None:
    rng = np.random.default_rng(height)
    data = rng.standard_normal((batch, inputs, height, width)).astype(np.float32)
    weight = rng.standard_normal((outputs, inputs, 3, 3)).astype(np.float32)
    conv = OPERATORS["nn.conv2d"](padding=padding)
    exact = conv.evaluate([data.astype(np.float64), weight.astype(np.float64)])[0]
    expected = np.maximum(exact, 0)
    shapes = ["x".join(map(str, a.shape)) for a in (data, weight, expected)]
    x, w, y = (f"tensor<{shape}xf32>" for shape in shapes)
    text = f"""
    relay.func @main(%x: {x}) -> {y} {{
      %w = relay.weight "w" : {w}
      %0 = relay.nn.conv2d %x, %w {{padding = {list(padding)}}} : ({x}, {w}) -> {y}
      %1 = relay.nn.relu %0 : {y}
      relay.return %1 : {y}
    }}"""
    ctx = make_context()
    module = parse_text(ctx, text, "test")
    ctx.weights.add("w", weight)
    program = compile_module(module, ctx, Options())
    found = Executable(program)(x0=data)["y0"]
    assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()
