"""Operators on shapes: asking for them, changing them, stretching to them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from relay_mlir.dialects.relay.types import (
    ANY,
    broadcast_shapes,
    normalize_axes,
    normalize_axis,
    num_elements,
    show_shape,
)
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.shapes import completed, is_symbolic, reshape_codes
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.dims import dims_of, open_dims, shape_codes, vector_of
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.registry import converts


@converts("Shape")
def shape(c: Emitter, node: NodeView) -> Value:
    dims = node.input(0).shape
    if node.opset >= 15:
        dims = dims[slice(node.integer("start"), node.integer("end", None))]
    return vector_of(c, dims)


@converts("Size")
def size(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    return vector_of(c, [num_elements(x.shape)], ())


@converts("Reshape")
def reshape_before_5(c: Emitter, node: NodeView) -> Value:
    node.ignore("consumed_inputs")
    return c.op("reshape", node.input(0), newshape=node.integers("shape"))


@converts("Reshape", since=5)
def reshape(c: Emitter, node: NodeView) -> Value:
    x, target = node.input(0), node.input(1)
    allowzero = node.has("allowzero") and node.flag("allowzero")
    wanted = dims_of(target)
    if wanted is not None and ANY in (*x.shape, *wanted) and is_symbolic((*x.shape, *wanted)):
        shape = completed(wanted, x.shape, allowzero)
        if shape is not None and reshape_codes(x.shape, shape) is not None:
            return c.reshape(x, shape)
    codes = shape_codes(target)
    if codes is None:
        codes = tuple(int(v) for v in node.known(1).reshape(-1))
    if any(code < -1 for code in codes):
        raise Problem(f"the shape {list(codes)} has a negative size")
    return c.op("reshape", x, newshape=codes, allowzero=allowzero)


@converts("Flatten")
def flatten(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    axis = node.integer("axis")
    if not -x.rank <= axis <= x.rank:
        raise Problem(f"attribute 'axis' is {axis}, but must be in {-x.rank} to {x.rank}")
    axis = axis + x.rank if axis < 0 else axis
    front, back = (ANY if ANY in part else prod(part) for part in (x.shape[:axis], x.shape[axis:]))
    if ANY in x.shape and is_symbolic(x.shape):
        return c.reshape(x, (num_elements(x.shape[:axis]), num_elements(x.shape[axis:])))
    if front == ANY and back == ANY:
        x.static_shape("the sizes of both dimensions depend on the input")
    if axis == 1 and x.rank == 2:
        return x
    return c.op("reshape", x, newshape=tuple(-1 if part == ANY else part for part in (front, back)), allowzero=True)


def _axes_input(node: NodeView) -> tuple[int, ...] | None:
    """The axes: an attribute up to opset 12, then an input."""
    return node.integers("axes", None) if node.opset < 13 else node.known_ints(1)


@converts("Squeeze")
def squeeze(c: Emitter, node: NodeView) -> Value:
    x, axes = node.input(0), _axes_input(node)
    if axes is None:
        axes = tuple(at for at, dim in enumerate(x.static_shape("axes are not given")) if dim == 1)
    axes = normalize_axes(axes, x.rank)
    if x.dims is not None:
        return vector_of(c, x.dims, (), x.element)
    return c.op("squeeze", x, axis=axes) if axes else x


@converts("Unsqueeze")
def unsqueeze(c: Emitter, node: NodeView) -> Value:
    x, axes = node.input(0), _axes_input(node)
    if axes is None:
        raise Problem("attribute 'axes' is required")
    if x.dims is not None:
        return vector_of(c, x.dims, (1,), x.element)
    for axis in sorted(normalize_axes(axes, x.rank + len(axes))):
        x = c.op("expand_dims", x, axis=axis)
    return x


@converts("Transpose")
def transpose(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    axes = node.integers("perm", tuple(reversed(range(x.rank))))
    if sorted(normalize_axes(axes, x.rank)) != list(range(x.rank)):
        raise Problem(f"attribute 'perm' {list(axes)} must name each of the {x.rank} axes once")
    return c.transpose(x, normalize_axes(axes, x.rank))


@converts("Expand")
def expand(c: Emitter, node: NodeView) -> Value:
    x, target = node.input(0), dims_of(node.input(1))
    if target is None or not is_symbolic(target):
        target = tuple(int(v) for v in node.known(1).reshape(-1))
    return c.broadcast_to(x, broadcast_shapes(x.shape, target))


@converts("Tile")
def tile_before_6(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    tiles, axis = int(node.known(1).reshape(())), int(node.known(2).reshape(()))
    axis = normalize_axis(axis, x.rank)
    return c.op("tile", x, reps=tuple(tiles if at == axis else 1 for at in range(x.rank)))


@converts("Tile", since=6)
def tile(c: Emitter, node: NodeView) -> Value:
    x, reps = node.input(0), node.known_ints(1) or ()
    if len(reps) != x.rank:
        raise Problem(f"repeats must have {x.rank} entries, but is {list(reps)}")
    return c.op("tile", x, reps=reps) if reps else x


@converts("Concat")
def concat(c: Emitter, node: NodeView) -> Value:
    values = node.rest()
    axis = normalize_axis(node.integer("axis", 1) if node.opset < 4 else node.integer("axis"), values[0].rank)
    if open_dims(*values):
        return vector_of(c, [dim for value in values for dim in dims_of(value) or ()], element=values[0].element)
    return c.op("concatenate", *values, axis=axis) if len(values) > 1 else values[0]


# Split.


def _split(c: Emitter, node: NodeView, sizes: tuple[int, ...] | None, parts: int) -> list[Value]:
    """The input cut along the axis into parts of these sizes, or into equal ones (the last may be smaller)."""
    x = node.input(0)
    axis = normalize_axis(node.integer("axis"), x.rank)
    length = x.static_shape("the size of the split axis must be known", [axis])[axis]
    if sizes is None:
        step = -(-length // parts)
        if node.opset < 18 and length % parts:
            raise Problem(f"dimension {axis} of size {length} cannot be split into {parts} equal parts")
        sizes = tuple(max(min(step, length - at * step), 0) for at in range(parts))
    if sum(sizes) != length or any(part < 0 for part in sizes) or len(sizes) != node.output_count:
        raise Problem(
            f"sizes {list(sizes)} do not cut dimension {axis} of size {length} into {node.output_count} outputs"
        )
    ends = tuple(sum(sizes[: at + 1]) for at in range(len(sizes) - 1))
    return c.ops("split", x, indices_or_sections=ends, axis=axis)


@converts("Split")
def split_before_13(c: Emitter, node: NodeView) -> list[Value]:
    sizes = node.integers("split", None)
    if node.opset == 1 and sizes is None:
        sizes = node.known_ints(1)
    return _split(c, node, sizes, node.output_count)


@converts("Split", since=13)
def split_before_18(c: Emitter, node: NodeView) -> list[Value]:
    return _split(c, node, node.known_ints(1), node.output_count)


@converts("Split", since=18)
def split(c: Emitter, node: NodeView) -> list[Value]:
    sizes, parts = node.known_ints(1), node.integer("num_outputs", None)
    if sizes is not None and parts is not None:
        raise Problem("input 1 (split) and attribute 'num_outputs' exclude each other")
    if parts is not None and parts != node.output_count:
        raise Problem(f"attribute 'num_outputs' is {parts}, but there are {node.output_count} outputs")
    return _split(c, node, sizes, node.output_count)


# Slice.


def _slice(
    c: Emitter, x: Value, starts: tuple[int, ...], ends: tuple[int, ...], axes: tuple[int, ...], steps: tuple[int, ...]
) -> Value:
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise Problem(
            f"starts, ends, axes and steps have {len(starts)}, {len(ends)}, {len(axes)}, {len(steps)} entries"
        )
    axes = normalize_axes(axes, x.rank)
    if 0 in steps:
        raise Problem("a step must not be 0")
    if x.dims is not None:
        return vector_of(c, x.dims[slice(starts[0], ends[0], steps[0])] if starts else x.dims, element=x.element)
    if any(x.shape[axis] == ANY for axis in axes):
        x.static_shape(f"slicing {show_shape(x.shape)} needs the sizes of axes {list(axes)}", axes)
    if not axes:
        return x
    # ONNX lets a slice end before the first element with any very negative end, as Relay does.
    return c.op("strided_slice", x, begin=starts, end=ends, strides=steps, axes=axes)


@converts("Slice")
def slice_before_10(c: Emitter, node: NodeView) -> Value:
    starts, ends = node.integers("starts"), node.integers("ends")
    axes = node.integers("axes", tuple(range(len(starts))))
    return _slice(c, node.input(0), starts, ends, axes, (1,) * len(starts))


@converts("Slice", since=10)
def slice_(c: Emitter, node: NodeView) -> Value:
    x, open_ends = node.input(0), node.input(2).dims
    starts = node.known_ints(1) or ()
    axes, steps = node.known_ints(3), node.known_ints(4)
    if open_ends is not None and x.dims is None:
        return _slice_to(c, x, starts, open_ends, range(len(starts)) if axes is None else axes, steps)
    ends = node.known_ints(2) or ()
    return _slice(
        c,
        node.input(0),
        starts,
        ends,
        tuple(range(len(starts))) if axes is None else axes,
        (1,) * len(starts) if steps is None else steps,
    )


def _slice_to(
    c: Emitter,
    x: Value,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int],
    steps: Sequence[int] | None,
) -> Value:
    """The slice of each axis from 0 to a size that is known at run time only, by a tensor that has this size there."""
    if any(starts) or any(step != 1 for step in steps or ()) or not is_symbolic(ends):
        raise Problem("slices to open ends must start at 0 with steps of 1; bind the model's inputs with --shape")
    for axis, end in zip(normalize_axes(axes, x.rank), ends, strict=True):
        if x.shape[axis] == end:
            continue
        other = c.like(lambda shape, axis=axis, end=end: axis < len(shape) and shape[axis] == end)
        if other is None:
            raise Problem(f"no tensor has the size that axis {axis} is cut to; bind the model's inputs with --shape")
        x = c.op("slice_like", x, other, axes=(axis,))
    return x


# Blocks.


@converts("DepthToSpace")
def depth_to_space(c: Emitter, node: NodeView) -> Value:
    x, block = node.input(0), node.integer("blocksize")
    mode = node.choice("mode", "DCR", "CRD") if node.opset >= 11 else "DCR"
    n, depth, height, width = _image(x)
    if block < 1 or depth % (block * block):
        raise Problem(f"{depth} channels cannot be split by attribute 'blocksize' = {block}")
    inner = depth // (block * block)
    if mode == "DCR":
        y, axes = c.reshape(x, (n, block, block, inner, height, width)), (0, 3, 4, 1, 5, 2)
    else:
        y, axes = c.reshape(x, (n, inner, block, block, height, width)), (0, 1, 4, 2, 5, 3)
    return c.reshape(c.transpose(y, axes), (n, inner, height * block, width * block))


@converts("SpaceToDepth")
def space_to_depth(c: Emitter, node: NodeView) -> Value:
    x, block = node.input(0), node.integer("blocksize")
    n, depth, height, width = _image(x)
    if block < 1 or height % block or width % block:
        raise Problem(f"an image of {height} x {width} cannot be split by attribute 'blocksize' = {block}")
    mode = node.choice("mode", "DCR", "CRD") if node.opset >= 28 else "DCR"
    axes = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    y = c.reshape(x, (n, depth, height // block, block, width // block, block))
    return c.reshape(c.transpose(y, axes), (n, depth * block * block, height // block, width // block))


def _image(x: Value) -> tuple[int, int, int, int]:
    """The four dimensions of an image, the first of which may be open; raises Problem."""
    if x.rank != 4:
        raise Problem(f"the input must have 4 dimensions, but is {x.type}")
    n, depth, height, width = x.static_shape("blocks need the dimensions", [1, 2, 3])
    return -1 if n == ANY else n, depth, height, width
