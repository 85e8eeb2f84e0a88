"""Convolutions and transposed convolutions."""

from __future__ import annotations

from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.registry import converts
from relay_mlir.frontends.onnx.windows import RANKS, WindowAttributes, per_axis, spatial_rank, window_attributes


def _kernel(node: NodeView, x: Value, weight: Value) -> tuple[int, ...]:
    """The spatial sizes of the weight, which `kernel_shape` repeats; raises Problem where it does not."""
    if weight.rank != x.rank:
        raise Problem(f"the weight must have the input's rank {x.rank}, but is {weight.type}")
    sizes = weight.static_shape("the kernel's size must be known", range(2, weight.rank))[2:]
    declared = node.integers("kernel_shape", None)
    if declared is not None and declared != sizes:
        raise Problem(f"attribute 'kernel_shape' is {list(declared)}, but the weight has {list(sizes)}")
    return sizes


def _biased(c: Emitter, node: NodeView, y: Value) -> Value:
    bias = node.optional(2)
    return y if bias is None else c.op("nn.bias_add", y, bias, axis=1)


def convolved(c: Emitter, node: NodeView, x: Value, weight: Value) -> Value:
    """The convolution of a tensor by the attributes of a node."""
    window = window_attributes(node, x, _kernel(node, x, weight))
    return c.op(
        f"nn.conv{RANKS[window.rank]}",
        x,
        weight,
        strides=window.strides,
        padding=window.padding,
        dilation=window.dilations,
        groups=node.integer("group"),
    )


@converts("Conv")
def conv(c: Emitter, node: NodeView) -> Value:
    return _biased(c, node, convolved(c, node, node.input(0), node.input(1)))


@converts("ConvTranspose")
def conv_transpose(c: Emitter, node: NodeView) -> Value:
    x, weight = node.input(0), node.input(1)
    rank = spatial_rank(x)
    kernel = _kernel(node, x, weight)
    groups = node.integer("group")
    extra = per_axis(node, "output_padding", rank, 0)
    sizes = node.integers("output_shape", None)
    auto = node.choice("auto_pad", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
    strides = per_axis(node, "strides", rank, 1)
    dilations = per_axis(node, "dilations", rank, 1)
    if sizes is None and auto.startswith("SAME"):
        spatial = x.static_shape(f"auto_pad = {auto} needs the spatial dimensions", range(2, x.rank))[2:]
        sizes = tuple(size * stride for size, stride in zip(spatial, strides, strict=True))
    if sizes is None:
        padding = window_attributes(node, x, kernel).padding
    else:
        window = WindowAttributes(kernel, strides, dilations, ())
        node.ignore("pads")  # the spec has them worked out from the output's shape
        padding, extra = _padding_for(x, window, sizes[-rank:], extra, upper=auto == "SAME_UPPER")
    y = c.op(
        f"nn.conv{RANKS[rank]}_transpose",
        x,
        weight,
        strides=strides,
        padding=padding,
        dilation=dilations,
        groups=groups,
        output_padding=extra,
    )
    return _biased(c, node, y)


def _padding_for(
    x: Value, window: WindowAttributes, sizes: tuple[int, ...], extra: tuple[int, ...], upper: bool
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The padding (and output padding) with which a transposed convolution gives these output sizes."""
    spatial = x.static_shape("an output shape needs the spatial dimensions", range(2, x.rank))[2:]
    if len(sizes) != window.rank:
        raise Problem(f"attribute 'output_shape' must have {window.rank} entries, but is {list(sizes)}")
    low: list[int] = []
    high: list[int] = []
    more: list[int] = []
    rows = zip(spatial, window.kernel, window.strides, window.dilations, sizes, extra, strict=True)
    for size, kernel, stride, dilation, out, padding in rows:
        total = stride * (size - 1) + padding + (kernel - 1) * dilation + 1 - out
        more.append(padding + max(-total, 0))
        total = max(total, 0)
        low.append(total // 2 if upper else total - total // 2)
        high.append(total - low[-1])
    return (*low, *high), tuple(more)
