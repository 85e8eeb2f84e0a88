"""The writing of one function in heap-to-llvm: values, blocks, arguments, calls of the runtime, failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    IntegerAttr,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from relay_mlir.dialects.heap import ops as heap
from relay_mlir.dialects.heap.types import ImmediateType, ObjectType, TokenType
from relay_mlir.lowering.diagnostics import OpError
from relay_mlir.lowering.heap_layout import (
    ARGUMENTS,
    MAX_ARGUMENTS,
    MAX_TAG,
    header,
    in_registers,
    size_class,
)
from relay_mlir.lowering.locations import describe_origin
from relay_mlir.lowering.loops_to_llvm import PASSTHROUGH
from relay_mlir.lowering.loops_to_llvm_emit import Emitter
from relay_mlir.lowering.loops_to_llvm_types import PTR, convert_type, get_element_ptr

ENTRY = "main"
FIRST_FAILURE = 3
"""The status of the first failure; those below are of the C interface."""
TAILCC = llvm.CallingConventionAttr("tailcc")
MUSTTAIL = llvm.TailCallKindAttr(llvm.TailCallKind.MUST_TAIL)

RUNTIME: dict[str, llvm.LLVMFunctionType] = {
    "relay.heap.alloc": llvm.LLVMFunctionType([PTR, i64, i64], PTR),
    "relay.heap.reuse": llvm.LLVMFunctionType([PTR, PTR, i64, i64], PTR),
    "relay.heap.reuse_tensor": llvm.LLVMFunctionType([PTR, PTR, i64, i64], PTR),
    "relay.heap.free": llvm.LLVMFunctionType([PTR, PTR]),
    "relay.heap.retain": llvm.LLVMFunctionType([PTR]),
    "relay.heap.release": llvm.LLVMFunctionType([PTR, PTR]),
    "relay.heap.release_other": llvm.LLVMFunctionType([PTR, PTR, PTR]),
    "relay.heap.tag": llvm.LLVMFunctionType([PTR], i32),
    "relay.heap.code": llvm.LLVMFunctionType([PTR], PTR),
    "relay.heap.check_stack": llvm.LLVMFunctionType([PTR, i32]),
    "relay.heap.fail": llvm.LLVMFunctionType([PTR, i32]),
}
"""The functions of the runtime."""


def llvm_type(type_: Attribute) -> Attribute:
    """The llvm type of a heap value."""
    return PTR if isinstance(type_, ObjectType | ImmediateType | TokenType) else convert_type(type_)


def stored_type(type_: Attribute) -> Attribute:
    """The llvm type of a scalar in memory."""
    return i8 if type_ == i1 else convert_type(type_)


MAX_MADE_BY_CALL = 4
"""Records of up to this many fields are made by one call."""
MANY_RECORDS = 256
"""A function that makes more records does not repeat the code for each."""


def record_function(fields: int, *, inline: bool) -> str:
    """The function of the runtime that makes a record."""
    return f"relay.heap.{'make' if inline else 'record'}{fields}"


RUNTIME.update(
    (record_function(fields, inline=inline), llvm.LLVMFunctionType([PTR, i64, *[PTR] * fields], PTR))
    for fields in range(1, MAX_MADE_BY_CALL + 1)
    for inline in (False, True)
)


@dataclass
class Failures:
    """The texts of what may fail at run time."""

    texts: list[str] = field(default_factory=list[str])

    def status(self, message: str, op: Operation) -> int:
        """The status of a failure of an operation."""
        origin = describe_origin(op)
        self.texts.append(message + (f" [from {origin}]" if origin else ""))
        return FIRST_FAILURE + len(self.texts) - 1


@dataclass
class Kernel:
    """What a primitive function takes beside its tensors: offsets of weights, and scratch memory."""

    weights: list[int]
    scratch: bool


class HeapFunction:
    """Writes one function."""

    def __init__(
        self, source: heap.FuncOp, kernels: dict[str, Kernel], failures: Failures, used: set[str], handlers: Handlers
    ):
        self.source = source
        self.kernels = kernels
        self.failures = failures
        self.used = used
        self.handlers = handlers
        self.region = Region()
        self.emit = Emitter(self.region)
        self.values: dict[SSAValue, SSAValue] = {}
        self.blocks: dict[Block, Block] = {}
        self.header = Block()
        """Where a call of the function by itself goes."""
        self.ended = False
        self.records = sum(1 for op in source.walk() if isinstance(op, heap.RecordOp))

    def write(self) -> llvm.FuncOp:
        source = self.source
        entry_point = source.sym_name.data == ENTRY
        types = [llvm_type(arg.type) for arg in source.body.blocks[0].args]
        direct = in_registers(types)
        registers = [type_ for type_, fits in zip(types, direct, strict=True) if fits]
        first = Block(arg_types=[PTR, *registers])
        self.heap = first.args[0]
        self.heap.name_hint = "heap"
        self.emit.location = source.location
        for block in source.body.blocks:
            made = Block(arg_types=[llvm_type(arg.type) for arg in block.args])
            self.blocks[block] = made
            self.values.update(zip(block.args, made.args, strict=True))
        self.emit.enter(first, is_loop=False)
        self.header = self.blocks[source.body.blocks[0]]
        arguments = self._arguments(types, direct, list(first.args[1:]))
        if any(_grows_stack(op) for op in source.walk()):
            text = f"the stack is full in @{self.shown_name}: it calls itself too deeply"
            status = self.failures.status(text, source)
            self.runtime("relay.heap.check_stack", self.heap, self.emit.integer(status, i32))
        self.emit.branch(self.header, arguments)
        for block in source.body.blocks:
            self.emit.enter(self.blocks[block], is_loop=False)
            for op in block.ops:
                self.emit.location = op.location
                self.ended = False
                self._operation(op)
                if self.ended:
                    break  # what follows returns the result of a call that became a branch
        self.emit.finish()
        function = llvm.FuncOp(
            source.sym_name,
            llvm.LLVMFunctionType([PTR, *registers], None if entry_point else PTR),
            llvm.LinkageAttr("external" if entry_point else "internal"),
            llvm.CallingConventionAttr("ccc") if entry_point else TAILCC,
            body=self.region,
            other_props={"passthrough": PASSTHROUGH},
            extra_attrs=source.attributes,
        )
        function.location = source.location
        return function

    def _arguments(self, types: Sequence[Attribute], direct: Sequence[bool], given: list[SSAValue]) -> list[SSAValue]:
        """All arguments: those in registers, and the others out of the state of the heap."""
        result: list[SSAValue] = []
        place = ARGUMENTS
        for type_, fits in zip(types, direct, strict=True):
            if fits:
                result.append(given.pop(0))
            else:
                result.append(self.load(self.heap, place, type_))
                place += 8
        return result

    def pass_on(self, values: Sequence[SSAValue], op: Operation) -> list[SSAValue]:
        """Puts arguments where the function that is called next finds them; gives those for registers."""
        direct = in_registers([value.type for value in values])
        others = [value for value, fits in zip(values, direct, strict=True) if not fits]
        if len(others) > MAX_ARGUMENTS:
            raise OpError(op, f"has {len(values)} arguments; a function has at most {MAX_ARGUMENTS}")
        for place, value in enumerate(others):
            self.store(value, self.heap, ARGUMENTS + 8 * place)
        return [value for value, fits in zip(values, direct, strict=True) if fits]

    @property
    def shown_name(self) -> str:
        """The name of the function for people."""
        return self.source.sym_name.data.removesuffix(".entry").replace("main.body", ENTRY)

    # What the operations share.

    def runtime(self, name: str, *arguments: SSAValue) -> SSAValue | None:
        """Calls a function of the runtime."""
        self.used.add(name)
        output = RUNTIME[name].output
        result = None if isinstance(output, llvm.LLVMVoidType) else output
        call = self.emit.emit(llvm.CallOp(name, *arguments, return_type=result))
        return call.results[0] if call.results else None

    def made(self, name: str, *arguments: SSAValue) -> SSAValue:
        return cast(SSAValue, self.runtime(name, *arguments))

    def at(self, pointer: SSAValue, offset: int) -> SSAValue:
        """The address `offset` bytes behind a pointer."""
        return self.emit.emit(get_element_ptr(pointer, offset, i8, True)).results[0] if offset else pointer

    def load(self, pointer: SSAValue, offset: int, type_: Attribute) -> SSAValue:
        return self.emit.create(llvm.LoadOp, [self.at(pointer, offset)], type_, {"ordering": IntegerAttr(0, i64)})

    def store(self, value: SSAValue, pointer: SSAValue, offset: int) -> None:
        self.emit.emit(llvm.StoreOp(value, self.at(pointer, offset)))

    def new(self, size: int, tag: int, words: int, *, aligned: bool = False, token: SSAValue | None = None) -> SSAValue:
        """A new object with its header."""
        self.checked(tag, self.source)
        number, rounded = size_class(size, aligned)
        sizes = self.emit.integer(number), self.emit.integer(rounded)
        if token is None:
            made = self.made("relay.heap.alloc", self.heap, *sizes)
        else:
            made = self.made("relay.heap.reuse", self.heap, token, *sizes)
        self.store(self.emit.integer(1), made, 0)
        self.store(self.emit.integer(header(tag, number, words)), made, 8)
        return made

    @staticmethod
    def checked(tag: int, op: Operation) -> int:
        """A tag that fits; raises OpError for another."""
        if tag > MAX_TAG:
            raise OpError(op, f"a data type has at most {MAX_TAG + 1} constructors")
        return tag

    def get(self, value: SSAValue) -> SSAValue:
        return self.values[value]

    def all(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        return [self.values[value] for value in values]

    def word(self, value: int) -> SSAValue:
        """A constant word."""
        return self.emit.create(llvm.IntToPtrOp, [self.emit.integer(value)], PTR)

    def _operation(self, op: Operation) -> None:
        handler = self.handlers.get(type(op))
        if handler is None:
            raise OpError(op, "has no llvm form")
        handler(self, op)


def _grows_stack(op: Operation) -> bool:
    return isinstance(op, heap.CallOp | heap.ApplyOp) and op.tail is None


Handler = Callable[[HeapFunction, Any], None]
Handlers = Mapping[type[Operation], Handler]
"""What converts each operation."""
