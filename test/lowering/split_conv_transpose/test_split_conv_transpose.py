"""The phases of a transposed convolution together are the transposed convolution, at every stride and padding."""

from itertools import product

import numpy as np
import pytest

from relay_mlir.dialects.relay import OPERATORS
from relay_mlir.dialects.relay.types import type_of
from relay_mlir.lowering.ir_text import parse_text
from relay_mlir.lowering.pass_manager import run_passes
from relay_mlir.lowering.pipeline import pass_class
from relay_mlir.runtime.compiler import make_context
from relay_mlir.runtime.interpreter import Interpreter

PADDINGS = [(0, 0, 0, 0), (1, 1, 1, 1), (2, 1, 0, 1), (1, 2, 2, 0)]


@pytest.mark.parametrize("stride", [2, 3])
@pytest.mark.parametrize("kernel", [(3, 3), (4, 4), (5, 3), (4, 6)])
def test_phases_make_the_whole(stride: int, kernel: tuple[int, int]) -> None:
    rng = np.random.default_rng([stride, *kernel])
    weight = rng.standard_normal((3, 4, *kernel)).astype(np.float32)
    for padding, extra, size in product(PADDINGS, [(0, 0), (1, 1)], [(4, 5), (1, 3)]):
        data = rng.standard_normal((2, 3, *size)).astype(np.float32)
        attributes = {"strides": (stride, stride), "padding": padding, "output_padding": extra}
        operator = OPERATORS["nn.conv2d_transpose"](**attributes)
        if min((n - 1) * stride + k - p for n, k, p in zip(size, kernel, (3, 3), strict=True)) < 1:
            continue  # nothing is left of the result
        (result,) = operator.infer([type_of(data), type_of(weight)])
        written = f"{{strides = [{stride}, {stride}], padding = {list(padding)}, output_padding = {list(extra)}}}"
        types = f"({type_of(data)}, {type_of(weight)}) -> {result}"
        text = f"""
        relay.func @main(%x: {type_of(data)}) -> {result} {{
          %w = relay.weight "w" : {type_of(weight)}
          %0 = relay.nn.conv2d_transpose %x, %w {written} : {types}
          relay.return %0 : {result}
        }}"""
        ctx = make_context()
        module = parse_text(ctx, text, "test")
        ctx.weights.add("w", weight)
        run_passes(ctx, module, [pass_class("split-conv-transpose")()])
        assert "conv2d_transpose" not in str(module)
        (found,) = Interpreter(module, ctx.weights).run(data)
        np.testing.assert_allclose(found, operator.evaluate([data, weight])[0], rtol=1e-5, atol=1e-5)
