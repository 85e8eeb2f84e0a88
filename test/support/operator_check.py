"""What the tests of operators share: edge values, comparison in units of the last place, many lower forms at once."""

import ctypes
import ctypes.util
from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import ModuleOp, UnitAttr, UnknownLoc
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region
from xdsl.rewriter import InsertPoint

from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, lowered_type
from relay_mlir.dialects.relay.op import Operator
from relay_mlir.dialects.relay.types import numpy_dtype, type_of
from test.support.mlir_oracle import run_text

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NUMBERS = FLOATS + INTEGERS
ANY = (*NUMBERS, "bool")

_FLOAT_EDGES = [0.0, -0.0, 0.25, -0.25, 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.5, -2.5, 3.75, -7.0, 20.0, -20.0, 1000.0]
_SPECIAL = [np.inf, -np.inf, np.nan]


def dtype_of(name: str) -> np.dtype:
    """The numpy dtype of this name, bfloat16 among them."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def edges(name: str) -> np.ndarray:
    """A vector of values of a dtype at which operators go wrong."""
    dtype = dtype_of(name)
    if name in FLOATS:
        return np.array([*_FLOAT_EDGES, *_SPECIAL], dtype)
    if name == "bool":
        return np.array([False, True])
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    middle = [v for v in (-64, -9, -8, -7, -3, -2, -1, 0, 1, 2, 3, 7, 8, 9, 63, 64) if low <= v <= high]
    return np.array([low, low + 1, *middle, high - 1, high], dtype)


def wrap(value: int, dtype: np.dtype) -> int:
    """A Python integer modulo 2^width, as a value of an integer dtype."""
    bits = dtype.itemsize * 8
    value %= 1 << bits
    return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value


def libm(name: str, arity: int = 1) -> Callable[..., float]:
    """A function of the C library's math library on doubles."""
    function = getattr(ctypes.CDLL(ctypes.util.find_library("m")), name)
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_double] * arity
    return function


def elementwise(function: Callable[..., object], *args: np.ndarray, dtype: np.dtype | None = None) -> np.ndarray:
    """A function of Python numbers applied to broadcast arrays; by default the dtype of the first."""
    arrays = np.broadcast_arrays(*args)
    dtype = args[0].dtype if dtype is None else dtype
    rows = [[a.item() if a.dtype.kind in "iubf" else float(a) for a in array.reshape(-1)] for array in arrays]
    values = [function(*row) for row in zip(*rows, strict=True)]
    with np.errstate(all="ignore"):
        return np.array(values, np.float64 if dtype.kind in "fV" else dtype).astype(dtype).reshape(arrays[0].shape)


def assert_close(got: np.ndarray, want: np.ndarray, ulps: int = 0, signs: bool = False) -> None:
    """Equal dtype and shape; integers and bools equal; floats within so many units of the last place.

    NaN equals NaN; with `signs`, 0.0 and -0.0 differ.
    """
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if got.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want)
        return
    eps = float(ml_dtypes.finfo(got.dtype).eps)
    tiny = float(ml_dtypes.finfo(got.dtype).smallest_normal)
    a, b = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        near = np.abs(a - b) <= ulps * (eps * np.abs(b) + tiny * eps)
    good = (a == b) | (np.isnan(a) & np.isnan(b)) | (near & np.isfinite(a) & np.isfinite(b))
    if signs:
        good &= (np.signbit(a) == np.signbit(b)) | np.isnan(b)
    assert good.all(), f"got {got[~good]}, want {want[~good]}, at {np.argwhere(~good)[:10].tolist()}"


def run_lowered_together(cases: Sequence[tuple[Operator, Sequence[np.ndarray]]]) -> list[list[np.ndarray]]:
    """The results of the lower forms of many operators, each on its arguments, in one run of stock MLIR."""
    types = [[type_of(arg) for arg in args] for _, args in cases]
    block = Block(arg_types=[lowered_type(t) for row in types for t in row])
    values, results, start = [], [], 0
    for (op, args), row in zip(cases, types, strict=True):
        build = LinalgBuilder(Builder(InsertPoint.at_end(block)), UnknownLoc(), row)
        inferred = list(op.infer(row))
        given = op.lower(build, list(block.args[start : start + len(args)]), inferred)
        assert [v.type for v in given] == [lowered_type(t) for t in inferred], f"{op}: lower and infer disagree"
        values += given
        results.append([np.empty(t.get_shape(), numpy_dtype(t.element_type)) for t in inferred])
        start += len(args)
    block.add_op(ReturnOp(*values))
    func = FuncOp("f", ([a.type for a in block.args], [v.type for v in values]), Region(block))
    func.attributes["llvm.emit_c_interface"] = UnitAttr()
    module = ModuleOp([func])
    module.verify()
    run_text(str(module), [arg for _, args in cases for arg in args], [array for row in results for array in row])
    return results
