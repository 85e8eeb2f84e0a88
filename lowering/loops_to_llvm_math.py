"""The math dialect to the llvm dialect: what the processor computes, and the C library's functions for f64.

expand-math comes first: of f32 functions only those that are instructions are left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import llvm, math
from xdsl.dialects.builtin import BoolAttr, Float64Type, i1
from xdsl.ir import Operation, SSAValue

from relay_mlir.dialects.upstream import llvm as more
from relay_mlir.dialects.upstream.attributes import element_of, is_vector, lanes_of
from relay_mlir.lowering.loops_to_llvm_arith import fastmath
from relay_mlir.lowering.loops_to_llvm_core import Lowering
from relay_mlir.lowering.loops_to_llvm_memref import call_library

Handler = Callable[[Lowering, Operation], None]

_INTRINSICS: dict[type[Operation], type[Operation]] = {
    math.AbsFOp: llvm.FAbsOp,
    math.CeilOp: llvm.FCeilOp,
    math.FloorOp: llvm.FFloorOp,
    math.SqrtOp: llvm.FSqrtOp,
    math.CopySignOp: llvm.FCopySignOp,
    math.FmaOp: llvm.FMAOp,
    math.RoundOp: more.RoundOp,
    math.RoundEvenOp: more.RoundEvenOp,
    math.TruncOp: more.FTruncOp,
}
"""On floats, each an instruction or a few."""

_LIBRARY: dict[type[Operation], str] = {
    math.AcosOp: "acos",
    math.AcoshOp: "acosh",
    math.AsinOp: "asin",
    math.AsinhOp: "asinh",
    math.AtanOp: "atan",
    math.Atan2Op: "atan2",
    math.AtanhOp: "atanh",
    math.CbrtOp: "cbrt",
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.ErfOp: "erf",
    math.ExpOp: "exp",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.LogOp: "log",
    math.Log10Op: "log10",
    math.Log1pOp: "log1p",
    math.Log2Op: "log2",
    math.PowFOp: "pow",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
}
"""The C library's function of f64 of each operation."""


def _intrinsic(low: Lowering, op: Operation) -> None:
    operands = [low.get(operand) for operand in op.operands]
    properties = {"fastmathFlags": fastmath(op)}
    low.set(op.results[0], low.create(_INTRINSICS[type(op)], operands, operands[0].type, properties))


def _library(low: Lowering, op: Operation) -> None:
    operands = [low.get(operand) for operand in op.operands]
    type_ = operands[0].type
    element = element_of(type_)
    if not isinstance(element, Float64Type):
        raise low.fail(op, f"a function of {element}", "run expand-math before")
    name = _LIBRARY[type(op)]
    if not is_vector(type_):
        low.set(op.results[0], _called(low, name, operands))
        return
    result: SSAValue = low.poison(type_)
    for lane in range(lanes_of(type_)):
        index = low.integer(lane)
        scalars = [low.create(more.ExtractElementOp, (operand, index), element) for operand in operands]
        result = low.create(llvm.InsertElementOp, (result, _called(low, name, scalars), index), type_)
    low.set(op.results[0], result)


def _called(low: Lowering, name: str, operands: Sequence[SSAValue]) -> SSAValue:
    result = call_library(low, name, operands, operands[0].type)
    assert result is not None
    return result


def _absi(low: Lowering, op: Operation) -> None:
    value = low.get(op.operands[0])
    properties = {"is_int_min_poison": BoolAttr(0, i1)}
    low.set(op.results[0], low.create(more.AbsOp, (value,), value.type, properties))


def _count_zeros(low: Lowering, op: Operation) -> None:
    value = low.get(op.operands[0])
    cls = more.CtLzOp if isinstance(op, math.CountLeadingZerosOp) else more.CtTzOp
    low.set(op.results[0], low.create(cls, (value,), value.type, {"is_zero_poison": BoolAttr(0, i1)}))


def _ctpop(low: Lowering, op: Operation) -> None:
    value = low.get(op.operands[0])
    low.set(op.results[0], low.create(more.CtPopOp, (value,), value.type))


HANDLERS: dict[type[Operation], Handler] = {
    **dict.fromkeys(_INTRINSICS, _intrinsic),
    **dict.fromkeys(_LIBRARY, _library),
    math.AbsIOp: _absi,
    math.CountLeadingZerosOp: _count_zeros,
    math.CountTrailingZerosOp: _count_zeros,
    math.CtPopOp: _ctpop,
}
"""The conversion of every operation that expand-math leaves."""
