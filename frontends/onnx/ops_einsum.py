"""Einsum."""

from __future__ import annotations

from relay_mlir.frontends.common.einsum import einsum
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.registry import converts


@converts("Einsum", since=12)
def einsum_(c: Emitter, node: NodeView) -> Value:
    return einsum(c, node.string("equation"), node.rest())
