"""Addresses in loops-to-llvm, built so that LLVM needs no pass of its own to make them cheap.

An access is split into a base, one step per loop counter and one constant displacement; each step is placed in front
of the outermost loop in which its counter does not change, and equal steps are shared.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from relay_mlir.lowering.loops_to_llvm_emit import Emitter, Scope
from relay_mlir.lowering.loops_to_llvm_types import (
    ZERO_FLAGS,
    Linear,
    MemRef,
    Term,
    array_type,
    convert_type,
    get_element_ptr,
)


class Addresses(Emitter):
    """An emitter that knows where values come from."""

    def __init__(self, region: Region):
        super().__init__(region)
        self.written: dict[SSAValue, SSAValue] = {}
        """The written value of each scalar and vector."""
        self.levels: dict[SSAValue, int] = {}
        self.block_level: dict[Block, int] = {}
        self._non_negative: set[SSAValue] = set()
        self._linear: dict[SSAValue, Linear] = {}

    def is_non_negative(self, counter: SSAValue) -> None:
        """Notes that a loop counter starts at 0 or above."""
        self._non_negative.add(counter)

    def linear(self, index: SSAValue) -> Linear:
        """An index as a sum of loop counters and other values times constants."""
        found = self._linear.get(index)
        if found is None:
            found = self._linear[index] = self._split(index)
        return found

    def _split(self, index: SSAValue) -> Linear:
        owner = index.owner
        if isinstance(owner, arith.AddiOp):
            return self.linear(owner.lhs).plus(self.linear(owner.rhs))
        if isinstance(owner, arith.SubiOp):
            return self.linear(owner.lhs).plus(self.linear(owner.rhs).times(-1))
        if isinstance(owner, arith.MuliOp):
            left, right = self.linear(owner.lhs), self.linear(owner.rhs)
            if not left.terms:
                left, right = right, left
            if not right.terms:
                return left.times(right.constant)
        return self.leaf(self.written[index], self._level_of(index))

    def _level_of(self, index: SSAValue) -> int:
        if (level := self.levels.get(index)) is not None:
            return level
        block = index.owner if isinstance(index.owner, Block) else index.owner.parent
        assert block is not None
        return self.block_level[block]

    def leaf(self, value: SSAValue, level: int) -> Linear:
        """A written value as it is."""
        known = self.known(value)
        return Linear(constant=known) if known is not None else Linear(terms=(Term(value, 1, level),))

    def scaled(self, index: Linear, stride: int | SSAValue) -> Linear:
        """An index times a stride."""
        if isinstance(stride, int):
            return index.times(stride)
        if (known := self.known(stride)) is not None:
            return index.times(known)
        level = self._written_level(stride)
        result = Linear(terms=(Term(stride, index.constant, level),) if index.constant else ())
        for term in index.terms:
            inner = max(level, term.level)
            product = self._product(term.value, stride, inner)
            result = result.plus(Linear(terms=(Term(product, term.factor, inner),)))
        return result

    def _written_level(self, value: SSAValue) -> int:
        """The scope in which a written value is defined."""
        block = value.owner if isinstance(value.owner, Block) else value.owner.parent
        # Constants have no place before the function is finished.
        return 0 if block is None else self.scope_of[block]

    def _product(self, value: SSAValue, stride: SSAValue, level: int) -> SSAValue:
        """The product of two values, in front of the loops that do not change it; shared."""
        scope = self._hoisted(level)
        key = (value, stride)
        found = scope.pointers.get(key)
        if found is None:
            op = llvm.MulOp.create(
                operands=(value, stride), result_types=(i64,), properties={"overflowFlags": ZERO_FLAGS}
            )
            self._place(scope, op)
            found = scope.pointers[key] = op.results[0]
        return found

    def sum(self, index: Linear) -> SSAValue:
        """The value of an index or an offset."""
        result: SSAValue | None = None
        for term in index.terms:
            value = term.value
            if term.factor != 1:
                factor = self.integer(term.factor)
                value = self.create(llvm.MulOp, (value, factor), i64, {"overflowFlags": ZERO_FLAGS})
            if result is not None:
                value = self.create(llvm.AddOp, (result, value), i64, {"overflowFlags": ZERO_FLAGS})
            result = value
        if result is None:
            return self.integer(index.constant)
        if index.constant:
            constant = self.integer(index.constant)
            result = self.create(llvm.AddOp, (result, constant), i64, {"overflowFlags": ZERO_FLAGS})
        return result

    def materialize(self, memref: MemRef) -> SSAValue:
        """The pointer to the first element."""
        return self._address(memref, memref.offset)

    def address(self, memref: MemRef, indices: Sequence[SSAValue]) -> SSAValue:
        """The pointer to an element."""
        offset = memref.offset
        for index, stride in zip(indices, memref.strides, strict=True):
            offset = offset.plus(self.scaled(self.linear(index), stride))
        return self._address(memref, offset)

    def _address(self, memref: MemRef, offset: Linear) -> SSAValue:
        element = convert_type(memref.element)
        inbounds = offset.constant >= 0 and all(
            term.factor > 0 and term.value in self._non_negative for term in offset.terms
        )
        pointer, level = memref.ptr, memref.level
        for term in sorted(offset.terms, key=lambda term: term.level):
            level = max(level, term.level)
            pointer = self._step(pointer, term, element, level, inbounds)
        if offset.constant:
            pointer = self._displace(pointer, offset.constant, element, inbounds)
        return pointer

    def _step(self, pointer: SSAValue, term: Term, element: Attribute, level: int, inbounds: bool) -> SSAValue:
        scope = self._hoisted(level)
        key = (pointer, term.value, term.factor, element, inbounds)
        found = scope.pointers.get(key)
        if found is not None:
            return found
        index = term.value
        if term.factor < 0:
            factor = self.integer(term.factor)
            product = llvm.MulOp.create(
                operands=(index, factor), result_types=(i64,), properties={"overflowFlags": ZERO_FLAGS}
            )
            self._place(scope, product)
            index = product.results[0]
        elif term.factor > 1:
            element = array_type(term.factor, element)
        op = get_element_ptr(pointer, index, element, inbounds)
        self._place(scope, op)
        scope.pointers[key] = op.results[0]
        return op.results[0]

    def _displace(self, pointer: SSAValue, constant: int, element: Attribute, inbounds: bool) -> SSAValue:
        scope = self.scopes[-1]
        key = (pointer, constant, element, inbounds)
        found = scope.pointers.get(key)
        if found is None:
            index = constant if -(2**31) < constant < 2**31 else self.integer(constant)
            op = self.emit(get_element_ptr(pointer, index, element, inbounds))
            found = scope.pointers[key] = op.results[0]
        return found

    def _hoisted(self, level: int) -> Scope:
        """The scope in front of the outermost loop inside of scope `level`: there the walk's values do not change."""
        for inner in range(level + 1, len(self.scopes)):
            if self.scopes[inner].is_loop:
                return self.scopes[inner - 1]
        return self.scopes[-1]

    def _place(self, scope: Scope, op: Operation) -> None:
        op.location = self.location
        if scope is self.scopes[-1]:
            scope.block.add_op(op)
        else:
            terminator = scope.block.last_op
            assert terminator is not None
            scope.block.insert_op_before(op, terminator)
