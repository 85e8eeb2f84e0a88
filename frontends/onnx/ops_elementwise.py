"""Element-wise arithmetic, comparison, logic and bits."""

from __future__ import annotations

from functools import reduce

import numpy as np
from onnx import TensorProto
from xdsl.dialects.builtin import f64, i1
from xdsl.ir import Attribute

from relay_mlir.dialects.relay.types import element_type, is_bool, is_float, is_integer, numpy_dtype, show_shape
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.dims import vector_of
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.reader import numpy_type
from relay_mlir.frontends.onnx.registry import converts
from relay_mlir.frontends.onnx.structures import Item

UNARY = {
    "Abs": "abs",
    "Acos": "acos",
    "Acosh": "acosh",
    "Asin": "asin",
    "Asinh": "asinh",
    "Atan": "atan",
    "Atanh": "atanh",
    "BitwiseNot": "bitwise_not",
    "Ceil": "ceil",
    "Cos": "cos",
    "Cosh": "cosh",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "IsNaN": "isnan",
    "Log": "log",
    "Neg": "negative",
    "Not": "logical_not",
    "Round": "round",
    "Sigmoid": "sigmoid",
    "Sign": "sign",
    "Sin": "sin",
    "Sinh": "sinh",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "Tanh": "tanh",
}
"""ONNX operators on one tensor that relay has, and relay's names."""

BINARY = {
    "Add": "add",
    "Sub": "subtract",
    "Mul": "multiply",
    "And": "logical_and",
    "Or": "logical_or",
    "Xor": "logical_xor",
    "Equal": "equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_equal",
    "Less": "less",
    "LessOrEqual": "less_equal",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
}
"""ONNX operators on two tensors that relay has, and relay's names."""


@converts(*UNARY)
def unary(c: Emitter, node: NodeView) -> Value:
    node.ignore("consumed_inputs")  # an in-place hint of opset 1
    return c.op(UNARY[node.op_type], node.input(0))


@converts("Reciprocal")
def reciprocal(c: Emitter, node: NodeView) -> Value:
    node.ignore("consumed_inputs")
    x = node.input(0)
    return c.op("divide", c.scalar(1, x), x)


def operands_before_7(c: Emitter, node: NodeView) -> tuple[Value, Value]:
    """The operands of a binary operator as opsets 1 to 6 broadcast them: only the second, and only where asked to."""
    node.ignore("consumed_inputs")
    a, b = node.input(0), node.input(1)
    axis = node.integer("axis", None)
    if not node.flag("broadcast"):
        if a.shape != b.shape:
            raise Problem(f"shapes {show_shape(a.shape)} and {show_shape(b.shape)} differ and broadcast is 0")
        return a, b
    if axis is None:
        axis = a.rank - b.rank
    axis = axis + a.rank if axis < 0 else axis
    if axis < 0 or axis + b.rank > a.rank:
        raise Problem(f"B of shape {show_shape(b.shape)} does not fit into A of {show_shape(a.shape)} at axis {axis}")
    # Trailing ones put B's dimensions below those of A that start at the axis.
    return a, c.reshape(
        b, (*b.static_shape("broadcasting B at an axis needs its shape"), *[1] * (a.rank - axis - b.rank))
    )


@converts("Add", "Sub", "Mul", "And", "Or", "Xor", "Equal", "Greater", "Less")
def binary_before_7(c: Emitter, node: NodeView) -> Value:
    return c.op(BINARY[node.op_type], *operands_before_7(c, node))


@converts(*BINARY, since=7)
def binary(c: Emitter, node: NodeView) -> Value:
    return c.op(BINARY[node.op_type], node.input(0), node.input(1))


def divide(c: Emitter, a: Value, b: Value) -> Value:
    """The quotient; of integers rounded towards zero, as ONNX Div has it."""
    return c.op("divide" if is_float(a.element) else "trunc_divide", a, b)


@converts("Div")
def div_before_7(c: Emitter, node: NodeView) -> Value:
    return divide(c, *operands_before_7(c, node))


@converts("Div", since=7)
def div(c: Emitter, node: NodeView) -> Value:
    return divide(c, node.input(0), node.input(1))


@converts("Mod")
def mod(c: Emitter, node: NodeView) -> Value:
    a, b = node.input(0), node.input(1)
    if node.flag("fmod"):
        return c.op("trunc_mod", a, b)  # the sign of the dividend, as C's fmod
    if is_float(a.element) and node.opset < 28:
        raise Problem("attribute 'fmod' must be 1 for floats before opset 28, but is 0")
    return c.op("floor_mod", a, b)  # the sign of the divisor


@converts("Pow")
def pow_before_7(c: Emitter, node: NodeView) -> Value:
    return c.op("power", *operands_before_7(c, node))


@converts("Pow", since=7)
def power(c: Emitter, node: NodeView) -> Value:
    return raised(c, node.input(0), node.input(1))


def raised(c: Emitter, base: Value, exponent: Value) -> Value:
    """The power in the type of the base; an exponent of another type keeps its value."""
    element = base.element
    common = element
    if exponent.element != element and not is_float(element):
        common = f64 if is_float(exponent.element) else _wider(element, exponent.element)
    return c.cast(c.op("power", c.cast(base, common), c.cast(exponent, common)), element)


def _wider(a: Attribute, b: Attribute) -> Attribute:
    return element_type(np.promote_types(numpy_dtype(a), numpy_dtype(b))) if a != b else a


VARIADIC = {"Max": "maximum", "Min": "minimum", "Sum": "add", "Mean": "add"}


@converts(*VARIADIC)
def variadic_before_8(c: Emitter, node: NodeView) -> Value:
    node.ignore("consumed_inputs")
    values = node.rest()
    if any(value.shape != values[0].shape for value in values):
        raise Problem(f"shapes {', '.join(show_shape(v.shape) for v in values)} differ; broadcasting came with opset 8")
    return variadic(c, node)


@converts(*VARIADIC, since=8)
def variadic(c: Emitter, node: NodeView) -> Value:
    values = node.rest()
    result = reduce(lambda a, b: c.op(VARIADIC[node.op_type], a, b), values)
    if node.op_type == "Mean":
        result = c.op("divide", result, c.scalar(len(values), result))
    return result


@converts("BitShift")
def bit_shift(c: Emitter, node: NodeView) -> Value:
    names = {"LEFT": "left_shift", "RIGHT": "right_shift"}
    return c.op(names[node.choice("direction", "LEFT", "RIGHT")], node.input(0), node.input(1))


@converts("Where")
def where(c: Emitter, node: NodeView) -> Value:
    return c.op("where", node.input(0), node.input(1), node.input(2))


@converts("IsInf")
def is_inf(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    negative, positive = node.flag("detect_negative"), node.flag("detect_positive")
    if negative and positive:
        return c.op("isinf", x)
    if negative or positive:
        return c.op("equal", x, c.scalar(float("-inf" if negative else "inf"), x))
    return c.cast(c.op("zeros_like", x), i1)


# Limits.


def clipped(c: Emitter, x: Value, low: Value | None, high: Value | None) -> Value:
    """`min(max(x, low), high)`, where an absent limit does not limit."""
    limits = [value for value in (low, high) if value is not None]
    if not limits:
        return x
    for value in limits:
        if value.rank != 0 and value.shape != (1,):
            raise Problem(f"a limit must be a scalar, but has shape {show_shape(value.shape)}")
    if is_float(x.element) and all(value.known for value in limits):
        a_min = -np.inf if low is None else float(low.array().reshape(()))
        a_max = np.inf if high is None else float(high.array().reshape(()))
        if a_min <= a_max:
            return c.op("clip", x, a_min=a_min, a_max=a_max)
    if low is not None:
        x = c.op("maximum", x, c.reshape(low, ()))
    return x if high is None else c.op("minimum", x, c.reshape(high, ()))


@converts("Clip")
def clip_before_11(c: Emitter, node: NodeView) -> Value:
    node.ignore("consumed_inputs")
    x = node.input(0)
    if node.opset < 6:
        low, high = node.real("min", None), node.real("max", None)
    else:
        low, high = node.real("min"), node.real("max")  # by default the limits of f32, which infinities exceed
    return clipped(c, x, None if low is None else c.scalar(low, x), None if high is None else c.scalar(high, x))


@converts("Clip", since=11)
def clip(c: Emitter, node: NodeView) -> Value:
    return clipped(c, node.input(0), node.optional(1), node.optional(2))


# Types.


def converted(c: Emitter, x: Value, element: Attribute) -> Value:
    """The tensor in another element type; to bool by comparison with zero, so that 0.5 is true."""
    if x.dims is not None and is_integer(element):
        return vector_of(c, x.dims, x.shape, element)
    if is_bool(element) and not is_bool(x.element):
        return c.op("not_equal", x, c.scalar(0, x))
    return c.cast(x, element)


@converts("Cast")
def cast_before_6(c: Emitter, node: NodeView) -> Value:
    name = node.string("to")
    if name not in TensorProto.DataType.keys():
        raise Problem(f"attribute 'to' is '{name}', which is not the name of an element type")
    return converted(c, node.input(0), element_type(numpy_type(TensorProto.DataType.Value(name))))


@converts("Cast", since=6)
def cast_(c: Emitter, node: NodeView) -> Value:
    node.ignore("saturate", "round_mode")  # they speak of 8-bit floats, which are refused
    return converted(c, node.input(0), element_type(numpy_type(node.integer("to"))))


@converts("CastLike", since=15)
def cast_like(c: Emitter, node: NodeView) -> Value:
    node.ignore("saturate", "round_mode")
    return converted(c, node.input(0), node.input(1).element)


@converts("BitCast", since=26)
def bit_cast(c: Emitter, node: NodeView) -> Value:
    element = element_type(numpy_type(node.integer("to")))
    x = node.input(0)
    if numpy_dtype(element).itemsize != numpy_dtype(x.element).itemsize:
        raise Problem(f"attribute 'to' names a type of another width than {x.element}")
    if is_bool(element) or is_bool(x.element):  # both are bytes of 0 or 1
        return converted(c, x, element)
    return c.op("reinterpret", x, dtype=element)


@converts("Identity")
def identity(c: Emitter, node: NodeView) -> list[Item | None]:
    return [node.item(0)]


@converts("Dropout")
def dropout_before_7(c: Emitter, node: NodeView) -> list[Value]:
    node.ignore("consumed_inputs", "ratio")
    if not node.flag("is_test"):
        raise Problem("attribute 'is_test' is 0: training is not supported")
    return _dropped(c, node, node.input(0).element)


@converts("Dropout", since=7)
def dropout_before_10(c: Emitter, node: NodeView) -> list[Value]:
    node.ignore("ratio")  # it matters for training only
    return _dropped(c, node, node.input(0).element)


@converts("Dropout", since=10)
def dropout_before_12(c: Emitter, node: NodeView) -> list[Value]:
    node.ignore("ratio")
    return _dropped(c, node, i1)


@converts("Dropout", since=12)
def dropout(c: Emitter, node: NodeView) -> list[Value]:
    node.ignore("seed")
    ratio = node.optional(1)
    training = node.known_or_none(2)
    drops = ratio is None or not ratio.known or float(ratio.array().reshape(())) != 0.0
    if training is not None and bool(training.reshape(())) and drops:
        raise Problem("input 2 (training_mode) is true: training is not supported")
    return _dropped(c, node, i1)


def _dropped(c: Emitter, node: NodeView, mask: Attribute) -> list[Value]:
    """The data as it is, and the mask (nothing is dropped) where it is asked for."""
    x = node.input(0)
    if not node.wants(1):
        return [x]
    return [x, c.cast(c.op("ones_like", x), mask)]


__all__ = ["clipped", "converted", "divide", "operands_before_7", "raised"]
