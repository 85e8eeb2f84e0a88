"""The vector dialect to the llvm dialect, for vectors of one dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects import llvm, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from relay_mlir.dialects.upstream import llvm as more
from relay_mlir.dialects.upstream import vector as vector_more
from relay_mlir.dialects.upstream.attributes import is_integer, is_vector, lanes_of
from relay_mlir.lowering.loops_to_llvm_arith import fastmath, splat
from relay_mlir.lowering.loops_to_llvm_core import Lowering
from relay_mlir.lowering.loops_to_llvm_memref import load, ordinary_access, store
from relay_mlir.lowering.loops_to_llvm_types import PTR, convert_type, element_bytes, get_element_ptr

Handler = Callable[[Lowering, Operation], None]
NO_FLAGS = llvm.FastMathAttr(None)


def _contiguous(low: Lowering, op: Operation, base: SSAValue) -> int:
    """The alignment of a vector access, which needs elements side by side."""
    memory = low.memref(base)
    if memory.strides and memory.strides[-1] != 1:
        raise low.fail(op, f"the last dimension of {base.type} is strided", "load its elements one by one")
    return element_bytes(memory.element)


def _load(low: Lowering, op: Operation) -> None:
    ordinary_access(low, op)
    base, *indices = op.operands
    alignment = _contiguous(low, op, base)
    address = low.address(low.memref(base), indices)
    low.set(op.results[0], load(low, address, convert_type(op.results[0].type), alignment))


def _store(low: Lowering, op: Operation) -> None:
    ordinary_access(low, op)
    value, base, *indices = op.operands
    alignment = _contiguous(low, op, base)
    store(low, low.get(value), low.address(low.memref(base), indices), alignment)


def _maskedload(low: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.MaskedLoadOp)
    alignment = {"alignment": IntegerAttr(_contiguous(low, op, op.base), i32)}
    address = low.address(low.memref(op.base), op.indices)
    operands = (address, low.get(op.mask), low.get(op.pass_thru))
    low.set(op.result, low.create(more.MaskedLoadOp, operands, convert_type(op.result.type), alignment))


def _maskedstore(low: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.MaskedStoreOp)
    alignment = {"alignment": IntegerAttr(_contiguous(low, op, op.base), i32)}
    address = low.address(low.memref(op.base), op.indices)
    operands = (low.get(op.value_to_store), address, low.get(op.mask))
    low.emit(more.MaskedStoreOp.create(operands=operands, properties=alignment))


def _broadcast(low: Lowering, op: Operation) -> None:
    value, target = low.get(op.operands[0]), convert_type(op.results[0].type)
    low.set(op.results[0], broadcast(low, value, target))


def broadcast(low: Lowering, value: SSAValue, target: Attribute) -> SSAValue:
    """A scalar, or a vector of one lane, in every lane of a vector type."""
    if value.type == target:
        return value
    if isinstance(value.owner, llvm.ConstantOp) and isinstance(value.owner.value, FloatAttr | IntegerAttr):
        return splat(low, value.owner.value.value.data, target)
    poison = low.poison(target)
    if not is_vector(value.type):
        value = low.create(llvm.InsertElementOp, (poison, value, low.integer(0, i32)), target)
    else:
        poison = low.poison(value.type)
    return shuffle(low, value, poison, [0] * lanes_of(target))


def shuffle(low: Lowering, left: SSAValue, right: SSAValue, mask: Sequence[int]) -> SSAValue:
    """The lanes of two vectors of one type, by number; -1 is any value."""
    element = cast("VectorType[Attribute]", left.type).element_type
    properties = {"mask": DenseArrayBase.from_list(i32, mask)}
    return low.create(llvm.ShuffleVectorOp, (left, right), VectorType(element, [len(mask)]), properties)


def _shuffle(low: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.ShuffleOp)
    left, right = low.get(op.v1), low.get(op.v2)
    mask = [int(lane) for lane in op.mask.get_values()]
    first, second = lanes_of(left.type), lanes_of(right.type)
    if first != second:
        # LLVM shuffles vectors of one length: the shorter one is padded.
        longer = max(first, second)
        mask = [lane if lane < first else lane - first + longer for lane in mask]
        left, right = (_padded(low, value, longer) for value in (left, right))
    low.set(op.result, shuffle(low, left, right, mask))


def _padded(low: Lowering, value: SSAValue, lanes: int) -> SSAValue:
    mine = lanes_of(value.type)
    if mine == lanes:
        return value
    return shuffle(low, value, low.poison(value.type), [*range(mine), *([-1] * (lanes - mine))])


def _fma(low: Lowering, op: Operation) -> None:
    operands = [low.get(operand) for operand in op.operands]
    low.set(op.results[0], low.create(llvm.FMAOp, operands, operands[0].type, {"fastmathFlags": NO_FLAGS}))


def _position(low: Lowering, op: Operation, static: Attribute, dynamic: Sequence[SSAValue]) -> SSAValue:
    assert isinstance(static, DenseArrayBase)
    values = static.get_values()
    if len(values) != 1:
        raise low.fail(op, f"position {list(values)}", "vectors have one dimension here")
    return low.get(dynamic[0]) if values[0] == DYNAMIC_INDEX else low.integer(int(values[0]))


def _extract(low: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.ExtractOp)
    position = _position(low, op, op.static_position, op.dynamic_position)
    low.set(op.result, low.create(more.ExtractElementOp, (low.get(op.vector), position), convert_type(op.result.type)))


def _insert(low: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.InsertOp)
    position = _position(low, op, op.static_position, op.dynamic_position)
    dest = low.get(op.dest)
    low.set(op.result, low.create(llvm.InsertElementOp, (dest, low.get(op.source), position), dest.type))


_REDUCTIONS: dict[str, tuple[type[Operation], type[Operation]]] = {
    "add": (more.ReduceAddOp, llvm.AddOp),
    "mul": (more.ReduceMulOp, llvm.MulOp),
    "and": (more.ReduceAndOp, llvm.AndOp),
    "or": (more.ReduceOrOp, llvm.OrOp),
    "xor": (more.ReduceXorOp, llvm.XOrOp),
    "maxsi": (more.ReduceSMaxOp, more.SMaxOp),
    "minsi": (more.ReduceSMinOp, more.SMinOp),
    "maxui": (more.ReduceUMaxOp, more.UMaxOp),
    "minui": (more.ReduceUMinOp, more.UMinOp),
    "maxnumf": (more.ReduceFMaxOp, llvm.VectorFMaxOp),
    "minnumf": (more.ReduceFMinOp, llvm.VectorFMinOp),
    "maximumf": (more.ReduceFMaximumOp, more.MaximumOp),
    "minimumf": (more.ReduceFMinimumOp, more.MinimumOp),
}
"""For each kind the reduction and the operation that adds the start value."""


def _reduction(low: Lowering, op: Operation) -> None:
    assert isinstance(op, vector.ReductionOp)
    value = low.get(op.vector)
    result = convert_type(op.dest.type)
    start = low.get(op.acc) if op.acc is not None else None
    kind = op.kind.data.value
    flags = {"fastmathFlags": fastmath(op)}
    if kind in ("add", "mul") and not is_integer(result):
        # -0 is what changes no sum; 0 would turn a sum of -0s into 0.
        start = splat(low, -0.0 if kind == "add" else 1.0, result) if start is None else start
        cls = more.ReduceFAddOp if kind == "add" else more.ReduceFMulOp
        low.set(op.dest, low.create(cls, (start, value), result, flags))
        return
    cls, combine = _REDUCTIONS[kind]
    is_float = not is_integer(result)
    reduced = low.create(cls, (value,), result, flags if is_float else {})
    if start is not None:
        overflow: dict[str, Attribute] = {}
        if combine in (llvm.AddOp, llvm.MulOp):
            overflow["overflowFlags"] = IntegerAttr(0, 32)
        reduced = low.create(combine, (reduced, start), result, flags if is_float else overflow)
    low.set(op.dest, reduced)


def _bitcast(low: Lowering, op: Operation) -> None:
    value, target = low.get(op.operands[0]), convert_type(op.results[0].type)
    low.set(op.results[0], value if value.type == target else low.create(llvm.BitcastOp, (value,), target))


def _create_mask(low: Lowering, op: Operation) -> None:
    count = low.get(op.operands[0])
    type_ = cast("VectorType[Attribute]", op.results[0].type)
    lanes = lanes_of(type_)
    known = low.known(count)
    if known is not None:
        bits = [int(lane < known) for lane in range(lanes)]
        mask = DenseIntOrFPElementsAttr.from_list(cast("VectorType[IntegerType]", type_), bits)
        low.set(op.results[0], low.constant(mask, type_))
        return
    # Clamped to the lanes, the count fits i32, whose comparison needs half the registers.
    clamped = low.create(more.SMinOp, (count, low.integer(lanes)), i64)
    clamped = low.create(more.SMaxOp, (clamped, low.integer(0)), i64)
    narrow = low.create(llvm.TruncOp, (clamped,), i32)
    numbers = VectorType(i32, [lanes])
    lane = low.constant(DenseIntOrFPElementsAttr.from_list(numbers, list(range(lanes))), numbers)
    below = {"predicate": IntegerAttr(2, i64)}
    low.set(op.results[0], low.create(llvm.ICmpOp, (lane, broadcast(low, narrow, numbers)), type_, below))


def _step(low: Lowering, op: Operation) -> None:
    lanes = lanes_of(op.results[0].type)
    numbers = VectorType(i64, [lanes])
    low.set(op.results[0], low.constant(DenseIntOrFPElementsAttr.from_list(numbers, list(range(lanes))), numbers))


def _gather(low: Lowering, op: Operation) -> None:
    assert isinstance(op, vector_more.GatherOp)
    memory = low.memref(op.base)
    alignment = {"alignment": IntegerAttr(_contiguous(low, op, op.base), i32)}
    start, indices = low.address(memory, op.offsets), low.get(op.indices)
    element = convert_type(memory.element)
    address = get_element_ptr(start, indices, element, inbounds=False)
    pointers = low.create(llvm.GEPOp, (start, indices), VectorType(PTR, [lanes_of(indices.type)]), address.properties)
    address.erase()
    operands = (pointers, low.get(op.mask), low.get(op.pass_thru))
    low.set(op.result, low.create(more.MaskedGatherOp, operands, convert_type(op.result.type), alignment))


HANDLERS: dict[type[Operation], Handler] = {
    vector.LoadOp: _load,
    vector.StoreOp: _store,
    vector.MaskedLoadOp: _maskedload,
    vector.MaskedStoreOp: _maskedstore,
    vector.BroadcastOp: _broadcast,
    vector.ShuffleOp: _shuffle,
    vector.FMAOp: _fma,
    vector.ExtractOp: _extract,
    vector.InsertOp: _insert,
    vector.ReductionOp: _reduction,
    vector.BitcastOp: _bitcast,
    vector.CreateMaskOp: _create_mask,
    vector_more.GatherOp: _gather,
    vector_more.StepOp: _step,
}
"""The conversion of every operation of the dialect that the loops level has."""
