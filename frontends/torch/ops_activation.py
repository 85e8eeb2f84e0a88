"""Activation functions of neural networks."""

from __future__ import annotations

import math

from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.torch.node import NodeView
from relay_mlir.frontends.torch.promotion import as_tensor, converted
from relay_mlir.frontends.torch.registry import converts


@converts("aten.relu.default")
def relu(c: Emitter, node: NodeView) -> Value:
    return c.op("nn.relu", node.value("self"))


def _clipped(c: Emitter, x: Value, low: float, high: float) -> Value:
    return c.op("clip", x, a_min=float(low), a_max=float(high))


@converts("aten.relu6.default")
def relu6(c: Emitter, node: NodeView) -> Value:
    return _clipped(c, node.value("self"), 0, 6)


@converts("aten.hardtanh.default")
def hardtanh(c: Emitter, node: NodeView) -> Value:
    return _clipped(c, node.value("self"), node.real("min_val"), node.real("max_val"))


def _hard_sigmoid(c: Emitter, x: Value) -> Value:
    return c.op("divide", _clipped(c, c.op("add", x, c.scalar(3, x)), 0, 6), c.scalar(6, x))


@converts("aten.hardsigmoid.default")
def hardsigmoid(c: Emitter, node: NodeView) -> Value:
    return _hard_sigmoid(c, node.value("self"))


@converts("aten.hardswish.default")
def hardswish(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    clipped = _clipped(c, c.op("add", x, c.scalar(3, x)), 0, 6)
    return c.op("divide", c.op("multiply", x, clipped), c.scalar(6, x))


@converts("aten.silu.default")
def silu(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    return c.op("multiply", x, c.op("sigmoid", x))


@converts("aten.gelu.default")
def gelu(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    half = c.op("multiply", x, c.scalar(0.5, x))
    match node.string("approximate"):
        case "none":
            inner = c.op("erf", c.op("multiply", x, c.scalar(math.sqrt(0.5), x)))
        case "tanh":
            cube = c.op("multiply", c.op("multiply", x, x), x)
            sum_ = c.op("add", x, c.op("multiply", cube, c.scalar(0.044715, x)))
            inner = c.op("tanh", c.op("multiply", sum_, c.scalar(math.sqrt(2 / math.pi), x)))
        case other:
            raise Problem(f"argument 'approximate' is {other!r}; expected 'none' or 'tanh'")
    return c.op("multiply", half, c.op("add", inner, c.scalar(1, x)))


@converts("aten.leaky_relu.default")
def leaky_relu(c: Emitter, node: NodeView) -> Value:
    return c.op("nn.leaky_relu", node.value("self"), alpha=node.real("negative_slope"))


@converts("aten.rrelu.default")
def rrelu(c: Emitter, node: NodeView) -> Value:
    """A slope drawn at random while training; else the mean of its limits."""
    if node.flag("training"):
        raise Problem("argument 'training' is True: export the module in eval() mode")
    node.ignore("generator")
    return c.op("nn.leaky_relu", node.value("self"), alpha=(node.real("lower") + node.real("upper")) / 2)


@converts("aten.prelu.default", "aten._prelu_kernel.default")
def prelu(c: Emitter, node: NodeView) -> Value:
    x, slope = node.value("self"), node.value("weight")
    if node.operator == "prelu" and x.rank > 1 and slope.size > 1:
        return c.op("nn.prelu", x, slope, axis=1)
    if slope.size == 1:
        slope = c.reshape(slope, ())
    return c.op("where", c.op("greater", x, c.scalar(0, x)), x, c.op("multiply", x, slope))


@converts("aten.elu.default")
def elu(c: Emitter, node: NodeView) -> Value:
    """`scale x` above 0, `scale alpha (e^(input_scale x) - 1)` below."""
    return _elu(c, node.value("self"), node.real("alpha"), node.real("scale"), node.real("input_scale"))


def _elu(c: Emitter, x: Value, alpha: float, scale: float, input_scale: float) -> Value:
    inner = x if input_scale == 1 else c.op("multiply", x, c.scalar(input_scale, x))
    # Not above 0, where the other branch counts: no infinity that a product could make NaN.
    inner = c.op("minimum", inner, c.scalar(0, x))
    below = c.op("multiply", c.op("subtract", c.op("exp", inner), c.scalar(1, x)), c.scalar(alpha * scale, x))
    above = x if scale == 1 else c.op("multiply", x, c.scalar(scale, x))
    return c.op("where", c.op("less_equal", x, c.scalar(0, x)), below, above)


@converts("aten.selu.default")
def selu(c: Emitter, node: NodeView) -> Value:
    return _elu(c, node.value("self"), 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1)


@converts("aten.celu.default")
def celu(c: Emitter, node: NodeView) -> Value:
    alpha = node.real("alpha")
    return _elu(c, node.value("self"), alpha, 1, 1 / alpha)


def _softplus(c: Emitter, x: Value) -> Value:
    """`log(1 + e^x)` without overflow: max(x, 0) + log(1 + e^-|x|)."""
    tail = c.op("log", c.op("add", c.scalar(1, x), c.op("exp", c.op("negative", c.op("abs", x)))))
    return c.op("add", c.op("maximum", x, c.scalar(0, x)), tail)


@converts("aten.softplus.default")
def softplus(c: Emitter, node: NodeView) -> Value:
    x, beta, threshold = node.value("self"), node.real("beta"), node.real("threshold")
    scaled = x if beta == 1 else c.op("multiply", x, c.scalar(beta, x))
    soft = _softplus(c, scaled)
    if beta != 1:
        soft = c.op("divide", soft, c.scalar(beta, x))
    return c.op("where", c.op("greater", scaled, c.scalar(threshold, x)), x, soft)


@converts("aten.mish.default")
def mish(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    return c.op("multiply", x, c.op("tanh", _softplus(c, x)))


@converts("aten.log_sigmoid.default")
def log_sigmoid(c: Emitter, node: NodeView) -> Value:
    return c.op("negative", _softplus(c, c.op("negative", node.value("self"))))


@converts("aten.threshold.default")
def threshold(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    limit, value = (as_tensor(c, node.number(name), x.element) for name in ("threshold", "value"))
    return c.op("where", c.op("less_equal", x, limit), value, x)


@converts("aten.hardshrink.default", "aten.softshrink.default")
def shrink(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    limit = as_tensor(c, node.number("lambd"), x.element)
    zero = c.scalar(0, x)
    above, below = c.op("greater", x, limit), c.op("less", x, c.op("negative", limit))
    if node.operator == "hardshrink":
        inside = c.op("logical_not", c.op("logical_or", above, below))
        return c.op("where", c.op("logical_and", inside, c.op("equal", x, x)), zero, x)
    moved = c.op("where", above, c.op("subtract", x, limit), c.op("add", x, limit))
    inside = c.op("less_equal", c.op("abs", x), limit)
    return c.op("where", inside, zero, moved)


@converts("aten.glu.default")
def glu(c: Emitter, node: NodeView) -> Value:
    x, dim = node.value("self"), node.integer("dim")
    size = x.static_shape("halving a dimension needs its size", [dim])[dim]
    a, b = c.ops("split", x, indices_or_sections=(size // 2,), axis=dim)
    return c.op("multiply", a, c.op("sigmoid", b))


@converts("aten.softmax.int", "aten.log_softmax.int", "aten._softmax.default", "aten._log_softmax.default")
def softmax(c: Emitter, node: NodeView) -> Value:
    name = node.operator.removeprefix("_")
    x = node.value("self")
    if node.has("dtype"):
        node.ignore("dtype")  # torch has put it into the type of the result
    if node.has("half_to_float"):
        node.ignore("half_to_float")
    x = converted(c, x, node.element)
    if not x.rank:
        return c.reshape(c.op(f"nn.{name}", c.reshape(x, (1,)), axis=0), ())
    return c.op(f"nn.{name}", x, axis=node.integer("dim"))
