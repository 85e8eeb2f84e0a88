"""Sequences and optionals, taken apart at import: which tensors they are made of is known, positions must be."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from relay_mlir.dialects.relay.types import element_type, normalize_axis
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.reader import numpy_type
from relay_mlir.frontends.onnx.registry import converts
from relay_mlir.frontends.onnx.structures import Item, Maybe, TensorList


@converts("SequenceEmpty")
def sequence_empty(c: Emitter, node: NodeView) -> TensorList:
    return TensorList((), element_type(numpy_type(node.integer("dtype", 1))))


@converts("SequenceConstruct")
def sequence_construct(c: Emitter, node: NodeView) -> TensorList:
    values = node.rest()
    return TensorList(tuple(values), values[0].element)


def _position(node: NodeView, at: int, length: int, default: int) -> int:
    """A position in a sequence of this length, counted from the front; raises Problem where there is none."""
    array = node.known_or_none(at)
    position = default if array is None else int(array.reshape(()))
    if not -length <= position < length:
        raise Problem(f"position {position} is out of range: the sequence has {length} tensors")
    return position % length


@converts("SequenceInsert")
def sequence_insert(c: Emitter, node: NodeView) -> TensorList:
    items, value = node.sequence(0), node.input(1)
    count = len(items.items)
    array = node.known_or_none(2)
    at = count if array is None else int(array.reshape(()))
    if not -count <= at <= count:
        raise Problem(f"position {at} is out of range: the sequence has {count} tensors")
    if value.element != items.element:
        raise Problem(f"a tensor of {value.element} does not go into a sequence of {items.element}")
    at += count * (at < 0)
    return TensorList((*items.items[:at], value, *items.items[at:]), items.element)


@converts("SequenceErase")
def sequence_erase(c: Emitter, node: NodeView) -> TensorList:
    items = node.sequence(0)
    at = _position(node, 1, len(items.items), -1)
    return TensorList((*items.items[:at], *items.items[at + 1 :]), items.element)


@converts("SequenceAt")
def sequence_at(c: Emitter, node: NodeView) -> Value:
    items = node.sequence(0).items
    return items[_position(node, 1, len(items), 0)]


@converts("SequenceLength")
def sequence_length(c: Emitter, node: NodeView) -> Value:
    return c.constant(np.asarray(len(node.sequence(0).items), np.int64))


@converts("SplitToSequence")
def split_to_sequence(c: Emitter, node: NodeView) -> TensorList:
    """Parts of the sizes given (one for all, the last may be smaller), or of size 1."""
    x, split = node.input(0), node.known_or_none(1)
    keep = node.flag("keepdims")
    axis = normalize_axis(node.integer("axis"), x.rank)
    size = x.static_shape("the size of what is split must be known", [axis])[axis]
    if split is not None and split.ndim:
        sizes = [int(v) for v in split]
    else:
        step = 1 if split is None else int(split)
        if step <= 0:
            raise Problem(f"input {node.input_name(1)} must be positive, but is {step}")
        sizes = [min(step, size - start) for start in range(0, size, step)]
    if sum(sizes) != size or any(part < 0 for part in sizes):
        raise Problem(f"parts of {sizes} do not make up dimension {axis} of size {size}")
    bounds = pairwise(accumulate(sizes, initial=0))
    parts = [c.op("strided_slice", x, begin=(a,), end=(b,), axes=(axis,)) for a, b in bounds]
    if split is None and not keep:
        parts = [c.op("squeeze", part, axis=(axis,)) for part in parts]
    return TensorList(tuple(parts), x.element)


@converts("ConcatFromSequence")
def concat_from_sequence(c: Emitter, node: NodeView) -> Value:
    items = node.sequence(0).items
    if not items:
        raise Problem("an empty sequence gives no tensor")
    return c.op("stack" if node.flag("new_axis") else "concatenate", *items, axis=node.integer("axis"))


@converts("SequenceMap")
def sequence_map(c: Emitter, node: NodeView) -> list[TensorList]:
    """The body for each position of the first sequence; other inputs are sequences of that length, or tensors."""
    body, first = node.graph("body"), node.sequence(0)
    others = node.items(1)
    count = len(first.items)
    for position, other in enumerate(others, start=1):
        if isinstance(other, Maybe) or (isinstance(other, TensorList) and len(other.items) != count):
            raise Problem(f"input {position} must be a tensor or a sequence of {count} tensors")
    if not count:
        raise Problem("an empty sequence gives sequences whose element types are not known")

    def at(index: int) -> Sequence[Value]:
        rest = [other.items[index] if isinstance(other, TensorList) else other for other in others]
        return [first.items[index], *(value for value in rest if isinstance(value, Value))]

    rows = [node.tensors(body, at(index)) for index in range(count)]
    return [TensorList(column, column[0].element) for column in zip(*rows, strict=True)]


# Optionals.


@converts("Optional")
def optional(c: Emitter, node: NodeView) -> Maybe:
    node.ignore("type")  # of what is not there, which nothing can read
    item = node.item(0)
    if isinstance(item, Maybe):
        raise Problem("an optional of an optional is not supported")
    return Maybe(item)


@converts("OptionalHasElement")
def optional_has_element(c: Emitter, node: NodeView) -> Value:
    """Always true for what is not an optional."""
    item = node.item(0)
    return c.constant(np.asarray(item is not None and not (isinstance(item, Maybe) and item.content is None)))


@converts("OptionalGetElement")
def optional_get_element(c: Emitter, node: NodeView) -> Item:
    item = node.item(0)
    if item is None or (isinstance(item, Maybe) and item.content is None):
        raise Problem("the optional is empty")
    return item if not isinstance(item, Maybe) or item.content is None else item.content
