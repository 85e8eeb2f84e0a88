"""Activation functions: relay's own, and those composed of element-wise operators."""

from __future__ import annotations

import math

import numpy as np

from relay_mlir.dialects.relay.types import normalize_axis, numpy_dtype
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.registry import converts


@converts("Relu")
def relu(c: Emitter, node: NodeView) -> Value:
    node.ignore("consumed_inputs")
    return c.op("nn.relu", node.input(0))


@converts("LeakyRelu")
def leaky_relu(c: Emitter, node: NodeView) -> Value:
    node.ignore("consumed_inputs")
    return c.op("nn.leaky_relu", node.input(0), alpha=node.real("alpha"))


@converts("PRelu")
def prelu(c: Emitter, node: NodeView) -> Value:
    node.ignore("consumed_inputs")
    x, slope = node.input(0), node.input(1)
    if node.opset < 7 and slope.rank == 1 and x.rank > 1 and slope.shape != (1,):
        slope = c.reshape(slope, (-1, *[1] * (x.rank - 2)))  # one slope a channel
    elif x.rank > 1 and slope.rank == x.rank - 1 and slope.shape == (x.shape[1], *[1] * (x.rank - 2)):
        return c.op("nn.prelu", x, c.reshape(slope, (-1,)), axis=1)
    return c.op("where", c.op("less", x, c.scalar(0, x)), c.op("multiply", slope, x), x)


@converts("ThresholdedRelu")
def thresholded_relu(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    return c.op("where", c.op("greater", x, c.scalar(node.real("alpha"), x)), x, c.scalar(0, x))


@converts("Elu")
def elu(c: Emitter, node: NodeView) -> Value:
    node.ignore("consumed_inputs")
    x = node.input(0)
    return _below_zero(c, x, _scaled(c, _expm1(c, x), node.real("alpha")))


@converts("Celu")
def celu(c: Emitter, node: NodeView) -> Value:
    x, alpha = node.input(0), node.real("alpha")
    return _below_zero(c, x, _scaled(c, _expm1(c, c.op("divide", x, c.scalar(alpha, x))), alpha))


@converts("Selu")
def selu(c: Emitter, node: NodeView) -> Value:
    node.ignore("consumed_inputs")
    x, gamma = node.input(0), node.real("gamma")
    return _scaled(c, _below_zero(c, x, _scaled(c, _expm1(c, x), node.real("alpha"))), gamma)


def _expm1(c: Emitter, x: Value) -> Value:
    return c.op("subtract", c.op("exp", x), c.scalar(1, x))


def _scaled(c: Emitter, x: Value, factor: float) -> Value:
    return x if factor == 1.0 else c.op("multiply", x, c.scalar(factor, x))


def _below_zero(c: Emitter, x: Value, other: Value) -> Value:
    """`other` where x is below zero, else x."""
    return c.op("where", c.op("less", x, c.scalar(0, x)), other, x)


def _hard_sigmoid(c: Emitter, x: Value, alpha: float, beta: float) -> Value:
    line = c.op("add", _scaled(c, x, alpha), c.scalar(beta, x))
    return c.op("clip", line, a_min=0.0, a_max=1.0)


@converts("HardSigmoid")
def hard_sigmoid(c: Emitter, node: NodeView) -> Value:
    node.ignore("consumed_inputs")
    return _hard_sigmoid(c, node.input(0), node.real("alpha"), node.real("beta"))


@converts("HardSwish")
def hard_swish(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    return c.op("multiply", x, _hard_sigmoid(c, x, 1 / 6, 0.5))


@converts("Swish")
def swish(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    return c.op("multiply", x, c.op("sigmoid", _scaled(c, x, node.real("alpha"))))


def softplus_of(c: Emitter, x: Value) -> Value:
    """`log(1 + exp(x))`, written so that it neither overflows nor loses small values."""
    small = c.op("exp", c.op("negative", c.op("abs", x)))
    return c.op("add", c.op("nn.relu", x), c.op("log", c.op("add", c.scalar(1, x), small)))


@converts("Softplus")
def softplus(c: Emitter, node: NodeView) -> Value:
    return softplus_of(c, node.input(0))


@converts("Mish")
def mish(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    return c.op("multiply", x, c.op("tanh", softplus_of(c, x)))


@converts("Softsign")
def softsign(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    return c.op("divide", x, c.op("add", c.scalar(1, x), c.op("abs", x)))


@converts("Gelu", since=20)
def gelu(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    if node.choice("approximate", "none", "tanh") == "none":
        inner = c.op("erf", _scaled(c, x, math.sqrt(0.5)))
    else:
        cube = c.op("multiply", c.op("multiply", x, x), x)
        inner = c.op("tanh", _scaled(c, c.op("add", x, _scaled(c, cube, 0.044715)), math.sqrt(2 / math.pi)))
    return c.op("multiply", _scaled(c, x, 0.5), c.op("add", c.scalar(1, x), inner))


@converts("Shrink")
def shrink(c: Emitter, node: NodeView) -> Value:
    x, lambd, bias = node.input(0), node.real("lambd"), node.real("bias")
    above = c.op(
        "where", c.op("greater", x, c.scalar(lambd, x)), c.op("subtract", x, c.scalar(bias, x)), c.scalar(0, x)
    )
    return c.op("where", c.op("less", x, c.scalar(-lambd, x)), c.op("add", x, c.scalar(bias, x)), above)


# Functions along an axis. Up to opset 12 the tensor counted as a matrix, cut before the axis.


def _flattened(c: Emitter, node: NodeView) -> tuple[Value, Value]:
    """The input, and the input as a matrix whose columns are the axes from `axis` on."""
    x = node.input(0)
    axis = normalize_axis(node.integer("axis"), x.rank) if x.rank else 0
    rest = x.shape[axis:]
    if len(rest) == 1 and x.rank == 2:
        return x, x
    rows = x.static_shape("before opset 13 the input is flattened to a matrix")[:axis]
    return x, c.reshape(x, (math.prod(rows), math.prod(rest)))


ALONG_AXIS = {"Softmax": "nn.softmax", "LogSoftmax": "nn.log_softmax"}


@converts(*ALONG_AXIS)
def softmax_before_13(c: Emitter, node: NodeView) -> Value:
    x, matrix = _flattened(c, node)
    return c.reshape(c.op(ALONG_AXIS[node.op_type], matrix, axis=1), x.shape)


@converts(*ALONG_AXIS, since=13)
def softmax(c: Emitter, node: NodeView) -> Value:
    return c.op(ALONG_AXIS[node.op_type], node.input(0), axis=node.integer("axis"))


def _hardmax(c: Emitter, x: Value, axis: int) -> Value:
    """One at the first greatest element along the axis, zero elsewhere."""
    axis = normalize_axis(axis, x.rank)
    size = x.static_shape("hardmax needs the size of its axis", [axis])[axis]
    where = c.op("argmax", x, axis=(axis,), keepdims=True)
    positions = np.arange(size, dtype=numpy_dtype(where.element)).reshape([-1] + [1] * (x.rank - 1 - axis))
    return c.cast(c.op("equal", c.constant(positions), where), x.element)


@converts("Hardmax")
def hardmax_before_13(c: Emitter, node: NodeView) -> Value:
    x, matrix = _flattened(c, node)
    return c.reshape(_hardmax(c, matrix, 1), x.shape)


@converts("Hardmax", since=13)
def hardmax(c: Emitter, node: NodeView) -> Value:
    return _hardmax(c, node.input(0), node.integer("axis"))


__all__ = ["softplus_of"]
