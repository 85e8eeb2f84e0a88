"""leaky_relu and prelu: evaluate against the formula in Python, the lower form against evaluate; relu is a unary."""

import math

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.op import OPERATORS
from relay_mlir.dialects.relay.types import ANY as UNKNOWN
from relay_mlir.dialects.relay.types import ELEMENT_TYPES, tensor
from test.support.mlir_oracle import AVAILABLE
from test.support.operator_check import FLOATS, assert_close, edges, elementwise, run_lowered_together


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("alpha", [0.25, 0.0, -2.0])
def test_leaky_relu(alpha: float, dtype: str) -> None:
    x = edges(dtype)
    (got,) = OPERATORS["nn.leaky_relu"](alpha=alpha).evaluate([x])
    assert_close(got, elementwise(lambda v: v if v > 0 else alpha * v, x), signs=True)


def test_leaky_relu_rounds_alpha_to_the_compute_type() -> None:
    (got,) = OPERATORS["nn.leaky_relu"](alpha=0.1).evaluate([np.array([-3.0], np.float32)])
    assert got[0] == np.float32(np.float32(0.1) * np.float32(-3.0))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_prelu(axis: int, dtype: str) -> None:
    x = np.resize(edges(dtype), (2, 3, 4))
    slopes = np.resize(np.array([0.5, -2.0, 0.0, 0.25]), x.shape[axis]).astype(x.dtype)
    (got,) = OPERATORS["nn.prelu"](axis=axis).evaluate([x, slopes])
    for index in np.ndindex(x.shape):
        value, slope = float(x[index]), float(slopes[index[axis]])
        want = value if value > 0 else slope * value
        assert float(got[index]) == want or (math.isnan(want) and math.isnan(float(got[index])))


def test_prelu_types() -> None:
    f32, f64 = ELEMENT_TYPES["float32"], ELEMENT_TYPES["float64"]
    prelu = OPERATORS["nn.prelu"]()
    assert prelu.infer([tensor([2, UNKNOWN], f32), tensor([3], f32)]) == [tensor([2, UNKNOWN], f32)]
    for types, message in (
        ([tensor([2, 3], f32), tensor([2], f32)], "alpha must have shape"),
        ([tensor([2, 3], f32), tensor([3, 1], f32)], "alpha must have shape"),
        ([tensor([2, 3], f32), tensor([3], f64)], "same element type"),
        ([tensor([2], f32), tensor([2], f32)], "axis 1 is out of range for rank 1"),
    ):
        with pytest.raises(VerifyException, match=message):
            prelu.infer(types)


@pytest.mark.skipif(not AVAILABLE, reason="mlir-opt-22 is not installed")
def test_lower_agrees_with_evaluate() -> None:
    cases: list[tuple] = []
    for dtype in FLOATS:
        x = np.resize(edges(dtype), (2, 3, 4))
        cases += [(OPERATORS["nn.leaky_relu"](alpha=0.1), [x])]
        for axis in (0, 1, -1):
            slopes = np.resize(np.array([0.1, -2.0, 0.0, 0.25]), x.shape[axis]).astype(x.dtype)
            cases += [(OPERATORS["nn.prelu"](axis=axis), [x, slopes])]
    for (op, args), (got,) in zip(cases, run_lowered_together(cases), strict=True):
        try:
            assert_close(got, *op.evaluate(args), signs=True)
        except AssertionError as e:
            raise AssertionError(f"{op} on {args[0].dtype}: {e}") from e
