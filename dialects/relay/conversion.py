"""Changes of element type and range: copy, cast, reinterpret, clip."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.lazy import arith
from relay_mlir.dialects.relay.elementwise import (
    Kind,
    Unary,
    check_kind,
    highest,
    integer_width,
    lowest,
    widened,
)
from relay_mlir.dialects.relay.op import RelayOp, operator
from relay_mlir.dialects.relay.types import Tensor, element_type, is_bool, is_float, is_unsigned, numpy_dtype

if TYPE_CHECKING:
    import numpy as np

    from relay_mlir.dialects.relay.elementwise import Array
    from relay_mlir.dialects.relay.linalg_builder import ScalarBuilder


@operator
class Copy(Unary):
    """The same tensor. ONNX Identity, Relay copy."""

    name = "copy"
    accepts = Kind.ANY
    widens = False

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        return [args[0].copy()]

    def compute(self, *args: Array) -> Array:
        return args[0]

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        return args[0]

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        return [op.operands[0]]


def converted(array: Array, target: Attribute) -> Array:
    """An array in another element type, by the rules of cast; of the compute type, unrounded for f16 and bf16."""
    import numpy as np

    from relay_mlir.dialects.relay.linalg_builder import compute_element

    array = widened(array)
    if is_bool(target):
        return array != 0
    if is_float(target):
        with np.errstate(all="ignore"):
            return array.astype(numpy_dtype(f32 if compute_element(target) == f32 else target))
    if array.dtype.kind in "iub":
        return array.astype(numpy_dtype(target))
    low, high = int(lowest(target)), int(highest(target))
    # The bounds are powers of two (or 0), so that comparing floats is exact.
    below, above = array <= float(low), array >= math.ldexp(1.0, integer_width(target) - (not is_unsigned(target)))
    inside = np.where(below | above | np.isnan(array), np.zeros_like(array), array).astype(numpy_dtype(target))
    return np.where(below, inside.dtype.type(low), np.where(above, inside.dtype.type(high), inside))


@operator
class Cast(Unary):
    """The tensor in another element type, by value. ONNX Cast and CastLike, Relay cast.

    To bool: whether it is not zero (NaN is True). Float to integer: towards zero, out of range the nearest bound,
    NaN to 0. Between integers: modulo 2^width. To a float: rounded to nearest, halves to even; to f16 and bf16 by
    way of f32.
    """

    name = "cast"
    accepts = Kind.ANY
    dtype: Attribute

    def result_element(self, element: Attribute) -> Attribute:
        check_kind(self.dtype, Kind.ANY, "dtype")
        return self.dtype

    def compute(self, *args: Array) -> Array:
        return converted(args[0], self.dtype)

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        return s.cast(args[0], element, self.dtype)

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        return [op.operands[0]] if op.operand_types[0].element_type == self.dtype else None


@operator
class Reinterpret(Unary):
    """The bits of each element read as another type of the same width, not bool. Relay reinterpret, ONNX BitCast."""

    name = "reinterpret"
    accepts = Kind.NUMBER
    widens = False
    dtype: Attribute

    def result_element(self, element: Attribute) -> Attribute:
        check_kind(self.dtype, Kind.NUMBER, "dtype")
        if _bits(element) != _bits(self.dtype):
            raise VerifyException(f"dtype {self.dtype} must have as many bits as {element}")
        return self.dtype

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        return [args[0].view(numpy_dtype(self.dtype)).copy()]

    def compute(self, *args: Array) -> Array:
        return args[0].view(numpy_dtype(self.dtype))

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        from relay_mlir.dialects.relay.linalg_builder import lowered_element

        (x,) = args
        target = lowered_element(self.dtype)
        return x if x.type == target else s.insert(arith.BitcastOp(x, target))

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        return [op.operands[0]] if op.operand_types[0].element_type == self.dtype else None


def _bits(element: Attribute) -> int:
    return numpy_dtype(element).itemsize * 8


@operator
class Clip(Unary):
    """`a_min` where the element is less, `a_max` where it is greater; NaN stays, and `a_max` wins over `a_min`.

    Bounds of integers are rounded inwards and may be infinite. ONNX Clip with constant bounds, Relay clip.
    """

    name = "clip"
    accepts = Kind.NUMBER
    idempotent = True
    a_min: float
    a_max: float

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        if math.isnan(self.a_min) or math.isnan(self.a_max):
            raise VerifyException(f"bounds must not be NaN, but are {self.a_min} and {self.a_max}")
        return super().infer(types)

    def bounds(self, element: Attribute) -> tuple[float | int, float | int]:
        """The bounds as values of the element type."""
        if is_float(element):
            return self.a_min, self.a_max
        low, high = int(lowest(element)), int(highest(element))
        return _integer_bound(self.a_min, math.ceil, low, high), _integer_bound(self.a_max, math.floor, low, high)

    def compute(self, *args: Array) -> Array:
        import numpy as np

        (x,) = args
        low, high = (x.dtype.type(bound) for bound in self.bounds(element_type(x.dtype)))
        x = np.where(x < low, low, x)
        return np.where(x > high, high, x)

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        (x,) = args
        low, high = (s.like(bound, x) for bound in self.bounds(element))
        unsigned = is_unsigned(element)
        x = s.select(s.compare("lt", x, low, unsigned), low, x)
        return s.select(s.compare("gt", x, high, unsigned), high, x)

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        element = op.operand_types[0].element_type
        if self.bounds(element) == (lowest(element), highest(element)):
            return [op.operands[0]]
        return super().fold(op)


def _integer_bound(bound: float, rounding: Callable[[float], int], low: int, high: int) -> int:
    """A bound rounded to an integer and moved into [low, high]."""
    if math.isinf(bound):
        return low if bound < 0 else high
    return min(max(rounding(bound), low), high)
