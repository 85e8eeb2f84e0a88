"""Convolutions and transposed convolutions."""

from __future__ import annotations

from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.torch.node import NodeView
from relay_mlir.frontends.torch.registry import converts
from relay_mlir.frontends.torch.windows import RANKS, batched, per_axis


def _biased(c: Emitter, node: NodeView, y: Value) -> Value:
    bias = node.optional("bias")
    return y if bias is None else c.op("nn.bias_add", y, bias, axis=1)


def _spatial(weight: Value) -> int:
    if weight.rank - 2 not in RANKS:
        raise Problem(f"1 to 3 spatial dimensions are supported, but the weight is {weight.type}")
    return weight.rank - 2


@converts(
    "aten.conv1d.default",
    "aten.conv2d.default",
    "aten.conv3d.default",
    "aten.conv1d.padding",
    "aten.conv2d.padding",
    "aten.conv3d.padding",
)
def conv(c: Emitter, node: NodeView) -> Value:
    weight = node.value("weight")
    rank = _spatial(weight)
    dilation = per_axis(node, "dilation", rank)
    padding = _named_padding(node, weight, dilation) if node.target.endswith(".padding") else _symmetric(node, rank)
    return _convolved(c, node, weight, padding, dilation)


def _symmetric(node: NodeView, rank: int) -> tuple[int, ...]:
    padding = per_axis(node, "padding", rank)
    return (*padding, *padding)


def _named_padding(node: NodeView, weight: Value, dilation: tuple[int, ...]) -> tuple[int, ...]:
    """ "valid" is none; "same" keeps the size, the odd one of the padding behind."""
    match node.string("padding"):
        case "valid":
            return (0,) * (2 * len(dilation))
        case "same":
            kernel = weight.static_shape("padding 'same' needs the kernel's size", range(2, weight.rank))[2:]
            total = [step * (size - 1) for size, step in zip(kernel, dilation, strict=True)]
            return (*(size // 2 for size in total), *(size - size // 2 for size in total))
        case other:
            raise Problem(f"argument 'padding' is {other!r}; expected 'valid', 'same' or integers")


def _convolved(c: Emitter, node: NodeView, weight: Value, padding: tuple[int, ...], dilation: tuple[int, ...]) -> Value:
    rank, groups = _spatial(weight), node.integer("groups")
    strides = per_axis(node, "stride", rank)

    def of(x: Value) -> list[Value]:
        y = c.op(
            f"nn.conv{RANKS[rank]}",
            x,
            weight,
            strides=strides,
            padding=padding,
            dilation=dilation,
            groups=groups,
        )
        return [_biased(c, node, y)]

    return batched(c, node.value("input"), rank, of)[0]


@converts("aten.conv_transpose1d.default", "aten.conv_transpose2d.input", "aten.conv_transpose3d.input")
def conv_transpose(c: Emitter, node: NodeView) -> Value:
    weight = node.value("weight")
    rank, groups = _spatial(weight), node.integer("groups")
    strides, dilation = per_axis(node, "stride", rank), per_axis(node, "dilation", rank)
    extra, padding = per_axis(node, "output_padding", rank), _symmetric(node, rank)

    def of(x: Value) -> list[Value]:
        y = c.op(
            f"nn.conv{RANKS[rank]}_transpose",
            x,
            weight,
            strides=strides,
            padding=padding,
            dilation=dilation,
            groups=groups,
            output_padding=extra,
        )
        return [_biased(c, node, y)]

    return batched(c, node.value("input"), rank, of)[0]


@converts("aten.convolution.default")
def convolution(c: Emitter, node: NodeView) -> Value:
    """What the others decompose to."""
    if node.flag("transposed"):
        return conv_transpose(c, node)
    weight = node.value("weight")
    rank = _spatial(weight)
    if any(node.integers("output_padding")):
        raise Problem("argument 'output_padding' must be 0 where 'transposed' is False")
    return _convolved(c, node, weight, _symmetric(node, rank), per_axis(node, "dilation", rank))
