"""The expansions' errors in units in the last place and their ends, against numpy in f64; compiled for this machine."""

import ctypes
import math
import re

import numpy as np
import pytest

from relay_mlir.lowering import expand_math_f32
from test.support.loops_run import compiled, lowered

SPECIAL = np.array(
    [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 1e-45, -1e-45, 1.1754942e-38, 3.4e38, -3.4e38, 0.5, -0.5, 2, -2, 3, -3,
     88.72284, -103.97, 0.625, 4.0, 1.0000001, 0.99999994, -0.99999994, 1e-10, 2.0**48, 1e5, -1e5, 10, 128, -149],
    np.float32,
)  # fmt: skip


def sample(count: int = 1 << 17) -> np.ndarray:
    """Special values, every exponent, and the ranges in which functions change."""
    rng = np.random.default_rng(1)
    parts = [
        rng.integers(0, 2**32, count // 2, dtype=np.uint32).view(np.float32),
        rng.uniform(-12, 12, count // 4).astype(np.float32),
        rng.uniform(-1.1, 1.1, count // 8).astype(np.float32),
        rng.uniform(-110, 110, count // 8).astype(np.float32),
    ]
    values = np.concatenate([SPECIAL, *parts])
    return np.ascontiguousarray(values[: len(values) // 16 * 16])


def program(name: str, operands: int, width: int) -> str:
    """`@f` of arrays: `width` lanes at a time."""
    type_ = "f32" if width == 1 else f"vector<{width}xf32>"
    memref = "memref<?xf32>"
    inputs = [f"%x{i}" for i in range(operands)]

    def access(left: str, op: str, right: str) -> str:
        return f"{left}{'memref' if width == 1 else 'vector'}.{op} {right}[%i] : {memref}" + (
            "" if width == 1 else f", {type_}"
        )

    loads = "\n".join(access(f"%a{i} = ", "load", f"%x{i}") for i in range(operands))
    return f"""
    func.func @f({", ".join(f"{x}: {memref}" for x in inputs)}, %y: {memref}) {{
      %c0 = arith.constant 0 : index
      %step = arith.constant {width} : index
      %n = memref.dim %y, %c0 : {memref}
      scf.for %i = %c0 to %n step %step {{
        {loads}
        %r = math.{name} {", ".join(f"%a{i}" for i in range(operands))} : {type_}
        {access("", "store %r,", "%y")}
      }}
      return
    }}"""


def evaluate(name: str, inputs: list[np.ndarray], width: int = 16) -> np.ndarray:
    code = compiled(program(name, len(inputs), width))
    arrays = [*inputs, np.empty_like(inputs[0])]
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p, ctypes.c_int64] * len(arrays))(code.address("f"))
    function(*(word for array in arrays for word in (array.ctypes.data, array.size)))
    return arrays[-1]


def errors(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """In ULP of f32; infinite where one is NaN or infinite and the other is not, and for the wrong sign of zero."""
    with np.errstate(all="ignore"):
        rounded = want.astype(np.float32)
        same = (got == rounded) & (np.signbit(got) == np.signbit(rounded)) | (np.isnan(got) & np.isnan(rounded))
        ulp = np.abs(got.astype(np.float64) - want) / np.spacing(np.abs(rounded)).astype(np.float64)
        wrong = ~np.isfinite(ulp) | ((got == 0) & (rounded == 0))
    return np.where(same, 0, np.where(wrong, np.inf, ulp))


UNARY = {
    "exp": (np.exp, 1.0),
    "exp2": (np.exp2, 1.1),
    "log": (np.log, 0.9),
    "tanh": (np.tanh, 1.4),
    "erf": (np.vectorize(math.erf, otypes=[np.float64]), 1.1),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1.5),
    "acos": (np.arccos, 0.51),
    "acosh": (np.arccosh, 0.51),
    "asin": (np.arcsin, 0.51),
    "asinh": (np.arcsinh, 0.51),
    "atan": (np.arctan, 0.51),
    "atanh": (np.arctanh, 0.51),
    "cbrt": (np.cbrt, 0.51),
    "cos": (np.cos, 0.51),
    "cosh": (np.cosh, 0.51),
    "expm1": (np.expm1, 0.51),
    "log10": (np.log10, 0.51),
    "log1p": (np.log1p, 0.51),
    "log2": (np.log2, 0.51),
    "sin": (np.sin, 0.51),
    "sinh": (np.sinh, 0.51),
    "tan": (np.tan, 0.51),
}
"""The function in f64, and the largest error allowed."""


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str):
    reference, limit = UNARY[name]
    x = sample()
    with np.errstate(all="ignore"):
        want = reference(x.astype(np.float64))
    error = errors(evaluate(name, [x]), want)
    worst = int(np.argmax(error))
    assert error[worst] <= limit, f"{error[worst]} ULP at {x[worst]!r}, which gives {want[worst]!r}"
    # The scalar form is the same arithmetic.
    some = np.ascontiguousarray(x[:256])
    np.testing.assert_array_equal(evaluate(name, [some], width=1), evaluate(name, [some]))


@pytest.mark.parametrize("name", ["powf", "atan2"])
def test_binary(name: str):
    reference = {"powf": np.power, "atan2": np.arctan2}[name]
    x = sample(1 << 15)
    with np.errstate(invalid="ignore"):
        whole = np.round(np.roll(x, 3) % 32)
    left = np.concatenate([np.repeat(SPECIAL, len(SPECIAL)), x, np.abs(x), x])
    right = np.concatenate([np.tile(SPECIAL, len(SPECIAL)), np.roll(x, 7), np.roll(x, 5), whole]).astype(np.float32)
    with np.errstate(all="ignore"):
        want = reference(left.astype(np.float64), right.astype(np.float64))
    error = errors(evaluate(name, [left, right]), want)
    worst = int(np.argmax(error))
    assert error[worst] <= 0.51, f"{error[worst]} ULP at {left[worst]!r}, {right[worst]!r}: want {want[worst]!r}"


def test_stated_errors_are_those_tested():
    for name, function in (("exp", expand_math_f32.exp), ("log", expand_math_f32.log), ("tanh", expand_math_f32.tanh)):
        stated = re.search(r"Max ([0-9.]+) ULP", function.__doc__ or "")
        assert stated
        assert float(stated[1]) == UNARY[name][1]


def test_integer_powers():
    text = """
    func.func @f(%x: memref<16xi32>, %n: memref<16xi32>, %y: memref<16xi32>, %z: memref<16xf32>, %v: memref<16xf32>) {
      %c0 = arith.constant 0 : index
      %a = vector.load %x[%c0] : memref<16xi32>, vector<16xi32>
      %b = vector.load %n[%c0] : memref<16xi32>, vector<16xi32>
      %p = math.ipowi %a, %b : vector<16xi32>
      vector.store %p, %y[%c0] : memref<16xi32>, vector<16xi32>
      %f = vector.load %v[%c0] : memref<16xf32>, vector<16xf32>
      %q = math.fpowi %f, %b : vector<16xf32>, vector<16xi32>
      vector.store %q, %z[%c0] : memref<16xf32>, vector<16xf32>
      return
    }"""
    x = np.array([2, -3, 1, -1, -1, 7, 0, 0, 2, -2, 5, 10, 3, -1, 2, 46341], np.int32)
    n = np.array([10, 3, -5, -3, -4, -1, 0, 5, 31, 31, 2, 9, 20, 2**31 - 1, -1, 2], np.int32)
    v = np.array([1.5, -2, 0, -0.0, np.inf, np.nan, np.nan, 2, 1.0001, 3, -1, 0.5, 10, -1, 2, -3], np.float32)
    y, z = np.zeros(16, np.int32), np.zeros(16, np.float32)
    arrays = [x, n, y, z, v]
    code = compiled(text)
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(code.address("f"))(*(a.ctypes.data for a in arrays))
    want = [int(a) ** int(b) if b >= 0 and b < 2**20 else {1: 1, -1: -1 if b % 2 else 1}.get(int(a), 0)
            for a, b in zip(x, n, strict=True)]  # fmt: skip
    np.testing.assert_array_equal(y, np.array([((w + 2**31) % 2**32) - 2**31 for w in want], np.int32))
    with np.errstate(all="ignore"):
        assert errors(z, np.power(v.astype(np.float64), n.astype(np.float64))).max() <= 0.51


@pytest.mark.parametrize("type_", ["f16", "bf16"])
def test_halves_are_computed_in_f32(type_: str):
    text = f"""
    func.func @f(%x: memref<16x{type_}>, %y: memref<16x{type_}>) {{
      %c0 = arith.constant 0 : index
      %a = vector.load %x[%c0] : memref<16x{type_}>, vector<16x{type_}>
      %b = math.exp %a : vector<16x{type_}>
      vector.store %b, %y[%c0] : memref<16x{type_}>, vector<16x{type_}>
      return
    }}"""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(np.float16 if type_ == "f16" else ml_dtypes.bfloat16)
    x = np.linspace(-20, 12, 16).astype(dtype)
    x[3], x[4] = np.inf, -np.inf
    y = np.zeros(16, dtype)
    code = compiled(text)
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2)(code.address("f"))(x.ctypes.data, y.ctypes.data)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(y, np.exp(x.astype(np.float64)).astype(np.float32).astype(dtype))


def test_no_library_call_is_left():
    """Of f32 functions; those of f64 stay, and the sines of huge numbers."""
    names = [name for name in UNARY if name not in ("sin", "cos", "tan")]
    for name in names:
        text = str(lowered(program(name, 1, 16)))
        assert "llvm.call" not in text, name
        assert f"llvm.intr.{name}" not in text
    assert "llvm.call @sin(" in str(lowered(program("sin", 1, 16)))
