"""Shapes: views, permutations, joining and cutting."""

from __future__ import annotations

from collections.abc import Sequence

from relay_mlir.dialects.relay.types import ANY, is_static, normalize_axes, normalize_axis
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.torch.node import NodeView
from relay_mlir.frontends.torch.program import Dim
from relay_mlir.frontends.torch.promotion import common_type, converted
from relay_mlir.frontends.torch.registry import converts


def axis_of(node: NodeView, x: Value, name: str = "dim", more: int = 0) -> int:
    """An axis of a tensor (with `more` axes) counted from the front; scalars count as having one."""
    return normalize_axis(node.integer(name), max(x.rank + more, 1), f"argument '{name}'")


# Views.


def viewed(c: Emitter, node: NodeView, x: Value, sizes: Sequence[int | Dim]) -> Value:
    """The tensor with a shape of which dimensions may be open, if they are one of the tensor's or only one is."""
    if is_static(x.shape) and all(isinstance(size, int) for size in sizes):
        return c.reshape(x, [int(size) for size in sizes if isinstance(size, int)])
    own = node.declared_dims("self")
    codes: list[int] = []
    for position, size in enumerate(sizes):
        if isinstance(size, int):
            codes.append(size)
        else:
            codes.append(0 if position < len(own) and own[position] == size else -1)
    if codes.count(-1) > 1 or (0 in codes and 0 in sizes):
        raise Problem("more than one size of the view is not known at import (bind the inputs' shapes)")
    return c.op("reshape", x, newshape=tuple(codes))


@converts("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default", "aten._reshape_copy.default")
def view(c: Emitter, node: NodeView) -> Value:
    return viewed(c, node, node.value("self"), node.dims("shape" if node.has("shape") else "size"))


@converts("aten.view_as.default", "aten.reshape_as.default", "aten.expand_as.default")
def like(c: Emitter, node: NodeView) -> Value:
    x, other = node.value("self"), node.value("other")
    return c.op("broadcast_to_like" if node.operator == "expand_as" else "reshape_like", x, other)


@converts("aten.flatten.using_ints")
def flatten(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    start, end = axis_of(node, x, "start_dim"), axis_of(node, x, "end_dim")
    if not x.rank:
        return c.reshape(x, (1,))
    if start == end:
        return x
    if is_static(x.shape[start : end + 1]):
        size = 1
        for dim in x.shape[start : end + 1]:
            size *= dim
    else:
        size = -1
    if ANY in (*x.shape[:start], *x.shape[end + 1 :]):
        if end != x.rank - 1:
            raise Problem("the sizes behind what is flattened must be known at import (bind the inputs' shapes)")
        return c.op("reshape", x, newshape=(*[0] * start, size))
    return c.reshape(x, (*x.shape[:start], size, *x.shape[end + 1 :]))


@converts("aten.unflatten.int")
def unflatten(c: Emitter, node: NodeView) -> Value:
    x, dims = node.value("self"), node.dims("sizes")
    axis = axis_of(node, x)
    own = node.declared_dims("self")
    return viewed(c, node, x, [*own[:axis], *dims, *own[axis + 1 :]])


@converts("aten.squeeze")
def squeeze(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    if not node.has("dim"):
        axes = tuple(axis for axis, dim in enumerate(x.static_shape("squeezing needs the sizes")) if dim == 1)
    else:
        if not x.rank:
            node.ignore("dim")
            return x
        axes = tuple(axis for axis in normalize_axes(node.integers("dim"), x.rank) if x.shape[axis] == 1)
    return c.op("squeeze", x, axis=axes) if axes else x


@converts("aten.unsqueeze.default")
def unsqueeze(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    return c.op("expand_dims", x, axis=normalize_axis(node.integer("dim"), x.rank + 1))


@converts("aten.expand.default", "aten.broadcast_to.default")
def expand(c: Emitter, node: NodeView) -> Value:
    """-1 stands for the dimension as it is."""
    x, sizes = node.value("self"), node.dims("size")
    own = [*[1] * (len(sizes) - x.rank), *x.shape]
    shape: list[int] = []
    for size, dim in zip(sizes, own, strict=True):
        if isinstance(size, Dim) and dim == 1:
            raise Problem(f"the size {size.text} must be known at import (bind the inputs' shapes)")
        shape.append(dim if isinstance(size, Dim) or size == -1 else size)
    if not is_static(shape):
        if tuple(shape) == x.shape:
            return x
        raise Problem("expanding needs the sizes (bind the inputs' shapes)")
    return c.broadcast_to(x, shape)


@converts("aten.repeat.default", "aten.tile.default")
def repeat(c: Emitter, node: NodeView) -> Value:
    x, reps = node.value("self"), node.integers("repeats" if node.operator == "repeat" else "dims")
    missing = len(reps) - x.rank
    if missing > 0:
        x = c.reshape(x, (*[1] * missing, *x.static_shape("new dimensions need the sizes")))
    return c.op("tile", x, reps=(*[1] * -missing, *reps)) if x.rank else x


@converts("aten.repeat_interleave.self_int")
def repeat_interleave(c: Emitter, node: NodeView) -> Value:
    node.ignore("output_size")  # a hint
    return c.op("repeat", node.value("self"), repeats=node.integer("repeats"), axis=node.optional_integer("dim"))


# Permutations.


@converts("aten.permute.default")
def permute(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    return c.transpose(x, normalize_axes(node.integers("dims"), x.rank))


@converts("aten.transpose.int", "aten.swapaxes.default")
def transpose(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    names = ("dim0", "dim1") if node.has("dim0") else ("axis0", "axis1")
    first, second = (axis_of(node, x, name) for name in names)
    axes = list(range(x.rank))
    if x.rank:
        axes[first], axes[second] = axes[second], axes[first]
    return c.transpose(x, axes)


@converts("aten.t.default", "aten.numpy_T.default", "aten.mT.default", "aten.adjoint.default")
def turned(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    axes = list(range(x.rank))
    axes = axes[::-1] if node.operator in ("t", "numpy_T") else [*axes[:-2], axes[-1], axes[-2]]
    return c.transpose(x, axes)


@converts("aten.movedim.int", "aten.movedim.intlist", "aten.moveaxis.int")
def movedim(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    source = normalize_axes(node.integers("source"), x.rank)
    target = normalize_axes(node.integers("destination"), x.rank)
    rest = iter(axis for axis in range(x.rank) if axis not in source)
    placed = dict(zip(target, source, strict=True))
    return c.transpose(x, [placed[axis] if axis in placed else next(rest) for axis in range(x.rank)])


@converts("aten.flip.default")
def flip(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    for axis in normalize_axes(node.integers("dims"), x.rank):
        x = c.op("reverse", x, axis=axis)
    return x


@converts("aten.roll.default")
def roll(c: Emitter, node: NodeView) -> Value:
    x, shifts, dims = node.value("self"), node.integers("shifts"), node.integers("dims")
    shape = x.static_shape("rolling needs the sizes")
    flat = not dims
    rolled = c.reshape(x, (x.size,)) if flat else x
    for shift, axis in zip(shifts, dims or (0,), strict=True):
        size = rolled.shape[axis]
        if size and shift % size:
            parts = c.ops("split", rolled, indices_or_sections=(size - shift % size,), axis=axis)
            rolled = c.op("concatenate", *reversed(parts), axis=axis)
    return c.reshape(rolled, shape) if flat else rolled


# Joining and cutting.


@converts("aten.cat.default", "aten.concat.default", "aten.concatenate.default")
def cat(c: Emitter, node: NodeView) -> Value:
    parts = node.values("tensors")
    element = common_type(parts)
    # Torch lets an empty vector stand among tensors of any rank.
    kept = [part for part in parts if part.shape != (0,)] or parts[:1]
    return c.op("concatenate", *(converted(c, part, element) for part in kept), axis=axis_of(node, kept[0]))


@converts("aten.stack.default")
def stack(c: Emitter, node: NodeView) -> Value:
    parts = node.values("tensors")
    element = common_type(parts)
    return c.op("stack", *(converted(c, part, element) for part in parts), axis=axis_of(node, parts[0], more=1))


def _cut(c: Emitter, x: Value, positions: Sequence[int], axis: int) -> list[Value]:
    return c.ops("split", x, indices_or_sections=tuple(positions), axis=axis) if positions else [x]


@converts("aten.split.Tensor", "aten.chunk.default", "aten.split.sizes", "aten.split_with_sizes.default")
def split(c: Emitter, node: NodeView) -> list[Value]:
    x = node.value("self")
    axis = axis_of(node, x)
    size = x.static_shape("cutting a dimension needs its size", [axis])[axis]
    if node.operator == "chunk":
        step = max(-(-size // node.integer("chunks")), 1)
    elif node.target == "aten.split.Tensor":
        step = node.integer("split_size")
    else:
        sizes = node.integers("split_size" if node.has("split_size") else "split_sizes")
        return _cut(c, x, [sum(sizes[: at + 1]) for at in range(len(sizes) - 1)], axis)
    return _cut(c, x, list(range(step, size, step)) if step else [], axis)


@converts("aten.tensor_split.sections", "aten.tensor_split.indices")
def tensor_split(c: Emitter, node: NodeView) -> list[Value]:
    x = node.value("self")
    axis = axis_of(node, x)
    size = x.static_shape("cutting a dimension needs its size", [axis])[axis]
    if node.has("indices"):
        positions = [min(at + size if at < 0 else at, size) for at in node.integers("indices")]
    else:
        count = node.integer("sections")
        ends = [size // count * at + min(at, size % count) for at in range(1, count)]
        positions = ends
    return _cut(c, x, positions, axis)


@converts("aten.unbind.int")
def unbind(c: Emitter, node: NodeView) -> list[Value]:
    x = node.value("self")
    axis = axis_of(node, x)
    size = x.static_shape("taking a dimension apart needs its size", [axis])[axis]
    return [c.op("squeeze", part, axis=(axis,)) for part in _cut(c, x, list(range(1, size)), axis)]
