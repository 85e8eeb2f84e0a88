"""Resizing of images, sampling at points, and moving channels into pixels."""

from __future__ import annotations

from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.torch.node import NodeView
from relay_mlir.frontends.torch.registry import converts
from relay_mlir.frontends.torch.windows import RANKS

_LINEAR = {"upsample_linear1d": 1, "upsample_bilinear2d": 2, "upsample_trilinear3d": 3}
_NEAREST = {f"{name}{RANKS[rank]}": rank for name in ("upsample_nearest", "_upsample_nearest_exact") for rank in RANKS}


def _target(node: NodeView, x: Value, rank: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The sizes of the result, and the scales where the caller gave them (they then decide the positions)."""
    sizes = node.sizes()[2:]
    if len(sizes) != rank:
        raise Problem(f"the input must have {rank} spatial dimensions, but is {x.type}")
    node.ignore("output_size")  # it is in the type of the result
    if node.has("scale_factors"):
        found = node.find("scale_factors")
        scales = (
            tuple(float(item) for item in found if isinstance(item, int | float)) if isinstance(found, list) else ()
        )
    else:
        names = ["scales"] if rank == 1 else ["scales_d", "scales_h", "scales_w"][-rank:]
        given = [node.optional_number(name) for name in names]
        scales = tuple(float(item) for item in given if item is not None)
    if scales and len(scales) != rank:
        raise Problem(f"{len(scales)} scales are given for {rank} spatial dimensions")
    return sizes, scales


@converts(*(f"aten.{name}" for name in (*_LINEAR, "upsample_bicubic2d")))
def interpolated(c: Emitter, node: NodeView) -> Value:
    x = node.value("input" if node.has("input") else "self")
    rank = _LINEAR.get(node.operator, 2)
    sizes, scales = _target(node, x, rank)
    aligned = node.flag("align_corners")
    return c.op(
        f"image.resize{RANKS[rank]}",
        x,
        size=sizes,
        scales=() if aligned else scales,
        method="cubic" if node.operator == "upsample_bicubic2d" else "linear",
        coordinate_transformation_mode="align_corners" if aligned else "half_pixel",
        cubic_alpha=-0.75,
    )


@converts(*(f"aten.{name}" for name in _NEAREST))
def nearest(c: Emitter, node: NodeView) -> Value:
    x = node.value("input" if node.has("input") else "self")
    rank = _NEAREST[node.operator]
    sizes, scales = _target(node, x, rank)
    exact = node.operator.startswith("_")
    return c.op(
        f"image.resize{RANKS[rank]}",
        x,
        size=sizes,
        scales=scales,
        method="nearest_neighbor",
        coordinate_transformation_mode="half_pixel" if exact else "asymmetric",
        rounding_method="round_prefer_ceil" if exact else "floor",
    )


@converts("aten.pixel_shuffle.default", "aten.pixel_unshuffle.default")
def pixel_shuffle(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    if x.rank != 4:
        raise Problem(f"the input must be (N, C, H, W), but is {x.type}")
    if node.operator == "pixel_shuffle":
        return c.op("nn.depth_to_space", x, block_size=node.integer("upscale_factor"), mode="CRD")
    factor = node.integer("downscale_factor")
    n, channels, height, width = x.static_shape("moving pixels into channels needs the sizes")
    cut = c.reshape(x, (n, channels, height // factor, factor, width // factor, factor))
    moved = c.transpose(cut, (0, 1, 3, 5, 2, 4))
    return c.reshape(moved, (n, channels * factor * factor, height // factor, width // factor))


@converts("aten.grid_sampler.default", "aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default")
def grid_sampler(c: Emitter, node: NodeView) -> Value:
    x, grid = node.value("input"), node.value("grid")
    methods, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return c.op(
        "image.grid_sample",
        x,
        c.transpose(grid, (0, grid.rank - 1, *range(1, grid.rank - 1))),
        method=methods[node.integer("interpolation_mode")],
        padding_mode=paddings[node.integer("padding_mode")],
        layout="NCHW" if x.rank == 4 else "NCDHW",
        align_corners=node.flag("align_corners"),
    )
