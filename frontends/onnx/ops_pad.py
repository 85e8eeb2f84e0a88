"""Padding."""

from __future__ import annotations

from relay_mlir.dialects.relay.types import ANY, normalize_axes
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.registry import converts


def padded(c: Emitter, x: Value, pads: tuple[int, ...], mode: str, value: Value, axes: tuple[int, ...]) -> Value:
    """The tensor with `pads` (all low sides, then all high ones) at the axes; negative ones crop."""
    axes = normalize_axes(axes, x.rank)
    if len(pads) != 2 * len(axes):
        raise Problem(f"pads must have {2 * len(axes)} entries, but is {list(pads)}")
    width = [(0, 0)] * x.rank
    for axis, low, high in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        if mode == "reflect" and x.shape[axis] != ANY and max(low, high) >= max(x.shape[axis], 1):
            raise Problem(f"pads {low} and {high} of axis {axis} must be less than its size {x.shape[axis]} to reflect")
        width[axis] = (low, high)
    if not any(low or high for low, high in width):
        return x
    return c.op("nn.pad", x, value, pad_width=tuple(width), pad_mode=mode)


@converts("Pad")
def pad_with_attributes(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    pads = node.integers("paddings" if node.opset < 2 else "pads")
    mode = node.choice("mode", "constant", "reflect", "edge")
    return padded(c, x, pads, mode, c.scalar(node.real("value"), x), tuple(range(x.rank)))


@converts("Pad", since=11)
def pad(c: Emitter, node: NodeView) -> Value:
    x, pads, value = node.input(0), node.known_ints(1) or (), node.optional(2)
    axes = node.known_ints(3) if node.opset >= 18 else None
    mode = node.choice("mode", "constant", "reflect", "edge", *["wrap"] * (node.opset >= 19))
    value = c.scalar(0, x) if value is None else c.reshape(value, ())
    return padded(c, x, pads, mode, value, tuple(range(x.rank)) if axes is None else axes)
