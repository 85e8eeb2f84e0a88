"""Arithmetic on values in the notation of arithmetic: what the expansions of math operations are written in."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects import arith, math, scf, vector
from xdsl.dialects.builtin import (
    Float64Type,
    FloatAttr,
    IntegerAttr,
    LocationAttr,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

# Importing it lets arith's select and casts have vectors.
from relay_mlir.dialects.upstream import arith as _arith_more
from relay_mlir.dialects.upstream.attributes import dense, element_of, is_integer, is_vector, width_of, with_element

del _arith_more

NO_FLAGS = arith.FastMathFlagsAttr("none")


class Build:
    """Appends operations, all of one location, to a list; constants are shared within it."""

    def __init__(self, location: LocationAttr):
        self.location = location
        self.ops: list[Operation] = []
        self._constants: dict[tuple[str, Attribute], SSAValue] = {}

    def create(
        self, cls: type[Operation], operands: Sequence[SSAValue], result: Attribute, **properties: Attribute
    ) -> SSAValue:
        """Appends an operation of one result."""
        op = cls.create(operands=operands, result_types=(result,), properties=properties, location=self.location)
        self.ops.append(op)
        return op.results[0]

    def constant(self, value: int | float, type_: Attribute) -> V:
        """A number in every lane of a type."""
        # The text tells 0.0 from -0.0 and NaN from NaN, which the number does not.
        key = (repr(value), type_)
        found = self._constants.get(key)
        if found is None:
            element = element_of(type_)
            attribute: Attribute
            if is_vector(type_):
                wraps = is_integer(element)
                attribute = dense(type_, [_wrapped(cast(int, value), width_of(element)) if wraps else value])
            elif is_integer(element):
                attribute = IntegerAttr(_wrapped(cast(int, value), width_of(element)), width_of(element))
            else:
                attribute = FloatAttr(float(value), cast(Float64Type, element))
            found = self._constants[key] = self.create(arith.ConstantOp, (), type_, value=attribute)
        return V(self, found)


class V:
    """A float or integer, or a vector of them."""

    __slots__ = ("build", "value")

    def __init__(self, build: Build, value: SSAValue):
        self.build = build
        self.value = value

    @property
    def element(self) -> Attribute:
        return element_of(self.value.type)

    def number(self, other: V | int | float) -> V:
        """The other operand: numbers become constants of this type."""
        return other if isinstance(other, V) else self.build.constant(other, self.value.type)

    def _binary(self, other: V | int | float, integer: type[Operation], real: type[Operation]) -> V:
        other = self.number(other)
        operands = (self.value, other.value)
        if is_integer(self.element):
            flags: dict[str, Attribute] = {}
            if integer in (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.ShLIOp):
                flags["overflowFlags"] = arith.IntegerOverflowAttr("none")
            return V(self.build, self.build.create(integer, operands, self.value.type, **flags))
        return V(self.build, self.build.create(real, operands, self.value.type, fastmath=NO_FLAGS))

    def __add__(self, other: V | int | float) -> V:
        return self._binary(other, arith.AddiOp, arith.AddfOp)

    def __sub__(self, other: V | int | float) -> V:
        return self._binary(other, arith.SubiOp, arith.SubfOp)

    def __mul__(self, other: V | int | float) -> V:
        return self._binary(other, arith.MuliOp, arith.MulfOp)

    def __truediv__(self, other: V | int | float) -> V:
        return self._binary(other, arith.DivSIOp, arith.DivfOp)

    def __and__(self, other: V | int) -> V:
        return self._binary(other, arith.AndIOp, arith.AndIOp)

    def __or__(self, other: V | int) -> V:
        return self._binary(other, arith.OrIOp, arith.OrIOp)

    def __xor__(self, other: V | int) -> V:
        return self._binary(other, arith.XOrIOp, arith.XOrIOp)

    def __lshift__(self, other: V | int) -> V:
        return self._binary(other, arith.ShLIOp, arith.ShLIOp)

    def __rshift__(self, other: V | int) -> V:
        """Keeps the sign."""
        return self._binary(other, arith.ShRSIOp, arith.ShRSIOp)

    def __neg__(self) -> V:
        return V(self.build, self.build.create(arith.NegfOp, (self.value,), self.value.type, fastmath=NO_FLAGS))

    def rsub(self, number: float) -> V:
        """`number - self`."""
        return self.number(number) - self

    def rdiv(self, number: float) -> V:
        """`number / self`."""
        return self.number(number) / self

    def fma(self, factor: V | float, addend: V | float) -> V:
        """`self * factor + addend`, rounded once."""
        operands = (self.value, self.number(factor).value, self.number(addend).value)
        return V(self.build, self.build.create(math.FmaOp, operands, self.value.type, fastmath=NO_FLAGS))

    def unary(self, cls: type[Operation]) -> V:
        """An operation of the math dialect that is an instruction."""
        return V(self.build, self.build.create(cls, (self.value,), self.value.type, fastmath=NO_FLAGS))

    def abs(self) -> V:
        return self.unary(math.AbsFOp)

    def sqrt(self) -> V:
        return self.unary(math.SqrtOp)

    def trunc(self) -> V:
        return self.unary(math.TruncOp)

    def sign_of(self, sign: V) -> V:
        """This with the sign of another."""
        operands = (self.value, sign.value)
        return V(self.build, self.build.create(math.CopySignOp, operands, self.value.type, fastmath=NO_FLAGS))

    def compare(self, predicate: str, other: V | int | float) -> V:
        """A comparison by arith's name: `olt`, `uno`, `slt`, ..."""
        operands = (self.value, self.number(other).value)
        result = with_element(self.value.type, i1)
        if is_integer(self.element):
            number = IntegerAttr(_CMPI.index(predicate), i64)
            return V(self.build, self.build.create(arith.CmpiOp, operands, result, predicate=number))
        number = IntegerAttr(_CMPF.index(predicate), i64)
        return V(self.build, self.build.create(arith.CmpfOp, operands, result, predicate=number, fastmath=NO_FLAGS))

    def where(self, then: V | int | float, orelse: V | int | float) -> V:
        """`then` where this condition holds, else `orelse`; one of them is a value."""
        like = then if isinstance(then, V) else orelse
        assert isinstance(like, V)
        operands = (self.value, like.number(then).value, like.number(orelse).value)
        return V(self.build, self.build.create(arith.SelectOp, operands, like.value.type))

    def at_most(self, limit: float) -> V:
        """The smaller of this and a number; NaN stays."""
        return self.compare("ogt", limit).where(limit, self)

    def at_least(self, limit: float) -> V:
        """The larger of this and a number; NaN stays."""
        return self.compare("olt", limit).where(limit, self)

    def bits(self) -> V:
        """The bits of a float as an integer."""
        return self._cast(arith.BitcastOp, i64 if isinstance(self.element, Float64Type) else i32)

    def as_float(self) -> V:
        """The float of these bits."""
        return self._cast(arith.BitcastOp, f64 if self.element == i64 else f32)

    def to_float(self, element: Attribute) -> V:
        """A signed integer as a float."""
        return self._cast(arith.SIToFPOp, element)

    def wide(self) -> V:
        """An f32 as an f64."""
        return self._cast(arith.ExtFOp, f64)

    def narrow(self, element: Attribute = f32) -> V:
        """Rounded to a narrower float."""
        return self._cast(arith.TruncFOp, element)

    def _cast(self, cls: type[Operation], element: Attribute) -> V:
        return V(self.build, self.build.create(cls, (self.value,), with_element(self.value.type, element)))

    def horner(self, coefficients: Sequence[float]) -> V:
        """The polynomial with these coefficients, the highest power first."""
        result = self.number(coefficients[0])
        for coefficient in coefficients[1:]:
            result = result.fma(self, coefficient)
        return result

    def any(self) -> V:
        """Whether a condition holds in some lane."""
        if not is_vector(self.value.type):
            return self
        kind = vector.CombiningKindAttr(vector.CombiningKindFlag.OR)
        value = self.build.create(vector.ReductionOp, (self.value,), i1, kind=kind, fastmath=NO_FLAGS)
        return V(self.build, value)

    def branch(self, then: Callable[[Build], V], orelse: V) -> V:
        """`then()` computed only if this condition (an i1) holds, else `orelse`."""
        build = self.build
        inner = Build(build.location)
        result = then(inner)
        inner.ops.append(scf.YieldOp.create(operands=(result.value,), location=build.location))
        other = Block([scf.YieldOp.create(operands=(orelse.value,), location=build.location)])
        regions = [Region(Block(inner.ops)), Region(other)]
        op = scf.IfOp.create(
            operands=(self.value,), result_types=(orelse.value.type,), regions=regions, location=build.location
        )
        build.ops.append(op)
        return V(build, op.results[0])


_CMPI = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_CMPF = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip


def _wrapped(value: int, width: int) -> int:
    """The signed integer of this width with the same bits."""
    return (value + 2 ** (width - 1)) % 2**width - 2 ** (width - 1)


def float_bits(value: float, wide: bool) -> int:
    """The bits of a number as f64 (`wide`) or f32."""
    return struct.unpack("<q" if wide else "<i", struct.pack("<d" if wide else "<f", value))[0]
