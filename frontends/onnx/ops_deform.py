"""DeformConv: the samples of each window as columns, then one matrix product a group."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i64

from relay_mlir.dialects.relay.types import numpy_dtype, show_shape
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.registry import converts


@converts("DeformConv")
def deform_conv(c: Emitter, node: NodeView) -> Value:
    """A convolution of images whose window positions are moved by an offset each, and weighted by a mask."""
    x, weight, offset, bias, mask = (
        node.input(0),
        node.input(1),
        node.input(2),
        node.optional(3),
        node.optional(4),
    )
    if x.rank != 4 or weight.rank != 4:
        raise Problem(f"only images are supported, but the data has shape {show_shape(x.shape)}")
    batch, channels, height, width = x.static_shape("the image's shape must be known")
    outputs, _, *kernel = weight.static_shape("the weight's shape must be known")
    if tuple(node.integers("kernel_shape", tuple(kernel))) != tuple(kernel):
        raise Problem(f"attribute 'kernel_shape' is not the {list(kernel)} of the weight")
    groups, parts = node.integer("group"), node.integer("offset_group")
    sizes = offset.static_shape("the offset's shape must be known")[2:]
    taps, places = kernel[0] * kernel[1], sizes[0] * sizes[1]
    moved = c.reshape(offset, (batch, parts, taps, 2, *sizes))
    places_of = [_positions(c, node, moved, kernel, axis) for axis in range(2)]
    # (batch, parts, height * width, channels of a part): the elements of one position lie side by side.
    share = channels // parts
    lines = c.transpose(c.reshape(x, (batch, parts, share, height * width)), (0, 1, 3, 2))
    total: Value | None = None
    for row, row_weight in _neighbours(c, places_of[0], height):
        for column, column_weight in _neighbours(c, places_of[1], width):
            at = c.op("add", c.op("multiply", row, c.scalar(width, row)), column)
            read = c.op("take", lines, c.reshape(at, (batch, parts, -1)), axis=2, batch_dims=2)
            factor = c.reshape(c.op("multiply", row_weight, column_weight), (batch, parts, -1, 1))
            term = c.op("multiply", read, factor)
            total = term if total is None else c.op("add", total, term)
    assert total is not None
    if mask is not None:
        total = c.op("multiply", total, c.reshape(mask, (batch, parts, -1, 1)))
    samples = c.reshape(total, (batch, parts, taps, places, share))
    columns = c.reshape(c.transpose(samples, (1, 4, 2, 0, 3)), (groups, channels // groups * taps, batch * places))
    filters = c.reshape(weight, (groups, outputs // groups, channels // groups * taps))
    product = c.reshape(c.op("nn.batch_matmul", filters, columns), (outputs, batch, *sizes))
    result = c.transpose(product, (1, 0, 2, 3))
    return result if bias is None else c.op("nn.bias_add", result, bias, axis=1)


def _positions(c: Emitter, node: NodeView, moved: Value, kernel: list[int], axis: int) -> Value:
    """Where each tap of each window reads along an axis: (batch, parts, taps, rows, columns)."""
    strides, dilations = node.integers("strides", (1, 1)), node.integers("dilations", (1, 1))
    pads = node.integers("pads", (0, 0, 0, 0))
    grid = np.indices((*kernel, *moved.shape[4:]))
    base = grid[2 + axis] * strides[axis] - pads[axis] + grid[axis] * dilations[axis]
    whole = c.constant(base.reshape(1, 1, -1, *moved.shape[4:]).astype(numpy_dtype(moved.element)))
    part = c.op("strided_slice", moved, begin=(axis,), end=(axis + 1,), axes=(3,))
    return c.op("add", c.op("squeeze", part, axis=(3,)), whole)


def _neighbours(c: Emitter, at: Value, size: int) -> list[tuple[Value, Value]]:
    """The two positions around each one, bounded, and their weights, 0 for those outside of the image."""
    floor = c.op("floor", at)
    part = c.op("subtract", at, floor)
    found: list[tuple[Value, Value]] = []
    one, zero = c.scalar(1, at), c.scalar(0, at)
    for place, weight in ((floor, c.op("subtract", one, part)), (c.op("add", floor, one), part)):
        inside = c.op(
            "logical_and",
            c.op("greater_equal", place, zero),
            c.op("less_equal", place, c.scalar(size - 1, at)),
        )
        bounded = c.cast(c.op("clip", place, a_min=0.0, a_max=float(size - 1)), i64)
        found.append((bounded, c.op("where", inside, weight, zero)))
    return found
