"""Operators with a parameter for each channel: bias_add and batch_norm, and how a parameter is read along axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.contraction import same_dim
from relay_mlir.dialects.relay.floats import add, check_float, wide_array
from relay_mlir.dialects.relay.linalg_builder import (
    Body,
    LinalgBuilder,
    ScalarBuilder,
    compute_element,
    dims,
    identity,
)
from relay_mlir.dialects.relay.op import Operator, Pattern, operator
from relay_mlir.dialects.relay.types import Tensor, normalize_axis, show_shape, tensor
from relay_mlir.dialects.relay.window import replace_dims

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def channel_dim(data: Tensor, axis: int, parameters: Sequence[Tensor], names: Sequence[str]) -> int:
    """The length of the channel axis, which one-dimensional parameters share; raises VerifyException otherwise."""
    size = data.get_shape()[axis]
    for parameter, name in zip(parameters, names, strict=True):
        shape = parameter.get_shape()
        if len(shape) != 1:
            raise VerifyException(f"{name} must have one dimension, but has shape {show_shape(shape)}")
        size = same_dim(size, shape[0], f"dimension {axis} of the data and the length of {name}")
    return size


def channelwise_type(types: Sequence[Tensor], axis: int, names: Sequence[str]) -> Tensor:
    """The type of data whose channel axis has the length of the parameters behind it; `names` are the operands'."""
    data = types[0]
    axis = normalize_axis(axis, data.get_num_dims())
    size = channel_dim(data, axis, types[1:], names[1:])
    return tensor(replace_dims(data.get_shape(), [axis], [size]), data.element_type)


def array_along(parameter: np.ndarray, axes: Sequence[int], rank: int) -> npt.NDArray[Any]:
    """A parameter over these consecutive axes, shaped to broadcast with data of this rank."""
    return cast("npt.NDArray[Any]", parameter.reshape(parameter.shape + (1,) * (rank - 1 - axes[-1])))


def elementwise_along(
    build: LinalgBuilder, values: Sequence[SSAValue], axes: Sequence[Sequence[int] | None], result: Tensor, body: Body
) -> SSAValue:
    """One parallel loop nest over `result`; each value is read along its axes of it, None for all of them.

    A dimension of 1 is read at 0, so that reductions that kept their dimensions broadcast.
    """
    shape = result.get_shape()
    rank = len(shape)
    maps = [
        build.broadcast_map(build.shape(value), rank, shape) if own is None else dims(*own, rank=rank)
        for value, own in zip(values, axes, strict=True)
    ]
    count = len(values)

    def without_output(s: ScalarBuilder, *arguments: SSAValue) -> SSAValue | Sequence[SSAValue]:
        return body(s, *arguments[:count])

    into = build.empty(shape, result.element_type)
    return build.generic(values, maps, [into], [identity(rank)], ["parallel"] * rank, without_output)[0]


@operator
class BiasAdd(Operator):
    """Adds a bias (C) along an axis of length C: `data[..., c, ...] + bias[c]`.

    Relay `nn.bias_add`; the bias of ONNX `Conv`, `ConvTranspose` and `Gemm`.
    """

    name = "nn.bias_add"
    operands = ("data", "bias")
    pattern = Pattern.BROADCAST
    axis: int = 1

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        data, bias = types
        if data.element_type != bias.element_type:
            raise VerifyException(f"data and bias must have one element type, but are {data} and {bias}")
        return [channelwise_type(types, self.axis, self.operands)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        data, bias = (wide_array(arg) for arg in args)
        axis = normalize_axis(self.axis, data.ndim)
        return [(data + array_along(bias, [axis], data.ndim)).astype(args[0].dtype, copy=False)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        axis = normalize_axis(self.axis, results[0].get_num_dims())
        return [elementwise_along(build, args, [None, [axis]], results[0], add)]


@operator
class BatchNorm(Operator):
    """`(data - moving_mean) / sqrt(moving_var + epsilon) * gamma + beta`, each parameter along the channel axis.

    The inference form: unlike Relay's, which gives a tuple with the two statistics unchanged, it has one result.
    `scale` and `center` say whether gamma and beta take part. The parameters may be floats of another type than the
    data. Relay `nn.batch_norm`, ONNX `BatchNormalization` (training_mode = 0).
    """

    name = "nn.batch_norm"
    operands = ("data", "gamma", "beta", "moving_mean", "moving_var")
    pattern = Pattern.BROADCAST
    axis: int = 1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        check_float(types, self.operands)
        return [channelwise_type(types, self.axis, self.operands)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        data = wide_array(args[0])
        axis = normalize_axis(self.axis, data.ndim)
        gamma, beta, mean, var = (array_along(arg.astype(data.dtype), [axis], data.ndim) for arg in args[1:])
        with np.errstate(invalid="ignore", divide="ignore"):
            factor = (gamma if self.scale else 1) / np.sqrt(var + np.asarray(self.epsilon, data.dtype))
            result = (data - mean) * factor
        return [(result + beta if self.center else result).astype(args[0].dtype, copy=False)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        data, gamma, beta, mean, var = args
        element = results[0].element_type
        wide = compute_element(element)
        axis = normalize_axis(self.axis, results[0].get_num_dims())

        def factor_of(s: ScalarBuilder, variance: SSAValue, weight: SSAValue) -> SSAValue:
            spread = s.cast(variance, variance.type, wide)
            root = s.math("Sqrt", s.add(spread, s.like(self.epsilon, spread)))
            return s.div(s.cast(weight, weight.type, wide) if self.scale else s.like(1, root), root)

        def normalize(s: ScalarBuilder, x: SSAValue, factor: SSAValue, center: SSAValue, shift: SSAValue) -> SSAValue:
            scaled = s.mul(s.sub(x, s.cast(center, center.type, wide)), factor)
            return s.add(scaled, s.cast(shift, shift.type, wide)) if self.center else scaled

        factor = build.elementwise([var, gamma], tensor(build.shape(var), wide), factor_of)
        own = [axis]
        return [elementwise_along(build, [data, factor, mean, beta], [None, own, own, own], results[0], normalize)]


__all__ = ["BatchNorm", "BiasAdd", "array_along", "channelwise_type", "elementwise_along"]
