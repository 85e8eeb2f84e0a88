"""Pooling: windows that slide over one, two or three spatial dimensions, each reduced to one element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder, dim, dims
from relay_mlir.dialects.relay.op import Operator, Pattern, operator
from relay_mlir.dialects.relay.pool_reduction import MAX, MEAN, NormReduction, PoolReduction
from relay_mlir.dialects.relay.types import Tensor, element_type, tensor
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
    import numpy.typing as npt


def reduce_windows(
    build: LinalgBuilder,
    reduction: PoolReduction,
    windows: Windows,
    data: SSAValue,
    axes: Sequence[int],
    result: Tensor,
) -> SSAValue:
    """The totals of the windows over padded data: loops over the result, then over the offsets in a window."""
    shape, element = result.get_shape(), result.element_type
    rank, loops = len(shape), len(shape) + len(axes)
    exprs: list[AffineExpr] = [dim(axis) for axis in range(rank)]
    for position, axis in enumerate(axes):
        exprs[axis] = windows.position(position, axis, rank + position)
    # The window is an operand, of which only the shape matters: it gives the loops over offsets their bounds.
    window = build.empty(windows.sizes, element)
    start = build.fill(reduction.neutral(element), shape, reduction.total_element(element))

    def body(s: ScalarBuilder, value: SSAValue, _: SSAValue, total: SSAValue) -> SSAValue:
        return reduction.step(s, value, total, element)

    maps = [AffineMap(loops, 0, tuple(exprs)), dims(*range(rank, loops), rank=loops)]
    iterators = ["parallel"] * rank + ["reduction"] * len(axes)
    return build.generic([data, window], maps, [start], [dims(*range(rank), rank=loops)], iterators, body)[0]


@dataclass(frozen=True)
class Pool(Operator):
    """A pool of any rank. `padding` has every low side, then every high side; `layout` any order of N, C and spatial.

    With `ceil_mode` a last window may hang over the end of the padded data, unless it would start in the padding.
    """

    operands = ("data",)
    pattern = Pattern.OUT_FUSABLE
    RANK: ClassVar[int]
    """How many spatial dimensions there are."""

    pool_size: tuple[int, ...]
    strides: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()
    padding: tuple[int, ...] = ()
    layout: str = ""
    ceil_mode: bool = False

    @property
    def reduction(self) -> PoolReduction:
        """How a window is reduced."""
        raise NotImplementedError

    @property
    def padding_counts(self) -> bool:
        """Whether padding is counted among the elements of a window."""
        return False

    @property
    def axes(self) -> tuple[int, ...]:
        """The spatial axes."""
        return axes_of(self.layout, spatial_letters(self.RANK))

    @property
    def windows(self) -> Windows:
        """The windows; raises VerifyException where the attributes are malformed."""
        check_per_axis(self.pool_size, self.RANK, 1, "pool_size")
        return Windows.of(self.pool_size, self.strides, self.dilation, self.padding, "pool_size")

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        check_layout(self.layout, "NC" + spatial_letters(self.RANK), "layout")
        check_rank(types[0], self.layout, "data")
        self.reduction.check(types[0].element_type)
        shape = types[0].get_shape()
        counts = self.windows.counts([shape[axis] for axis in self.axes], self.ceil_mode)
        return [tensor(replace_dims(shape, self.axes, counts), types[0].element_type)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        data, windows, reduction = args[0], self.windows, self.reduction
        counts = windows.counts([data.shape[axis] for axis in self.axes], self.ceil_mode)
        low, high = windows.pads(data.shape, self.axes, counts)
        neutral = reduction.neutral(element_type(data.dtype))
        padded: npt.NDArray[Any] = np.pad(data, list(zip(low, high, strict=True)), constant_values=neutral)
        totals = reduction.start(replace_dims(data.shape, self.axes, counts), data.dtype)
        for _, slices in windows.offsets(counts):
            index = [slice(None)] * data.ndim
            for axis, part in zip(self.axes, slices, strict=True):
                index[axis] = part
            reduction.add_to(totals, padded[tuple(index)])
        count = np.ones([1] * data.ndim, np.int64)
        for position, axis in enumerate(self.axes):
            sizes = self._window_counts(position, data.shape[axis], counts[position])
            count = count * np.reshape(sizes, [-1 if a == axis else 1 for a in range(data.ndim)])
        return [reduction.finished(totals, count, data.dtype)]

    def _window_counts(self, position: int, length: int, count: int) -> list[int]:
        """How many elements each window along a spatial axis has; one where it has none, so that the mean is 0."""
        windows = self.windows
        start, end = self._counted(position, length)
        starts = [window * windows.strides[position] for window in range(count)]
        steps = [offset * windows.dilation[position] for offset in range(windows.sizes[position])]
        return [max(sum(start <= first + step < end for step in steps), 1) for first in starts]

    def _counted(self, position: int, length: int) -> tuple[int, int]:
        """The range of positions, in padded data, that are elements of a window."""
        low, high = self.windows.low[position], self.windows.high[position]
        return (0, low + length + high) if self.padding_counts else (low, low + length)

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        shape, element = results[0].get_shape(), results[0].element_type
        counts = [shape[axis] for axis in self.axes]
        lengths = [build.shape(args[0])[axis] for axis in self.axes]
        data = self.windows.pad(build, args[0], self.axes, counts, self.reduction.neutral(element))
        totals = reduce_windows(build, self.reduction, self.windows, data, self.axes, results[0])
        sizes: list[int | SSAValue] = []
        if self.reduction.counted:
            entries = zip(range(self.RANK), lengths, counts, strict=True)
            sizes = [self._lowered_counts(build, *entry, element) for entry in entries]
        return [self.reduction.finish(build, totals, self.axes, sizes, results[0])]

    def _lowered_counts(
        self, build: LinalgBuilder, position: int, length: int, count: int, element: Attribute
    ) -> int | SSAValue:
        """How many elements the windows along a spatial axis have: a number, or a tensor where they differ."""
        sizes = self._window_counts(position, length, count)
        if len(set(sizes)) <= 1:
            return sizes[0] if sizes else 0
        windows = self.windows
        first, end = self._counted(position, length)
        wide = self.reduction.total_element(element)

        def body(s: ScalarBuilder, _: SSAValue, total: SSAValue) -> SSAValue:
            start = s.mul(s.index(0), s.like(windows.strides[position], s.index(0)))
            step = s.mul(s.index(1), s.like(windows.dilation[position], s.index(1)))
            at = s.add(start, step)
            counted = s.select(s.compare("lt", at, s.like(end, at)), s.like(1, total), s.like(0, total))
            return s.add(total, s.select(s.compare("ge", at, s.like(first, at)), counted, s.like(0, total)))

        window = build.empty([windows.sizes[position]], element)
        start = build.fill(0, [count], wide)
        maps, out_maps = [dims(1, rank=2)], [dims(0, rank=2)]
        (counted,) = build.generic([window], maps, [start], out_maps, ["parallel", "reduction"], body)
        return build.elementwise([counted], tensor([count], wide), _at_least_one) if min(sizes) == 1 else counted


def _at_least_one(s: ScalarBuilder, count: SSAValue) -> SSAValue:
    return s.maximum(count, s.like(1, count))


@dataclass(frozen=True)
class MaxPool(Pool):
    """The maximum of each window, NaN where the window has one.

    Padding never wins: a window of padding alone gives -Inf, or the least integer.
    """

    @property
    def reduction(self) -> PoolReduction:
        return MAX


@dataclass(frozen=True)
class AvgPool(Pool):
    """The mean of each window; with `count_include_pad` the padding counts as zeros, except where a window hangs over.

    Without it a window of padding alone has no elements: its mean is 0. Integers divide towards zero.
    """

    count_include_pad: bool = False

    @property
    def reduction(self) -> PoolReduction:
        return MEAN

    @property
    def padding_counts(self) -> bool:
        return self.count_include_pad


@dataclass(frozen=True)
class LpPool(Pool):
    """The p-norm of each window of floats, `(sum |x|^p)^(1/p)`; padding counts as zeros. ONNX `LpPool`."""

    p: int = 2

    @property
    def reduction(self) -> PoolReduction:
        return NormReduction(self.p)


@operator
class MaxPool1D(MaxPool):
    """Maximum of each window of a sequence, (N, C, W) by default. Relay `nn.max_pool1d`, ONNX `MaxPool`."""

    name = "nn.max_pool1d"
    RANK = 1
    strides: tuple[int, ...] = (1,)
    dilation: tuple[int, ...] = (1,)
    padding: tuple[int, ...] = (0, 0)
    layout: str = "NCW"


@operator
class MaxPool2D(MaxPool):
    """Maximum of each window of an image, (N, C, H, W) by default. Relay `nn.max_pool2d`, ONNX `MaxPool`."""

    name = "nn.max_pool2d"
    RANK = 2
    strides: tuple[int, ...] = (1, 1)
    dilation: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0)
    layout: str = "NCHW"


@operator
class MaxPool3D(MaxPool):
    """Maximum of each window of a volume, (N, C, D, H, W) by default. Relay `nn.max_pool3d`, ONNX `MaxPool`."""

    name = "nn.max_pool3d"
    RANK = 3
    strides: tuple[int, ...] = (1, 1, 1)
    dilation: tuple[int, ...] = (1, 1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0, 0, 0)
    layout: str = "NCDHW"


@operator
class AvgPool1D(AvgPool):
    """Mean of each window of a sequence, (N, C, W) by default. Relay `nn.avg_pool1d`, ONNX `AveragePool`."""

    name = "nn.avg_pool1d"
    RANK = 1
    strides: tuple[int, ...] = (1,)
    dilation: tuple[int, ...] = (1,)
    padding: tuple[int, ...] = (0, 0)
    layout: str = "NCW"


@operator
class AvgPool2D(AvgPool):
    """Mean of each window of an image, (N, C, H, W) by default. Relay `nn.avg_pool2d`, ONNX `AveragePool`."""

    name = "nn.avg_pool2d"
    RANK = 2
    strides: tuple[int, ...] = (1, 1)
    dilation: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0)
    layout: str = "NCHW"


@operator
class AvgPool3D(AvgPool):
    """Mean of each window of a volume, (N, C, D, H, W) by default. Relay `nn.avg_pool3d`, ONNX `AveragePool`."""

    name = "nn.avg_pool3d"
    RANK = 3
    strides: tuple[int, ...] = (1, 1, 1)
    dilation: tuple[int, ...] = (1, 1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0, 0, 0)
    layout: str = "NCDHW"


@operator
class LpPool1D(LpPool):
    """p-norm of each window of a sequence, (N, C, W) by default. ONNX `LpPool`; Relay has none."""

    name = "nn.lp_pool1d"
    RANK = 1
    strides: tuple[int, ...] = (1,)
    dilation: tuple[int, ...] = (1,)
    padding: tuple[int, ...] = (0, 0)
    layout: str = "NCW"


@operator
class LpPool2D(LpPool):
    """p-norm of each window of an image, (N, C, H, W) by default. ONNX `LpPool`; Relay has none."""

    name = "nn.lp_pool2d"
    RANK = 2
    strides: tuple[int, ...] = (1, 1)
    dilation: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0)
    layout: str = "NCHW"


@operator
class LpPool3D(LpPool):
    """p-norm of each window of a volume, (N, C, D, H, W) by default. ONNX `LpPool`; Relay has none."""

    name = "nn.lp_pool3d"
    RANK = 3
    strides: tuple[int, ...] = (1, 1, 1)
    dilation: tuple[int, ...] = (1, 1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0, 0, 0)
    layout: str = "NCDHW"


__all__ = [
    "AvgPool",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "LpPool",
    "LpPool1D",
    "LpPool2D",
    "LpPool3D",
    "MaxPool",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "Pool",
    "reduce_windows",
]
