"""RoiAlign, and MaxUnpool: what moves elements to or from computed places."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import i64

from relay_mlir.dialects.relay.types import numpy_dtype, show_shape
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.registry import converts


@converts("MaxUnpool")
def max_unpool(c: Emitter, node: NodeView) -> Value:
    """Zeros, with the elements at the places of a flat index; zeros are added at the end up to the shape given."""
    x, indices = node.input(0), node.input(1)
    shape = x.static_shape("the shape of what is unpooled must be known")
    kernel = node.integers("kernel_shape")
    rank = len(kernel)
    if len(shape) != rank + 2 or indices.shape != shape:
        raise Problem(
            f"the kernel has {rank} dimensions: the data and the indices must have one shape of {rank + 2}, but have "
            f"{show_shape(shape)} and {show_shape(indices.shape)}"
        )
    strides, pads = node.integers("strides", (1,) * rank), node.integers("pads", (0,) * 2 * rank)
    sizes = [
        (size - 1) * stride - low - high + window
        for size, stride, low, high, window in zip(shape[2:], strides, pads[:rank], pads[rank:], kernel, strict=True)
    ]
    natural = (*shape[:2], *sizes)
    flat = c.op("zeros", shape=(prod(natural),), dtype=x.element)
    placed = c.op("scatter_elements", flat, c.reshape(indices, (-1,)), c.reshape(x, (-1,)), axis=0)
    result = c.reshape(placed, natural)
    wanted = node.known_ints(2)
    if wanted is None or wanted == natural:
        return result
    if len(wanted) != len(natural) or any(a < b for a, b in zip(wanted, natural, strict=True)):
        raise Problem(f"the output shape {list(wanted)} is smaller than {list(natural)}, which the window gives")
    widths = tuple((0, a - b) for a, b in zip(wanted, natural, strict=True))
    return c.op("nn.pad", result, c.scalar(0, x), pad_width=widths)


@converts("RoiAlign")
def roi_align(c: Emitter, node: NodeView) -> Value:
    """The mean or maximum of bilinear samples at the points of a grid in each cell of each box.

    A sample's four neighbours are read by two takes, one along each axis, and weighted where they are read.
    """
    x, boxes, batches = (node.input(position) for position in range(3))
    ratio = node.integer("sampling_ratio")
    if ratio <= 0:
        raise Problem("sampling_ratio is 0: how many samples a box has would depend on its size; give a ratio")
    _, channels, height, width = x.static_shape("the image's shape must be known")
    count = boxes.static_shape("the number of boxes must be known")[0]
    half = node.opset >= 16 and node.choice("coordinate_transformation_mode", "half_pixel", "output_half_pixel") == (
        "half_pixel"
    )
    corners = c.op("multiply", boxes, c.scalar(node.real("spatial_scale"), boxes))
    if half:
        corners = c.op("subtract", corners, c.scalar(0.5, boxes))
    cells = (node.integer("output_height"), node.integer("output_width"))
    rows = _samples(c, corners, 1, cells[0], ratio, height, at_least_one=not half)
    columns = _samples(c, corners, 0, cells[1], ratio, width, at_least_one=not half)
    image = c.op("take", x, c.cast(batches, i64), axis=0)  # (boxes, channels, height, width)
    lines = c.transpose(image, (0, 2, 1, 3))
    corners_read: list[Value] = []
    for place, weight in rows:
        line = c.op("multiply", c.op("take", lines, place, axis=1, batch_dims=1), c.reshape(weight, (count, -1, 1, 1)))
        turned = c.transpose(line, (0, 3, 2, 1))
        for across, other in columns:
            read = c.op("take", turned, across, axis=1, batch_dims=1)
            corners_read.append(c.op("multiply", read, c.reshape(other, (count, -1, 1, 1))))
    maximum = node.choice("mode", "avg", "max") == "max"
    total = corners_read[0]
    for other in corners_read[1:]:
        total = c.op("maximum" if maximum else "add", total, other)
    grid = c.reshape(total, (count, cells[1], ratio, channels, cells[0], ratio))
    pooled = c.op("max" if maximum else "mean", grid, axis=(2, 5))
    return c.transpose(pooled, (0, 2, 3, 1))


def _samples(
    c: Emitter, corners: Value, first: int, cells: int, ratio: int, size: int, at_least_one: bool
) -> list[tuple[Value, Value]]:
    """For one axis, the lower and the upper neighbour of each sample of each box, and their weights.

    Both have shape (boxes, cells * ratio). The weights of a sample outside of the image are 0.
    """
    start, end = (c.op("strided_slice", corners, begin=(at,), end=(at + 1,), axes=(1,)) for at in (first, first + 2))
    extent = c.op("subtract", end, start)
    if at_least_one:
        extent = c.op("maximum", extent, c.scalar(1, corners))
    steps = (np.arange(cells)[:, None] + (np.arange(ratio) + 0.5) / ratio).reshape(1, -1) / cells
    along = c.constant(steps.astype(numpy_dtype(corners.element)))
    at = c.op("add", start, c.op("multiply", extent, along))
    low_end, high_end = c.scalar(-1, corners), c.scalar(size, corners)
    inside = c.op("logical_and", c.op("greater_equal", at, low_end), c.op("less_equal", at, high_end))
    bounded = c.op("clip", at, a_min=0.0, a_max=float(size - 1))
    floor = c.op("floor", bounded)
    part = c.op("subtract", bounded, floor)
    low = c.cast(floor, i64)
    high = c.op("minimum", c.op("add", low, c.scalar(1, low)), c.scalar(size - 1, low))
    zero, one = c.scalar(0, corners), c.scalar(1, corners)
    return [
        (low, c.op("where", inside, c.op("subtract", one, part), zero)),
        (high, c.op("where", inside, part, zero)),
    ]
