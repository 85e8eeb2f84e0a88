"""Normalizations."""

from __future__ import annotations

import numpy as np

from relay_mlir.dialects.relay.types import Shape, dtype_name, numpy_dtype
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.torch.node import NodeView
from relay_mlir.frontends.torch.registry import converts

_EPSILONS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
"""The distance from 1 to the next number: what rms_norm adds where it is given nothing."""


def _parameter(c: Emitter, node: NodeView, name: str, shape: Shape, number: float) -> Value:
    """A parameter of a normalization; where there is none, one that changes nothing."""
    found = node.optional(name)
    if found is not None:
        return found
    return c.constant(np.full(shape, number, numpy_dtype(node.element)))


def _channels(x: Value) -> Shape:
    return (x.static_shape("the number of channels must be known", [1])[1],)


@converts(
    "aten.batch_norm.default",
    "aten._native_batch_norm_legit_no_training.default",
    "aten.native_batch_norm.default",
    "aten.cudnn_batch_norm.default",
)
def batch_norm(c: Emitter, node: NodeView) -> Value | list[Value]:
    for name in ("training", "train"):
        if node.has(name) and node.flag(name):
            raise Problem(f"argument '{name}' is True: export the module in eval() mode")
    node.ignore("momentum", "cudnn_enabled")  # the one for training, the other no matter of the answer
    x = node.value("input")
    shape = _channels(x)
    parameters = [
        _parameter(c, node, "weight", shape, 1),
        _parameter(c, node, "bias", shape, 0),
        node.value("running_mean"),
        node.value("running_var"),
    ]
    y = c.op("nn.batch_norm", x, *parameters, axis=1, epsilon=node.real("eps"))
    return y if node.operator == "batch_norm" else [y]


@converts("aten.layer_norm.default", "aten.native_layer_norm.default")
def layer_norm(c: Emitter, node: NodeView) -> Value | list[Value]:
    if node.has("cudnn_enable"):
        node.ignore("cudnn_enable")
    x, shape = node.value("input"), node.integers("normalized_shape")
    gamma = _parameter(c, node, "weight", shape, 1)
    beta = _parameter(c, node, "bias", shape, 0)
    given = {"scale": node.find("weight") is not None, "center": node.find("bias") is not None}
    y = c.op("nn.layer_norm", x, gamma, beta, axis=x.rank - len(shape), epsilon=node.real("eps"), **given)
    return y if node.operator == "layer_norm" else [y]


@converts("aten.group_norm.default")
def group_norm(c: Emitter, node: NodeView) -> Value:
    node.ignore("cudnn_enabled")
    x = node.value("input")
    return _group_norm(c, node, x, node.integer("num_groups"))


@converts("aten.native_group_norm.default")
def native_group_norm(c: Emitter, node: NodeView) -> list[Value]:
    node.ignore("N", "C", "HxW")  # the sizes of the input again
    return [_group_norm(c, node, node.value("input"), node.integer("group"))]


def _group_norm(c: Emitter, node: NodeView, x: Value, groups: int) -> Value:
    shape = _channels(x)
    gamma, beta = _parameter(c, node, "weight", shape, 1), _parameter(c, node, "bias", shape, 0)
    return c.op("nn.group_norm", x, gamma, beta, num_groups=groups, axis=1, epsilon=node.real("eps"))


@converts("aten.instance_norm.default")
def instance_norm(c: Emitter, node: NodeView) -> Value:
    node.ignore("momentum", "cudnn_enabled")
    x = node.value("input")
    shape = _channels(x)
    gamma, beta = _parameter(c, node, "weight", shape, 1), _parameter(c, node, "bias", shape, 0)
    if not node.flag("use_input_stats"):
        statistics = (node.value("running_mean"), node.value("running_var"))
        return c.op("nn.batch_norm", x, gamma, beta, *statistics, axis=1, epsilon=node.real("eps"))
    node.ignore("running_mean", "running_var")
    return c.op("nn.instance_norm", x, gamma, beta, axis=1, epsilon=node.real("eps"))


@converts("aten.rms_norm.default")
def rms_norm(c: Emitter, node: NodeView) -> Value:
    x, shape = node.value("input"), node.integers("normalized_shape")
    axes = tuple(range(x.rank - len(shape), x.rank))
    found = node.optional_number("eps")
    epsilon = _EPSILONS[dtype_name(x.element)] if found is None else float(found)
    square = c.op("mean", c.op("multiply", x, x), axis=axes, keepdims=True)
    y = c.op("multiply", x, c.op("rsqrt", c.op("add", square, c.scalar(epsilon, x))))
    weight = node.optional("weight")
    return y if weight is None else c.op("multiply", y, weight)
