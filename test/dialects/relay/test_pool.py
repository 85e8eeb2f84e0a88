"""Pools: evaluate against onnxruntime and loops in Python, the lower form against evaluate."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i1, i32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.pool import (
    AvgPool,
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    LpPool,
    LpPool1D,
    LpPool2D,
    LpPool3D,
    MaxPool,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
    Pool,
)
from relay_mlir.dialects.relay.types import ANY, tensor
from test.support.mlir_oracle import AVAILABLE, lowered_module
from test.support.onnx_oracle import onnx_op
from test.support.operator_check import assert_close, dtype_of, run_lowered_together

# operator, shape of the data (N C spatial)
CASES = {
    "max": (MaxPool2D((3, 2)), (2, 3, 6, 5)),
    "max, everything": (
        MaxPool2D((3, 2), strides=(2, 1), padding=(1, 0, 2, 1), dilation=(1, 2)),
        (2, 3, 7, 8),
    ),
    "max, a window over the end": (MaxPool1D((3,), strides=(2,), ceil_mode=True), (1, 2, 6)),
    "max, no window in the padding": (MaxPool1D((1,), strides=(3,), ceil_mode=True), (1, 2, 5)),
    "max of a volume": (MaxPool3D((2, 2, 2), strides=(2, 1, 2), padding=(0, 1, 1, 1, 0, 1)), (1, 2, 4, 3, 5)),
    "max of no batch": (MaxPool2D((2, 2)), (0, 2, 4, 4)),
    "avg": (AvgPool2D((3, 2), strides=(2, 2)), (2, 3, 7, 6)),
    "avg, padding left out": (AvgPool2D((3, 3), strides=(2, 2), padding=(1, 1, 0, 1)), (2, 3, 6, 7)),
    "avg, padding counted": (AvgPool2D((3, 3), padding=(1, 1, 0, 1), count_include_pad=True), (2, 3, 6, 7)),
    "avg, dilation": (AvgPool2D((3, 2), dilation=(2, 3), padding=(2, 1, 1, 1)), (1, 2, 7, 6)),
    "avg over the end": (AvgPool1D((3,), strides=(2,), ceil_mode=True), (1, 2, 6)),
    "avg over the end, padding left out": (AvgPool1D((3,), strides=(2,), padding=(1, 1), ceil_mode=True), (1, 2, 6)),
    "avg over the end, padding counted": (
        AvgPool1D((3,), strides=(2,), padding=(0, 1), ceil_mode=True, count_include_pad=True),
        (1, 2, 4),
    ),
    "avg of padding alone": (AvgPool1D((2,), dilation=(2,), padding=(1, 1)), (1, 2, 1)),
    "avg of a volume": (AvgPool3D((2, 1, 3), padding=(1, 0, 1, 0, 0, 1)), (2, 1, 3, 4, 5)),
    "avg of no batch": (AvgPool2D((2, 2), padding=(1, 1, 1, 1)), (0, 2, 4, 4)),
    "2-norm": (LpPool2D((3, 2), strides=(2, 1), padding=(1, 0, 1, 1)), (2, 3, 5, 6)),
    "1-norm": (LpPool1D((3,), p=1), (2, 3, 7)),
    "2-norm of a volume": (LpPool3D((2, 1, 2), strides=(1, 2, 1)), (1, 2, 3, 4, 3)),
    "3-norm": (LpPool1D((3,), strides=(2,), p=3), (2, 3, 7)),
}
LAYOUTS = {1: "NWC", 2: "NHWC", 3: "NDHWC"}


def data_of(name: str) -> tuple[Pool, np.ndarray]:
    op, shape = CASES[name]
    return op, np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def channels_last(op: Pool, data: np.ndarray) -> tuple[Pool, np.ndarray]:
    """The operator and its data in another layout."""
    layout = LAYOUTS[op.RANK]
    return replace(op, layout=layout), np.ascontiguousarray(data.transpose([op.layout.index(c) for c in layout]))


def by_onnxruntime(op: Pool, data: np.ndarray) -> np.ndarray:
    """The pool of data in the default layout."""
    attributes: dict[str, object] = {"kernel_shape": op.pool_size, "strides": op.strides, "pads": op.padding}
    attributes |= {"dilations": op.dilation, "ceil_mode": int(op.ceil_mode)}
    match op:
        case MaxPool():
            return onnx_op("MaxPool", [data], **attributes)[0]
        case AvgPool():
            return onnx_op("AveragePool", [data], count_include_pad=int(op.count_include_pad), **attributes)[0]
        case LpPool():
            return onnx_op("LpPool", [data], p=op.p, **attributes)[0]
        case _:
            raise AssertionError(op)


@pytest.mark.parametrize("name", CASES)
def test_evaluate_matches_onnxruntime(name: str):
    op, data = data_of(name)
    want = by_onnxruntime(op, data)
    np.testing.assert_allclose(op.evaluate([data])[0], want, rtol=1e-5, atol=1e-6)
    other, moved = channels_last(op, data)
    back = other.evaluate([moved])[0].transpose([other.layout.index(c) for c in op.layout])
    np.testing.assert_allclose(back, want, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(not AVAILABLE, reason="mlir-opt-22 is not installed")
def test_lower_form_matches_evaluate():
    cases = []
    for name in CASES:
        op, data = data_of(name)
        other, moved = channels_last(op, data)
        cases += [(op, [data]), (other, [moved])]
    for (op, args), (got,) in zip(cases, run_lowered_together(cases), strict=True):
        np.testing.assert_allclose(got, op.evaluate(args)[0], rtol=1e-5, atol=1e-6, err_msg=str(op))


def by_loops(op: Pool, data: np.ndarray) -> np.ndarray:
    """The pool of a sequence of integers, with Python's numbers."""
    length = data.shape[-1]
    count = length + sum(op.padding) - (op.pool_size[0] - 1) * op.dilation[0]
    out = np.zeros((*data.shape[:-1], (count - 1) // op.strides[0] + 1), data.dtype)
    least = np.iinfo(data.dtype).min
    for n, c, o in itertools.product(*map(range, out.shape)):
        places = [o * op.strides[0] + k * op.dilation[0] - op.padding[0] for k in range(op.pool_size[0])]
        values = [int(data[n, c, p]) for p in places if 0 <= p < length]
        out[n, c, o] = max(values, default=least) if isinstance(op, MaxPool) else math.trunc(sum(values) / len(values))
    return out


INTEGER_POOLS = [MaxPool1D((3,), padding=(1, 2)), AvgPool1D((3,), strides=(2,), padding=(2, 1))]
INTEGERS = ["int8", "uint8", "int32", "uint16", "int64", "uint64"]


def integers(dtype: str) -> np.ndarray:
    """Sequences whose sums overflow 8 bits, but not more."""
    info = np.iinfo(dtype)
    low, high = (info.min, info.max) if info.bits == 8 else (max(info.min, -1000), 1000)
    data = np.random.default_rng(2).integers(low, high, (2, 3, 7), endpoint=True).astype(dtype)
    data[0, 0, :3] = high
    return data


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", INTEGER_POOLS)
def test_means_of_integers_go_towards_zero(dtype: str, op: Pool):
    np.testing.assert_array_equal(op.evaluate([integers(dtype)])[0], by_loops(op, integers(dtype)))


@pytest.mark.skipif(not AVAILABLE, reason="mlir-opt-22 is not installed")
def test_lower_form_of_integers():
    cases = [(op, [integers(dtype)]) for op in INTEGER_POOLS for dtype in INTEGERS]
    for (op, args), (got,) in zip(cases, run_lowered_together(cases), strict=True):
        np.testing.assert_array_equal(got, op.evaluate(args)[0])


def test_other_floats_are_rounded_once():
    """Computed as f32 at least: 2048 + 1 + 1 is lost on an f16."""
    cases = [
        (op, [np.array([[[2048, 1, 1, -3, 0.5, 7]]], dtype_of(dtype))])
        for op in (MaxPool1D((3,)), AvgPool1D((3,), padding=(1, 1)), LpPool1D((3,)))
        for dtype in ("float16", "bfloat16", "float64")
    ]
    rounds = [[op.evaluate(args) for op, args in cases]]
    rounds += [run_lowered_together(cases)] if AVAILABLE else []
    for results in rounds:
        for (op, args), (got,) in zip(cases, results, strict=True):
            assert_close(got, op.evaluate([args[0].astype(np.float64)])[0].astype(got.dtype), ulps=1)


@pytest.mark.parametrize("op", [MaxPool1D((2,)), AvgPool1D((2,)), LpPool1D((2,))])
def test_nan_reaches_its_windows(op: Pool):
    data = np.array([[[1, np.nan, 2, 3, -np.inf, -np.inf]]], np.float32)
    cases = [op.evaluate([data])[0]]
    cases += run_lowered_together([(op, [data])])[0] if AVAILABLE else []
    inf, nan = np.inf, np.nan
    want = {"nn.max_pool1d": [nan, nan, 3, 3, -inf], "nn.avg_pool1d": [nan, nan, 2.5, -inf, -inf]}
    for got in cases:
        expected = want.get(op.name, [nan, nan, math.sqrt(13), inf, inf])
        np.testing.assert_allclose(got.reshape(-1), expected, rtol=1e-6)


def test_max_of_padding_alone():
    op = MaxPool1D((2,), dilation=(2,), padding=(1, 1))
    assert op.evaluate([np.ones((1, 1, 1), np.float32)])[0].tolist() == [[[-np.inf]]]
    assert op.evaluate([np.ones((1, 1, 1), np.int8)])[0].tolist() == [[[-128]]]


def test_lower_form_of_max_is_one_window_reduction():
    module, _ = lowered_module(MaxPool2D((3, 2), strides=(2, 1)), [np.zeros((1, 2, 7, 8), np.float32)])
    (generic,) = (o for o in module.walk() if isinstance(o, GenericOp))
    assert [str(attr.data).split("-> ")[1] for attr in generic.indexing_maps] == [
        "(d0, d1, ((d2 * 2) + d4), (d3 + d5))",
        "(d4, d5)",
        "(d0, d1, d2, d3)",
    ]
    iterators = [iterator.data.value for iterator in generic.iterator_types]
    assert iterators == ["parallel"] * 4 + ["reduction"] * 2


@pytest.mark.parametrize(
    ("op", "shape", "result"),
    [
        (MaxPool2D((3, 3), strides=(2, 2)), (ANY, 3, ANY, 9), (ANY, 3, ANY, 4)),
        (AvgPool1D((2,), ceil_mode=True, strides=(2,)), (1, ANY, 5), (1, ANY, 3)),
    ],
)
def test_infer_with_unknown_dimensions(op: Pool, shape: tuple, result: tuple):
    assert op.infer([tensor(shape, f32)]) == [tensor(result, f32)]


@pytest.mark.parametrize(
    ("op", "shape", "element", "message"),
    [
        (MaxPool2D((3, 3)), (1, 3, 8), f32, r"data must have 4 dimensions \(NCHW\)"),
        (MaxPool2D((3,)), (1, 3, 8, 8), f32, r"pool_size must be 2 integers of at least 1, but is \[3\]"),
        (MaxPool2D((0, 3)), (1, 3, 8, 8), f32, "pool_size must be 2 integers of at least 1"),
        (MaxPool2D((3, 3), padding=(1, 1)), (1, 3, 8, 8), f32, "padding .* must be 4 integers"),
        (MaxPool2D((3, 3), layout="NCWD"), (1, 3, 8, 8), f32, "layout 'NCWD' must have each of the letters N C H W"),
        (MaxPool2D((9, 3)), (1, 3, 8, 8), f32, "spatial dimension 0 has 8 elements with its padding"),
        (MaxPool2D((3, 3)), (1, 3, 8, 8), i1, "pooling takes numbers"),
        (LpPool2D((3, 3)), (1, 3, 8, 8), i32, "a p-norm takes floats"),
        (LpPool2D((3, 3), p=0), (1, 3, 8, 8), f32, "p must be at least 1"),
    ],
)
def test_rejections(op: Pool, shape: tuple, element: object, message: str):
    with pytest.raises(VerifyException, match=message):
        op.infer([tensor(shape, element)])
