"""Operators that take, turn round or repeat parts of a tensor along its dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder, constant_expr, dim, dims, identity
from relay_mlir.dialects.relay.moves import (
    check_index_type,
    clamped,
    counting,
    identity_fold,
    moved,
    same_shape_fold,
)
from relay_mlir.dialects.relay.op import Operator, Pattern, RelayOp, operator
from relay_mlir.dialects.relay.types import (
    ANY,
    Shape,
    Tensor,
    normalize_axes,
    normalize_axis,
    num_elements,
    show_shape,
    tensor,
)

if TYPE_CHECKING:
    import numpy as np


def strided(
    build: LinalgBuilder, value: SSAValue, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]
) -> SSAValue:
    """The elements at `start + step * i` for i in [0, size) of each dimension; a view where every step is 1."""
    if all(step == 1 for step in steps):
        return build.slice(value, starts, sizes)
    into = build.empty(sizes, build.element(value))
    if 0 in sizes:
        return into
    rank = len(sizes)
    where = [
        constant_expr(start) if size == 1 and build.shape(value)[axis] != 1 else dim(axis) * step + start
        for axis, (start, size, step) in enumerate(zip(starts, sizes, steps, strict=True))
    ]
    where = [dim(axis) if (starts[axis], steps[axis]) == (0, 1) else expr for axis, expr in enumerate(where)]
    maps = [dims(*where, rank=rank)]
    return build.generic([value], maps, [into], [identity(rank)], ["parallel"] * rank, moved, widen=False)[0]


@operator
class StridedSlice(Operator):
    """Every `strides`-th element of [begin, end) along `axes`: Python's slices, ONNX Slice.

    Without `axes` they are the leading dimensions. Negative positions count from the end; positions outside of the
    dimension are clamped, so that a slice is never out of range. A negative stride runs from `begin` down to above
    `end`; an `end` of -size - 1 or less then includes element 0. With `slice_mode = "size"`, `end` holds sizes (-1: all
    that follow) and strides must be 1.
    """

    name = "strided_slice"
    operands = ("data",)
    pattern = Pattern.INJECTIVE
    begin: tuple[int, ...]
    end: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    axes: tuple[int, ...] | None = None
    slice_mode: str = "end"

    def _rows(self, rank: int) -> list[tuple[int, int, int, int]]:
        """Axis, begin, end and stride of each sliced dimension; raises VerifyException for a malformed operator."""
        count = len(self.begin)
        axes = tuple(range(count)) if self.axes is None else self.axes
        strides = (1,) * count if self.strides is None else self.strides
        if len(strides) == 1:
            strides *= count
        if not len(self.end) == len(strides) == len(axes) == count or count > rank:
            raise VerifyException(
                f"begin, end, strides and axes have {count}, {len(self.end)}, {len(strides)} and {len(axes)} entries "
                f"for {rank} dimensions; expected as many of each, at most one a dimension"
            )
        if self.slice_mode not in ("end", "size"):
            raise VerifyException(f'slice_mode is "{self.slice_mode}"; expected "end" or "size"')
        if 0 in strides or (self.slice_mode == "size" and any(stride != 1 for stride in strides)):
            raise VerifyException(
                f"strides are {list(strides)}; expected none to be 0, and all to be 1 where slice_mode is size"
            )
        return list(zip(normalize_axes(axes, rank), self.begin, self.end, strides, strict=True))

    def ranges(self, shape: Shape) -> list[tuple[int, int, int]]:
        """Start, size and stride along every dimension of a static shape."""
        result = [(0, size, 1) for size in shape]
        for axis, begin, end, stride in self._rows(len(shape)):
            size = shape[axis]
            if self.slice_mode == "size":
                start, _, _ = slice(begin, None).indices(size)
                end = size if end < 0 else start + end
                begin = start
            found = range(*slice(begin, end, stride).indices(size))
            # Python's indices() leave an end of -1 as "before element 0", which slice() itself cannot say.
            result[axis] = (found.start if len(found) else 0, len(found), stride if len(found) > 1 else 1)
        return result

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        shape = types[0].get_shape()
        touched = {axis for axis, *_ in self._rows(len(shape))}
        ranges = self.ranges(tuple(0 if size == ANY else size for size in shape))
        sizes = [
            (ANY if axis in touched else size) if size == ANY else count
            for axis, (size, (_, count, _)) in enumerate(zip(shape, ranges, strict=True))
        ]
        return [tensor(sizes, types[0].element_type)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        data = args[0]
        for axis, (start, size, stride) in enumerate(self.ranges(data.shape)):
            data = data.take(range(start, start + size * stride, stride), axis=axis)
        return [data.copy()]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        shape = build.shape(args[0])
        ranges = self.ranges(tuple(0 if size == ANY else size for size in shape))
        # An open dimension is not sliced, or else the size of the result would not be known.
        ranges = [(0, size, 1) if size == ANY else entry for size, entry in zip(shape, ranges, strict=True)]
        starts, sizes, steps = ([entry[i] for entry in ranges] for i in range(3))
        return [strided(build, args[0], starts, sizes, steps)]

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        rows = self._rows(op.operand_types[0].get_num_dims())
        forward = all(stride > 0 for _, _, _, stride in rows)
        return same_shape_fold(op) if forward else None


@operator
class SliceLike(Operator):
    """The first elements of the data along `axes` (all where `none`): as many as `shape_like` has along the same axes.

    Only the type of `shape_like` is used. Relay `slice_like`; ONNX Slice from 0 to a size of another tensor.
    """

    name = "slice_like"
    operands = ("data", "shape_like")
    pattern = Pattern.INJECTIVE
    axes: tuple[int, ...] | None = None

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        data, like = (type_.get_shape() for type_ in types)
        axes = range(len(data)) if self.axes is None else normalize_axes(self.axes, len(data))
        shape = list(data)
        for axis in axes:
            if axis >= len(like):
                raise VerifyException(f"shape_like has shape {show_shape(like)}, and no axis {axis}")
            if ANY not in (data[axis], like[axis]) and like[axis] > data[axis]:
                raise VerifyException(f"axis {axis} of the data has {data[axis]} elements, fewer than {like[axis]}")
            shape[axis] = like[axis]
        return [tensor(shape, types[0].element_type)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        from relay_mlir.dialects.relay.types import type_of

        (result,) = self.infer([type_of(arg) for arg in args])
        return [args[0][tuple(slice(size) for size in result.get_shape())].copy()]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        have, wanted = build.shape(args[0]), results[0].get_shape()
        for size, limit in zip(wanted, have, strict=True):
            build.require(size, limit, at_most=True)
        return [build.slice(args[0], [0] * len(have), wanted)]


@operator
class Reverse(Operator):
    """The data with the order of elements along `axis` turned round; along every axis where it is `none`."""

    name = "reverse"
    operands = ("data",)
    pattern = Pattern.INJECTIVE
    axis: int | None = None

    def axes(self, rank: int) -> tuple[int, ...]:
        """The axes that are turned round, counted from the front."""
        return tuple(range(rank)) if self.axis is None else (normalize_axis(self.axis, rank),)

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        self.axes(types[0].get_num_dims())
        return [types[0]]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        return [np.flip(args[0], self.axes(args[0].ndim)).copy()]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        shape = build.shape(args[0])
        turned = [axis in self.axes(len(shape)) and size > 1 for axis, size in enumerate(shape)]
        starts = [size - 1 if turn else 0 for size, turn in zip(shape, turned, strict=True)]
        return [strided(build, args[0], starts, shape, [-1 if turn else 1 for turn in turned])]

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        shape = op.operand_types[0].get_shape()
        return identity_fold(op) if all(shape[axis] in (0, 1) for axis in self.axes(len(shape))) else None


@operator
class ReverseSequence(Operator):
    """For each position b along `batch_axis`, the first seq_lengths[b] elements along `seq_axis` turned round.

    `seq_lengths` is a vector of i32 or i64; lengths outside of [0, size of the sequence axis] are clamped to it. ONNX
    ReverseSequence (time_axis is seq_axis).
    """

    name = "reverse_sequence"
    operands = ("data", "seq_lengths")
    pattern = Pattern.INJECTIVE
    seq_axis: int = 1
    batch_axis: int = 0

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        shape, lengths = types[0].get_shape(), types[1].get_shape()
        sequence, batch = self._axes(len(shape))
        check_index_type(types[1], "seq_lengths")
        if sequence == batch:
            raise VerifyException(f"seq_axis and batch_axis are both {sequence}; expected two dimensions")
        if len(lengths) != 1 or (lengths[0] != shape[batch] and ANY not in (lengths[0], shape[batch])):
            raise VerifyException(f"seq_lengths is {types[1]}; expected one length for each of {shape[batch]} batches")
        return [types[0]]

    def _axes(self, rank: int) -> tuple[int, int]:
        return normalize_axis(self.seq_axis, rank, "seq_axis"), normalize_axis(self.batch_axis, rank, "batch_axis")

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        data, lengths = args
        sequence, batch = self._axes(data.ndim)
        size = data.shape[sequence]
        place: np.ndarray = counting(size).reshape(1, -1)
        ends = lengths.astype(np.int64).clip(0, size).reshape(-1, 1)
        source: np.ndarray = np.where(place < ends, ends - 1 - place, place)
        order = source if batch < sequence else source.T
        wide = order.reshape([n if axis in (batch, sequence) else 1 for axis, n in enumerate(data.shape)])
        return [np.take_along_axis(data, wide, axis=sequence)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        shape = results[0].get_shape()
        sequence, batch = self._axes(len(shape))
        into = build.empty(shape, results[0].element_type)
        if 0 in shape:
            return [into]
        rank = len(shape)

        def body(s: ScalarBuilder, length: SSAValue, _: SSAValue) -> SSAValue:
            end = s.to_index(clamped(s, length, shape[sequence] + 1))
            place = s.index(sequence)
            mirrored = s.sub(s.sub(end, s.like(1, end)), place)
            source = s.select(s.compare("lt", place, end), mirrored, place)
            return s.extract(args[0], [source if axis == sequence else s.index(axis) for axis in range(rank)])

        maps, out = [dims(batch, rank=rank)], [identity(rank)]
        return list(build.generic([args[1]], maps, [into], out, ["parallel"] * rank, body, widen=False))


@operator
class Tile(Operator):
    """The data repeated as a whole `reps[i]` times along dimension i.

    Missing repetitions (or dimensions of the data) in front count as 1, as in numpy. ONNX Tile.
    """

    name = "tile"
    operands = ("data",)
    pattern = Pattern.BROADCAST
    reps: tuple[int, ...]

    def _padded(self, shape: Shape) -> tuple[Shape, Shape]:
        """The shape and the repetitions, of one length."""
        rank = max(len(shape), len(self.reps))
        return (1,) * (rank - len(shape)) + tuple(shape), (1,) * (rank - len(self.reps)) + self.reps

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        if any(count < 0 for count in self.reps):
            raise VerifyException(f"reps are {list(self.reps)}; expected none to be negative")
        shape, reps = self._padded(types[0].get_shape())
        sizes = [ANY if size == ANY else size * count for size, count in zip(shape, reps, strict=True)]
        return [tensor(sizes, types[0].element_type)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        return [np.tile(args[0], self.reps)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        # Broadcast along a dimension of repetitions before each one that repeats, then put the two together.
        shape, reps = self._padded(build.shape(args[0]))
        source: list[int] = []
        spread: list[int] = []
        for size, count in zip(shape, reps, strict=True):
            if size != 1 and count != 1:
                source.append(1)
                spread.append(count)
            source.append(size)
            spread.append(count if size == 1 else size)
        wide = build.broadcast_to(build.reshape(args[0], source), spread)
        return [build.reshape(wide, results[0].get_shape())]

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        return identity_fold(op) if all(count == 1 for count in self.reps) else None


@operator
class Repeat(Operator):
    """Each element repeated `repeats` times in a row along `axis`; of the flattened data where `axis` is `none`."""

    name = "repeat"
    operands = ("data",)
    pattern = Pattern.BROADCAST
    repeats: int
    axis: int | None = None

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        if self.repeats < 0:
            raise VerifyException(f"repeats is {self.repeats}; expected 0 or more")
        shape = list(types[0].get_shape())
        if self.axis is None:
            shape = [num_elements(shape)]
        axis = 0 if self.axis is None else normalize_axis(self.axis, len(shape))
        shape[axis] = ANY if shape[axis] == ANY else shape[axis] * self.repeats
        return [tensor(shape, types[0].element_type)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        return [np.repeat(args[0], self.repeats, self.axis)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        shape = list(build.shape(args[0])) if self.axis is not None else [math.prod(build.shape(args[0]))]
        after = 1 if self.axis is None else normalize_axis(self.axis, len(shape)) + 1
        source, spread = ([*shape[:after], count, *shape[after:]] for count in (1, self.repeats))
        wide = build.broadcast_to(build.reshape(args[0], source), spread)
        return [build.reshape(wide, results[0].get_shape())]

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        return identity_fold(op) if self.repeats == 1 and self.axis is not None else None
