"""Reductions over axes: sum, product, extrema, mean, variance, all, any, and the positions of extrema.

`axis` lists the axes (counted from the end where negative); without it all axes are reduced, and `axis = []` reduces
none. `exclude = true` reduces the axes that are not listed. `keepdims = true` leaves reduced dimensions with size 1.
f16 and bf16 accumulate in f32 and are rounded once at the end. The order of accumulation is not defined.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.lazy import arith
from relay_mlir.dialects.relay.division import Divide
from relay_mlir.dialects.relay.elementwise import (
    Kind,
    check_kind,
    common_element,
    highest,
    integer_width,
    kind_of,
    lowest,
    operand_element,
    rounded,
    widened,
)
from relay_mlir.dialects.relay.linalg_builder import compute_element, dims, identity
from relay_mlir.dialects.relay.op import Operator, Pattern, RelayOp, operator
from relay_mlir.dialects.relay.types import (
    Shape,
    Tensor,
    compatible,
    element_type,
    is_float,
    is_unsigned,
    normalize_axes,
    tensor,
)

if TYPE_CHECKING:
    import numpy as np

    from relay_mlir.dialects.relay.elementwise import Array
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


def reduced_count(axes: Sequence[int], shape: Sequence[int]) -> int:
    """How many elements each result element is made of."""
    return math.prod(shape[axis] for axis in axes)


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
        return [rounded(self.accumulate(widened(args[0]), element), element)]

    def accumulate(self, array: Array, element: Attribute) -> Array:
        """The reduction of an array of the compute type, unrounded."""
        import numpy as np

        function = getattr(np, self.ufunc)
        initial = array.dtype.type(self.initial(element))
        axes = self.axes(array.ndim)
        with np.errstate(all="ignore"):
            return function.reduce(array, axis=axes, dtype=array.dtype, keepdims=self.keepdims, initial=initial)

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        element = operand_element(build, args)
        return [self.reduced(build, args[0], element, element)]

    def reduced(self, build: LinalgBuilder, value: SSAValue, element: Attribute, into: Attribute) -> SSAValue:
        """The reduction of a lowered tensor, of element type `into`: that of the tensor or its compute type."""

        def body(s: ScalarBuilder, x: SSAValue, so_far: SSAValue) -> SSAValue:
            return self.combine(s, element, so_far, x)

        axes = self.axes(len(build.shape(value)))
        return build.reduce(value, axes, self.initial(element), body, into, self.keepdims)

    def combine(self, s: ScalarBuilder, element: Attribute, so_far: SSAValue, x: SSAValue) -> SSAValue:
        """The function on scalars of the compute type."""
        return getattr(s, self.method)(so_far, x)

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        return [op.operands[0]] if not self.axes(op.operand_types[0].get_num_dims()) else None


@operator
class Sum(Reduction):
    """The sum; integers wrap. ONNX ReduceSum, Relay sum."""

    name = "sum"
    accepts = Kind.NUMBER
    ufunc = "add"
    method = "add"

    def initial(self, element: Attribute) -> float:
        return 0


@operator
class Prod(Reduction):
    """The product; integers wrap. ONNX ReduceProd, Relay prod."""

    name = "prod"
    accepts = Kind.NUMBER
    ufunc = "multiply"
    method = "mul"

    def initial(self, element: Attribute) -> float:
        return 1


class Extreme(Reduction):
    """The greatest or least element."""

    accepts = Kind.ANY

    def combine(self, s: ScalarBuilder, element: Attribute, so_far: SSAValue, x: SSAValue) -> SSAValue:
        return getattr(s, self.method)(so_far, x, unsigned=is_unsigned(element))


@operator
class Max(Extreme):
    """The greatest element, NaN if one is NaN; of nothing, -inf or the least integer. ONNX ReduceMax, Relay max."""

    name = "max"
    ufunc = method = "maximum"

    def initial(self, element: Attribute) -> float:
        return lowest(element)


@operator
class Min(Extreme):
    """The least element, NaN if one is NaN; of nothing, inf or the greatest integer. ONNX ReduceMin, Relay min."""

    name = "min"
    ufunc = method = "minimum"

    def initial(self, element: Attribute) -> float:
        return highest(element)


class Logical(Reduction):
    """A reduction of bools."""

    accepts = Kind.BOOL
    arith_op: ClassVar[type[arith.AndIOp | arith.OrIOp]]
    """The arith operation."""

    def combine(self, s: ScalarBuilder, element: Attribute, so_far: SSAValue, x: SSAValue) -> SSAValue:
        return s.insert(self.arith_op(so_far, x))


@operator
class All(Logical):
    """Whether every element is true; of nothing, True. Relay all."""

    name = "all"
    ufunc = "logical_and"
    arith_op = arith.AndIOp

    def initial(self, element: Attribute) -> float:
        return True


@operator
class Any_(Logical):
    """Whether some element is true; of nothing, False. Relay any."""

    name = "any"
    ufunc = "logical_or"
    arith_op = arith.OrIOp

    def initial(self, element: Attribute) -> float:
        return False


@operator
class Mean(Axes):
    """The sum divided by the number of elements, rounded once at the end; of nothing, NaN (0 for integers).

    Integers, of 32 bits at least, sum modulo 2^width and divide towards zero. ONNX ReduceMean, Relay mean.
    """

    name = "mean"
    accepts = Kind.NUMBER

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        element = types[0].element_type
        if not is_float(element) and kind_of(element) == Kind.INTEGER and integer_width(element) < 32:
            raise VerifyException(f"the sum of {element} elements overflows soon; insert relay.cast to i32")
        return super().infer(types)

    def _sum(self) -> Sum:
        return Sum(axis=self.axis, keepdims=self.keepdims, exclude=self.exclude)

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        element = element_type(args[0].dtype)
        data = widened(args[0])
        total = self._sum().accumulate(data, element)
        count = data.dtype.type(reduced_count(self.axes(data.ndim), data.shape))
        if not is_float(element):
            return Divide().evaluate([total, np.asarray(count)])
        with np.errstate(all="ignore"):
            return [rounded(total / count, element)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        shape, element = build.shape(args[0]), operand_element(build, args)
        axes = self.axes(len(shape))
        count = reduced_count(axes, shape)
        total = self._sum().reduced(build, args[0], element, compute_element(element))

        def divide(s: ScalarBuilder, x: SSAValue) -> SSAValue:
            return s.div(x, s.like(count, x), unsigned=is_unsigned(element))

        return [build.elementwise([total], results[0], divide)]


@operator
class Variance(Axes):
    """The mean of (data - mean)^2; with `unbiased`, divided by the count less one. Of too few elements, NaN.

    data: any shape, float. mean: the mean over the same axes, with reduced dimensions of size 1. Relay variance.
    """

    name = "variance"
    operands = ("data", "mean")
    accepts = Kind.FLOAT
    unbiased: bool = False

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        common_element(types)
        data, mean = types
        expected = tensor(self.reduced_shape(data.get_shape(), keepdims=True), data.element_type)
        if not compatible(mean, expected):
            raise VerifyException(f"mean must be {expected}, with the reduced dimensions kept, but is {mean}")
        return super().infer(types)

    def _divisor(self, shape: Sequence[int]) -> int:
        return max(reduced_count(self.axes(len(shape)), shape) - self.unbiased, 0)

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        element = element_type(args[0].dtype)
        data, mean = (widened(arg) for arg in args)
        with np.errstate(all="ignore"):
            total = np.square(data - mean).sum(self.axes(data.ndim), dtype=data.dtype, keepdims=self.keepdims)
            return [rounded(total / total.dtype.type(self._divisor(data.shape)), element)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        shape = build.shape(args[0])
        rank, divisor = len(shape), self._divisor(shape)
        axes = self.axes(rank)
        kept = [axis for axis in range(rank) if axis not in axes]
        start = build.fill(0.0, [shape[axis] for axis in kept], compute_element(results[0].element_type))

        def squares(s: ScalarBuilder, x: SSAValue, mean: SSAValue, so_far: SSAValue) -> SSAValue:
            difference = s.sub(x, mean)
            return s.add(so_far, s.mul(difference, difference))

        def divide(s: ScalarBuilder, x: SSAValue) -> SSAValue:
            return s.div(x, s.like(divisor, x))

        maps = [identity(rank), build.broadcast_map(build.shape(args[1]), rank, shape)]
        iterators = ["reduction" if axis in axes else "parallel" for axis in range(rank)]
        (total,) = build.generic(args, maps, [start], [dims(*kept, rank=rank)], iterators, squares)
        return [build.elementwise([build.reshape(total, results[0].get_shape())], results[0], divide)]
