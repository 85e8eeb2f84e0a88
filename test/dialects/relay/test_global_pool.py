"""Global and adaptive pools, max pools with indices: evaluate against independent results, lower against evaluate."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i1, i64
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.adaptive_pool import (
    AdaptiveAvgPool1D,
    AdaptiveAvgPool2D,
    AdaptiveAvgPool3D,
    AdaptiveMaxPool1D,
    AdaptiveMaxPool2D,
    AdaptiveMaxPool3D,
)
from relay_mlir.dialects.relay.global_pool import (
    GlobalAvgPool1D,
    GlobalAvgPool2D,
    GlobalAvgPool3D,
    GlobalMaxPool,
    GlobalMaxPool1D,
    GlobalMaxPool2D,
    GlobalMaxPool3D,
    GlobalPool,
)
from relay_mlir.dialects.relay.op import Operator
from relay_mlir.dialects.relay.pool_indices import MaxPool1DWithIndices, MaxPool2DWithIndices, MaxPool3DWithIndices
from relay_mlir.dialects.relay.types import ANY, tensor
from test.support.mlir_oracle import AVAILABLE
from test.support.onnx_oracle import onnx_op
from test.support.operator_check import assert_close, dtype_of, run_lowered_together

needs_mlir = pytest.mark.skipif(not AVAILABLE, reason="mlir-opt-22 is not installed")


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


GLOBAL = [
    GlobalAvgPool1D(),
    GlobalAvgPool2D(),
    GlobalAvgPool3D(),
    GlobalMaxPool1D(),
    GlobalMaxPool2D(),
    GlobalMaxPool3D(),
]


def global_data(op: GlobalPool) -> np.ndarray:
    return normal(2, 3, *(4, 5, 2)[: op.RANK])


@pytest.mark.parametrize("op", GLOBAL)
def test_global_pools_match_onnxruntime(op: GlobalPool):
    data = global_data(op)
    (want,) = onnx_op("GlobalMaxPool" if isinstance(op, GlobalMaxPool) else "GlobalAveragePool", [data])
    np.testing.assert_allclose(op.evaluate([data])[0], want, rtol=1e-5, atol=1e-6)


GLOBAL_EDGES = [
    (GlobalMaxPool1D(), [[[1, math.nan, 3]]], [[[math.nan]]]),
    (GlobalMaxPool1D(layout="NWC"), [[[1, 5], [3, 4]]], [[[3, 5]]]),
    (GlobalAvgPool1D(), [[[math.inf, 1]]], [[[math.inf]]]),
    (GlobalAvgPool1D(), np.zeros((1, 2, 0)), [[[math.nan], [math.nan]]]),
    (GlobalMaxPool1D(), np.zeros((1, 2, 0)), [[[-math.inf], [-math.inf]]]),
    (GlobalMaxPool1D(), np.zeros((0, 2, 3)), np.zeros((0, 2, 1))),
]


def test_global_pools_at_edges():
    cases = [(op, [np.array(data, np.float32)]) for op, data, _ in GLOBAL_EDGES]
    for (op, args), (_, _, want) in zip(cases, GLOBAL_EDGES, strict=True):
        np.testing.assert_array_equal(op.evaluate(args)[0], np.array(want, np.float32))
    if AVAILABLE:
        for got, (_, _, want) in zip(run_lowered_together(cases), GLOBAL_EDGES, strict=True):
            np.testing.assert_array_equal(got[0], np.array(want, np.float32))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "uint8", "int32"])
def test_global_mean_of_narrow_types_does_not_overflow(dtype: str):
    """Sums are taken in at least 32 bits."""
    values = [100, 120, 127, 90, 0, 5] if "int" in dtype else [60000, 60000, 30000, 0.5, 1, 2]
    data = np.array(values, dtype_of(dtype)).reshape(1, 1, 2, 3)
    mean = sum(float(v) for v in data.reshape(-1)) / 6
    want = np.array(math.trunc(mean) if "int" in dtype else mean).astype(data.dtype).reshape(1, 1, 1, 1)
    cases = [GlobalAvgPool2D().evaluate([data])[0]]
    cases += run_lowered_together([(GlobalAvgPool2D(), [data])])[0] if AVAILABLE else []
    for got in cases:
        assert_close(got, want, ulps=1)


def adaptive_by_loops(op: Operator, data: np.ndarray) -> np.ndarray:
    """Each part of each plane as a list."""
    size = op.output_size
    out = np.zeros((*data.shape[:2], *size))
    for n, c, *place in itertools.product(*map(range, out.shape)):
        part = data[n, c]
        for axis, (i, m) in enumerate(zip(place, size, strict=True)):
            length = data.shape[2 + axis]
            part = part.take(range(math.floor(i * length / m), math.ceil((i + 1) * length / m)), axis)
        values = [float(v) for v in part.reshape(-1)]
        out[(n, c, *place)] = max(values) if "max" in op.name else math.fsum(values) / len(values)
    return out.astype(data.dtype)


ADAPTIVE = [
    (AdaptiveAvgPool2D((3, 2)), (2, 2, 7, 8)),
    (AdaptiveAvgPool2D((2, 4)), (1, 2, 4, 8)),
    (AdaptiveAvgPool1D((5,)), (1, 2, 3)),
    (AdaptiveAvgPool2D((1, 1)), (1, 2, 3, 4)),
    (AdaptiveMaxPool2D((4, 3)), (2, 1, 6, 7)),
    (AdaptiveAvgPool2D((7, 7)), (1, 1, 10, 5)),
    (AdaptiveAvgPool2D((2, 2)), (0, 1, 3, 5)),
    (AdaptiveAvgPool3D((2, 3, 1)), (1, 2, 5, 4, 3)),
    (AdaptiveMaxPool1D((3,)), (1, 2, 7)),
    (AdaptiveMaxPool3D((2, 2, 2)), (1, 1, 3, 4, 5)),
]


@pytest.mark.parametrize(("op", "shape"), ADAPTIVE)
def test_adaptive_pools_match_loops(op: Operator, shape: tuple[int, ...]):
    data = normal(*shape)
    np.testing.assert_allclose(op.evaluate([data])[0], adaptive_by_loops(op, data), rtol=1e-5, atol=1e-6)


@needs_mlir
def test_lower_forms_match_evaluate():
    cases = [(op, [normal(*shape)]) for op, shape in ADAPTIVE]
    cases += [(AdaptiveAvgPool2D((3, 2), layout="NHWC"), [normal(2, 7, 8, 3)])]
    cases += [(op, [global_data(op)]) for op in GLOBAL]
    for (op, args), (got,) in zip(cases, run_lowered_together(cases), strict=True):
        np.testing.assert_allclose(got, op.evaluate(args)[0], rtol=1e-5, atol=1e-6, err_msg=str(op))


# operator, shape of the data (N C spatial)
INDEXED = [
    (MaxPool1DWithIndices((2,), strides=(2,)), (2, 3, 7)),
    (MaxPool2DWithIndices((3, 2), strides=(2, 1), padding=(1, 0, 2, 1), dilation=(1, 2)), (2, 3, 7, 8)),
    (MaxPool2DWithIndices((3, 2), strides=(2, 1), padding=(1, 0, 2, 1), column_major=True), (2, 3, 7, 8)),
    (MaxPool2DWithIndices((2, 2), strides=(2, 2), ceil_mode=True), (1, 2, 5, 5)),
    (MaxPool3DWithIndices((2, 2, 2), padding=(0, 1, 0, 1, 0, 0)), (1, 2, 3, 4, 3)),
    (MaxPool3DWithIndices((2, 2, 2), column_major=True), (1, 2, 3, 4, 3)),
    (MaxPool1DWithIndices((2,), dilation=(2,), padding=(1, 1)), (1, 1, 1)),
]


@pytest.mark.parametrize(("op", "shape"), INDEXED[:-1])
def test_indices_match_onnxruntime(op: MaxPool2DWithIndices, shape: tuple[int, ...]):
    data = normal(*shape)
    want = onnx_op(
        "MaxPool",
        [data],
        outputs=2,
        kernel_shape=op.pool_size,
        strides=op.strides,
        pads=op.padding,
        dilations=op.dilation,
        ceil_mode=int(op.ceil_mode),
        storage_order=int(op.column_major),
    )
    for found, expected in zip(op.evaluate([data]), want, strict=True):
        np.testing.assert_array_equal(found, expected)
    layout = {1: "NWC", 2: "NHWC", 3: "NDHWC"}[op.RANK]
    moved = [op.layout.index(letter) for letter in layout]
    for found, expected in zip(replace(op, layout=layout).evaluate([data.transpose(moved)]), want, strict=True):
        np.testing.assert_array_equal(found, expected.transpose(moved))


INDEX_EDGES = [
    ([[[1, 1, 1, 0]]], [1, 1, 1], [0, 1, 2]),
    ([[[math.nan, 1, math.nan, math.nan]]], [math.nan] * 3, [0, 2, 2]),
    ([[[-math.inf, -math.inf, 2, 3]]], [-math.inf, 2, 3], [0, 2, 3]),
]


def test_indices_at_edges():
    """The first of equal maxima and the first NaN count; -Inf is a value like others; padding has no index."""
    op = MaxPool1DWithIndices((2,))
    for data, values, indices in INDEX_EDGES:
        got_values, got_indices = op.evaluate([np.array(data, np.float32)])
        np.testing.assert_array_equal(got_values.reshape(-1), values)
        assert got_indices.reshape(-1).tolist() == indices
    values, indices = INDEXED[-1][0].evaluate([np.ones((1, 1, 1), np.float32)])
    assert values.tolist() == [[[-math.inf]]]
    assert indices.tolist() == [[[-1]]]


@needs_mlir
def test_lower_form_of_indices():
    cases = [(op, [normal(*shape)]) for op, shape in INDEXED]
    cases += [(MaxPool1DWithIndices((2,)), [np.array(data, np.float32)]) for data, _, _ in INDEX_EDGES]
    cases += [(MaxPool1DWithIndices((2,)), [np.array([[[3, 250, 7, 250]]], np.uint8)])]
    cases += [(MaxPool2DWithIndices((2, 2), layout="NHWC"), [normal(2, 4, 5, 3)])]
    for (op, args), found in zip(cases, run_lowered_together(cases), strict=True):
        for got, want in zip(found, op.evaluate(args), strict=True):
            np.testing.assert_array_equal(got, want, err_msg=str(op))


@pytest.mark.parametrize(
    ("op", "shape", "results"),
    [
        (GlobalAvgPool2D(), (ANY, 3, ANY, 5), [tensor((ANY, 3, 1, 1), f32)]),
        (AdaptiveAvgPool2D((2, 3)), (ANY, 3, ANY, 5), [tensor((ANY, 3, 2, 3), f32)]),
        (MaxPool1DWithIndices((2,)), (1, 3, ANY), [tensor((1, 3, ANY), f32), tensor((1, 3, ANY), i64)]),
    ],
)
def test_infer_with_unknown_dimensions(op: Operator, shape: tuple, results: list):
    assert op.infer([tensor(shape, f32)]) == results


@pytest.mark.parametrize(
    ("op", "shape", "element", "message"),
    [
        (GlobalAvgPool2D(), (1, 3, 5), f32, r"data must have 4 dimensions \(NCHW\)"),
        (GlobalAvgPool2D(layout="NCW"), (1, 3, 5, 5), f32, "layout 'NCW' must have each of the letters"),
        (GlobalAvgPool2D(), (1, 3, 5, 5), i1, "pooling takes numbers"),
        (AdaptiveAvgPool2D((2,)), (1, 3, 5, 5), f32, "output_size must be 2 integers of at least 1"),
        (AdaptiveAvgPool2D((2, 2)), (1, 3, 0, 5), f32, "no elements to cut into parts"),
    ],
)
def test_rejections(op: Operator, shape: tuple, element: object, message: str):
    with pytest.raises(VerifyException, match=message):
        op.infer([tensor(shape, element)])
