"""Quantized operators, written out in integer and float arithmetic."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import f16, f32, i32
from xdsl.ir import Attribute

from relay_mlir.dialects.relay.types import element_type, is_float, normalize_axis, numpy_dtype, ui8
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.matmul import matmul
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.ops_conv import convolved
from relay_mlir.frontends.onnx.reader import numpy_type
from relay_mlir.frontends.onnx.registry import converts


def _along(c: Emitter, node: NodeView, parameter: Value, x: Value) -> Value:
    """A scale or zero point, for the whole tensor, an axis, or blocks of an axis, shaped to broadcast with it."""
    block = node.integer("block_size") if node.has("block_size") else 0
    if parameter.rank == 0 or (parameter.shape == (1,) and not block):
        return c.reshape(parameter, ())
    axis = normalize_axis(node.integer("axis"), x.rank)
    if not block:
        return c.reshape(parameter, (-1, *[1] * (x.rank - 1 - axis)))
    if parameter.rank != x.rank:
        raise Problem(f"blocks need a scale of rank {x.rank}, but it is {parameter.type}")
    size = x.static_shape("blocks need the size of their axis", [axis])[axis]
    repeated = c.op("repeat", parameter, repeats=block, axis=axis)
    return c.op("strided_slice", repeated, begin=(0,), end=(size,), axes=(axis,))


def _saturated(c: Emitter, x: Value, element: Attribute) -> Value:
    """A float tensor of whole numbers as integers, values beyond the type's limits at the limits."""
    info = np.iinfo(cast(Any, numpy_dtype(element)))
    return c.cast(c.op("clip", x, a_min=float(info.min), a_max=float(info.max)), element)


def quantized(c: Emitter, x: Value, scale: Value, zero: Value | None, element: Attribute) -> Value:
    """`saturate(round(x / scale) + zero)`, rounded to even; in f32 at least."""
    wide = f32 if x.element == f16 or not is_float(x.element) else x.element
    steps = c.op("round", c.op("divide", c.cast(x, wide), c.cast(scale, wide)))
    if zero is not None:
        steps = c.op("add", steps, c.cast(zero, wide))
    return _saturated(c, steps, element)


@converts("QuantizeLinear", since=10)
def quantize_linear(c: Emitter, node: NodeView) -> Value:
    node.ignore("saturate")  # it speaks of 8-bit floats
    if node.has("precision") and node.integer("precision") not in (0, 1):
        raise Problem("attribute 'precision' must be FLOAT: the division is computed in f32")
    x, scale, zero = node.input(0), node.input(1), node.optional(2)
    element = ui8 if zero is None else zero.element
    if zero is None and node.has("output_dtype") and node.integer("output_dtype"):
        element = element_type(numpy_type(node.integer("output_dtype")))
    node.ignore("output_dtype")  # the zero point's type says the same
    return quantized(c, x, _along(c, node, scale, x), None if zero is None else _along(c, node, zero, x), element)


@converts("DequantizeLinear", since=10)
def dequantize_linear(c: Emitter, node: NodeView) -> Value:
    x, scale, zero = node.input(0), node.input(1), node.optional(2)
    element = scale.element
    if node.has("output_dtype") and node.integer("output_dtype"):
        element = element_type(numpy_type(node.integer("output_dtype")))
    wide = i32 if zero is not None and x.element != i32 else x.element
    steps = x if zero is None else c.op("subtract", c.cast(x, wide), c.cast(_along(c, node, zero, x), wide))
    product = c.op("multiply", c.cast(steps, f32), c.cast(_along(c, node, scale, x), f32))
    return c.cast(product, element)


def _centred(c: Emitter, x: Value, zero: Value | None) -> Value:
    """The integers minus their zero point, in i32."""
    x = c.cast(x, i32)
    return x if zero is None else c.op("subtract", x, c.cast(zero, i32))


def _for_rows(c: Emitter, zero: Value | None, rank: int) -> Value | None:
    """The zero point of a matrix on the left: a vector has an entry a row."""
    return c.reshape(zero, (-1, 1)) if zero is not None and zero.rank == 1 and rank > 1 else zero


@converts("MatMulInteger", since=10)
def mat_mul_integer(c: Emitter, node: NodeView) -> Value:
    a, b = node.input(0), node.input(1)
    return matmul(c, _centred(c, a, _for_rows(c, node.optional(2), a.rank)), _centred(c, b, node.optional(3)))


@converts("QLinearMatMul", since=10)
def qlinear_mat_mul(c: Emitter, node: NodeView) -> Value:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (node.input(at) for at in range(8))
    left = _centred(c, a, _for_rows(c, a_zero, a.rank))
    product = c.cast(matmul(c, left, _centred(c, b, b_zero)), f32)
    a_scale = _for_rows(c, a_scale, a.rank) or a_scale
    scale = c.op("multiply", c.cast(a_scale, f32), c.cast(b_scale, f32))
    return quantized(c, c.op("multiply", product, scale), c.cast(y_scale, f32), y_zero, y_zero.element)


def _for_kernels(c: Emitter, parameter: Value | None, rank: int) -> Value | None:
    """A parameter of the weight of a convolution: a vector has an entry an output channel."""
    if parameter is None or parameter.rank == 0:
        return parameter
    return c.reshape(parameter, (-1, *[1] * (rank - 1)))


@converts("ConvInteger", since=10)
def conv_integer(c: Emitter, node: NodeView) -> Value:
    x, weight = node.input(0), node.input(1)
    kernels = _centred(c, weight, _for_kernels(c, node.optional(3), weight.rank))
    return convolved(c, node, _centred(c, x, node.optional(2)), kernels)


@converts("QLinearConv", since=10)
def qlinear_conv(c: Emitter, node: NodeView) -> Value:
    x, x_scale, x_zero, weight, w_scale, w_zero, y_scale, y_zero = (node.input(at) for at in range(8))
    kernels = _centred(c, weight, _for_kernels(c, w_zero, weight.rank))
    y = convolved(c, node, _centred(c, x, x_zero), kernels)
    if (bias := node.optional(8)) is not None:
        y = c.op("nn.bias_add", y, bias, axis=1)
    scale = c.op("multiply", x_scale, _for_kernels(c, w_scale, weight.rank - 1) or w_scale)
    return quantized(c, c.op("multiply", c.cast(y, f32), scale), y_scale, y_zero, y_zero.element)


__all__ = ["quantized"]
