"""The positions of the greatest and the least element: argmax and argmin.

A position is counted in row-major order over the reduced axes, which `axis`, `exclude` and `keepdims` choose as for
the reductions. NaN is more extreme than every number, as in numpy. Of equally extreme elements the first counts, or
the last with `select_last_index`. `dtype` is the integer type of the result. There is no position among no elements.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.lazy import arith
from relay_mlir.dialects.relay.elementwise import Kind, check_kind, highest, lowest, operand_element, widened
from relay_mlir.dialects.relay.linalg_builder import compute_element, dims, identity
from relay_mlir.dialects.relay.op import operator
from relay_mlir.dialects.relay.reduce import Axes, reduced_count
from relay_mlir.dialects.relay.types import Tensor, is_float, is_unsigned, numpy_dtype, tensor, type_of

if TYPE_CHECKING:
    import numpy as np

    from relay_mlir.dialects.relay.elementwise import Array
    from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder


@dataclass(frozen=True)
class ArgReduction(Axes):
    """What argmax and argmin share."""

    predicate: ClassVar[str]
    """ScalarBuilder's predicate of being more extreme; with `e` for `t`, of being as extreme."""
    search: ClassVar[str]
    """numpy's function."""
    accepts = Kind.ANY
    select_last_index: bool = False
    dtype: Attribute = i64

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        check_kind(self.dtype, Kind.INTEGER, "dtype")
        (result,) = super().infer(types)
        shape = types[0].get_shape()
        if reduced_count(self.axes(len(shape)), shape) == 0 and 0 not in result.get_shape():
            raise VerifyException(f"{types[0]} has no elements along the axes to search: there is no position to give")
        return [tensor(result.get_shape(), self.dtype)]

    @abstractmethod
    def least_extreme(self, element: Attribute) -> float:
        """A value that no other is less extreme than."""

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        (result,) = self.infer([type_of(args[0])])
        data = widened(args[0])
        axes = self.axes(data.ndim)
        rows = _rows(data, axes)
        if not result_size(result):
            positions: Array = np.zeros(result.get_shape(), np.int64)
        elif self.select_last_index:
            positions = rows.shape[-1] - 1 - getattr(np, self.search)(rows[..., ::-1], axis=-1)
        else:
            positions = getattr(np, self.search)(rows, axis=-1)
        return [np.asarray(positions).astype(numpy_dtype(self.dtype)).reshape(result.get_shape())]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        shape, element = build.shape(args[0]), operand_element(build, args)
        rank = len(shape)
        axes = self.axes(rank)
        kept = [axis for axis in range(rank) if axis not in axes]
        sizes = [shape[axis] for axis in kept]
        into = [
            build.fill(self.least_extreme(element), sizes, compute_element(element)),
            build.fill(0, sizes, self.dtype),
        ]

        def body(s: ScalarBuilder, x: SSAValue, best: SSAValue, position: SSAValue) -> Sequence[SSAValue]:
            taken = self._takes(s, element, x, best)
            here = s.from_index(_position(s, axes, shape), position.type)
            return s.select(taken, x, best), s.select(taken, here, position)

        out = dims(*kept, rank=rank)
        iterators = ["reduction" if axis in axes else "parallel" for axis in range(rank)]
        _, positions = build.generic(args, [identity(rank)], into, [out, out], iterators, body)
        return [build.reshape(positions, results[0].get_shape())]

    def _takes(self, s: ScalarBuilder, element: Attribute, x: SSAValue, best: SSAValue) -> SSAValue:
        """Whether x, which comes after `best`, takes its place."""
        predicate = self.predicate[0] + "e" if self.select_last_index else self.predicate
        taken = s.compare(predicate, x, best, unsigned=is_unsigned(element))
        if not is_float(element):
            return taken
        nan = s.compare("ne", x, x)
        if not self.select_last_index:
            nan = s.insert(arith.AndIOp(nan, s.compare("eq", best, best)))
        return s.insert(arith.OrIOp(taken, nan))


def result_size(result: Tensor) -> int:
    """The number of elements of a static tensor type."""
    return reduced_count(range(len(result.get_shape())), result.get_shape())


def _rows(data: Array, axes: Sequence[int]) -> Array:
    """The data with the reduced axes as the last one."""
    kept = [axis for axis in range(data.ndim) if axis not in axes]
    sizes = [data.shape[axis] for axis in kept]
    return data.transpose([*kept, *axes]).reshape([*sizes, reduced_count(axes, data.shape)])


def _position(s: ScalarBuilder, axes: Sequence[int], shape: Sequence[int]) -> SSAValue:
    """The position of an iteration in row-major order over the reduced axes, of index type."""
    position = s.index(axes[0]) if axes else s.const(0, IndexType())
    for axis in axes[1:]:
        position = s.add(s.mul(position, s.const(shape[axis], IndexType())), s.index(axis))
    return position


@operator
class ArgMax(ArgReduction):
    """The position of the greatest element; NaN counts as greatest. ONNX ArgMax, Relay argmax."""

    name = "argmax"
    predicate = "gt"
    search = "argmax"

    def least_extreme(self, element: Attribute) -> float:
        return lowest(element)


@operator
class ArgMin(ArgReduction):
    """The position of the least element; NaN counts as least. ONNX ArgMin, Relay argmin."""

    name = "argmin"
    predicate = "lt"
    search = "argmin"

    def least_extreme(self, element: Attribute) -> float:
        return highest(element)
