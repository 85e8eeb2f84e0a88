"""sort, argsort, topk: against Python's stable sort and onnxruntime, the lower form against evaluate."""

import itertools
import math

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i8, i32, i64
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.op import Operator
from relay_mlir.dialects.relay.sort import Argsort, Sort, Topk
from relay_mlir.dialects.relay.types import ANY as UNKNOWN
from relay_mlir.dialects.relay.types import tensor
from test.support.mlir_oracle import AVAILABLE
from test.support.movement_check import assert_lowered_as_evaluated, assert_same_bits
from test.support.onnx_oracle import onnx_op
from test.support.operator_check import ANY, dtype_of, edges


def repeated_edges(dtype: str, length: int = 40) -> np.ndarray:
    """Edge values with many ties, in some order."""
    return np.random.default_rng(2).choice(edges(dtype), length)


def in_order(row: np.ndarray, ascending: bool) -> list[int]:
    """Positions in order, NaN above everything, by Python's sort."""
    keys = [
        (math.isnan(v), 0.0 if math.isnan(v) else v)
        for v in (float(v) if v.dtype.kind in "fV" else v.item() for v in row)
    ]
    # A stable descending sort: reverse=True of Python keeps the order of equal elements.
    return sorted(range(len(row)), key=lambda n: keys[n], reverse=not ascending)


@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("dtype", ANY)
def test_order(dtype: str, ascending: bool) -> None:
    x = repeated_edges(dtype)
    want = in_order(x, ascending)
    assert_same_bits(Argsort(0, ascending, i32).evaluate([x])[0], np.array(want, np.int32))
    assert_same_bits(Sort(0, ascending).evaluate([x])[0], x[want])
    values, indices = Topk(7, is_ascend=ascending).evaluate([x])
    assert_same_bits(values, x[want[:7]])
    assert_same_bits(indices, np.array(want[:7]))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_axis(axis: int) -> None:
    x = np.random.default_rng(3).integers(0, 9, (3, 4, 5)).astype(np.float32)
    want = np.apply_along_axis(lambda row: np.array(in_order(row, False)), axis, x)
    assert_same_bits(Argsort(axis, False).evaluate([x])[0], want)
    assert_same_bits(Sort(axis).evaluate([x])[0], np.apply_along_axis(lambda row: np.array(sorted(row)), axis, x))


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize(("k", "axis"), [(1, 0), (3, 1), (6, -1)])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_onnxruntime(dtype: type, k: int, axis: int, largest: int) -> None:
    x = np.random.default_rng(5).integers(-3, 3, (4, 5, 6)).astype(dtype)
    values, indices = onnx_op("TopK", [x, np.array([k])], axis=axis, largest=largest, outputs=2)
    got = Topk(k, axis, is_ascend=not largest).evaluate([x])
    assert_same_bits(got[0], values)
    assert_same_bits(got[1], indices)


def test_types() -> None:
    x = tensor((2, UNKNOWN), f32)
    assert Topk(3).infer([x]) == [tensor((2, 3), f32), tensor((2, 3), i64)]
    assert Topk(3, ret_type="values").infer([x]) == [tensor((2, 3), f32)]
    assert Topk(3, ret_type="indices", dtype=i32).infer([x]) == [tensor((2, 3), i32)]
    assert Sort().infer([x]) == [x]
    assert Argsort().infer([x]) == [tensor((2, UNKNOWN), i64)]


@pytest.mark.parametrize(
    "op",
    [
        Topk(4),
        Topk(-1),
        Topk(1, 2),
        Topk(1, ret_type="all"),
        Topk(1, dtype=f32),
        Sort(2),
        Argsort(-3),
        Argsort(dtype=i8),
    ],
)
def test_refused(op: Operator) -> None:
    with pytest.raises(VerifyException):
        op.infer([tensor((2, 3), f32)])


def test_scalars_have_no_axis() -> None:
    with pytest.raises(VerifyException):
        Sort().infer([tensor((), f32)])


@pytest.mark.skipif(not AVAILABLE, reason="needs mlir-opt-22")
@pytest.mark.parametrize("ascending", [True, False])
def test_lowered(ascending: bool) -> None:
    cases = []
    for dtype in ANY:
        x = repeated_edges(dtype)
        cases += [(Argsort(0, ascending), [x]), (Topk(3, is_ascend=ascending, dtype=i32), [x])]
    y = np.random.default_rng(6).standard_normal((3, 37, 2)).astype(np.float32)
    cases += [(Topk(k, 1, is_ascend=ascending), [y]) for k in (0, 1, 12, 13, 37)]
    cases += [(Sort(axis, ascending), [y]) for axis in (0, 1, 2)]
    cases += [(Topk(2, 1, kind, ascending), [y]) for kind in ("values", "indices")]
    assert_lowered_as_evaluated(cases)


@pytest.mark.skipif(not AVAILABLE, reason="needs mlir-opt-22")
def test_lowered_sizes() -> None:
    """Around powers of two, one element, none; a matrix without rows."""
    rng = np.random.default_rng(7)
    sizes = (0, 1, 2, 3, 5, 15, 16, 17, 31, 33)
    cases = [(Sort(), [rng.integers(0, 9, (2, size)).astype(np.int8)]) for size in sizes]
    cases += [(op, [np.zeros((0, 20), dtype_of("bfloat16"))]) for op in (Sort(), Sort(0), Argsort(), Topk(2))]
    assert_lowered_as_evaluated(cases)
    assert all(list(row) == sorted(row) for (_, (x,)) in itertools.islice(cases, 5) for row in Sort().evaluate([x])[0])
