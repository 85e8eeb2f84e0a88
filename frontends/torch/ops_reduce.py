"""Reductions over axes, running sums, and positions of extremes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i1

from relay_mlir.dialects.relay.types import normalize_axes, normalize_axis, num_elements
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.torch.node import NodeView
from relay_mlir.frontends.torch.promotion import converted
from relay_mlir.frontends.torch.registry import converts


def _axes(node: NodeView, x: Value, name: str = "dim") -> tuple[int, ...]:
    """The reduced axes; all of them where none are given."""
    found = node.find(name) if node.has(name) else None
    if found is None or found == []:
        return tuple(range(x.rank))
    if not x.rank:  # a scalar has the axes 0 and -1
        return ()
    return tuple(sorted(normalize_axes(node.integers(name), x.rank)))


def _keeps(node: NodeView) -> bool:
    return node.has("keepdim") and node.flag("keepdim")


def reduced(c: Emitter, name: str, x: Value, axes: Sequence[int], keepdims: bool) -> Value:
    """A reduction; of a scalar over no axes as over one axis of size 1."""
    if not x.rank:
        return c.op(name, c.reshape(x, (1,)), axis=(0,), keepdims=False)
    return c.op(name, x, axis=tuple(axes), keepdims=keepdims)


SUMS = {"sum": "sum", "mean": "mean", "prod": "prod"}


@converts("aten.sum", "aten.mean", "aten.prod.default", "aten.prod.dim_int")
def sums(c: Emitter, node: NodeView) -> Value:
    node.ignore("dtype")  # torch has put it into the type of the result
    x = converted(c, node.value("self"), node.element)
    return reduced(c, SUMS[node.operator], x, _axes(node, x), _keeps(node))


@converts("aten.amax.default", "aten.amin.default", "aten.max.default", "aten.min.default")
def extremes(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    return reduced(c, node.operator.removeprefix("a"), x, _axes(node, x), _keeps(node))


@converts("aten.max.dim", "aten.min.dim")
def extreme_with_position(c: Emitter, node: NodeView) -> list[Value]:
    x, keeps = node.value("self"), _keeps(node)
    axes = _axes(node, x)
    return [reduced(c, node.operator, x, axes, keeps), reduced(c, f"arg{node.operator}", x, axes, keeps)]


@converts("aten.argmax.default", "aten.argmin.default")
def position(c: Emitter, node: NodeView) -> Value:
    x, keeps = node.value("self"), _keeps(node)
    return reduced(c, node.operator, x, _axes(node, x), keeps)


@converts("aten.any", "aten.all")
def truths(c: Emitter, node: NodeView) -> Value:
    x = converted(c, node.value("self"), i1)
    return reduced(c, node.operator, x, _axes(node, x), _keeps(node))


# Variance.


def _correction(node: NodeView) -> float:
    """What is taken off the number of elements."""
    if node.has("correction"):
        found = node.optional_number("correction")
        return 1.0 if found is None else float(found)
    return float(node.flag("unbiased"))


def _variance(c: Emitter, node: NodeView, keepdims: bool) -> tuple[Value, Value]:
    """Variance and mean."""
    x = node.value("self")
    axes, correction = _axes(node, x), _correction(node)
    if not x.rank:
        x, axes, keepdims = c.reshape(x, (1,)), (0,), False
    mean = c.op("mean", x, axis=axes, keepdims=True)
    if correction in (0.0, 1.0):
        variance = c.op("variance", x, mean, axis=axes, keepdims=keepdims, unbiased=correction == 1.0)
    else:
        count = num_elements([x.static_shape("a correction needs the sizes", axes)[axis] for axis in axes])
        biased = c.op("variance", x, mean, axis=axes, keepdims=keepdims)
        factor = count / (count - correction) if count > correction else math.inf
        variance = c.op("multiply", biased, c.scalar(factor, biased))
    return variance, mean if keepdims else c.op("squeeze", mean, axis=axes)


@converts("aten.var")
def variance(c: Emitter, node: NodeView) -> Value:
    return _variance(c, node, _keeps(node))[0]


@converts("aten.std")
def deviation(c: Emitter, node: NodeView) -> Value:
    return c.op("sqrt", _variance(c, node, _keeps(node))[0])


@converts("aten.var_mean", "aten.std_mean")
def variance_and_mean(c: Emitter, node: NodeView) -> list[Value]:
    found, mean = _variance(c, node, _keeps(node))
    return [c.op("sqrt", found) if node.operator == "std_mean" else found, mean]


# Norms and the logarithm of a sum.


@converts("aten.linalg_vector_norm.default", "aten.norm.ScalarOpt_dim", "aten.norm.Scalar")
def vector_norm(c: Emitter, node: NodeView) -> Value:
    node.ignore("dtype")
    name = "ord" if node.has("ord") else "p"
    found = node.optional_number(name)
    order = 2.0 if found is None else float(found)
    x = converted(c, node.value("self"), node.element)
    axes, keeps = _axes(node, x), _keeps(node)
    return norm(c, x, order, axes, keeps)


def norm(c: Emitter, x: Value, order: float, axes: Sequence[int], keeps: bool) -> Value:
    """`(sum of |x|^order)^(1 / order)`, and its limits."""
    if order == 2:
        return c.op("sqrt", reduced(c, "sum", c.op("multiply", x, x), axes, keeps))
    size = c.op("abs", x)
    if math.isinf(order):
        return reduced(c, "max" if order > 0 else "min", size, axes, keeps)
    if order == 1:
        return reduced(c, "sum", size, axes, keeps)
    if order == 0:
        nonzero = c.cast(c.op("not_equal", x, c.scalar(0, x)), x.element)
        return reduced(c, "sum", nonzero, axes, keeps)
    power = reduced(c, "sum", c.op("power", size, c.scalar(order, x)), axes, keeps)
    return c.op("power", power, c.scalar(1 / order, x))


@converts("aten.logsumexp.default")
def logsumexp(c: Emitter, node: NodeView) -> Value:
    """Less the greatest element, where that is finite, so that nothing overflows."""
    x = converted(c, node.value("self"), node.element)
    axes, keeps = _axes(node, x), _keeps(node)
    if not x.rank:
        return x
    greatest = c.op("max", x, axis=axes, keepdims=True)
    finite = c.op("where", c.op("isfinite", greatest), greatest, c.scalar(0, x))
    total = c.op("sum", c.op("exp", c.op("subtract", x, finite)), axis=axes, keepdims=keeps)
    return c.op("add", c.op("log", total), finite if keeps else c.op("squeeze", finite, axis=axes))


# Running sums.


@converts("aten.cumsum.default", "aten.cumprod.default")
def running(c: Emitter, node: NodeView) -> Value:
    node.ignore("dtype")
    x = converted(c, node.value("self"), node.element)
    if not x.rank:
        node.ignore("dim")
        return x
    return c.op(node.operator, x, axis=normalize_axis(node.integer("dim"), x.rank))


@converts("aten.count_nonzero.dim_IntList", "aten.count_nonzero.default")
def count_nonzero(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    axes = _axes(node, x)
    return reduced(c, "sum", c.cast(converted(c, x, i1), node.element), axes, False)
