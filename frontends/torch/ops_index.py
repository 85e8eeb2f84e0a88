"""Taking parts of tensors by position, and putting parts in; sorting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i32, i64

from relay_mlir.dialects.relay.types import ANY, broadcast_shapes, is_bool, is_static, normalize_axis
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.torch.node import NodeView
from relay_mlir.frontends.torch.ops_shape import axis_of
from relay_mlir.frontends.torch.program import Dim
from relay_mlir.frontends.torch.promotion import as_tensor, converted
from relay_mlir.frontends.torch.registry import converts

_END = np.iinfo(np.int64).max
"""What torch writes for the end of a dimension."""


def sliced(c: Emitter, x: Value, axis: int, begin: int, end: int, step: int = 1) -> Value:
    """The elements [begin, end) of an axis."""
    if begin == 0 and step == 1 and x.shape[axis] != ANY and end >= x.shape[axis]:
        return x
    return c.op("strided_slice", x, begin=(begin,), end=(end,), strides=(step,), axes=(axis,))


@converts("aten.slice.Tensor")
def slice_(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    axis = axis_of(node, x)
    begin, end, step = node.optional_integer("start") or 0, node.find("end"), node.integer("step")
    if isinstance(end, Dim):
        if end == node.declared_dims("self")[axis] and begin == 0 and step == 1:
            return x
        raise Problem(f"argument 'end' is {end.text}, which must be known at import (bind the inputs' shapes)")
    last = _END if end is None else node.integer("end")
    if x.shape[axis] == ANY and begin == 0 and step == 1 and last == _END:
        return x
    return sliced(c, x, axis, begin, last, step)


@converts("aten.narrow.default")
def narrow(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    axis, begin = axis_of(node, x), node.integer("start")
    begin = begin + x.static_shape("a negative start needs the size", [axis])[axis] if begin < 0 else begin
    return sliced(c, x, axis, begin, begin + node.integer("length"))


@converts("aten.select.int")
def select(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    axis, at = axis_of(node, x), node.integer("index")
    if at == -1 and x.shape[axis] == ANY:
        found = c.op("strided_slice", x, begin=(-1,), end=(_END,), axes=(axis,))
        return c.op("squeeze", c.op("strided_slice", found, begin=(0,), end=(1,), axes=(axis,)), axis=(axis,))
    return c.op("squeeze", sliced(c, x, axis, at, at + 1 if at != -1 else _END), axis=(axis,))


def as_index(c: Emitter, index: Value) -> Value:
    """Positions in a type that relay indexes with."""
    return index if index.element in (i32, i64) else c.cast(index, i64)


@converts("aten.index_select.default")
def index_select(c: Emitter, node: NodeView) -> Value:
    x, index = node.value("self"), as_index(c, node.value("index"))
    if not x.rank:
        node.ignore("dim")
        return x
    index = index if index.rank else c.reshape(index, (1,))
    return c.op("take", x, index, axis=axis_of(node, x), mode="wrap")


@converts("aten.take.default")
def take(c: Emitter, node: NodeView) -> Value:
    return c.op("take", node.value("self"), as_index(c, node.value("index")), mode="wrap")


@converts("aten.gather.default")
def gather(c: Emitter, node: NodeView) -> Value:
    node.ignore("sparse_grad")
    x, index = node.value("self"), as_index(c, node.value("index"))
    if not x.rank:
        node.ignore("dim")
        return c.reshape(c.op("gather", c.reshape(x, (1,)), c.reshape(index, (-1,)), axis=0), index.shape)
    return c.op("gather", x, index, axis=axis_of(node, x))


@converts("aten.embedding.default")
def embedding(c: Emitter, node: NodeView) -> Value:
    node.ignore("padding_idx", "scale_grad_by_freq", "sparse")  # they matter for gradients only
    return c.op("take", node.value("weight"), as_index(c, node.value("indices")), axis=0, mode="wrap")


@converts("aten.diagonal.default")
def diagonal(c: Emitter, node: NodeView) -> Value:
    """Elements `width + 1` apart of the two dimensions made one; the result has them last."""
    x, offset = node.value("self"), node.integer("offset")
    first, second = axis_of(node, x, "dim1"), axis_of(node, x, "dim2")
    shape = x.static_shape("a diagonal needs the sizes")
    rest = [axis for axis in range(x.rank) if axis not in (first, second)]
    height, width = shape[first], shape[second]
    length = max(min(height + min(offset, 0), width - max(offset, 0)), 0)
    start = offset if offset >= 0 else -offset * width
    flat = c.reshape(c.transpose(x, [*rest, first, second]), [*(shape[axis] for axis in rest), height * width])
    return c.op("take", flat, c.constant(start + np.arange(length) * (width + 1)), axis=len(rest), mode="fast")


@converts(
    "aten._local_scalar_dense.default",
    "aten.item.default",
    "aten.masked_select.default",
    "aten.nonzero.default",
    "aten.nonzero_static.default",
    "aten.unique_consecutive.default",
    "aten._unique2.default",
)
def depends_on_values(c: Emitter, node: NodeView) -> Value:
    raise Problem("its result is a number, or has a size, that depends on the values of tensors: not supported")


@converts("aten.rand", "aten.randn", "aten.randint", "aten.randperm", "aten.rand_like", "aten.randn_like")
def random(c: Emitter, node: NodeView) -> Value:
    raise Problem("random numbers are not supported: make them an input of the program")


# Indexing with tensors: x[:, i, j].


def _indices(c: Emitter, node: NodeView) -> list[Value | None]:
    """The index of each dimension, None for those that are taken whole."""
    found = node.find("indices")
    if not isinstance(found, list):
        raise Problem("argument 'indices' must be a list")
    result: list[Value | None] = []
    for item in found:
        if item is not None and not isinstance(item, Value):
            raise Problem("argument 'indices' must be tensors")
        result.append(item)
    if any(item is not None and is_bool(item.element) for item in result):
        raise Problem("an index of bools gives a result whose size depends on its values: write torch.where instead")
    return [None if item is None else as_index(c, item) for item in result]


@converts("aten.index.Tensor", "aten._unsafe_index.Tensor")
def index(c: Emitter, node: NodeView) -> Value:
    """The indexed dimensions are put in front and read together; their place afterwards is as in numpy."""
    x, found = node.value("self"), _indices(c, node)
    axes = [axis for axis, item in enumerate(found) if item is not None]
    indices = [item for item in found if item is not None]
    if not axes:
        return x
    if len(axes) == 1:
        return c.op("take", x, indices[0], axis=axes[0], mode="wrap")
    rest = [axis for axis in range(x.rank) if axis not in axes]
    picked = c.op("gather_nd", c.transpose(x, [*axes, *rest]), _joint(c, indices))
    adjacent = axes == list(range(axes[0], axes[-1] + 1))
    count = picked.rank - len(rest)
    if not adjacent or not axes[0]:
        return picked
    before = range(count, count + axes[0])
    return c.transpose(picked, [*before, *range(count), *range(count + axes[0], picked.rank)])


def _joint(c: Emitter, indices: Sequence[Value]) -> Value:
    """Indices stretched to one shape, stacked in front."""
    shape = broadcast_shapes(*(item.shape for item in indices))
    if not is_static(shape):
        raise Problem("several indices need their shapes (bind the inputs' shapes)")
    return c.op("stack", *(c.broadcast_to(c.cast(item, i64), shape) for item in indices), axis=0)


@converts("aten.index_put.default", "aten._unsafe_index_put.default")
def index_put(c: Emitter, node: NodeView) -> Value:
    x, values = node.value("self"), node.value("values")
    given = node.find("indices")
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], Value) and is_bool(given[0].element):
        return _masked_put(c, node, x, given[0], values)
    found = _indices(c, node)
    axes = [axis for axis, item in enumerate(found) if item is not None]
    rest = [axis for axis in range(x.rank) if axis not in axes]
    joint = _joint(c, [item for item in found if item is not None])
    picked, kept = joint.shape[1:], [x.static_shape("putting parts in needs the shape")[axis] for axis in rest]
    # Where the index's dimensions stand in what x[...] gives, and so in the values.
    adjacent = axes == list(range(axes[0], axes[-1] + 1))
    at, count = axes[0] if adjacent else 0, len(picked)
    updates = c.broadcast_to(converted(c, values, x.element), (*kept[:at], *picked, *kept[at:]))
    updates = c.transpose(updates, [*range(at, at + count), *range(at), *range(at + count, updates.rank)])
    order = [*axes, *rest]
    mode = "add" if node.flag("accumulate") else "update"
    result = c.op("scatter_nd", c.transpose(x, order), joint, updates, mode=mode)
    return c.transpose(result, [order.index(axis) for axis in range(x.rank)])


def _masked_put(c: Emitter, node: NodeView, x: Value, mask: Value, values: Value) -> Value:
    """One value wherever the mask is true."""
    if values.size != 1 or node.flag("accumulate"):
        raise Problem("through an index of bools only one value can be put")
    mask = c.reshape(mask, (*mask.static_shape("a mask needs its shape"), *[1] * (x.rank - mask.rank)))
    return c.op("where", mask, c.reshape(converted(c, values, x.element), ()), x)


# Scatter.


@converts("aten.scatter.src", "aten.scatter.value", "aten.scatter_add.default")
def scatter(c: Emitter, node: NodeView) -> Value:
    x, positions = node.value("self"), as_index(c, node.value("index"))
    axis = axis_of(node, x)
    shape = positions.static_shape("scattering needs the shape of the index")
    if node.has("src"):
        updates = node.value("src")
        for dim, size in enumerate(shape):
            updates = sliced(c, updates, dim, 0, size)
    else:
        updates = c.broadcast_to(as_tensor(c, node.number("value"), x.element), shape)
    how = "add" if node.operator == "scatter_add" else "update"
    return c.op("scatter_elements", x, positions, updates, axis=axis, reduction=how)


REDUCTIONS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}


@converts("aten.scatter_reduce.two")
def scatter_reduce(c: Emitter, node: NodeView) -> Value:
    x, positions, updates = node.value("self"), as_index(c, node.value("index")), node.value("src")
    how = node.string("reduce")
    if how not in REDUCTIONS or not node.flag("include_self"):
        raise Problem(f"argument 'reduce' is {how!r}; supported are {', '.join(REDUCTIONS)}, with 'include_self'")
    for dim, size in enumerate(positions.static_shape("scattering needs the shape of the index")):
        updates = sliced(c, updates, dim, 0, size)
    return c.op("scatter_elements", x, positions, updates, axis=axis_of(node, x), reduction=REDUCTIONS[how])


def _replaced(c: Emitter, x: Value, part: Value, axis: int, begin: int, end: int, step: int) -> Value:
    """The tensor with the positions [begin, end) of an axis replaced."""
    size = x.static_shape("replacing a part needs the shape")[axis]
    begin, end, step = slice(begin, end, step).indices(size)
    at = range(begin, end, step)
    if step == 1:
        ends = [sliced(c, x, axis, 0, begin)] if begin > 0 else []
        tail = [sliced(c, x, axis, max(end, begin), size)] if max(end, begin) < size else []
        middle = [part] if len(at) else []
        parts = [*ends, *middle, *tail]
        return c.op("concatenate", *parts, axis=axis) if len(parts) > 1 else parts[0]
    column = [1] * x.rank
    column[axis] = len(at)
    positions = c.broadcast_to(c.constant(np.asarray(at, np.int64).reshape(column)), part.shape)
    return c.op("scatter_elements", x, positions, part, axis=axis)


@converts("aten.select_scatter.default")
def select_scatter(c: Emitter, node: NodeView) -> Value:
    x, part = node.value("self"), node.value("src")
    axis = axis_of(node, x)
    at = node.integer("index") % max(x.static_shape("replacing a part needs the shape")[axis], 1)
    return _replaced(c, x, c.op("expand_dims", converted(c, part, x.element), axis=axis), axis, at, at + 1, 1)


@converts("aten.slice_scatter.default")
def slice_scatter(c: Emitter, node: NodeView) -> Value:
    x, part = node.value("self"), converted(c, node.value("src"), node.value("self").element)
    begin, end = node.optional_integer("start") or 0, node.optional_integer("end")
    return _replaced(c, x, part, axis_of(node, x), begin, _END if end is None else end, node.integer("step"))


@converts("aten.one_hot.default")
def one_hot(c: Emitter, node: NodeView) -> Value:
    depth = node.integer("num_classes")
    if depth < 0:
        raise Problem("argument 'num_classes' must be given: else the size of the result depends on values")
    return c.op("one_hot", as_index(c, node.value("self")), c.scalar(1, i64), c.scalar(0, i64), depth=depth)


# Order.


@converts("aten.topk.default")
def topk(c: Emitter, node: NodeView) -> list[Value]:
    node.ignore("sorted")  # without it any order is allowed
    x, k, largest = node.value("self"), node.integer("k"), node.flag("largest")
    if not x.rank:
        node.ignore("dim")
        return [x, c.scalar(0, i64)]
    return c.ops("topk", x, k=k, axis=axis_of(node, x), is_ascend=not largest, ret_type="both")


@converts("aten.sort.default", "aten.sort.stable", "aten.argsort.default", "aten.argsort.stable")
def sort(c: Emitter, node: NodeView) -> Value | list[Value]:
    if node.has("stable"):
        node.ignore("stable")  # relay's sort is
    x, ascending = node.value("self"), not node.flag("descending")
    if not x.rank:
        node.ignore("dim")
        position = c.scalar(0, i64)
        return position if node.operator == "argsort" else [x, position]
    axis = normalize_axis(node.integer("dim"), x.rank)
    order = c.op("argsort", x, axis=axis, is_ascend=ascending)
    return order if node.operator == "argsort" else [c.op("gather", x, order, axis=axis), order]


@converts("aten.bucketize.Tensor", "aten.searchsorted.Tensor")
def bucketize(c: Emitter, node: NodeView) -> Value:
    """How many of the boundaries lie before each element."""
    right = node.flag("right")
    limits, x = (node.value("boundaries"), node.value("self")) if node.operator == "bucketize" else _sorted(node)
    element = node.element
    node.ignore("out_int32")
    before = c.op("less_equal" if right else "less", limits, c.op("expand_dims", x, axis=x.rank))
    return c.op("sum", c.cast(before, element), axis=(x.rank,))


def _sorted(node: NodeView) -> tuple[Value, Value]:
    limits, x = node.value("sorted_sequence"), node.value("self")
    if limits.rank != 1 or node.find("side") is not None or node.find("sorter") is not None:
        raise Problem("only one sorted vector is supported, without 'side' and 'sorter'")
    return limits, x


__all__ = ["as_index", "sliced"]
