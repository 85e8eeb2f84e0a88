"""Quotients and remainders: true division, and the truncated (C) and floored (Python) integer kinds.

Integers: x / 0 is 0, x mod 0 is 0, and INT_MIN / -1 is INT_MIN; nothing traps. Floats: division by zero gives what
IEEE 754 says, and a remainder of a division by zero is NaN. Shapes broadcast by numpy's rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from xdsl.ir import Attribute, SSAValue

from relay_mlir.dialects.lazy import arith
from relay_mlir.dialects.relay.elementwise import Binary, Kind
from relay_mlir.dialects.relay.op import operator
from relay_mlir.dialects.relay.types import is_float, is_unsigned

if TYPE_CHECKING:
    from relay_mlir.dialects.relay.elementwise import Array
    from relay_mlir.dialects.relay.linalg_builder import ScalarBuilder


class Division(Binary):
    """A quotient or a remainder of numbers."""

    accepts = Kind.NUMBER
    ufunc: ClassVar[str]
    """The name of numpy's function, for the operators that have one."""

    def compute(self, *args: Array) -> Array:
        import numpy as np

        return getattr(np, self.ufunc)(*args)


def _truncated(a: Array, b: Array) -> Array:
    """The integer quotient rounded towards zero: numpy only rounds down."""
    import numpy as np

    return np.floor_divide(a - np.fmod(a, b), b)


@operator
class Divide(Division):
    """The quotient; of integers, rounded towards zero. ONNX Div, Relay divide."""

    name = "divide"
    right_identity = 1.0

    def compute(self, *args: Array) -> Array:
        import numpy as np

        return _truncated(*args) if args[0].dtype.kind in "iu" else np.divide(*args)

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        return s.div(*args, unsigned=is_unsigned(element))


@operator
class TruncDivide(Division):
    """The quotient rounded towards zero: the integer nearest to (a - fmod(a, b)) / b. Relay trunc_divide."""

    name = "trunc_divide"

    def compute(self, *args: Array) -> Array:
        import numpy as np

        a, b = args
        if a.dtype.kind in "iu":
            return _truncated(a, b)
        return np.where(b == 0, a / b, np.rint((a - np.fmod(a, b)) / b))

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        a, b = args
        if not is_float(a.type):
            return s.div(a, b, unsigned=is_unsigned(element))
        quotient = s.math("RoundEven", s.div(s.sub(a, s.rem(a, b)), b))
        return s.select(s.compare("eq", b, s.like(0, b)), s.div(a, b), quotient)


class Remainder(Division):
    """The remainder of the division rounded towards zero: it has the sign of the dividend."""

    ufunc = "fmod"

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        return s.rem(*args, unsigned=is_unsigned(element))


@operator
class Mod(Remainder):
    """The remainder with the sign of the dividend, C's fmod and %. ONNX Mod with fmod = 1, Relay mod."""

    name = "mod"


@operator
class TruncMod(Remainder):
    """The remainder with the sign of the dividend, C's fmod and %. Relay trunc_mod."""

    name = "trunc_mod"


@operator
class FloorDivide(Division):
    """The quotient rounded down, as Python's //, from the exact remainder: 1.0 // 0.1 is 9. Relay floor_divide."""

    name = "floor_divide"
    ufunc = "floor_divide"

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        a, b = args
        unsigned = is_unsigned(element)
        if unsigned:
            return s.div(a, b, unsigned=True)
        rest = s.rem(a, b)
        down = _opposite(s, rest, b)
        if not is_float(a.type):
            quotient = s.div(a, b)
            return s.select(down, s.sub(quotient, s.like(1, a)), quotient)
        quotient = s.div(s.sub(a, rest), b)
        quotient = s.select(down, s.sub(quotient, s.like(1, a)), quotient)
        # The division may have rounded to either side of the integer that it stands for.
        floor = s.math("Floor", quotient)
        above = s.compare("gt", s.sub(quotient, floor), s.like(0.5, a))
        nearest = s.select(above, s.add(floor, s.like(1, a)), floor)
        return s.select(s.compare("eq", b, s.like(0, b)), s.div(a, b), nearest)


@operator
class FloorMod(Division):
    """The remainder with the sign of the divisor, as Python's %. ONNX Mod with fmod = 0, Relay floor_mod."""

    name = "floor_mod"
    ufunc = "remainder"

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        a, b = args
        if is_unsigned(element):
            return s.rem(a, b, unsigned=True)
        rest = s.rem(a, b)
        return s.select(_opposite(s, rest, b), s.add(rest, b), rest)


def _opposite(s: ScalarBuilder, rest: SSAValue, divisor: SSAValue) -> SSAValue:
    """Whether a truncated remainder is not zero and has the other sign than the divisor."""
    zero = s.like(0, rest)
    differ = s.insert(arith.XOrIOp(s.compare("lt", rest, zero), s.compare("lt", divisor, zero)))
    return s.insert(arith.AndIOp(s.compare("ne", rest, zero), differ))
