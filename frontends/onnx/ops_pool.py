"""Pools over windows and over whole images."""

from __future__ import annotations

from math import prod

from relay_mlir.dialects.relay.types import is_float
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.ops_elementwise import raised
from relay_mlir.frontends.onnx.registry import converts
from relay_mlir.frontends.onnx.windows import RANKS, WindowAttributes, window_attributes


def _pool(c: Emitter, name: str, x: Value, window: WindowAttributes, ceil_mode: bool, **more: bool) -> Value:
    return c.op(
        f"nn.{name}_pool{RANKS[window.rank]}",
        x,
        pool_size=window.kernel,
        strides=window.strides,
        dilation=window.dilations,
        padding=window.padding,
        ceil_mode=ceil_mode,
        **more,
    )


def _window(node: NodeView) -> WindowAttributes:
    return window_attributes(node, node.input(0), node.integers("kernel_shape"))


def _ceil_mode(node: NodeView) -> bool:
    return node.has("ceil_mode") and node.flag("ceil_mode")


@converts("MaxPool")
def max_pool(c: Emitter, node: NodeView) -> list[Value]:
    node.ignore("storage_order")  # the order of the indices
    window = _window(node)
    if not node.wants(1):
        return [_pool(c, "max", node.input(0), window, _ceil_mode(node))]
    return c.ops(
        f"nn.max_pool{RANKS[window.rank]}_with_indices",
        node.input(0),
        pool_size=window.kernel,
        strides=window.strides,
        dilation=window.dilations,
        padding=window.padding,
        ceil_mode=_ceil_mode(node),
        column_major=node.flag("storage_order"),
    )


@converts("AveragePool")
def average_pool(c: Emitter, node: NodeView) -> Value:
    inside = node.has("count_include_pad") and node.flag("count_include_pad")
    return _pool(c, "avg", node.input(0), _window(node), _ceil_mode(node), count_include_pad=inside)


@converts("LpPool", since=2)
def lp_pool(c: Emitter, node: NodeView) -> Value:
    """The average of `|x|^p` over every position of the window, times their number, to the power of `1 / p`."""
    window = _window(node)
    if _ceil_mode(node):
        raise Problem("attribute 'ceil_mode' = 1 is not supported")
    mean = _pool(c, "avg", _powered(c, node, node.input(0)), window, False, count_include_pad=True)
    return _rooted(c, node, c.op("multiply", mean, c.scalar(prod(window.kernel), mean)))


def _powered(c: Emitter, node: NodeView, x: Value) -> Value:
    if not is_float(x.element):
        raise Problem(f"the input must be float, but is {x.type}")
    x, p = c.op("abs", x), node.integer("p")
    return c.op("multiply", x, x) if p == 2 else raised(c, x, c.scalar(p, x))


def _rooted(c: Emitter, node: NodeView, x: Value) -> Value:
    p = node.integer("p")
    return c.op("sqrt", x) if p == 2 else raised(c, x, c.scalar(1 / p, x))


def _spatial(x: Value) -> tuple[int, ...]:
    if x.rank < 3:
        raise Problem(f"the input must have spatial dimensions (N, C, ...), but is {x.type}")
    return tuple(range(2, x.rank))


@converts("GlobalAveragePool", "GlobalMaxPool")
def global_pool(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    short, reduction = {"GlobalAveragePool": ("avg", "mean"), "GlobalMaxPool": ("max", "max")}[node.op_type]
    if x.rank == 4:
        return c.op(f"nn.global_{short}_pool2d", x)
    return c.op(reduction, x, axis=_spatial(x), keepdims=True)


@converts("GlobalLpPool", since=2)
def global_lp_pool(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    return _rooted(c, node, c.op("sum", _powered(c, node, x), axis=_spatial(x), keepdims=True))
