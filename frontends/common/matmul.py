"""Products of tensors of any rank, as numpy's and torch's `matmul` define them."""

from __future__ import annotations

from math import prod

from relay_mlir.dialects.relay.types import broadcast_shapes
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.shapes import is_symbolic
from relay_mlir.frontends.common.value import Value


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
    for x in (a, b):
        if not is_symbolic(x.shape):
            x.static_shape(why, range(x.rank))

    def flattened(x: Value) -> Value:
        if prod(x.shape[:-2]) != 1:
            x = c.broadcast_to(x, (*batch, *x.shape[-2:]))
        return c.reshape(x, (prod(x.shape[:-2]), *x.shape[-2:]))

    y = c.op("nn.batch_matmul", flattened(a), flattened(b))
    return c.reshape(y, (*batch, *y.shape[-2:]))
