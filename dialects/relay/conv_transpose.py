"""Transposed convolution over one, two or three spatial dimensions: the adjoint of convolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.contraction import contraction_element, finished, same_dim, working_dtype
from relay_mlir.dialects.relay.conv import ConvBase, grouped_convolution, grouped_product
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder
from relay_mlir.dialects.relay.op import operator
from relay_mlir.dialects.relay.types import ANY, Tensor, element_type, tensor
from relay_mlir.dialects.relay.window import Windows, axes_of, check_per_axis, replace_dims

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True)
class ConvTranspose(ConvBase):
    """Transposed convolution: each input element adds `weight[i, o, k]` times itself at `p * strides + k * dilation`.

    `padding` is cut off from the low and high sides of the result, `output_padding` is put on the high side. I of the
    weight is all input channels, O the output channels of one group. A spatial dimension has
    `(in - 1) * strides + (k - 1) * dilation + 1 - low - high + output_padding` elements.
    """

    output_padding: tuple[int, ...] = ()

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        data, weight = self.checked_shapes(types)
        check_per_axis(self.output_padding, self.RANK, 0, "output_padding")
        out_axis, in_axis = axes_of(self.kernel_layout, "OI")
        inputs = same_dim(data[self.channel_axis], weight[in_axis], "the data's and the weight's input channels")
        self.divided(inputs, "the data's channels")
        channels = ANY if weight[out_axis] == ANY else weight[out_axis] * self.groups
        if self.channels is not None:
            channels = same_dim(channels, self.channels, "the weight's output channels times groups and channels")
        windows = self.windows(weight)
        counts = [self._size(windows, *entry) for entry in enumerate(data[axis] for axis in self.data_spatial)]
        shape = replace_dims(data, (self.channel_axis, *self.data_spatial), (channels, *counts))
        return [tensor(shape, contraction_element(types[0], types[1], self.out_dtype))]

    def _size(self, windows: Windows, axis: int, length: int) -> int:
        """The size of a spatial dimension of the result."""
        if ANY in (length, windows.sizes[axis]):
            return ANY
        cut = windows.low[axis] + windows.high[axis]
        size = (length - 1) * windows.strides[axis] + windows.extent(axis) - cut + self.output_padding[axis]
        if length < 1 or size < 1:
            raise VerifyException(
                f"spatial dimension {axis} of the data has {length} elements: with padding {cut} the result has none"
            )
        return size

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        data, weight = args
        out = self.out_dtype or element_type(data.dtype)
        work = working_dtype(data, weight, out)
        last = np.ascontiguousarray(data.transpose(axes_of(self.data_layout, "N" + self.spatial + "C")), work)
        kernel = np.ascontiguousarray(self._grouped_columns(weight), work)
        windows = self.windows(weight.shape)
        lengths = last.shape[1:-1]
        whole = [
            (length - 1) * windows.strides[axis] + windows.extent(axis) + self.output_padding[axis]
            for axis, length in enumerate(lengths)
        ]
        total: npt.NDArray[Any] = np.zeros((last.shape[0], *whole, kernel.shape[-1]), work)
        with np.errstate(invalid="ignore", over="ignore"):
            for offset, slices in windows.offsets(lengths):
                total[(slice(None), *slices)] += grouped_product(last, kernel[offset], self.groups)
        kept = (slice(low, size - high) for low, high, size in zip(windows.low, windows.high, whole, strict=True))
        back = axes_of("N" + self.spatial + "C", self.data_layout)
        return [np.ascontiguousarray(finished(total[(slice(None), *kept)], out).transpose(back))]

    def _grouped_columns(self, weight: np.ndarray) -> npt.NDArray[Any]:
        """The weight as (spatial..., input channels of a group, all output channels), as convolution has it."""
        kernel = weight.transpose(axes_of(self.kernel_layout, self.spatial + "IO"))
        *spatial, inputs, outputs = kernel.shape
        split = kernel.reshape(*spatial, self.groups, inputs // self.groups, outputs)
        return split.swapaxes(-3, -2).reshape(*spatial, inputs // self.groups, self.groups * outputs)

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        windows = self.windows(build.shape(args[1]))
        data = self._spread(build, args[0], windows)
        ones = (1,) * self.RANK
        unit = Windows(windows.sizes, ones, windows.dilation, (0,) * self.RANK, (0,) * self.RANK)
        return [grouped_convolution(build, self, unit, data, args[1], results[0], transposed=True)]

    def _spread(self, build: LinalgBuilder, data: SSAValue, windows: Windows) -> SSAValue:
        """The data with zeros between its elements and around them, so that a convolution of stride 1 remains."""
        shape = build.shape(data)
        offsets, strides, cuts = [0] * len(shape), [1] * len(shape), [0] * len(shape)
        whole, kept = list(shape), list(shape)
        for position, axis in enumerate(self.data_spatial):
            reach = windows.extent(position) - 1
            low = reach - windows.low[position]
            high = reach - windows.high[position] + self.output_padding[position]
            strides[axis] = windows.strides[position]
            spread = (shape[axis] - 1) * strides[axis] + 1
            # More padding than the window reaches cuts into the data itself.
            offsets[axis], cuts[axis] = max(low, 0), max(-low, 0)
            whole[axis] = spread + max(low, 0) + max(high, 0)
            kept[axis] = spread + low + high
        if whole == list(shape):
            return build.slice(data, cuts, kept) if kept != whole else data
        zeros = build.fill(0, whole, build.element(data))
        padded = build.insert_slice(data, zeros, offsets, strides)
        return build.slice(padded, cuts, kept) if kept != whole else padded


@operator
class Conv1DTranspose(ConvTranspose):
    """Transposed convolution of a sequence: data (N, C, W), weight (I, O, W) in the default layouts.

    Relay `nn.conv1d_transpose`, ONNX `ConvTranspose`.
    """

    name = "nn.conv1d_transpose"
    RANK = 1
    strides: tuple[int, ...] = (1,)
    padding: tuple[int, ...] = (0, 0)
    dilation: tuple[int, ...] = (1,)
    data_layout: str = "NCW"
    kernel_layout: str = "IOW"
    output_padding: tuple[int, ...] = (0,)


@operator
class Conv2DTranspose(ConvTranspose):
    """Transposed convolution of an image: data (N, C, H, W), weight (I, O, H, W) in the default layouts.

    Relay `nn.conv2d_transpose`, ONNX `ConvTranspose`.
    """

    name = "nn.conv2d_transpose"
    RANK = 2
    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0)
    dilation: tuple[int, ...] = (1, 1)
    data_layout: str = "NCHW"
    kernel_layout: str = "IOHW"
    output_padding: tuple[int, ...] = (0, 0)


@operator
class Conv3DTranspose(ConvTranspose):
    """Transposed convolution of a volume: data (N, C, D, H, W), weight (I, O, D, H, W) in the default layouts.

    Relay `nn.conv3d_transpose`, ONNX `ConvTranspose`.
    """

    name = "nn.conv3d_transpose"
    RANK = 3
    strides: tuple[int, ...] = (1, 1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0, 0, 0)
    dilation: tuple[int, ...] = (1, 1, 1)
    data_layout: str = "NCDHW"
    kernel_layout: str = "IODHW"
    output_padding: tuple[int, ...] = (0, 0, 0)


__all__ = ["Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose", "ConvTranspose"]
