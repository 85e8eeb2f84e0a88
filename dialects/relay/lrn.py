"""lrn: local response normalization, over a window of neighbouring channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.floats import check_float, wide_array
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder
from relay_mlir.dialects.relay.op import Operator, Pattern, operator
from relay_mlir.dialects.relay.pool import reduce_windows
from relay_mlir.dialects.relay.pool_reduction import SQUARES
from relay_mlir.dialects.relay.types import Tensor, normalize_axis
from relay_mlir.dialects.relay.window import Windows

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@operator
class LRN(Operator):
    """`data / (bias + alpha / size * s)^beta`, where s is the sum of squares of `size` neighbours along the axis.

    The window of an element reaches `(size - 1) // 2` before it and the rest after it; outside of the tensor is zero.
    Relay `nn.lrn`, ONNX `LRN`.
    """

    name = "nn.lrn"
    operands = ("data",)
    pattern = Pattern.OUT_FUSABLE
    size: int = 5
    axis: int = 1
    bias: float = 2.0
    alpha: float = 1e-4
    beta: float = 0.75

    def _windows(self) -> Windows:
        low = (self.size - 1) // 2
        return Windows((self.size,), (1,), (1,), (low,), (self.size - 1 - low,))

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        check_float(types, self.operands)
        normalize_axis(self.axis, types[0].get_num_dims())
        if self.size < 1:
            raise VerifyException(f"size must be at least 1, but is {self.size}")
        return [types[0]]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        data = wide_array(args[0])
        axis = normalize_axis(self.axis, data.ndim)
        count = data.shape[axis]
        squares = np.square(data)
        total: npt.NDArray[Any] = np.zeros_like(data)
        first = -((self.size - 1) // 2)
        for offset in range(first, first + self.size):
            low, high = max(0, -offset), min(count, count - offset)
            if low < high:
                target = (*[slice(None)] * axis, slice(low, high))
                total[target] += squares[(*[slice(None)] * axis, slice(low + offset, high + offset))]
        base = np.asarray(self.bias, data.dtype) + np.asarray(self.alpha / self.size, data.dtype) * total
        return [(data / base ** np.asarray(self.beta, data.dtype)).astype(args[0].dtype, copy=False)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        shape = results[0].get_shape()
        axis = normalize_axis(self.axis, len(shape))
        windows = self._windows()

        def scale(s: ScalarBuilder, x: SSAValue, total: SSAValue) -> SSAValue:
            base = s.add(s.like(self.bias, total), s.mul(s.like(self.alpha / self.size, total), total))
            return s.div(x, s.math("PowF", base, s.like(self.beta, base)))

        padded = windows.pad(build, args[0], [axis], [shape[axis]], 0)
        total = reduce_windows(build, SQUARES, windows, padded, [axis], results[0])
        return [build.elementwise([args[0], total], results[0], scale)]


__all__ = ["LRN"]
