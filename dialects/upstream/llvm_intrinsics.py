"""Intrinsics of the llvm dialect that xDSL lacks, or that it defines more narrowly than upstream does.

Names, operands, attributes and syntax are those of MLIR 22 (https://mlir.llvm.org/docs/Dialects/LLVM/).
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import (
    I1,
    I32,
    AnyFloatConstr,
    BoolAttr,
    IntegerAttr,
    IntegerType,
    SignlessIntegerConstraint,
    VectorType,
)
from xdsl.dialects.llvm import FastMathAttr, LLVMPointerType
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

_INTEGERS = SignlessIntegerConstraint | VectorType.constr(SignlessIntegerConstraint)
_FLOATS = AnyFloatConstr | VectorType.constr(AnyFloatConstr)
_CALL_FORMAT = "`(` operands `)` attr-dict `:` functional-type(operands, results)"

# Intrinsics on values.


class FloatUnaryIntrinsic(IRDLOperation, ABC):
    """A function of one float or vector of floats."""

    T: ClassVar = VarConstraint("T", _FLOATS)
    arg = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = _CALL_FORMAT


@irdl_op_definition
class RoundOp(FloatUnaryIntrinsic):
    """The nearest whole number, halves away from zero."""

    name = "llvm.intr.round"


@irdl_op_definition
class RoundEvenOp(FloatUnaryIntrinsic):
    """The nearest whole number, halves to even."""

    name = "llvm.intr.roundeven"


@irdl_op_definition
class FTruncOp(FloatUnaryIntrinsic):
    """The whole part."""

    name = "llvm.intr.trunc"


class FloatBinaryIntrinsic(IRDLOperation, ABC):
    """A function of two floats or vectors of floats."""

    T: ClassVar = VarConstraint("T", _FLOATS)
    a = operand_def(T)
    b = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = _CALL_FORMAT


@irdl_op_definition
class MaximumOp(FloatBinaryIntrinsic):
    """The larger; NaN if one is NaN, and -0 < +0."""

    name = "llvm.intr.maximum"


@irdl_op_definition
class MinimumOp(FloatBinaryIntrinsic):
    """The smaller; NaN if one is NaN, and -0 < +0."""

    name = "llvm.intr.minimum"


class IntegerBinaryIntrinsic(IRDLOperation, ABC):
    """A function of two integers or vectors of integers."""

    T: ClassVar = VarConstraint("T", _INTEGERS)
    a = operand_def(T)
    b = operand_def(T)
    res = result_def(T)
    traits = traits_def(Pure())
    assembly_format = _CALL_FORMAT


@irdl_op_definition
class SMaxOp(IntegerBinaryIntrinsic):
    """The larger signed integer."""

    name = "llvm.intr.smax"


@irdl_op_definition
class SMinOp(IntegerBinaryIntrinsic):
    """The smaller signed integer."""

    name = "llvm.intr.smin"


@irdl_op_definition
class UMaxOp(IntegerBinaryIntrinsic):
    """The larger unsigned integer."""

    name = "llvm.intr.umax"


@irdl_op_definition
class UMinOp(IntegerBinaryIntrinsic):
    """The smaller unsigned integer."""

    name = "llvm.intr.umin"


class IntegerUnaryIntrinsic(IRDLOperation, ABC):
    """A function of one integer or vector of integers."""

    T: ClassVar = VarConstraint("T", _INTEGERS)
    arg = operand_def(T)
    res = result_def(T)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())


@irdl_op_definition
class CtPopOp(IntegerUnaryIntrinsic):
    """The number of ones."""

    name = "llvm.intr.ctpop"
    assembly_format = _CALL_FORMAT


@irdl_op_definition
class AbsOp(IntegerUnaryIntrinsic):
    """The absolute value."""

    name = "llvm.intr.abs"
    is_int_min_poison = prop_def(BoolAttr)


@irdl_op_definition
class CtLzOp(IntegerUnaryIntrinsic):
    """The number of leading zeros."""

    name = "llvm.intr.ctlz"
    is_zero_poison = prop_def(BoolAttr)


@irdl_op_definition
class CtTzOp(IntegerUnaryIntrinsic):
    """The number of trailing zeros."""

    name = "llvm.intr.cttz"
    is_zero_poison = prop_def(BoolAttr)


# Reductions of vectors.


class IntegerReduction(IRDLOperation, ABC):
    """All elements of a vector of integers, combined."""

    T: ClassVar = VarConstraint("T", SignlessIntegerConstraint)
    arg = operand_def(VectorType.constr(T))
    res = result_def(T)
    traits = traits_def(Pure())


@irdl_op_definition
class ReduceAddOp(IntegerReduction):
    """The sum."""

    name = "llvm.intr.vector.reduce.add"


@irdl_op_definition
class ReduceMulOp(IntegerReduction):
    """The product."""

    name = "llvm.intr.vector.reduce.mul"


@irdl_op_definition
class ReduceAndOp(IntegerReduction):
    """Bitwise and."""

    name = "llvm.intr.vector.reduce.and"


@irdl_op_definition
class ReduceOrOp(IntegerReduction):
    """Bitwise or."""

    name = "llvm.intr.vector.reduce.or"


@irdl_op_definition
class ReduceXorOp(IntegerReduction):
    """Bitwise exclusive or."""

    name = "llvm.intr.vector.reduce.xor"


@irdl_op_definition
class ReduceSMaxOp(IntegerReduction):
    """The largest, signed."""

    name = "llvm.intr.vector.reduce.smax"


@irdl_op_definition
class ReduceSMinOp(IntegerReduction):
    """The smallest, signed."""

    name = "llvm.intr.vector.reduce.smin"


@irdl_op_definition
class ReduceUMaxOp(IntegerReduction):
    """The largest, unsigned."""

    name = "llvm.intr.vector.reduce.umax"


@irdl_op_definition
class ReduceUMinOp(IntegerReduction):
    """The smallest, unsigned."""

    name = "llvm.intr.vector.reduce.umin"


class FloatReduction(IRDLOperation, ABC):
    """All elements of a vector of floats, combined without a start value."""

    T: ClassVar = VarConstraint("T", AnyFloatConstr)
    arg = operand_def(VectorType.constr(T))
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = _CALL_FORMAT


@irdl_op_definition
class ReduceFMaxOp(FloatReduction):
    """The largest; NaN only if all are NaN."""

    name = "llvm.intr.vector.reduce.fmax"


@irdl_op_definition
class ReduceFMinOp(FloatReduction):
    """The smallest; NaN only if all are NaN."""

    name = "llvm.intr.vector.reduce.fmin"


@irdl_op_definition
class ReduceFMaximumOp(FloatReduction):
    """The largest; NaN if one is NaN."""

    name = "llvm.intr.vector.reduce.fmaximum"


@irdl_op_definition
class ReduceFMinimumOp(FloatReduction):
    """The smallest; NaN if one is NaN."""

    name = "llvm.intr.vector.reduce.fminimum"


class OrderedReduction(IRDLOperation, ABC):
    """All elements of a vector of floats on top of a start value: in order, unless flagged `reassoc`."""

    T: ClassVar = VarConstraint("T", AnyFloatConstr)
    start_value = operand_def(T)
    vector = operand_def(VectorType.constr(T))
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))
    traits = traits_def(Pure())


@irdl_op_definition
class ReduceFAddOp(OrderedReduction):
    """The sum."""

    name = "llvm.intr.vector.reduce.fadd"


@irdl_op_definition
class ReduceFMulOp(OrderedReduction):
    """The product."""

    name = "llvm.intr.vector.reduce.fmul"


# Intrinsics on memory.


@irdl_op_definition
class MaskedLoadOp(IRDLOperation):
    """The lanes of a vector whose mask is set, from memory; the others from `pass_thru`."""

    name = "llvm.intr.masked.load"

    data = operand_def(LLVMPointerType)
    mask = operand_def(VectorType[I1])
    pass_thru = operand_def(VectorType)
    res = result_def(VectorType)
    alignment = prop_def(IntegerAttr[I32])
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "operands attr-dict `:` functional-type(operands, results)"


@irdl_op_definition
class MaskedStoreOp(IRDLOperation):
    """Stores the lanes of a vector whose mask is set."""

    name = "llvm.intr.masked.store"

    value = operand_def(VectorType)
    data = operand_def(LLVMPointerType)
    mask = operand_def(VectorType[I1])
    alignment = prop_def(IntegerAttr[I32])
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$value `,` $data `,` $mask attr-dict `:` type($value) `,` type($mask) `into` type($data)"


@irdl_op_definition
class MaskedGatherOp(IRDLOperation):
    """The lanes of a vector whose mask is set, each from a pointer of its own; the others from `pass_thru`."""

    name = "llvm.intr.masked.gather"

    ptrs = operand_def(VectorType)
    mask = operand_def(VectorType[I1])
    pass_thru = operand_def(VectorType)
    res = result_def(VectorType)
    alignment = prop_def(IntegerAttr[I32])
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "operands attr-dict `:` functional-type(operands, results)"


@irdl_op_definition
class MemcpyOp(IRDLOperation):
    """Copies `len` bytes between places that do not overlap (or are the same)."""

    name = "llvm.intr.memcpy"

    dst = operand_def(LLVMPointerType)
    src = operand_def(LLVMPointerType)
    len = operand_def(IntegerType)
    isVolatile = prop_def(BoolAttr)


@irdl_op_definition
class MemsetOp(IRDLOperation):
    """Fills `len` bytes with one value."""

    name = "llvm.intr.memset"

    dst = operand_def(LLVMPointerType)
    val = operand_def(IntegerType)
    len = operand_def(IntegerType)
    isVolatile = prop_def(BoolAttr)


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """Asks for a cache line ahead of its use: rw 0 reads, hint 0 (no reuse) to 3, cache 1 (data)."""

    name = "llvm.intr.prefetch"

    addr = operand_def(LLVMPointerType)
    rw = prop_def(IntegerAttr[I32])
    hint = prop_def(IntegerAttr[I32])
    cache = prop_def(IntegerAttr[I32])
