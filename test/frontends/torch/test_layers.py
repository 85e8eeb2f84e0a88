"""Layers of neural networks: attention, convolutions, pools, normalizations, resizing, against torch itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional as F  # noqa: E402

from test.support.torch_models import agree, normal  # noqa: E402

INF = math.inf


def test_attention():
    q, k, v = normal(2, 4, 5, 8, seed=1), normal(2, 2, 6, 8, seed=2), normal(2, 2, 6, 8, seed=3)
    keep = torch.tensor([[True, False, True, True, False, True]]).expand(5, 6).clone()
    keep[3] = False
    bias = torch.where(keep, 0.5, -INF)

    def attend(**how: Any) -> Callable[..., Any]:
        return lambda q, k, v: F.scaled_dot_product_attention(q, k.repeat(1, 2, 1, 1), v.repeat(1, 2, 1, 1), **how)

    functions = [
        attend(),
        attend(is_causal=True),
        attend(attn_mask=keep),
        attend(attn_mask=bias, scale=0.3),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
    ]
    agree(functions, q, k, v)


def test_convolutions():
    weights = {rank: normal(6, 2, *[3] * rank, seed=rank) * 0.2 for rank in (1, 2, 3)}
    back = {rank: normal(4, 3, *[3] * rank, seed=rank) * 0.2 for rank in (1, 2, 3)}
    bias = normal(6)

    def conv(rank: int, **how: Any) -> Callable[..., Any]:
        function = getattr(F, f"conv{rank}d")
        return lambda x: function(x.reshape(1, 4, *_sizes(rank)), weights[rank], bias, groups=2, **how)

    def transposed(rank: int, **how: Any) -> Callable[..., Any]:
        function = getattr(F, f"conv_transpose{rank}d")
        return lambda x: function(x.reshape(1, 4, *_sizes(rank)), back[rank], bias, groups=2, **how)

    functions = [
        *(conv(rank, stride=2, padding=1) for rank in (1, 2, 3)),
        conv(2, padding="same", dilation=2),
        conv(2, padding="valid"),
        conv(1, padding="same"),
        conv(2, padding=(2, 0), stride=(1, 2)),
        *(transposed(rank, stride=2, padding=1, output_padding=1) for rank in (1, 2, 3)),
        transposed(2, dilation=2),
        lambda x: F.conv2d(x.reshape(4, 8, 16), weights[2], groups=2),
    ]
    agree(functions, normal(512))


def _sizes(rank: int) -> tuple[int, ...]:
    return {1: (128,), 2: (8, 16), 3: (4, 4, 8)}[rank]


def test_pools():
    functions = [
        lambda x: F.max_pool2d(x, 2),
        lambda x: F.max_pool2d(x, 3, 2, 1),
        lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
        lambda x: F.max_pool2d(x, 2, dilation=2),
        lambda x: F.max_pool2d(x, 2, return_indices=True),
        lambda x: F.avg_pool2d(x, 3, 2, 1),
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        lambda x: F.avg_pool2d(x, (2, 3), ceil_mode=True),
        lambda x: F.max_pool1d(x[0], 2),
        lambda x: F.avg_pool1d(x[0], 3, 1, 1),
        lambda x: F.max_pool3d(x, 2),
        lambda x: F.avg_pool3d(x, 2),
        lambda x: F.adaptive_avg_pool2d(x, 1),
        lambda x: F.adaptive_avg_pool2d(x, (3, None)),
        lambda x: F.adaptive_avg_pool1d(x[0], 3),
        lambda x: F.adaptive_max_pool2d(x, (2, 3)),
        lambda x: F.max_pool2d(x[0], 2),
    ]
    agree(functions, normal(2, 4, 7, 8))


def test_normalizations():
    mean, variance, scale, bias = normal(4), normal(4).abs() + 0.5, normal(4, seed=5), normal(4, seed=6)
    functions = [
        lambda x: F.batch_norm(x, mean, variance, scale, bias),
        lambda x: F.batch_norm(x, mean, variance),
        lambda x: F.layer_norm(x, (5, 6)),
        lambda x: F.layer_norm(x.transpose(1, 3), (4,), scale, bias),
        lambda x: F.layer_norm(x.transpose(1, 3), (4,), scale),
        lambda x: F.group_norm(x, 2, scale, bias),
        lambda x: F.instance_norm(x, weight=scale, bias=bias),
        lambda x: F.rms_norm(x.transpose(1, 3), (4,), scale),
        lambda x: F.local_response_norm(x, 3),
    ]
    agree(functions, normal(2, 4, 5, 6))


def test_resizing():
    functions = [
        lambda x: F.interpolate(x, scale_factor=2, mode="nearest"),
        lambda x: F.interpolate(x, size=(7, 3), mode="nearest"),
        lambda x: F.interpolate(x, size=(7, 9), mode="nearest-exact"),
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
        lambda x: F.interpolate(x, size=(7, 9), mode="bilinear", align_corners=True),
        lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear"),
        lambda x: F.interpolate(x, size=(9, 9), mode="bicubic"),
        lambda x: F.interpolate(x[0], scale_factor=2, mode="linear"),
        lambda x: F.grid_sample(x, torch.linspace(-1.2, 1.2, 24).reshape(1, 3, 4, 2).repeat(2, 1, 1, 1)),
    ]
    agree(functions, normal(2, 3, 4, 5))
