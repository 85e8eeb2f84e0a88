"""What heap-to-llvm makes of each operation: control, objects, scalars, tensors."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import arith, cf, llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    SymbolRefAttr,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from relay_mlir.dialects.heap import ops as heap
from relay_mlir.dialects.heap.types import ImmediateType, ObjectType
from relay_mlir.dialects.relay.types import Tensor
from relay_mlir.dialects.upstream import llvm as more
from relay_mlir.dialects.upstream.attributes import numbers
from relay_mlir.dialects.upstream.llvm_intrinsics import MemcpyOp
from relay_mlir.lowering.diagnostics import OpError
from relay_mlir.lowering.heap_layout import (
    ELEMENTS,
    HEADER,
    INPUTS,
    OUTPUTS,
    SCRATCH,
    WEIGHTS,
    header,
    signed,
    size_class,
    tensor_bytes,
)
from relay_mlir.lowering.heap_to_llvm_function import (
    MANY_RECORDS,
    MAX_MADE_BY_CALL,
    MUSTTAIL,
    TAILCC,
    Handler,
    HeapFunction,
    record_function,
    stored_type,
)
from relay_mlir.lowering.loops_to_llvm_types import PTR, ZERO_FLAGS, convert_type

# Control.


def _branch(f: HeapFunction, op: Any) -> None:
    f.emit.branch(f.blocks[op.successor], f.all(op.arguments))


def _cond_branch(f: HeapFunction, op: Any) -> None:
    f.emit.cond_branch(
        f.get(op.cond),
        (f.blocks[op.then_block], f.all(op.then_arguments)),
        (f.blocks[op.else_block], f.all(op.else_arguments)),
    )


def _switch(f: HeapFunction, op: Any) -> None:
    values = numbers(op.case_values) if op.case_values is not None else ()
    cases = {int(value): (f.blocks[block], ()) for value, block in zip(values, op.case_blocks, strict=True)}
    f.emit.emit(more.SwitchOp.of(f.get(op.flag), (f.blocks[op.default_block], ()), cast(Any, cases)))


def _return(f: HeapFunction, op: Any) -> None:
    f.emit.emit(llvm.ReturnOp.create(operands=f.all(op.arguments)))


def _fail(f: HeapFunction, op: Any) -> None:
    status = f.failures.status(f"{op.message.data} in @{f.shown_name}", op)
    f.runtime("relay.heap.fail", f.heap, f.emit.integer(status, i32))
    f.emit.emit(llvm.UnreachableOp())


def _call(f: HeapFunction, op: Any) -> None:
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


def _apply(f: HeapFunction, op: Any) -> None:
    closure = f.get(op.closure)
    code = f.made("relay.heap.code", closure)
    arguments = f.pass_on([closure, *f.all(op.arguments)], op)
    call = llvm.CallOp("x", code, f.heap, *arguments, return_type=PTR, calling_convention=TAILCC)
    del call.properties["callee"]
    if op.tail is not None:
        call.properties["TailCallKind"] = MUSTTAIL
    f.values[op.result] = f.emit.emit(call).results[0]


# Objects.


def _code_word(f: HeapFunction, callee: SymbolRefAttr) -> SSAValue:
    """The address of a function as an immediate word."""
    address = f.emit.emit(llvm.AddressOfOp(callee, PTR)).results[0]
    return f.at(address, 1)


def _closure(f: HeapFunction, op: Any) -> None:
    code = _code_word(f, op.callee)
    if not op.captured:
        f.values[op.result] = code
        return
    words = len(op.captured) + 1
    made = f.new(HEADER + 8 * words, 0, words)
    for index, value in enumerate([code, *f.all(op.captured)]):
        f.store(value, made, HEADER + 8 * index)
    f.values[op.result] = made


def _record(f: HeapFunction, op: Any) -> None:
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


def _tag(f: HeapFunction, op: Any) -> None:
    f.values[op.result] = f.made("relay.heap.tag", f.get(op.value))


def _field(f: HeapFunction, op: Any) -> None:
    f.values[op.result] = f.load(f.get(op.value), HEADER + 8 * op.index.value.data, PTR)


def _take(f: HeapFunction, op: Any) -> None:
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


def _equal(f: HeapFunction, value: SSAValue, number: int) -> SSAValue:
    predicate = IntegerAttr(llvm.ICmpPredicateFlag.EQ.to_int(), i64)
    return f.emit.create(llvm.ICmpOp, (value, f.emit.integer(number)), i1, {"predicate": predicate})


def _free(f: HeapFunction, op: Any) -> None:
    f.runtime("relay.heap.free", f.heap, f.get(op.token))


def _retain(f: HeapFunction, op: Any) -> None:
    f.runtime("relay.heap.retain", f.get(op.value))


def _release(f: HeapFunction, op: Any) -> None:
    f.runtime("relay.heap.release", f.heap, f.get(op.value))


def _ref_create(f: HeapFunction, op: Any) -> None:
    made = f.new(HEADER + 8, 0, 1)
    f.store(f.get(op.value), made, HEADER)
    f.values[op.result] = made


def _ref_read(f: HeapFunction, op: Any) -> None:
    content = f.load(f.get(op.ref), HEADER, PTR)
    if isinstance(op.result.type, ObjectType):
        f.runtime("relay.heap.retain", content)
    f.values[op.result] = content


def _ref_write(f: HeapFunction, op: Any) -> None:
    ref = f.get(op.ref)
    old = f.load(ref, HEADER, PTR)
    f.store(f.get(op.value), ref, HEADER)
    f.runtime("relay.heap.release", f.heap, old)


# Scalars.


def _constant(f: HeapFunction, op: Any) -> None:
    value, type_ = op.value, op.result.type
    if isinstance(type_, BFloat16Type):
        import ml_dtypes
        import numpy as np

        bits = int(np.array(cast(FloatAttr, value).value.data, ml_dtypes.bfloat16).view(np.int16))
        f.values[op.result] = f.emit.integer(bits, i16)
        return
    f.values[op.result] = f.emit.constant(value, type_)


def _box(f: HeapFunction, op: Any) -> None:
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


def _unbox(f: HeapFunction, op: Any) -> None:
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


def _load_scalar(f: HeapFunction, pointer: SSAValue, type_: Attribute) -> SSAValue:
    stored = f.load(pointer, 0, stored_type(type_))
    if type_ == i1:
        return f.emit.create(llvm.TruncOp, [stored], i1)
    return stored


def _store_scalar(f: HeapFunction, value: SSAValue, type_: Attribute, pointer: SSAValue) -> None:
    f.store(f.emit.create(llvm.ZExtOp, [value], i8) if type_ == i1 else value, pointer, 0)


def _slot(f: HeapFunction, type_: Attribute) -> SSAValue:
    """A place on the stack for a scalar."""
    slot = llvm.AllocaOp(f.emit.integer(1), stored_type(type_), 8)
    f.emit.emit_in_entry(slot)
    return slot.results[0]


# Tensors.


def _kernel(f: HeapFunction, op: Any) -> None:
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


def _new_tensor(f: HeapFunction, type_: Tensor, old: SSAValue | None = None) -> SSAValue:
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


def _weight(f: HeapFunction, op: Any) -> None:
    if op.offset is None:
        raise OpError(op, "has no place yet; run plan-memory")
    f.values[op.result] = f.at(f.load(f.heap, WEIGHTS, PTR), op.offset.value.data)


def _array(f: HeapFunction, op: Any) -> None:
    arrays = f.load(f.heap, INPUTS if op.which.data == "input" else OUTPUTS, PTR)
    f.values[op.result] = f.load(arrays, 8 * op.index.value.data, PTR)


def _view(f: HeapFunction, op: Any) -> None:
    made = f.new(HEADER + 8, 0, 0)
    f.store(f.get(op.pointer), made, HEADER)
    f.values[op.result] = made


def _give(f: HeapFunction, op: Any) -> None:
    f.store(f.get(op.value), f.get(op.pointer), 0)


def _load(f: HeapFunction, op: Any) -> None:
    if isinstance(op.result.type, ObjectType | ImmediateType):
        f.values[op.result] = f.load(f.get(op.pointer), 0, PTR)
        return
    f.values[op.result] = _load_scalar(f, f.get(op.pointer), op.result.type)


def _store(f: HeapFunction, op: Any) -> None:
    value, pointer = f.get(op.value), f.get(op.pointer)
    if not isinstance(op.value.type, ObjectType):
        _store_scalar(f, value, op.value.type, pointer)
        return
    size = f.emit.integer(tensor_bytes(cast(Tensor, op.tensor)))
    data = f.load(value, HEADER, PTR)
    f.emit.emit(MemcpyOp.create(operands=[pointer, data, size], properties={"isVolatile": IntegerAttr(0, i1)}))


HANDLERS: dict[type[Operation], Handler] = {
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
"""The conversion of every operation."""
