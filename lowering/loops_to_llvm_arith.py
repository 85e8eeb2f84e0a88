"""The arith dialect to the llvm dialect."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import cast

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    f32,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.upstream import arith as arith_more
from relay_mlir.dialects.upstream import llvm as more
from relay_mlir.dialects.upstream.attributes import (
    dense,
    element_of,
    integer,
    is_dense,
    is_integer,
    is_vector,
    numbers,
    width_of,
    with_element,
)
from relay_mlir.lowering.loops_to_llvm_core import Lowering
from relay_mlir.lowering.loops_to_llvm_types import ZERO_FLAGS, convert_type

Handler = Callable[[Lowering, Operation], None]
NO_FASTMATH = llvm.FastMathAttr(None)

_SAME: dict[type[Operation], type[Operation]] = {
    arith.DivSIOp: llvm.SDivOp,
    arith.DivUIOp: llvm.UDivOp,
    arith.RemSIOp: llvm.SRemOp,
    arith.RemUIOp: llvm.URemOp,
    arith.AndIOp: llvm.AndOp,
    arith.OrIOp: llvm.OrOp,
    arith.XOrIOp: llvm.XOrOp,
    arith.ShRUIOp: llvm.LShrOp,
    arith.ShRSIOp: llvm.AShrOp,
    arith.MaxSIOp: more.SMaxOp,
    arith.MinSIOp: more.SMinOp,
    arith.MaxUIOp: more.UMaxOp,
    arith.MinUIOp: more.UMinOp,
    arith.SIToFPOp: llvm.SIToFPOp,
    arith.UIToFPOp: more.UIToFPOp,
    arith.FPToSIOp: more.FPToSIOp,
    arith.FPToUIOp: more.FPToUIOp,
    arith.ExtSIOp: llvm.SExtOp,
    arith.ExtUIOp: llvm.ZExtOp,
    arith.TruncIOp: llvm.TruncOp,
}
"""Operations that differ in name only."""

_WITH_OVERFLOW: dict[type[Operation], type[Operation]] = {
    arith.AddiOp: llvm.AddOp,
    arith.SubiOp: llvm.SubOp,
    arith.MuliOp: llvm.MulOp,
    arith.ShLIOp: llvm.ShlOp,
}

_FLOAT: dict[type[Operation], type[Operation]] = {
    arith.AddfOp: llvm.FAddOp,
    arith.SubfOp: llvm.FSubOp,
    arith.MulfOp: llvm.FMulOp,
    arith.DivfOp: llvm.FDivOp,
    arith_more.RemfOp: llvm.FRemOp,
    arith.NegfOp: llvm.FNegOp,
    arith.MaximumfOp: more.MaximumOp,
    arith.MinimumfOp: more.MinimumOp,
    arith.MaxnumfOp: llvm.VectorFMaxOp,
    arith.MinnumfOp: llvm.VectorFMinOp,
}
"""Operations on floats, which carry fastmath flags."""


def fastmath(op: Operation) -> llvm.FastMathAttr:
    """The llvm form of an operation's fastmath flags."""
    flags = op.properties.get("fastmath")
    return _fastmath(flags) if isinstance(flags, arith.FastMathFlagsAttr) else NO_FASTMATH


@cache
def _fastmath(flags: arith.FastMathFlagsAttr) -> llvm.FastMathAttr:
    return llvm.FastMathAttr(flags.data)


def _same(low: Lowering, op: Operation) -> None:
    operands = [low.get(operand) for operand in op.operands]
    _refuse_bf16(low, op)
    low.set(op.results[0], low.create(_SAME[type(op)], operands, convert_type(op.results[0].type)))


def _with_overflow(low: Lowering, op: Operation) -> None:
    flags = op.properties.get("overflowFlags")
    bits = 0
    if isinstance(flags, arith.IntegerOverflowAttr):
        bits = sum({"nsw": 1, "nuw": 2}[flag.value] for flag in flags.data)
    operands = [low.get(operand) for operand in op.operands]
    if (folded := _fold(low, op, operands)) is not None:
        low.set(op.results[0], folded)
        return
    properties = {"overflowFlags": IntegerAttr(bits, 32) if bits else ZERO_FLAGS}
    low.set(op.results[0], low.create(_WITH_OVERFLOW[type(op)], operands, operands[0].type, properties))


def _fold(low: Lowering, op: Operation, operands: Sequence[SSAValue]) -> SSAValue | None:
    """Index arithmetic on constants, which unrolled kernels are full of."""
    if not isinstance(op.results[0].type, IndexType):
        return None
    left, right = (low.known(operand) for operand in operands)
    if left is None or right is None:
        return None
    match op:
        case arith.AddiOp():
            result = left + right
        case arith.SubiOp():
            result = left - right
        case arith.MuliOp():
            result = left * right
        case _:
            return None
    return low.integer((result + 2**63) % 2**64 - 2**63)


def _refuse_bf16(low: Lowering, op: Operation) -> None:
    for value in (*op.operands, *op.results):
        if isinstance(element_of(value.type), BFloat16Type):
            raise low.fail(op, "arithmetic on bf16", "extend to f32 first; bf16 is for storage")


def _float(low: Lowering, op: Operation) -> None:
    _refuse_bf16(low, op)
    operands = [low.get(operand) for operand in op.operands]
    low.set(op.results[0], low.create(_FLOAT[type(op)], operands, operands[0].type, {"fastmathFlags": fastmath(op)}))


def _cmpi(low: Lowering, op: Operation) -> None:
    left, right = (low.get(operand) for operand in op.operands)
    predicate = {"predicate": op.properties["predicate"]}
    low.set(op.results[0], low.create(llvm.ICmpOp, (left, right), more.mask_type(left.type), predicate))


def _cmpf(low: Lowering, op: Operation) -> None:
    _refuse_bf16(low, op)
    left, right = (low.get(operand) for operand in op.operands)
    properties = {"predicate": op.properties["predicate"], "fastmathFlags": fastmath(op)}
    low.set(op.results[0], low.create(more.FCmpOp, (left, right), more.mask_type(left.type), properties))


def _select(low: Lowering, op: Operation) -> None:
    cond, left, right = op.operands
    result = op.results[0]
    properties = {"fastmathFlags": NO_FASTMATH}
    chosen: list[SSAValue] = []
    for one, other in zip(low.flatten(left), low.flatten(right), strict=True):
        chosen.append(low.create(more.SelectOp, (low.get(cond), one, other), one.type, properties))
    low.unflatten(result, chosen)


def _constant(low: Lowering, op: Operation) -> None:
    low.set(op.results[0], constant(low, op.properties["value"], op.results[0].type))


def constant(low: Lowering, value: Attribute, type_: Attribute) -> SSAValue:
    """A constant of the arith dialect as one of the llvm dialect."""
    target = convert_type(type_)
    element = element_of(type_)
    if is_dense(value) and is_vector(target):
        if isinstance(element, BFloat16Type):
            value = dense(target, [bf16_bits(float(each)) for each in numbers(value)])
        elif isinstance(element, IndexType):
            value = dense(target, [int(each) for each in numbers(value)])
        return low.constant(value, target)
    if isinstance(value, IntegerAttr):
        return low.constant(IntegerAttr(integer(cast(Attribute, value)), width_of(target)), target)
    if isinstance(value, FloatAttr):
        if isinstance(element, BFloat16Type):
            return low.integer(bf16_bits(value.value.data), i16)
        return low.constant(cast(Attribute, value), target)
    raise VerifyException(f"constant {value} of type {type_} has no counterpart in LLVM")


def bf16_bits(value: float) -> int:
    """The bits of a bf16: rounded to nearest even from f32 (a bf16 constant's value is exact already)."""
    bits = (
        struct.unpack("<I", struct.pack("<f", value))[0]
        if abs(value) != float("inf")
        else (0x7F800000 if value > 0 else 0xFF800000)
    )
    if value != value:
        return (bits >> 16) | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def splat(low: Lowering, value: int | float, like: Attribute) -> SSAValue:
    """A number as a constant of this llvm type, in every lane if it is a vector."""
    attribute: Attribute
    if is_vector(like):
        attribute = dense(like, [value])
    elif is_integer(like):
        attribute = IntegerAttr(cast(int, value), width_of(like))
    else:
        attribute = FloatAttr(value, cast(Float32Type, like))
    return low.constant(attribute, like)


class _Ints:
    """Integer operations on llvm values, for the conversions that are made of them."""

    def __init__(self, low: Lowering):
        self.low = low

    def binary(self, cls: type[Operation], left: SSAValue, right: SSAValue | int) -> OpResult:
        right = splat(self.low, right, left.type) if isinstance(right, int) else right
        needs = cls in (llvm.AddOp, llvm.SubOp, llvm.MulOp, llvm.ShlOp)
        return self.low.create(cls, (left, right), left.type, {"overflowFlags": ZERO_FLAGS} if needs else {})

    def compare(self, predicate: str, left: SSAValue, right: SSAValue | int) -> OpResult:
        right = splat(self.low, right, left.type) if isinstance(right, int) else right
        number = IntegerAttr(llvm.ICmpPredicateFlag(predicate).to_int(), i64)
        return self.low.create(llvm.ICmpOp, (left, right), more.mask_type(left.type), {"predicate": number})

    def compare_floats(self, predicate: str, left: SSAValue, right: SSAValue) -> OpResult:
        number = IntegerAttr(llvm.FCmpPredicateFlag(predicate).to_int(), i64)
        properties: Mapping[str, Attribute] = {"predicate": number, "fastmathFlags": NO_FASTMATH}
        return self.low.create(more.FCmpOp, (left, right), more.mask_type(left.type), properties)

    def select(self, cond: SSAValue, then: SSAValue, orelse: SSAValue) -> OpResult:
        properties = {"fastmathFlags": NO_FASTMATH}
        return self.low.create(more.SelectOp, (cond, then, orelse), then.type, properties)

    def cast(self, cls: type[Operation], value: SSAValue, element: Attribute) -> OpResult:
        return self.low.create(cls, (value,), with_element(value.type, element))


def _index_cast(low: Lowering, op: Operation) -> None:
    value = low.get(op.operands[0])
    target = convert_type(op.results[0].type)
    if value.type == target:
        low.set(op.results[0], value)
        return
    source_width, target_width = width_of(value.type), width_of(target)
    widen = llvm.ZExtOp if isinstance(op, arith_more.IndexCastUIOp) else llvm.SExtOp
    low.set(op.results[0], low.create(widen if source_width < target_width else llvm.TruncOp, (value,), target))


def _bitcast(low: Lowering, op: Operation) -> None:
    value = low.get(op.operands[0])
    target = convert_type(op.results[0].type)
    low.set(op.results[0], value if value.type == target else low.create(llvm.BitcastOp, (value,), target))


def _extf(low: Lowering, op: Operation) -> None:
    value = low.get(op.operands[0])
    target = convert_type(op.results[0].type)
    if isinstance(element_of(op.operands[0].type), BFloat16Type):
        ints = _Ints(low)
        bits = ints.binary(llvm.ShlOp, ints.cast(llvm.ZExtOp, value, i32), 16)
        value = ints.cast(llvm.BitcastOp, bits, f32)
        if value.type == target:
            low.set(op.results[0], value)
            return
    low.set(op.results[0], low.create(llvm.FPExtOp, (value,), target))


def _truncf(low: Lowering, op: Operation) -> None:
    value = low.get(op.operands[0])
    if not isinstance(element_of(op.results[0].type), BFloat16Type):
        low.set(op.results[0], low.create(llvm.FPTruncOp, (value,), convert_type(op.results[0].type)))
        return
    if isinstance(element_of(value.type), Float64Type):
        value = _round_to_odd(low, value)
    elif not isinstance(element_of(value.type), Float32Type):
        value = low.create(llvm.FPExtOp, (value,), with_element(value.type, f32))
    ints = _Ints(low)
    bits = ints.cast(llvm.BitcastOp, value, i32)
    odd = ints.binary(llvm.AndOp, ints.binary(llvm.LShrOp, bits, 16), 1)
    rounded = ints.binary(llvm.AddOp, ints.binary(llvm.AddOp, bits, 0x7FFF), odd)
    quiet = ints.binary(llvm.OrOp, bits, 0x400000)
    kept = ints.select(ints.compare_floats("uno", value, value), quiet, rounded)
    low.set(op.results[0], ints.cast(llvm.TruncOp, ints.binary(llvm.LShrOp, kept, 16), i16))


def _round_to_odd(low: Lowering, value: SSAValue) -> SSAValue:
    """f64 to f32 such that rounding once more gives what rounding once would."""
    ints = _Ints(low)
    near = ints.cast(llvm.FPTruncOp, value, f32)
    back = ints.cast(llvm.FPExtOp, near, element_of(value.type))
    flags = {"fastmathFlags": NO_FASTMATH}
    size, size_back = (low.create(llvm.FAbsOp, (v,), v.type, flags) for v in (value, back))
    bits = ints.cast(llvm.BitcastOp, near, i32)
    grew = ints.cast(llvm.ZExtOp, ints.compare_floats("ogt", size_back, size), i32)
    inexact = ints.cast(llvm.ZExtOp, ints.compare_floats("one", back, value), i32)
    return ints.cast(llvm.BitcastOp, ints.binary(llvm.OrOp, ints.binary(llvm.SubOp, bits, grew), inexact), f32)


def _floordivsi(low: Lowering, op: Operation) -> None:
    low.set(op.results[0], _rounded_division(low, op, away="slt"))


def _ceildivsi(low: Lowering, op: Operation) -> None:
    low.set(op.results[0], _rounded_division(low, op, away="sge"))


def _rounded_division(low: Lowering, op: Operation, away: str) -> SSAValue:
    """Division towards zero, one step further where there is a rest and the quotient's sign asks for it."""
    ints = _Ints(low)
    left, right = (low.get(operand) for operand in op.operands)
    quotient, rest = ints.binary(llvm.SDivOp, left, right), ints.binary(llvm.SRemOp, left, right)
    inexact = ints.compare("ne", rest, 0)
    signs = ints.compare(away, ints.binary(llvm.XOrOp, left, right), 0)
    step = ints.binary(llvm.AndOp, inexact, signs)
    further = ints.binary(llvm.SubOp if away == "slt" else llvm.AddOp, quotient, 1)
    return ints.select(step, further, quotient)


def _ceildivui(low: Lowering, op: Operation) -> None:
    ints = _Ints(low)
    left, right = (low.get(operand) for operand in op.operands)
    quotient, rest = ints.binary(llvm.UDivOp, left, right), ints.binary(llvm.URemOp, left, right)
    low.set(op.results[0], ints.select(ints.compare("ne", rest, 0), ints.binary(llvm.AddOp, quotient, 1), quotient))


def _addui_extended(low: Lowering, op: Operation) -> None:
    ints = _Ints(low)
    left, right = (low.get(operand) for operand in op.operands)
    total = ints.binary(llvm.AddOp, left, right)
    low.set(op.results[0], total)
    low.set(op.results[1], ints.compare("ult", total, left))


def _mul_extended(low: Lowering, op: Operation) -> None:
    ints = _Ints(low)
    width = width_of(low.get(op.operands[0]).type)
    wide = llvm.SExtOp if isinstance(op, arith.MulSIExtendedOp) else llvm.ZExtOp
    left, right = (ints.cast(wide, low.get(operand), IntegerType(2 * width)) for operand in op.operands)
    product = ints.binary(llvm.MulOp, left, right)
    low.set(op.results[0], ints.cast(llvm.TruncOp, product, IntegerType(width)))
    high = ints.binary(llvm.LShrOp, product, width)
    low.set(op.results[1], ints.cast(llvm.TruncOp, high, IntegerType(width)))


HANDLERS: dict[type[Operation], Handler] = {
    **dict.fromkeys(_SAME, _same),
    **dict.fromkeys(_WITH_OVERFLOW, _with_overflow),
    **dict.fromkeys(_FLOAT, _float),
    arith.ConstantOp: _constant,
    arith.CmpiOp: _cmpi,
    arith.CmpfOp: _cmpf,
    arith.SelectOp: _select,
    arith.IndexCastOp: _index_cast,
    arith_more.IndexCastUIOp: _index_cast,
    arith.BitcastOp: _bitcast,
    arith.ExtFOp: _extf,
    arith.TruncFOp: _truncf,
    arith.FloorDivSIOp: _floordivsi,
    arith.CeilDivSIOp: _ceildivsi,
    arith.CeilDivUIOp: _ceildivui,
    arith.AddUIExtendedOp: _addui_extended,
    arith.MulUIExtendedOp: _mul_extended,
    arith.MulSIExtendedOp: _mul_extended,
}
"""The conversion of every operation of the dialect."""
