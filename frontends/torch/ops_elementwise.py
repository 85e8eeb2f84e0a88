"""Element-wise arithmetic, comparison, logic, bits and limits, with torch's promotion of element types."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import f64, i1

from relay_mlir.dialects.relay.types import dtype_name, is_bool, is_float, is_integer, numpy_dtype
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.torch.node import NodeView
from relay_mlir.frontends.torch.promotion import as_tensor, common_type, converted
from relay_mlir.frontends.torch.registry import converts

UNARY = {
    "acos": "acos",
    "acosh": "acosh",
    "asin": "asin",
    "asinh": "asinh",
    "atan": "atan",
    "atanh": "atanh",
    "cos": "cos",
    "cosh": "cosh",
    "erf": "erf",
    "exp": "exp",
    "log": "log",
    "log10": "log10",
    "log2": "log2",
    "rsqrt": "rsqrt",
    "sigmoid": "sigmoid",
    "sin": "sin",
    "sinh": "sinh",
    "special_erf": "erf",
    "special_expit": "sigmoid",
    "sqrt": "sqrt",
    "tan": "tan",
    "tanh": "tanh",
}
"""Functions of floats, which make floats of integers, and relay's names."""

KEEPING = {"abs": "abs", "neg": "negative"}
"""Functions that keep the element type."""

ROUNDING = {"ceil": "ceil", "floor": "floor", "trunc": "trunc", "fix": "trunc"}
"""Roundings, which leave integers as they are."""


@converts(*(f"aten.{name}.default" for name in UNARY))
def unary(c: Emitter, node: NodeView) -> Value:
    return c.op(UNARY[node.operator], converted(c, node.value("self"), node.element))


@converts(*(f"aten.{name}.default" for name in KEEPING))
def keeping(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    return x if is_bool(x.element) else c.op(KEEPING[node.operator], x)


@converts("aten.sign.default", "aten.sgn.default")
def sign(c: Emitter, node: NodeView) -> Value:
    """0 for NaN, unlike relay's sign."""
    x = node.value("self")
    if is_bool(x.element):
        return x
    zero = c.scalar(0, x)
    return c.op("subtract", c.cast(c.op("greater", x, zero), x.element), c.cast(c.op("less", x, zero), x.element))


@converts(*(f"aten.{name}.default" for name in ROUNDING))
def rounding(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    return c.op(ROUNDING[node.operator], x) if is_float(x.element) else x


@converts("aten.round.default", "aten.round.decimals")
def round_(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    if node.has("decimals") and node.integer("decimals"):
        raise Problem(f"argument 'decimals' is {node.integer('decimals')}; only 0 is supported")
    return c.op("round", x) if is_float(x.element) else x


@converts("aten.frac.default")
def frac(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    return c.op("subtract", x, c.op("trunc", x))


@converts("aten.expm1.default")
def expm1(c: Emitter, node: NodeView) -> Value:
    """`2 sinh(x/2) e^(x/2)`, which does not cancel near 0; e^x - 1 where that would overflow too early."""
    x = converted(c, node.value("self"), node.element)
    half = c.op("multiply", x, c.scalar(0.5, x))
    near = c.op("multiply", c.op("multiply", c.scalar(2, x), c.op("sinh", half)), c.op("exp", half))
    far = c.op("subtract", c.op("exp", x), c.scalar(1, x))
    return c.op("where", c.op("less", c.op("abs", x), c.scalar(1, x)), near, far)


@converts("aten.log1p.default")
def log1p(c: Emitter, node: NodeView) -> Value:
    """`log(u) x / (u - 1)` with u = 1 + x, which makes up for the rounding of u; x itself where u is 1."""
    x = converted(c, node.value("self"), node.element)
    one = c.scalar(1, x)
    u = c.op("add", one, x)
    ratio = c.op("divide", x, c.op("subtract", u, one))
    finite = c.op("where", c.op("isinf", u), c.op("log", u), c.op("multiply", c.op("log", u), ratio))
    return c.op("where", c.op("equal", u, one), x, finite)


@converts("aten.exp2.default")
def exp2(c: Emitter, node: NodeView) -> Value:
    x = converted(c, node.value("self"), node.element)
    return c.op("power", c.scalar(2, x), x)


@converts("aten.reciprocal.default")
def reciprocal(c: Emitter, node: NodeView) -> Value:
    x = converted(c, node.value("self"), node.element)
    return c.op("divide", c.scalar(1, x), x)


@converts("aten.square.default")
def square(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    return c.op("multiply", x, x)


@converts("aten.isnan.default", "aten.isinf.default", "aten.isfinite.default")
def test(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    return c.op(node.operator, x if is_float(x.element) else c.cast(x, f64))


# Arithmetic on two operands, in the type of the result.


def _pair(c: Emitter, node: NodeView) -> tuple[Value, Value]:
    element = node.element
    return as_tensor(c, node.operand("self"), element), as_tensor(c, node.operand("other"), element)


@converts("aten.add.Tensor", "aten.add.Scalar")
def add(c: Emitter, node: NodeView) -> Value:
    return _sum(c, node, *_pair(c, node), "add")


@converts("aten.sub.Tensor", "aten.sub.Scalar", "aten.subtract.Tensor")
def sub(c: Emitter, node: NodeView) -> Value:
    return _sum(c, node, *_pair(c, node), "subtract")


@converts("aten.rsub.Tensor", "aten.rsub.Scalar")
def rsub(c: Emitter, node: NodeView) -> Value:
    a, b = _pair(c, node)
    return _sum(c, node, b, a, "subtract")


def _sum(c: Emitter, node: NodeView, a: Value, b: Value, name: str) -> Value:
    """`a + alpha b`, or the difference; of bools whether either is true."""
    alpha = node.number("alpha")
    if is_bool(a.element):
        if name != "add" or alpha != 1:
            raise Problem("bools can be added, but not subtracted or scaled")
        return c.op("logical_or", a, b)
    if alpha != 1:
        b = c.op("multiply", b, as_tensor(c, alpha, b.element))
    return c.op(name, a, b)


@converts("aten.mul.Tensor", "aten.mul.Scalar", "aten.multiply.Tensor")
def mul(c: Emitter, node: NodeView) -> Value:
    a, b = _pair(c, node)
    return c.op("logical_and" if is_bool(a.element) else "multiply", a, b)


QUOTIENTS = {None: "divide", "floor": "floor_divide", "trunc": "trunc_divide"}


@converts(
    "aten.div.Tensor", "aten.div.Scalar", "aten.div.Tensor_mode", "aten.div.Scalar_mode", "aten.true_divide.Tensor"
)
def div(c: Emitter, node: NodeView) -> Value:
    mode = node.find("rounding_mode") if node.has("rounding_mode") else None
    if mode not in QUOTIENTS:
        raise Problem(f"argument 'rounding_mode' is {mode!r}; expected None, 'floor' or 'trunc'")
    return c.op(QUOTIENTS[mode if isinstance(mode, str) else None], *_pair(c, node))


@converts("aten.floor_divide.default", "aten.floor_divide.Scalar")
def floor_divide(c: Emitter, node: NodeView) -> Value:
    return c.op("floor_divide", *_pair(c, node))


@converts("aten.remainder.Tensor", "aten.remainder.Scalar", "aten.remainder.Scalar_Tensor")
def remainder(c: Emitter, node: NodeView) -> Value:
    """With the sign of the divisor."""
    return c.op("floor_mod", *_pair(c, node))


@converts("aten.fmod.Tensor", "aten.fmod.Scalar")
def fmod(c: Emitter, node: NodeView) -> Value:
    return c.op("trunc_mod", *_pair(c, node))


@converts("aten.atan2.default", "aten.arctan2.default")
def atan2(c: Emitter, node: NodeView) -> Value:
    return c.op("atan2", *_pair(c, node))


@converts("aten.hypot.default")
def hypot(c: Emitter, node: NodeView) -> Value:
    """The longer side times a root that neither overflows nor underflows."""
    a, b = (c.op("abs", x) for x in _pair(c, node))
    long, short = c.op("maximum", a, b), c.op("minimum", a, b)
    zero, one = c.scalar(0, a), c.scalar(1, a)
    ratio = c.op("divide", short, c.op("where", c.op("equal", long, zero), one, long))
    root = c.op("multiply", long, c.op("sqrt", c.op("add", one, c.op("multiply", ratio, ratio))))
    infinite = c.op("logical_or", c.op("isinf", a), c.op("isinf", b))
    return c.op("where", infinite, c.scalar(math.inf, a), root)


@converts("aten.maximum.default", "aten.minimum.default", "aten.max.other", "aten.min.other")
def extreme(c: Emitter, node: NodeView) -> Value:
    return c.op("maximum" if node.operator.startswith("max") else "minimum", *_pair(c, node))


@converts("aten.pow.Tensor_Tensor", "aten.pow.Tensor_Scalar", "aten.pow.Scalar")
def power(c: Emitter, node: NodeView) -> Value:
    base, exponent = node.operand("self"), node.operand("exponent")
    element = node.element
    x = as_tensor(c, base, element)
    if not isinstance(exponent, Value):
        if exponent == 2:
            return c.op("multiply", x, x)
        if exponent == 1:
            return x
        if exponent == 0.5 and is_float(element):
            return c.op("sqrt", x)
        if exponent == 3:
            return c.op("multiply", c.op("multiply", x, x), x)
    return c.op("power", x, as_tensor(c, exponent, element))


@converts("aten.addcmul.default", "aten.addcdiv.default")
def fused(c: Emitter, node: NodeView) -> Value:
    element = node.element
    x, a, b = (as_tensor(c, node.operand(name), element) for name in ("self", "tensor1", "tensor2"))
    y = c.op("multiply" if node.operator == "addcmul" else "divide", a, b)
    factor = node.number("value")
    if factor != 1:
        y = c.op("multiply", y, as_tensor(c, factor, element))
    return c.op("add", x, y)


@converts("aten.lerp.Scalar", "aten.lerp.Tensor")
def lerp(c: Emitter, node: NodeView) -> Value:
    element = node.element
    start, end, weight = (as_tensor(c, node.operand(name), element) for name in ("self", "end", "weight"))
    return c.op("add", start, c.op("multiply", weight, c.op("subtract", end, start)))


# Comparison, in the common type of the operands.

COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}


@converts(*(f"aten.{name}" for name in COMPARISONS))
def comparison(c: Emitter, node: NodeView) -> Value:
    a, b = node.operand("self"), node.operand("other")
    element = common_type([a, b])
    if is_integer(element) and not isinstance(b, Value) and isinstance(a, Value):
        limits = numpy_dtype(element)
        if not _holds(dtype_name(element), int(b)):
            raise Problem(f"{b} is compared with {limits.name}, which cannot hold it")
    return c.op(COMPARISONS[node.operator], as_tensor(c, a, element), as_tensor(c, b, element))


def _holds(dtype: str, number: int) -> bool:
    import numpy as np

    limits = np.iinfo(dtype)
    return limits.min <= number <= limits.max


@converts("aten.where.self", "aten.where.ScalarSelf", "aten.where.ScalarOther", "aten.where.Scalar")
def where(c: Emitter, node: NodeView) -> Value:
    element = node.element
    choices = (as_tensor(c, node.operand(name), element) for name in ("self", "other"))
    return c.op("where", converted(c, node.value("condition"), i1), *choices)


@converts("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    return c.op("where", node.value("mask"), as_tensor(c, node.operand("value"), x.element), x)


# Logic and bits.


@converts("aten.logical_and.default", "aten.logical_or.default", "aten.logical_xor.default")
def logic(c: Emitter, node: NodeView) -> Value:
    return c.op(node.operator, *(converted(c, node.value(name), i1) for name in ("self", "other")))


@converts("aten.logical_not.default")
def logical_not(c: Emitter, node: NodeView) -> Value:
    return c.op("logical_not", converted(c, node.value("self"), i1))


@converts("aten.bitwise_and", "aten.bitwise_or", "aten.bitwise_xor", "aten.__and__", "aten.__or__", "aten.__xor__")
def bitwise(c: Emitter, node: NodeView) -> Value:
    name = node.operator.strip("_")
    return c.op(name if name.startswith("bitwise") else f"bitwise_{name}", *_pair(c, node))


@converts("aten.bitwise_not.default")
def bitwise_not(c: Emitter, node: NodeView) -> Value:
    return c.op("bitwise_not", node.value("self"))


SHIFTS = {
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "__lshift__": "left_shift",
    "__rshift__": "right_shift",
}


@converts(*(f"aten.{name}" for name in SHIFTS))
def shift(c: Emitter, node: NodeView) -> Value:
    return c.op(SHIFTS[node.operator], *_pair(c, node))


# Limits.


@converts("aten.clamp", "aten.clip", "aten.clamp_min", "aten.clamp_max")
def clamp(c: Emitter, node: NodeView) -> Value:
    """`min(max(x, low), high)`: where the limits cross, high counts."""
    element = node.element
    x = converted(c, node.value("self"), element)
    limits = [node.operand(name) if node.has(name) and node.find(name) is not None else None for name in ("min", "max")]
    low, high = limits
    numbers = not any(isinstance(limit, Value) for limit in limits)
    if is_float(element) and numbers:
        a_min = -math.inf if low is None else float(_as_number(low))
        a_max = math.inf if high is None else float(_as_number(high))
        if a_min <= a_max:
            return c.op("clip", x, a_min=a_min, a_max=a_max)
    if low is not None:
        x = c.op("maximum", x, as_tensor(c, low, element))
    return x if high is None else c.op("minimum", x, as_tensor(c, high, element))


def _as_number(limit: object) -> float:
    return float(limit) if isinstance(limit, int | float) else math.nan
