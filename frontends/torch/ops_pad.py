"""Padding."""

from __future__ import annotations

from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.torch.node import NodeView
from relay_mlir.frontends.torch.promotion import as_tensor
from relay_mlir.frontends.torch.registry import converts

MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def padded(c: Emitter, node: NodeView, x: Value, name: str, mode: str, value: float) -> Value:
    """The tensor padded; torch lists (before, after) from the last dimension to the first."""
    found = node.integers(name)
    if len(found) % 2 or len(found) > 2 * x.rank:
        raise Problem(f"argument '{name}' must have two entries a dimension, but is {list(found)}")
    pairs = [(found[at], found[at + 1]) for at in range(0, len(found), 2)]
    widths = [(0, 0)] * (x.rank - len(pairs)) + pairs[::-1]
    return c.op("nn.pad", x, as_tensor(c, value, x.element), pad_width=tuple(widths), pad_mode=mode)


@converts("aten.pad.default")
def pad(c: Emitter, node: NodeView) -> Value:
    mode = node.string("mode")
    if mode not in MODES:
        raise Problem(f"argument 'mode' is {mode!r}; expected one of {', '.join(MODES)}")
    value = node.optional_number("value")
    return padded(c, node, node.value("self"), "pad", MODES[mode], 0 if value is None else value)


@converts("aten.constant_pad_nd.default")
def constant_pad(c: Emitter, node: NodeView) -> Value:
    return padded(c, node, node.value("self"), "pad", "constant", node.number("value"))


@converts(
    *(f"aten.{kind}_pad{rank}d.default" for kind in ("reflection", "replication") for rank in (1, 2, 3)),
)
def border_pad(c: Emitter, node: NodeView) -> Value:
    mode = "reflect" if node.operator.startswith("reflection") else "edge"
    return padded(c, node, node.value("self"), "padding", mode, 0)
