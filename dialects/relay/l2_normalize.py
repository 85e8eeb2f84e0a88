"""l2_normalize: a tensor scaled to unit length along some axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from relay_mlir.dialects.relay.floats import check_float, divide, wide_array
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder, compute_element
from relay_mlir.dialects.relay.op import Operator, Pattern, operator
from relay_mlir.dialects.relay.types import Tensor, normalize_axes, tensor

if TYPE_CHECKING:
    import numpy as np


@operator
class L2Normalize(Operator):
    """`data / sqrt(max(sum of squares, eps))`, the sum over the given axes. Relay `nn.l2_normalize`."""

    name = "nn.l2_normalize"
    operands = ("data",)
    pattern = Pattern.OUT_FUSABLE
    eps: float
    axis: tuple[int, ...]

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        check_float(types, self.operands)
        normalize_axes(self.axis, types[0].get_num_dims())
        return [types[0]]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        data = wide_array(args[0])
        squares = np.square(data).sum(axis=self.axis, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            length = np.sqrt(np.maximum(squares, np.asarray(self.eps, data.dtype)))
            return [(data / length).astype(args[0].dtype, copy=False)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        axes = normalize_axes(self.axis, results[0].get_num_dims())
        wide = compute_element(results[0].element_type)

        def square(s: ScalarBuilder, x: SSAValue, total: SSAValue) -> SSAValue:
            return s.add(total, s.mul(x, x))

        def length_of(s: ScalarBuilder, total: SSAValue) -> SSAValue:
            return s.math("Sqrt", s.maximum(total, s.like(self.eps, total)))

        squares = build.reduce(args[0], axes, 0, square, element=wide, keepdims=True)
        length = build.elementwise([squares], tensor(build.shape(squares), wide), length_of)
        return [build.elementwise([args[0], length], results[0], divide)]


__all__ = ["L2Normalize"]
