"""Functions of f32 in f32 arithmetic: those that models spend time in. FMA is assumed to be an instruction.

Errors are in units in the last place of f32, against the function in f64, measured by the tests. NaN gives NaN; the
ends (infinities, overflow, denormal results, -0.0) are those of the C library.
"""

from __future__ import annotations

from relay_mlir.lowering.expand_math_values import V, float_bits

_MAGIC = 12582912.0
"""1.5 * 2**23: added to a small float, it leaves the nearest whole number in the last bits."""
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
_EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
"""(exp(r) - 1 - r) / r**2 for |r| <= ln(2) / 2: the Cephes library's minimax polynomial."""


def exp(x: V) -> V:
    """e ** x. Max 1.0 ULP."""
    # Beyond these the result is 0 or infinite all the same.
    x = x.at_most(89.0).at_least(-104.0)
    whole, number = _nearest(x * 1.44269504088896341)
    return _scale(_exp_rest(x, number), whole)


def exp2(x: V) -> V:
    """2 ** x. Max 1.1 ULP."""
    x = x.at_most(129.0).at_least(-151.0)
    whole, number = _nearest(x)
    rest = (x - number) * 0.693147180559945309
    return _scale(_exp_polynomial(rest), whole)


def _nearest(x: V) -> tuple[V, V]:
    """The nearest whole number, as an integer and as a float."""
    shifted = x + _MAGIC
    return shifted.bits() - float_bits(_MAGIC, wide=False), shifted - _MAGIC


def _exp_rest(x: V, number: V) -> V:
    """e ** (x - number * ln 2)."""
    rest = number.fma(-_LN2_HIGH, x)
    return _exp_polynomial(number.fma(-_LN2_LOW, rest))


def _exp_polynomial(rest: V) -> V:
    return rest.horner(_EXP).fma(rest * rest, rest) + 1.0


def _scale(x: V, whole: V) -> V:
    """x * 2 ** whole. In two steps, of which the second alone rounds: so denormal results are right."""
    half = whole >> 1
    return x * _power_of_two(half) * _power_of_two(whole - half)


def _power_of_two(whole: V) -> V:
    return ((whole + 127) << 23).as_float()


_LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
    2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
"""(log(1 + f) - f + f**2 / 2) / f**3 for sqrt(1/2) - 1 <= f <= sqrt(2) - 1, of the Cephes library."""
_ROOT_HALF_BITS = 0x3F3504F3
_SMALLEST_NORMAL = 1.1754943508222875e-38


def log(x: V) -> V:
    """The natural logarithm. Max 0.9 ULP."""
    denormal = x.compare("olt", _SMALLEST_NORMAL)
    scaled = denormal.where(x * 8388608.0, x)
    offset = scaled.bits() - _ROOT_HALF_BITS
    exponent = (offset >> 23).to_float(x.element) - denormal.where(x.number(23.0), 0.0)
    f = ((offset & 0x7FFFFF) + _ROOT_HALF_BITS).as_float() - 1.0
    square = f * f
    rest = f.horner(_LOG) * (f * square)
    rest = exponent.fma(_LN2_LOW, rest)
    rest = square.fma(-0.5, rest)
    result = exponent.fma(_LN2_HIGH, f + rest)
    return log_ends(x, result)


def log_ends(x: V, result: V) -> V:
    """A logarithm's result with the ends put right: -inf of 0, NaN of what is negative, inf and NaN of themselves."""
    result = x.compare("oeq", 0.0).where(-float("inf"), result)
    result = x.compare("olt", 0.0).where(float("nan"), result)
    # NaN and inf: neither is below inf.
    return x.compare("ult", float("inf")).where(x.compare("uno", x).where(x, result), x)


_TANH = (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
"""(tanh(x) - x) / x**3 for |x| < 0.625, by powers of x**2, of the Cephes library."""


def tanh(x: V) -> V:
    """The hyperbolic tangent. Max 1.4 ULP."""
    size = x.abs()
    # tanh(10) is 1 in f32. The exponential then needs no care at its ends.
    double = size.at_most(10.0) * 2.0
    whole, number = _nearest(double * 1.44269504088896341)
    power = _exp_rest(double, number) * _power_of_two(whole)
    large = ((power + 1.0).rdiv(2.0)).rsub(1.0)
    square = size * size
    small = (square.horner(_TANH) * square).fma(size, size)
    return size.compare("olt", 0.625).where(small, large).sign_of(x)


_ERF_LARGE = (
    -1.72853470e-5,
    3.83197126e-4,
    -3.88396438e-3,
    2.42546219e-2,
    -1.06777877e-1,
    -6.34846687e-1,
    -1.28717512e-1,
)
_ERF_SMALL = (-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1)
"""Minimax polynomials: erf(x) / x - 1 by powers of x**2, and of log(1 - erf(x)) / x + 1 by powers of x."""


def erf(x: V) -> V:
    """The error function. Max 1.1 ULP."""
    size = x.abs()
    square = x * x
    small = square.horner(_ERF_SMALL).fma(x, x)
    # erf(4) is 1 in f32.
    near = size.at_most(4.0)
    exponent = near.horner(_ERF_LARGE).fma(near, -near)
    whole, number = _nearest(exponent * 1.44269504088896341)
    large = (_exp_rest(exponent, number) * _power_of_two(whole)).rsub(1.0).sign_of(x)
    return size.compare("ole", 0.927734375).where(small, large)


def rsqrt(x: V) -> V:
    """1 / sqrt(x). Max 1.5 ULP."""
    return x.sqrt().rdiv(1.0)
