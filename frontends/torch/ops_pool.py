"""Pools over windows, and pools that give a certain size."""

from __future__ import annotations

from relay_mlir.dialects.relay.types import is_static
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.torch.node import NodeView
from relay_mlir.frontends.torch.registry import converts
from relay_mlir.frontends.torch.windows import RANKS, batched, per_axis


def _rank(node: NodeView) -> int:
    """The number of spatial dimensions, which the name of the operator says."""
    return int(node.operator.partition("pool")[2][0])


def _window(node: NodeView) -> dict[str, tuple[int, ...] | bool]:
    """Kernel, strides (by default the kernel) and padding."""
    rank = _rank(node)
    kernel = per_axis(node, "kernel_size", rank)
    strides = per_axis(node, "stride", rank) if node.find("stride") not in (None, []) else kernel
    padding = per_axis(node, "padding", rank)
    return {
        "pool_size": kernel,
        "strides": strides,
        "padding": (*padding, *padding),
        "ceil_mode": node.flag("ceil_mode"),
    }


@converts("aten.max_pool1d.default", "aten.max_pool2d.default", "aten.max_pool3d.default")
def max_pool(c: Emitter, node: NodeView) -> Value:
    rank = _rank(node)
    attributes = _window(node) | {"dilation": per_axis(node, "dilation", rank)}
    name = f"nn.max_pool{RANKS[rank]}"
    return batched(c, node.value("self"), rank, lambda x: [c.op(name, x, **attributes)])[0]


@converts(
    "aten.max_pool1d_with_indices.default",
    "aten.max_pool2d_with_indices.default",
    "aten.max_pool3d_with_indices.default",
)
def max_pool_with_indices(c: Emitter, node: NodeView) -> list[Value]:
    """Torch counts positions in one channel, relay in the whole tensor."""
    rank = _rank(node)
    attributes = _window(node) | {"dilation": per_axis(node, "dilation", rank)}

    def of(x: Value) -> list[Value]:
        y, at = c.ops(f"nn.max_pool{RANKS[rank]}_with_indices", x, **attributes)
        shape = x.static_shape("positions in a channel need the sizes")
        size = 1
        for dim in shape[2:]:
            size *= dim
        return [y, c.op("floor_mod", at, c.scalar(size, at))]

    return batched(c, node.value("self"), rank, of)


@converts("aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.avg_pool3d.default")
def avg_pool(c: Emitter, node: NodeView) -> Value:
    rank = _rank(node)
    if node.has("divisor_override") and node.find("divisor_override") is not None:
        raise Problem("argument 'divisor_override' is not supported")
    attributes = _window(node) | {"count_include_pad": node.flag("count_include_pad")}
    name = f"nn.avg_pool{RANKS[rank]}"
    return batched(c, node.value("self"), rank, lambda x: [c.op(name, x, **attributes)])[0]


@converts(
    "aten.adaptive_avg_pool1d.default",
    "aten.adaptive_avg_pool2d.default",
    "aten.adaptive_avg_pool3d.default",
    "aten._adaptive_avg_pool2d.default",
    "aten._adaptive_avg_pool3d.default",
)
def adaptive_avg_pool(c: Emitter, node: NodeView) -> Value:
    return _adaptive(c, node, "avg")


@converts("aten.adaptive_max_pool1d.default", "aten.adaptive_max_pool2d.default", "aten.adaptive_max_pool3d.default")
def adaptive_max_pool(c: Emitter, node: NodeView) -> list[Value]:
    return [_adaptive(c, node, "max")]


def _adaptive(c: Emitter, node: NodeView, kind: str) -> Value:
    rank, x = _rank(node), node.value("self")
    spatial = x.shape[x.rank - rank :]
    given = node.dims("output_size")
    given = given * rank if len(given) == 1 else given
    sizes = [size if isinstance(size, int) and size >= 0 else own for size, own in zip(given, spatial, strict=True)]
    if all(size == 1 for size in sizes):
        name = f"nn.global_{kind}_pool{RANKS[rank]}"
        return batched(c, x, rank, lambda x: [c.op(name, x)])[0]
    if not is_static(sizes):
        raise Problem("argument 'output_size' must be known at import (bind the inputs' shapes)")
    name = f"nn.adaptive_{kind}_pool{RANKS[rank]}"
    return batched(c, x, rank, lambda x: [c.op(name, x, output_size=tuple(sizes))])[0]
