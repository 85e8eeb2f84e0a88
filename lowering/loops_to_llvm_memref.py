"""The memref dialect to the llvm dialect: views change the description of a memref, accesses become addresses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import cast

from xdsl.dialects import llvm, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    TensorType,
    UnitAttr,
    UnrankedMemRefType,
    i16,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from relay_mlir.dialects.upstream import llvm as more
from relay_mlir.dialects.upstream.attributes import dense, numbers
from relay_mlir.lowering.loops_to_llvm_arith import bf16_bits
from relay_mlir.lowering.loops_to_llvm_core import Lowering
from relay_mlir.lowering.loops_to_llvm_types import PTR, Linear, MemRef, check_memref, convert_type, element_bytes

Handler = Callable[[Lowering, Operation], None]
ALLOCATION_ALIGNMENT = 64
"""Of buffers without a stated alignment: a cache line, and the widest vector."""


def _type(value: SSAValue) -> MemRefType[Attribute]:
    return cast("MemRefType[Attribute]", value.type)


def ordinary_access(low: Lowering, op: Operation) -> None:
    """Raises OpError for an access with a hint that is not carried."""
    hint = op.properties.get("nontemporal")
    if isinstance(hint, IntegerAttr) and hint.value.data:
        raise low.fail(op, "a nontemporal access", "drop the attribute")


def _load(low: Lowering, op: Operation) -> None:
    ordinary_access(low, op)
    source = low.memref(op.operands[0])
    address = low.address(source, op.operands[1:])
    low.set(op.results[0], load(low, address, convert_type(source.element), element_bytes(source.element)))


def load(low: Lowering, address: SSAValue, type_: Attribute, alignment: int) -> SSAValue:
    """A load of a value of this llvm type."""
    return low.create(llvm.LoadOp, (address,), type_, _access(alignment))


@cache
def _access(alignment: int) -> dict[str, Attribute]:
    return {"ordering": IntegerAttr(0, i64), "alignment": IntegerAttr(alignment, i64)}


def store(low: Lowering, value: SSAValue, address: SSAValue, alignment: int) -> None:
    """A store of a value."""
    low.emit(llvm.StoreOp.create(operands=(value, address), properties=_access(alignment)))


def _store(low: Lowering, op: Operation) -> None:
    ordinary_access(low, op)
    value, target, *indices = op.operands
    memory = low.memref(target)
    store(low, low.get(value), low.address(memory, indices), element_bytes(memory.element))


# Allocation.


def _sizes(low: Lowering, op: Operation, type_: MemRefType[Attribute], dynamic: Sequence[SSAValue]) -> MemRef:
    """The description of a new buffer, its pointer still missing."""
    check_memref(type_)
    if not isinstance(type_.layout, NoneAttr):
        raise low.fail(op, f"allocating {type_}", "allocate a memref without a layout")
    unknown = iter(dynamic)
    shape = tuple(low.get(next(unknown)) if n == DYNAMIC_INDEX else n for n in type_.get_shape())
    return MemRef(op.results[0], low.level, type_.element_type, shape, low.row_major(shape))


def _count(low: Lowering, new: MemRef) -> int | SSAValue:
    count: int | SSAValue = 1
    for size in new.shape:
        count = low.product(count, size)
    return count


def _alignment(op: Operation, default: int) -> int:
    given = op.properties.get("alignment")
    return given.value.data if isinstance(given, IntegerAttr) else default


def _alloc(low: Lowering, op: Operation) -> None:
    new = _sizes(low, op, _type(op.results[0]), op.operands)
    alignment = max(8, _alignment(op, ALLOCATION_ALIGNMENT))
    count = _count(low, new)
    size = low.product(count, element_bytes(new.element))
    if isinstance(size, int):
        padded = low.integer(max(alignment, -(-size // alignment) * alignment))
    else:
        # aligned_alloc wants a multiple of the alignment; one more cache line keeps it from being zero.
        more_ = low.create(
            llvm.AddOp, (size, low.integer(2 * alignment - 1)), i64, {"overflowFlags": IntegerAttr(0, 32)}
        )
        padded = low.create(llvm.AndOp, (more_, low.integer(-alignment)), i64)
    ptr = call_library(low, "aligned_alloc", [low.integer(alignment), padded], PTR)
    assert ptr is not None
    low.memrefs[op.results[0]] = MemRef(ptr, low.level, new.element, new.shape, new.strides)


def _dealloc(low: Lowering, op: Operation) -> None:
    call_library(low, "free", [low.memref(op.operands[0]).ptr], None)


def call_library(low: Lowering, name: str, args: Sequence[SSAValue], result: Attribute | None) -> SSAValue | None:
    """A call of a function of the C library, which the module declares."""
    type_ = llvm.LLVMFunctionType([arg.type for arg in args], result)
    low.externals[name] = type_
    op = llvm.CallOp(name, *args, return_type=result)
    low.emit(op)
    return op.results[0] if result is not None else None


def _alloca(low: Lowering, op: Operation) -> None:
    new = _sizes(low, op, _type(op.results[0]), op.operands)
    count = _count(low, new)
    if not isinstance(count, int) and any(scope.is_loop for scope in low.scopes):
        raise low.fail(op, "a stack buffer of unknown size in a loop", "move it out of the loop, or use memref.alloc")
    properties: dict[str, Attribute] = {
        "elem_type": convert_type(new.element),
        "alignment": IntegerAttr(_alignment(op, ALLOCATION_ALIGNMENT), i64),
    }
    slot = llvm.AllocaOp.create(operands=(low.as_value(count),), result_types=(PTR,), properties=properties)
    if isinstance(count, int):
        low.emit_in_entry(slot)
    else:
        low.emit(slot)
    level = 0 if isinstance(count, int) else low.level
    low.memrefs[op.results[0]] = MemRef(slot.results[0], level, new.element, new.shape, new.strides)


# Views.


def _mixed(low: Lowering, static: Attribute, dynamic: Sequence[SSAValue]) -> list[int | SSAValue]:
    """Numbers of which some are values: those are written ones."""
    values = iter(dynamic)
    assert isinstance(static, DenseArrayBase)
    return [low.get(next(values)) if n == DYNAMIC_INDEX else int(n) for n in static.get_values()]


def _linear(low: Lowering, static: Attribute, dynamic: Sequence[SSAValue]) -> list[Linear]:
    values = iter(dynamic)
    assert isinstance(static, DenseArrayBase)
    return [low.linear(next(values)) if n == DYNAMIC_INDEX else Linear(constant=int(n)) for n in static.get_values()]


def _subview(low: Lowering, op: Operation) -> None:
    assert isinstance(op, memref.SubviewOp)
    source, type_ = low.memref(op.source), _type(op.result)
    sizes = _mixed(low, op.static_sizes, op.sizes)
    steps = _mixed(low, op.static_strides, op.strides)
    offset = source.offset
    for index, stride in zip(_linear(low, op.static_offsets, op.offsets), source.strides, strict=True):
        offset = offset.plus(low.scaled(index, stride))
    strides = [low.product(a, b) for a, b in zip(source.strides, steps, strict=True)]
    kept = _kept_dims(low, op, sizes, type_)
    low.memrefs[op.result] = MemRef(
        source.ptr, source.level, source.element, tuple(sizes[i] for i in kept), tuple(strides[i] for i in kept), offset
    )


def _kept_dims(
    low: Lowering, op: memref.SubviewOp, sizes: Sequence[int | SSAValue], type_: MemRefType[Attribute]
) -> list[int]:
    """The dimensions that the result of a subview keeps: dropped ones have size 1."""
    kept: list[int] = []
    wanted = list(type_.get_shape())
    strides = [None if s == DYNAMIC_INDEX else s for s in type_.get_strides() or ()]
    spare = len(sizes) - len(wanted)
    static_strides = [s for s in _type(op.source).get_strides() or ()]
    for i, size in enumerate(sizes):
        position = len(kept)
        dynamic = not isinstance(size, int)
        fits = position < len(wanted) and (wanted[position] == DYNAMIC_INDEX if dynamic else wanted[position] == size)
        if fits and size == 1 and spare:
            # Either of several dimensions of size 1 may be the one that is kept: the stride tells.
            step = op.static_strides.get_values()[i]
            stride = static_strides[i]
            known = stride is not None and stride != DYNAMIC_INDEX and step != DYNAMIC_INDEX
            fits = not known or strides[position] is None or strides[position] == cast(int, stride) * step
        if fits:
            kept.append(i)
        elif size == 1 and spare:
            spare -= 1
        else:
            break
    if len(kept) != len(wanted):
        raise low.fail(op, f"sizes {op.static_sizes} do not give {type_}")
    return kept


def _view(low: Lowering, op: Operation) -> None:
    source, shift, *sizes = op.operands
    type_ = _type(op.results[0])
    check_memref(type_)
    memory = low.memref(source)
    bytes_ = MemRef(memory.ptr, memory.level, memory.element, (), (), memory.offset.plus(low.linear(shift)))
    level = max([memory.level, *(term.level for term in bytes_.offset.terms)])
    unknown = iter(sizes)
    shape = tuple(low.get(next(unknown)) if n == DYNAMIC_INDEX else n for n in type_.get_shape())
    ptr = low.materialize(bytes_)
    # The pointer stands in front of the loops that do not change the shift, but its constant part stands here.
    level = low.level if bytes_.offset.constant or bytes_.offset.terms else level
    low.memrefs[op.results[0]] = MemRef(ptr, level, type_.element_type, shape, low.row_major(shape))


def _reinterpret_cast(low: Lowering, op: Operation) -> None:
    assert isinstance(op, memref.ReinterpretCastOp)
    source = low.memref(op.source)
    offset = _linear(low, op.static_offsets, op.offsets)[0]
    shape = tuple(_mixed(low, op.static_sizes, op.sizes))
    strides = tuple(_mixed(low, op.static_strides, op.strides))
    # The offset counts from the buffer, and a pointer has its memref's own offset added already.
    own = _type(op.source).get_offset()
    if own is None or own == DYNAMIC_INDEX:
        raise low.fail(op, f"the offset of {op.source.type} is not known", "use memref.subview")
    offset = offset.plus(Linear(constant=-own))
    low.memrefs[op.result] = MemRef(
        source.ptr, source.level, source.element, shape, strides, source.offset.plus(offset)
    )


def _collapse_shape(low: Lowering, op: Operation) -> None:
    assert isinstance(op, memref.CollapseShapeOp)
    source = low.memref(op.src)
    shape: list[int | SSAValue] = []
    strides: list[int | SSAValue] = []
    for group in _groups(op.reassociation):
        size: int | SSAValue = 1
        for i in group:
            size = low.product(size, source.shape[i])
        # The innermost dimension that is not of size 1 has the stride of the group.
        inner = next((i for i in reversed(group) if source.shape[i] != 1), group[-1])
        shape.append(size)
        strides.append(source.strides[inner])
    low.memrefs[op.result] = MemRef(
        source.ptr, source.level, source.element, tuple(shape), tuple(strides), source.offset
    )


def _expand_shape(low: Lowering, op: Operation) -> None:
    assert isinstance(op, memref.ExpandShapeOp)
    source = low.memref(op.src)
    shape = tuple(_mixed(low, op.static_output_shape, op.output_shape))
    strides: list[int | SSAValue] = [1] * len(shape)
    for group, stride in zip(_groups(op.reassociation), source.strides, strict=True):
        step = stride
        for i in reversed(group):
            strides[i] = step
            step = low.product(step, shape[i])
    low.memrefs[op.result] = MemRef(source.ptr, source.level, source.element, shape, tuple(strides), source.offset)


def _groups(reassociation: Attribute) -> list[list[int]]:
    groups = cast("Sequence[Sequence[IntegerAttr]]", reassociation)
    return [[index.value.data for index in group] for group in groups]


def _cast(low: Lowering, op: Operation) -> None:
    if isinstance(op.results[0].type, UnrankedMemRefType) or isinstance(op.operands[0].type, UnrankedMemRefType):
        raise low.fail(op, "an unranked memref", "ranks are known at the loops level")
    source, type_ = low.memref(op.operands[0]), _type(op.results[0])
    # A size that the new type states is taken from it.
    shape = tuple(
        mine if static == DYNAMIC_INDEX else static
        for mine, static in zip(source.shape, type_.get_shape(), strict=True)
    )
    low.memrefs[op.results[0]] = MemRef(source.ptr, source.level, source.element, shape, source.strides, source.offset)


def _dim(low: Lowering, op: Operation) -> None:
    source = low.memref(op.operands[0])
    index = low.known(low.get(op.operands[1]))
    if index is None or not 0 <= index < len(source.shape):
        raise low.fail(op, "the dimension is not a constant of the rank", "use arith.constant")
    low.set(op.results[0], low.as_value(source.shape[index]))


def _assume_alignment(low: Lowering, op: Operation) -> None:
    # Vector accesses carry their elements' alignment, which is as fast on aligned addresses.
    low.memrefs[op.results[0]] = low.memrefs[op.operands[0]]


# Copies.


def _copy(low: Lowering, op: Operation) -> None:
    source, target = (low.memref(operand) for operand in op.operands)
    dims = _outer_dims(source, target)
    one, zero = low.integer(1), low.integer(0)

    def nest(i: int, source: MemRef, target: MemRef) -> None:
        if i == dims:
            size = low.as_value(low.product(_run(low, source, i), element_bytes(source.element)))
            pointers = (low.materialize(target), low.materialize(source), size)
            low.emit(more.MemcpyOp.create(operands=pointers, properties={"isVolatile": IntegerAttr.from_bool(False)}))
            return

        def body(counter: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            moved = low.leaf(counter, low.level)
            at = [
                MemRef(m.ptr, m.level, m.element, m.shape, m.strides, m.offset.plus(low.scaled(moved, m.strides[i])))
                for m in (source, target)
            ]
            nest(i + 1, at[0], at[1])
            return ()

        low.loop((zero, low.as_value(source.shape[i]), one), (), body)

    nest(0, source, target)


def _run(low: Lowering, memory: MemRef, dims: int) -> int | SSAValue:
    """The number of elements in the dimensions from `dims` on."""
    count: int | SSAValue = 1
    for size in memory.shape[dims:]:
        count = low.product(count, size)
    return count


def _outer_dims(source: MemRef, target: MemRef) -> int:
    """How many outer dimensions remain when the inner ones are one run of elements in both memrefs."""
    run, dims = 1, len(source.shape)
    while dims:
        size = source.shape[dims - 1]
        if size != 1 and not (source.strides[dims - 1] == run == target.strides[dims - 1]):
            break
        dims -= 1
        if not isinstance(size, int):
            break
        run *= size
    return dims


# Globals.


def _get_global(low: Lowering, op: Operation) -> None:
    type_ = _type(op.results[0])
    address = llvm.AddressOfOp.create(result_types=(PTR,), properties={"global_name": op.properties["name"]})
    low.emit_in_entry(address)
    shape = type_.get_shape()
    low.memrefs[op.results[0]] = MemRef(address.results[0], 0, type_.element_type, shape, low.row_major(shape))


def convert_global(op: memref.GlobalOp) -> llvm.GlobalOp:
    """The llvm form of a global: an array of arrays."""
    type_ = cast("MemRefType[Attribute]", op.properties["type"])
    check_memref(type_)
    array: Attribute = convert_type(type_.element_type)
    for size in reversed(type_.get_shape()):
        array = llvm.LLVMArrayType(size, array)
    value = op.properties.get("initial_value")
    private = op.sym_visibility.data == "private" and value is not None
    new = llvm.GlobalOp(
        array,
        op.sym_name,
        "internal" if private else "external",
        constant=op.constant is not None,
        value=_initial(value) if value is not None and not isinstance(value, UnitAttr) else None,
        alignment=op.alignment.value.data if op.alignment is not None else ALLOCATION_ALIGNMENT,
    )
    new.location = op.location
    return new


def _initial(value: Attribute) -> Attribute:
    if not isinstance(value, DenseIntOrFPElementsAttr):
        return value
    dense_value = cast("DenseIntOrFPElementsAttr[BFloat16Type]", value)
    if not isinstance(cast(Attribute, dense_value.get_element_type()), BFloat16Type):
        return cast(Attribute, value)
    return dense(TensorType(i16, dense_value.get_shape()), [bf16_bits(float(each)) for each in numbers(dense_value)])


HANDLERS: dict[type[Operation], Handler] = {
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    memref.AllocOp: _alloc,
    memref.AllocaOp: _alloca,
    memref.DeallocOp: _dealloc,
    memref.SubviewOp: _subview,
    memref.ViewOp: _view,
    memref.ReinterpretCastOp: _reinterpret_cast,
    memref.CollapseShapeOp: _collapse_shape,
    memref.ExpandShapeOp: _expand_shape,
    memref.CastOp: _cast,
    memref.DimOp: _dim,
    memref.AssumeAlignmentOp: _assume_alignment,
    memref.CopyOp: _copy,
    memref.GetGlobalOp: _get_global,
}
"""The conversion of every operation of the dialect that the loops level has."""
