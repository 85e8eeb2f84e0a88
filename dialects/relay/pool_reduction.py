"""How the elements of a pooling window become one: their maximum, their mean, or their p-norm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

from xdsl.dialects.builtin import IntegerType, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.channelwise import elementwise_along
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder, compute_element
from relay_mlir.dialects.relay.types import Tensor, element_type, is_bool, is_float, is_unsigned, numpy_dtype

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Counts: TypeAlias = "Sequence[int | SSAValue]"
"""How many elements a window has along each spatial axis: a number, or a tensor with an entry a window."""


def check_number(element: Attribute) -> None:
    """Raises VerifyException for an element type without order and arithmetic."""
    if is_bool(element):
        raise VerifyException("pooling takes numbers, but the data is a tensor of bool; cast it")


class PoolReduction(ABC):
    """A reduction of windows, in three steps: from a neutral value, an element at a time, to the result."""

    counted: ClassVar[bool] = False
    """Whether `finish` needs to know how many elements there were."""

    def check(self, element: Attribute) -> None:
        """Raises VerifyException for an element type that cannot be reduced."""
        check_number(element)

    def neutral(self, element: Attribute) -> float | int:
        """What a total starts from, and what padding holds."""
        return 0

    def total_element(self, element: Attribute) -> Attribute:
        """The relay element type of totals: floats in their compute type, integers of at least 32 bits."""
        if is_float(element):
            return compute_element(element)
        return i32 if cast(IntegerType, element).width.data < 32 else element

    @abstractmethod
    def step(self, s: ScalarBuilder, value: SSAValue, total: SSAValue, element: Attribute) -> SSAValue:
        """The total with one more element of this relay type."""

    def finish(
        self, build: LinalgBuilder, totals: SSAValue, axes: Sequence[int], counts: Counts, result: Tensor
    ) -> SSAValue:
        """The result from the totals; `counts` belong to the spatial `axes`, and are there if `counted`."""
        return totals

    @abstractmethod
    def combine(self) -> np.ufunc:
        """`step` on arrays: combines a total with what `contribution` gives."""

    def contribution(self, values: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """What elements of the data add to totals of this dtype."""
        return values.astype(dtype, copy=False)

    def finished(self, totals: npt.NDArray[Any], count: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """`finish` on arrays; `count` broadcasts with the totals."""
        return totals.astype(dtype, copy=False)

    def start(self, shape: Sequence[int], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """The totals of data of this dtype before any element."""
        import numpy as np

        element = element_type(dtype)
        return np.full(shape, self.neutral(element), numpy_dtype(self.total_element(element)))

    def add_to(self, totals: npt.NDArray[Any], values: npt.NDArray[Any]) -> None:
        """Combines totals with one element of the data each, in place."""
        self.combine()(totals, self.contribution(values, totals.dtype), out=totals)

    def add_all(self, totals: npt.NDArray[Any], values: npt.NDArray[Any], axes: tuple[int, ...]) -> None:
        """Combines totals with all elements along the axes, which they have with length 1, in place."""
        values = self.contribution(values, totals.dtype)
        if values.size:
            combine = self.combine()
            combine(totals, combine.reduce(values, axis=axes, keepdims=True), out=totals)


class MaxReduction(PoolReduction):
    """The maximum, NaN where an element is NaN; padding never wins, and windows of padding give the least value."""

    def neutral(self, element: Attribute) -> float | int:
        if is_float(element):
            return float("-inf")
        return 0 if is_unsigned(element) else -(1 << (cast(IntegerType, element).width.data - 1))

    def total_element(self, element: Attribute) -> Attribute:
        return element

    def step(self, s: ScalarBuilder, value: SSAValue, total: SSAValue, element: Attribute) -> SSAValue:
        return s.maximum(total, value, is_unsigned(element))

    def combine(self) -> np.ufunc:
        import numpy as np

        return np.maximum


class MeanReduction(PoolReduction):
    """The sum divided by the number of elements, towards zero for integers; the mean of nothing is NaN (or 0)."""

    counted = True

    def step(self, s: ScalarBuilder, value: SSAValue, total: SSAValue, element: Attribute) -> SSAValue:
        return s.add(total, s.cast(value, element, self.total_element(element)))

    def finish(
        self, build: LinalgBuilder, totals: SSAValue, axes: Sequence[int], counts: Counts, result: Tensor
    ) -> SSAValue:
        element = result.element_type
        wide, unsigned = self.total_element(element), is_unsigned(element)
        fixed = 1
        for count in counts:
            fixed *= 1 if isinstance(count, SSAValue) else count
        varying = [(axis, count) for axis, count in zip(axes, counts, strict=True) if isinstance(count, SSAValue)]

        def divide(s: ScalarBuilder, total: SSAValue, *lengths: SSAValue) -> SSAValue:
            count = s.like(fixed, total)
            for length in lengths:
                count = s.mul(count, length) if fixed != 1 or length is not lengths[0] else length
            return s.cast(s.div(total, count, unsigned), wide, element)

        values = [totals, *(count for _, count in varying)]
        return elementwise_along(build, values, [None, *([axis] for axis, _ in varying)], result, divide)

    def combine(self) -> np.ufunc:
        import numpy as np

        return np.add

    def finished(self, totals: npt.NDArray[Any], count: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        import numpy as np

        if is_float(element_type(dtype)):
            with np.errstate(invalid="ignore"):
                return (totals / count.astype(totals.dtype)).astype(dtype, copy=False)
        divisor = np.maximum(count, 1).astype(totals.dtype)
        towards_zero = np.where(totals < 0, -(-totals // divisor), totals // divisor)
        return np.where(count == 0, 0, towards_zero).astype(dtype)


@dataclass(frozen=True)
class NormReduction(PoolReduction):
    """The p-norm, `(sum |x|^p)^(1/p)`, of floats."""

    p: int

    def check(self, element: Attribute) -> None:
        if not is_float(element):
            raise VerifyException(f"a p-norm takes floats, but the data is a tensor of {element}")
        if self.p < 1:
            raise VerifyException(f"p must be at least 1, but is {self.p}")

    def step(self, s: ScalarBuilder, value: SSAValue, total: SSAValue, element: Attribute) -> SSAValue:
        if self.p == 2:
            return s.add(total, s.mul(value, value))
        size = s.math("AbsF", value)
        return s.add(total, size if self.p == 1 else s.math("PowF", size, s.like(self.p, size)))

    def finish(
        self, build: LinalgBuilder, totals: SSAValue, axes: Sequence[int], counts: Counts, result: Tensor
    ) -> SSAValue:
        def root(s: ScalarBuilder, total: SSAValue) -> SSAValue:
            if self.p == 1:
                return total
            return s.math("Sqrt", total) if self.p == 2 else s.math("PowF", total, s.like(1 / self.p, total))

        return build.elementwise([totals], result, root)

    def combine(self) -> np.ufunc:
        import numpy as np

        return np.add

    def contribution(self, values: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        import numpy as np

        return np.abs(super().contribution(values, dtype)) ** self.p

    def finished(self, totals: npt.NDArray[Any], count: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        return (totals ** (1 / self.p)).astype(dtype, copy=False)


MAX = MaxReduction()
MEAN = MeanReduction()
SQUARES = NormReduction(2)
"""Its totals are sums of squares."""

__all__ = ["MAX", "MEAN", "SQUARES", "Counts", "NormReduction", "PoolReduction", "check_number"]
