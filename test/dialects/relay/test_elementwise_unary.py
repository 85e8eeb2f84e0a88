"""Operators on one tensor: evaluate against C's libm and Python's integers, the lower form against evaluate."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.op import OPERATORS
from relay_mlir.dialects.relay.types import ELEMENT_TYPES, type_of
from test.support.mlir_oracle import AVAILABLE
from test.support.operator_check import (
    ANY,
    FLOATS,
    INTEGERS,
    NUMBERS,
    assert_close,
    dtype_of,
    edges,
    elementwise,
    libm,
    run_lowered_together,
    wrap,
)


def sign(x: float) -> float:
    return x if math.isnan(x) else float(x > 0) - float(x < 0)


def sigmoid(x: float) -> float:
    return 1 / (1 + libm("exp")(-x))


def rsqrt(x: float) -> float:
    root = libm("sqrt")(x)
    return math.copysign(math.inf, root) if root == 0 else 1 / root


LIBM = [
    "exp",
    "log",
    "log2",
    "log10",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "erf",
]
"""Functions that libm has under the same names."""
MATH: dict[str, Callable[[float], float]] = {
    **{name: libm(name) for name in LIBM},
    "sigmoid": sigmoid,
    "rsqrt": rsqrt,
}
EXACT: dict[str, Callable[[float], float]] = {
    "ceil": libm("ceil"),
    "floor": libm("floor"),
    "trunc": libm("trunc"),
    "round": libm("rint"),
    "negative": lambda x: -x,
    "abs": libm("fabs"),
    "nn.relu": lambda x: 0.0 if x < 0 else x,
    "copy": lambda x: x,
}
"""Operators whose results are exact, signs of zeros included."""
ON_INTEGERS: dict[str, Callable[[int], int]] = {
    "negative": lambda x: -x,
    "abs": abs,
    "sign": lambda x: (x > 0) - (x < 0),
    "bitwise_not": lambda x: -x - 1,
    "nn.relu": lambda x: max(x, 0),
    "copy": lambda x: x,
}
TESTS = {"isnan": math.isnan, "isinf": math.isinf, "isfinite": math.isfinite}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", MATH)
def test_functions(name: str, dtype: str) -> None:
    x = edges(dtype)
    (got,) = OPERATORS[name]().evaluate([x])
    assert_close(got, elementwise(MATH[name], x), ulps=4 if dtype in ("float32", "float64") else 1)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", EXACT)
def test_exact_functions(name: str, dtype: str) -> None:
    x = edges(dtype)
    (got,) = OPERATORS[name]().evaluate([x])
    assert_close(got, elementwise(EXACT[name], x), signs=True)


@pytest.mark.parametrize("dtype", FLOATS)
def test_sign(dtype: str) -> None:
    x = edges(dtype)
    (got,) = OPERATORS["sign"]().evaluate([x])
    assert_close(got, elementwise(sign, x))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ON_INTEGERS)
def test_integers(name: str, dtype: str) -> None:
    x = edges(dtype)
    (got,) = OPERATORS[name]().evaluate([x])
    assert_close(got, elementwise(lambda v: wrap(ON_INTEGERS[name](v), x.dtype), x))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", TESTS)
def test_float_tests(name: str, dtype: str) -> None:
    x = edges(dtype)
    (got,) = OPERATORS[name]().evaluate([x])
    assert_close(got, elementwise(TESTS[name], x, dtype=np.dtype(bool)))


def cast_value(x: float | int | bool, target: str) -> float | int | bool:
    """The rules of cast on Python numbers."""
    dtype = dtype_of(target)
    if dtype.kind == "b":
        return x != 0
    if dtype.kind not in "iu":
        return float(x)
    if isinstance(x, int):
        return wrap(int(x), dtype)
    if math.isnan(x):
        return 0
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    return min(max(math.trunc(x), low), high) if math.isfinite(x) else (high if x > 0 else low)


@pytest.mark.parametrize("target", ANY)
@pytest.mark.parametrize("source", ANY)
def test_cast(source: str, target: str) -> None:
    x = edges(source)
    if source in ("float32", "float64"):
        extreme = [v for bits in (7, 8, 15, 16, 31, 32, 63, 64) for v in (2.0**bits, -(2.0**bits), 2.0**bits - 1)]
        x = np.array([*x, *extreme, 127.5, -128.5, 65504.0, 65520.0, 1e30], dtype_of(source))
    (got,) = OPERATORS["cast"](dtype=ELEMENT_TYPES[target]).evaluate([x])
    assert_close(got, elementwise(lambda v: cast_value(v, target), x, dtype=dtype_of(target)), signs=True)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("bounds", [(-1.5, 6.5), (0.0, math.inf), (-math.inf, 0.25), (3.0, -3.0), (-1e30, 1e30)])
def test_clip(bounds: tuple[float, float], dtype: str) -> None:
    x = edges(dtype)
    low, high = bounds
    (got,) = OPERATORS["clip"](a_min=low, a_max=high).evaluate([x])
    if x.dtype.kind in "iu":
        least, most = int(np.iinfo(x.dtype).min), int(np.iinfo(x.dtype).max)
        low = least if low < least else min(math.ceil(low), most) if math.isfinite(low) else low
        high = most if high > most else max(math.floor(high), least) if math.isfinite(high) else high

    def clipped(v: float) -> float:
        v = low if v < low else v
        return high if v > high else v

    assert_close(got, elementwise(clipped, x), signs=True)


@pytest.mark.parametrize(("source", "target"), [("float32", "int32"), ("uint16", "float16"), ("bfloat16", "uint16")])
def test_reinterpret_keeps_every_bit(source: str, target: str) -> None:
    bits = (
        np.arange(0, 1 << 16, 7, dtype=np.uint16) if source != "float32" else np.arange(0, 1 << 32, 999_983, np.uint32)
    )
    x = bits.view(dtype_of(source))
    (got,) = OPERATORS["reinterpret"](dtype=ELEMENT_TYPES[target]).evaluate([x])
    assert got.dtype == dtype_of(target)
    assert got.tobytes() == bits.tobytes()


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 3)])
def test_shapes(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 0.5, np.float32)
    for name in (*MATH, *EXACT):
        (got,) = OPERATORS[name]().evaluate([x])
        assert got.shape == shape
        assert OPERATORS[name]().infer([type_of(x)]) == [type_of(got)]


@pytest.mark.parametrize(
    ("name", "dtype"), [("exp", "int32"), ("negative", "bool"), ("bitwise_not", "float32"), ("logical_not", "int8")]
)
def test_refused_element_types(name: str, dtype: str) -> None:
    with pytest.raises(VerifyException, match="element type must be"):
        OPERATORS[name]().infer([type_of(edges(dtype))])


def lowered_cases() -> list[tuple]:
    floats = [*MATH, *EXACT, *TESTS, "sign"]
    cases: list[tuple] = [(OPERATORS[n](), [edges(d)]) for n in floats for d in ("float32", "float16")]
    cases += [(OPERATORS[n](), [edges("bfloat16")]) for n in ("exp", "negative", "copy")]
    cases += [(OPERATORS[n](), [edges("float64")]) for n in ("tanh", "sigmoid")]
    cases += [(OPERATORS[n](), [edges(d)]) for n in ON_INTEGERS for d in ("int8", "uint8", "int64")]
    cases += [(OPERATORS["logical_not"](), [edges("bool")]), (OPERATORS["bitwise_not"](), [edges("bool")])]
    cases += [
        (OPERATORS["cast"](dtype=ELEMENT_TYPES[target]), [edges(source)])
        for source in ("float32", "float64", "float16", "int8", "uint8", "int64", "uint64", "bool")
        for target in ANY
    ]
    cases += [(OPERATORS["clip"](a_min=-1.5, a_max=6.5), [edges(d)]) for d in ("float32", "float16", "int8", "uint8")]
    cases += [(OPERATORS["clip"](a_min=0.0, a_max=math.inf), [edges(d)]) for d in ("float32", "int32", "uint64")]
    snan = np.array([0x7C01, 0xFE00, 0x8000, 0x3C00], np.uint16)
    cases += [(OPERATORS["reinterpret"](dtype=ELEMENT_TYPES["uint16"]), [snan.view(np.float16)])]
    cases += [(OPERATORS["reinterpret"](dtype=ELEMENT_TYPES["float32"]), [edges("int32")])]
    cases += [(OPERATORS[n](), [np.full(s, 0.5, np.float32)]) for n in ("exp", "nn.relu") for s in ((), (0, 2), (2, 3))]
    return cases


@pytest.mark.skipif(not AVAILABLE, reason="mlir-opt-22 is not installed")
def test_lower_agrees_with_evaluate() -> None:
    cases = lowered_cases()
    for (op, args), (got,) in zip(cases, run_lowered_together(cases), strict=True):
        (want,) = op.evaluate(args)
        try:
            assert_close(got, want, ulps=4 if want.dtype in (np.float32, np.float64) else 1, signs=op.name in EXACT)
        except AssertionError as e:
            raise AssertionError(f"{op} on {args[0].dtype}: {e}") from e
