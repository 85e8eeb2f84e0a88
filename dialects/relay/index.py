"""Operators that read elements at positions held in a tensor: take, gather, gather_nd; and trilu.

No position leads outside of a tensor: what an operator does with one that is out of range is part of its meaning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.lazy import arith
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder, dims, identity
from relay_mlir.dialects.relay.moves import check_index_type, clamped, counting, wrap_negative
from relay_mlir.dialects.relay.op import Operator, Pattern, operator
from relay_mlir.dialects.relay.types import ANY, Shape, Tensor, normalize_axis, num_elements, show_shape, tensor

if TYPE_CHECKING:
    import numpy as np

Element: TypeAlias = Callable[..., SSAValue]
"""Makes an element of the result from a ScalarBuilder and the values of the index tensors."""


def _read_at(
    build: LinalgBuilder, indices: Sequence[SSAValue], axes: Sequence[Sequence[int]], result: Tensor, body: Element
) -> SSAValue:
    """A parallel nest over the result; `body(scalars, *index values)` gives its elements.

    Dimension i of an index tensor follows dimension `axes[..][i]` of the result.
    """
    shape = result.get_shape()
    into = build.empty(shape, result.element_type)
    if 0 in shape:
        return into
    rank = len(shape)
    maps = [dims(*positions, rank=rank) for positions in axes]
    iterators = ["parallel"] * rank

    def read(s: ScalarBuilder, *values: SSAValue) -> SSAValue:
        return body(s, *values[:-1])

    return build.generic(indices, maps, [into], [identity(rank)], iterators, read, widen=False)[0]


def _check_bounds(size: int, indices: Shape, what: str) -> None:
    """Raises VerifyException where there is something to read from a dimension without elements."""
    if size == 0 and 0 not in indices and num_elements(indices) != ANY:
        raise VerifyException(f"{what} reads {num_elements(indices)} elements of a dimension of size 0")


@operator
class Take(Operator):
    """Slices of the data along `axis` at the positions `indices`: numpy's `take`, ONNX Gather.

    The dimension `axis` is replaced by the dimensions of the indices; without an axis the data is taken as flat. The
    first `batch_dims` dimensions of both are walked together. `indices` are i32 or i64. Positions out of range: with
    mode "clip" the nearest in range, with "wrap" modulo the size (so that -1 is the last, as ONNX counts), with "fast"
    the program promises that there are none, and they are clipped.
    """

    name = "take"
    operands = ("data", "indices")
    pattern = Pattern.INJECTIVE
    axis: int | None = None
    mode: str = "clip"
    batch_dims: int = 0

    def _axes(self, data: Shape, indices: Shape) -> tuple[int, int]:
        """The axis and the number of batch dimensions, both counted from the front."""
        if self.axis is None:
            if self.batch_dims:
                raise VerifyException("batch_dims needs an axis")
            return 0, 0
        axis = normalize_axis(self.axis, len(data))
        batch = self.batch_dims + len(indices) * (self.batch_dims < 0)
        if not 0 <= batch <= min(axis, len(indices)):
            raise VerifyException(
                f"batch_dims is {self.batch_dims}; expected at most axis {axis} and the indices' rank"
            )
        return axis, batch

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        check_index_type(types[1])
        if self.mode not in ("clip", "wrap", "fast"):
            raise VerifyException(f'mode is "{self.mode}"; expected "clip", "wrap" or "fast"')
        data, indices = types[0].get_shape(), types[1].get_shape()
        if self.axis is None:
            data = (num_elements(data),)
        axis, batch = self._axes(data, indices)
        _check_batch(data[:batch], indices[:batch])
        _check_bounds(data[axis], indices, "take")
        return [tensor((*data[:axis], *indices[batch:], *data[axis + 1 :]), types[0].element_type)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        data, indices = args
        if self.axis is None:
            data = data.reshape(-1)
        axis, batch = self._axes(data.shape, indices.shape)
        size = data.shape[axis]
        places = indices.astype(np.int64)
        if size:
            places = places % size if self.mode == "wrap" else places.clip(0, size - 1)
        if not batch:
            return [np.take(data, places, axis=axis)]
        result = np.empty(
            (*data.shape[:axis], *indices.shape[batch:], *data.shape[axis + 1 :]),
            data.dtype,
        )
        for where in np.ndindex(*data.shape[:batch]):
            result[where] = np.take(data[where], places[where], axis=axis - batch)
        return [result]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        data = args[0]
        if self.axis is None:
            data = build.reshape(data, [math.prod(build.shape(data))])
        shape, indices = build.shape(data), build.shape(args[1])
        axis, batch = self._axes(shape, indices)
        behind = axis + len(indices) - batch
        rank = len(results[0].get_shape())

        def body(s: ScalarBuilder, index: SSAValue) -> SSAValue:
            place = s.to_index(self._place(s, index, shape[axis]))
            return s.extract(data, [*map(s.index, range(axis)), place, *map(s.index, range(behind, rank))])

        follows = [*range(batch), *range(axis, behind)]
        return [_read_at(build, [args[1]], [follows], results[0], body)]

    def _place(self, s: ScalarBuilder, index: SSAValue, size: int) -> SSAValue:
        if self.mode != "wrap":
            return clamped(s, index, size)
        # The divisor is a positive constant: no guard against 0 and -1 is needed.
        return wrap_negative(s, s.insert(arith.RemSIOp(index, s.like(size, index))), size)


def _check_batch(data: Shape, indices: Shape) -> None:
    if any(a != b and ANY not in (a, b) for a, b in zip(data, indices, strict=True)):
        raise VerifyException(f"batch dimensions {show_shape(data)} and {show_shape(indices)} do not agree")


@operator
class Gather(Operator):
    """`out[i, j, k] = data[i, indices[i, j, k], k]` for axis 1 of three: ONNX GatherElements, torch.gather.

    The result has the shape of `indices` (i32 or i64), whose other dimensions are at most the data's. Negative
    positions count from the end; positions out of range are clamped.
    """

    name = "gather"
    operands = ("data", "indices")
    pattern = Pattern.INJECTIVE
    axis: int

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        check_index_type(types[1])
        data, indices = types[0].get_shape(), types[1].get_shape()
        axis = normalize_axis(self.axis, len(data))
        check_covered(data, indices, axis)
        _check_bounds(data[axis], indices, "gather")
        return [tensor(indices, types[0].element_type)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        data, indices = args
        axis = normalize_axis(self.axis, data.ndim)
        part = data[tuple(slice(None if d == axis else n) for d, n in enumerate(indices.shape))]
        return [np.take_along_axis(part, in_range(indices, data.shape[axis]), axis=axis)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        shape = build.shape(args[0])
        axis = normalize_axis(self.axis, len(shape))

        def body(s: ScalarBuilder, index: SSAValue) -> SSAValue:
            place = s.to_index(clamped(s, wrap_negative(s, index, shape[axis]), shape[axis]))
            return s.extract(args[0], [place if d == axis else s.index(d) for d in range(len(shape))])

        return [_read_at(build, [args[1]], [range(len(shape))], results[0], body)]


def check_covered(data: Shape, indices: Shape, axis: int) -> None:
    """Raises VerifyException where the indices have another rank, or are larger than the data beside the axis."""
    if len(indices) != len(data) or any(
        i > d and ANY not in (i, d) for n, (i, d) in enumerate(zip(indices, data, strict=True)) if n != axis
    ):
        raise VerifyException(
            f"indices of shape {show_shape(indices)} do not fit data of shape {show_shape(data)}: expected the same "
            f"rank, and no dimension but {axis} to be larger"
        )


def in_range(indices: np.ndarray, size: int) -> np.ndarray:
    """Positions in [0, size): negative ones counted from the end, then clamped."""
    import numpy as np

    places = indices.astype(np.int64)
    return np.where(places < 0, places + size, places).clip(0, max(size - 1, 0))


@operator
class GatherNd(Operator):
    """Elements or slices of the data at positions with several coordinates.

    `indices` (i32 or i64) has shape [M, B..., Y...]: the first dimension holds the M coordinates of a position in the
    data, of shape [B..., X1, ..., XM, Z...]. The result has shape [B..., Y..., Z...]; the `batch_dims` dimensions B are
    walked together. Negative coordinates count from the end; coordinates out of range are clamped. ONNX GatherND has
    the coordinates last: transpose its indices.
    """

    name = "gather_nd"
    operands = ("data", "indices")
    pattern = Pattern.INJECTIVE
    batch_dims: int = 0

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        check_index_type(types[1])
        data, indices = types[0].get_shape(), types[1].get_shape()
        batch, count = self.batch_dims, coordinates(indices)
        if not 0 <= batch < max(len(indices), 1) or batch + count > len(data):
            raise VerifyException(
                f"indices of shape {show_shape(indices)} with {batch} batch dimensions do not fit data of shape "
                f"{show_shape(data)}"
            )
        _check_batch(data[:batch], indices[1 : batch + 1])
        for size in data[batch : batch + count]:
            _check_bounds(size, indices, "gather_nd")
        return [tensor((*indices[1:], *data[batch + count :]), types[0].element_type)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        data, indices = args
        batch = self.batch_dims
        walked = np.ogrid[tuple(slice(size) for size in indices.shape[1:])][:batch]
        places = [in_range(row, data.shape[batch + n]) for n, row in enumerate(indices)]
        shape = (*indices.shape[1:], *data.shape[batch + len(indices) :])
        return [np.broadcast_to(data[(*walked, *places)], shape).copy()]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        data, indices = args
        shape, (count, *rest) = build.shape(data), build.shape(indices)
        batch, rank = self.batch_dims, len(results[0].get_shape())
        columns = [build.reshape(build.slice(indices, [n, *[0] * len(rest)], [1, *rest]), rest) for n in range(count)]

        def body(s: ScalarBuilder, *coordinates: SSAValue) -> SSAValue:
            places = [
                s.to_index(clamped(s, wrap_negative(s, place, size), size))
                for place, size in zip(coordinates, shape[batch:], strict=False)
            ]
            return s.extract(data, [*map(s.index, range(batch)), *places, *map(s.index, range(len(rest), rank))])

        return [_read_at(build, columns, [range(len(rest))] * count, results[0], body)]


def coordinates(indices: Shape) -> int:
    """The number of coordinates that indices of gather_nd or scatter_nd hold: their first dimension."""
    if not indices or indices[0] == ANY:
        raise VerifyException(f"the first dimension of the indices must be known, but they are {show_shape(indices)}")
    return indices[0]


@operator
class Trilu(Operator):
    """The triangle of the last two dimensions above (`upper`) or below the diagonal `k`, zero elsewhere. ONNX Trilu.

    The diagonal itself is kept; k = 0 is the main one, positive ones lie above it.
    """

    name = "trilu"
    operands = ("data",)
    pattern = Pattern.ELEMWISE
    k: int = 0
    upper: bool = True

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        if types[0].get_num_dims() < 2:
            raise VerifyException(f"trilu expects a tensor of rank 2 or more, but found {types[0]}")
        return [types[0]]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        rows, columns = args[0].shape[-2:]
        distance = counting(columns).reshape(1, -1) - counting(rows).reshape(-1, 1)
        kept = distance >= self.k if self.upper else distance <= self.k
        return [np.where(kept, args[0], np.zeros((), args[0].dtype))]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        rank = len(results[0].get_shape())

        def body(s: ScalarBuilder, value: SSAValue) -> SSAValue:
            distance = s.sub(s.index(rank - 1), s.index(rank - 2))
            kept = s.compare("ge" if self.upper else "le", distance, s.like(self.k, distance))
            return s.select(kept, value, s.like(0, value))

        return [build.elementwise([args[0]], results[0], body, widen=False)]
