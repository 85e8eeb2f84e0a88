"""Tensors made from a value or a rule: full, zeros, ones, their likes, arange, one_hot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.conversion import converted
from relay_mlir.dialects.relay.elementwise import (
    Kind,
    check_kind,
    common_element,
    highest,
    lowest,
    operand_element,
    rounded,
)
from relay_mlir.dialects.relay.linalg_builder import dims, identity
from relay_mlir.dialects.relay.op import Operator, Pattern, operator
from relay_mlir.dialects.relay.types import (
    Tensor,
    element_type,
    is_integer,
    normalize_axis,
    numpy_dtype,
    show_shape,
    tensor,
)

if TYPE_CHECKING:
    import numpy as np

    from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder


def _check_shape(shape: Sequence[int]) -> None:
    if any(size < 0 for size in shape):
        raise VerifyException(f"shape must have no negative dimension, but is {show_shape(shape)}")


def _check_scalar(type_: Tensor, what: str) -> None:
    if type_.get_num_dims():
        raise VerifyException(f"{what} must be a scalar, but is {type_}")


@dataclass(frozen=True)
class Constant(Operator):
    """A tensor with one value that the operator fixes, of the attributes `shape` and `dtype`."""

    operands = ()
    pattern = Pattern.ELEMWISE
    value: ClassVar[int]
    """The value of every element."""
    shape: tuple[int, ...]
    dtype: Attribute = f32

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        _check_shape(self.shape)
        check_kind(self.dtype, Kind.ANY, "dtype")
        return [tensor(self.shape, self.dtype)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        return [np.full(self.shape, self.value, numpy_dtype(self.dtype))]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        return [build.fill(self.value, self.shape, self.dtype)]


@operator
class Zeros(Constant):
    """A tensor of zeros (False for bool). Relay zeros."""

    name = "zeros"
    value = 0


@operator
class Ones(Constant):
    """A tensor of ones (True for bool). Relay ones."""

    name = "ones"
    value = 1


class ConstantLike(Operator):
    """A tensor with one value that the operator fixes, of the type of `data`, whose elements are not read."""

    operands = ("data",)
    pattern = Pattern.ELEMWISE
    value: ClassVar[int]
    """The value of every element."""

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        check_kind(types[0].element_type, Kind.ANY)
        return [types[0]]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        return [np.full(args[0].shape, self.value, args[0].dtype)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        return [build.fill(self.value, results[0].get_shape(), results[0].element_type)]


@operator
class ZerosLike(ConstantLike):
    """Zeros in the type of data. Relay zeros_like."""

    name = "zeros_like"
    value = 0


@operator
class OnesLike(ConstantLike):
    """Ones in the type of data. Relay ones_like."""

    name = "ones_like"
    value = 1


def _filled(build: LinalgBuilder, scalar: SSAValue, source: Attribute, result: Tensor) -> SSAValue:
    """A tensor of one value, given as a tensor of rank 0 and cast to the result's element type."""
    element = result.element_type
    if source == element:
        return build.broadcast_to(scalar, result.get_shape())

    def convert(s: ScalarBuilder, x: SSAValue) -> SSAValue:
        return s.cast(x, source, element)

    return build.elementwise([scalar], result, convert)


@operator
class Full(Operator):
    """A tensor of `shape` with one value, cast to `dtype` where given. ONNX ConstantOfShape and Expand, Relay full.

    fill_value: a scalar (rank 0).
    """

    name = "full"
    operands = ("fill_value",)
    pattern = Pattern.ELEMWISE
    shape: tuple[int, ...]
    dtype: Attribute | None = None

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        _check_scalar(types[0], "fill_value")
        _check_shape(self.shape)
        element = types[0].element_type if self.dtype is None else self.dtype
        check_kind(element, Kind.ANY, "dtype")
        return [tensor(self.shape, element)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        value = args[0] if self.dtype is None else rounded(converted(args[0], self.dtype), self.dtype)
        return [np.full(self.shape, value, value.dtype)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        source = results[0].element_type if self.dtype is None else operand_element(build, args)
        return [_filled(build, args[0], source, results[0])]


@operator
class FullLike(Operator):
    """A tensor of data's type with one value, cast to its element type. Relay full_like.

    data: any; its elements are not read. fill_value: a scalar (rank 0).
    """

    name = "full_like"
    operands = ("data", "fill_value")
    pattern = Pattern.ELEMWISE

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        check_kind(types[0].element_type, Kind.ANY)
        check_kind(types[1].element_type, Kind.ANY)
        _check_scalar(types[1], "fill_value")
        return [types[0]]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        return Full(shape=args[0].shape, dtype=element_type(args[0].dtype)).evaluate([args[1]])

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        return [_filled(build, args[1], operand_element(build, args, 1), results[0])]


@operator
class Arange(Operator):
    """`start + i * step` for i from 0 while before `stop`: max(0, ceil((stop - start) / step)) elements.

    Computed in f64 and rounded to `dtype`; for integers all three are integers of at most 53 bits. ONNX Range with
    constant inputs, Relay arange.
    """

    name = "arange"
    operands = ()
    pattern = Pattern.INJECTIVE
    start: float
    stop: float
    step: float
    dtype: Attribute

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        check_kind(self.dtype, Kind.NUMBER, "dtype")
        values = (self.start, self.stop, self.step)
        if not all(map(math.isfinite, values)) or self.step == 0:
            raise VerifyException(f"start, stop and step must be finite and step not 0, but are {values}")
        if is_integer(self.dtype):
            self._check_integers(values)
        return [tensor([self.length], self.dtype)]

    def _check_integers(self, values: Sequence[float]) -> None:
        last = self.start + max(self.length - 1, 0) * self.step
        if any(value != int(value) or abs(value) > 2**53 for value in values):
            raise VerifyException(f"{self.dtype} needs integers of at most 53 bits, but finds {tuple(values)}")
        if self.length and not all(lowest(self.dtype) <= value <= highest(self.dtype) for value in (self.start, last)):
            raise VerifyException(f"{self.dtype} cannot hold {int(self.start)} to {int(last)}")

    @property
    def length(self) -> int:
        """The number of elements."""
        return max(0, math.ceil((self.stop - self.start) / self.step))

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        values = self.start + np.arange(self.length, dtype=np.float64) * self.step
        return [rounded(converted(values, self.dtype), self.dtype)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        wide = i64 if is_integer(self.dtype) else f64

        def body(s: ScalarBuilder) -> SSAValue:
            position = s.from_index(s.index(0), wide)
            value = s.add(s.const(self.start, wide), s.mul(position, s.const(self.step, wide)))
            return s.cast(value, wide, self.dtype)

        return [build.elementwise([], results[0], body)]


@operator
class OneHot(Operator):
    """`on_value` where the position along a new axis equals the index, else `off_value`. Relay one_hot.

    indices: any shape, integers; one outside [0, depth) gives off_value everywhere (ONNX OneHot's negative indices
    are added to depth before). on_value, off_value: scalars of one element type, cast to `dtype` where given.
    The axis of size `depth` is inserted at position `axis` of the result.
    """

    name = "one_hot"
    operands = ("indices", "on_value", "off_value")
    pattern = Pattern.OUT_FUSABLE
    depth: int
    axis: int = -1
    dtype: Attribute | None = None

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        indices, on_value, off_value = types
        check_kind(indices.element_type, Kind.INTEGER, "element type of indices")
        _check_scalar(on_value, "on_value")
        _check_scalar(off_value, "off_value")
        common_element([on_value, off_value])
        element = on_value.element_type if self.dtype is None else self.dtype
        check_kind(element, Kind.ANY, "dtype")
        if self.depth < 0:
            raise VerifyException(f"depth must not be negative, but is {self.depth}")
        shape = list(indices.get_shape())
        shape.insert(normalize_axis(self.axis, len(shape) + 1), self.depth)
        return [tensor(shape, element)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        indices, on_value, off_value = args
        position = np.arange(self.depth, dtype=np.int64)
        hits = np.moveaxis(indices.astype(np.int64)[..., np.newaxis] == position, -1, self.axis)
        chosen = np.where(hits, on_value, off_value)
        return [chosen if self.dtype is None else rounded(converted(chosen, self.dtype), self.dtype)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        source, element = operand_element(build, args), results[0].element_type
        value = element if self.dtype is None else operand_element(build, args, 1)
        rank = results[0].get_num_dims()
        axis = normalize_axis(self.axis, rank)

        def body(s: ScalarBuilder, index: SSAValue, on_value: SSAValue, off_value: SSAValue, _: SSAValue) -> SSAValue:
            position = s.from_index(s.index(axis), i64)
            hit = s.compare("eq", s.cast(index, source, i64), position)
            return s.cast(s.select(hit, on_value, off_value), value, element)

        read = dims(*(other for other in range(rank) if other != axis), rank=rank)
        maps = [read, dims(rank=rank), dims(rank=rank)]
        into = build.empty(results[0].get_shape(), element)
        return build.generic(args, maps, [into], [identity(rank)], ["parallel"] * rank, body)
