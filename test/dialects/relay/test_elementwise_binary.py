"""Operators on two tensors: evaluate against C's libm and Python's integers, the lower form against evaluate."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.elementwise import Binary
from relay_mlir.dialects.relay.op import OPERATORS
from relay_mlir.dialects.relay.types import ANY as UNKNOWN
from relay_mlir.dialects.relay.types import ELEMENT_TYPES, tensor, type_of
from test.support.mlir_oracle import AVAILABLE
from test.support.operator_check import (
    ANY,
    FLOATS,
    INTEGERS,
    assert_close,
    edges,
    elementwise,
    libm,
    run_lowered_together,
    wrap,
)


def ieee_divide(a: float, b: float) -> float:
    if b != 0:
        return a / b
    return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)


def floor_divide(a: float, b: float) -> float:
    return a // b if b != 0 else ieee_divide(a, b)


def trunc_divide(a: float, b: float) -> float:
    if b == 0:
        return ieee_divide(a, b)
    if not math.isfinite(a) or math.isnan(b):
        return math.nan
    return (abs(a) // abs(b)) * math.copysign(1.0, a) * math.copysign(1.0, b)


def greater_of(a: float, b: float) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else max(a, b)


def lesser_of(a: float, b: float) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else min(a, b)


ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": ieee_divide,
    "mod": libm("fmod", 2),
    "trunc_mod": libm("fmod", 2),
}
"""Exact but for one rounding, signs of zeros included."""
FLOAT: dict[str, Callable[[float, float], float]] = {
    "floor_mod": lambda a, b: a % b if b != 0 else math.nan,
    "floor_divide": floor_divide,
    "trunc_divide": trunc_divide,
    "maximum": greater_of,
    "minimum": lesser_of,
    "power": libm("pow", 2),
    "atan2": libm("atan2", 2),
}


def quotient(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    return 0 if b == 0 else a - b * quotient(a, b)


def power(a: int, b: int) -> int:
    if b >= 0:
        return pow(a, b, 1 << 64)
    return 0 if abs(a) != 1 else (a if b % 2 else 1)


INTEGER: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": quotient,
    "trunc_divide": quotient,
    "floor_divide": lambda a, b: a // b if b else 0,
    "mod": remainder,
    "trunc_mod": remainder,
    "floor_mod": lambda a, b: a % b if b else 0,
    "power": power,
    "maximum": max,
    "minimum": min,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "left_shift": lambda a, b: a << b if 0 <= b < 64 else 0,
    "right_shift": lambda a, b: a >> (b if 0 <= b < 64 else 64),
}
BOOL: dict[str, Callable[[bool, bool], bool]] = {
    "logical_and": lambda a, b: a and b,
    "logical_or": lambda a, b: a or b,
    "logical_xor": lambda a, b: a != b,
    "bitwise_and": lambda a, b: a and b,
    "bitwise_or": lambda a, b: a or b,
    "bitwise_xor": lambda a, b: a != b,
    "maximum": max,
    "minimum": min,
}
COMPARISON: dict[str, Callable[[float, float], bool]] = {
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
}


def pairs(dtype: str) -> list[np.ndarray]:
    """Every pair of edge values, as a column and a row that broadcast."""
    return [edges(dtype)[:, np.newaxis], edges(dtype)[np.newaxis, :]]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic(name: str, dtype: str) -> None:
    args = pairs(dtype)
    (got,) = OPERATORS[name]().evaluate(args)
    assert_close(got, elementwise(ARITHMETIC[name], *args), signs=True)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FLOAT)
def test_floats(name: str, dtype: str) -> None:
    args = pairs(dtype)
    (got,) = OPERATORS[name]().evaluate(args)
    exact = name in ("maximum", "minimum", "floor_divide", "trunc_divide")
    assert_close(got, elementwise(FLOAT[name], *args), ulps=0 if exact else 2)


def test_floor_divide_is_of_the_exact_quotient() -> None:
    # 1.0 / 0.1 rounds to 10, but 0.1 is a little more than a tenth.
    one, tenth = np.array(1.0), np.array(0.1)
    assert OPERATORS["floor_divide"]().evaluate([one, tenth])[0] == 9
    assert OPERATORS["trunc_divide"]().evaluate([one, tenth])[0] == 9


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", INTEGER)
def test_integers(name: str, dtype: str) -> None:
    args = pairs(dtype)
    (got,) = OPERATORS[name]().evaluate(args)
    width = args[0].dtype.itemsize * 8

    def want(a: int, b: int) -> int:
        inside = "shift" not in name or 0 <= b < width
        return wrap(INTEGER[name](a, b if inside else 64), args[0].dtype)

    assert_close(got, elementwise(want, *args))


@pytest.mark.parametrize("name", BOOL)
def test_bools(name: str) -> None:
    args = pairs("bool")
    (got,) = OPERATORS[name]().evaluate(args)
    assert_close(got, elementwise(BOOL[name], *args))


@pytest.mark.parametrize("dtype", ANY)
@pytest.mark.parametrize("name", COMPARISON)
def test_comparisons(name: str, dtype: str) -> None:
    args = pairs(dtype)
    (got,) = OPERATORS[name]().evaluate(args)
    assert_close(got, elementwise(COMPARISON[name], *args, dtype=np.dtype(bool)))


@pytest.mark.parametrize("dtype", ANY)
def test_where(dtype: str) -> None:
    condition = np.array([[True], [False]])
    x, y = edges(dtype), edges(dtype)[::-1]
    (got,) = OPERATORS["where"]().evaluate([condition, x, y])
    assert got[0].tobytes() == x.tobytes()
    assert got[1].tobytes() == np.ascontiguousarray(y).tobytes()


def test_broadcasting_of_types() -> None:
    f32 = ELEMENT_TYPES["float32"]
    infer = OPERATORS["add"]().infer
    assert infer([tensor([3, 1], f32), tensor([4], f32)]) == [tensor([3, 4], f32)]
    assert infer([tensor([UNKNOWN, 1], f32), tensor([UNKNOWN], f32)]) == [tensor([UNKNOWN, UNKNOWN], f32)]
    assert infer([tensor([UNKNOWN], f32), tensor([3], f32)]) == [tensor([3], f32)]
    assert infer([tensor([], f32), tensor([0], f32)]) == [tensor([0], f32)]
    with pytest.raises(VerifyException, match="do not broadcast"):
        infer([tensor([2], f32), tensor([3], f32)])


@pytest.mark.parametrize(
    ("name", "dtypes", "message"),
    [
        ("add", ("float32", "float64"), "same element type, but have f32 and f64"),
        ("add", ("bool", "bool"), "must be float or integer, but is i1"),
        ("left_shift", ("float32", "float32"), "must be integer, but is f32"),
        ("logical_and", ("int8", "int8"), "must be bool, but is i8"),
        ("atan2", ("int32", "int32"), "must be float, but is i32"),
        ("where", ("int8", "int8", "int8"), "condition must be bool"),
        ("where", ("bool", "int8", "int16"), "same element type"),
    ],
)
def test_refused_types(name: str, dtypes: tuple[str, ...], message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        OPERATORS[name]().infer([type_of(edges(dtype)[:1]) for dtype in dtypes])


def lowered_cases() -> list[tuple]:
    cases: list[tuple] = []
    for names, dtypes in (
        ({**ARITHMETIC, **FLOAT}, ("float32", "float16")),
        ({"add": 0, "floor_mod": 0, "maximum": 0, "less": 0}, ("bfloat16", "float64")),
        (INTEGER, ("int8", "uint8", "int64")),
        (BOOL, ("bool",)),
        (COMPARISON, ("float32", "float16", "int8", "uint8", "bool")),
    ):
        cases += [(OPERATORS[name](), pairs(dtype)) for name in names for dtype in dtypes]
    condition = np.array([[True], [False]])
    cases += [
        (OPERATORS["where"](), [condition, edges(d), edges(d)[::-1].copy()]) for d in ("float16", "int64", "bool")
    ]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    others = [np.float32(2).reshape(()), x[:0], x[:, :1], x[0], np.zeros((4, 1, 3), np.float32)]
    cases += [(OPERATORS["subtract"](), [x[:1] if other.size == 0 else x, other.copy()]) for other in others]
    return cases


@pytest.mark.skipif(not AVAILABLE, reason="mlir-opt-22 is not installed")
def test_lower_agrees_with_evaluate() -> None:
    cases = lowered_cases()
    for (op, args), (got,) in zip(cases, run_lowered_together(cases), strict=True):
        (want,) = op.evaluate(args)
        try:
            assert_close(got, want, ulps=2 if op.name in ("power", "atan2") else 0, signs=op.name in ARITHMETIC)
        except AssertionError as e:
            raise AssertionError(f"{op} on {args[-1].dtype}: {e}") from e


def test_every_binary_operator_is_tested() -> None:
    tested = {*ARITHMETIC, *FLOAT, *INTEGER, *BOOL, *COMPARISON}
    binary = {name for name, cls in OPERATORS.items() if issubclass(cls, Binary)}
    assert binary <= tested
