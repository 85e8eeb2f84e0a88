"""Products of matrices, linear layers and attention."""

from __future__ import annotations

import math

from relay_mlir.dialects.relay.types import ANY, is_bool, is_static
from relay_mlir.frontends.common.einsum import einsum
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.matmul import matmul
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.torch.node import NodeView
from relay_mlir.frontends.torch.ops_reduce import norm
from relay_mlir.frontends.torch.promotion import as_tensor
from relay_mlir.frontends.torch.registry import converts


@converts("aten.linear.default")
def linear(c: Emitter, node: NodeView) -> Value:
    x, weight, bias = node.value("input"), node.value("weight"), node.optional("bias")
    if x.rank == 1 or weight.rank == 1:
        y = matmul(c, x, c.transpose(weight, range(weight.rank)[::-1]))
        return y if bias is None else c.op("add", y, bias)
    y = c.op("nn.dense", x, weight)
    return y if bias is None else c.op("nn.bias_add", y, bias, axis=y.rank - 1)


def _product(c: Emitter, a: Value, b: Value, same_batch: bool) -> Value:
    """The product; of (?, H, M, K) and (?, H, K, N), whose batches are known to agree, as batches of ? * H matrices."""
    open_ = not is_static((*a.shape[:-2], *b.shape[:-2]))
    if not (open_ and same_batch and a.rank == b.rank == 4 and a.shape[1] != ANY):
        return matmul(c, a, b)
    flat = (c.op("reshape", x, newshape=(-3, -2)) for x in (a, b))
    return c.op("reshape", c.op("nn.batch_matmul", *flat), newshape=(-4, -1, a.shape[1], -2))


def _same_batches(node: NodeView, *names: str) -> bool:
    """Whether torch declares the same leading dimensions for tensors."""
    found = [node.declared_dims(name)[:-2] for name in names]
    return all(dims == found[0] for dims in found)


@converts("aten.mm.default", "aten.bmm.default", "aten.matmul.default", "aten.mv.default", "aten.dot.default")
def product(c: Emitter, node: NodeView) -> Value:
    other = next(name for name in ("mat2", "other", "vec", "tensor") if node.has(name))
    return _product(c, node.value("self"), node.value(other), _same_batches(node, "self", other))


@converts("aten.addmm.default", "aten.baddbmm.default", "aten.addmv.default")
def added_product(c: Emitter, node: NodeView) -> Value:
    """`beta self + alpha (a b)`."""
    names = {"addmm": ("mat1", "mat2"), "addmv": ("mat", "vec")}.get(node.operator, ("batch1", "batch2"))
    x, (a, b) = node.value("self"), (node.value(name) for name in names)
    y = _scaled(c, matmul(c, a, b), node.number("alpha"))
    beta = node.number("beta")
    if beta == 0:  # NaN in self then does not count
        return y
    x = _scaled(c, x, beta)
    return c.op("nn.bias_add", y, x, axis=1) if y.rank == 2 and x.shape == y.shape[1:] else c.op("add", y, x)


def _scaled(c: Emitter, x: Value, factor: float) -> Value:
    return x if factor == 1 else c.op("multiply", x, as_tensor(c, factor, x.element))


@converts("aten.outer.default", "aten.ger.default")
def outer(c: Emitter, node: NodeView) -> Value:
    a, b = node.value("self"), node.value("vec2")
    return c.op("multiply", c.op("expand_dims", a, axis=1), b)


@converts("aten.einsum.default")
def einsum_(c: Emitter, node: NodeView) -> Value:
    node.ignore("path")  # the order of the products
    return einsum(c, node.string("equation"), node.values("tensors"))


@converts("aten.bilinear.default")
def bilinear(c: Emitter, node: NodeView) -> Value:
    """`a^T W[k] b` for each k."""
    a, b, weight, bias = node.value("input1"), node.value("input2"), node.value("weight"), node.optional("bias")
    y = einsum(c, "...i,kij,...j->...k", [a, weight, b])
    return y if bias is None else c.op("add", y, bias)


@converts("aten._cdist_forward.default")
def cdist(c: Emitter, node: NodeView) -> Value:
    """The norm of the difference of each pair of rows."""
    node.ignore("compute_mode")  # how, not what
    a, b = node.value("x1"), node.value("x2")
    apart = c.op("subtract", c.op("expand_dims", a, axis=a.rank - 1), c.op("expand_dims", b, axis=b.rank - 2))
    return norm(c, apart, node.real("p"), (apart.rank - 1,), False)


# Attention.


@converts("aten.scaled_dot_product_attention.default")
def attention(c: Emitter, node: NodeView) -> Value:
    """`softmax(scale q k^T + mask) v`; rows whose mask lets nothing through are zero, as torch has it."""
    if node.real("dropout_p") != 0:
        raise Problem("argument 'dropout_p' is not 0: export the module in eval() mode")
    q, k, v = (node.value(name) for name in ("query", "key", "value"))
    mask, causal = node.optional("attn_mask"), node.flag("is_causal")
    scale = node.optional_number("scale")
    width = q.static_shape("attention needs the width of the query", [q.rank - 1])[-1]
    factor = 1 / math.sqrt(width) if scale is None and width else float(scale or 0)
    if node.flag("enable_gqa"):
        k, v = (_shared_heads(c, x, q) for x in (k, v))
    order = [*range(k.rank - 2), k.rank - 1, k.rank - 2]
    same = _same_batches(node, "query", "key", "value")
    scores = _product(c, c.op("multiply", q, c.scalar(factor, q)), c.transpose(k, order), same)
    allowed: Value | None = None
    if causal:
        rows, columns = scores.static_shape("causal attention needs the lengths")[-2:]
        ones = c.op("full", c.scalar(1, q.element), shape=(rows, columns))
        allowed = c.op("not_equal", c.op("trilu", ones, upper=False), c.scalar(0, q.element))
    elif mask is not None:
        if is_bool(mask.element):
            allowed = mask
        else:
            scores = c.op("add", scores, c.cast(mask, scores.element))
    return _product(c, _weights(c, scores, allowed, mask is not None and allowed is not mask), v, same)


def _weights(c: Emitter, scores: Value, allowed: Value | None, masked: bool) -> Value:
    """The softmax along the keys, 0 where a row has no key that counts."""
    if allowed is not None:
        scores = c.op("where", allowed, scores, c.scalar(-math.inf, scores))
    weights = c.op("nn.softmax", scores, axis=scores.rank - 1)
    if allowed is None and not masked:
        return weights
    if allowed is not None:
        open_ = c.op("any", allowed, axis=(allowed.rank - 1,), keepdims=True)
    else:
        shut = c.op("equal", scores, c.scalar(-math.inf, scores))
        open_ = c.op("logical_not", c.op("all", shut, axis=(scores.rank - 1,), keepdims=True))
    if open_.known and bool(open_.array().all()):
        return weights
    return c.op("where", open_, weights, c.scalar(0, weights))


def _shared_heads(c: Emitter, x: Value, q: Value) -> Value:
    """The heads of keys or values repeated for the groups of query heads that share them."""
    own, wanted = (y.static_shape("shared heads need their number", [y.rank - 3])[y.rank - 3] for y in (x, q))
    return x if own == wanted else c.op("repeat", x, repeats=wanted // own, axis=x.rank - 3)
