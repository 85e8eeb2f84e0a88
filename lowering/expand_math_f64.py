"""Functions of f32 in f64 arithmetic, which makes them accurate to half a unit in the last place with short series.

Arguments and results are f64 with the precision of f32: the series are cut where they are good to about 1e-10. The
ends (NaN, infinities, overflow, -0.0) are those of the C library.
"""

from __future__ import annotations

from math import factorial, log2, pi

from xdsl.dialects import math
from xdsl.ir import Operation

from relay_mlir.lowering.expand_math_f32 import log_ends
from relay_mlir.lowering.expand_math_values import NO_FLAGS, Build, V, float_bits

_MAGIC = 6755399441055744.0
"""1.5 * 2**52: added to a small double, it leaves the nearest whole number in the last bits."""
_LOG2_E = log2(2.718281828459045)
_LN2_HIGH, _LN2_LOW = 0.6931471805599453, 2.3190468138462996e-17
_EXPM1 = tuple(1 / factorial(n) for n in range(10, 1, -1))
"""(exp(r) - 1 - r) / r**2 by Taylor: good to 3e-13 for |r| <= ln(2) / 2."""


def _reduced(x: V) -> tuple[V, V]:
    """exp(r) - 1 and 2 ** n, where x = n * ln(2) + r and x is clamped to where f32 is infinite or 0."""
    x = x.at_most(700.0).at_least(-700.0)
    shifted = x * _LOG2_E + _MAGIC
    number = shifted - _MAGIC
    rest = number.fma(-_LN2_LOW, number.fma(-_LN2_HIGH, x))
    power = ((shifted.bits() + (1023 - float_bits(_MAGIC, wide=True))) << 52).as_float()
    return rest.horner(_EXPM1).fma(rest * rest, rest), power


def exp(x: V) -> V:
    """e ** x."""
    less_one, power = _reduced(x)
    return less_one.fma(power, power)


def expm1(x: V) -> V:
    """e ** x - 1, accurate for small x."""
    less_one, power = _reduced(x)
    # For a small x the power is 1, and x - 0 * ln(2) keeps its sign if it is -0.
    result = less_one.fma(power, power - 1.0)
    return x.compare("oeq", 0.0).where(x, result)


_ATANH = tuple(1 / n for n in range(15, 2, -2))
_ROOT_HALF_BITS = 0x3FE6A09E667F3BCD


def log(x: V) -> V:
    """The natural logarithm of a number that is not denormal in f64, accurate near 1 as well."""
    offset = x.bits() - _ROOT_HALF_BITS
    exponent = (offset >> 52).to_float(x.element)
    f = ((offset & 0xFFFFFFFFFFFFF) + _ROOT_HALF_BITS).as_float() - 1.0
    s = f / (f + 2.0)
    square = s * s
    # log(1 + f) = 2 atanh(s)
    series = (square.horner(_ATANH) * square).fma(s, s) * 2.0
    return log_ends(x, exponent.fma(_LN2_HIGH, series))


def log_to(base: float) -> float:
    """What a natural logarithm is multiplied by for another base."""
    from math import log as natural

    return 1 / natural(base)


def log10(x: V) -> V:
    """The logarithm to the base 10."""
    return log(x) * log_to(10)


def log2_(x: V) -> V:
    """The logarithm to the base 2."""
    return log(x) * log_to(2)


def log1p(x: V) -> V:
    """log(1 + x), accurate for small x."""
    # For a small x the sum 1 + x loses digits, and x - x**2 / 2 is all there is.
    return x.abs().compare("olt", 1e-5).where((x * x).fma(-0.5, x), log(x + 1.0))


def pow_(x: V, y: V) -> V:
    """x ** y with the C library's meaning of every special case."""
    logarithm = log(x.abs())
    result = exp(y * logarithm)
    half = y * 0.5
    is_whole = y.trunc().compare("oeq", y)
    is_even = half.trunc().compare("oeq", half)
    # A negative number (or -0) to an odd power is negative; to a fraction it is NaN, except for 0 and infinity.
    odd = is_whole.where(is_even.where(x.number(0.0), 1.0), 0.0).compare("one", 0.0)
    signed = x.number(1.0).sign_of(x)
    result = odd.where(result * signed, result)
    fraction = is_whole.where(y.number(0.0), 1.0).compare("one", 0.0)
    finite = x.compare("olt", 0.0).where(x.compare("one", -float("inf")).where(x.number(1.0), 0.0), 0.0)
    invalid = fraction.where(finite, 0.0).compare("one", 0.0)
    result = invalid.where(float("nan"), result)
    result = (x.compare("uno", y)).where(x + y, result)
    # 1 to anything and anything to 0 are 1, even NaN; so is -1 to an infinite power.
    infinite = y.abs().compare("oeq", float("inf"))
    unit = x.abs().compare("oeq", 1.0)
    result = infinite.where(unit.where(x.number(1.0), result), result)
    return x.compare("oeq", 1.0).where(1.0, y.compare("oeq", 0.0).where(1.0, result))


_HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
"""pi / 2 as a sum of three doubles."""
_SIN = tuple((-1) ** (n // 2) / factorial(n) for n in range(13, 2, -2))
_COS = tuple((-1) ** (n // 2) / factorial(n) for n in range(14, 3, -2))
_HUGE = 2.0**48
"""From here on the reduction below is not exact; f64 functions of the C library take over."""


def _quadrant(x: V) -> tuple[V, V, V]:
    """The sine and cosine of x less the nearest multiple of pi / 2, and that multiple as an integer."""
    shifted = x * (2 / pi) + _MAGIC
    number = shifted - _MAGIC
    rest = x
    for part in _HALF_PI:
        rest = number.fma(-part, rest)
    square = rest * rest
    sine = (square.horner(_SIN) * square).fma(rest, rest)
    cosine = square.fma(-0.5, (square * square) * square.horner(_COS)) + 1.0
    return sine, cosine, shifted.bits()


def _with_huge(x: V, cls: type[Operation], result: V) -> V:
    """The result, or what the C library says if a number is too large for the reduction."""

    def library(build: Build) -> V:
        return V(build, build.create(cls, (x.value,), x.value.type, fastmath=NO_FLAGS))

    huge = x.abs().compare("oge", _HUGE)
    return huge.any().branch(library, result)


def sin(x: V) -> V:
    """The sine."""
    sine, cosine, quadrant = _quadrant(x)
    result = (quadrant & 1).compare("ne", 0).where(cosine, sine)
    result = (quadrant & 2).compare("ne", 0).where(-result, result)
    return _with_huge(x, math.SinOp, x.compare("oeq", 0.0).where(x, result))


def cos(x: V) -> V:
    """The cosine."""
    sine, cosine, quadrant = _quadrant(x)
    result = (quadrant & 1).compare("ne", 0).where(sine, cosine)
    result = ((quadrant + 1) & 2).compare("ne", 0).where(-result, result)
    return _with_huge(x, math.CosOp, result)


def tan(x: V) -> V:
    """The tangent."""
    sine, cosine, quadrant = _quadrant(x)
    odd = (quadrant & 1).compare("ne", 0)
    result = odd.where(-cosine, sine) / odd.where(sine, cosine)
    return _with_huge(x, math.TanOp, x.compare("oeq", 0.0).where(x, result))


_ATAN = tuple((-1) ** (n // 2) / n for n in range(25, 2, -2))
_TAN_EIGHTH, _TAN_THREE_EIGHTHS = 0.41421356237309503, 2.414213562373095


def atan(x: V) -> V:
    """The arc tangent."""
    size = x.abs()
    small = size.compare("ole", _TAN_EIGHTH)
    middle = size.compare("ole", _TAN_THREE_EIGHTHS)
    # The arc tangent of t is that of u plus an eighth turn or two.
    numerator = small.where(size, middle.where(size - 1.0, -1.0))
    denominator = small.where(1.0, middle.where(size + 1.0, size))
    base = small.where(x.number(0.0), middle.where(x.number(pi / 4), pi / 2))
    u = numerator / denominator
    square = u * u
    return ((square.horner(_ATAN) * square).fma(u, u) + base).sign_of(x)


def atan2(y: V, x: V) -> V:
    """The angle of the point (x, y)."""
    above, beside = y.abs(), x.abs()
    steep = above.compare("ogt", beside)
    small, large = steep.where(beside, above), steep.where(above, beside)
    ratio = small.compare("oeq", large).where(1.0, small / large)
    ratio = small.compare("oeq", 0.0).where(0.0, ratio)
    angle = atan(ratio)
    angle = steep.where(angle.rsub(pi / 2), angle)
    behind = x.bits().compare("slt", 0)
    angle = behind.where(angle.rsub(pi), angle).sign_of(y)
    return x.compare("uno", y).where(x + y, angle)


def asin(x: V) -> V:
    """The arc sine."""
    return atan(x / (x.rsub(1.0) * (x + 1.0)).sqrt())


def acos(x: V) -> V:
    """The arc cosine."""
    return atan((x.rsub(1.0) / (x + 1.0)).sqrt()) * 2.0


def sinh(x: V) -> V:
    """The hyperbolic sine."""
    grown = expm1(x.abs())
    return ((grown + grown / (grown + 1.0)) * 0.5).sign_of(x)


def cosh(x: V) -> V:
    """The hyperbolic cosine."""
    grown = exp(x.abs())
    return (grown + grown.rdiv(1.0)) * 0.5


def asinh(x: V) -> V:
    """The inverse hyperbolic sine."""
    size = x.abs()
    square = size * size
    small = (square * size).fma(-1 / 6, size)
    large = log(size + (square + 1.0).sqrt())
    return size.compare("olt", 1e-3).where(small, large).sign_of(x)


def acosh(x: V) -> V:
    """The inverse hyperbolic cosine."""
    below, above = x - 1.0, x + 1.0
    # The root of the product alone would not see that both are negative.
    root = (below * above).sqrt()
    return x.compare("olt", 1.0).where(float("nan"), log(x + root))


def atanh(x: V) -> V:
    """The inverse hyperbolic tangent."""
    square = x * x
    small = (square * x).fma(1 / 3, x)
    large = log((x + 1.0) / x.rsub(1.0)) * 0.5
    return x.abs().compare("olt", 1e-3).where(small, large)


def cbrt(x: V) -> V:
    """The cube root."""
    return exp(log(x.abs()) * (1 / 3)).sign_of(x)
