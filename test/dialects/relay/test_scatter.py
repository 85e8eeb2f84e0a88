"""scatter_elements and scatter_nd: against onnxruntime, the lower form against evaluate."""

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i8, i64
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.op import Operator
from relay_mlir.dialects.relay.scatter import REDUCTIONS, ScatterElements, ScatterNd
from relay_mlir.dialects.relay.types import ANY as UNKNOWN
from relay_mlir.dialects.relay.types import Tensor, tensor
from test.support.mlir_oracle import AVAILABLE
from test.support.movement_check import assert_lowered_as_evaluated, assert_same_bits, numbered
from test.support.onnx_oracle import onnx_op
from test.support.operator_check import ANY

ONNX = {"update": "none"} | {name: name for name in REDUCTIONS if name != "update"}
X = numbered(3, 4) - 5


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_scatter_elements(dtype: type, axis: int, reduction: str) -> None:
    indices = np.array([[0, 2, -1], [0, 0, 1]])  # 0 is written twice along axis 0
    updates = np.array([[3, -7, 2], [5, 4, -1]], dtype)
    (want,) = onnx_op("ScatterElements", [X.astype(dtype), indices, updates], axis=axis, reduction=ONNX[reduction])
    (got,) = ScatterElements(axis, reduction).evaluate([X.astype(dtype), indices, updates])
    assert_same_bits(got, want)


@pytest.mark.parametrize("mode", REDUCTIONS)
@pytest.mark.parametrize("shape", [(4, 2), (3, 1), (2, 2, 2)])
def test_scatter_nd(shape: tuple[int, ...], mode: str) -> None:
    rng = np.random.default_rng(4)
    indices = rng.integers(-3, 3, shape)
    updates = rng.integers(-9, 9, (*shape[:-1], *X.shape[shape[-1] :])).astype(np.float32)
    (want,) = onnx_op("ScatterND", [X, indices, updates], reduction=ONNX[mode])
    first = np.ascontiguousarray(np.moveaxis(indices, -1, 0))
    assert_same_bits(ScatterNd(mode).evaluate([X, first, updates])[0], want)


def test_updates_out_of_range_are_dropped() -> None:
    x = np.zeros(3, np.float32)
    (got,) = ScatterElements().evaluate([x, np.array([3, -4, -3]), np.array([1, 2, 3], np.float32)])
    assert_same_bits(got, np.array([3, 0, 0], np.float32))
    (got,) = ScatterNd("add").evaluate([x, np.array([[3, -4, 2]]), np.array([1, 2, 3], np.float32)])
    assert_same_bits(got, np.array([0, 0, 3], np.float32))
    assert_same_bits(x, np.zeros(3, np.float32))


def test_positions_without_coordinates() -> None:
    """Every update is the whole data: the last one stays, all of them add up."""
    updates, nowhere = numbered(3, 2), np.zeros((0, 3), np.int64)
    assert_same_bits(ScatterNd().evaluate([numbered(2), nowhere, updates])[0], np.array([4, 5], np.float32))
    assert_same_bits(ScatterNd("add").evaluate([numbered(2), nowhere, updates])[0], np.array([6, 10], np.float32))
    scalars = [numbered(), nowhere, np.array([1, 2, 3], np.float32)]
    assert_same_bits(ScatterNd().evaluate(scalars)[0], np.array(3, np.float32))


def test_f16_rounds_every_time() -> None:
    x, ones = np.array([2048], np.float16), np.ones(4, np.float16)
    assert ScatterElements(0, "add").evaluate([x, np.zeros(4, np.int64), ones])[0] == 2048


X_TYPE, AT = tensor((3, 4), f32), tensor((2, 4), i64)


def test_unknown_dimensions() -> None:
    some = tensor((UNKNOWN, 4), i64)
    assert ScatterElements().infer([X_TYPE, some, tensor((2, 4), f32)]) == [X_TYPE]
    assert ScatterNd().infer([X_TYPE, tensor((1, UNKNOWN), i64), tensor((2, 4), f32)]) == [X_TYPE]


@pytest.mark.parametrize(
    ("op", "types"),
    [
        (ScatterElements(), [X_TYPE, AT, tensor((2, 3), f32)]),
        (ScatterElements(), [X_TYPE, AT, tensor((2, 4), i8)]),
        (ScatterElements(), [X_TYPE, tensor((2, 4), i8), tensor((2, 4), f32)]),
        (ScatterElements(), [X_TYPE, tensor((2, 5), i64), tensor((2, 5), f32)]),
        (ScatterElements(2), [X_TYPE, AT, tensor((2, 4), f32)]),
        (ScatterElements(0, "sub"), [X_TYPE, AT, tensor((2, 4), f32)]),
        (ScatterNd("sub"), [X_TYPE, AT, tensor((4,), f32)]),
        (ScatterNd(), [X_TYPE, AT, tensor((3,), f32)]),
        (ScatterNd(), [X_TYPE, tensor((3, 4), i64), tensor((4,), f32)]),
    ],
)
def test_refused(op: Operator, types: list[Tensor]) -> None:
    with pytest.raises(VerifyException):
        op.infer(types)


@pytest.mark.skipif(not AVAILABLE, reason="needs mlir-opt-22")
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_lowered(reduction: str) -> None:
    indices = np.array([[0, 2, -1, 5], [0, 0, 1, -4]])
    updates = np.array([[3, -7, 2, 0], [5, 4, -1, 120]])
    cases = []
    for dtype in ANY:
        x, u = numbered(3, 4, dtype=dtype), updates.astype(numbered(1, dtype=dtype).dtype)
        cases += [(ScatterElements(0, reduction), [x, indices, u])]
        cases += [(ScatterNd(reduction), [x, np.array([[0, 1, -1, 7], [1, 1, 2, 0]], np.int32), u[0]])]
    floats = updates.astype(np.float32)
    cases += [(ScatterElements(1, reduction), [X, indices[:, :2], floats[:, :2]])]
    cases += [(ScatterNd(reduction), [X, np.array([[0, -1]]), floats])]
    cases += [(ScatterElements(0, reduction), [X, indices[:0], floats[:0]])]
    cases += [(ScatterNd(reduction), [X[0], np.zeros((0, 2), np.int64), floats])]
    cases += [(ScatterNd(reduction), [numbered(), np.zeros((0, 4), np.int64), floats[0]])]
    cases += [(ScatterNd(reduction), [X[:0], np.zeros((1, 2), np.int64), floats])]
    assert_lowered_as_evaluated(cases)
