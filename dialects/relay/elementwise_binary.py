"""Arithmetic on two tensors: sum, difference, product, power, the greater and the lesser, angle.

Shapes broadcast by numpy's rules; both operands and the result have one element type. Integers wrap.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from xdsl.ir import Attribute, SSAValue

from relay_mlir.dialects.lazy import arith
from relay_mlir.dialects.relay.elementwise import Binary, Kind, Ufunc, integer_width
from relay_mlir.dialects.relay.op import operator
from relay_mlir.dialects.relay.types import is_float, is_unsigned

if TYPE_CHECKING:
    from relay_mlir.dialects.relay.elementwise import Array
    from relay_mlir.dialects.relay.linalg_builder import ScalarBuilder


class Arithmetic(Binary):
    """A binary operator on numbers that numpy and ScalarBuilder both have; integers wrap."""

    accepts = Kind.NUMBER
    ufunc: ClassVar[str]
    """The name of numpy's function."""
    method: ClassVar[str]
    """The name of ScalarBuilder's method."""

    def compute(self, *args: Array) -> Array:
        import numpy as np

        return getattr(np, self.ufunc)(*args)

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        return getattr(s, self.method)(*args)


@operator
class Add(Arithmetic):
    """The sum. ONNX Add, Relay add."""

    name = "add"
    ufunc = "add"
    method = "add"
    left_identity = right_identity = -0.0  # 0.0 would turn -0.0 into 0.0


@operator
class Subtract(Arithmetic):
    """The difference. ONNX Sub, Relay subtract."""

    name = "subtract"
    ufunc = "subtract"
    method = "sub"
    right_identity = 0.0


@operator
class Multiply(Arithmetic):
    """The product. ONNX Mul, Relay multiply."""

    name = "multiply"
    ufunc = "multiply"
    method = "mul"
    left_identity = right_identity = 1.0


class Extremum(Binary):
    """The greater or lesser of two: NaN if either is NaN; the sign of a zero result is not defined."""

    accepts = Kind.ANY
    method: ClassVar[str]
    """The name of numpy's function and of ScalarBuilder's method."""
    same = True

    def compute(self, *args: Array) -> Array:
        import numpy as np

        return getattr(np, self.method)(*args)

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        return getattr(s, self.method)(*args, unsigned=is_unsigned(element))


@operator
class Maximum(Extremum):
    """The greater of two elements, NaN if either is NaN; of bools, their disjunction. ONNX Max, Relay maximum."""

    name = method = "maximum"
    left_identity = right_identity = -math.inf


@operator
class Minimum(Extremum):
    """The lesser of two elements, NaN if either is NaN; of bools, their conjunction. ONNX Min, Relay minimum."""

    name = method = "minimum"
    left_identity = right_identity = math.inf


@operator
class Power(Binary):
    """lhs to the power rhs. ONNX Pow, Relay power.

    Floats as C's pow. Integers wrap; a negative exponent gives the quotient 1 / lhs^-rhs truncated towards zero
    (1, -1 or 0), and 0 to a negative power is 0, as integer division by zero is.
    """

    name = "power"
    accepts = Kind.NUMBER
    right_identity = 1.0

    def compute(self, *args: Array) -> Array:
        import numpy as np

        base, exponent = args
        if not np.issubdtype(base.dtype, np.integer):
            return np.power(base, exponent)
        positive = np.power(base, np.maximum(exponent, 0))
        sign = np.where(exponent % 2 == 0, np.ones_like(base), base)
        reciprocal = np.where(np.isin(base, [1, -1] if base.dtype.kind == "i" else [1]), sign, np.zeros_like(base))
        return np.where(exponent < 0, reciprocal, positive)

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        base, exponent = args
        if is_float(base.type):
            return s.math("PowF", base, exponent)
        one, zero = s.like(1, base), s.like(0, base)
        result, square = one, base
        # Square and multiply, written out: straight-line code for every level below.
        for bit in range(integer_width(element)):
            chosen = s.insert(arith.AndIOp(s.insert(arith.ShRUIOp(exponent, s.like(bit, exponent))), one))
            result = s.select(s.compare("ne", chosen, zero), s.mul(result, square), result)
            square = s.mul(square, square)
        if is_unsigned(element):
            return result
        odd = s.compare("ne", s.insert(arith.AndIOp(exponent, one)), zero)
        unit = s.insert(arith.OrIOp(s.compare("eq", base, one), s.compare("eq", base, s.like(-1, base))))
        reciprocal = s.select(unit, s.select(odd, base, one), zero)
        return s.select(s.compare("lt", exponent, zero), reciprocal, result)


@operator
class Atan2(Ufunc, Binary):
    """The angle of the point (rhs, lhs), in [-pi, pi], as C's atan2. Relay atan2."""

    name = "atan2"
    accepts = Kind.FLOAT
    ufunc = "arctan2"
    math_op = "Atan2"
