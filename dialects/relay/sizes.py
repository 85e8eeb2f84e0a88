"""Sizes of tensors and buffers that are known at run time only: what they depend on, and index values of them.

`Sizes` reads the shape of a value off the operations that made it, down to dimensions of function arguments and index
values, and inserts the arithmetic that computes a size. Two sizes of which nobody can tell before run time whether
they agree, where an operation demands it, are a `Requirement`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, LocationAttr, MemRefType, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.lazy import arith, func, linalg, memref, scf, tensor
from relay_mlir.dialects.relay.dims import Dim, Quotient, product, substitute
from relay_mlir.dialects.relay.types import Shape


@dataclass(frozen=True)
class SizeOf:
    """The atom for a dimension of a tensor or buffer."""

    value: SSAValue
    position: int


@dataclass(frozen=True)
class Requirement:
    """Two sizes that an operation demands to be equal, or with `at_most` the left one not to exceed the right one."""

    left: int
    right: int
    location: LocationAttr
    at_most: bool = False


def requirement(left: int, right: int, location: LocationAttr, at_most: bool = False) -> Requirement | None:
    """What has to be checked at run time for two sizes; raises VerifyException where it never holds."""
    if left == right and isinstance(left, Dim) == isinstance(right, Dim):
        return None
    if not isinstance(left, Dim) and not isinstance(right, Dim):
        if at_most and left < right:
            return None
        raise VerifyException(
            f"the sizes {left} and {right} must be equal" if not at_most else f"{left} exceeds {right}"
        )
    return Requirement(left, right, location, at_most)


class Sizes:
    """The sizes in one function. With an `entry` block, what is computed is inserted at its start, once each."""

    def __init__(self, entry: Block | None = None, calling: tuple[str, ...] = ()):
        self.shapes: dict[SSAValue, Shape] = {}
        """Shapes that are known otherwise than by the operations."""
        self.requirements: list[Requirement] = []
        self.calling = calling
        """The functions whose calls are being looked into."""
        self._entry = entry
        self._last: Operation | None = None
        self._made: dict[Hashable, SSAValue] = {}

    # What is known

    def shape(self, value: SSAValue) -> Shape:
        """The shape of a tensor or buffer; an open dimension is a Dim."""
        type_ = cast("TensorType[Attribute] | MemRefType[Attribute]", value.type)
        static = type_.get_shape()
        if DYNAMIC_INDEX not in static:
            return static
        if value not in self.shapes:
            found = self._derived(value) or static
            self.shapes[value] = tuple(
                Dim.atom(SizeOf(value, position)) if size == DYNAMIC_INDEX and not isinstance(size, Dim) else size
                for position, size in enumerate(found)
            )
        return self.shapes[value]

    def _derived(self, value: SSAValue) -> Shape | None:
        if isinstance(value, BlockArgument):
            loop = value.owner.parent_op()
            return self.shape(loop.iter_args[value.index - 1]) if isinstance(loop, scf.ForOp) else None
        op = cast(OpResult, value).op
        match op:
            case scf.ForOp():
                return self.shape(op.iter_args[cast(OpResult, value).index])
            case func.CallOp():
                return self._of_call(op, cast(OpResult, value).index)
            case tensor.EmptyOp() | memref.AllocOp():
                return self._mixed(value, op.dynamic_sizes)
            case linalg.GenericOp() | linalg.FillOp():
                return self.shape(op.operands[len(op.inputs) + cast(OpResult, value).index])
            case tensor.InsertOp() | tensor.InsertSliceOp():
                return self.shape(op.operands[1])
            case tensor.ExtractSliceOp() | memref.SubviewOp():
                sizes = self._list(cast(Any, op.static_sizes).get_values(), op.sizes)
                return sizes if len(sizes) == len(cast(Any, value.type).get_shape()) else None
            case tensor.ExpandShapeOp():
                return self._list(cast(Any, op.static_output_shape).get_values(), op.dynamic_output_shape)
            case memref.ExpandShapeOp():
                return self._list(cast(Any, op.static_output_shape).get_values(), op.output_shape)
            case memref.ViewOp():
                return self._mixed(value, op.sizes)
            case tensor.CollapseShapeOp() | memref.CollapseShapeOp():
                source = self.shape(op.operands[0])
                runs = cast("Sequence[Sequence[IntegerAttr[Any]]]", op.reassociation)
                return tuple(product([source[place.value.data] for place in run]) for run in runs)
            case _:
                return None

    def _of_call(self, call: func.CallOp, index: int) -> Shape | None:
        """The shape of a result of a call, from the body of the function, in terms of the arguments."""
        parent = call.parent_op()
        while parent is not None and parent.parent_op() is not None:
            parent = parent.parent_op()
        name = call.callee.string_value()
        ops = parent.regions[0].block.ops if parent is not None else ()
        callee = next((op for op in ops if isinstance(op, func.FuncOp) and op.sym_name.data == name), None)
        if callee is None or callee.is_declaration or name in self.calling:
            return None
        inner = Sizes(calling=(*self.calling, name))
        returned = cast(Operation, callee.body.block.last_op).operands[index]
        return tuple(substitute(size, self.argument_sizes(call.operands)) for size in inner.shape(returned))

    def argument_sizes(self, arguments: Sequence[SSAValue]) -> Callable[[Hashable], int]:
        """What the atoms of a function are where it is called with these arguments."""

        def of(atom: Hashable) -> int:
            match atom:
                case SizeOf(BlockArgument() as argument, position):
                    return self.shape(arguments[argument.index])[position]
                case BlockArgument():
                    return self.of_index(arguments[atom.index])
                case _:
                    raise VerifyException("the size of a result depends on more than the sizes of the arguments")

        return of

    def _mixed(self, value: SSAValue, dynamic: Sequence[SSAValue]) -> Shape:
        return self._list(cast(Any, value.type).get_shape(), dynamic)

    def _list(self, static: Sequence[int], dynamic: Sequence[SSAValue]) -> Shape:
        values = iter(dynamic)
        return tuple(self.of_index(next(values)) if size == DYNAMIC_INDEX else size for size in static)

    def of_index(self, value: SSAValue) -> int:
        """The size that an index value is."""
        if isinstance(value, OpResult):
            match value.op:
                case arith.ConstantOp():
                    return cast("IntegerAttr[Any]", value.op.value).value.data
                case arith.AddiOp():
                    return self.of_index(value.op.lhs) + self.of_index(value.op.rhs)
                case arith.SubiOp():
                    return self.of_index(value.op.lhs) - self.of_index(value.op.rhs)
                case arith.MuliOp():
                    return self.of_index(value.op.lhs) * self.of_index(value.op.rhs)
                case arith.FloorDivSIOp():
                    below = self.of_index(value.op.rhs)
                    if not isinstance(below, Dim):
                        return self.of_index(value.op.lhs) // below
                case tensor.DimOp() | memref.DimOp():
                    at = self.of_index(value.op.index)
                    if not isinstance(at, Dim):
                        return self.shape(value.op.source)[at]
                case _:
                    pass
        return Dim.atom(value)

    # What is computed

    def require(self, left: int, right: int, location: LocationAttr, at_most: bool = False) -> None:
        """Notes that two sizes must be equal (or see `Requirement`); raises VerifyException where they never are."""
        needed = requirement(left, right, location, at_most)
        known = ((r.left, r.right, r.at_most) for r in self.requirements)
        if needed is not None and (left, right, at_most) not in known:
            self.requirements.append(needed)

    def index(self, dim: int, builder: Builder, location: LocationAttr) -> SSAValue:
        """The index value of a size."""
        if isinstance(dim, Dim):
            return self._sum(cast(Dim, dim), builder, location)
        return self._insert(("constant", dim), lambda: _constant(dim), builder, location)

    def open_indices(self, shape: Sequence[int], builder: Builder, location: LocationAttr) -> list[SSAValue]:
        """The index values of the open dimensions of a shape, in order."""
        return [self.index(size, builder, location) for size in shape if size == DYNAMIC_INDEX]

    def _insert(self, key: Hashable, make: Any, builder: Builder, location: LocationAttr) -> SSAValue:
        if self._entry is None:
            op: Operation = make()
            op.location = location
            return builder.insert(op).results[0]
        if key not in self._made:
            op = make()
            op.location = location
            self._add_to_entry(self._entry, op)
            self._made[key] = op.results[0]
        return self._made[key]

    def _add_to_entry(self, block: Block, op: Operation) -> None:
        if self._last is not None:
            Builder(InsertPoint.after(self._last)).insert(op)
        else:
            Builder(InsertPoint.at_start(block)).insert(op)
        self._last = op

    def _sum(self, dim: Dim, builder: Builder, location: LocationAttr) -> SSAValue:
        total: SSAValue | None = None
        for monomial, factor in dim.terms.items():
            value = self._product(monomial, factor, builder, location)
            if total is None:
                total = value
            else:
                total = self._binary(arith.AddiOp, total, value, builder, location)
        assert total is not None
        return total

    def _product(self, monomial: Any, factor: int, builder: Builder, location: LocationAttr) -> SSAValue:
        result: SSAValue | None = None
        for atom, power in monomial:
            for _ in range(power):
                value = self._atom(atom, builder, location)
                result = value if result is None else self._binary(arith.MuliOp, result, value, builder, location)
        if result is None or factor != 1:
            scale = self.index(factor, builder, location)
            result = scale if result is None else self._binary(arith.MuliOp, result, scale, builder, location)
        return result

    def _binary(self, cls: Any, left: SSAValue, right: SSAValue, builder: Builder, location: LocationAttr) -> SSAValue:
        return self._insert((cls, left, right), lambda: cls(left, right), builder, location)

    def _atom(self, atom: Hashable, builder: Builder, location: LocationAttr) -> SSAValue:
        match atom:
            case SSAValue():
                return atom
            case SizeOf(value, position):
                at = self.index(position, builder, location)
                cls: Any = memref.DimOp if isinstance(value.type, MemRefType) else tensor.DimOp
                return self._insert((cls, value, position), lambda: cls(value, at), builder, location)
            case Quotient(dividend, divisor):
                above = self._sum(dividend, builder, location)
                return self._binary(
                    arith.FloorDivSIOp, above, self.index(divisor, builder, location), builder, location
                )
            case _:
                raise VerifyException(f"the size {atom} has no value here")


def _constant(value: int) -> Operation:
    return arith.ConstantOp(IntegerAttr(value, IndexType()))


__all__ = ["Requirement", "SizeOf", "Sizes", "requirement"]
