"""Operators of torch, family by family: what a program of many of them gives, against torch itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional as F  # noqa: E402

from test.support.torch_models import Functions, agree, export, interpreted, normal  # noqa: E402

INF, NAN = math.inf, math.nan


EDGES = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e-30, 30.0, -30.0, 0.5, 1e30])


def test_functions_of_one_tensor():
    names = "abs neg sign exp log sqrt rsqrt sin cos tanh sigmoid erf ceil floor trunc round reciprocal square log2"
    names += " log10 expm1 log1p exp2 sinh cosh asinh atan isnan isinf isfinite"
    agree([getattr(torch, name) for name in names.split()], EDGES.clamp(-40, 40))
    agree([torch.asin, torch.acos, torch.atanh, torch.frac], normal(3, 5).clamp(-0.9, 0.9))
    agree([torch.tan, torch.acosh], normal(3, 5).abs() + 1)


def test_functions_make_floats_of_integers():
    x = torch.tensor([0, 1, 4, -3], dtype=torch.int32)
    agree([torch.exp, torch.abs, torch.neg, torch.sign, torch.sigmoid, torch.floor, torch.reciprocal], x)


def test_small_numbers_keep_their_digits():
    x = torch.tensor([1e-8, -3e-5, 1e-3, 0.2, -0.4])
    program = export(Functions([torch.expm1, torch.log1p]), x)
    for found, expected in zip(interpreted(program, [x]), [torch.expm1(x), torch.log1p(x)], strict=True):
        assert ((found - expected.numpy()) / expected.numpy()).__abs__().max() < 1e-5


def test_activations():
    functions = [
        F.relu,
        F.relu6,
        F.hardtanh,
        F.hardswish,
        F.hardsigmoid,
        F.silu,
        F.gelu,
        lambda x: F.gelu(x, approximate="tanh"),
        lambda x: F.leaky_relu(x, 0.2),
        lambda x: F.elu(x, 0.7),
        F.selu,
        lambda x: F.celu(x, 0.5),
        lambda x: F.softplus(x, 2.0, 5.0),
        F.mish,
        F.logsigmoid,
        F.softsign,
        lambda x: F.threshold(x, 0.1, 20.0),
        lambda x: F.hardshrink(x, 0.4),
        lambda x: F.softshrink(x, 0.4),
        lambda x: F.softmax(x, -1),
        lambda x: F.log_softmax(x, 0),
        lambda x: F.softmin(x, 0),
        lambda x: F.dropout(x, 0.5, training=False),
        lambda x: F.hardtanh(x, -2, 0.5),
        lambda x: F.rrelu(x, 0.1, 0.3),
    ]
    agree(functions, normal(4, 6) * 4)
    agree(functions[:5] + functions[8:12], EDGES)
    agree([lambda x: F.glu(x, 1), lambda x: F.prelu(x, torch.tensor([0.1, 0.2, 0.3, 0.4]))], normal(2, 4, 3))


ARITHMETIC: list[Callable[..., Any]] = [
    lambda x, y: x + y,
    lambda x, y: x - y * 2,
    lambda x, y: torch.add(x, y, alpha=3),
    lambda x, y: torch.sub(x, y, alpha=2),
    lambda x, y: x * y,
    lambda x, y: x / y,
    lambda x, y: x + 1.5,
    lambda x, y: 2 - x,
    lambda x, y: x * 3,
    lambda x, y: x**2,
    lambda x, y: torch.maximum(x, y),
    lambda x, y: torch.minimum(x, y),
    lambda x, y: x == y,
    lambda x, y: x < y,
    lambda x, y: x >= 1,
    lambda x, y: torch.where(x > y, x, y),
    lambda x, y: torch.div(x, y, rounding_mode="floor"),
    lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    lambda x, y: x // 2,
    lambda x, y: x % 3,
    lambda x, y: torch.remainder(x, y),
    lambda x, y: torch.fmod(x, y),
    lambda x, y: torch.clamp(x, -1, 1),
    lambda x, y: torch.clamp(x, min=0),
]
TYPES = ["float32", "float64", "int32", "int64"]


@pytest.mark.parametrize("left", TYPES)
@pytest.mark.parametrize("right", ["float32", "float16", "int32", "uint8"])
def test_arithmetic_promotes_types(left: str, right: str):
    x = torch.tensor([[7, -3, 5], [0, 2, -8]]).to(getattr(torch, left))
    y = torch.tensor([2, 3, 1]).to(getattr(torch, right))
    agree(ARITHMETIC, x, y, tolerance=1e-3 if "float16" in (left, right) else 1e-5)


def test_arithmetic_with_scalars_and_0d_tensors():
    scalar = torch.tensor(2.5, dtype=torch.float64)
    functions = [
        lambda x, i, s: x * s,
        lambda x, i, s: i * s,
        lambda x, i, s: i + 0.5,
        lambda x, i, s: i > 1.5,
        lambda x, i, s: i == s,
        lambda x, i, s: i + True,
        lambda x, i, s: (i > 1) + i,
        lambda x, i, s: (i > 1) | (i < 0),
        lambda x, i, s: (i > 1) * (i < 3),
        lambda x, i, s: (i > 1) + (i < 0),
        lambda x, i, s: torch.pow(2, i),
        lambda x, i, s: torch.pow(x.abs(), 1.3),
        lambda x, i, s: x**0.5,
        lambda x, i, s: i**3,
        lambda x, i, s: torch.lerp(x, x * 2, 0.3),
        lambda x, i, s: torch.addcmul(x, x, x, value=0.5),
        lambda x, i, s: torch.addcdiv(x, x, x + 9, value=2),
        lambda x, i, s: torch.atan2(x, x + 1),
        lambda x, i, s: torch.hypot(x, s.float()),
        lambda x, i, s: x.to(torch.int32),
        lambda x, i, s: x.bool(),
        lambda x, i, s: i.half(),
        lambda x, i, s: i.type_as(x),
        lambda x, i, s: torch.where(i > 1, x, 0.0),
        lambda x, i, s: x.masked_fill(i > 1, -INF),
        lambda x, i, s: torch.clamp(x, x - 1, s.float()),
    ]
    agree(functions, normal(4), torch.tensor([0, 1, 2, 3], dtype=torch.int32), scalar, tolerance=1e-5)


def test_bits_and_logic():
    functions = [
        lambda x, y: x & y,
        lambda x, y: x | 5,
        lambda x, y: x ^ y,
        lambda x, y: ~x,
        lambda x, y: x << 2,
        lambda x, y: x >> 1,
        lambda x, y: torch.logical_and(x, y),
        lambda x, y: torch.logical_or(x, y),
        lambda x, y: torch.logical_xor(x, y),
        lambda x, y: torch.logical_not(x),
    ]
    agree(functions, torch.tensor([0, 1, -7, 100]), torch.tensor([3, 0, 5, 6]))


def test_reductions():
    functions = [
        torch.sum,
        lambda x: x.sum(1),
        lambda x: x.sum((0, -1), keepdim=True),
        torch.mean,
        lambda x: x.mean(-1, keepdim=True),
        lambda x: x.prod(1),
        torch.prod,
        lambda x: x.amax((0, 2)),
        lambda x: x.amin(1, keepdim=True),
        torch.max,
        lambda x: x.max(1),
        lambda x: x.min(-1, keepdim=True),
        torch.argmax,
        lambda x: x.argmin(1),
        lambda x: x.var(1),
        lambda x: x.var((0, 2), unbiased=False, keepdim=True),
        lambda x: x.std(),
        lambda x: torch.var(x, dim=2, correction=2),
        lambda x: torch.var_mean(x, 1),
        lambda x: torch.linalg.vector_norm(x, dim=1),
        lambda x: torch.linalg.vector_norm(x, 3, (0, 1), keepdim=True),
        lambda x: torch.linalg.vector_norm(x, INF),
        lambda x: torch.norm(x, dim=1),
        lambda x: torch.logsumexp(x, 1),
        lambda x: x.cumsum(1),
        lambda x: x.cumprod(-1),
        lambda x: (x > 0).any(),
        lambda x: (x > 0).all(1),
        lambda x: (x > 0).sum(1),
        lambda x: torch.count_nonzero(x, 1),
        lambda x: F.normalize(x, dim=1),
    ]
    agree(functions, normal(2, 3, 4), tolerance=1e-5)
    agree([torch.sum, torch.max, lambda x: x.sum(0), lambda x: x.cumsum(0), torch.argmax], torch.tensor(2.5))
    agree([torch.sum, lambda x: x.sum(0), lambda x: x.mean(1), lambda x: (x > 0).all()], torch.zeros(2, 0))
    agree([torch.sum, lambda x: x.cumsum(0), torch.max], torch.tensor([3, -4, 5], dtype=torch.int32))


def test_shapes():
    functions = [
        lambda x: x.view(6, 4),
        lambda x: x.reshape(-1, 2),
        lambda x: x.flatten(1),
        lambda x: x.unflatten(2, (2, 2)),
        lambda x: x.permute(2, 0, 1),
        lambda x: x.transpose(0, -1),
        lambda x: x[0].t(),
        lambda x: x.mT,
        lambda x: x.unsqueeze(-1).squeeze(-1),
        lambda x: x[:1].squeeze(),
        lambda x: x[:, :1].expand(-1, 5, -1),
        lambda x: x.repeat(2, 1, 1, 2),
        lambda x: x.repeat_interleave(2, 1),
        lambda x: x.flip(0, 2),
        lambda x: x.roll(1, 1),
        lambda x: x.roll((5, -1), (0, 2)),
        lambda x: torch.movedim(x, 0, 2),
        lambda x: torch.cat([x, x * 2], 1),
        lambda x: torch.cat([x, x.to(torch.float64)], -1),
        lambda x: torch.stack([x, x], 1),
        lambda x: x.split(2, 1),
        lambda x: x.split([1, 3], 2),
        lambda x: x.chunk(3, 2),
        lambda x: x.tensor_split(3, 2),
        lambda x: x.unbind(1),
        lambda x: x.clone().contiguous().detach(),
        lambda x: torch.broadcast_to(x[:, :1], (2, 3, 4)),
        lambda x: F.pad(x, (1, 2, 0, -1), value=7.0),
        lambda x: F.pad(x, (2, 1), mode="reflect"),
        lambda x: F.pad(x, (2, 1), mode="replicate"),
        lambda x: F.pad(x, (2, 1), mode="circular"),
        lambda x: x.tril(-1),
        lambda x: x.triu(1),
        lambda x: F.pixel_shuffle(x.reshape(1, 4, 2, 3), 2),
        lambda x: F.pixel_unshuffle(x.reshape(1, 1, 4, 6), 2),
    ]
    agree(functions, normal(2, 3, 4))


def test_indexing():
    at = torch.tensor([2, 0, -1])
    functions = [
        lambda x, i: x[1],
        lambda x, i: x[:, -1],
        lambda x, i: x[:, 1:, ::2],
        lambda x, i: x[..., -3:-1],
        lambda x, i: x.narrow(1, 1, 2),
        lambda x, i: x.index_select(1, i.abs()),
        lambda x, i: x[:, i],
        lambda x, i: x[:, i, i],
        lambda x, i: x[i.clamp(0, 1), :, i],
        lambda x, i: x[:, :, i[:, None], None],
        lambda x, i: x.gather(2, i.abs().expand(2, 3, 3)),
        lambda x, i: F.embedding(i.abs(), x[0]),
        lambda x, i: F.one_hot(i.abs(), 4),
        lambda x, i: x.scatter(1, i.abs().reshape(1, 3, 1).expand(2, 3, 4), x * 2),
        lambda x, i: x.scatter(2, i.abs().reshape(1, 1, 3), 5.0),
        lambda x, i: torch.zeros(4, 4).scatter_add(0, i.abs().reshape(1, 3), x[:1, 0, :3]),
        lambda x, i: x.index_put((i.clamp(0, 1), i), x[0, :3]),
        lambda x, i: torch.select_scatter(x, x[:, 0], 1, 2),
        lambda x, i: torch.slice_scatter(x, x[:, :2], 1, 1, 3),
        lambda x, i: torch.slice_scatter(x, x[:, :2], 1, 0, 3, 2),
        lambda x, i: x.topk(2, -1),
        lambda x, i: x.topk(2, 1, largest=False),
        lambda x, i: x.sort(1),
        lambda x, i: x.argsort(-1, descending=True),
        lambda x, i: torch.take(x, i),
        lambda x, i: x.diagonal(0, 1, 2),
        lambda x, i: x.diagonal(-1, 2, 0),
        lambda x, i: x.scatter_reduce(1, i.abs().reshape(1, 3, 1).expand(2, 3, 4), x * 2, "amax"),
        lambda x, i: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])),
    ]
    agree(functions, normal(2, 3, 4), at)


def test_writing_in_place():
    def written(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y[:, 1] = 3
        y[0].add_(1)
        y[y > 2] = -1.0
        return y.mul_(2)

    def put(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        at = torch.tensor([1, 0, 1])
        y, z = x.clone(), x.clone()
        y[:, at, at + 1] = x[:, :, 0]
        z[at, :, at] = 7.0
        return y, z

    agree([written, put], normal(2, 3, 4))


def test_new_tensors():
    functions = [
        lambda x: torch.zeros(2, 3),
        lambda x: torch.ones(3, dtype=torch.int32),
        lambda x: torch.full((2, 2), 1.5),
        lambda x: torch.zeros_like(x) + torch.ones_like(x, dtype=torch.float64),
        lambda x: torch.full_like(x, 3),
        lambda x: torch.arange(5),
        lambda x: torch.arange(1, 7, 2, dtype=torch.float32),
        lambda x: torch.arange(0.0, 1.0, 0.25),
        lambda x: torch.linspace(0, 1, 5),
        lambda x: torch.eye(3),
        lambda x: x.new_zeros(3),
        lambda x: torch.tensor([1, 2, 3]) + 1,
        lambda x: torch.scalar_tensor(3.0) * x,
    ]
    agree(functions, normal(2, 2))


def test_products():
    x, y, v = normal(2, 3, 4), normal(2, 4, 5), normal(4)
    functions = [
        lambda x, y, v: x @ y,
        lambda x, y, v: x[0] @ y[0],
        lambda x, y, v: torch.bmm(x, y),
        lambda x, y, v: torch.mm(x[0], y[0]),
        lambda x, y, v: x @ v,
        lambda x, y, v: v @ y[0],
        lambda x, y, v: torch.dot(v, v),
        lambda x, y, v: torch.mv(x[0], v),
        lambda x, y, v: torch.outer(v, v),
        lambda x, y, v: torch.addmm(y[0, 0], x[0], y[0], beta=2, alpha=0.5),
        lambda x, y, v: torch.baddbmm(y[:, :3], x, y),
        lambda x, y, v: F.linear(x, y[0].t(), y[0, 0]),
        lambda x, y, v: F.linear(v, x[0]),
        lambda x, y, v: torch.einsum("bij,bjk->bki", x, y),
        lambda x, y, v: torch.einsum("...i,i->...", x, v),
        lambda x, y, v: torch.matmul(x[:, None], y[None]),
        lambda x, y, v: torch.cosine_similarity(x[0], x[1]),
        lambda x, y, v: F.bilinear(x, x, y[:1].transpose(1, 2)[:, :4, :].expand(2, 4, 4), v[:2]),
        lambda x, y, v: torch.cdist(x, x[:, :2] + 1),
    ]
    agree(functions, x, y, v)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_float_types(dtype: str):
    x = (normal(3, 4) * 2).to(getattr(torch, dtype))
    functions = [lambda x: x + 1, torch.relu, lambda x: x @ x.t(), lambda x: x.sum(1), lambda x: x.softmax(-1)]
    agree(functions, x, tolerance={"float16": 2e-3, "bfloat16": 2e-2, "float64": 1e-12}[dtype])
