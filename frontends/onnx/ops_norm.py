"""Normalizations."""

from __future__ import annotations

from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute

from relay_mlir.dialects.relay.types import element_type, is_float, normalize_axis
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.reader import numpy_type
from relay_mlir.frontends.onnx.registry import converts


@converts("BatchNormalization")
def batch_norm_before_7(c: Emitter, node: NodeView) -> Value:
    node.ignore("consumed_inputs")
    if not node.flag("is_test"):
        raise Problem("attribute 'is_test' is 0: training is not supported before opset 14")
    return _batch_norm(c, node)


@converts("BatchNormalization", since=7)
def batch_norm_before_14(c: Emitter, node: NodeView) -> Value:
    return _batch_norm(c, node)


@converts("BatchNormalization", since=14)
def batch_norm(c: Emitter, node: NodeView) -> Value | list[Value]:
    if node.flag("training_mode"):
        return _batch_norm_training(c, node)
    return _batch_norm(c, node)


def _batch_norm(c: Emitter, node: NodeView) -> Value:
    if node.opset < 9 and not node.flag("spatial"):
        raise Problem("attribute 'spatial' is 0: statistics for each element are not supported")
    node.ignore("momentum")  # it matters for training only
    parameters = [node.input(position) for position in range(1, 5)]
    return c.ops("nn.batch_norm", node.input(0), *parameters, axis=1, epsilon=node.real("epsilon"))[0]


def _batch_norm_training(c: Emitter, node: NodeView) -> list[Value]:
    """Normalized by the statistics of the batch; the running ones move towards those."""
    x, scale, bias, *running = (node.input(position) for position in range(5))
    axes = (0, *range(2, x.rank))
    mean = c.op("mean", x, axis=axes)
    column = (1, -1, *[1] * (x.rank - 2))
    centred = c.op("subtract", x, c.reshape(mean, column))
    variance = c.op("mean", c.op("multiply", centred, centred), axis=axes)
    y = c.ops("nn.batch_norm", x, scale, bias, mean, variance, axis=1, epsilon=node.real("epsilon"))[0]
    momentum = node.real("momentum")
    moved = [
        c.op(
            "add",
            c.op("multiply", old, c.scalar(momentum, old)),
            c.op("multiply", c.cast(new, old.element), c.scalar(1 - momentum, old)),
        )
        for old, new in zip(running, (mean, variance), strict=True)
    ]
    return [y, *moved]


@converts("InstanceNormalization")
def instance_norm(c: Emitter, node: NodeView) -> Value:
    node.ignore("consumed_inputs")
    x, scale, bias = node.input(0), node.input(1), node.input(2)
    return c.op("nn.instance_norm", x, scale, bias, axis=1, epsilon=node.real("epsilon"))


@converts("GroupNormalization", since=18)
def group_norm_by_group(c: Emitter, node: NodeView) -> Value:
    """Opset 18 scales whole groups: the parameters are repeated for the channels of each group."""
    x, groups = node.input(0), node.integer("num_groups")
    channels = x.static_shape("the number of channels must be known", [1])[1]
    if groups < 1 or channels % groups:
        raise Problem(f"attribute 'num_groups' ({groups}) must divide the {channels} channels")
    scale, bias = (c.op("repeat", node.input(at), repeats=channels // groups, axis=0) for at in (1, 2))
    return c.op("nn.group_norm", x, scale, bias, num_groups=groups, axis=1, epsilon=node.real("epsilon"))


@converts("GroupNormalization", since=21)
def group_norm(c: Emitter, node: NodeView) -> Value:
    x, groups = node.input(0), node.integer("num_groups")
    element = element_type(numpy_type(node.integer("stash_type")))
    parameters = [c.cast(node.input(at), element) for at in (1, 2)]
    y = c.op("nn.group_norm", c.cast(x, element), *parameters, num_groups=groups, axis=1, epsilon=node.real("epsilon"))
    return c.cast(y, x.element)


def _stashed(node: NodeView, x: Value) -> Attribute:
    """The element type that the statistics are computed in."""
    element = element_type(numpy_type(node.integer("stash_type")))
    if not is_float(element):
        raise Problem("attribute 'stash_type' must name a float type")
    return f64 if x.element == f64 else element


@converts("LayerNormalization", since=17)
def layer_norm(c: Emitter, node: NodeView) -> list[Value]:
    x, scale, bias = node.input(0), node.input(1), node.optional(2)
    axis = normalize_axis(node.integer("axis"), x.rank)
    epsilon, element = node.real("epsilon"), _stashed(node, x)
    axes = tuple(range(axis, x.rank))
    if not (node.wants(1) or node.wants(2)) and scale.shape == x.shape[axis:]:
        beta = bias or c.op("zeros_like", scale)
        if beta.shape == scale.shape:
            return [c.op("nn.layer_norm", x, scale, beta, axis=axis, epsilon=epsilon, center=bias is not None)]
    wide = c.cast(x, element)
    mean = c.op("mean", wide, axis=axes, keepdims=True)
    centred = c.op("subtract", wide, mean)
    inverse = _inverse_root(c, c.op("mean", c.op("multiply", centred, centred), axis=axes, keepdims=True), epsilon)
    y = c.op("multiply", c.cast(c.op("multiply", centred, inverse), x.element), scale)
    return [y if bias is None else c.op("add", y, bias), mean, inverse]


def _inverse_root(c: Emitter, x: Value, epsilon: float) -> Value:
    return c.op("divide", c.scalar(1, x), c.op("sqrt", c.op("add", x, c.scalar(epsilon, x))))


@converts("RMSNormalization", since=23)
def rms_norm(c: Emitter, node: NodeView) -> Value:
    x, scale = node.input(0), node.input(1)
    axes = tuple(range(normalize_axis(node.integer("axis"), x.rank), x.rank))
    wide = c.cast(x, _stashed(node, x))
    square = c.op("mean", c.op("multiply", wide, wide), axis=axes, keepdims=True)
    y = c.op("multiply", wide, _inverse_root(c, square, node.real("epsilon")))
    return c.op("multiply", c.cast(y, scale.element), scale)


@converts("LRN")
def lrn(c: Emitter, node: NodeView) -> Value:
    return c.op(
        "nn.lrn",
        node.input(0),
        size=node.integer("size"),
        axis=1,
        bias=node.real("bias"),
        alpha=node.real("alpha"),
        beta=node.real("beta"),
    )


@converts("LpNormalization")
def lp_norm(c: Emitter, node: NodeView) -> Value:
    """Divided by the norm along the axis; where that is 0 the elements are too, and stay."""
    x, p = node.input(0), node.integer("p")
    if p not in (1, 2):
        raise Problem(f"attribute 'p' must be 1 or 2, but is {p}")
    axis = (normalize_axis(node.integer("axis"), x.rank),)
    if p == 1:
        norm = c.op("sum", c.op("abs", x), axis=axis, keepdims=True)
    else:
        norm = c.op("sqrt", c.op("sum", c.op("multiply", x, x), axis=axis, keepdims=True))
    zero = c.scalar(0, norm)
    return c.op("divide", x, c.op("where", c.op("equal", norm, zero), c.scalar(1, norm), norm))


@converts("MeanVarianceNormalization", since=9)
def mean_variance_norm(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    axes = node.integers("axes")
    mean = c.op("mean", x, axis=axes, keepdims=True)
    centred = c.op("subtract", x, mean)
    deviation = c.op("sqrt", c.op("mean", c.op("multiply", centred, centred), axis=axes, keepdims=True))
    return c.op("divide", centred, c.op("add", deviation, c.scalar(1e-9, x)))
