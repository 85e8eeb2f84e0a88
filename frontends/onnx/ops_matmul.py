"""Products of matrices: Gemm, MatMul of any ranks."""

from __future__ import annotations

from relay_mlir.dialects.relay.types import is_float
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.matmul import matmul
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.registry import converts


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
