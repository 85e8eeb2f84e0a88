"""Tensors made from a value or a rule: evaluate against Python, the lower form against evaluate."""

import math

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.op import OPERATORS
from relay_mlir.dialects.relay.types import ANY as UNKNOWN
from relay_mlir.dialects.relay.types import ELEMENT_TYPES, tensor, type_of
from test.support.mlir_oracle import AVAILABLE
from test.support.operator_check import ANY, assert_close, dtype_of, run_lowered_together

RANGES = [(0, 5, 1), (5, 0, -2), (-3, 4, 3), (0, 0, 1), (3, 0, 1), (10, 11, 5)]


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
@pytest.mark.parametrize("dtype", ANY)
def test_zeros_and_ones(dtype: str, shape: tuple[int, ...]) -> None:
    element = ELEMENT_TYPES[dtype]
    for name, value in (("zeros", 0), ("ones", 1)):
        (got,) = OPERATORS[name](shape=shape, dtype=element).evaluate([])
        (like,) = OPERATORS[f"{name}_like"]().evaluate([np.full(shape, 7, dtype_of(dtype))])
        assert got.dtype == like.dtype == dtype_of(dtype)
        assert got.shape == like.shape == shape
        assert (got == value).all()
        assert (like == value).all()


def test_full_casts_as_cast_does() -> None:
    for value, dtype, expected in ((3.7, "int8", 3), (300.0, "int8", 127), (math.nan, "int32", 0), (0.5, "bool", True)):
        scalar = np.array(value, np.float32)
        (got,) = OPERATORS["full"](shape=(2, 2), dtype=ELEMENT_TYPES[dtype]).evaluate([scalar])
        assert_close(got, np.full((2, 2), expected, dtype_of(dtype)))
        (like,) = OPERATORS["full_like"]().evaluate([np.zeros((0, 3), dtype_of(dtype)), scalar])
        assert like.shape == (0, 3)
    (kept,) = OPERATORS["full"](shape=(3,)).evaluate([np.array(-0.0, np.float16)])
    assert_close(kept, np.full(3, -0.0, np.float16), signs=True)


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("limits", RANGES)
def test_arange(limits: tuple[int, int, int], dtype: str) -> None:
    start, stop, step = map(float, limits)
    (got,) = OPERATORS["arange"](start=start, stop=stop, step=step, dtype=ELEMENT_TYPES[dtype]).evaluate([])
    assert_close(got, np.array(list(range(*limits)), np.float64).astype(dtype_of(dtype)))


def test_arange_of_fractions_does_not_drift() -> None:
    (got,) = OPERATORS["arange"](start=0.0, stop=100.0, step=0.1, dtype=ELEMENT_TYPES["float32"]).evaluate([])
    assert_close(got, np.array([i / 10 for i in range(1000)]).astype(np.float32))


def test_arange_refuses() -> None:
    for start, stop, step, dtype, message in (
        (0.0, 4.0, 0.0, "float32", "step not 0"),
        (0.0, math.inf, 1.0, "float32", "must be finite"),
        (0.5, 4.0, 1.0, "int32", "needs integers"),
        (0.0, 300.0, 1.0, "int8", "cannot hold 0 to 299"),
        (0.0, 4.0, 1.0, "bool", "must be float or integer"),
    ):
        with pytest.raises(VerifyException, match=message):
            OPERATORS["arange"](start=start, stop=stop, step=step, dtype=ELEMENT_TYPES[dtype]).infer([])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_one_hot(dtype: str, axis: int) -> None:
    indices = np.array([[0, 2, 3], [5, 120, 1]], dtype)
    on, off = np.array(2.5, np.float32), np.array(-0.0, np.float32)
    (got,) = OPERATORS["one_hot"](depth=4, axis=axis).evaluate([indices, on, off])
    want = [[[2.5 if i == int(v) else -0.0 for i in range(4)] for v in row] for row in indices]
    assert_close(got, np.moveaxis(np.array(want, np.float32), 2, axis), signs=True)


def test_one_hot_outside_is_off() -> None:
    on, off = np.array(1, np.int8), np.array(0, np.int8)
    assert not OPERATORS["one_hot"](depth=3).evaluate([np.array([-1, 3]), on, off])[0].any()
    # 256 does not wrap to 0.
    (got,) = OPERATORS["one_hot"](depth=300).evaluate([np.array([0], np.int8), on, off])
    assert got.sum() == 1


def test_types() -> None:
    f32, i64, i1 = (ELEMENT_TYPES[name] for name in ("float32", "int64", "bool"))
    scalar = tensor([], f32)
    one_hot = OPERATORS["one_hot"](depth=4, axis=1)
    assert one_hot.infer([tensor([2, UNKNOWN], i64), scalar, scalar]) == [tensor([2, 4, UNKNOWN], f32)]
    assert OPERATORS["zeros_like"]().infer([tensor([UNKNOWN], f32)]) == [tensor([UNKNOWN], f32)]
    for infer, types, message in (
        (one_hot.infer, [tensor([2], f32), scalar, scalar], "element type of indices must be integer"),
        (one_hot.infer, [tensor([2], i64), tensor([1], f32), scalar], "on_value must be a scalar"),
        (one_hot.infer, [tensor([2], i64), scalar, tensor([], i1)], "same element type"),
        (OPERATORS["full"](shape=(2,)).infer, [tensor([1], f32)], "fill_value must be a scalar"),
        (OPERATORS["zeros"](shape=(2, -1)).infer, [], "no negative dimension"),
    ):
        with pytest.raises(VerifyException, match=message):
            infer(types)


@pytest.mark.skipif(not AVAILABLE, reason="mlir-opt-22 is not installed")
def test_lower_agrees_with_evaluate() -> None:
    x = np.full((2, 3), 7, np.uint8)
    minus, nan = np.array(-3.7, np.float32), np.array(np.nan, np.float16)
    cases: list[tuple] = []
    for element in ELEMENT_TYPES.values():
        cases += [
            (OPERATORS["ones"](shape=(2, 3), dtype=element), []),
            (OPERATORS["zeros"](shape=(), dtype=element), []),
        ]
        cases += [(OPERATORS["full"](shape=(2,), dtype=element), [scalar]) for scalar in (minus, nan)]
    cases += [(OPERATORS["zeros_like"](), [x]), (OPERATORS["ones_like"](), [x[:0]])]
    cases += [(OPERATORS["full_like"](), [x, minus]), (OPERATORS["full"](shape=(3, 0)), [minus])]
    for limits in RANGES:
        start, stop, step = map(float, limits)
        cases += [
            (OPERATORS["arange"](start=start, stop=stop, step=step, dtype=ELEMENT_TYPES[dtype]), [])
            for dtype in ("int8", "float32", "float16")
        ]
    cases += [(OPERATORS["arange"](start=0.0, stop=100.0, step=0.1, dtype=ELEMENT_TYPES["float32"]), [])]
    on, off = np.array(2.5, np.float16), np.array(-0.0, np.float16)
    for dtype in ("int8", "uint8", "int64"):
        indices = np.array([[0, 2, 3], [-1, 120, 1]]).astype(dtype)
        cases += [(OPERATORS["one_hot"](depth=4, axis=axis), [indices, on, off]) for axis in (0, 1, -1)]
    cases += [(OPERATORS["one_hot"](depth=4, dtype=ELEMENT_TYPES["int32"]), [np.array(3), on, off])]
    for (op, args), (got,) in zip(cases, run_lowered_together(cases), strict=True):
        assert type_of(got) == op.infer([type_of(arg) for arg in args])[0]
        try:
            assert_close(got, *op.evaluate(args), signs=True)
        except AssertionError as e:
            raise AssertionError(f"{op}: {e}") from e
