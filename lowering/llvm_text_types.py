"""How LLVM IR text spells types, constants, names and flags of the llvm dialect."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from math import prod
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    VectorType,
)
from xdsl.ir import Attribute, Operation

from relay_mlir.dialects.errors import CompileError
from relay_mlir.dialects.upstream.attributes import element_of, integer, is_integer, is_vector, numbers, width_of

# Types.


def type_text(type_: Attribute) -> str:
    """A type as LLVM writes it."""
    found = _TYPES.get(type_)
    if found is None:
        found = _TYPES[type_] = _type_text(type_)
    return found


_TYPES: dict[Attribute, str] = {}
"""The types met so far: hashing one is cheaper than writing it."""


def _type_text(type_: Attribute) -> str:
    match type_:
        case IntegerType():
            return f"i{width_of(type_)}"
        case Float16Type():
            return "half"
        case Float32Type():
            return "float"
        case Float64Type():
            return "double"
        case llvm.LLVMPointerType():
            space = type_.addr_space
            return f"ptr addrspace({space.data})" if isinstance(space, IntAttr) and space.data else "ptr"
        case VectorType():
            if type_.get_num_dims() == 1 and not type_.get_num_scalable_dims():
                return f"<{type_.get_shape()[0]} x {type_text(element_of(type_))}>"
        case llvm.LLVMArrayType():
            return f"[{type_.size.data} x {type_text(type_.type)}]"
        case llvm.LLVMStructType() if not type_.struct_name.data:
            return "{ " + ", ".join(type_text(t) for t in type_.types) + " }"
        case llvm.LLVMVoidType():
            return "void"
        case _:
            pass
    raise CompileError(f"llvm-text: type {type_} has no counterpart")


def mangled(type_: Attribute) -> str:
    """A type in the name of an intrinsic."""
    match type_:
        case VectorType():
            return f"v{type_.get_shape()[0]}{mangled(element_of(type_))}"
        case llvm.LLVMPointerType():
            space = type_.addr_space
            return f"p{space.data if isinstance(space, IntAttr) else 0}"
        case IntegerType():
            return f"i{width_of(type_)}"
        case Float16Type() | Float32Type() | Float64Type():
            return f"f{type_.bitwidth}"
        case _:
            raise CompileError(f"llvm-text: no intrinsic of type {type_}")


# Constants.


def float_text(value: float, type_: Attribute) -> str:
    """A float constant, exact for every value: the bits of the double, of a half with the prefix 0xH."""
    if isinstance(type_, Float16Type):
        return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
    if isinstance(type_, Float32Type) and value == value:
        value = round_to_f32(value)
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def round_to_f32(value: float) -> float:
    """The nearest f32; what is beyond all of them becomes infinite."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _number(value: int | float, type_: Attribute) -> str:
    if is_integer(type_):
        return ("true" if value else "false") if width_of(type_) == 1 else str(int(value))
    return float_text(float(value), type_)


_ZEROS = ("0", "false", "0x0000000000000000", "0xH0000")
"""The numbers whose bits are all zero: not -0.0."""


def constant_text(value: Attribute, type_: Attribute) -> str:
    """A constant without its type."""
    match value:
        case IntegerAttr():
            return _number(integer(cast(Attribute, value)), type_)
        case FloatAttr():
            return _number(value.value.data, type_)
        case DenseIntOrFPElementsAttr() if is_vector(type_):
            element = element_of(type_)
            each = type_text(element)
            texts = [_number(v, element) for v in numbers(cast(Attribute, value))]
            if any(text != texts[0] for text in texts):
                return "<" + ", ".join(f"{each} {text}" for text in texts) + ">"
            return "zeroinitializer" if texts[0] in _ZEROS else f"splat ({each} {texts[0]})"
        case _:
            raise CompileError(f"llvm-text: constant {value} of type {type_} has no counterpart")


def global_text(op: llvm.GlobalOp) -> str:
    """The line of a global; its value is spelled as bytes."""
    known_properties(op, ("global_type", "sym_name", "linkage", "constant", "value", "alignment", "addr_space"))
    if op.attributes or op.body.blocks or (integer(op.addr_space) != 0):
        raise CompileError(f"llvm-text: llvm.mlir.global @{op.sym_name.data}: attributes or a body it does not know")
    kind = "constant" if op.constant is not None else "global"
    align = f", align {integer(op.alignment)}" if op.alignment is not None else ""
    linkage = op.linkage.linkage.data
    name = symbol_text(op.sym_name.data)
    if op.value is None:
        if linkage == "external":
            return f"{name} = external {kind} {type_text(op.global_type)}{align}"
        return f"{name} = {linkage} {kind} {type_text(op.global_type)} undef{align}"
    data = _bytes(op.value)
    prefix = "" if linkage == "external" else f"{linkage} "
    if not any(data):
        return f"{name} = {prefix}{kind} [{len(data)} x i8] zeroinitializer{align}"
    return f'{name} = {prefix}{kind} [{len(data)} x i8] c"{escaped(data)}"{align}'


def _bytes(value: Attribute) -> bytes:
    """The memory of a global's initial value."""
    match value:
        case StringAttr():
            return value.data.encode("latin-1")
        case DenseIntOrFPElementsAttr():
            element, data = cast(Attribute, value.get_element_type()), value.data.data
            if is_integer(element) and width_of(element) == 1:
                raise CompileError("llvm-text: a global of i1 has no defined memory")
            # A splat may store its one element.
            size = _element_bytes(element)
            return data * prod(cast("Sequence[int]", value.get_shape())) if len(data) == size else data
        case IntegerAttr():
            size = _element_bytes(cast("IntegerAttr[IntegerType]", value).type)
            return (integer(cast(Attribute, value)) % 2 ** (8 * size)).to_bytes(size, "little")
        case FloatAttr():
            code = {16: "<e", 32: "<f", 64: "<d"}[value.type.bitwidth]
            return struct.pack(code, value.value.data)
        case _:
            raise CompileError(f"llvm-text: a global's value {str(value)[:80]} has no counterpart")


def _element_bytes(element: Attribute) -> int:
    if isinstance(element, Float16Type | Float32Type | Float64Type):
        return element.bitwidth // 8
    return -(-width_of(element) // 8)


def escaped(data: bytes) -> str:
    """Bytes in the quotes of LLVM's text."""
    return "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in data)


def symbol_text(name: str) -> str:
    """A global name, quoted where it must be."""
    plain = name and not name[0].isdigit() and all(c.isascii() and (c.isalnum() or c in "-$._") for c in name)
    return f"@{name}" if plain else f'@"{escaped(name.encode())}"'


# Attributes.


def known_properties(op: Operation, known: Iterable[str]) -> None:
    """Raises CompileError for a property that the line would leave out."""
    for name in op.properties:
        if name not in known:
            raise CompileError(f"llvm-text: {op.name} at {op.location}: property {name} has no counterpart")


def flags_text(attribute: Attribute | None) -> str:
    """Fastmath flags, each followed by a space."""
    if attribute is None:
        return ""
    assert isinstance(attribute, llvm.FastMathAttr)
    names = [flag.value for flag in attribute.data]
    return "fast " if len(names) == 7 else "".join(f"{name} " for name in sorted(names))


OVERFLOW = ("", "nsw ", "nuw ", "nuw nsw ")
"""The text of overflow flags by their bits."""
