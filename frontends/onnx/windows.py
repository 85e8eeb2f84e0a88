"""Attributes of convolutions and pools: kernel, strides, dilations and padding, explicit or automatic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.node import NodeView

RANKS = {1: "1d", 2: "2d", 3: "3d"}
"""The ends of relay's operator names by the number of spatial dimensions."""

LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


@dataclass(frozen=True)
class WindowAttributes:
    """One entry a spatial dimension; `padding` has all low sides, then all high ones."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.kernel)


def spatial_rank(x: Value) -> int:
    """The number of spatial dimensions of (N, C, ...); raises Problem unless it is 1 to 3."""
    rank = x.rank - 2
    if rank not in RANKS:
        raise Problem(f"1 to 3 spatial dimensions are supported, but the input is {x.type}")
    return rank


def window_attributes(node: NodeView, x: Value, kernel: Sequence[int]) -> WindowAttributes:
    """The attributes of a node whose kernel has these sizes, defaults filled in and `auto_pad` worked out."""
    rank = spatial_rank(x)
    strides = per_axis(node, "strides", rank, 1)
    dilations = per_axis(node, "dilations", rank, 1)
    auto = node.choice("auto_pad", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER", default="NOTSET")
    pads = node.integers("pads", None)
    if auto == "NOTSET":
        padding = (0,) * (2 * rank) if pads is None else pads
        if len(padding) != 2 * rank:
            raise Problem(f"attribute 'pads' must have {2 * rank} entries, but is {list(padding)}")
    elif pads is not None and any(pads):
        raise Problem(f"attributes 'pads' ({list(pads)}) and 'auto_pad' ({auto}) exclude each other")
    elif auto == "VALID":
        padding = (0,) * (2 * rank)
    else:
        sizes = x.static_shape(f"auto_pad = {auto} needs the spatial dimensions", range(2, x.rank))[2:]
        padding = same_padding(sizes, kernel, strides, dilations, upper=auto == "SAME_UPPER")
    return WindowAttributes(tuple(kernel), strides, dilations, padding)


def per_axis(node: NodeView, name: str, rank: int, default: int) -> tuple[int, ...]:
    """An attribute with one entry a spatial dimension; raises Problem for another number of entries."""
    values = node.integers(name, None)
    if values is None:
        return (default,) * rank
    if len(values) != rank:
        raise Problem(f"attribute '{name}' must have {rank} entries, but is {list(values)}")
    return values


def same_padding(
    sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], upper: bool
) -> tuple[int, ...]:
    """The padding that gives `ceil(size / stride)` windows; an odd total has the larger part above if `upper`."""
    low: list[int] = []
    high: list[int] = []
    for size, extent, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        if stride < 1:
            raise Problem(f"a stride must be at least 1, but is {stride}")
        total = max((-(-size // stride) - 1) * stride + (extent - 1) * dilation + 1 - size, 0)
        low.append(total // 2 if upper else total - total // 2)
        high.append(total - low[-1])
    return (*low, *high)
