"""Activation functions of neural networks that are operators of their own; the others are composed of operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.elementwise import Elementwise, Kind, Unary, check_kind, common_element
from relay_mlir.dialects.relay.op import Pattern, operator
from relay_mlir.dialects.relay.types import ANY, Tensor, is_unsigned, normalize_axis, tensor

if TYPE_CHECKING:
    import numpy as np

    from relay_mlir.dialects.relay.elementwise import Array
    from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder


@operator
class Relu(Unary):
    """`0 if x < 0 else x`: NaN stays NaN and -0.0 stays -0.0. ONNX Relu, Relay nn.relu."""

    name = "nn.relu"
    accepts = Kind.NUMBER
    idempotent = True

    def compute(self, *args: Array) -> Array:
        import numpy as np

        (x,) = args
        return np.where(x < 0, np.zeros_like(x), x)

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        (x,) = args
        zero = s.like(0, x)
        # A compare and a select, not a maximum: one instruction on machines whose maximum is not NaN-propagating.
        return x if is_unsigned(element) else s.select(s.compare("lt", x, zero), zero, x)


@operator
class LeakyRelu(Unary):
    """`x if x > 0 else alpha * x`. ONNX LeakyRelu, Relay nn.leaky_relu."""

    name = "nn.leaky_relu"
    accepts = Kind.FLOAT
    alpha: float = 0.25

    def compute(self, *args: Array) -> Array:
        import numpy as np

        (x,) = args
        return np.where(x > 0, x, x * self.alpha)

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        (x,) = args
        return s.select(s.compare("gt", x, s.like(0, x)), x, s.mul(x, s.like(self.alpha, x)))


@operator
class PRelu(Elementwise):
    """`x if x > 0 else alpha[c] * x` with one slope for each position c of an axis. ONNX PRelu, Relay nn.prelu.

    data: any shape, float. alpha: [data.shape[axis]], of data's element type.
    """

    name = "nn.prelu"
    operands = ("data", "alpha")
    accepts = Kind.FLOAT
    pattern = Pattern.BROADCAST
    axis: int = 1

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        data, alpha = types
        check_kind(common_element(types), self.accepts)
        shape, found = data.get_shape(), alpha.get_shape()
        axis = normalize_axis(self.axis, len(shape))
        if len(found) != 1 or (found[0] != shape[axis] and ANY not in (found[0], shape[axis])):
            size = "?" if shape[axis] == ANY else shape[axis]
            raise VerifyException(f"alpha must have shape [{size}], the size of axis {self.axis}, but is {alpha}")
        return [tensor(shape, data.element_type)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        data, alpha = args
        shape = [1] * data.ndim
        shape[normalize_axis(self.axis, data.ndim)] = -1
        return super().evaluate([data, alpha.reshape(shape)])

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        from relay_mlir.dialects.relay.linalg_builder import dims, identity

        shape, element = build.shape(args[0]), results[0].element_type
        rank = len(shape)

        def body(s: ScalarBuilder, x: SSAValue, slope: SSAValue, _: SSAValue) -> SSAValue:
            return self.body(s, element, x, slope)

        maps = [identity(rank), dims(normalize_axis(self.axis, rank), rank=rank)]
        into = build.empty(shape, element)
        return build.generic(args, maps, [into], [identity(rank)], ["parallel"] * rank, body)

    def compute(self, *args: Array) -> Array:
        import numpy as np

        x, slope = args
        return np.where(x > 0, x, x * slope)

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        x, slope = args
        return s.select(s.compare("gt", x, s.like(0, x)), x, s.mul(x, slope))
