"""The writing of one function in loops-to-llvm: blocks, scopes, constants and stack slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, LocationAttr, UnknownLoc, i32, i64
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from relay_mlir.dialects.upstream import llvm as more
from relay_mlir.lowering.loops_to_llvm_types import ZERO_FLAGS, integer_attribute

_OpT = TypeVar("_OpT", bound=Operation)


@dataclass(slots=True)
class Scope:
    """A region that is being written: the function, a loop body or a branch."""

    block: Block
    is_loop: bool
    pointers: dict[tuple[object, ...], SSAValue] = field(default_factory=dict[tuple[object, ...], SSAValue])


class Emitter:
    """A function that is being written: where the next operation goes, and what is shared by all of it."""

    def __init__(self, region: Region):
        self.region = region
        self.scopes: list[Scope] = []
        self.scope_of: dict[Block, int] = {}
        """The scope of each written block."""
        self.location: LocationAttr = UnknownLoc()
        self._constants: dict[tuple[Attribute | None, Attribute], Operation] = {}
        self._known: dict[SSAValue, int] = {}
        self._at_entry: list[Operation] = []

    # Emission.

    def emit(self, op: _OpT) -> _OpT:
        """Appends an operation where the walk is."""
        op.location = self.location
        self.scopes[-1].block.add_op(op)
        return op

    def create(
        self,
        cls: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        properties: Mapping[str, Attribute] = {},
    ) -> OpResult:
        """Appends an operation with one result and gives the result."""
        op = cls.create(operands=operands, result_types=(result,), properties=properties, location=self.location)
        self.scopes[-1].block.add_op(op)
        return op.results[0]

    def emit_in_entry(self, op: Operation) -> None:
        """Places an operation without operands, or with constant ones, at the start of the function."""
        op.location = self.location
        self._at_entry.append(op)

    def constant(self, value: Attribute, type_: Attribute) -> SSAValue:
        """A constant of the function; equal ones are shared."""
        key = (value, type_)
        op = self._constants.get(key)
        if op is None:
            op = llvm.ConstantOp.create(result_types=(type_,), properties={"value": value}, location=self.location)
            self._constants[key] = op
            if isinstance(value, IntegerAttr):
                self._known[op.results[0]] = cast("IntegerAttr[IntegerType]", value).value.data
        return op.results[0]

    def poison(self, type_: Attribute) -> SSAValue:
        """A value that is not looked at; shared."""
        op = self._constants.get((None, type_))
        if op is None:
            op = self._constants[None, type_] = more.PoisonOp.create(result_types=(type_,), location=self.location)
        return op.results[0]

    def integer(self, value: int, type_: IntegerType = i64) -> SSAValue:
        """An integer constant."""
        return self.constant(integer_attribute(value, type_), type_)

    def known(self, value: SSAValue) -> int | None:
        """The value of a written integer constant."""
        return self._known.get(value)

    def finish(self) -> None:
        """Places constants and stack slots at the start of the function."""
        entry = self.region.blocks[0]
        first = entry.first_op
        assert first is not None, "a function ends with a terminator"
        entry.insert_ops_before([*self._constants.values(), *self._at_entry], first)

    # Sizes.

    def row_major(self, shape: Sequence[int | SSAValue]) -> tuple[int | SSAValue, ...]:
        """The strides of elements in row-major order."""
        strides: list[int | SSAValue] = []
        stride: int | SSAValue = 1
        for size in reversed(shape):
            strides.append(stride)
            stride = self.product(stride, size)
        return tuple(reversed(strides))

    def product(self, left: int | SSAValue, right: int | SSAValue) -> int | SSAValue:
        """The product of two sizes or strides."""
        if isinstance(left, int) and isinstance(right, int):
            return left * right
        if left == 1:
            return right
        if right == 1:
            return left
        return self.create(llvm.MulOp, (self.as_value(left), self.as_value(right)), i64, {"overflowFlags": ZERO_FLAGS})

    def as_value(self, value: int | SSAValue) -> SSAValue:
        return self.integer(value) if isinstance(value, int) else value

    # Scopes.

    @property
    def level(self) -> int:
        """The innermost scope."""
        return len(self.scopes) - 1

    def enter(self, block: Block, is_loop: bool) -> None:
        """Goes on in a block that is a scope of its own."""
        self.region.add_block(block)
        self.scopes.append(Scope(block, is_loop))
        self.scope_of[block] = self.level

    def leave(self) -> None:
        self.scopes.pop()

    def go_on(self, block: Block) -> None:
        """Goes on in another block of the same scope."""
        self.region.add_block(block)
        self.scopes[-1].block = block
        self.scope_of[block] = self.level

    def branch(self, block: Block, args: Sequence[SSAValue] = ()) -> None:
        self.emit(llvm.BrOp.create(operands=args, successors=[block]))

    def cond_branch(
        self, cond: SSAValue, then: tuple[Block, Sequence[SSAValue]], orelse: tuple[Block, Sequence[SSAValue]]
    ) -> None:
        segments = DenseArrayBase.from_list(i32, [1, len(then[1]), len(orelse[1])])
        self.emit(
            llvm.CondBrOp.create(
                operands=[cond, *then[1], *orelse[1]],
                successors=[then[0], orelse[0]],
                properties={"operandSegmentSizes": segments},
            )
        )
