"""The values of operators' attributes: from and to IR attributes, printed and parsed, by the type that is declared.

A type is int, float, bool, str, a tuple of these, or Attribute for an element type.
"""

from __future__ import annotations

import types as python_types
import typing
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


def unwrap(hint: Any) -> tuple[Any, bool]:
    """The type without `| None`, and whether None was in it."""
    if isinstance(hint, python_types.UnionType) or typing.get_origin(hint) is typing.Union:
        rest = [arg for arg in typing.get_args(hint) if arg is not type(None)]
        return rest[0], True
    return hint, False


def encode(value: Any, hint: Any) -> Attribute:
    """The IR attribute of an attribute value of the declared type."""
    if hint is bool:
        return IntegerAttr(int(value), i1)
    if hint is int:
        return IntegerAttr(value, i64)
    if hint is float:
        return FloatAttr(float(value), f64)
    if hint is str:
        return StringAttr(value)
    if typing.get_origin(hint) is tuple:
        item = typing.get_args(hint)[0]
        if item is int:
            return DenseArrayBase.from_list(i64, list(value))
        if item is float:
            return DenseArrayBase.from_list(f64, [float(v) for v in value])
        return ArrayAttr([encode(v, item) for v in value])
    return cast(Attribute, value)


def decode(attribute: Attribute, hint: Any) -> Any:
    """The attribute value of the declared type; raises VerifyException for an IR attribute of another kind."""
    match attribute:
        case IntegerAttr() if hint is bool and attribute.type == i1:
            return bool(attribute.value.data)
        case IntegerAttr() if hint is int and attribute.type == i64:
            return attribute.value.data
        case FloatAttr() if hint is float:
            return attribute.value.data
        case StringAttr() if hint is str:
            return attribute.data
        case DenseArrayBase() if typing.get_origin(hint) is tuple:
            return _numbers(attribute)
        case ArrayAttr() if typing.get_origin(hint) is tuple:
            item = typing.get_args(hint)[0]
            return tuple(decode(v, item) for v in attribute.data)
        case TypeAttribute() if hint is Attribute:
            return attribute
        case _:
            raise VerifyException(f"expected a value of type {_describe(hint)}, but found {attribute}")


def _numbers(array: Attribute) -> tuple[int | float, ...]:
    return tuple(cast(Any, array).get_values())


def _describe(hint: Any) -> str:
    if hint is Attribute:
        return "element type"
    if typing.get_origin(hint) is tuple:
        return f"list of {_describe(typing.get_args(hint)[0])}"
    return cast(str, hint.__name__)


def print_value(printer: Printer, attribute: Attribute | None) -> None:
    """Prints a value as the operators' syntax has it: `[1, 2]`, `0.5`, `none`."""
    match attribute:
        case None:
            printer.print_string("none")
        case IntegerAttr():
            printer.print_int(attribute.value.data, cast(Any, attribute.type))
        case FloatAttr():
            printer.print_string(_float_literal(attribute.value.data))
        case DenseArrayBase():
            with printer.in_square_brackets():
                printer.print_list(
                    _numbers(attribute),
                    lambda v: printer.print_string(str(v) if isinstance(v, int) else _float_literal(v)),
                )
        case ArrayAttr():
            with printer.in_square_brackets():
                printer.print_list(attribute.data, lambda v: print_value(printer, v))
        case _:
            printer.print_attribute(attribute)


def _float_literal(value: float) -> str:
    text = repr(value)
    if "e" in text and "." not in text:
        text = text.replace("e", ".0e")
    return text


def parse_value(parser: Parser, hint: Any) -> Any:
    """Parses a value of a declared type."""
    if hint is bool:
        return parser.parse_boolean()
    if hint is int:
        return parser.parse_integer(allow_boolean=False)
    if hint is float:
        return _parse_float(parser)
    if hint is str:
        return parser.parse_str_literal()
    if typing.get_origin(hint) is tuple:
        item = typing.get_args(hint)[0]
        return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_value(parser, item)))
    return parser.parse_type()


def _parse_float(parser: Parser) -> float:
    negative = parser.parse_optional_punctuation("-") is not None
    for word in ("inf", "nan"):
        if parser.parse_optional_keyword(word):
            return -float(word) if negative else float(word)
    value = float(parser.parse_number(allow_boolean=False))
    return -value if negative else value
