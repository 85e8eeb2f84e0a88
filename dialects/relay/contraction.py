"""What contractions (convolution, dense, matrix products) share: result and accumulator types, and one lower form.

A contraction multiplies two tensors and adds up. Its lower form is one `linalg.generic` over a tensor of zeros whose
body is the product of its two inputs, converted to the accumulator's type, added to the output argument.
Floats accumulate in the widest of the types involved and at least in f32, integers in the result type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import Float64Type, f32, f64
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.linalg_builder import Body, LinalgBuilder, ScalarBuilder, lowered_element
from relay_mlir.dialects.relay.types import ANY, Tensor, element_type, is_float, is_integer, numpy_dtype, tensor

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def contraction_element(left: Tensor, right: Tensor, out_dtype: Attribute | None) -> Attribute:
    """The element type of the result: `out_dtype`, or the operands' own.

    Floats of one type give any float type; integers, of any two types, any integer type. Raises VerifyException for
    other mixtures, and for integers of two types where `out_dtype` does not say what their products are.
    """
    a, b = left.element_type, right.element_type
    out = a if out_dtype is None else out_dtype
    if is_float(a) and a == b and is_float(out):
        return out
    if is_integer(a) and is_integer(b) and is_integer(out):
        if a != b and out_dtype is None:
            raise VerifyException(f"element types {a} and {b} differ: give the type of the result as out_dtype")
        return out
    raise VerifyException(
        f"element types {a} and {b} give no {out}: expected two floats of one type and a float out_dtype, or integers"
    )


def same_dim(left: int, right: int, what: str) -> int:
    """A dimension that two tensors share, known if either knows it; raises VerifyException where they differ."""
    if left != right and ANY not in (left, right):
        raise VerifyException(f"{what} must agree, but are {left} and {right}")
    return right if left == ANY else left


def accumulator(left: Attribute, right: Attribute, out: Attribute) -> Attribute:
    """The relay element type that a contraction of these element types adds up in."""
    if not is_float(out):
        return out
    return f64 if any(isinstance(element, Float64Type) for element in (left, right, out)) else f32


def contract(
    build: LinalgBuilder,
    inputs: Sequence[SSAValue],
    maps: Sequence[AffineMap],
    shape: Sequence[int],
    reductions: int,
    out: Attribute,
) -> SSAValue:
    """The contraction of two inputs, read through `maps`, to a tensor of this shape and element type.

    The loops are one for each dimension of the result, in order, and then `reductions` more.
    """
    left, right = (type_.element_type for type_ in build.operand_types[:2])
    wide = accumulator(left, right, out)
    rank = len(shape)
    loops = rank + reductions
    result_map = AffineMap(loops, 0, AffineMap.identity(loops).results[:rank])

    def body(s: ScalarBuilder, a: SSAValue, b: SSAValue, total: SSAValue) -> SSAValue:
        return s.add(total, s.mul(s.cast(a, left, wide), s.cast(b, right, wide)))

    zeros = build.fill(0, shape, wide)
    iterators = ["parallel"] * rank + ["reduction"] * reductions
    (result,) = build.generic(inputs, maps, [zeros], [result_map], iterators, body)
    if lowered_element(out) != lowered_element(wide):
        result = build.elementwise([result], tensor(shape, out), _narrow(wide, out))
    return result


def _narrow(wide: Attribute, out: Attribute) -> Body:
    def body(s: ScalarBuilder, total: SSAValue) -> SSAValue:
        return s.cast(total, wide, out)

    return body


def working_dtype(left: np.ndarray, right: np.ndarray, out: Attribute) -> np.dtype[Any]:
    """The numpy dtype to evaluate a contraction in, with the accumulator's result.

    Narrow integers are multiplied as float64, which is exact for them (below 2^53) and much faster in numpy.
    """
    import numpy as np

    if is_float(out):
        return numpy_dtype(accumulator(element_type(left.dtype), element_type(right.dtype), out))
    narrow = left.dtype.itemsize + right.dtype.itemsize <= 3
    return np.dtype(np.float64) if narrow else numpy_dtype(out)


def finished(total: npt.NDArray[np.generic], out: Attribute) -> np.ndarray:
    """A total of `working_dtype` as the result type: floats rounded, integers modulo 2^width."""
    import numpy as np

    if is_integer(out) and total.dtype == np.float64:
        total = total.astype(np.int64)
    with np.errstate(over="ignore"):
        return cast("np.ndarray", total.astype(numpy_dtype(out), copy=False))


__all__ = ["accumulator", "contract", "contraction_element", "finished", "same_dim", "working_dtype"]
