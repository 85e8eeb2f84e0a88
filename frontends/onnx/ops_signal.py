"""Fourier transforms as products with constant matrices, and rearrangements of columns into images."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
from xdsl.dialects.builtin import f64, i64

from relay_mlir.dialects.relay.types import normalize_axis
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.matmul import matmul
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import MAX_KNOWN, Value
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.registry import converts


def _fourier(length: int, inverse: bool, onesided: bool, complex_input: bool) -> np.ndarray:
    """The matrix that takes rows [re0, im0, re1, ...] (or [re0, re1, ...]) to such rows of the transform."""
    if not 1 <= length or 4 * length * length > MAX_KNOWN:
        raise Problem(f"a transform of {length} elements is not supported: it becomes a matrix")
    back = inverse and onesided  # from half a spectrum to a real signal
    inputs = length // 2 + 1 if back else length
    outputs = length // 2 + 1 if onesided and not inverse else length
    # Multiplied as integers, so that the angle of a late element is as exact as that of an early one.
    turns = np.outer(np.arange(inputs), np.arange(outputs)) % length
    waves = np.exp((2j if inverse else -2j) * np.pi * turns / length) / (length if inverse else 1)
    if back:  # the other half is the conjugate of this one, and adds the same again
        twice = np.where((np.arange(inputs) == 0) | (2 * np.arange(inputs) == length), 1, 2)
        waves = waves * twice.reshape(-1, 1)
    matrix = np.zeros((inputs, 2 if complex_input else 1, outputs, 1 if back else 2))
    matrix[:, 0, :, 0] = waves.real
    if not back:
        matrix[:, 0, :, 1] = waves.imag
    if complex_input:
        matrix[:, 1, :, 0] = -waves.imag
        if not back:
            matrix[:, 1, :, 1] = waves.real
    return matrix.reshape(inputs * matrix.shape[1], -1)


def transformed(c: Emitter, x: Value, axis: int, length: int | None, inverse: bool, onesided: bool) -> Value:
    """The Fourier transform along an axis of a tensor whose last dimension holds real and imaginary parts."""
    if x.rank < 2 or x.shape[-1] not in (1, 2) or axis == x.rank - 1:
        raise Problem(f"the last dimension must be 1 or 2 and not be transformed, but the input is {x.type}")
    shape = x.static_shape("a transform needs the shape")
    if length is None:
        length = 2 * (shape[axis] - 1) if inverse and onesided else shape[axis]
    if onesided and not inverse and shape[-1] != 1:
        raise Problem("attribute 'onesided' = 1 needs a real input")
    matrix = _fourier(length, inverse, onesided, shape[-1] == 2)
    taken = matrix.shape[0] // shape[-1]
    if taken < shape[axis]:
        x = c.op("strided_slice", x, begin=(0,), end=(taken,), axes=(axis,))
    elif taken > shape[axis]:
        width = [(0, taken - shape[axis] if at == axis else 0) for at in range(x.rank)]
        x = c.op("nn.pad", x, c.scalar(0, x), pad_width=tuple(width))
    # In f64: a product of matrices loses more digits than a fast transform.
    order = [at for at in range(x.rank - 1) if at != axis] + [axis, x.rank - 1]
    rows = c.transpose(c.cast(x, f64), order)
    outer = rows.shape[:-2]
    rows = c.reshape(rows, (prod(outer), matrix.shape[0]))
    parts = 1 if inverse and onesided else 2
    y = c.reshape(matmul(c, rows, c.constant(matrix)), (*outer, matrix.shape[1] // parts, parts))
    return c.cast(c.transpose(y, [order.index(at) for at in range(x.rank)]), x.element)


def _length(node: NodeView, position: int) -> int | None:
    array = node.known_or_none(position)
    return None if array is None else int(array.reshape(()))


@converts("DFT", since=17)
def dft(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    if node.opset < 20:
        axis = node.integer("axis")
    else:
        given = _length(node, 2)
        axis = -2 if given is None else given
    axis = normalize_axis(axis, x.rank)
    return transformed(c, x, axis, _length(node, 1), node.flag("inverse"), node.flag("onesided"))


@converts("STFT", since=17)
def stft(c: Emitter, node: NodeView) -> Value:
    """Frames taken from the signal, multiplied by the window, each transformed."""
    x, step, window = node.input(0), int(node.known(1).reshape(())), node.optional(2)
    if x.rank != 3 or step < 1:
        raise Problem(f"the signal must be [batch, length, 1 or 2], but is {x.type}, with a step of {step}")
    length = _length(node, 3)
    total = x.static_shape("frames need the length of the signal")[1]
    if length is None:
        length = total if window is None else window.static_shape("the window's length must be known")[0]
    if not 1 <= length <= total:
        raise Problem(f"a frame of {length} does not fit into a signal of {total}")
    starts = np.arange((total - length) // step + 1) * step
    places = c.constant(np.add.outer(starts, np.arange(length)))
    frames = c.op("take", x, places, axis=1, mode="fast")
    if window is not None:
        frames = c.op("multiply", frames, c.reshape(window, (length, 1)))
    return transformed(c, frames, 2, None, inverse=False, onesided=node.flag("onesided"))


@converts("Col2Im", since=18)
def col2im(c: Emitter, node: NodeView) -> Value:
    """Adds each element of each block to its place in the (padded) image."""
    x, image, block = node.input(0), node.known_ints(1) or (), node.known_ints(2) or ()
    rank = len(image)
    strides = node.integers("strides", (1,) * rank)
    dilations = node.integers("dilations", (1,) * rank)
    pads = node.integers("pads", (0,) * (2 * rank))
    n, rows, count = x.static_shape("rearranging needs the shape") if x.rank == 3 else (0, 0, -1)
    padded = [size + pads[at] + pads[rank + at] for at, size in enumerate(image)]
    places = [(p - (b - 1) * d - 1) // s + 1 for p, b, d, s in zip(padded, block, dilations, strides, strict=True)]
    if prod(places) != count or rows % prod(block):
        raise Problem(f"blocks of {list(block)} in an image of {list(image)} do not fit the input {x.type}")
    if prod(block) * count > MAX_KNOWN:
        raise Problem(f"an image of {list(image)} is too large")
    channels = rows // prod(block)
    offsets = np.array(list(product(*map(range, block)))) * dilations  # [block, rank]
    corners = np.array(list(product(*map(range, places)))) * strides  # [count, rank]
    where = offsets[:, None, :] + corners[None, :, :]
    weights = np.array([prod(padded[at + 1 :]) for at in range(rank)])
    flat = (where.reshape(-1, rank) * weights).sum(axis=1).astype(np.int64)
    values = c.transpose(c.reshape(x, (n * channels, prod(block) * count)), (1, 0))
    zeros = c.op("zeros", shape=(prod(padded), n * channels), dtype=x.element)
    total = c.op("scatter_nd", zeros, c.constant(flat.reshape(1, -1)), values, mode="add")
    full = c.reshape(c.transpose(total, (1, 0)), (n, channels, *padded))
    begin = tuple(pads[:rank])
    end = tuple(low + size for low, size in zip(begin, image, strict=True))
    return c.op("strided_slice", full, begin=begin, end=end, axes=tuple(range(2, 2 + rank)))


@converts("TensorScatter", since=24)
def tensor_scatter(c: Emitter, node: NodeView) -> Value:
    """Writes a run of positions along an axis, from a start that each batch has of its own."""
    cache, update, start = node.input(0), node.input(1), node.optional(2)
    axis = normalize_axis(node.integer("axis"), cache.rank)
    shape = update.static_shape("the positions need the shape of the update")
    size = cache.static_shape("the positions need the size of the axis", [axis])[axis]
    run = np.arange(shape[axis], dtype=np.int64).reshape([-1] + [1] * (cache.rank - 1 - axis))
    places = c.constant(run)
    if start is not None:
        column = c.reshape(c.cast(start, i64), (-1, *[1] * (cache.rank - 1)))
        places = c.op("add", column, places)
    if node.choice("mode", "linear", "circular") == "circular":
        places = c.op("floor_mod", places, c.scalar(size, places))
    return c.op("scatter_elements", cache, c.broadcast_to(places, shape), update, axis=axis, reduction="update")


__all__ = ["transformed"]
