"""Running sums and products along an axis.

Result element i is the accumulation of elements 0 to i along `axis`, in order. Without `axis` the data is flattened
first. `dtype` is the element type to accumulate and give, by default that of the data, converted as by cast.
`exclusive` leaves element i out; `reverse` goes from the last element to the first. f16 and bf16 accumulate in f32.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, SSAValue

from relay_mlir.dialects.relay.conversion import converted
from relay_mlir.dialects.relay.elementwise import Kind, check_kind, operand_element, rounded
from relay_mlir.dialects.relay.linalg_builder import compute_element
from relay_mlir.dialects.relay.op import Operator, Pattern, operator
from relay_mlir.dialects.relay.types import Tensor, element_type, normalize_axis, num_elements, numpy_dtype, tensor

if TYPE_CHECKING:
    import numpy as np

    from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder


@dataclass(frozen=True)
class Scan(Operator):
    """What running sums and products share."""

    operands = ("data",)
    pattern = Pattern.OPAQUE
    ufunc: ClassVar[str]
    """The name of numpy's function of two arguments."""
    method: ClassVar[str]
    """The name of ScalarBuilder's method."""
    initial: ClassVar[int]
    """The accumulation of nothing."""
    axis: int | None = None
    dtype: Attribute | None = None
    exclusive: bool = False
    reverse: bool = False

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        check_kind(types[0].element_type, Kind.ANY if self.dtype is not None else Kind.NUMBER)
        shape = types[0].get_shape()
        if self.axis is None:
            shape = (num_elements(shape),)
        else:
            normalize_axis(self.axis, len(shape))
        return [tensor(shape, self._element(types[0].element_type))]

    def _element(self, data: Attribute) -> Attribute:
        if self.dtype is None:
            return data
        check_kind(self.dtype, Kind.NUMBER, "dtype")
        return self.dtype

    def _split(self, shape: Sequence[int]) -> tuple[int, int, int]:
        """The number of elements before, along and after the axis."""
        if self.axis is None:
            return 1, math.prod(shape), 1
        axis = normalize_axis(self.axis, len(shape))
        return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        element = self._element(element_type(args[0].dtype))
        data = converted(args[0], element).reshape(self._split(args[0].shape))
        data = data[:, ::-1] if self.reverse else data
        if self.exclusive:
            first = np.full_like(data[:, :1], self.initial)
            data = np.concatenate([first, data[:, :-1]], axis=1)
        with np.errstate(all="ignore"):
            sums = getattr(np, self.ufunc).accumulate(data, axis=1, dtype=data.dtype)
        sums = sums[:, ::-1] if self.reverse else sums
        shape = (sums.size,) if self.axis is None else args[0].shape
        return [rounded(np.ascontiguousarray(sums).reshape(shape), element).astype(numpy_dtype(element), copy=False)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        outer, count, inner = split = self._split(build.shape(args[0]))
        source, target = operand_element(build, args), results[0].element_type
        data = build.reshape(args[0], split)

        def row(build: LinalgBuilder, i: SSAValue, j: SSAValue, into: SSAValue) -> SSAValue:
            def step(build: LinalgBuilder, k: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                s = build.scalars
                into, before = carried
                at = [i, s.sub(s.const(count - 1, IndexType()), k) if self.reverse else k, j]
                x = s.cast(s.widen(s.extract(data, at)), source, target)
                after = getattr(s, self.method)(before, x)
                given = before if self.exclusive else after
                return build.store(s.narrow(given, target), into, at), after

            start = build.scalars.const(self.initial, compute_element(target))
            return build.loop(count, [into, start], step)[0]

        def rows(build: LinalgBuilder, i: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return build.loop(inner, carried, lambda build, j, carried: [row(build, i, j, carried[0])])

        (result,) = build.loop(outer, [build.empty(split, target)], rows)
        return [build.reshape(result, results[0].get_shape())]


@operator
class CumSum(Scan):
    """The running sum; integers wrap. ONNX CumSum, Relay cumsum."""

    name = "cumsum"
    ufunc = method = "add"
    initial = 0


@operator
class CumProd(Scan):
    """The running product; integers wrap. Relay cumprod."""

    name = "cumprod"
    ufunc = "multiply"
    method = "mul"
    initial = 1
