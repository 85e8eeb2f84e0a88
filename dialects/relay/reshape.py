"""Operators that give the same elements another shape, and broadcasting to a shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.dims import Dim
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder
from relay_mlir.dialects.relay.moves import same_shape_fold
from relay_mlir.dialects.relay.op import Operator, Pattern, RelayOp, operator
from relay_mlir.dialects.relay.types import (
    ANY,
    Shape,
    Tensor,
    broadcast_shapes,
    normalize_axes,
    normalize_axis,
    num_elements,
    show_shape,
    tensor,
)

if TYPE_CHECKING:
    import numpy as np


class _Reshaping(Operator):
    """What operators that only change the shape share: `infer` says it all."""

    pattern = Pattern.INJECTIVE

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        from relay_mlir.dialects.relay.types import type_of

        (result,) = self.infer([type_of(arg) for arg in args])
        return [args[0].reshape(result.get_shape())]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        return [build.reshape(args[0], results[0].get_shape())]

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        return same_shape_fold(op)


@dataclass
class _Resolver:
    """Works through the codes of `newshape` from left to right, as Relay does."""

    data: Shape
    allowzero: bool

    def __post_init__(self) -> None:
        self.source = 0
        self.copied: list[int] = []
        """Positions of the data's dimensions that the result has as they are, alone or in a product."""
        self.out: list[int] = []
        self.inferred: int | None = None
        self.explicit = 1

    def _copy(self) -> int:
        if self.source >= len(self.data):
            raise VerifyException(f"newshape refers to dimension {self.source} of a tensor of rank {len(self.data)}")
        self.copied.append(self.source)
        self.source += 1
        return self.data[self.source - 1]

    def _infer_here(self) -> None:
        if self.inferred is not None:
            raise VerifyException("newshape has -1 twice; one dimension at most can be inferred")
        self.inferred = len(self.out)
        self.out.append(ANY)

    def _split(self, parts: Sequence[int]) -> None:
        if len(parts) != 2:
            raise VerifyException("the code -4 in newshape must be followed by two dimensions")
        whole = self._copy()
        known = [part for part in parts if part != -1]
        if not known or any(part <= 0 for part in known):
            raise VerifyException(f"-4 splits into {list(parts)}; expected positive sizes, at most one of them -1")
        if whole != ANY and (whole % math.prod(known) or (len(known) == 2 and whole != math.prod(known))):
            raise VerifyException(f"dimension {whole} cannot be split into {list(parts)}")
        rest = whole // math.prod(known) if whole != ANY or isinstance(whole, Dim) else ANY
        self.out += [rest if part == -1 else part for part in parts]

    def resolve(self, codes: Sequence[int]) -> Shape:
        position = 0
        while position < len(codes):
            code = codes[position]
            if code > 0 or (code == 0 and self.allowzero):
                self.out.append(code)
                self.explicit *= code
                self.source += 1
            elif code == 0:
                self.out.append(self._copy())
            elif code == -1:
                self._infer_here()
                self.source += 1
            elif code == -2:
                self.out += [self._copy() for _ in self.data[self.source :]]
            elif code == -3:
                pair = (self._copy(), self._copy())
                self.out.append(num_elements(pair))
            elif code == -4:
                self._split(codes[position + 1 : position + 3])
                position += 2
            else:
                raise VerifyException(f"newshape has {code}; expected a size or one of the codes 0, -1, -2, -3, -4")
            position += 1
        self._count(codes)
        return tuple(self.out)

    def _count(self, codes: Sequence[int]) -> None:
        """Finds the size of -1 and compares the numbers of elements, leaving out dimensions that both sides have."""
        left = num_elements([size for axis, size in enumerate(self.data) if axis not in self.copied])
        if left == ANY and (self.inferred is None or not isinstance(left, Dim)):
            return
        if self.inferred is not None:
            if self.explicit == 0 or left % self.explicit:
                raise VerifyException(f"cannot infer -1 in {list(codes)} from the shape {show_shape(self.data)}")
            self.out[self.inferred] = left // self.explicit
        elif left != self.explicit and num_elements([self.data[axis] for axis in self.copied]) != 0:
            raise VerifyException(f"a tensor of shape {show_shape(self.data)} cannot be reshaped to {list(codes)}")


@operator
class Reshape(_Reshaping):
    """The same elements in row-major order, in the shape `newshape`.

    Codes in `newshape`: 0 copies the dimension of the data at the same position (with `allowzero` it is the size 0),
    -1 is inferred, -2 copies all remaining dimensions, -3 is the product of the next two, -4 splits the next one into
    the two sizes that follow, one of which may be -1. ONNX Reshape uses 0 and -1.
    """

    name = "reshape"
    operands = ("data",)
    newshape: tuple[int, ...]
    allowzero: bool = False

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        shape = _Resolver(types[0].get_shape(), self.allowzero).resolve(self.newshape)
        return [tensor(shape, types[0].element_type)]


@operator
class Squeeze(_Reshaping):
    """Without the dimensions `axis`, which must be 1; without every dimension of 1 where `axis` is `none`."""

    name = "squeeze"
    operands = ("data",)
    axis: tuple[int, ...] | None = None

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        shape = types[0].get_shape()
        if self.axis is None:
            if ANY in shape:
                raise VerifyException(f"squeeze of {show_shape(shape)} needs 'axis': a `?` may or may not be 1")
            gone = [axis for axis, size in enumerate(shape) if size == 1]
        else:
            gone = list(normalize_axes(self.axis, len(shape)))
        for axis in gone:
            if shape[axis] not in (1, ANY):
                raise VerifyException(f"cannot squeeze dimension {axis} of size {shape[axis]}; expected 1")
        kept = [size for axis, size in enumerate(shape) if axis not in gone]
        return [tensor(kept, types[0].element_type)]


@operator
class ExpandDims(_Reshaping):
    """With `num_newaxis` dimensions of 1 put in before dimension `axis` (-1: after the last one).

    `axis` lies in [-rank - 1, rank].
    """

    name = "expand_dims"
    operands = ("data",)
    pattern = Pattern.BROADCAST
    axis: int
    num_newaxis: int = 1

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        shape = types[0].get_shape()
        if self.num_newaxis < 0:
            raise VerifyException(f"num_newaxis is {self.num_newaxis}; expected 0 or more")
        axis = normalize_axis(self.axis, len(shape) + 1)
        return [tensor((*shape[:axis], *(1,) * self.num_newaxis, *shape[axis:]), types[0].element_type)]


@operator
class ReshapeLike(_Reshaping):
    """The dimensions [lhs_begin, lhs_end) of the data reshaped to the dimensions [rhs_begin, rhs_end) of `shape_like`.

    An end of `none` is the rank; negative positions count from the end. Only the type of `shape_like` is used.
    """

    name = "reshape_like"
    operands = ("data", "shape_like")
    lhs_begin: int = 0
    lhs_end: int | None = None
    rhs_begin: int = 0
    rhs_end: int | None = None

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        data, like = (type_.get_shape() for type_ in types)
        left = _range(self.lhs_begin, self.lhs_end, len(data), "lhs")
        right = _range(self.rhs_begin, self.rhs_end, len(like), "rhs")
        have, want = num_elements(data[left]), num_elements(like[right])
        if ANY not in (have, want) and have != want:
            raise VerifyException(
                f"dimensions {show_shape(data[left])} cannot take the shape {show_shape(like[right])}: "
                f"{have} elements are not {want}"
            )
        return [tensor((*data[: left.start], *like[right], *data[left.stop :]), types[0].element_type)]


def _range(begin: int, end: int | None, rank: int, what: str) -> slice:
    """The positions [begin, end) counted from the front; raises VerifyException where they are not in the rank."""
    start, stop = begin + rank * (begin < 0), rank if end is None else end + rank * (end < 0)
    if not 0 <= start <= stop <= rank:
        raise VerifyException(f"{what}_begin {begin} and {what}_end {end} are no range of {rank} dimensions")
    return slice(start, stop)


@operator
class BatchFlatten(_Reshaping):
    """All dimensions after the first made one: [d0, d1, d2] becomes [d0, d1 * d2]; rank 1 becomes [d0, 1]."""

    name = "nn.batch_flatten"
    operands = ("data",)

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        shape = types[0].get_shape()
        if not shape:
            raise VerifyException("batch_flatten expects a tensor of rank 1 or more, but found a scalar")
        return [tensor((shape[0], num_elements(shape[1:])), types[0].element_type)]


class _Broadcasting(Operator):
    """What broadcasting to a shape shares: `infer` says it all."""

    pattern = Pattern.BROADCAST

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        from relay_mlir.dialects.relay.types import type_of

        (result,) = self.infer([type_of(arg) for arg in args])
        return [np.ascontiguousarray(np.broadcast_to(args[0], result.get_shape())).reshape(result.get_shape())]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        return [build.broadcast_to(args[0], results[0].get_shape())]

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        return same_shape_fold(op)


@operator
class BroadcastTo(_Broadcasting):
    """The data stretched to `shape` by numpy's rules: dimensions of 1 repeat, missing ones are put in front.

    ONNX Expand, which also lets a 1 in the shape keep a larger dimension of the data, is `broadcast_to` of the shape
    that both broadcast to.
    """

    name = "broadcast_to"
    operands = ("data",)
    shape: tuple[int, ...]

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        return [tensor(_stretched(types[0].get_shape(), self.shape), types[0].element_type)]


@operator
class BroadcastToLike(_Broadcasting):
    """The data stretched to the shape of `broadcast_type` by numpy's rules; only the type of that operand is used."""

    name = "broadcast_to_like"
    operands = ("data", "broadcast_type")

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        return [tensor(_stretched(types[0].get_shape(), types[1].get_shape()), types[0].element_type)]


def _stretched(data: Shape, shape: Shape) -> Shape:
    """The target shape, checked: broadcasting with the data must not change it."""
    if any(size < 0 for size in shape if size != ANY):
        raise VerifyException(f"shape {list(shape)} has a negative dimension")
    both = broadcast_shapes(data, shape)
    if len(both) != len(shape) or any(a != b and ANY not in (a, b) for a, b in zip(both, shape, strict=True)):
        raise VerifyException(f"a tensor of shape {show_shape(data)} does not broadcast to {show_shape(shape)}")
    return tuple(a if b == ANY else b for a, b in zip(both, shape, strict=True))
