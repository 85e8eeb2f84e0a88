"""The state of the loops-to-llvm conversion: emitted blocks, converted types and values, and addresses.

A function is written anew, in one walk over its operations. Addresses are built so that LLVM needs no pass of its own
to make them cheap: an access is split into a base, one step per loop counter and one constant displacement; each step
is placed in front of the outermost loop in which its counter does not change, and equal steps are shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar, cast

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    DenseArrayBase,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    MemRefType,
    NoneAttr,
    UnitAttr,
    UnknownLoc,
    VectorType,
    i1,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.upstream import llvm as more
from relay_mlir.dialects.upstream.attributes import element_of, is_vector, lanes_of
from relay_mlir.lowering.diagnostics import OpError

PTR = llvm.LLVMPointerType()
ZERO_FLAGS = IntegerAttr(0, 32)
_OpT = TypeVar("_OpT", bound=Operation)


@dataclass(frozen=True, slots=True)
class Term:
    """A value times a factor, in an address."""

    value: SSAValue
    factor: int
    level: int
    """The scope in which the value is defined: 0 is the function."""


@dataclass(frozen=True, slots=True)
class Linear:
    """`constant + sum of terms`: an index or an offset, in elements."""

    constant: int = 0
    terms: tuple[Term, ...] = ()

    def plus(self, other: Linear) -> Linear:
        if not self.terms or not other.terms:
            return Linear(self.constant + other.constant, self.terms or other.terms)
        merged = {term.value: term for term in self.terms}
        for term in other.terms:
            if (mine := merged.get(term.value)) is not None:
                term = Term(term.value, term.factor + mine.factor, term.level)
            merged[term.value] = term
        return Linear(self.constant + other.constant, tuple(t for t in merged.values() if t.factor))

    def times(self, factor: int) -> Linear:
        if factor == 0:
            return Linear()
        return Linear(self.constant * factor, tuple(Term(t.value, t.factor * factor, t.level) for t in self.terms))


@dataclass(frozen=True, slots=True)
class MemRef:
    """A memref as values: the pointer to its first element, and the sizes and strides that its type does not state."""

    ptr: SSAValue
    level: int
    element: Attribute
    shape: tuple[int | SSAValue, ...]
    strides: tuple[int | SSAValue, ...]
    offset: Linear = Linear()
    """Added to the pointer, in elements: subviews only change this."""


Value = SSAValue | MemRef


@dataclass(slots=True)
class Scope:
    """A region that is being written: the function, a loop body or a branch."""

    block: Block
    is_loop: bool
    pointers: dict[tuple[object, ...], SSAValue] = field(default_factory=dict[tuple[object, ...], SSAValue])


class Lowering:
    """One function on its way to the llvm dialect."""

    def __init__(self, region: Region, handlers: Mapping[type[Operation], Callable[[Lowering, Operation], None]]):
        self.region = region
        self.handlers = handlers
        self.values: dict[SSAValue, Value] = {}
        self.levels: dict[SSAValue, int] = {}
        self.block_level: dict[Block, int] = {}
        self.scopes: list[Scope] = []
        self.location: LocationAttr = UnknownLoc()
        self.blocks: dict[Block, Block] = {}
        """For functions of several blocks: the written block of each."""
        self.externals: dict[str, llvm.LLVMFunctionType] = {}
        """Functions of the C library that are called."""
        self._constants: dict[tuple[Attribute | None, Attribute], Operation] = {}
        self._known: dict[SSAValue, int] = {}
        self._non_negative: set[SSAValue] = set()
        self._linear: dict[SSAValue, Linear] = {}
        self._allocas: list[Operation] = []

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
        self._allocas.append(op)

    def constant(self, value: Attribute, type_: Attribute) -> SSAValue:
        """A constant of the function; equal ones are shared."""
        key = (value, type_)
        op = self._constants.get(key)
        if op is None:
            op = llvm.ConstantOp.create(result_types=(type_,), properties={"value": value}, location=self.location)
            self._constants[key] = op
            if isinstance(value, IntegerAttr):
                self._known[op.results[0]] = value.value.data
        return op.results[0]

    def poison(self, type_: Attribute) -> SSAValue:
        """A value that is not looked at; shared."""
        op = self._constants.get((None, type_))
        if op is None:
            op = self._constants[None, type_] = more.PoisonOp.create(result_types=(type_,), location=self.location)
        return op.results[0]

    def integer(self, value: int, type_: IntegerType = i64) -> SSAValue:
        """An integer constant."""
        return self.constant(_integer_attribute(value, type_), type_)

    def known(self, value: SSAValue) -> int | None:
        """The value of a written integer constant."""
        return self._known.get(value)

    def finish(self) -> None:
        """Places constants and stack slots at the start of the function."""
        entry = self.region.blocks[0]
        first = entry.first_op
        assert first is not None, "a function ends with a terminator"
        entry.insert_ops_before([*self._constants.values(), *self._allocas], first)

    def fail(self, op: Operation, found: str, hint: str = "") -> OpError:
        """The error for an operation that cannot be converted."""
        return OpError(op, f"{op.name}: {found}; {hint}" if hint else f"{op.name}: {found}")

    # Types.

    def type(self, type_: Attribute) -> Attribute:
        """The llvm type of a scalar or vector: index is i64, bf16 is its bits in an i16."""
        return convert_type(type_)

    # Values.

    def get(self, value: SSAValue) -> SSAValue:
        """The written value of a scalar or vector."""
        return cast(SSAValue, self.values[value])

    def memref(self, value: SSAValue) -> MemRef:
        """The written memref."""
        return cast(MemRef, self.values[value])

    def set(self, value: SSAValue, to: Value) -> None:
        self.values[value] = to
        if isinstance(to, SSAValue) and value.name_hint and to.name_hint is None:
            to.name_hint = value.name_hint

    def flatten(self, value: SSAValue) -> list[SSAValue]:
        """The values that stand for one across calls and branches; see `flat_types`."""
        written = self.values[value]
        if isinstance(written, SSAValue):
            return [written]
        type_ = cast("MemRefType[Attribute]", value.type)
        sizes = [s for s, static in zip(written.shape, type_.get_shape(), strict=True) if static == DYNAMIC_INDEX]
        strides = [s for s, passed in zip(written.strides, passed_strides(type_), strict=True) if passed]
        return [self.materialize(written), *(self.as_value(s) for s in (*sizes, *strides))]

    def unflatten(self, value: SSAValue, flat: Iterable[SSAValue]) -> None:
        """Binds a value to those that stand for it; takes as many from `flat` as it needs."""
        flat = iter(flat)
        if not isinstance(value.type, MemRefType):
            self.set(value, next(flat))
            return
        type_ = cast("MemRefType[Attribute]", value.type)
        ptr = next(flat)
        if value.name_hint and ptr.name_hint is None:
            ptr.name_hint = value.name_hint
        shape = tuple(next(flat) if n == DYNAMIC_INDEX else n for n in type_.get_shape())
        passed = passed_strides(type_)
        strides = self.strides(type_, shape, [next(flat) for each in passed if each])
        self.values[value] = MemRef(ptr, self.level, type_.element_type, shape, strides)

    def strides(
        self, type_: MemRefType[Attribute], shape: Sequence[int | SSAValue], passed: Sequence[int | SSAValue]
    ) -> tuple[int | SSAValue, ...]:
        """The strides of a memref of this type: stated, passed as values, or the product of the sizes behind."""
        if isinstance(type_.layout, NoneAttr):
            return self.row_major(shape)
        given = iter(passed)
        return tuple(next(given) if stride is None else stride for stride in static_strides(type_))

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

    def leave(self) -> None:
        self.scopes.pop()

    def go_on(self, block: Block) -> None:
        """Goes on in another block of the same scope."""
        self.region.add_block(block)
        self.scopes[-1].block = block

    def lower_block(self, block: Block) -> Operation:
        """Converts the operations of a block up to its terminator, which is returned."""
        self.block_level[block] = self.level
        handlers = self.handlers
        last = block.last_op
        assert last is not None, "blocks end with a terminator"
        for op in block.ops:
            if op is last:
                break
            handler = handlers.get(type(op))
            if handler is None:
                raise self.fail(op, "no conversion of this operation", "it is not part of the loops level")
            self.location = op.location
            try:
                handler(self, op)
            except OpError:
                raise
            except VerifyException as error:
                raise OpError(op, f"{op.name}: {error}") from error
        self.location = last.location
        return last

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

    def loop(
        self,
        bounds: tuple[SSAValue, SSAValue, SSAValue],
        inits: Sequence[SSAValue],
        body: Callable[[SSAValue, Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """A counted loop `for i = lower to upper step step` with carried values; gives their last ones.

        The test stands at the end; one in front guards loops that may run zero times. A loop that runs once is its
        body alone.
        """
        lower, upper, step = bounds
        first, end, by = (self.known(bound) for bound in bounds)
        trips = None
        if first is not None and end is not None and by is not None and by > 0:
            trips = max(0, -(-(end - first) // by))
        if trips == 0:
            return inits
        if trips == 1:
            return body(lower, inits)
        types = [value.type for value in inits]
        header, done = Block(arg_types=[lower.type, *types]), Block(arg_types=types if trips is None else [])
        counter = header.args[0]
        if first is not None and first >= 0:
            self._non_negative.add(counter)
        if trips is None:
            enters = self.create(llvm.ICmpOp, (lower, upper), i1, {"predicate": SLT})
            self.cond_branch(enters, (header, [lower, *inits]), (done, inits))
        else:
            self.branch(header, [lower, *inits])
        self.enter(header, is_loop=True)
        carried = list(body(counter, header.args[1:]))
        flags = IntegerAttr(3 if trips is not None and first is not None and first >= 0 else 0, 32)
        following = self.create(llvm.AddOp, (counter, step), counter.type, {"overflowFlags": flags})
        again = self.create(llvm.ICmpOp, (following, upper), i1, {"predicate": SLT})
        self.cond_branch(again, (header, [following, *carried]), (done, carried if trips is None else ()))
        self.leave()
        self.go_on(done)
        return done.args if trips is None else carried

    # Indices and addresses.

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
        return self.leaf(self.get(index), self._level_of(index))

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
        if not index.terms and index.constant in (0, 1):
            return index.times(0) if index.constant == 0 else self.leaf(stride, self.level)
        product = self.create(llvm.MulOp, (self.sum(index), stride), i64, {"overflowFlags": ZERO_FLAGS})
        return self.leaf(product, self.level)

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
            element = _array(term.factor, element)
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


@cache
def _integer_attribute(value: int, type_: IntegerType) -> IntegerAttr[IntegerType]:
    return IntegerAttr(value, type_)


SLT = IntegerAttr(2, i64)
"""The predicate `slt` of llvm.icmp."""


@cache
def _gep_properties(raw: int, element: Attribute, inbounds: bool) -> dict[str, Attribute]:
    properties: dict[str, Attribute] = {
        "rawConstantIndices": DenseArrayBase.from_list(i32, [raw]),
        "elem_type": element,
        "noWrapFlags": IntegerAttr(1 if inbounds else 0, 32),
    }
    if inbounds:
        properties["inbounds"] = UnitAttr()
    return properties


def get_element_ptr(pointer: SSAValue, index: SSAValue | int, element: Attribute, inbounds: bool) -> llvm.GEPOp:
    """`pointer + index`, counted in elements."""
    raw = index if isinstance(index, int) else llvm.GEP_USE_SSA_VAL
    properties = _gep_properties(raw, element, inbounds)
    operands = [pointer] if isinstance(index, int) else [pointer, index]
    return llvm.GEPOp.create(operands=operands, result_types=(PTR,), properties=properties)


@cache
def convert_type(type_: Attribute) -> Attribute:
    """The llvm type of a scalar, vector or memref type; raises VerifyException for one that has none."""
    match type_:
        case IndexType():
            return i64
        case BFloat16Type():
            return i16
        case IntegerType() | Float16Type() | Float32Type() | Float64Type() | llvm.LLVMPointerType():
            return type_
        case VectorType():
            element = convert_type(element_of(type_))
            if type_.get_num_dims() != 1 or type_.get_num_scalable_dims():
                raise VerifyException(f"{type_}: vectors have one dimension of known size here")
            return VectorType(element, type_.shape)
        case _:
            raise VerifyException(f"type {type_} has no counterpart in LLVM")


@cache
def _array(size: int, element: Attribute) -> llvm.LLVMArrayType:
    return llvm.LLVMArrayType(size, element)


def flat_types(type_: Attribute) -> list[Attribute]:
    """The types of the values that stand for one: for a memref a pointer, then its unknown sizes and strides."""
    if not isinstance(type_, MemRefType):
        return [convert_type(type_)]
    memref = cast("MemRefType[Attribute]", type_)
    check_memref(memref)
    unknown = memref.get_shape().count(DYNAMIC_INDEX) + sum(passed_strides(memref))
    return [PTR, *([i64] * unknown)]


def check_memref(type_: MemRefType[Attribute]) -> None:
    """Raises VerifyException for a memref that has no pointer form."""
    if type_.element_type == i1:
        raise VerifyException(f"{type_}: an i1 has no place in memory; bool is stored as i8")
    if not isinstance(type_.memory_space, NoneAttr):
        raise VerifyException(f"{type_}: memory spaces are for devices")
    convert_type(type_.element_type)


def static_strides(type_: MemRefType[Attribute]) -> list[int | None]:
    """The strides that the type states, None for each that is known at run time only."""
    strides = type_.get_strides()
    if strides is None:
        raise VerifyException(f"{type_}: the layout is not strided")
    return [None if stride == DYNAMIC_INDEX else stride for stride in strides]


def passed_strides(type_: MemRefType[Attribute]) -> list[bool]:
    """Which strides are values of their own: those of an explicit layout that the type does not state."""
    strides = static_strides(type_)
    return [False] * len(strides) if isinstance(type_.layout, NoneAttr) else [stride is None for stride in strides]


def element_bytes(element: Attribute) -> int:
    """The size of an element in memory."""
    converted = convert_type(element)
    if isinstance(converted, llvm.LLVMPointerType):
        return 8
    if is_vector(converted):
        return element_bytes(element_of(converted)) * lanes_of(converted)
    assert isinstance(converted, IntegerType | Float16Type | Float32Type | Float64Type)
    return -(-converted.bitwidth // 8)
