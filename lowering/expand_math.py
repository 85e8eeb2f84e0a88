"""The pass expand-math: functions of f32 as arithmetic, so that LLVM calls no library for them.

exp, exp2, log, tanh, erf and rsqrt stay in f32 (expand_math_f32.py, about 1 ULP); the others are computed in f64
(expand_math_f64.py, half an ULP). Functions of f16 and bf16 are computed in f32. What the processor has an instruction
for (sqrt, floor, ceil, round, roundeven, trunc, absf, copysign, fma and the integer operations) stays as it is.
Functions of f64 stay as well: loops-to-llvm calls the C library for them, as it does for the sine, cosine and tangent
of numbers beyond 2**48.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    IndexType,
    IntegerAttr,
    ModuleOp,
    f32,
    f64,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from relay_mlir.dialects.upstream.attributes import element_of, width_of, with_element
from relay_mlir.lowering import expand_math_f32 as in_f32
from relay_mlir.lowering import expand_math_f64 as in_f64
from relay_mlir.lowering.expand_math_values import Build, V

Function = Callable[..., V]

F32: dict[type[Operation], Function] = {
    math.ErfOp: in_f32.erf,
    math.ExpOp: in_f32.exp,
    math.Exp2Op: in_f32.exp2,
    math.LogOp: in_f32.log,
    math.RsqrtOp: in_f32.rsqrt,
    math.TanhOp: in_f32.tanh,
}
"""Computed in f32."""

F64: dict[type[Operation], Function] = {
    math.AcosOp: in_f64.acos,
    math.AcoshOp: in_f64.acosh,
    math.AsinOp: in_f64.asin,
    math.AsinhOp: in_f64.asinh,
    math.AtanOp: in_f64.atan,
    math.Atan2Op: in_f64.atan2,
    math.AtanhOp: in_f64.atanh,
    math.CbrtOp: in_f64.cbrt,
    math.CosOp: in_f64.cos,
    math.CoshOp: in_f64.cosh,
    math.ExpM1Op: in_f64.expm1,
    math.Log10Op: in_f64.log10,
    math.Log1pOp: in_f64.log1p,
    math.Log2Op: in_f64.log2_,
    math.PowFOp: in_f64.pow_,
    math.SinOp: in_f64.sin,
    math.SinhOp: in_f64.sinh,
    math.TanOp: in_f64.tan,
}
"""Computed in f64."""


def _expand(op: Operation, build: Build) -> V | None:
    """The value of a function of floats; None for one of f64, which stays."""
    element = element_of(op.results[0].type)
    args = [V(build, operand) for operand in op.operands]
    half = isinstance(element, Float16Type | BFloat16Type)
    if not half and not isinstance(element, Float32Type):
        return _rsqrt(args[0]) if isinstance(op, math.RsqrtOp) else None
    if half:
        args = [V(build, build.create(arith.ExtFOp, (arg.value,), with_element(arg.value.type, f32))) for arg in args]
    if (function := F32.get(type(op))) is not None:
        result = function(*args)
    else:
        result = F64[type(op)](*(arg.wide() for arg in args)).narrow()
    return result.narrow(element) if half else result


def _rsqrt(x: V) -> V:
    return x.sqrt().rdiv(1.0)


def _expand_fpowi(op: Operation, build: Build) -> V:
    """A float to an integer power."""
    base, power = (V(build, operand) for operand in op.operands)
    exponent = power.to_float(f64)
    if base.element == f64:
        return V(build, build.create(math.PowFOp, (base.value, exponent.value), base.value.type, fastmath=_NO_FLAGS))
    return in_f64.pow_(base.wide(), exponent).narrow(base.element)


_NO_FLAGS = arith.FastMathFlagsAttr("none")


def _expand_ipowi(op: Operation, build: Build) -> V:
    """An integer to an integer power: to a negative one it is 1 / x**n towards zero."""
    base, power = (V(build, operand) for operand in op.operands)
    type_ = base.value.type
    width = width_of(base.value.type)
    index = IndexType()
    bounds = [build.create(arith.ConstantOp, (), index, value=IntegerAttr(n, index)) for n in (0, width, 1)]
    block = Block(arg_types=[index, type_, type_, type_])
    inner = Build(build.location)
    result, square, rest = (V(inner, arg) for arg in block.args[1:])
    odd = (rest & 1).compare("ne", 0)
    product = odd.where(result * square, result)
    shifted = V(inner, inner.create(arith.ShRUIOp, (rest.value, rest.number(1).value), type_))
    carried = (product.value, (square * square).value, shifted.value)
    inner.ops.append(scf.YieldOp.create(operands=carried, location=build.location))
    block.add_ops(inner.ops)
    loop = scf.ForOp.create(
        operands=[*bounds, base.number(1).value, base.value, power.value],
        result_types=[type_] * 3,
        regions=[Region(block)],
        location=build.location,
    )
    build.ops.append(loop)
    positive = V(build, loop.results[0])
    # Of a negative power only 1 and -1 have a whole value that is not 0.
    minus = (power & 1).compare("ne", 0).where(base.number(-1), 1)
    unit = base.compare("eq", -1).where(minus, 0)
    unit = base.compare("eq", 1).where(base.number(1), unit)
    return power.compare("slt", 0).where(unit, positive)


_EXPANSIONS: dict[type[Operation], Callable[[Operation, Build], V | None]] = {
    **dict.fromkeys([*F32, *F64], _expand),
    math.FPowIOp: _expand_fpowi,
    math.IPowIOp: _expand_ipowi,
}


def expand(op: Operation) -> Sequence[Operation] | None:
    """What replaces an operation, its last result taking its place; None for one that stays."""
    expansion = _EXPANSIONS.get(type(op))
    if expansion is None:
        return None
    build = Build(op.location)
    result = expansion(op, build)
    if result is None:
        return None
    parent = op.parent
    assert parent is not None
    parent.insert_ops_before(build.ops, op)
    _replace(op.results[0], result.value)
    parent.erase_op(op)
    return build.ops


def _replace(old: SSAValue, new: SSAValue) -> None:
    if new.name_hint is None:
        new.name_hint = old.name_hint
    old.replace_all_uses_with(new)


@dataclass(frozen=True)
class ExpandMathPass(ModulePass):
    """Writes functions of f16, bf16 and f32 as arithmetic."""

    name = "expand-math"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in [each for each in op.walk() if type(each) in _EXPANSIONS]:
            expand(inner)
