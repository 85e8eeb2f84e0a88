"""Operators that join tensors or take one apart along a dimension: concatenate, stack, split."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder
from relay_mlir.dialects.relay.moves import identity_fold
from relay_mlir.dialects.relay.op import Operator, Pattern, RelayOp, operator
from relay_mlir.dialects.relay.types import ANY, Shape, Tensor, add_dims, normalize_axis, show_shape, tensor

if TYPE_CHECKING:
    import numpy as np


def _common_element(types: Sequence[Tensor]) -> None:
    """Raises VerifyException where the tensors do not have one element type."""
    found = {type_.element_type for type_ in types}
    if len(found) > 1:
        raise VerifyException(f"expected tensors of one element type, but found {', '.join(sorted(map(str, found)))}")


def _unified(shapes: Sequence[Shape], free: int | None = None) -> list[int]:
    """The shape that tensors have in common, except along the dimension `free`; a known dimension settles a `?`."""
    if len({len(shape) for shape in shapes}) > 1:
        raise VerifyException(f"expected tensors of one rank, but found {', '.join(map(show_shape, shapes))}")
    result: list[int] = []
    for axis, sizes in enumerate(zip(*shapes, strict=True)):
        known = {size for size in sizes if size != ANY}
        if axis != free and len(known) > 1:
            raise VerifyException(f"shapes {', '.join(map(show_shape, shapes))} do not agree in dimension {axis}")
        result.append(ANY if axis == free or not known else known.pop())
    return result


def _joined(build: LinalgBuilder, parts: Sequence[SSAValue], axis: int, result: Tensor) -> SSAValue:
    """The parts put side by side along the axis."""
    whole = build.empty(result.get_shape(), result.element_type)
    offset = 0
    for part in parts:
        shape = build.shape(part)
        whole = build.insert_slice(part, whole, [offset * (dim == axis) for dim in range(len(shape))])
        offset += shape[axis]
    return whole


@operator
class Concatenate(Operator):
    """The tensors one after another along `axis`; their other dimensions agree. ONNX Concat."""

    name = "concatenate"
    operands = ("data*",)
    pattern = Pattern.INJECTIVE
    axis: int = 0

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        _common_element(types)
        shapes = [type_.get_shape() for type_ in types]
        axis = normalize_axis(self.axis, len(shapes[0]))
        shape = _unified(shapes, axis)
        shape[axis] = add_dims(*(found[axis] for found in shapes))
        return [tensor(shape, types[0].element_type)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        return [np.concatenate(list(args), axis=self.axis)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        return [_joined(build, args, normalize_axis(self.axis, len(results[0].get_shape())), results[0])]

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        return identity_fold(op) if len(op.operands) == 1 else None


@operator
class Stack(Operator):
    """Tensors of one shape along a new dimension `axis` in [-rank - 1, rank]."""

    name = "stack"
    operands = ("data*",)
    pattern = Pattern.INJECTIVE
    axis: int = 0

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        _common_element(types)
        shape = _unified([type_.get_shape() for type_ in types])
        shape.insert(normalize_axis(self.axis, len(shape) + 1), len(types))
        return [tensor(shape, types[0].element_type)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        return [np.stack(list(args), axis=self.axis)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        shape = results[0].get_shape()
        axis = normalize_axis(self.axis, len(shape))
        part = [1 if dim == axis else size for dim, size in enumerate(shape)]
        return [_joined(build, [build.reshape(arg, part) for arg in args], axis, results[0])]


@operator
class Split(Operator):
    """The data cut along `axis` at the positions `indices_or_sections`: n positions give n + 1 results.

    A list of positions, not of sizes: [2, 5] cuts 8 into 2, 3 and 3. Positions must not decrease and must lie in the
    dimension; the dimension itself must be known. Relay's number of equal sections is the list of their ends.
    """

    name = "split"
    operands = ("data",)
    pattern = Pattern.INJECTIVE
    indices_or_sections: tuple[int, ...]
    axis: int = 0

    @classmethod
    def of_sizes(cls, sizes: Sequence[int], axis: int) -> Split:
        """The split into parts of these sizes, at least one."""
        ends: list[int] = []
        for size in sizes[:-1]:
            ends.append(size + (ends[-1] if ends else 0))
        return cls(tuple(ends), axis)

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        shape = types[0].get_shape()
        axis = normalize_axis(self.axis, len(shape))
        last = shape[axis]
        edges = (0, *self.indices_or_sections) if last == ANY else (0, *self.indices_or_sections, last)
        if any(low > high for low, high in pairwise(edges)):
            raise VerifyException(
                f"cannot cut dimension {axis} of {show_shape(shape)} at {list(self.indices_or_sections)}; "
                "expected positions that lie in it and do not decrease"
            )
        sizes = [high - low for low, high in pairwise(edges)] + [ANY] * (last == ANY)
        return [tensor((*shape[:axis], size, *shape[axis + 1 :]), types[0].element_type) for size in sizes]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        return [part.copy() for part in np.split(args[0], list(self.indices_or_sections), axis=self.axis)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        axis = normalize_axis(self.axis, len(results[0].get_shape()))
        parts: list[SSAValue] = []
        for low, result in zip((0, *self.indices_or_sections), results, strict=True):
            shape = result.get_shape()
            parts.append(build.slice(args[0], [low * (dim == axis) for dim in range(len(shape))], shape))
        return parts

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        return None if self.indices_or_sections else identity_fold(op)
