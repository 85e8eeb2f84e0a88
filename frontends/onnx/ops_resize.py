"""Resize and Upsample on any axes, and sampling at the points of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from typing import Any

from relay_mlir.dialects.relay.types import normalize_axes
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.registry import converts

METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "bilinear": "linear", "cubic": "cubic"}
_AT_ONCE = 3
"""How many axes one relay operator resizes; more are resized one after another, since every method is separable."""


@dataclass(frozen=True)
class Axis:
    """One resized axis. `scale` is None where it is the quotient of the sizes; `region` is that of a crop."""

    axis: int
    size: int
    scale: float | None
    region: tuple[float, float] | None = None


def resized(c: Emitter, x: Value, axes: Sequence[Axis], **attributes: Any) -> Value:
    """The tensor resampled along axes; those that stay as they are are left out."""
    changed = [
        entry
        for entry in axes
        if entry.size != x.shape[entry.axis] or entry.scale not in (None, 1.0) or entry.region not in (None, (0.0, 1.0))
    ]
    for start in range(0, len(changed), _AT_ONCE):
        x = _resize(c, x, changed[start : start + _AT_ONCE], attributes)
    return x


def _resize(c: Emitter, x: Value, axes: Sequence[Axis], attributes: dict[str, Any]) -> Value:
    axes = sorted(axes, key=lambda entry: entry.axis)
    spatial = dict(zip((entry.axis for entry in axes), "DHW"[-len(axes) :], strict=True))
    others = iter("NCABEFGIJKLMOPQRSTUVXYZ")
    layout = "".join(spatial.get(axis) or next(others) for axis in range(x.rank))
    roi = ()
    if any(entry.region is not None for entry in axes):
        regions = [entry.region or (0.0, 1.0) for entry in axes]
        roi = (*(start for start, _ in regions), *(end for _, end in regions))
    scales = [entry.size / x.shape[entry.axis] if entry.scale is None else entry.scale for entry in axes]
    given = any(entry.scale is not None for entry in axes)
    return c.op(
        f"image.resize{len(axes)}d",
        x,
        size=tuple(entry.size for entry in axes),
        scales=tuple(scales) if given else (),
        layout=layout,
        roi=roi,
        **attributes,
    )


def _scaled_axes(x: Value, scales: Sequence[float], axes: Sequence[int]) -> list[Axis]:
    """The axes of a tensor with a factor for each, sizes rounded down."""
    if len(scales) != len(axes):
        raise Problem(f"scales must have {len(axes)} entries, but is {list(scales)}")
    shape = x.static_shape("resizing needs the sizes of the resized axes", axes)
    if any(not scale > 0 for scale in scales):
        raise Problem(f"scales must be positive, but are {list(scales)}")
    return [Axis(axis, floor(shape[axis] * scale), scale) for axis, scale in zip(axes, scales, strict=True)]


def _upsampled(c: Emitter, x: Value, scales: Sequence[float], mode: str) -> Value:
    """Resampling as before opset 11: positions divided by the factor; neighbours below, or above when shrinking."""
    axes = _scaled_axes(x, scales, [axis for axis in range(x.rank)])
    common: dict[str, Any] = {"method": METHODS[mode], "coordinate_transformation_mode": "asymmetric"}
    x = resized(c, x, [entry for entry in axes if (entry.scale or 1.0) >= 1], rounding_method="floor", **common)
    return resized(c, x, [entry for entry in axes if (entry.scale or 1.0) < 1], rounding_method="ceil", **common)


@converts("Upsample")
def upsample_before_7(c: Emitter, node: NodeView) -> Value:
    scales = (1.0, 1.0, node.real("height_scale"), node.real("width_scale"))
    return _upsampled(c, node.input(0), scales, node.choice("mode", "nearest", "bilinear"))


@converts("Upsample", since=7)
def upsample_before_9(c: Emitter, node: NodeView) -> Value:
    return _upsampled(c, node.input(0), node.reals("scales"), node.choice("mode", "nearest", "linear"))


@converts("Upsample", since=9)
@converts("Resize", since=10)
def upsample(c: Emitter, node: NodeView) -> Value:
    scales = [float(v) for v in node.known(1).reshape(-1)]
    return _upsampled(c, node.input(0), scales, node.choice("mode", "nearest", "linear"))


@converts("Resize", since=11)
def resize(c: Emitter, node: NodeView) -> Value:
    x = node.input(0)
    axes = node.integers("axes", None) if node.opset >= 18 else None
    axes = tuple(range(x.rank)) if axes is None else normalize_axes(axes, x.rank)
    coordinates = node.string("coordinate_transformation_mode")
    rounding = node.string("nearest_mode")
    exclude = node.flag("exclude_outside")
    method = METHODS[node.choice("mode", "nearest", "linear", "cubic")]
    attributes = {
        "method": method,
        "coordinate_transformation_mode": coordinates,
        "rounding_method": rounding,
        "cubic_alpha": node.real("cubic_coeff_a"),
        "cubic_exclude": int(exclude),
        "extrapolation_value": node.real("extrapolation_value"),
        "antialias": node.flag("antialias") if node.opset >= 18 and method != "nearest_neighbor" else False,
    }
    node.ignore("antialias")  # nearest neighbours are not weighted
    entries = _region(node, _resize_axes(node, x, axes), axes, coordinates == "tf_crop_and_resize")
    return resized(c, x, entries, **attributes)


def _resize_axes(node: NodeView, x: Value, axes: Sequence[int]) -> list[Axis]:
    """The sizes and factors, of which exactly one is given (an empty tensor counts as not given)."""
    scales, sizes = node.known_or_none(2), node.known_ints(3)
    policy = node.choice("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller") if node.opset >= 18 else ""
    if scales is not None and scales.size:
        if sizes:
            raise Problem("inputs 2 (scales) and 3 (sizes) exclude each other")
        return _scaled_axes(x, [float(v) for v in scales.reshape(-1)], axes)
    if not sizes or len(sizes) != len(axes):
        raise Problem(f"input 3 (sizes) must have {len(axes)} entries, but is {list(sizes or ())}")
    shape = x.static_shape("resizing needs the sizes of the resized axes", axes)
    if policy in ("", "stretch"):
        return [Axis(axis, size, None) for axis, size in zip(axes, sizes, strict=True)]
    choose = min if policy == "not_larger" else max
    scale = choose(size / shape[axis] for axis, size in zip(axes, sizes, strict=True))
    return [Axis(axis, floor(scale * shape[axis] + 0.5), scale) for axis in axes]


def _region(node: NodeView, entries: list[Axis], axes: Sequence[int], crop: bool) -> list[Axis]:
    """The axes with the region of interest, which counts in one coordinate mode only."""
    value = node.optional(1)
    if not crop or value is None:
        return entries
    roi = [float(v) for v in node.known(1).reshape(-1)]
    if len(roi) != 2 * len(axes):
        raise Problem(f"input 1 (roi) must have {2 * len(axes)} entries, but is {roi}")
    starts, ends = roi[: len(axes)], roi[len(axes) :]
    return [
        Axis(entry.axis, entry.size, entry.scale, (start, end))
        for entry, start, end in zip(entries, starts, ends, strict=True)
    ]


@converts("GridSample", since=16)
def grid_sample(c: Emitter, node: NodeView) -> Value:
    x, grid = node.input(0), node.input(1)
    modes = ("bilinear", "nearest", "bicubic") if node.opset < 20 else ("linear", "nearest", "cubic")
    method = ("bilinear", "nearest", "bicubic")[modes.index(node.choice("mode", *modes))]
    if x.rank not in (4, 5) or grid.rank != x.rank:
        raise Problem(f"images of 2 or 3 dimensions are supported, but the input is {x.type} with a grid {grid.type}")
    return c.op(
        "image.grid_sample",
        x,
        c.transpose(grid, (0, grid.rank - 1, *range(1, grid.rank - 1))),  # Relay has the coordinates second
        method=method,
        layout="NCHW" if x.rank == 4 else "NCDHW",
        padding_mode=node.choice("padding_mode", "zeros", "border", "reflection"),
        align_corners=node.flag("align_corners"),
    )
