"""Convolution over one, two or three spatial dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.contraction import contract, contraction_element, finished, same_dim, working_dtype
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, dim
from relay_mlir.dialects.relay.op import Operator, Pattern, operator
from relay_mlir.dialects.relay.types import ANY, Tensor, element_type, tensor
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


@dataclass(frozen=True)
class ConvBase(Operator):
    """The attributes of convolutions and transposed convolutions, and how they read layouts.

    `data_layout` is any order of N, C and the spatial letters, and the result's layout too; `kernel_layout` any order
    of O, I and the spatial letters. `channels` and `kernel_size`, where given, must agree with the weight.
    """

    operands = ("data", "weight")
    pattern = Pattern.OUT_FUSABLE
    RANK: ClassVar[int]
    """How many spatial dimensions there are."""

    strides: tuple[int, ...] = ()
    padding: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()
    groups: int = 1
    channels: int | None = None
    kernel_size: tuple[int, ...] | None = None
    data_layout: str = ""
    kernel_layout: str = ""
    out_dtype: Attribute | None = None

    @property
    def spatial(self) -> str:
        """The letters of the spatial dimensions."""
        return spatial_letters(self.RANK)

    @property
    def data_spatial(self) -> tuple[int, ...]:
        """The spatial axes of the data and of the result."""
        return axes_of(self.data_layout, self.spatial)

    @property
    def channel_axis(self) -> int:
        """The channel axis of the data and of the result."""
        return self.data_layout.index("C")

    def windows(self, weight: Sequence[int]) -> Windows:
        """The windows that a weight of this shape slides over the data; raises VerifyException if malformed."""
        sizes = [weight[axis] for axis in axes_of(self.kernel_layout, self.spatial)]
        if self.kernel_size is not None:
            check_per_axis(self.kernel_size, self.RANK, 1, "kernel_size")
            pairs = zip(sizes, self.kernel_size, strict=True)
            sizes = [same_dim(size, given, "the weight's spatial size and kernel_size") for size, given in pairs]
        return Windows.of(sizes, self.strides, self.dilation, self.padding, "the weight's spatial size")

    def checked_shapes(self, types: Sequence[Tensor]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The shapes of data and weight once layouts, ranks and groups are known to be sound."""
        data, weight = types
        check_layout(self.data_layout, "NC" + self.spatial, "data_layout")
        check_layout(self.kernel_layout, "OI" + self.spatial, "kernel_layout")
        check_rank(data, self.data_layout, "data")
        check_rank(weight, self.kernel_layout, "weight")
        if self.groups < 1:
            raise VerifyException(f"groups must be at least 1, but is {self.groups}")
        return data.get_shape(), weight.get_shape()

    def divided(self, channels: int, what: str) -> int:
        """The channels of one group; raises VerifyException where the groups do not divide them."""
        if channels == ANY:
            return ANY
        if channels % self.groups:
            raise VerifyException(f"{what} ({channels}) must be a multiple of groups ({self.groups})")
        return channels // self.groups


@dataclass(frozen=True)
class Conv(ConvBase):
    """Convolution: `out[n, o, p] = sum over i, k of data[n, i, p * strides + k * dilation - low] * weight[o, i, k]`.

    Data outside of the tensor is zero. With groups, each group of output channels sees its own group of input
    channels, and I of the weight is the input channels of one group.
    """

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        data, weight = self.checked_shapes(types)
        out_axis, in_axis = axes_of(self.kernel_layout, "OI")
        group_inputs = self.divided(data[self.channel_axis], "the data's channels")
        same_dim(group_inputs, weight[in_axis], "the data's channels per group and the weight's input channels")
        channels = weight[out_axis]
        if self.channels is not None:
            channels = same_dim(channels, self.channels, "the weight's output channels and channels")
        self.divided(channels, "output channels")
        counts = self.windows(weight).counts([data[axis] for axis in self.data_spatial])
        shape = replace_dims(data, (self.channel_axis, *self.data_spatial), (channels, *counts))
        return [tensor(shape, contraction_element(types[0], types[1], self.out_dtype))]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        data, weight = args
        out = self.out_dtype or element_type(data.dtype)
        work = working_dtype(data, weight, out)
        # Contiguous, without which numpy multiplies matrices by a loop of its own.
        last = np.ascontiguousarray(data.transpose(axes_of(self.data_layout, "N" + self.spatial + "C")), work)
        kernel = np.ascontiguousarray(weight.transpose(axes_of(self.kernel_layout, self.spatial + "IO")), work)
        windows = self.windows(weight.shape)
        lengths = last.shape[1:-1]
        counts = windows.counts(lengths)
        padded = np.pad(last, [(0, 0), *zip(windows.low, windows.high, strict=True), (0, 0)])
        total: npt.NDArray[Any] = np.zeros((last.shape[0], *counts, kernel.shape[-1]), work)
        with np.errstate(invalid="ignore", over="ignore"):
            for offset, slices in windows.offsets(counts):
                total += grouped_product(padded[(slice(None), *slices)], kernel[offset], self.groups)
        back = axes_of("N" + self.spatial + "C", self.data_layout)
        return [np.ascontiguousarray(finished(total, out).transpose(back))]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        shape = results[0].get_shape()
        windows = self.windows(build.shape(args[1]))
        counts = [shape[axis] for axis in self.data_spatial]
        data = windows.pad(build, args[0], self.data_spatial, counts, 0)
        return [grouped_convolution(build, self, windows, data, args[1], results[0])]


def grouped_product(data: npt.NDArray[Any], weight: npt.NDArray[Any], groups: int) -> npt.NDArray[Any]:
    """`data` (..., C) times `weight` (C / groups, O), each group of channels by its own columns, to (..., O)."""
    inputs, outputs = weight.shape
    if groups == 1:
        rows = data.reshape(prod(data.shape[:-1]), inputs)
        return (rows @ weight).reshape(*data.shape[:-1], outputs)
    per_group = outputs // groups
    if inputs == 1:
        split = data.reshape(*data.shape[:-1], groups, 1) * weight.reshape(groups, per_group)
        return split.reshape(*data.shape[:-1], outputs)
    split = data.reshape(*data.shape[:-1], groups, 1, inputs) @ weight.reshape(inputs, groups, per_group).swapaxes(0, 1)
    return split.reshape(*data.shape[:-1], outputs)


def grouped_convolution(
    build: LinalgBuilder,
    op: ConvBase,
    windows: Windows,
    data: SSAValue,
    weight: SSAValue,
    result: Tensor,
    transposed: bool = False,
) -> SSAValue:
    """The contraction of padded data with a weight, to a result in the data's layout.

    Loops: the result's dimensions, where groups are a dimension before the channels of a group; then the spatial
    offsets in the window and the input channels of a group. A depthwise convolution (one channel in, one out in each
    group) has one channel loop and no reduction over channels.
    With `transposed`, I of the weight counts all input channels, O the output channels of one group, and each window
    meets the weight backwards: the data is read from its last element on, so that the weight is read in order.
    """
    shape, result_layout = result.get_shape(), op.data_layout.replace("C", "R")
    inputs, outputs = build.shape(data)[op.channel_axis] // op.groups, shape[op.channel_axis] // op.groups
    loops = _channel_loops(op.groups, inputs, outputs, transposed)
    order = [name for letter in result_layout for name in loops.get(letter, [letter])]
    reductions = [*op.spatial.lower(), *(name for name in loops["C"] if name == "i")]
    at = {name: position for position, name in enumerate(order + reductions)}

    def position(letter: str) -> AffineExpr:
        axis = op.spatial.index(letter)
        return windows.position(axis, at[letter], at[letter.lower()], backwards=transposed)

    def offset(letter: str) -> AffineExpr:
        return dim(at[letter.lower()])

    def read(layout: str, spatial: Callable[[str], AffineExpr]) -> AffineMap:
        exprs: list[AffineExpr] = []
        for letter in layout:
            exprs += [spatial(letter)] if letter in op.spatial else [dim(at[n]) for n in loops.get(letter, [letter])]
        return AffineMap(len(at), 0, tuple(exprs))

    extents = {"g": op.groups, "i": inputs, "o": outputs}

    def split(layout: str, sizes: Sequence[int]) -> list[int]:
        """The shape with one dimension for each channel loop."""
        dims: list[int] = []
        for letter, size in zip(layout, sizes, strict=True):
            dims += [extents[name] for name in loops[letter]] if letter in loops else [size]
        return dims

    values = [
        build.reshape(data, split(op.data_layout, build.shape(data))),
        build.reshape(weight, split(op.kernel_layout, build.shape(weight))),
    ]
    maps = [read(op.data_layout, position), read(op.kernel_layout, offset)]
    out = contract(build, values, maps, split(result_layout, shape), len(reductions), result.element_type)
    return build.reshape(out, shape)


def _channel_loops(groups: int, inputs: int, outputs: int, transposed: bool) -> dict[str, list[str]]:
    """The loops over the channels of the data (C) and of the result (R), and over the weight's dimensions O and I.

    `g` is the group, `i` and `o` the input and output channel within it.
    """
    if groups == 1:
        return {"C": ["i"], "R": ["o"], "I": ["i"], "O": ["o"]}
    depthwise = inputs == outputs == 1
    inner, outer = ([], []) if depthwise else (["i"], ["o"])
    group = ["g"]
    weight = {"I": group + inner, "O": outer} if transposed else {"I": inner, "O": group + outer}
    return {"C": group + inner, "R": group + outer, **weight}


@operator
class Conv1D(Conv):
    """Convolution of a sequence: data (N, C, W), weight (O, I, W) in the default layouts.

    Relay `nn.conv1d`, ONNX `Conv`.
    """

    name = "nn.conv1d"
    RANK = 1
    strides: tuple[int, ...] = (1,)
    padding: tuple[int, ...] = (0, 0)
    dilation: tuple[int, ...] = (1,)
    data_layout: str = "NCW"
    kernel_layout: str = "OIW"


@operator
class Conv2D(Conv):
    """Convolution of an image: data (N, C, H, W), weight (O, I, H, W) in the default layouts.

    Relay `nn.conv2d`, ONNX `Conv`.
    """

    name = "nn.conv2d"
    RANK = 2
    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0)
    dilation: tuple[int, ...] = (1, 1)
    data_layout: str = "NCHW"
    kernel_layout: str = "OIHW"


@operator
class Conv3D(Conv):
    """Convolution of a volume: data (N, C, D, H, W), weight (O, I, D, H, W) in the default layouts.

    Relay `nn.conv3d`, ONNX `Conv`.
    """

    name = "nn.conv3d"
    RANK = 3
    strides: tuple[int, ...] = (1, 1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0, 0, 0)
    dilation: tuple[int, ...] = (1, 1, 1)
    data_layout: str = "NCDHW"
    kernel_layout: str = "OIDHW"


__all__ = ["Conv", "Conv1D", "Conv2D", "Conv3D", "ConvBase", "grouped_convolution", "grouped_product"]
