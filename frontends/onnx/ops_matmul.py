"""Products of matrices: Gemm, MatMul of any ranks, Einsum."""

from __future__ import annotations

from math import prod

from relay_mlir.dialects.relay.types import broadcast_shapes, is_float
from relay_mlir.frontends.onnx.emitter import Emitter
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.problem import Problem
from relay_mlir.frontends.onnx.registry import converts
from relay_mlir.frontends.onnx.value import Value


@converts("Gemm")
def gemm_before_7(c: Emitter, node: NodeView) -> Value:
    if not node.flag("broadcast") and node.input(2).rank != 2:
        raise Problem(f"C must be a matrix where broadcast is 0, but is {node.input(2).type}")
    return gemm(c, node)


@converts("Gemm", since=7)
def gemm(c: Emitter, node: NodeView) -> Value:
    a, b, bias = node.input(0), node.input(1), node.optional(2)
    if a.rank != 2 or b.rank != 2:
        raise Problem(f"A and B must be matrices, but are {a.type} and {b.type}")
    alpha, beta = node.real("alpha"), node.real("beta")
    transpose_a, transpose_b = bool(node.integer("transA")), bool(node.integer("transB"))
    if transpose_b and not transpose_a:
        y = c.op("nn.dense", a, b)
    else:
        y = c.op("nn.matmul", a, b, transpose_a=transpose_a, transpose_b=transpose_b)
    y = _scaled(c, y, alpha)
    if bias is None or beta == 0.0:
        return y
    bias = _scaled(c, bias, beta)
    return c.op("nn.bias_add", y, bias, axis=1) if bias.shape == y.shape[1:] else c.op("add", y, bias)


def _scaled(c: Emitter, x: Value, factor: float) -> Value:
    if factor == 1.0:
        return x
    if not is_float(x.element) and factor != int(factor):
        raise Problem(f"alpha and beta must be whole numbers for {x.type}, but one is {factor}")
    return c.op("multiply", x, c.scalar(factor if is_float(x.element) else int(factor), x))


@converts("MatMul")
def mat_mul(c: Emitter, node: NodeView) -> Value:
    return matmul(c, node.input(0), node.input(1))


def matmul(c: Emitter, a: Value, b: Value) -> Value:
    """numpy's matmul: vectors become matrices for a moment, leading dimensions are a batch and broadcast."""
    if a.rank == 0 or b.rank == 0:
        raise Problem(f"operands must have at least one dimension, but are {a.type} and {b.type}")
    if a.rank == 1:
        y = matmul(c, c.op("expand_dims", a, axis=0), b)
        return c.op("squeeze", y, axis=(y.rank - (2 if b.rank > 1 else 1),))
    if b.rank == 1:
        y = matmul(c, a, c.op("expand_dims", b, axis=1))
        return c.op("squeeze", y, axis=(y.rank - 1,))
    if b.rank == 2:
        return c.op("nn.matmul", a, b)
    return _batched(c, a, b)


def _batched(c: Emitter, a: Value, b: Value) -> Value:
    why = "a product of batches needs the batch dimensions"
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if a.rank == b.rank == 3 and (a.shape[0] == b.shape[0] or 1 in (a.shape[0], b.shape[0])):
        return c.op("nn.batch_matmul", a, b)
    a.static_shape(why, range(a.rank))
    b.static_shape(why, range(b.rank))

    def flattened(x: Value) -> Value:
        if prod(x.shape[:-2]) != 1:
            x = c.broadcast_to(x, (*batch, *x.shape[-2:]))
        return c.reshape(x, (prod(x.shape[:-2]), *x.shape[-2:]))

    y = c.op("nn.batch_matmul", flattened(a), flattened(b))
    return c.reshape(y, (*batch, *y.shape[-2:]))


__all__ = ["gemm", "matmul"]
