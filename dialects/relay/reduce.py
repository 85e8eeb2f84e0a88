"""Reductions over axes: sum, product, extrema, mean, variance, all, any, and the positions of extrema.

`axis` lists the axes (counted from the end where negative); without it all axes are reduced, and `axis = []` reduces
none. `exclude = true` reduces the axes that are not listed. `keepdims = true` leaves reduced dimensions with size 1.
f16 and bf16 accumulate in f32 and are rounded once at the end. The order of accumulation is not defined.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.elementwise import Kind, check_kind, operand_element, rounded, widened
from relay_mlir.dialects.relay.op import Operator, Pattern, RelayOp, operator
from relay_mlir.dialects.relay.types import (
    Shape,
    Tensor,
    element_type,
    normalize_axes,
    tensor,
)

if TYPE_CHECKING:
    import numpy as np

    from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder


@dataclass(frozen=True)
class Axes(Operator):
    """What all reductions share: the choice of axes."""

    operands = ("data",)
    pattern = Pattern.COMM_REDUCE
    accepts: ClassVar[Kind]
    """The element types that data may have."""
    axis: tuple[int, ...] | None = None
    keepdims: bool = False
    exclude: bool = False

    def axes(self, rank: int) -> tuple[int, ...]:
        """The axes that are reduced, ascending."""
        if self.axis is None:
            if self.exclude:
                raise VerifyException("exclude = true needs axis: it reduces the axes that are not listed")
            return tuple(range(rank))
        listed = normalize_axes(self.axis, rank)
        return tuple(axis for axis in range(rank) if (axis in listed) != self.exclude)

    def reduced_shape(self, shape: Sequence[int], keepdims: bool | None = None) -> Shape:
        """The shape of the result."""
        axes = self.axes(len(shape))
        keep = self.keepdims if keepdims is None else keepdims
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape) if keep or axis not in axes)

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        check_kind(types[0].element_type, self.accepts)
        return [tensor(self.reduced_shape(types[0].get_shape()), types[0].element_type)]


@dataclass(frozen=True)
class Reduction(Axes):
    """A reduction by a commutative, associative function with an identity, the value of a reduction of nothing."""

    ufunc: ClassVar[str]
    """The name of numpy's function of two arguments."""
    method: ClassVar[str]
    """The name of ScalarBuilder's method."""

    @abstractmethod
    def initial(self, element: Attribute) -> float:
        """The identity of the function."""

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        element = element_type(args[0].dtype)
        return [rounded(self.accumulate(widened(args[0]), element, self.keepdims), element)]

    def accumulate(self, array: Any, element: Attribute, keepdims: bool) -> Any:
        """The reduction in the compute type."""
        import numpy as np

        with np.errstate(all="ignore"):
            return getattr(np, self.ufunc).reduce(
                array,
                axis=self.axes(array.ndim),
                dtype=array.dtype,
                keepdims=keepdims,
                initial=array.dtype.type(self.initial(element)),
            )

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        element = operand_element(build, args)
        axes = self.axes(len(build.shape(args[0])))
        initial = self.initial(element)

        def body(s: ScalarBuilder, x: SSAValue, so_far: SSAValue) -> SSAValue:
            return self.combine(s, element, so_far, x)

        return [build.reduce(args[0], axes, initial, body, keepdims=self.keepdims)]

    def combine(self, s: ScalarBuilder, element: Attribute, so_far: SSAValue, x: SSAValue) -> SSAValue:
        """The function on scalars of the compute type."""
        return getattr(s, self.method)(so_far, x)

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        rank = op.operand_types[0].get_num_dims()
        return [op.operands[0]] if not self.axes(rank) else None


@operator
class Sum(Reduction):
    """The sum; integers wrap. ONNX ReduceSum, Relay sum."""

    name = "sum"
    accepts = Kind.NUMBER
    ufunc = "add"
    method = "add"

    def initial(self, element: Attribute) -> float:
        return 0
