"""Tensors made from attributes: constants, fills, ranges, identity matrices."""

from __future__ import annotations

from math import ceil, prod

import numpy as np
from onnx import AttributeProto

from relay_mlir.dialects.relay.types import element_type, numpy_dtype, show_shape
from relay_mlir.frontends.common.emitter import FOLDED, Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import MAX_KNOWN, Value
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.reader import numpy_type
from relay_mlir.frontends.onnx.registry import converts

_NUMBERS = {
    "value_float": (AttributeProto.FLOAT, np.float32),
    "value_floats": (AttributeProto.FLOATS, np.float32),
    "value_int": (AttributeProto.INT, np.int64),
    "value_ints": (AttributeProto.INTS, np.int64),
}


@converts("Constant")
def constant(c: Emitter, node: NodeView) -> Value:
    given = [attribute.name for attribute in node.proto.attribute]
    if len(given) != 1:
        raise Problem(f"exactly one attribute must hold the value, but there are {given}")
    name = node.proto.output[0]
    if given[0] == "value":
        return c.weight(*node.loader("value"), name)
    if given[0] == "sparse_value":
        return c.constant(node.sparse("sparse_value"), name)
    if given[0] in ("value_int", "value_float"):
        scalar = node.integer("value_int") if given[0] == "value_int" else node.real("value_float")
        return c.constant(np.asarray(scalar, _NUMBERS[given[0]][1]), name)
    if given[0] in ("value_ints", "value_floats"):
        numbers = node.integers("value_ints") if given[0] == "value_ints" else node.reals("value_floats")
        return c.constant(np.asarray(numbers, _NUMBERS[given[0]][1]), name)
    raise Problem(f"attribute '{given[0]}' is not supported: relay has no strings")


def filled(c: Emitter, value: Value, shape: tuple[int, ...]) -> Value:
    """A tensor of one scalar value; a constant where it is small."""
    if any(size < 0 for size in shape):
        raise Problem(f"the shape {list(shape)} has a negative size")
    if value.known and prod(shape) <= FOLDED:
        return c.constant(np.full(shape, value.array()))
    return c.op("full", value, shape=shape, dtype=value.element)


@converts("ConstantOfShape", since=9)
def constant_of_shape(c: Emitter, node: NodeView) -> Value:
    shape = tuple(int(v) for v in node.known(0).reshape(-1))
    value = node.array("value") if node.has("value") else np.zeros(1, np.float32)
    if value.size != 1:
        raise Problem(f"attribute 'value' must have one element, but has {value.size}")
    return filled(c, c.constant(value.reshape(())), shape)


@converts("Range", since=11)
def range_(c: Emitter, node: NodeView) -> Value:
    start, limit, delta = (node.known(at).reshape(()) for at in range(3))
    if delta == 0:
        raise Problem("input 2 (delta) must not be 0")
    wide = np.float64 if np.issubdtype(start.dtype, np.floating) else object
    count = max(ceil((limit.astype(wide) - start.astype(wide)) / delta.astype(wide)), 0)
    if count > MAX_KNOWN:
        raise Problem(f"the range has {count} elements; at most {MAX_KNOWN} are supported")
    with np.errstate(all="ignore"):
        return c.constant((start + np.arange(count).astype(start.dtype) * delta).astype(start.dtype))


@converts("EyeLike", since=9)
def eye_like(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    element = element_type(numpy_type(node.integer("dtype"))) if node.has("dtype") else x.element
    if x.rank != 2:
        raise Problem(f"the input must be a matrix, but is {x.type}")
    rows, columns = x.static_shape("an identity matrix needs its size")
    if rows * columns > MAX_KNOWN:
        raise Problem(f"a matrix of {rows} x {columns} is too large")
    return c.constant(np.eye(rows, columns, k=node.integer("k"), dtype=numpy_dtype(element)))


@converts("OneHot", since=9)
def one_hot(c: Emitter, node: NodeView) -> Value:
    """Compares positions with the indices; an index out of [-depth, depth) gives no hot element."""
    indices, depth, values = node.input(0), int(node.known(1).reshape(-1)[0]), node.input(2)
    axis = node.integer("axis")
    rank = indices.rank + 1
    if values.shape != (2,):
        raise Problem(f"input 2 (values) must be [off, on], but has shape {show_shape(values.shape)}")
    if not -rank <= axis < rank:
        raise Problem(f"attribute 'axis' is {axis}, but must be in {-rank} to {rank - 1}")
    axis %= rank
    wrapped = c.op(
        "where",
        c.op("less", indices, c.scalar(0, indices)),
        c.op("add", indices, c.scalar(depth, indices)),
        indices,
    )
    column = c.op("expand_dims", wrapped, axis=axis)
    positions = np.arange(depth).astype(numpy_dtype(indices.element)).reshape([-1] + [1] * (rank - 1 - axis))
    hot = c.op("equal", column, c.constant(positions))
    off, on = (c.op("squeeze", c.op("strided_slice", values, begin=(at,), end=(at + 1,)), axis=(0,)) for at in (0, 1))
    return c.op("where", hot, on, off)


@converts("HannWindow", "HammingWindow", "BlackmanWindow", since=17)
def window(c: Emitter, node: NodeView) -> Value:
    size = int(node.known(0).reshape(()))
    dtype = numpy_type(node.integer("output_datatype"))
    if not 0 <= size <= MAX_KNOWN:
        raise Problem(f"a window of {size} elements is not possible")
    period = size if node.flag("periodic") else max(size - 1, 1)
    angle = 2 * np.pi * np.arange(size) / period
    weights = {
        "HannWindow": (0.5, 0.5, 0.0),
        "HammingWindow": (25 / 46, 21 / 46, 0.0),
        "BlackmanWindow": (0.42, 0.5, 0.08),
    }
    a, b, d = weights[node.op_type]
    return c.constant((a - b * np.cos(angle) + d * np.cos(2 * angle)).astype(dtype))


__all__ = ["filled"]
