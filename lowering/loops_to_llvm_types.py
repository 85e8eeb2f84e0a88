"""What memrefs, indices and types become in loops-to-llvm: descriptions, and the llvm types that stand for them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    DenseArrayBase,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    UnitAttr,
    VectorType,
    i1,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.upstream.attributes import element_of, is_vector, lanes_of

PTR = llvm.LLVMPointerType()
ZERO_FLAGS = IntegerAttr(0, 32)
"""No promise about overflow."""


@dataclass(frozen=True, slots=True)
class Term:
    """A value times a factor, in an address."""

    value: SSAValue
    factor: int
    level: int
    """The scope in which the value is defined: 0 is the function."""


@dataclass(frozen=True, slots=True)
class Linear:
    """`constant + sum of terms`: an index or an offset, in elements."""

    constant: int = 0
    terms: tuple[Term, ...] = ()

    def plus(self, other: Linear) -> Linear:
        if not self.terms or not other.terms:
            return Linear(self.constant + other.constant, self.terms or other.terms)
        merged = {term.value: term for term in self.terms}
        for term in other.terms:
            if (mine := merged.get(term.value)) is not None:
                term = Term(term.value, term.factor + mine.factor, term.level)
            merged[term.value] = term
        return Linear(self.constant + other.constant, tuple(t for t in merged.values() if t.factor))

    def times(self, factor: int) -> Linear:
        if factor == 0:
            return Linear()
        return Linear(self.constant * factor, tuple(Term(t.value, t.factor * factor, t.level) for t in self.terms))


@dataclass(frozen=True, slots=True)
class MemRef:
    """A memref as values: the pointer to its first element, and the sizes and strides that its type does not state."""

    ptr: SSAValue
    level: int
    element: Attribute
    shape: tuple[int | SSAValue, ...]
    strides: tuple[int | SSAValue, ...]
    offset: Linear = Linear()
    """Added to the pointer, in elements: subviews only change this."""


Value = SSAValue | MemRef


@cache
def integer_attribute(value: int, type_: IntegerType) -> IntegerAttr[IntegerType]:
    """The attribute of a number; shared."""
    return IntegerAttr(value, type_)


SLT = IntegerAttr(2, i64)
"""The predicate `slt` of llvm.icmp."""


@cache
def _gep_properties(raw: int, element: Attribute, inbounds: bool) -> dict[str, Attribute]:
    properties: dict[str, Attribute] = {
        "rawConstantIndices": DenseArrayBase.from_list(i32, [raw]),
        "elem_type": element,
        "noWrapFlags": IntegerAttr(1 if inbounds else 0, 32),
    }
    if inbounds:
        properties["inbounds"] = UnitAttr()
    return properties


def get_element_ptr(pointer: SSAValue, index: SSAValue | int, element: Attribute, inbounds: bool) -> llvm.GEPOp:
    """`pointer + index`, counted in elements."""
    raw = index if isinstance(index, int) else llvm.GEP_USE_SSA_VAL
    properties = _gep_properties(raw, element, inbounds)
    operands = [pointer] if isinstance(index, int) else [pointer, index]
    return llvm.GEPOp.create(operands=operands, result_types=(PTR,), properties=properties)


@cache
def convert_type(type_: Attribute) -> Attribute:
    """The llvm type of a scalar, vector or memref type; raises VerifyException for one that has none."""
    match type_:
        case IndexType():
            return i64
        case BFloat16Type():
            return i16
        case IntegerType() | Float16Type() | Float32Type() | Float64Type() | llvm.LLVMPointerType():
            return type_
        case VectorType():
            element = convert_type(element_of(type_))
            if type_.get_num_dims() != 1 or type_.get_num_scalable_dims():
                raise VerifyException(f"{type_}: vectors have one dimension of known size here")
            return VectorType(element, type_.shape)
        case _:
            raise VerifyException(f"type {type_} has no counterpart in LLVM")


@cache
def array_type(size: int, element: Attribute) -> llvm.LLVMArrayType:
    """An array type; shared."""
    return llvm.LLVMArrayType(size, element)


def flat_types(type_: Attribute) -> list[Attribute]:
    """The types of the values that stand for one: for a memref a pointer, then its unknown sizes and strides."""
    if not isinstance(type_, MemRefType):
        return [convert_type(type_)]
    memref = cast("MemRefType[Attribute]", type_)
    check_memref(memref)
    unknown = memref.get_shape().count(DYNAMIC_INDEX) + sum(passed_strides(memref))
    return [PTR, *([i64] * unknown)]


def check_memref(type_: MemRefType[Attribute]) -> None:
    """Raises VerifyException for a memref that has no pointer form."""
    if type_.element_type == i1:
        raise VerifyException(f"{type_}: an i1 has no place in memory; bool is stored as i8")
    if not isinstance(type_.memory_space, NoneAttr):
        raise VerifyException(f"{type_}: memory spaces are for devices")
    convert_type(type_.element_type)


def static_strides(type_: MemRefType[Attribute]) -> list[int | None]:
    """The strides that the type states, None for each that is known at run time only."""
    strides = type_.get_strides()
    if strides is None:
        raise VerifyException(f"{type_}: the layout is not strided")
    return [None if stride == DYNAMIC_INDEX else stride for stride in strides]


def passed_strides(type_: MemRefType[Attribute]) -> list[bool]:
    """Which strides are values of their own: those of an explicit layout that the type does not state."""
    strides = static_strides(type_)
    return [False] * len(strides) if isinstance(type_.layout, NoneAttr) else [stride is None for stride in strides]


def element_bytes(element: Attribute) -> int:
    """The size of an element in memory."""
    converted = convert_type(element)
    if isinstance(converted, llvm.LLVMPointerType):
        return 8
    if is_vector(converted):
        return element_bytes(element_of(converted)) * lanes_of(converted)
    assert isinstance(converted, IntegerType | Float16Type | Float32Type | Float64Type)
    return -(-converted.bitwidth // 8)
