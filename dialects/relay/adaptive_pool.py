"""Adaptive pools: each spatial dimension is cut into as many parts as the result has, and each part is reduced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.lazy import arith
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder, dims, identity
from relay_mlir.dialects.relay.op import Operator, Pattern, operator
from relay_mlir.dialects.relay.pool import reduce_windows
from relay_mlir.dialects.relay.pool_reduction import MAX, MEAN, PoolReduction
from relay_mlir.dialects.relay.types import Tensor, tensor
from relay_mlir.dialects.relay.window import (
    Windows,
    axes_of,
    check_layout,
    check_per_axis,
    check_rank,
    replace_dims,
    spatial_letters,
)

if TYPE_CHECKING:
    import numpy as np


def parts(length: int, count: int) -> list[tuple[int, int]]:
    """Where each of `count` parts of a dimension begins, and where it ends."""
    return [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]


@dataclass(frozen=True)
class AdaptivePool(Operator):
    """A pool to a given size. Part i of n elements cut into m goes from `floor(i n / m)` up to `ceil((i + 1) n / m)`.

    Parts may share elements. `layout` is any order of N, C and the spatial letters.
    """

    operands = ("data",)
    pattern = Pattern.OUT_FUSABLE
    RANK: ClassVar[int]
    """How many spatial dimensions there are."""
    REDUCTION: ClassVar[PoolReduction]
    """How a part is reduced."""

    output_size: tuple[int, ...]
    layout: str = ""

    @property
    def axes(self) -> tuple[int, ...]:
        """The spatial axes."""
        return axes_of(self.layout, spatial_letters(self.RANK))

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        check_layout(self.layout, "NC" + spatial_letters(self.RANK), "layout")
        check_per_axis(self.output_size, self.RANK, 1, "output_size")
        check_rank(types[0], self.layout, "data")
        self.REDUCTION.check(types[0].element_type)
        shape = types[0].get_shape()
        if any(shape[axis] == 0 for axis in self.axes):
            raise VerifyException("a spatial dimension has no elements to cut into parts")
        return [tensor(replace_dims(shape, self.axes, self.output_size), types[0].element_type)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        data = args[0]
        totals = self.REDUCTION.start(replace_dims(data.shape, self.axes, self.output_size), data.dtype)
        count = np.ones(replace_dims([1] * data.ndim, self.axes, self.output_size), np.int64)
        ranges = [parts(data.shape[axis], size) for axis, size in zip(self.axes, self.output_size, strict=True)]
        for position in product(*map(range, self.output_size)):
            source, target = [slice(None)] * data.ndim, [slice(None)] * data.ndim
            for axis, part, own in zip(self.axes, position, ranges, strict=True):
                source[axis], target[axis] = slice(*own[part]), slice(part, part + 1)
            values = data[tuple(source)]
            self.REDUCTION.add_all(totals[tuple(target)], values, self.axes)
            count[tuple(target)] = np.prod([values.shape[axis] for axis in self.axes])
        return [self.REDUCTION.finished(totals, count, data.dtype)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        lengths = [build.shape(args[0])[axis] for axis in self.axes]
        counts: list[int | SSAValue] = []
        if any(length % size for length, size in zip(lengths, self.output_size, strict=True)):
            totals = self._uneven_totals(build, args[0], lengths, results[0])
            if self.REDUCTION.counted:
                pairs = zip(lengths, self.output_size, strict=True)
                counts += [self._counts(build, length, size, results[0].element_type) for length, size in pairs]
        else:
            sizes = tuple(length // size for length, size in zip(lengths, self.output_size, strict=True))
            none = (0,) * self.RANK
            windows = Windows(sizes, sizes, (1,) * self.RANK, none, none)
            totals = reduce_windows(build, self.REDUCTION, windows, args[0], self.axes, results[0])
            counts += sizes
        return [self.REDUCTION.finish(build, totals, self.axes, counts, results[0])]

    def _uneven_totals(self, build: LinalgBuilder, data: SSAValue, lengths: Sequence[int], result: Tensor) -> SSAValue:
        """The totals of uneven parts: loops over the result, then over as many elements as the largest part has."""
        shape, element, reduction = result.get_shape(), result.element_type, self.REDUCTION
        rank, loops = len(shape), len(shape) + self.RANK
        largest = [
            max(end - start for start, end in parts(length, size))
            for length, size in zip(lengths, self.output_size, strict=True)
        ]

        def body(s: ScalarBuilder, _: SSAValue, total: SSAValue) -> SSAValue:
            at = [s.index(axis) for axis in range(rank)]
            inside = s.const(True, i1)
            for position, axis in enumerate(self.axes):
                start, end = _part(s, at[axis], lengths[position], self.output_size[position])
                element_at = s.add(start, s.index(rank + position))
                within = s.compare("lt", element_at, end)
                at[axis] = s.select(within, element_at, start)
                inside = s.insert(arith.AndIOp(inside, within))
            value = s.widen(s.extract(data, at))
            return s.select(inside, reduction.step(s, value, total, element), total)

        window = build.empty(largest, element)
        start = build.fill(reduction.neutral(element), shape, reduction.total_element(element))
        iterators = ["parallel"] * rank + ["reduction"] * self.RANK
        maps, out_maps = [dims(*range(rank, loops), rank=loops)], [dims(*range(rank), rank=loops)]
        return build.generic([window], maps, [start], out_maps, iterators, body)[0]

    def _counts(self, build: LinalgBuilder, length: int, size: int, element: Attribute) -> int | SSAValue:
        """How many elements the parts of one dimension have: a number, or a tensor where they differ."""
        sizes = {end - start for start, end in parts(length, size)}
        if len(sizes) == 1:
            return sizes.pop()
        wide = self.REDUCTION.total_element(element)

        def body(s: ScalarBuilder, _: SSAValue) -> SSAValue:
            start, end = _part(s, s.index(0), length, size)
            return s.from_index(s.sub(end, start), wide)

        return build.generic([], [], [build.empty([size], wide)], [identity(1)], ["parallel"], body)[0]


def _part(s: ScalarBuilder, part: SSAValue, length: int, count: int) -> tuple[SSAValue, SSAValue]:
    """`parts` as index arithmetic: where a part begins and ends."""
    scaled, divisor = s.mul(part, s.like(length, part)), s.like(count, part)
    start = s.insert(arith.DivUIOp(scaled, divisor))
    end = s.insert(arith.DivUIOp(s.add(scaled, s.like(length + count - 1, part)), divisor))
    return start, end


@dataclass(frozen=True)
class AdaptiveAvgPool(AdaptivePool):
    """The mean of each part; integers divide towards zero."""

    REDUCTION = MEAN


@dataclass(frozen=True)
class AdaptiveMaxPool(AdaptivePool):
    """The maximum of each part; NaN where the part has one."""

    REDUCTION = MAX


@operator
class AdaptiveAvgPool1D(AdaptiveAvgPool):
    """Mean of each part of a sequence, (N, C, W) by default. Relay `nn.adaptive_avg_pool1d`."""

    name = "nn.adaptive_avg_pool1d"
    RANK = 1
    layout: str = "NCW"


@operator
class AdaptiveAvgPool2D(AdaptiveAvgPool):
    """Mean of each part of an image, (N, C, H, W) by default. Relay `nn.adaptive_avg_pool2d`."""

    name = "nn.adaptive_avg_pool2d"
    RANK = 2
    layout: str = "NCHW"


@operator
class AdaptiveAvgPool3D(AdaptiveAvgPool):
    """Mean of each part of a volume, (N, C, D, H, W) by default. Relay `nn.adaptive_avg_pool3d`."""

    name = "nn.adaptive_avg_pool3d"
    RANK = 3
    layout: str = "NCDHW"


@operator
class AdaptiveMaxPool1D(AdaptiveMaxPool):
    """Maximum of each part of a sequence, (N, C, W) by default. Relay `nn.adaptive_max_pool1d`."""

    name = "nn.adaptive_max_pool1d"
    RANK = 1
    layout: str = "NCW"


@operator
class AdaptiveMaxPool2D(AdaptiveMaxPool):
    """Maximum of each part of an image, (N, C, H, W) by default. Relay `nn.adaptive_max_pool2d`."""

    name = "nn.adaptive_max_pool2d"
    RANK = 2
    layout: str = "NCHW"


@operator
class AdaptiveMaxPool3D(AdaptiveMaxPool):
    """Maximum of each part of a volume, (N, C, D, H, W) by default. Relay `nn.adaptive_max_pool3d`."""

    name = "nn.adaptive_max_pool3d"
    RANK = 3
    layout: str = "NCDHW"


__all__ = [
    "AdaptiveAvgPool",
    "AdaptiveAvgPool1D",
    "AdaptiveAvgPool2D",
    "AdaptiveAvgPool3D",
    "AdaptiveMaxPool",
    "AdaptiveMaxPool1D",
    "AdaptiveMaxPool2D",
    "AdaptiveMaxPool3D",
    "AdaptivePool",
    "parts",
]
