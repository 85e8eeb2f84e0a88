"""heap-to-llvm: functions on heap objects become functions of the llvm dialect that call the runtime (runtime/heap.ll).

A word is a pointer. Every function takes the heap in front of its arguments and gives a word, in the calling convention
`tailcc`, in which a tail call is a jump; a call of a function by itself in tail position is a branch. `@main` is called
from C with the heap. The texts of what may fail at run time are the attribute `failures` of `@main`: failure i ends the
run with the status 3 + i.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, cf, llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from relay_mlir.dialects import upstream
from relay_mlir.dialects.heap import ops as heap
from relay_mlir.dialects.heap.types import ImmediateType, ObjectType, TokenType
from relay_mlir.dialects.relay.types import Tensor
from relay_mlir.dialects.upstream import llvm as more
from relay_mlir.dialects.upstream.attributes import numbers
from relay_mlir.dialects.upstream.llvm_intrinsics import MemcpyOp
from relay_mlir.lowering.diagnostics import OpError
from relay_mlir.lowering.heap_layout import (
    ARGUMENTS,
    ELEMENTS,
    HEADER,
    INPUTS,
    MAX_ARGUMENTS,
    MAX_TAG,
    OUTPUTS,
    SCRATCH,
    WEIGHTS,
    header,
    in_registers,
    signed,
    size_class,
    tensor_bytes,
)
from relay_mlir.lowering.locations import describe_origin
from relay_mlir.lowering.loops_to_llvm import PASSTHROUGH
from relay_mlir.lowering.loops_to_llvm_emit import Emitter
from relay_mlir.lowering.loops_to_llvm_types import PTR, ZERO_FLAGS, convert_type, get_element_ptr

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


class _Function:
    """Writes one function."""

    def __init__(self, source: heap.FuncOp, kernels: dict[str, Kernel], failures: Failures, used: set[str]):
        self.source = source
        self.kernels = kernels
        self.failures = failures
        self.used = used
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
        handler = _HANDLERS.get(type(op))
        if handler is None:
            raise OpError(op, "has no llvm form")
        handler(self, op)


def _grows_stack(op: Operation) -> bool:
    return isinstance(op, heap.CallOp | heap.ApplyOp) and op.tail is None


# Control.


def _branch(f: _Function, op: Any) -> None:
    f.emit.branch(f.blocks[op.successor], f.all(op.arguments))


def _cond_branch(f: _Function, op: Any) -> None:
    f.emit.cond_branch(
        f.get(op.cond),
        (f.blocks[op.then_block], f.all(op.then_arguments)),
        (f.blocks[op.else_block], f.all(op.else_arguments)),
    )


def _switch(f: _Function, op: Any) -> None:
    values = numbers(op.case_values) if op.case_values is not None else ()
    cases = {int(value): (f.blocks[block], ()) for value, block in zip(values, op.case_blocks, strict=True)}
    f.emit.emit(more.SwitchOp.of(f.get(op.flag), (f.blocks[op.default_block], ()), cast(Any, cases)))


def _return(f: _Function, op: Any) -> None:
    f.emit.emit(llvm.ReturnOp.create(operands=f.all(op.arguments)))


def _fail(f: _Function, op: Any) -> None:
    status = f.failures.status(f"{op.message.data} in @{f.shown_name}", op)
    f.runtime("relay.heap.fail", f.heap, f.emit.integer(status, i32))
    f.emit.emit(llvm.UnreachableOp())


def _call(f: _Function, op: Any) -> None:
    name = op.callee.string_value()
    if op.tail is not None and name == f.source.sym_name.data:
        f.emit.branch(f.header, f.all(op.arguments))
        f.ended = True
        return
    arguments = f.pass_on(f.all(op.arguments), op)
    call = llvm.CallOp(op.callee, f.heap, *arguments, return_type=PTR, calling_convention=TAILCC)
    if op.tail is not None:
        call.properties["TailCallKind"] = MUSTTAIL
    f.values[op.result] = f.emit.emit(call).results[0]


def _apply(f: _Function, op: Any) -> None:
    closure = f.get(op.closure)
    code = f.made("relay.heap.code", closure)
    arguments = f.pass_on([closure, *f.all(op.arguments)], op)
    call = llvm.CallOp("x", code, f.heap, *arguments, return_type=PTR, calling_convention=TAILCC)
    del call.properties["callee"]
    if op.tail is not None:
        call.properties["TailCallKind"] = MUSTTAIL
    f.values[op.result] = f.emit.emit(call).results[0]


# Objects.


def _code_word(f: _Function, callee: SymbolRefAttr) -> SSAValue:
    """The address of a function as an immediate word."""
    address = f.emit.emit(llvm.AddressOfOp(callee, PTR)).results[0]
    return f.at(address, 1)


def _closure(f: _Function, op: Any) -> None:
    code = _code_word(f, op.callee)
    if not op.captured:
        f.values[op.result] = code
        return
    words = len(op.captured) + 1
    made = f.new(HEADER + 8 * words, 0, words)
    for index, value in enumerate([code, *f.all(op.captured)]):
        f.store(value, made, HEADER + 8 * index)
    f.values[op.result] = made


def _record(f: _Function, op: Any) -> None:
    tag, fields = op.tag.value.data, f.all(op.fields)
    if not fields:
        f.values[op.result] = f.word(2 * tag + 1)
        return
    if op.token is None and len(fields) <= MAX_MADE_BY_CALL:
        number, _ = size_class(HEADER + 8 * len(fields))
        word = f.emit.integer(header(f.checked(tag, op), number, len(fields)))
        name = record_function(len(fields), inline=f.records <= MANY_RECORDS)
        f.values[op.result] = f.made(name, f.heap, word, *fields)
        return
    token = None if op.token is None else f.get(op.token)
    made = f.new(HEADER + 8 * len(fields), tag, len(fields), token=token)
    for index, value in enumerate(fields):
        f.store(value, made, HEADER + 8 * index)
    f.values[op.result] = made


def _tag(f: _Function, op: Any) -> None:
    f.values[op.result] = f.made("relay.heap.tag", f.get(op.value))


def _field(f: _Function, op: Any) -> None:
    f.values[op.result] = f.load(f.get(op.value), HEADER + 8 * op.index.value.data, PTR)


def _take(f: _Function, op: Any) -> None:
    """The fields move out of a record without other owners; else they get another owner, and the record loses one."""
    record = f.get(op.value)
    indices = [int(i) for i in op.indices.get_values()]
    loaded = {index: f.load(record, HEADER + 8 * index, PTR) for index in indices}
    count = f.load(record, 0, i64)
    unique, shared, after = Block(), Block(), Block(arg_types=[PTR])
    f.emit.cond_branch(_equal(f, count, 1), (unique, ()), (shared, ()))
    f.emit.enter(unique, is_loop=False)
    for index in range(op.count.value.data):
        if index not in loaded:
            f.runtime("relay.heap.release", f.heap, f.load(record, HEADER + 8 * index, PTR))
    f.emit.branch(after, [record])
    f.emit.enter(shared, is_loop=False)
    for value, index in zip(op.taken, indices, strict=True):
        if isinstance(value.type, ObjectType):
            f.runtime("relay.heap.retain", loaded[index])
    less = f.emit.create(llvm.SubOp, (count, f.emit.integer(1)), i64, {"overflowFlags": ZERO_FLAGS})
    f.store(less, record, 0)
    null = f.emit.emit(llvm.ZeroOp.create(result_types=[PTR])).results[0]
    f.emit.branch(after, [null])
    f.emit.enter(after, is_loop=False)
    for value, index in zip(op.taken, indices, strict=True):
        f.values[value] = loaded[index]
    f.values[op.token] = after.args[0]


def _equal(f: _Function, value: SSAValue, number: int) -> SSAValue:
    predicate = IntegerAttr(llvm.ICmpPredicateFlag.EQ.to_int(), i64)
    return f.emit.create(llvm.ICmpOp, (value, f.emit.integer(number)), i1, {"predicate": predicate})


def _free(f: _Function, op: Any) -> None:
    f.runtime("relay.heap.free", f.heap, f.get(op.token))


def _retain(f: _Function, op: Any) -> None:
    f.runtime("relay.heap.retain", f.get(op.value))


def _release(f: _Function, op: Any) -> None:
    f.runtime("relay.heap.release", f.heap, f.get(op.value))


def _ref_create(f: _Function, op: Any) -> None:
    made = f.new(HEADER + 8, 0, 1)
    f.store(f.get(op.value), made, HEADER)
    f.values[op.result] = made


def _ref_read(f: _Function, op: Any) -> None:
    content = f.load(f.get(op.ref), HEADER, PTR)
    if isinstance(op.result.type, ObjectType):
        f.runtime("relay.heap.retain", content)
    f.values[op.result] = content


def _ref_write(f: _Function, op: Any) -> None:
    ref = f.get(op.ref)
    old = f.load(ref, HEADER, PTR)
    f.store(f.get(op.value), ref, HEADER)
    f.runtime("relay.heap.release", f.heap, old)


# Scalars.


def _constant(f: _Function, op: Any) -> None:
    value, type_ = op.value, op.result.type
    if isinstance(type_, BFloat16Type):
        import ml_dtypes
        import numpy as np

        bits = int(np.array(cast(FloatAttr, value).value.data, ml_dtypes.bfloat16).view(np.int16))
        f.values[op.result] = f.emit.integer(bits, i16)
        return
    f.values[op.result] = f.emit.constant(value, type_)


def _box(f: _Function, op: Any) -> None:
    value, type_ = f.get(op.value), op.value.type
    width = cast(IntegerType, type_).bitwidth
    if width <= 32 and isinstance(op.value.owner, arith.ConstantOp) and isinstance(type_, IntegerType):
        number = cast("IntegerAttr[IntegerType]", op.value.owner.value).value.data % (1 << width)
        f.values[op.result] = f.word(signed(number << 32 | 1))
        return
    if width > 32:
        made = f.new(HEADER + 8, 0, 0)
        f.store(value, made, HEADER)
        f.values[op.result] = made
        return
    if not isinstance(value.type, IntegerType):
        value = f.emit.create(llvm.BitcastOp, [value], IntegerType(width))
    wide = f.emit.create(llvm.ZExtOp, [value], i64)
    high = f.emit.create(llvm.ShlOp, (wide, f.emit.integer(32)), i64, {"overflowFlags": ZERO_FLAGS})
    odd = f.emit.create(llvm.OrOp, (high, f.emit.integer(1)), i64)
    f.values[op.result] = f.emit.create(llvm.IntToPtrOp, [odd], PTR)


def _unbox(f: _Function, op: Any) -> None:
    word, type_ = f.get(op.value), op.result.type
    width = cast(IntegerType, type_).bitwidth
    target = convert_type(type_)
    if width > 32:
        f.values[op.result] = f.load(word, HEADER, target)
        return
    number = f.emit.create(llvm.PtrToIntOp, [word], i64)
    high = f.emit.create(llvm.LShrOp, (number, f.emit.integer(32)), i64)
    narrow = f.emit.create(llvm.TruncOp, [high], IntegerType(width))
    if target != narrow.type:
        narrow = f.emit.create(llvm.BitcastOp, [narrow], target)
    f.values[op.result] = narrow


def _load_scalar(f: _Function, pointer: SSAValue, type_: Attribute) -> SSAValue:
    stored = f.load(pointer, 0, stored_type(type_))
    if type_ == i1:
        return f.emit.create(llvm.TruncOp, [stored], i1)
    return stored


def _store_scalar(f: _Function, value: SSAValue, type_: Attribute, pointer: SSAValue) -> None:
    f.store(f.emit.create(llvm.ZExtOp, [value], i8) if type_ == i1 else value, pointer, 0)


def _slot(f: _Function, type_: Attribute) -> SSAValue:
    """A place on the stack for a scalar."""
    slot = llvm.AllocaOp(f.emit.integer(1), stored_type(type_), 8)
    f.emit.emit_in_entry(slot)
    return slot.results[0]


# Tensors.


def _kernel(f: _Function, op: Any) -> None:
    kernel = f.kernels.get(op.callee.string_value())
    if kernel is None:
        raise OpError(op, f"{op.callee} is not a primitive function that plan-memory has planned")
    pairs: dict[int, int] = op.pairs()
    pointers: list[SSAValue] = []
    for value in op.arguments:
        if isinstance(value.type, ObjectType):
            pointers.append(f.load(f.get(value), HEADER, PTR))
        elif isinstance(value.type, llvm.LLVMPointerType):
            pointers.append(f.get(value))
        else:
            pointers.append(_slot(f, value.type))
            _store_scalar(f, f.get(value), value.type, pointers[-1])
    given = {result: operand for operand, result in pairs.items()}
    results: list[SSAValue] = []
    for index, (value, tensor) in enumerate(zip(op.outputs, op.tensors.outputs, strict=True)):
        if not isinstance(value.type, ObjectType):
            results.append(_slot(f, value.type))
            pointers.append(results[-1])
            continue
        old = f.get(op.arguments[given[index]]) if index in given else None
        results.append(_new_tensor(f, cast(Tensor, tensor), old))
        pointers.append(f.at(results[-1], ELEMENTS))
    if kernel.weights:
        base = f.load(f.heap, WEIGHTS, PTR)
        pointers += [f.at(base, offset) for offset in kernel.weights]
    if kernel.scratch:
        pointers.append(f.load(f.heap, SCRATCH, PTR))
    f.emit.emit(llvm.CallOp(op.callee, *pointers))
    for index, (value, made) in enumerate(zip(op.outputs, results, strict=True)):
        f.values[value] = made if isinstance(value.type, ObjectType) else _load_scalar(f, made, value.type)
        if index in given:
            f.runtime("relay.heap.release_other", f.heap, f.get(op.arguments[given[index]]), made)


def _new_tensor(f: _Function, type_: Tensor, old: SSAValue | None = None) -> SSAValue:
    """A tensor object; the old one, where there is one that has no other owner."""
    number, size = size_class(ELEMENTS + tensor_bytes(type_), aligned=True)
    sizes = f.emit.integer(number), f.emit.integer(size)
    if old is None:
        made = f.made("relay.heap.alloc", f.heap, *sizes)
    else:
        made = f.made("relay.heap.reuse_tensor", f.heap, old, *sizes)
    f.store(f.emit.integer(1), made, 0)
    f.store(f.emit.integer(header(0, number, 0)), made, 8)
    f.store(f.at(made, ELEMENTS), made, HEADER)
    return made


def _weight(f: _Function, op: Any) -> None:
    if op.offset is None:
        raise OpError(op, "has no place yet; run plan-memory")
    f.values[op.result] = f.at(f.load(f.heap, WEIGHTS, PTR), op.offset.value.data)


def _array(f: _Function, op: Any) -> None:
    arrays = f.load(f.heap, INPUTS if op.which.data == "input" else OUTPUTS, PTR)
    f.values[op.result] = f.load(arrays, 8 * op.index.value.data, PTR)


def _view(f: _Function, op: Any) -> None:
    made = f.new(HEADER + 8, 0, 0)
    f.store(f.get(op.pointer), made, HEADER)
    f.values[op.result] = made


def _give(f: _Function, op: Any) -> None:
    f.store(f.get(op.value), f.get(op.pointer), 0)


def _load(f: _Function, op: Any) -> None:
    if isinstance(op.result.type, ObjectType | ImmediateType):
        f.values[op.result] = f.load(f.get(op.pointer), 0, PTR)
        return
    f.values[op.result] = _load_scalar(f, f.get(op.pointer), op.result.type)


def _store(f: _Function, op: Any) -> None:
    value, pointer = f.get(op.value), f.get(op.pointer)
    if not isinstance(op.value.type, ObjectType):
        _store_scalar(f, value, op.value.type, pointer)
        return
    size = f.emit.integer(tensor_bytes(cast(Tensor, op.tensor)))
    data = f.load(value, HEADER, PTR)
    f.emit.emit(MemcpyOp.create(operands=[pointer, data, size], properties={"isVolatile": IntegerAttr(0, i1)}))


Handler = Callable[[_Function, Any], None]

_HANDLERS: dict[type[Operation], Handler] = {
    arith.ConstantOp: _constant,
    cf.BranchOp: _branch,
    cf.ConditionalBranchOp: _cond_branch,
    cf.SwitchOp: _switch,
    heap.ReturnOp: _return,
    heap.FailOp: _fail,
    heap.CallOp: _call,
    heap.ApplyOp: _apply,
    heap.ClosureOp: _closure,
    heap.RecordOp: _record,
    heap.TagOp: _tag,
    heap.FieldOp: _field,
    heap.TakeOp: _take,
    heap.FreeOp: _free,
    heap.RetainOp: _retain,
    heap.ReleaseOp: _release,
    heap.BoxOp: _box,
    heap.UnboxOp: _unbox,
    heap.KernelOp: _kernel,
    heap.WeightOp: _weight,
    heap.ArrayOp: _array,
    heap.ViewOp: _view,
    heap.LoadOp: _load,
    heap.StoreOp: _store,
    heap.GiveOp: _give,
    heap.RefCreateOp: _ref_create,
    heap.RefReadOp: _ref_read,
    heap.RefWriteOp: _ref_write,
}


def _kernels(module: ModuleOp) -> dict[str, Kernel]:
    found: dict[str, Kernel] = {}
    for op in module.ops:
        weights = op.attributes.get("kernel_weights")
        if isinstance(op, llvm.FuncOp) and isinstance(weights, DenseArrayBase):
            offsets = [int(offset) for offset in cast("Sequence[int]", weights.get_values())]
            found[op.sym_name.data] = Kernel(offsets, "kernel_scratch" in op.attributes)
    return found


def _inline_scalar_kernels(module: ModuleOp) -> None:
    """What computes on scalars alone becomes part of its callers: then they stay in registers."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, llvm.FuncOp)}
    for op in module.walk():
        if isinstance(op, heap.KernelOp):
            tensors = [*op.tensors.inputs, *op.tensors.outputs]
            if not any(cast("TensorType[Attribute]", tensor).get_shape() for tensor in tensors):
                callee = functions[op.callee.string_value()]
                callee.properties["passthrough"] = ArrayAttr([*PASSTHROUGH, StringAttr("alwaysinline")])


@dataclass(frozen=True)
class HeapToLlvmPass(ModulePass):
    """Converts functions on heap objects to the llvm dialect."""

    name = "heap-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        upstream.load("llvm")
        kernels = _kernels(op)
        failures = Failures()
        used: set[str] = set()
        block = op.body.block
        _inline_scalar_kernels(op)
        for function in [each for each in op.ops if isinstance(each, heap.FuncOp)]:
            made = _Function(function, kernels, failures, used).write()
            block.insert_op_before(made, function)
            block.erase_op(function, safe_erase=False)
        for name in sorted(used):
            block.add_op(llvm.FuncOp(name, RUNTIME[name], llvm.LinkageAttr("external")))
        for made in op.ops:
            if isinstance(made, llvm.FuncOp) and made.sym_name.data == ENTRY:
                made.attributes["failures"] = ArrayAttr([StringAttr(text) for text in failures.texts])
