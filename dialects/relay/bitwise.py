"""Logic on bools, bitwise operations and shifts on integers.

Shapes broadcast by numpy's rules; both operands and the result have one element type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from xdsl.ir import Attribute, SSAValue

from relay_mlir.dialects.lazy import arith
from relay_mlir.dialects.relay.elementwise import Binary, Kind, Unary, integer_width
from relay_mlir.dialects.relay.op import operator
from relay_mlir.dialects.relay.types import is_unsigned

if TYPE_CHECKING:
    from relay_mlir.dialects.relay.elementwise import Array
    from relay_mlir.dialects.relay.linalg_builder import ScalarBuilder


class Bits(Binary):
    """An operation on each bit of two integers or bools."""

    ufunc: ClassVar[str]
    """The name of numpy's function."""
    arith_op: ClassVar[type[arith.AndIOp | arith.OrIOp | arith.XOrIOp]]
    """The arith operation."""

    def compute(self, *args: Array) -> Array:
        import numpy as np

        return getattr(np, self.ufunc)(*args)

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        lhs, rhs = args
        return s.insert(self.arith_op(lhs, rhs))


class And(Bits):
    """Conjunction."""

    ufunc = "bitwise_and"
    arith_op = arith.AndIOp
    left_identity = right_identity = -1.0  # all bits
    same = True


class Or(Bits):
    """Disjunction."""

    ufunc = "bitwise_or"
    arith_op = arith.OrIOp
    left_identity = right_identity = 0.0
    same = True


class Xor(Bits):
    """Exclusive disjunction."""

    ufunc = "bitwise_xor"
    arith_op = arith.XOrIOp
    left_identity = right_identity = 0.0


@operator
class BitwiseAnd(And):
    """The bits that are set in both. ONNX BitwiseAnd, Relay bitwise_and."""

    name = "bitwise_and"
    accepts = Kind.BITS


@operator
class BitwiseOr(Or):
    """The bits that are set in either. ONNX BitwiseOr, Relay bitwise_or."""

    name = "bitwise_or"
    accepts = Kind.BITS


@operator
class BitwiseXor(Xor):
    """The bits that differ. ONNX BitwiseXor, Relay bitwise_xor."""

    name = "bitwise_xor"
    accepts = Kind.BITS


@operator
class LogicalAnd(And):
    """Whether both are true; bool only. ONNX And, Relay logical_and."""

    name = "logical_and"
    accepts = Kind.BOOL


@operator
class LogicalOr(Or):
    """Whether either is true; bool only. ONNX Or, Relay logical_or."""

    name = "logical_or"
    accepts = Kind.BOOL


@operator
class LogicalXor(Xor):
    """Whether exactly one is true; bool only. ONNX Xor, Relay logical_xor."""

    name = "logical_xor"
    accepts = Kind.BOOL


class Not(Unary):
    """Every bit inverted."""

    involution = True

    def compute(self, *args: Array) -> Array:
        import numpy as np

        return np.invert(*args)

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        (x,) = args
        return s.insert(arith.XOrIOp(x, s.like(-1, x)))


@operator
class BitwiseNot(Not):
    """Every bit inverted; of bool, the negation. ONNX BitwiseNot, Relay bitwise_not."""

    name = "bitwise_not"
    accepts = Kind.BITS


@operator
class LogicalNot(Not):
    """The negation; bool only. ONNX Not, Relay logical_not."""

    name = "logical_not"
    accepts = Kind.BOOL


class Shift(Binary):
    """A shift by an amount; one that is negative or not less than the width shifts every bit out."""

    accepts = Kind.INTEGER
    right_identity = 0.0

    def guarded(self, s: ScalarBuilder, element: Attribute, amount: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Whether the amount is less than the width, and it, or else the greatest that is: other shifts are poison.

        A signed right shift by width - 1 leaves copies of the sign, as one by more should.
        """
        # Unsigned, a negative amount is a great one.
        inside = s.compare("lt", amount, s.like(integer_width(element), amount), unsigned=True)
        return inside, s.select(inside, amount, s.like(integer_width(element) - 1, amount))


@operator
class LeftShift(Shift):
    """lhs * 2^rhs, modulo 2^width; 0 where rhs is negative or not less than the width.

    ONNX BitShift with direction LEFT, Relay left_shift.
    """

    name = "left_shift"

    def compute(self, *args: Array) -> Array:
        import numpy as np

        return np.left_shift(*args)

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        x, amount = args
        inside, safe = self.guarded(s, element, amount)
        return s.select(inside, s.insert(arith.ShLIOp(x, safe)), s.like(0, x))


@operator
class RightShift(Shift):
    """lhs / 2^rhs rounded down; where rhs is negative or not less than the width, 0, or -1 for negative lhs.

    ONNX BitShift with direction RIGHT, Relay right_shift.
    """

    name = "right_shift"

    def compute(self, *args: Array) -> Array:
        import numpy as np

        return np.right_shift(*args)

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        x, amount = args
        inside, safe = self.guarded(s, element, amount)
        if is_unsigned(element):
            return s.select(inside, s.insert(arith.ShRUIOp(x, safe)), s.like(0, x))
        return s.insert(arith.ShRSIOp(x, safe))
