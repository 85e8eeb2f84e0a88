"""softmax and log_softmax: evaluate against float64 sums and onnxruntime, the lower form against evaluate."""

import math

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i32
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.softmax import LogSoftmax, Softmax
from relay_mlir.dialects.relay.types import ANY, tensor
from test.support.mlir_oracle import AVAILABLE
from test.support.onnx_oracle import onnx_op
from test.support.operator_check import assert_close, dtype_of, run_lowered_together

INF, NAN = math.inf, math.nan


def data(shape: tuple[int, ...], dtype: str = "float32") -> np.ndarray:
    return (np.random.default_rng(1).standard_normal(shape) * 4).astype(dtype_of(dtype))


def by_sums(x: np.ndarray, axis: int, log: bool) -> np.ndarray:
    """The definition, without a shift, in double precision."""
    wide = np.moveaxis(x.astype(np.float64), axis, -1)
    out = np.empty_like(wide)
    for index in np.ndindex(*wide.shape[:-1]):
        total = math.fsum(math.exp(v) for v in wide[index])
        out[index] = [v - math.log(total) if log else math.exp(v) / total for v in wide[index]]
    return np.moveaxis(out, -1, axis).astype(x.dtype)


SHAPES = [((3, 7), -1), ((3, 7), 0), ((2, 3, 4), 1), ((5,), 0), ((1, 1), 1), ((0, 3), 1), ((2, 0), 0)]


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("op", [Softmax, LogSoftmax])
def test_evaluate(op: type[Softmax | LogSoftmax], shape: tuple[int, ...], axis: int):
    x = data(shape)
    (got,) = op(axis=axis).evaluate([x])
    np.testing.assert_allclose(got, by_sums(x, axis, op is LogSoftmax), rtol=1e-5, atol=1e-7)
    (other,) = onnx_op("LogSoftmax" if op is LogSoftmax else "Softmax", [x], axis=axis)
    np.testing.assert_allclose(got, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("op", [Softmax, LogSoftmax])
def test_other_floats_are_rounded_once(op: type[Softmax | LogSoftmax], dtype: str):
    x = data((3, 50), dtype)
    want = by_sums(x, -1, op is LogSoftmax)
    cases = [op().evaluate([x])[0]]
    cases += run_lowered_together([(op(), [x])])[0] if AVAILABLE else []
    for got in cases:
        assert_close(got, want, ulps=1)


@pytest.mark.parametrize("op", [Softmax, LogSoftmax])
def test_double_precision(op: type[Softmax | LogSoftmax]):
    x = data((3, 50), "float64")
    cases = [op().evaluate([x])[0]]
    cases += run_lowered_together([(op(), [x])])[0] if AVAILABLE else []
    for got in cases:
        np.testing.assert_allclose(got, by_sums(x, -1, op is LogSoftmax), rtol=1e-13, atol=1e-13)


EDGES = [
    ([1e4, 1e4], [0.5, 0.5], [-math.log(2)] * 2),
    ([-1e4, 0.0], [0.0, 1.0], [-1e4, 0.0]),
    ([-INF, 0.0], [0.0, 1.0], [-INF, 0.0]),
    ([NAN, 0.0], [NAN, NAN], [NAN, NAN]),
    ([0.0, NAN], [NAN, NAN], [NAN, NAN]),
    ([INF, 0.0], [NAN, NAN], [NAN, NAN]),
    ([-INF, -INF], [NAN, NAN], [NAN, NAN]),
    ([3.0], [1.0], [0.0]),
]


def test_edges():
    cases = [(op(), [np.array(x, np.float32)]) for x, _, _ in EDGES for op in (Softmax, LogSoftmax)]
    wants = [np.array(want, np.float32) for _, soft, log in EDGES for want in (soft, log)]
    rounds = [[op.evaluate(args) for op, args in cases]]
    rounds += [run_lowered_together(cases)] if AVAILABLE else []
    for results in rounds:
        for (op, args), (got,), want in zip(cases, results, wants, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6, err_msg=f"{op} of {args}")


@pytest.mark.skipif(not AVAILABLE, reason="mlir-opt-22 is not installed")
def test_lower_form_matches_evaluate():
    cases = [(op(axis=axis), [data(shape)]) for shape, axis in SHAPES for op in (Softmax, LogSoftmax)]
    for (op, args), (got,) in zip(cases, run_lowered_together(cases), strict=True):
        np.testing.assert_allclose(got, op.evaluate(args)[0], rtol=1e-5, atol=1e-6, err_msg=str(op))


def test_infer():
    assert Softmax(axis=-2).infer([tensor((ANY, 3), f32)]) == [tensor((ANY, 3), f32)]
    with pytest.raises(VerifyException, match="axis 2 is out of range for rank 2"):
        Softmax(axis=2).infer([tensor((2, 3), f32)])
    with pytest.raises(VerifyException, match="data must be a tensor of floats"):
        LogSoftmax().infer([tensor((2, 3), i32)])
    with pytest.raises(VerifyException, match="axis -1 is out of range for rank 0"):
        Softmax().infer([tensor((), f32)])
