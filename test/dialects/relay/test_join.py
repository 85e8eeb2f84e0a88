"""Concatenation, stacking and splitting: against onnxruntime and numpy, the lower form against evaluate."""

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i8
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.join import Concatenate, Split, Stack
from relay_mlir.dialects.relay.op import Operator
from relay_mlir.dialects.relay.types import ANY as UNKNOWN
from relay_mlir.dialects.relay.types import Tensor, tensor
from test.support.mlir_oracle import AVAILABLE
from test.support.movement_check import any_bits, assert_lowered_as_evaluated, assert_same_bits, numbered
from test.support.onnx_oracle import onnx_op
from test.support.operator_check import ANY


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "int64"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concatenate(axis: int, dtype: str) -> None:
    parts = [any_bits([3 if d == axis % 3 else size for d, size in enumerate((2, 4, 5))], dtype, n) for n in range(3)]
    parts.append(any_bits([0 if d == axis % 3 else size for d, size in enumerate((2, 4, 5))], dtype))
    (want,) = onnx_op("Concat", parts, axis=axis)
    assert_same_bits(Concatenate(axis).evaluate(parts)[0], want)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_stack(axis: int) -> None:
    parts = [any_bits((2, 3), "float32", n) for n in range(4)]
    (got,) = Stack(axis).evaluate(parts)
    for n, part in enumerate(parts):
        assert_same_bits(got.take(n, axis), part)


@pytest.mark.parametrize("sizes", [(7,), (3, 4), (2, 0, 5), (1, 1, 1, 4)])
@pytest.mark.parametrize("axis", [0, -1])
def test_split(sizes: tuple[int, ...], axis: int) -> None:
    x = numbered(7, 7)
    wants = onnx_op("Split", [x, np.array(sizes)], axis=axis, outputs=len(sizes))
    op = Split.of_sizes(sizes, axis)
    assert len(op.indices_or_sections) == len(sizes) - 1
    for got, want in zip(op.evaluate([x]), wants, strict=True):
        assert_same_bits(got, want)


def shapes(op: Operator, *types: Tensor) -> list[tuple[int, ...]]:
    return [type_.get_shape() for type_ in op.infer(types)]


def test_unknown_dimensions() -> None:
    a, b = tensor((UNKNOWN, 3), f32), tensor((2, UNKNOWN), f32)
    assert shapes(Concatenate(0), a, b) == [(UNKNOWN, 3)]
    assert shapes(Concatenate(1), a, b) == [(2, UNKNOWN)]
    assert shapes(Stack(), a, b) == [(2, 2, 3)]
    assert shapes(Split((1, 3), 0), a) == [(1, 3), (2, 3), (UNKNOWN, 3)]
    assert shapes(Split((1,), 1), a) == [(UNKNOWN, 1), (UNKNOWN, 2)]


@pytest.mark.parametrize(
    ("op", "types"),
    [
        (Concatenate(0), [tensor((2, 3), f32), tensor((2, 4), f32)]),
        (Concatenate(0), [tensor((2, 3), f32), tensor((2, 3), i8)]),
        (Concatenate(0), [tensor((2, 3), f32), tensor((2,), f32)]),
        (Concatenate(2), [tensor((2, 3), f32)]),
        (Concatenate(0), [tensor((), f32)]),
        (Stack(), [tensor((2,), f32), tensor((3,), f32)]),
        (Stack(2), [tensor((2,), f32)]),
        (Split((3, 2)), [tensor((4,), f32)]),
        (Split((5,)), [tensor((4,), f32)]),
        (Split((-1,)), [tensor((UNKNOWN,), f32)]),
    ],
)
def test_refused(op: Operator, types: list[Tensor]) -> None:
    with pytest.raises(VerifyException):
        op.infer(types)


@pytest.mark.skipif(not AVAILABLE, reason="needs mlir-opt-22")
def test_lowered() -> None:
    cases = []
    for dtype in ANY:
        parts = [any_bits((2, n, 3), dtype, n) for n in (2, 0, 3)]
        cases += [(Concatenate(1), parts), (Split((0, 1, 2), -1), parts[:1])]
    x = any_bits((2, 3), "float32")
    cases += [(Stack(axis), [x, x + 1]) for axis in (0, 1, 2)]
    cases += [(Stack(), [numbered(), numbered()]), (Concatenate(), [x[:0], x[:0]]), (Split((), 0), [x])]
    assert_lowered_as_evaluated(cases)
