"""max_pool_with_indices: a max pool that also says where each maximum was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import IndexType, i1, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from relay_mlir.dialects.lazy import arith
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder, dim, dims
from relay_mlir.dialects.relay.op import operator
from relay_mlir.dialects.relay.pool import MaxPool
from relay_mlir.dialects.relay.types import Tensor, is_float, is_unsigned, tensor
from relay_mlir.dialects.relay.window import axes_of, spatial_letters

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True)
class MaxPoolWithIndices(MaxPool):
    """The maximum of each window, and its position (i64) among all elements of the data.

    Positions count in the order N, C, spatial dimensions, the last one fastest, whatever the layout; with
    `column_major` the spatial dimensions the other way round, the first one fastest. Of equal maxima the first counts,
    and so does the first NaN. A window of padding alone has the index -1.
    """

    column_major: bool = False

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        (values,) = super().infer(types)
        return [values, tensor(values.get_shape(), i64)]

    def _steps(self, shape: Sequence[int]) -> list[int]:
        """How far apart neighbours along each axis are in the order that indices count in."""
        spatial = spatial_letters(self.RANK)
        order = axes_of(self.layout, "NC" + (spatial[::-1] if self.column_major else spatial))
        steps = [0] * len(shape)
        for place, axis in enumerate(order):
            steps[axis] = prod(shape[faster] for faster in order[place + 1 :])
        return steps

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        data, windows = args[0], self.windows
        counts = windows.counts([data.shape[axis] for axis in self.axes], self.ceil_mode)
        steps = self._steps(data.shape)
        shape = list(data.shape)
        for axis, count in zip(self.axes, counts, strict=True):
            shape[axis] = count
        best: npt.NDArray[Any] = self.reduction.start(shape, data.dtype)
        index = np.full(shape, -1, np.int64)
        for offset, _ in windows.offsets(counts):
            source = np.zeros([1] * data.ndim, np.int64)
            inside = np.ones([1] * data.ndim, np.bool_)
            picks: list[npt.NDArray[Any]] = [np.arange(size) for size in data.shape]
            for position, axis in enumerate(self.axes):
                at = np.arange(counts[position]) * windows.strides[position] - windows.low[position]
                at += offset[position] * windows.dilation[position]
                inside = inside & _along((at >= 0) & (at < data.shape[axis]), axis, data.ndim)
                picks[axis] = np.clip(at, 0, data.shape[axis] - 1)
            for axis, pick in enumerate(picks):
                source = source + _along(pick, axis, data.ndim) * steps[axis]
            values = data[np.ix_(*picks)]
            better = (values > best) | ((values != values) & (best == best)) | (index < 0)
            best = np.where(better & inside, values, best)
            index = np.where(better & inside, source, index)
        return [best, index]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        shape, element = results[0].get_shape(), results[0].element_type
        lengths = build.shape(args[0])
        windows, rank, loops = self.windows, len(shape), len(shape) + self.RANK
        steps = self._steps(lengths)
        place = {axis: position for position, axis in enumerate(self.axes)}

        def at(s: ScalarBuilder, axis: int) -> SSAValue:
            """The position in the data along an axis, negative or too large in the padding."""
            if axis not in place:
                return s.index(axis)
            position = place[axis]
            start = s.mul(s.index(axis), s.like(windows.strides[position], s.index(axis)))
            step = s.mul(s.index(rank + position), s.like(windows.dilation[position], start))
            return s.sub(s.add(start, step), s.like(windows.low[position], start))

        def body(s: ScalarBuilder, value: SSAValue, _: SSAValue, best: SSAValue, index: SSAValue) -> list[SSAValue]:
            here, taken = s.const(0, IndexType()), _is_better(s, value, best, index, is_unsigned(element))
            for axis in range(rank):
                own = at(s, axis)
                here = s.add(here, s.mul(own, s.like(steps[axis], own)))
                if axis in place:
                    taken = s.insert(arith.AndIOp(taken, s.compare("ge", own, s.like(0, own))))
                    taken = s.insert(arith.AndIOp(taken, s.compare("lt", own, s.like(lengths[axis], own))))
            return [s.select(taken, value, best), s.select(taken, s.from_index(here, i64), index)]

        exprs: list[AffineExpr] = [dim(axis) for axis in range(rank)]
        for position, axis in enumerate(self.axes):
            exprs[axis] = windows.position(position, axis, rank + position)
        neutral = self.reduction.neutral(element)
        counts = [shape[axis] for axis in self.axes]
        inputs = [windows.pad(build, args[0], self.axes, counts, neutral), build.empty(windows.sizes, element)]
        maps = [AffineMap(loops, 0, tuple(exprs)), dims(*range(rank, loops), rank=loops)]
        starts = [build.fill(neutral, shape, element), build.fill(-1, shape, i64)]
        iterators = ["parallel"] * rank + ["reduction"] * self.RANK
        return build.generic(inputs, maps, starts, [dims(*range(rank), rank=loops)] * 2, iterators, body)


def _is_better(s: ScalarBuilder, value: SSAValue, best: SSAValue, index: SSAValue, unsigned: bool) -> SSAValue:
    """Whether a value takes the place of the best one so far, whose index is -1 where there is none."""
    greater = s.compare("gt", value, best, unsigned)
    better = s.insert(arith.OrIOp(greater, s.compare("lt", index, s.like(0, index))))
    if not is_float(value.type):
        return better
    is_nan, was_nan = s.compare("ne", value, value), s.compare("ne", best, best)
    return s.insert(arith.OrIOp(better, s.select(was_nan, s.const(False, i1), is_nan)))


def _along(values: npt.NDArray[Any], axis: int, rank: int) -> npt.NDArray[Any]:
    """A vector as an array that lies along an axis."""
    return values.reshape([-1 if a == axis else 1 for a in range(rank)])


@operator
class MaxPool1DWithIndices(MaxPoolWithIndices):
    """Maximum of each window of a sequence, (N, C, W) by default, and where it is.

    ONNX `MaxPool` with its output Indices (`column_major` is storage_order = 1); Relay has none.
    """

    name = "nn.max_pool1d_with_indices"
    RANK = 1
    strides: tuple[int, ...] = (1,)
    dilation: tuple[int, ...] = (1,)
    padding: tuple[int, ...] = (0, 0)
    layout: str = "NCW"


@operator
class MaxPool2DWithIndices(MaxPoolWithIndices):
    """Maximum of each window of an image, (N, C, H, W) by default, and where it is.

    ONNX `MaxPool` with its output Indices (`column_major` is storage_order = 1); Relay has none.
    """

    name = "nn.max_pool2d_with_indices"
    RANK = 2
    strides: tuple[int, ...] = (1, 1)
    dilation: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0)
    layout: str = "NCHW"


@operator
class MaxPool3DWithIndices(MaxPoolWithIndices):
    """Maximum of each window of a volume, (N, C, D, H, W) by default, and where it is.

    ONNX `MaxPool` with its output Indices (`column_major` is storage_order = 1); Relay has none.
    """

    name = "nn.max_pool3d_with_indices"
    RANK = 3
    strides: tuple[int, ...] = (1, 1, 1)
    dilation: tuple[int, ...] = (1, 1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0, 0, 0)
    layout: str = "NCDHW"


__all__ = [
    "MaxPool1DWithIndices",
    "MaxPool2DWithIndices",
    "MaxPool3DWithIndices",
    "MaxPoolWithIndices",
]
