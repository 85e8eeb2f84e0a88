"""Reductions over axes, positions of extrema, and running sums and products."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.dialects.builtin import f64, i64

from relay_mlir.dialects.relay.types import is_bool, is_float, normalize_axes, normalize_axis
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.registry import converts

Reduce = Callable[[str, Value], Value]
"""Applies a relay reduction over the axes of the node."""


def _over(c: Emitter, axes: tuple[int, ...], keepdims: bool) -> Reduce:
    return lambda name, x: c.op(name, x, axis=axes, keepdims=keepdims)


def _reduced(c: Emitter, node: NodeView, axes: tuple[int, ...] | None, noop: bool) -> Value:
    """The reduction that the node names; without axes over all of them, or over none where `noop`."""
    x = node.input(0)
    if not axes:
        axes = () if noop else tuple(range(x.rank))
    axes = normalize_axes(axes, x.rank)
    return REDUCTIONS[node.op_type](c, x, axes, _over(c, axes, node.flag("keepdims")))


def _plain(name: str) -> Callable[[Emitter, Value, tuple[int, ...], Reduce], Value]:
    return lambda c, x, axes, reduce: reduce(name, x)


def _extremum(name: str, of_bool: str) -> Callable[[Emitter, Value, tuple[int, ...], Reduce], Value]:
    return lambda c, x, axes, reduce: reduce(of_bool if is_bool(x.element) else name, x)


def _mean(c: Emitter, x: Value, axes: tuple[int, ...], reduce: Reduce) -> Value:
    if is_float(x.element):
        return reduce("mean", x)
    count = prod(x.static_shape("the mean of integers needs the number of elements", axes)[axis] for axis in axes)
    return c.op("trunc_divide", reduce("sum", x), c.scalar(count, x))


def _l1(c: Emitter, x: Value, axes: tuple[int, ...], reduce: Reduce) -> Value:
    return reduce("sum", c.op("abs", x))


def _sum_square(c: Emitter, x: Value, axes: tuple[int, ...], reduce: Reduce) -> Value:
    return reduce("sum", c.op("multiply", x, x))


def _in_floats(c: Emitter, x: Value, function: Callable[[Value], Value]) -> Value:
    """A float function of a tensor that may be integer, rounded towards zero to its type."""
    return function(x) if is_float(x.element) else c.cast(function(c.cast(x, f64)), x.element)


def _l2(c: Emitter, x: Value, axes: tuple[int, ...], reduce: Reduce) -> Value:
    return _in_floats(c, x, lambda v: c.op("sqrt", _sum_square(c, v, axes, reduce)))


def _log_sum(c: Emitter, x: Value, axes: tuple[int, ...], reduce: Reduce) -> Value:
    return _in_floats(c, x, lambda v: c.op("log", reduce("sum", v)))


def _log_sum_exp(c: Emitter, x: Value, axes: tuple[int, ...], reduce: Reduce) -> Value:
    """With the greatest element taken out, so that nothing overflows; where that is infinite it stays in."""

    def function(v: Value) -> Value:
        zero = c.scalar(0, v)
        greatest = c.op("max", v, axis=axes, keepdims=True)
        shift = c.op("where", c.op("isfinite", greatest), greatest, zero)
        total = reduce("sum", c.op("exp", c.op("subtract", v, shift)))
        back = reduce("sum", shift) if total.shape != shift.shape else shift  # sums over dimensions of 1: drops them
        return c.op("add", c.op("log", total), back)

    return _in_floats(c, x, function)


REDUCTIONS: dict[str, Callable[[Emitter, Value, tuple[int, ...], Reduce], Value]] = {
    "ReduceSum": _plain("sum"),
    "ReduceProd": _plain("prod"),
    "ReduceMean": _mean,
    "ReduceMax": _extremum("max", "any"),
    "ReduceMin": _extremum("min", "all"),
    "ReduceL1": _l1,
    "ReduceL2": _l2,
    "ReduceSumSquare": _sum_square,
    "ReduceLogSum": _log_sum,
    "ReduceLogSumExp": _log_sum_exp,
}


@converts(*REDUCTIONS)
def reduction_with_attribute(c: Emitter, node: NodeView) -> Value:
    return _reduced(c, node, node.integers("axes", None), noop=False)


@converts("ReduceSum", since=13)
def reduce_sum(c: Emitter, node: NodeView) -> Value:
    return reduction_with_input(c, node)


@converts(*(name for name in REDUCTIONS if name != "ReduceSum"), since=18)
def reduction_with_input(c: Emitter, node: NodeView) -> Value:
    return _reduced(c, node, node.known_ints(1), node.flag("noop_with_empty_axes"))


@converts("ArgMax", "ArgMin")
def arg_extremum(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    last = node.flag("select_last_index") if node.opset >= 12 else False
    name = {"ArgMax": "argmax", "ArgMin": "argmin"}[node.op_type]
    axis = normalize_axis(node.integer("axis"), x.rank)
    result = c.op(name, x, axis=(axis,), keepdims=node.flag("keepdims"), select_last_index=last)
    return c.cast(result, i64)


@converts("CumSum", "CumProd", since=11)
def running(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    (axis,) = node.known_ints(1) or (0,)
    axis = normalize_axis(axis, x.rank)
    name = {"CumSum": "cumsum", "CumProd": "cumprod"}[node.op_type]
    backwards = node.flag("reverse")
    if backwards:
        x = c.op("reverse", x, axis=axis)
    x = c.op(name, x, axis=axis, exclusive=node.flag("exclusive"))
    return c.op("reverse", x, axis=axis) if backwards else x


@converts("Det", since=11)
def determinant(c: Emitter, node: NodeView) -> Value:
    """Of 1 to 3 rows by expansion; larger ones need a factorization, which relay has no operator for."""
    x = node.input(0)
    if x.rank < 2 or x.shape[-1] != x.shape[-2] or not 1 <= x.shape[-1] <= 3:
        raise Problem(f"only square matrices of 1 to 3 rows are supported, but the input is {x.type}")

    def entry(row: int, column: int) -> Value:
        axes = (x.rank - 2, x.rank - 1)
        part = c.op("strided_slice", x, begin=(row, column), end=(row + 1, column + 1), axes=axes)
        return c.op("squeeze", part, axis=axes)

    def minor(rows: list[int], columns: list[int]) -> Value:
        if len(rows) == 1:
            return entry(rows[0], columns[0])
        total = None
        for at, column in enumerate(columns):
            rest = minor(rows[1:], columns[:at] + columns[at + 1 :])
            term = c.op("multiply", entry(rows[0], column), rest)
            total = term if total is None else c.op("subtract" if at % 2 else "add", total, term)
        assert total is not None
        return total

    indices = list(range(x.shape[-1]))
    return minor(indices, indices)
