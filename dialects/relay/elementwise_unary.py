"""Mathematical functions, roundings and tests of one tensor.

Functions of floats follow C's libm at the edges: NaN in, NaN out; outside the domain NaN.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Attribute, SSAValue

from relay_mlir.dialects.relay.elementwise import Kind, ToBool, Ufunc, Unary
from relay_mlir.dialects.relay.op import operator
from relay_mlir.dialects.relay.types import is_float, is_unsigned

if TYPE_CHECKING:
    from relay_mlir.dialects.relay.elementwise import Array
    from relay_mlir.dialects.relay.linalg_builder import ScalarBuilder


@operator
class Negative(Unary):
    """The element with the other sign; integers wrap. ONNX Neg, Relay negative."""

    name = "negative"
    accepts = Kind.NUMBER
    involution = True

    def compute(self, *args: Array) -> Array:
        import numpy as np

        return np.negative(*args)

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        return s.neg(*args)


@operator
class Abs(Unary):
    """The absolute value; INT_MIN stays INT_MIN. ONNX Abs, Relay abs."""

    name = "abs"
    accepts = Kind.NUMBER
    idempotent = True

    def compute(self, *args: Array) -> Array:
        import numpy as np

        return np.abs(*args)

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        (x,) = args
        if is_float(element):
            return s.math("AbsF", x)
        return x if is_unsigned(element) else s.select(s.compare("lt", x, s.like(0, x)), s.neg(x), x)


@operator
class Sign(Unary):
    """-1, 0 or 1 as the element is negative, zero or positive; NaN for NaN. ONNX Sign, Relay sign."""

    name = "sign"
    accepts = Kind.NUMBER
    idempotent = True

    def compute(self, *args: Array) -> Array:
        import numpy as np

        return np.sign(*args)

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        (x,) = args
        zero = s.like(0, x)
        positive = s.compare("gt", x, zero, unsigned=is_unsigned(element))
        rest = s.select(s.compare("eq", x, zero), zero, x)  # NaN is what is left
        if not is_unsigned(element):
            rest = s.select(s.compare("lt", x, zero), s.like(-1, x), rest)
        return s.select(positive, s.like(1, x), rest)


@operator
class Rsqrt(Unary):
    """1 / sqrt(x), both correctly rounded; inf at 0, NaN below. Relay rsqrt."""

    name = "rsqrt"
    accepts = Kind.FLOAT

    def compute(self, *args: Array) -> Array:
        import numpy as np

        return np.reciprocal(np.sqrt(*args))

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        (x,) = args
        return s.div(s.like(1, x), s.math("Sqrt", x))


@operator
class Sigmoid(Unary):
    """1 / (1 + e^-x). ONNX Sigmoid, Relay sigmoid."""

    name = "sigmoid"
    accepts = Kind.FLOAT

    def compute(self, *args: Array) -> Array:
        import numpy as np

        (x,) = args
        return np.reciprocal(1 + np.exp(-x))

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        (x,) = args
        one = s.like(1, x)
        return s.div(one, s.add(one, s.math("Exp", s.neg(x))))


@operator
class Erf(Unary):
    """The error function, 2 / sqrt(pi) times the integral of e^-t^2 from 0 to x. ONNX Erf, Relay erf."""

    name = "erf"
    accepts = Kind.FLOAT

    def compute(self, *args: Array) -> Array:
        import numpy as np

        (x,) = args
        values = cast(Any, np.frompyfunc(math.erf, 1, 1))(x.astype(np.float64))  # numpy has none
        return np.asarray(values).astype(x.dtype)

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        return s.math("Erf", *args)


class Function(Ufunc, Unary):
    """A function of floats that numpy and the math dialect both have."""

    accepts = Kind.FLOAT


@operator
class Exp(Function):
    """e to the power of the element. ONNX Exp, Relay exp."""

    name = ufunc = "exp"
    math_op = "Exp"


@operator
class Log(Function):
    """The natural logarithm; NaN below 0, -inf at 0. ONNX Log, Relay log."""

    name = ufunc = "log"
    math_op = "Log"


@operator
class Log2(Function):
    """The logarithm to base 2. Relay log2."""

    name = ufunc = "log2"
    math_op = "Log2"


@operator
class Log10(Function):
    """The logarithm to base 10. Relay log10."""

    name = ufunc = "log10"
    math_op = "Log10"


@operator
class Sqrt(Function):
    """The square root; NaN below 0. ONNX Sqrt, Relay sqrt."""

    name = ufunc = "sqrt"
    math_op = "Sqrt"


@operator
class Sin(Function):
    """The sine of an angle in radians. ONNX Sin, Relay sin."""

    name = ufunc = "sin"
    math_op = "Sin"


@operator
class Cos(Function):
    """The cosine of an angle in radians. ONNX Cos, Relay cos."""

    name = ufunc = "cos"
    math_op = "Cos"


@operator
class Tan(Function):
    """The tangent of an angle in radians. ONNX Tan, Relay tan."""

    name = ufunc = "tan"
    math_op = "Tan"


@operator
class Asin(Function):
    """The angle in [-pi/2, pi/2] with this sine. ONNX Asin, Relay asin."""

    name = "asin"
    ufunc = "arcsin"
    math_op = "Asin"


@operator
class Acos(Function):
    """The angle in [0, pi] with this cosine. ONNX Acos, Relay acos."""

    name = "acos"
    ufunc = "arccos"
    math_op = "Acos"


@operator
class Atan(Function):
    """The angle in [-pi/2, pi/2] with this tangent. ONNX Atan, Relay atan."""

    name = "atan"
    ufunc = "arctan"
    math_op = "Atan"


@operator
class Sinh(Function):
    """The hyperbolic sine. ONNX Sinh, Relay sinh."""

    name = ufunc = "sinh"
    math_op = "Sinh"


@operator
class Cosh(Function):
    """The hyperbolic cosine. ONNX Cosh, Relay cosh."""

    name = ufunc = "cosh"
    math_op = "Cosh"


@operator
class Tanh(Function):
    """The hyperbolic tangent. ONNX Tanh, Relay tanh."""

    name = ufunc = "tanh"
    math_op = "Tanh"


@operator
class Asinh(Function):
    """The inverse of the hyperbolic sine. ONNX Asinh, Relay asinh."""

    name = "asinh"
    ufunc = "arcsinh"
    math_op = "Asinh"


@operator
class Acosh(Function):
    """The inverse of the hyperbolic cosine; NaN below 1. ONNX Acosh, Relay acosh."""

    name = "acosh"
    ufunc = "arccosh"
    math_op = "Acosh"


@operator
class Atanh(Function):
    """The inverse of the hyperbolic tangent; NaN outside [-1, 1]. ONNX Atanh, Relay atanh."""

    name = "atanh"
    ufunc = "arctanh"
    math_op = "Atanh"


class Rounding(Function):
    """A function to the integers among the floats; NaN, infinities and signed zeros stay."""

    idempotent = True


@operator
class Ceil(Rounding):
    """The least integer that is not less. ONNX Ceil, Relay ceil."""

    name = ufunc = "ceil"
    math_op = "Ceil"


@operator
class Floor(Rounding):
    """The greatest integer that is not greater. ONNX Floor, Relay floor."""

    name = ufunc = "floor"
    math_op = "Floor"


@operator
class Round(Rounding):
    """The nearest integer, halves to the even one, unlike C's round. ONNX Round, Relay round."""

    name = "round"
    ufunc = "rint"
    math_op = "RoundEven"


@operator
class Trunc(Rounding):
    """The nearest integer towards zero. Relay trunc."""

    name = ufunc = "trunc"
    math_op = "Trunc"


class FloatTest(ToBool, Unary):
    """A property of a float."""

    accepts = Kind.FLOAT

    def compute(self, *args: Array) -> Array:
        import numpy as np

        return getattr(np, self.name)(*args)


@operator
class IsNan(FloatTest):
    """Whether it is NaN. ONNX IsNaN, Relay isnan."""

    name = "isnan"

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        (x,) = args
        return s.compare("ne", x, x)


@operator
class IsInf(FloatTest):
    """Whether it is inf or -inf. ONNX IsInf with both detect flags, Relay isinf."""

    name = "isinf"

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        (x,) = args
        return s.compare("eq", s.math("AbsF", x), s.like(math.inf, x))


@operator
class IsFinite(FloatTest):
    """Whether it is neither NaN nor an infinity. Relay isfinite."""

    name = "isfinite"

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        (x,) = args
        return s.compare("lt", s.math("AbsF", x), s.like(math.inf, x))
