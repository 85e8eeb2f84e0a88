"""Normalization by the mean and variance of the data itself: over axes, an instance or channel groups."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.channelwise import array_along, channelwise_type, elementwise_along
from relay_mlir.dialects.relay.contraction import same_dim
from relay_mlir.dialects.relay.floats import add, check_float, subtract, wide_array
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder, compute_element
from relay_mlir.dialects.relay.op import Operator, Pattern, operator
from relay_mlir.dialects.relay.types import ANY, Shape, Tensor, normalize_axis, show_shape, tensor
from relay_mlir.dialects.relay.window import replace_dims

if TYPE_CHECKING:
    import numpy as np


class View(NamedTuple):
    """How a normalization sees its data."""

    shape: Shape
    """The data's shape, with a channel axis split into groups where there are groups."""
    reduced: tuple[int, ...]
    """The axes of that shape over which mean and variance are taken."""
    affine: tuple[int, ...]
    """The consecutive axes of that shape along which gamma and beta lie."""


@dataclass(frozen=True)
class Normalization(Operator):
    """`(data - mean) / sqrt(variance + epsilon) * gamma + beta`, with the variance of the whole population.

    The variance is taken from the differences to the mean, in a second pass. `scale` and `center` say whether gamma
    and beta take part. gamma and beta may be floats of another type than the data.
    """

    operands = ("data", "gamma", "beta")
    pattern = Pattern.OUT_FUSABLE

    axis: int = 1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True

    @abstractmethod
    def view(self, shape: Shape, parameter: Shape) -> View:
        """How data of this shape, with gamma and beta of that one, is seen."""

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        check_float(types, self.operands)
        return [channelwise_type(types, self.axis, self.operands)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        wide = wide_array(args[0])
        view = self.view(wide.shape, args[1].shape)
        data = wide.reshape(view.shape)
        parameter_shape = [view.shape[axis] for axis in view.affine]
        gamma, beta = (
            array_along(arg.astype(wide.dtype).reshape(parameter_shape), view.affine, data.ndim) for arg in args[1:]
        )
        count = np.asarray(prod(view.shape[axis] for axis in view.reduced), wide.dtype)
        with np.errstate(invalid="ignore", divide="ignore"):
            centered = data - data.sum(axis=view.reduced, keepdims=True) / count
            variance = np.square(centered).sum(axis=view.reduced, keepdims=True) / count
            result = centered * (1 / np.sqrt(variance + np.asarray(self.epsilon, wide.dtype)))
        result = result * gamma if self.scale else result
        result = result + beta if self.center else result
        return [result.reshape(wide.shape).astype(args[0].dtype, copy=False)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        shape, element = results[0].get_shape(), results[0].element_type
        wide = compute_element(element)
        view = self.view(shape, build.shape(args[1]))
        data = build.reshape(args[0], view.shape)
        parameter_shape = [view.shape[axis] for axis in view.affine]
        gamma, beta = (build.reshape(arg, parameter_shape) for arg in args[1:])
        count = prod(view.shape[axis] for axis in view.reduced)

        def mean_of(s: ScalarBuilder, total: SSAValue) -> SSAValue:
            return s.div(total, s.like(count, total))

        def factor_of(s: ScalarBuilder, total: SSAValue) -> SSAValue:
            variance = s.div(total, s.like(count, total))
            root = s.math("Sqrt", s.add(variance, s.like(self.epsilon, variance)))
            return s.div(s.like(1, root), root)

        def square(s: ScalarBuilder, x: SSAValue, total: SSAValue) -> SSAValue:
            return s.add(total, s.mul(x, x))

        def normalize(s: ScalarBuilder, x: SSAValue, factor: SSAValue, weight: SSAValue, shift: SSAValue) -> SSAValue:
            y = s.mul(x, factor)
            y = s.mul(y, s.cast(weight, weight.type, wide)) if self.scale else y
            return s.add(y, s.cast(shift, shift.type, wide)) if self.center else y

        total = build.reduce(data, view.reduced, 0, add, element=wide, keepdims=True)
        mean = build.elementwise([total], tensor(build.shape(total), wide), mean_of)
        centered = build.elementwise([data, mean], tensor(view.shape, wide), subtract)
        squares = build.reduce(centered, view.reduced, 0, square, keepdims=True)
        factor = build.elementwise([squares], tensor(build.shape(squares), wide), factor_of)
        result = elementwise_along(
            build,
            [centered, factor, gamma, beta],
            [None, None, view.affine, view.affine],
            tensor(view.shape, element),
            normalize,
        )
        return [build.reshape(result, shape)]


@operator
class LayerNorm(Normalization):
    """Normalizes over an axis, or over as many axes from `axis` on as gamma and beta have dimensions.

    gamma and beta have the shape of the normalized axes. Relay `nn.layer_norm` (one axis), ONNX `LayerNormalization`
    (all axes from `axis` to the last).
    """

    name = "nn.layer_norm"
    axis: int = -1

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        check_float(types, self.operands)
        shape = types[0].get_shape()
        axes = self._axes(len(shape), types[1].get_num_dims())
        for parameter, name in zip(types[1:], self.operands[1:], strict=True):
            found = parameter.get_shape()
            if len(found) != len(axes):
                raise VerifyException(f"gamma and beta must have one shape, but {name} has shape {show_shape(found)}")
            sizes = [
                same_dim(shape[axis], size, f"dimension {axis} of the data and that of {name}")
                for axis, size in zip(axes, found, strict=True)
            ]
            shape = replace_dims(shape, axes, sizes)
        return [tensor(shape, types[0].element_type)]

    def _axes(self, rank: int, count: int) -> tuple[int, ...]:
        axis = normalize_axis(self.axis, rank)
        if not 1 <= count <= rank - axis:
            raise VerifyException(
                f"gamma must have 1 to {rank - axis} dimensions, for axes from {axis} on; it has {count}"
            )
        return tuple(range(axis, axis + count))

    def view(self, shape: Shape, parameter: Shape) -> View:
        axes = self._axes(len(shape), len(parameter))
        return View(shape, axes, axes)


@operator
class InstanceNorm(Normalization):
    """Normalizes each channel of each element of the batch, over every axis but the first and the channel axis.

    Relay `nn.instance_norm`, ONNX `InstanceNormalization`.
    """

    name = "nn.instance_norm"

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        _check_channel_axis(self.axis, types[0])
        return super().infer(types)

    def view(self, shape: Shape, parameter: Shape) -> View:
        axis = normalize_axis(self.axis, len(shape))
        return View(shape, tuple(a for a in range(1, len(shape)) if a != axis), (axis,))


@operator
class GroupNorm(Normalization):
    """Normalizes each group of channels of each element of the batch, over the group's channels and all other axes.

    Relay `nn.group_norm`, ONNX `GroupNormalization` (opset 21: gamma and beta have an entry a channel).
    """

    name = "nn.group_norm"
    num_groups: int = 1

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        _check_channel_axis(self.axis, types[0])
        (result,) = super().infer(types)
        channels = result.get_shape()[normalize_axis(self.axis, result.get_num_dims())]
        if self.num_groups < 1 or (channels != ANY and channels % self.num_groups):
            raise VerifyException(f"num_groups ({self.num_groups}) must divide the {channels} channels")
        return [result]

    def view(self, shape: Shape, parameter: Shape) -> View:
        axis = normalize_axis(self.axis, len(shape))
        split = (*shape[:axis], self.num_groups, shape[axis] // self.num_groups, *shape[axis + 1 :])
        return View(split, tuple(a for a in range(1, len(split)) if a != axis), (axis, axis + 1))


def _check_channel_axis(axis: int, data: Tensor) -> None:
    """Raises VerifyException where the channel axis is the batch axis."""
    if normalize_axis(axis, data.get_num_dims()) == 0:
        raise VerifyException("axis must not be 0, the batch axis")


__all__ = ["GroupNorm", "InstanceNorm", "LayerNorm", "Normalization", "View"]
