"""take, gather, gather_nd, trilu: against onnxruntime and loops, the lower form against evaluate."""

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i8, i32, i64
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.index import Gather, GatherNd, Take, Trilu
from relay_mlir.dialects.relay.op import Operator
from relay_mlir.dialects.relay.types import ANY as UNKNOWN
from relay_mlir.dialects.relay.types import Tensor, tensor
from test.support.mlir_oracle import AVAILABLE
from test.support.movement_check import any_bits, assert_lowered_as_evaluated, assert_same_bits, numbered
from test.support.onnx_oracle import onnx_op
from test.support.operator_check import ANY

X = numbered(3, 4, 5)
INSIDE = np.array([[0, -1], [2, -3]])
OUTSIDE = np.array([7, -9, 1, -1])


@pytest.mark.parametrize("indices", [INSIDE, INSIDE.astype(np.int32), np.int64(-1), np.zeros((0, 2), np.int64)])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_take(axis: int, indices: np.ndarray) -> None:
    (want,) = onnx_op("Gather", [X, np.asarray(indices)], axis=axis)
    assert_same_bits(Take(axis, "wrap").evaluate([X, np.asarray(indices)])[0], want)


def test_take_out_of_range() -> None:
    x = np.array([10, 11, 12], np.float32)
    for mode, want in (("clip", [12, 10, 11, 10]), ("fast", [12, 10, 11, 10]), ("wrap", [11, 10, 11, 12])):
        assert_same_bits(Take(0, mode).evaluate([x, OUTSIDE])[0], np.array(want, np.float32))


def test_take_of_flat_data_and_batches() -> None:
    assert_same_bits(Take().evaluate([X, np.array([[7, 59], [60, 0]])])[0], np.array([[7, 59], [59, 0]], np.float32))
    indices = np.array([[1, 2], [0, 0], [3, 1]])
    (got,) = Take(2, batch_dims=1).evaluate([X, indices])
    assert got.shape == (3, 4, 2)
    for b, i, k in np.ndindex(got.shape):
        assert got[b, i, k] == X[b, i, indices[b, k]]
    assert_same_bits(Take(2, batch_dims=-1).evaluate([X, indices])[0], got)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_gather(axis: int, dtype: type) -> None:
    indices = np.random.default_rng(axis + 1).integers(-3, 3, (3, 4, 5)).astype(dtype)
    (want,) = onnx_op("GatherElements", [X, indices], axis=axis)
    assert_same_bits(Gather(axis).evaluate([X, indices])[0], want)


def test_gather_of_less_and_out_of_range() -> None:
    indices = np.array([[[5, -7]], [[1, -1]]])
    (got,) = Gather(1).evaluate([X, indices])
    assert_same_bits(got, np.array([[[X[0, 3, 0], X[0, 0, 1]]], [[X[1, 1, 0], X[1, 3, 1]]]]))


@pytest.mark.parametrize(
    ("shape", "batch"), [((2, 3), 0), ((6, 1), 0), ((2, 2, 2), 0), ((3, 1), 1), ((3, 2), 1), ((3, 4, 1), 2)]
)
def test_gather_nd(shape: tuple[int, ...], batch: int) -> None:
    indices = np.random.default_rng(1).integers(-3, 3, shape)
    (want,) = onnx_op("GatherND", [X, indices], batch_dims=batch)
    first = np.ascontiguousarray(np.moveaxis(indices, -1, 0))
    (got,) = GatherNd(batch).evaluate([X, first])
    assert_same_bits(got, want)


@pytest.mark.parametrize("k", [-9, -1, 0, 2, 9])
@pytest.mark.parametrize("upper", [0, 1])
def test_trilu(upper: int, k: int) -> None:
    (want,) = onnx_op("Trilu", [X, np.array(k)], upper=upper)
    assert_same_bits(Trilu(k, bool(upper)).evaluate([X])[0], want)


def test_trilu_of_special_values() -> None:
    x = np.array([[np.nan, np.inf], [-np.inf, np.nan]], np.float32)
    assert_same_bits(Trilu(1).evaluate([x])[0], np.array([[0, np.inf], [0, 0]], np.float32))


def test_unknown_dimensions() -> None:
    x = tensor((UNKNOWN, 4, 5), f32)
    assert Take(0).infer([x, tensor((2, UNKNOWN), i64)]) == [tensor((2, UNKNOWN, 4, 5), f32)]
    assert Take().infer([x, tensor((2,), i64)]) == [tensor((2,), f32)]
    assert Gather(0).infer([x, tensor((9, UNKNOWN, 5), i32)]) == [tensor((9, UNKNOWN, 5), f32)]
    assert GatherNd().infer([x, tensor((2, UNKNOWN), i64)]) == [tensor((UNKNOWN, 5), f32)]


T = tensor((3, 4), f32)


@pytest.mark.parametrize(
    ("op", "types"),
    [
        (Take(0), [T, tensor((2,), f32)]),
        (Take(0), [T, tensor((2,), i8)]),
        (Take(2), [T, tensor((2,), i64)]),
        (Take(0, "raise"), [T, tensor((2,), i64)]),
        (Take(0, batch_dims=1), [T, tensor((3,), i64)]),
        (Take(1, batch_dims=1), [T, tensor((2,), i64)]),
        (Take(0), [tensor((0, 4), f32), tensor((2,), i64)]),
        (Gather(0), [T, tensor((2,), i64)]),
        (Gather(0), [T, tensor((2, 5), i64)]),
        (Gather(1), [tensor((2, 0), f32), tensor((2, 1), i64)]),
        (GatherNd(), [T, tensor((3, 1), i64)]),
        (GatherNd(), [T, tensor((UNKNOWN, 1), i64)]),
        (GatherNd(1), [T, tensor((1, 2), i64)]),
        (Trilu(), [tensor((3,), f32)]),
    ],
)
def test_refused(op: Operator, types: list[Tensor]) -> None:
    with pytest.raises(VerifyException):
        op.infer(types)


@pytest.mark.skipif(not AVAILABLE, reason="needs mlir-opt-22")
def test_lowered() -> None:
    cases = []
    for dtype in ANY:
        x = any_bits((3, 4), dtype)
        cases += [(Take(1, mode), [x, OUTSIDE]) for mode in ("clip", "wrap", "fast")]
        cases += [(Gather(0), [x, INSIDE]), (GatherNd(), [x, INSIDE]), (Trilu(1), [x]), (Trilu(-1, False), [x])]
    indices = np.array([[1, 2], [0, 0], [3, -9]], np.int32)
    cases += [(Take(), [X, indices]), (Take(2, batch_dims=1), [X, indices]), (Take(0), [X, np.array(-1)])]
    cases += [(Take(1), [X, np.zeros((0, 2), np.int64)]), (Take(1), [X[:0], INSIDE])]
    cases += [(Gather(1), [X, np.array([[[5, -7, 0]], [[1, -1, 2]]])]), (Gather(0), [X, np.zeros((0, 4, 5), np.int64)])]
    cases += [(GatherNd(1), [X, np.array([[5, -9, 1]])]), (GatherNd(), [X, np.zeros((0, 2), np.int64)])]
    cases += [(GatherNd(), [X, np.array([[0], [1], [-1]])]), (Trilu(0), [X]), (Trilu(), [X[:, :0]])]
    assert_lowered_as_evaluated(cases)
