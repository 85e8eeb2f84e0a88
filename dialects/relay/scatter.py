"""Operators that write elements at positions held in a tensor: scatter_elements and scatter_nd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.lazy import arith
from relay_mlir.dialects.relay.index import check_covered, coordinates
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder
from relay_mlir.dialects.relay.moves import check_index_type, clamped, copied, counting, nest, within, wrap_negative
from relay_mlir.dialects.relay.op import Operator, operator
from relay_mlir.dialects.relay.types import ANY, Shape, Tensor, is_bool, is_unsigned, normalize_axis, show_shape

if TYPE_CHECKING:
    import numpy as np

REDUCTIONS = ("update", "add", "mul", "min", "max")


def _check_reduction(name: str, reduction: str) -> None:
    if reduction not in REDUCTIONS:
        raise VerifyException(f'{name} is "{reduction}"; expected one of {", ".join(REDUCTIONS)}')


def _scattered(result: np.ndarray, places: Sequence[np.ndarray], updates: np.ndarray, reduction: str) -> np.ndarray:
    """Puts updates into `result` (contiguous) in their order, at positions with one coordinate array a dimension."""
    import numpy as np

    kept = np.ones(updates.shape, np.bool_)
    found: list[np.ndarray] = []
    for place, size in zip(places, result.shape, strict=True):
        there = np.where(place < 0, place + size, place)
        kept = kept & (there >= 0) & (there < size)
        found.append(there)
    where = tuple(np.broadcast_to(there, updates.shape)[kept] for there in found)
    flat = np.ravel_multi_index(where, result.shape) if where else np.zeros(int(kept.sum()), np.int64)
    if reduction == "update":
        # numpy does not say which of several values for one element stays; it has to be the last.
        _, from_end = np.unique(flat[::-1], return_index=True)
        last = len(flat) - 1 - from_end
        np.put(result, flat[last], updates[kept][last])
        return result
    ufuncs = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}
    with np.errstate(all="ignore"):
        ufuncs[reduction].at(result.reshape(-1), flat, updates[kept])
    return result


def _put(
    build: LinalgBuilder, into: SSAValue, places: Sequence[SSAValue], update: SSAValue, reduction: str, element: Tensor
) -> SSAValue:
    """`into` with the update combined into one element; unchanged where a position (an integer) is out of range."""
    s = build.scalars
    inside: SSAValue | None = None
    there: list[SSAValue] = []
    for place, size in zip(places, build.shape(into), strict=True):
        position = wrap_negative(s, place, size)
        good = within(s, position, size)
        inside = good if inside is None else s.insert(arith.AndIOp(inside, good))
        there.append(s.to_index(clamped(s, position, size)))
    old = s.extract(into, there)
    new = _combined(build, old, update, reduction, element)
    return build.store(new if inside is None else s.select(inside, new, old), into, there)


def _combined(build: LinalgBuilder, old: SSAValue, new: SSAValue, reduction: str, type_: Tensor) -> SSAValue:
    """The element after the reduction; bool adds by or, multiplies by and, as in numpy."""
    s, element = build.scalars, type_.element_type
    if reduction == "update":
        return new
    a, b, unsigned = s.widen(old), s.widen(new), is_unsigned(element)
    if reduction == "max" or (reduction == "add" and is_bool(element)):
        return s.narrow(s.maximum(a, b, unsigned), element)
    if reduction == "min" or (reduction == "mul" and is_bool(element)):
        return s.narrow(s.minimum(a, b, unsigned), element)
    return s.narrow(s.add(a, b) if reduction == "add" else s.mul(a, b), element)


@operator
class ScatterElements(Operator):
    """A copy of the data with `out[i, indices[i, j, k], k] = updates[i, j, k]` for axis 1 of three, in row-major order.

    With a `reduction` other than "update" ("add", "mul", "min", "max") the update is combined with what is there, and
    rounded each time. `indices` (i32 or i64) and `updates` have one shape, whose dimensions beside the axis are at most
    the data's. Negative positions count from the end; updates at positions out of range are dropped. ONNX
    ScatterElements.
    """

    name = "scatter_elements"
    operands = ("data", "indices", "updates")
    axis: int = 0
    reduction: str = "update"

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        data, indices, updates = types
        check_index_type(indices)
        _check_reduction("reduction", self.reduction)
        axis = normalize_axis(self.axis, data.get_num_dims())
        check_covered(data.get_shape(), indices.get_shape(), axis)
        _check_updates(data, updates, indices.get_shape())
        return [data]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        data, indices, updates = args
        axis = normalize_axis(self.axis, data.ndim)
        places = [
            indices.astype(np.int64)
            if d == axis
            else counting(n).reshape([-1 if e == d else 1 for e in range(data.ndim)])
            for d, n in enumerate(indices.shape)
        ]
        return [_scattered(data.copy(), places, updates, self.reduction)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        data, indices, updates = args
        axis = normalize_axis(self.axis, len(build.shape(data)))
        type_ = build.element(indices)

        def body(inner: LinalgBuilder, where: list[SSAValue], into: SSAValue) -> SSAValue:
            s = inner.scalars
            places = [s.extract(indices, where) if d == axis else s.from_index(w, type_) for d, w in enumerate(where)]
            return _put(inner, into, places, s.extract(updates, where), self.reduction, results[0])

        shape = build.shape(updates)
        into = copied(build, data)
        return [into if 0 in (*shape, *build.shape(data)) else nest(build, shape, into, body)]


def _check_updates(data: Tensor, updates: Tensor, shape: Shape) -> None:
    """Raises VerifyException where the updates are not of this shape and the data's element type."""
    found = updates.get_shape()
    agree = len(found) == len(shape) and all(a == b or ANY in (a, b) for a, b in zip(found, shape, strict=True))
    if not agree or updates.element_type != data.element_type:
        raise VerifyException(
            f"updates must be {show_shape(shape)} elements of type {data.element_type}, but are {updates}"
        )


@operator
class ScatterNd(Operator):
    """A copy of the data with elements or slices replaced at positions with several coordinates, in row-major order.

    `indices` (i32 or i64) has shape [M, Y...]: the first dimension holds the M coordinates of a position in the data,
    of shape [X1, ..., XM, Z...]; `updates` has shape [Y..., Z...]. `mode` is "update", "add", "mul", "min" or "max" as
    the reduction of scatter_elements. Negative coordinates count from the end; updates at positions out of range are
    dropped. ONNX ScatterND has the coordinates last: transpose its indices.
    """

    name = "scatter_nd"
    operands = ("data", "indices", "updates")
    mode: str = "update"

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        data, indices, updates = types
        check_index_type(indices)
        _check_reduction("mode", self.mode)
        shape, count = data.get_shape(), coordinates(indices.get_shape())
        if count > len(shape):
            raise VerifyException(f"{count} coordinates are more than the {len(shape)} dimensions of the data")
        _check_updates(data, updates, (*indices.get_shape()[1:], *shape[count:]))
        return [data]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        data, indices, updates = args
        outer, count = indices.ndim - 1, indices.shape[0]
        places = [row.astype(np.int64).reshape(row.shape + (1,) * (data.ndim - count)) for row in indices]
        for d in range(count, data.ndim):
            places.append(
                counting(data.shape[d]).reshape([-1 if e == outer + d - count else 1 for e in range(updates.ndim)])
            )
        return [_scattered(data.copy(), places, updates, self.mode)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        data, indices, updates = args
        count, *outer = build.shape(indices)
        rest = build.shape(data)[count:]
        type_ = build.element(indices)

        def position(b: LinalgBuilder, where: list[SSAValue], into: SSAValue) -> SSAValue:
            s = b.scalars
            start = [s.extract(indices, [s.const(n, IndexType()), *where]) for n in range(count)]

            def element(inner: LinalgBuilder, rests: list[SSAValue], target: SSAValue) -> SSAValue:
                scalars = inner.scalars
                places = [*start, *(scalars.from_index(place, type_) for place in rests)]
                update = scalars.extract(updates, [*where, *rests])
                return _put(inner, target, places, update, self.mode, results[0])

            return nest(b, rest, into, element)

        into = copied(build, data)
        empty = 0 in (*build.shape(updates), *build.shape(data))
        return [into if empty else nest(build, outer, into, position)]
