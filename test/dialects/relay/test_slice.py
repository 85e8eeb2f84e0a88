"""Slices, reversal, repetition: against onnxruntime, Python's own slices and loops, the lower form against evaluate."""

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i64
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.op import Operator
from relay_mlir.dialects.relay.slice import Repeat, Reverse, ReverseSequence, SliceLike, StridedSlice, Tile
from relay_mlir.dialects.relay.types import ANY as UNKNOWN
from relay_mlir.dialects.relay.types import Tensor, tensor
from test.support.mlir_oracle import AVAILABLE
from test.support.movement_check import any_bits, assert_lowered_as_evaluated, assert_same_bits, numbered
from test.support.onnx_oracle import onnx_op
from test.support.operator_check import ANY

BIG = 2**63 - 1
SLICES: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = [
    ((0,), (2,), (1,), (0,)),
    ((1, 0), (BIG, 3), (1, 2), (0, 1)),
    ((-2,), (-1,), (1,), (-1,)),
    ((-1,), (-BIG,), (-1,), (1,)),
    ((BIG, 9), (-BIG, 0), (-2, -3), (2, 1)),
    ((2,), (2,), (1,), (1,)),
    ((3,), (1,), (1,), (1,)),
    ((1,), (3,), (-1,), (1,)),
    ((9,), (12,), (1,), (1,)),
    ((-9,), (2,), (3,), (1,)),
    ((1,), (2,), (5,), (2,)),
    ((4,), (3,), (-1,), (1,)),
]


@pytest.mark.parametrize(("begin", "end", "strides", "axes"), SLICES)
def test_slice(begin: tuple[int, ...], end: tuple[int, ...], strides: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = numbered(3, 5, 4)
    (want,) = onnx_op("Slice", [x, *(np.array(v) for v in (begin, end, axes, strides))])
    op = StridedSlice(begin, end, strides, axes)
    (got,) = op.evaluate([x])
    assert_same_bits(got, want)
    assert list(op.infer([tensor((3, 5, 4), f32)])) == [tensor(want.shape, f32)]


def test_leading_axes_and_sizes() -> None:
    x = numbered(4, 5, 3)
    assert_same_bits(StridedSlice((1, -3), (3, BIG)).evaluate([x])[0], x[1:3, -3:].copy())
    assert_same_bits(StridedSlice((1, 0), (4, 4), (2,)).evaluate([x])[0], x[1:4:2, 0:4:2].copy())
    assert_same_bits(StridedSlice((1, -3), (2, -1), slice_mode="size").evaluate([x])[0], x[1:3, 2:].copy())
    assert_same_bits(StridedSlice((3,), (9,), axes=(1,), slice_mode="size").evaluate([x])[0], x[:, 3:].copy())
    assert_same_bits(StridedSlice((), ()).evaluate([numbered()])[0], numbered())


def test_unknown_dimensions() -> None:
    (got,) = StridedSlice((0, 1), (2, 3)).infer([tensor((UNKNOWN, 8, UNKNOWN), f32)])
    assert got == tensor((UNKNOWN, 2, UNKNOWN), f32)
    (got,) = Tile((2, 3)).infer([tensor((UNKNOWN, 2), f32)])
    assert got == tensor((UNKNOWN, 6), f32)
    assert Repeat(2, 1).infer([tensor((UNKNOWN, 2), f32)]) == [tensor((UNKNOWN, 4), f32)]
    assert Repeat(2).infer([tensor((UNKNOWN, 2), f32)]) == [tensor((UNKNOWN,), f32)]


def test_reverse() -> None:
    x = numbered(2, 3)
    assert_same_bits(Reverse(1).evaluate([x])[0], np.array([[2, 1, 0], [5, 4, 3]], np.float32))
    assert_same_bits(Reverse().evaluate([x])[0], np.array([[5, 4, 3], [2, 1, 0]], np.float32))
    assert_same_bits(Reverse(-2).evaluate([x])[0], np.array([[3, 4, 5], [0, 1, 2]], np.float32))


@pytest.mark.parametrize("time", [0, 1])
def test_reverse_sequence(time: int) -> None:
    x, lengths = numbered(4, 4, 2), np.array([1, 4, 2, 0])
    (want,) = onnx_op("ReverseSequence", [x, lengths], time_axis=time, batch_axis=1 - time)
    assert_same_bits(ReverseSequence(time, 1 - time).evaluate([x, lengths])[0], want)
    beyond = np.array([1, 9, 2, -3], np.int32)
    assert_same_bits(ReverseSequence(time, 1 - time).evaluate([x, beyond])[0], want)


@pytest.mark.parametrize("reps", [(2, 1, 3), (1, 1, 1), (0, 1, 2)])
def test_tile(reps: tuple[int, ...]) -> None:
    x = numbered(2, 1, 3)
    (want,) = onnx_op("Tile", [x, np.array(reps)])
    assert_same_bits(Tile(reps).evaluate([x])[0], want)


def test_tile_of_other_ranks() -> None:
    assert_same_bits(Tile((2, 2)).evaluate([numbered(2)])[0], np.array([[0, 1, 0, 1]] * 2, np.float32))
    assert_same_bits(Tile((2,)).evaluate([numbered(2, 1)])[0], np.array([[0, 0], [1, 1]], np.float32))


def test_repeat() -> None:
    x = numbered(2, 2)
    assert_same_bits(Repeat(2, 0).evaluate([x])[0], np.array([[0, 1], [0, 1], [2, 3], [2, 3]], np.float32))
    assert_same_bits(Repeat(3, -1).evaluate([x])[0], np.array([[0, 0, 0, 1, 1, 1], [2, 2, 2, 3, 3, 3]], np.float32))
    assert_same_bits(Repeat(2).evaluate([x])[0], np.array([0, 0, 1, 1, 2, 2, 3, 3], np.float32))


X = tensor((3, 4), f32)


@pytest.mark.parametrize(
    ("op", "types"),
    [
        (StridedSlice((0,), (1, 2)), [X]),
        (StridedSlice((0,), (1,), (0,)), [X]),
        (StridedSlice((0, 0), (1, 1), axes=(0, -2)), [X]),
        (StridedSlice((0,), (1,), axes=(2,)), [X]),
        (StridedSlice((0, 0, 0), (1, 1, 1)), [X]),
        (StridedSlice((0,), (1,), (2,), slice_mode="size"), [X]),
        (StridedSlice((0,), (1,), slice_mode="start"), [X]),
        (Reverse(2), [X]),
        (ReverseSequence(0, 0), [X, tensor((3,), i64)]),
        (ReverseSequence(1, 0), [X, tensor((4,), i64)]),
        (ReverseSequence(1, 0), [X, tensor((3,), f32)]),
        (Tile((-1,)), [X]),
        (Repeat(-1), [X]),
        (Repeat(1, 2), [X]),
    ],
)
def test_refused(op: Operator, types: list[Tensor]) -> None:
    with pytest.raises(VerifyException):
        op.infer(types)


@pytest.mark.skipif(not AVAILABLE, reason="needs mlir-opt-22")
def test_lowered() -> None:
    x = any_bits((3, 5, 4), "float32")
    cases = [(StridedSlice(*row), [x]) for row in SLICES]
    for dtype in ANY:
        y = any_bits((3, 5), dtype)
        cases += [(StridedSlice((4, 0), (0, 3), (-2, 2), (1, 0)), [y]), (Reverse(), [y]), (Tile((2, 3)), [y])]
        cases += [(ReverseSequence(1, 0), [y, np.array([2, 9, -1], np.int32)]), (Repeat(2, 1), [y])]
    cases += [(op, [x[:0]]) for op in (Reverse(1), Tile((2, 1, 1)), Repeat(2), StridedSlice((0,), (1,)))]
    cases += [(op, [numbered()]) for op in (Reverse(), Tile((2,)), Tile(()), Repeat(2), StridedSlice((), ()))]
    cases += [(Repeat(0, 1), [x]), (Tile((2, 0)), [x]), (Reverse(1), [any_bits((3, 1, 2), "int8")])]
    cases += [(ReverseSequence(0, 2), [x, np.array([3, 2, 1, 0])])]
    assert_lowered_as_evaluated(cases)


def test_slice_like() -> None:
    x, like = numbered(3, 5, 4), numbered(2, 3, 9)
    op = SliceLike(axes=(0, -2))
    (got,) = op.evaluate([x, like])
    assert_same_bits(got, x[:2, :3].copy())
    assert_same_bits(SliceLike().evaluate([x, numbered(0, 5, 1)])[0], x[:0, :, :1].copy())
    (found,) = op.infer([tensor((UNKNOWN, 5, 4), f32), tensor((2, UNKNOWN), f32)])
    assert found == tensor((2, UNKNOWN, 4), f32)
    with pytest.raises(VerifyException, match="axis 0 of the data has 3 elements, fewer than 4"):
        op.infer([tensor((3, 5, 4), f32), tensor((4, 3), f32)])
    with pytest.raises(VerifyException, match="and no axis 1"):
        op.infer([tensor((3, 5, 4), f32), tensor((2,), f32)])


@pytest.mark.skipif(not AVAILABLE, reason="needs stock MLIR")
def test_slice_like_lowered() -> None:
    assert_lowered_as_evaluated([(SliceLike(axes=(1,)), [numbered(3, 5, 4), numbered(1, 3)])])
