"""Global pools: all elements of the spatial dimensions reduced to one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.ir import SSAValue

from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder
from relay_mlir.dialects.relay.op import Operator, Pattern, operator
from relay_mlir.dialects.relay.pool_reduction import MAX, MEAN, PoolReduction
from relay_mlir.dialects.relay.types import Tensor, tensor
from relay_mlir.dialects.relay.window import axes_of, check_layout, check_rank, replace_dims, spatial_letters

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True)
class GlobalPool(Operator):
    """A reduction of every spatial dimension to 1; `layout` is any order of N, C and the spatial letters."""

    operands = ("data",)
    pattern = Pattern.OUT_FUSABLE
    RANK: ClassVar[int]
    """How many spatial dimensions there are."""
    REDUCTION: ClassVar[PoolReduction]
    """How they are reduced."""

    layout: str = ""

    @property
    def axes(self) -> tuple[int, ...]:
        """The spatial axes."""
        return axes_of(self.layout, spatial_letters(self.RANK))

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        check_layout(self.layout, "NC" + spatial_letters(self.RANK), "layout")
        check_rank(types[0], self.layout, "data")
        self.REDUCTION.check(types[0].element_type)
        return [tensor(replace_dims(types[0].get_shape(), self.axes, [1] * self.RANK), types[0].element_type)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        data = args[0]
        totals: npt.NDArray[Any] = self.REDUCTION.start(
            replace_dims(data.shape, self.axes, [1] * self.RANK), data.dtype
        )
        count = 1
        for axis in self.axes:
            count *= data.shape[axis]
        self.REDUCTION.add_all(totals, data, self.axes)
        return [self.REDUCTION.finished(totals, np.full([1] * data.ndim, count), data.dtype)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        element = results[0].element_type
        reduction, shape = self.REDUCTION, build.shape(args[0])

        def body(s: ScalarBuilder, value: SSAValue, total: SSAValue) -> SSAValue:
            return reduction.step(s, value, total, element)

        totals = build.reduce(
            args[0], self.axes, reduction.neutral(element), body, reduction.total_element(element), keepdims=True
        )
        return [reduction.finish(build, totals, self.axes, [shape[axis] for axis in self.axes], results[0])]


@dataclass(frozen=True)
class GlobalMaxPool(GlobalPool):
    """The maximum over all spatial dimensions; NaN where there is one."""

    REDUCTION = MAX


@dataclass(frozen=True)
class GlobalAvgPool(GlobalPool):
    """The mean over all spatial dimensions; integers divide towards zero."""

    REDUCTION = MEAN


@operator
class GlobalMaxPool1D(GlobalMaxPool):
    """Maximum of a sequence, (N, C, W) by default. ONNX `GlobalMaxPool`."""

    name = "nn.global_max_pool1d"
    RANK = 1
    layout: str = "NCW"


@operator
class GlobalMaxPool2D(GlobalMaxPool):
    """Maximum of an image, (N, C, H, W) by default. Relay `nn.global_max_pool2d`, ONNX `GlobalMaxPool`."""

    name = "nn.global_max_pool2d"
    RANK = 2
    layout: str = "NCHW"


@operator
class GlobalMaxPool3D(GlobalMaxPool):
    """Maximum of a volume, (N, C, D, H, W) by default. ONNX `GlobalMaxPool`."""

    name = "nn.global_max_pool3d"
    RANK = 3
    layout: str = "NCDHW"


@operator
class GlobalAvgPool1D(GlobalAvgPool):
    """Mean of a sequence, (N, C, W) by default. ONNX `GlobalAveragePool`."""

    name = "nn.global_avg_pool1d"
    RANK = 1
    layout: str = "NCW"


@operator
class GlobalAvgPool2D(GlobalAvgPool):
    """Mean of an image, (N, C, H, W) by default. Relay `nn.global_avg_pool2d`, ONNX `GlobalAveragePool`."""

    name = "nn.global_avg_pool2d"
    RANK = 2
    layout: str = "NCHW"


@operator
class GlobalAvgPool3D(GlobalAvgPool):
    """Mean of a volume, (N, C, D, H, W) by default. ONNX `GlobalAveragePool`."""

    name = "nn.global_avg_pool3d"
    RANK = 3
    layout: str = "NCDHW"


__all__ = [
    "GlobalAvgPool",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "GlobalPool",
]
