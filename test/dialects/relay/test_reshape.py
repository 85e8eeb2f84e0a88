"""Reshapes and broadcasting: shapes by hand, values against onnxruntime, the lower form against evaluate."""

import numpy as np
import pytest
from xdsl.dialects.builtin import f32
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.op import Operator
from relay_mlir.dialects.relay.reshape import (
    BatchFlatten,
    BroadcastTo,
    BroadcastToLike,
    ExpandDims,
    Reshape,
    ReshapeLike,
    Squeeze,
)
from relay_mlir.dialects.relay.types import ANY as UNKNOWN
from relay_mlir.dialects.relay.types import tensor
from test.support.mlir_oracle import AVAILABLE
from test.support.movement_check import any_bits, assert_lowered_as_evaluated, assert_same_bits, numbered
from test.support.onnx_oracle import onnx_op
from test.support.operator_check import ANY

SHAPES: list[tuple[Operator, tuple[int, ...], tuple[int, ...]]] = [
    (Reshape((0, -1)), (2, 3, 4), (2, 12)),
    (Reshape((-1,)), (2, 3, 4), (24,)),
    (Reshape((-1,)), (), (1,)),
    (Reshape(()), (1, 1), ()),
    (Reshape((-1, 3)), (0, 3), (0, 3)),
    (Reshape((0, -1)), (0, 3), (0, 3)),
    (Reshape((3, 0), allowzero=True), (2, 0), (3, 0)),
    (Reshape((4, 0, 2)), (2, 3, 4), (4, 3, 2)),
    (Reshape((2, -2)), (2, 3, 4), (2, 3, 4)),
    (Reshape((-2, 1, 1)), (2, 3), (2, 3, 1, 1)),
    (Reshape((-3, 4)), (2, 3, 4), (6, 4)),
    (Reshape((0, -3)), (2, 3, 4), (2, 12)),
    (Reshape((-3, -3)), (2, 3, 4, 5), (6, 20)),
    (Reshape((-4, 1, 2, -2)), (2, 3, 4), (1, 2, 3, 4)),
    (Reshape((2, -4, -1, 3, -2)), (2, 6, 4), (2, 2, 3, 4)),
    (Reshape((0, -1)), (UNKNOWN, 3, 4), (UNKNOWN, 12)),
    (Reshape((-1, 12)), (UNKNOWN, 3, 4), (UNKNOWN, 12)),
    (Reshape((-3, 0)), (UNKNOWN, 3, 4), (UNKNOWN, 4)),
    (Reshape((-2,)), (UNKNOWN, 3), (UNKNOWN, 3)),
    (Squeeze(), (1, 3, 1), (3,)),
    (Squeeze((-1, 0)), (1, 3, 1), (3,)),
    (Squeeze((0,)), (UNKNOWN, 3), (3,)),
    (Squeeze(()), (1, 3), (1, 3)),
    (ExpandDims(0), (), (1,)),
    (ExpandDims(-1, 2), (2, 3), (2, 3, 1, 1)),
    (ExpandDims(1), (UNKNOWN, 3), (UNKNOWN, 1, 3)),
    (BatchFlatten(), (2, 3, 4), (2, 12)),
    (BatchFlatten(), (3,), (3, 1)),
    (BatchFlatten(), (UNKNOWN, 3, 4), (UNKNOWN, 12)),
    (BroadcastTo((4, 2, 3)), (2, 1), (4, 2, 3)),
    (BroadcastTo((0, 2)), (1, 2), (0, 2)),
    (BroadcastTo((2,)), (), (2,)),
    (BroadcastTo((4, 3)), (UNKNOWN, 3), (4, 3)),
]


@pytest.mark.parametrize(("op", "shape", "expected"), SHAPES)
def test_shape(op: Operator, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    assert list(op.infer([tensor(shape, f32)])) == [tensor(expected, f32)]
    if UNKNOWN not in shape:
        x = numbered(*shape)
        (got,) = op.evaluate([x])
        assert got.shape == expected
        if not isinstance(op, BroadcastTo):
            np.testing.assert_array_equal(got.reshape(-1), x.reshape(-1))


def test_like() -> None:
    x, like = numbered(2, 6, 5), numbered(3, 4, 7)
    assert ReshapeLike().infer([tensor((2, 6), f32), tensor((3, 4), f32)]) == [tensor((3, 4), f32)]
    (got,) = ReshapeLike(lhs_end=2, rhs_end=-1).evaluate([x, like])
    assert_same_bits(got, np.arange(60, dtype=np.float32).reshape(3, 4, 5))
    assert ReshapeLike(1, 2, 0, 2).infer([tensor((9, 6), f32), tensor((2, 3), f32)]) == [tensor((9, 2, 3), f32)]
    (got,) = BroadcastToLike().evaluate([numbered(3), numbered(2, 3, dtype="int8")])
    assert_same_bits(got, np.array([[0, 1, 2], [0, 1, 2]], np.float32))


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "uint8", "float64"])
def test_onnxruntime(dtype: str) -> None:
    x = any_bits((2, 1, 3), dtype)
    (want,) = onnx_op("Expand", [x, np.array([4, 2, 5, 3])])
    assert_same_bits(BroadcastTo((4, 2, 5, 3)).evaluate([x])[0], want)
    (want,) = onnx_op("Reshape", [x, np.array([3, 0, -1])])
    assert_same_bits(Reshape((3, 0, -1)).evaluate([x])[0], want)


@pytest.mark.parametrize(
    ("op", "shape"),
    [
        (Reshape((5,)), (2, 3)),
        (Reshape((0, 4)), (2, 3)),
        (Reshape((0, 4)), (UNKNOWN, 3)),
        (Reshape((-1, -1)), (2, 3)),
        (Reshape((-1, 4)), (2, 3)),
        (Reshape((-1, 0), allowzero=True), (2, 3)),
        (Reshape((0, 0, 0)), (2, 3)),
        (Reshape((-3,)), (2,)),
        (Reshape((-4, 2)), (6,)),
        (Reshape((-4, 4, -1)), (6,)),
        (Reshape((-5,)), (6,)),
        (Squeeze((1,)), (1, 3)),
        (Squeeze(), (UNKNOWN, 3)),
        (Squeeze((0, -2)), (1, 1)),
        (ExpandDims(3), (2,)),
        (ExpandDims(0, -1), (2,)),
        (BatchFlatten(), ()),
        (BroadcastTo((2,)), (3,)),
        (BroadcastTo((1,)), (3,)),
        (BroadcastTo((3,)), (1, 3)),
        (BroadcastTo((-2,)), (1,)),
    ],
)
def test_refused(op: Operator, shape: tuple[int, ...]) -> None:
    with pytest.raises(VerifyException):
        op.infer([tensor(shape, f32)])


def test_refused_like() -> None:
    for op in (ReshapeLike(), ReshapeLike(0, 5), ReshapeLike(2, 1)):
        with pytest.raises(VerifyException):
            op.infer([tensor((2, 3), f32), tensor((2, 4), f32)])


@pytest.mark.skipif(not AVAILABLE, reason="needs mlir-opt-22")
def test_lowered() -> None:
    static = [(op, shape) for op, shape, _ in SHAPES if UNKNOWN not in shape]
    cases = [(op, [any_bits(shape, "float32")]) for op, shape in static]
    cases += [(op, [any_bits((2, 1, 3), dtype)]) for dtype in ANY for op in (Reshape((3, 2)), BroadcastTo((2, 2, 3)))]
    cases += [(ReshapeLike(), [numbered(2, 6), numbered(3, 4)]), (BroadcastToLike(), [numbered(3), numbered(2, 3)])]
    assert_lowered_as_evaluated(cases)
