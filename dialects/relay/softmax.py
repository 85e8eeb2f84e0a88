"""softmax and its logarithm, shifted by the maximum so that no exponential overflows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from relay_mlir.dialects.relay.floats import add, check_float, divide, maximum, subtract, wide_array
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder, compute_element
from relay_mlir.dialects.relay.op import Operator, Pattern, operator
from relay_mlir.dialects.relay.types import Tensor, normalize_axis, tensor

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class SoftmaxBase(Operator):
    """What softmax and its logarithm share: one axis, and `x - max(x)` along it."""

    operands = ("data",)
    pattern = Pattern.OUT_FUSABLE
    axis: int = -1

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        check_float(types, self.operands)
        normalize_axis(self.axis, types[0].get_num_dims())
        return [types[0]]

    def shifted(self, data: np.ndarray) -> np.ndarray:
        """`x - max(x)`, in the compute type."""
        import numpy as np

        wide = wide_array(data)
        with np.errstate(invalid="ignore"):
            return wide - wide.max(axis=self.axis, keepdims=True, initial=-np.inf)

    def lower_shifted(self, build: LinalgBuilder, data: SSAValue) -> SSAValue:
        """The lower form of `shifted`."""
        axis = normalize_axis(self.axis, len(build.shape(data)))
        best = build.reduce(data, [axis], float("-inf"), maximum, keepdims=True)
        return build.elementwise([data, best], self.wide_type(build, data), subtract)

    def wide_type(self, build: LinalgBuilder, data: SSAValue) -> Tensor:
        """The type of the data, in the compute type."""
        return tensor(build.shape(data), compute_element(build.element(data)))

    def lower_sum(self, build: LinalgBuilder, value: SSAValue) -> SSAValue:
        """The sum along the axis, which stays as a dimension of 1."""
        return build.reduce(value, [normalize_axis(self.axis, len(build.shape(value)))], 0, add, keepdims=True)


def _exp(s: ScalarBuilder, x: SSAValue) -> SSAValue:
    return s.math("Exp", x)


def _log(s: ScalarBuilder, x: SSAValue) -> SSAValue:
    return s.math("Log", x)


@operator
class Softmax(SoftmaxBase):
    """`exp(x - max(x)) / sum(exp(x - max(x)))` along an axis. NaN and +Inf make a whole row NaN.

    Relay `nn.softmax`, ONNX `Softmax` (from opset 13; earlier ones flatten their input).
    """

    name = "nn.softmax"

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        exponentials = np.exp(self.shifted(args[0]))
        return [(exponentials / exponentials.sum(axis=self.axis, keepdims=True)).astype(args[0].dtype, copy=False)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        shifted = self.lower_shifted(build, args[0])
        exponentials = build.elementwise([shifted], self.wide_type(build, shifted), _exp)
        total = self.lower_sum(build, exponentials)
        return [build.elementwise([exponentials, total], results[0], divide)]


@operator
class LogSoftmax(SoftmaxBase):
    """`x - max(x) - log(sum(exp(x - max(x))))` along an axis: the logarithm of softmax.

    Relay `nn.log_softmax`, ONNX `LogSoftmax` (from opset 13).
    """

    name = "nn.log_softmax"

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        shifted = self.shifted(args[0])
        total = np.log(np.exp(shifted).sum(axis=self.axis, keepdims=True))
        return [(shifted - total).astype(args[0].dtype, copy=False)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        shifted = self.lower_shifted(build, args[0])
        exponentials = build.elementwise([shifted], self.wide_type(build, shifted), _exp)
        total = self.lower_sum(build, exponentials)
        logarithm = build.elementwise([total], self.wide_type(build, total), _log)
        return [build.elementwise([shifted, logarithm], results[0], subtract)]


__all__ = ["LogSoftmax", "Softmax"]
