"""Operators that read and write at positions held in tensors, sort, and choose."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i64

from relay_mlir.dialects.relay.types import normalize_axis, show_shape
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.dims import dims_of, open_dims, vector_of
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.registry import converts


@converts("Gather")
def gather(c: Emitter, node: NodeView) -> Value:
    x, indices = node.input(0), node.input(1)
    axis = normalize_axis(node.integer("axis"), x.rank)
    if open_dims(x, indices):
        return _gathered_dims(c, x, indices)
    size = x.shape[axis]
    if not indices.known or size < 0:
        return c.op("take", x, indices, axis=axis, mode="wrap")  # -1 is the last
    positions = indices.array()
    if positions.size and (positions.min() < -size or positions.max() >= size):
        raise Problem(f"an index is out of range for axis {axis} of {show_shape(x.shape)}")
    if (positions < 0).any():
        indices = c.constant(np.where(positions < 0, positions + size, positions).astype(positions.dtype))
    return c.op("take", x, indices, axis=axis, mode="fast")


def _gathered_dims(c: Emitter, x: Value, indices: Value) -> Value:
    """Elements of a vector of dimensions some of which are not known."""
    dims, positions = dims_of(x) or (), dims_of(indices) or ()
    if any(not -len(dims) <= at < len(dims) for at in positions):
        raise Problem(f"an index is out of range for a vector of {len(dims)}")
    return vector_of(c, [dims[at] for at in positions], indices.shape, x.element)


@converts("GatherElements", since=11)
def gather_elements(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    return c.op("gather", x, node.input(1), axis=normalize_axis(node.integer("axis"), x.rank))


@converts("GatherND", since=11)
def gather_nd(c: Emitter, node: NodeView) -> Value:
    batch = node.integer("batch_dims") if node.opset >= 12 else 0
    return c.op("gather_nd", node.input(0), _coordinates_first(c, node.input(1)), batch_dims=batch)


def _coordinates_first(c: Emitter, indices: Value) -> Value:
    """ONNX keeps the coordinates of a position in the last dimension, Relay in the first."""
    if indices.rank == 0:
        raise Problem("the indices must have at least one dimension")
    return c.transpose(indices, (indices.rank - 1, *range(indices.rank - 1)))


_REDUCTIONS = {"none": "update", "add": "add", "mul": "mul", "max": "max", "min": "min"}


def _reduction(node: NodeView) -> str:
    if node.opset < 16:
        return "update"
    return _REDUCTIONS[node.choice("reduction", *_REDUCTIONS)]


@converts("Scatter", since=9)
def scatter(c: Emitter, node: NodeView) -> Value:
    return _scatter_elements(c, node, "update")


@converts("ScatterElements", since=11)
def scatter_elements(c: Emitter, node: NodeView) -> Value:
    return _scatter_elements(c, node, _reduction(node))


def _scatter_elements(c: Emitter, node: NodeView, reduction: str) -> Value:
    x, indices, updates = node.input(0), node.input(1), node.input(2)
    axis = normalize_axis(node.integer("axis"), x.rank)
    return c.op("scatter_elements", x, indices, updates, axis=axis, reduction=reduction)


@converts("ScatterND", since=11)
def scatter_nd(c: Emitter, node: NodeView) -> Value:
    indices = _coordinates_first(c, node.input(1))
    return c.op("scatter_nd", node.input(0), indices, node.input(2), mode=_reduction(node))


@converts("TopK")
def top_k_before_10(c: Emitter, node: NodeView) -> list[Value]:
    return _top_k(c, node, node.integer("k"), largest=True)


@converts("TopK", since=10)
def top_k_before_11(c: Emitter, node: NodeView) -> list[Value]:
    return _top_k(c, node, _k(node), largest=True)


@converts("TopK", since=11)
def top_k(c: Emitter, node: NodeView) -> list[Value]:
    node.ignore("sorted")  # without it any order is right, so the sorted one is
    return _top_k(c, node, _k(node), largest=node.flag("largest"))


def _k(node: NodeView) -> int:
    array = node.known(1)
    if array.size != 1:
        raise Problem(f"input 1 (K) must have one element, but has {array.size}")
    return int(array.reshape(()))


def _top_k(c: Emitter, node: NodeView, k: int, largest: bool) -> list[Value]:
    x = node.input(0)
    axis = normalize_axis(node.integer("axis"), x.rank)
    values, indices = c.ops("topk", x, k=k, axis=axis, is_ascend=not largest, dtype=i64)
    return [values, indices]


@converts("Trilu", since=14)
def trilu(c: Emitter, node: NodeView) -> Value:
    k = node.known_or_none(1)
    return c.op("trilu", node.input(0), k=0 if k is None else int(k.reshape(())), upper=node.flag("upper"))


@converts("ReverseSequence", since=10)
def reverse_sequence(c: Emitter, node: NodeView) -> Value:
    x, lengths = node.input(0), node.input(1)
    return c.op(
        "reverse_sequence", x, lengths, seq_axis=node.integer("time_axis"), batch_axis=node.integer("batch_axis")
    )


@converts("Compress", since=9)
def compress(c: Emitter, node: NodeView) -> Value:
    """For a condition known at import, since the result's shape depends on it."""
    x, condition = node.input(0), node.known(1).reshape(-1)
    axis = node.integer("axis", None)
    if axis is None:
        x, axis = c.reshape(x, (-1,)), 0
    axis = normalize_axis(axis, x.rank)
    size = x.static_shape("the compressed axis must be known", [axis])[axis]
    if condition.size > size:
        raise Problem(f"the condition has {condition.size} elements, but axis {axis} only {size}")
    return c.op("take", x, c.constant(np.flatnonzero(condition)), axis=axis, mode="fast")


@converts("NonZero", since=9)
def non_zero(c: Emitter, node: NodeView) -> Value:
    """For a tensor known at import, since the result's shape depends on it."""
    array = node.known(0)
    return c.constant(np.stack(np.nonzero(np.atleast_1d(array))).astype(np.int64))


@converts("Unique", since=11)
def unique(c: Emitter, node: NodeView) -> list[Value]:
    """For a tensor known at import, since the result's shape depends on it."""
    array, axis = node.known(0), node.integer("axis", None)
    if axis is not None:
        axis = normalize_axis(axis, array.ndim)
    values, first, inverse, counts = np.unique(array, True, True, True, axis=axis)
    inverse = inverse.reshape(-1)
    if not node.flag("sorted"):  # in the order in which they first occur
        order = np.argsort(first)
        values = values[order] if axis is None else np.take(values, order, axis=axis)
        inverse, first, counts = np.argsort(order)[inverse], first[order], counts[order]
    return [c.constant(values), *(c.constant(array.astype(np.int64)) for array in (first, inverse, counts))]
