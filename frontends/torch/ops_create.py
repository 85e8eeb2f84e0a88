"""Tensors made from nothing: constants, ranges, identity matrices."""

from __future__ import annotations

import math

import numpy as np

from relay_mlir.dialects.relay.types import is_float, is_static, numpy_dtype
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import MAX_KNOWN, Value
from relay_mlir.frontends.torch.node import NodeView
from relay_mlir.frontends.torch.program import Number
from relay_mlir.frontends.torch.promotion import as_tensor
from relay_mlir.frontends.torch.registry import converts


def _filled(c: Emitter, node: NodeView, number: Number) -> Value:
    """A tensor of the declared type of one number."""
    node.ignore("dtype", "size")  # torch has put them into the type of the result
    shape = node.sizes()
    if not is_static(shape):
        raise Problem("a new tensor's shape must be known at import (bind the inputs' shapes)")
    scalar = as_tensor(c, number, node.element)
    return c.op("full", scalar, shape=shape) if shape else scalar


@converts("aten.zeros.default", "aten.ones.default", "aten.new_zeros.default", "aten.new_ones.default")
def constants(c: Emitter, node: NodeView) -> Value:
    node.ignore("self")
    return _filled(c, node, 1 if "ones" in node.operator else 0)


@converts("aten.full.default", "aten.new_full.default")
def full(c: Emitter, node: NodeView) -> Value:
    node.ignore("self")
    return _filled(c, node, node.number("fill_value"))


@converts("aten.scalar_tensor.default")
def scalar_tensor(c: Emitter, node: NodeView) -> Value:
    return _filled(c, node, node.number("s"))


@converts("aten.fill.Scalar", "aten.fill.Tensor")
def fill(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    return c.op("full_like", x, as_tensor(c, node.operand("value"), x.element))


@converts("aten.zeros_like.default", "aten.ones_like.default", "aten.full_like.default")
def constants_like(c: Emitter, node: NodeView) -> Value:
    node.ignore("dtype")
    x = node.value("self")
    number = node.number("fill_value") if node.operator == "full_like" else int(node.operator == "ones_like")
    if is_static(x.shape):
        return _filled(c, node, number)
    return c.op("full_like", c.cast(x, node.element), as_tensor(c, number, node.element))


@converts("aten.empty.memory_format", "aten.empty_like.default", "aten.new_empty.default")
def empty(c: Emitter, node: NodeView) -> Value:
    """Elements that the program promises not to read before it writes them; here they are zero."""
    node.ignore("self")
    return _filled(c, node, 0)


@converts("aten.arange.default", "aten.arange.start", "aten.arange.start_step")
def arange(c: Emitter, node: NodeView) -> Value:
    node.ignore("dtype")
    start = node.number("start") if node.has("start") else 0
    step = node.number("step") if node.has("step") else 1
    stop = node.number("end")
    element = node.element
    if not is_float(element) and not all(isinstance(number, int) for number in (start, stop, step)):
        count = max(math.ceil((stop - start) / step), 0)
        return c.constant((start + np.arange(count) * step).astype(numpy_dtype(element)))
    return c.op("arange", start=float(start), stop=float(stop), step=float(step), dtype=element)


@converts("aten.linspace.default")
def linspace(c: Emitter, node: NodeView) -> Value:
    node.ignore("dtype")
    start, end, steps = node.real("start"), node.real("end"), node.integer("steps")
    if steps > MAX_KNOWN:
        raise Problem(f"argument 'steps' is {steps}; at most {MAX_KNOWN} are supported")
    return c.constant(np.linspace(start, end, steps).astype(numpy_dtype(node.element)))


@converts("aten.eye.default", "aten.eye.m")
def eye(c: Emitter, node: NodeView) -> Value:
    node.ignore("dtype")
    rows = node.integer("n")
    columns = node.integer("m") if node.has("m") else rows
    if rows * columns > MAX_KNOWN:
        raise Problem(f"a constant of {rows} x {columns} elements is too large")
    return c.constant(np.eye(rows, columns, dtype=numpy_dtype(node.element)))


@converts("aten.tril.default", "aten.triu.default")
def triangle(c: Emitter, node: NodeView) -> Value:
    return c.op("trilu", node.value("self"), k=node.integer("diagonal"), upper=node.operator == "triu")
