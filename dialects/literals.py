"""How dense tensors and float arrays are written as text, so that every bit survives: -0.0, infinities, NaN payloads.

xDSL 0.75 takes a tensor of 0.0 and -0.0 for a splat and drops the payload of a NaN when it prints, and reads a
hexadecimal element as an integer. Importing this module corrects the printing of every printer of the process;
`literal_bytes` is the reading, used by `lowering/ir_text.py`.
"""

from __future__ import annotations

import math
import re
from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    i1,
)
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

HEX_ELEMENTS = 100
"""A tensor of more elements than this is printed as the hexadecimal digits of its bytes, as MLIR does."""

_HEX = re.compile(r"0[xX][0-9a-fA-F]+")


def float_literal_bytes(text: str, type_: AnyFloat) -> bytes:
    """The bytes of a float written as a decimal number, or as `0x` and its bit pattern.

    Raises VerifyException for a bit pattern or a number that the type cannot hold.
    """
    if _HEX.fullmatch(text):
        bits = int(text, 16)
        if bits.bit_length() > type_.bitwidth:
            raise VerifyException(f"the bit pattern {text} does not fit {type_}, which has {type_.bitwidth} bits")
        return bits.to_bytes(type_.compile_time_size, "little")
    if text.lstrip("-")[:2].lower() == "0x":
        raise VerifyException(f"a float's bit pattern has no minus sign: set its sign bit instead of writing {text}")
    value = float(text)
    try:
        packed = type_.pack([value])
    except OverflowError:
        packed = None
    if packed is None or (math.isinf(type_.unpack(packed, 1)[0]) and not math.isinf(value)):
        raise VerifyException(f"{text} is out of the range of {type_}; write infinity as its bit pattern")
    return packed


def integer_literal(text: str, type_: IntegerType | IndexType) -> int:
    """The value of an integer literal; raises VerifyException where the type cannot hold it."""
    if text in ("true", "false"):
        if type_ != i1:
            raise VerifyException(f"'{text}' is a value of i1, not of {type_}")
        text = str(int(text == "true"))
    try:
        value = int(text, 16 if text.lstrip("-")[:2].lower() == "0x" else 10)
    except ValueError:
        raise VerifyException(f"expected an integer of type {type_}, but found {text}") from None
    if isinstance(type_, IntegerType):
        low, high = type_.value_range()
        if not low <= value < high:
            raise VerifyException(f"{text} is out of the range of {type_}, {low} to {high - 1}")
        return type_.get_normalized_value(value)
    return value


def literal_bytes(text: str, type_: Any) -> bytes:
    """The stored bytes of one element of a dense literal; raises VerifyException where the type cannot hold it."""
    if isinstance(type_, AnyFloat):
        if text in ("true", "false"):
            raise VerifyException(f"expected a number of type {type_}, but found {text}")
        return float_literal_bytes(text, type_)
    return type_.pack([integer_literal(text, type_)])


def _print_element(printer: Printer, raw: bytes, type_: Any) -> None:
    (value,) = type_.unpack(raw, 1)
    if isinstance(type_, AnyFloat):
        if math.isnan(value):
            printer.print_string(f"0x{raw[::-1].hex()}")
        else:
            printer.print_float(value, type_)
    elif isinstance(type_, ComplexType):
        printer.print_complex(value, cast(Any, type_))
    else:
        printer.print_int(value, type_)


def _print_nested(printer: Printer, raw: bytes, shape: tuple[int, ...], type_: Any) -> None:
    if not shape:
        _print_element(printer, raw, type_)
        return
    step = len(raw) // shape[0]
    with printer.in_square_brackets():
        printer.print_list(
            range(0, len(raw), step), lambda at: _print_nested(printer, raw[at : at + step], shape[1:], type_)
        )


def print_dense(self: DenseIntOrFPElementsAttr[Any], printer: Printer) -> None:
    """Prints `dense<...>` without the type, from the stored bytes."""
    raw, type_ = self.data.data, self.get_element_type()
    size = type_.compile_time_size
    printer.print_string("dense")
    with printer.in_angle_brackets():
        if not raw:
            return
        if raw == raw[:size] * (len(raw) // size):
            _print_element(printer, raw[:size], type_)
        elif len(raw) // size > HEX_ELEMENTS and type_ != i1:  # MLIR's digits of an i1 tensor are packed bits
            printer.print_string(f'"0x{raw.hex().upper()}"')
        else:
            _print_nested(printer, raw, self.get_shape() if self.shape_is_complete else (len(self),), type_)


def print_array(self: DenseArrayBase[Any], printer: Printer) -> None:
    """Prints `array<f32: ...>`, from the stored bytes."""
    raw, type_ = self.data.data, self.elt_type
    printer.print_string("array")
    with printer.in_angle_brackets():
        printer.print_attribute(type_)
        if raw:
            printer.print_string(": ")
            step = type_.size
            printer.print_list(range(0, len(raw), step), lambda at: _print_element(printer, raw[at : at + step], type_))


def _is_splat(self: DenseIntOrFPElementsAttr[Any]) -> bool:
    raw, size = self.data.data, self.get_element_type().compile_time_size
    return bool(raw) and raw == raw[:size] * (len(raw) // size)


DenseIntOrFPElementsAttr.print_without_type = print_dense
DenseIntOrFPElementsAttr.is_splat = _is_splat
DenseArrayBase.print_builtin = print_array
