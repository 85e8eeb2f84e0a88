"""Arguments of convolutions and pools: a number for every spatial dimension, and batches put in and taken off."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.torch.node import NodeView

RANKS = {1: "1d", 2: "2d", 3: "3d"}
"""The ends of relay's operator names by the number of spatial dimensions."""


def per_axis(node: NodeView, name: str, rank: int) -> tuple[int, ...]:
    """An integer for each spatial dimension; raises Problem for another number of them."""
    found = node.integers(name, rank)
    if len(found) != rank:
        raise Problem(f"argument '{name}' must have {rank} entries, but is {list(found)}")
    return found


def batched(c: Emitter, x: Value, rank: int, function: Callable[[Value], Sequence[Value]]) -> list[Value]:
    """A function of (N, C, ...) applied to a tensor that may lack N."""
    if x.rank == rank + 2:
        return list(function(x))
    if x.rank != rank + 1:
        raise Problem(f"the input must have {rank + 1} or {rank + 2} dimensions, but is {x.type}")
    return [c.op("squeeze", y, axis=(0,)) for y in function(c.op("expand_dims", x, axis=0))]
