"""Calls of operators as Relay text."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    NoneAttr,
    StringAttr,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.op import Operator, RelayOp, attribute_fields
from relay_mlir.dialects.relay.types import numpy_dtype
from relay_mlir.dialects.upstream.attributes import integers
from relay_mlir.frontends.relay_text.attrs import converted, hints_of, unwrapped
from relay_mlir.frontends.relay_text.literals import attribute_float_text, scalar_text
from relay_mlir.frontends.relay_text.metadata_writer import Constants
from relay_mlir.frontends.relay_text.op_table import Form, form
from relay_mlir.frontends.relay_text.type_printer import dtype_text


def value_text(value: Any) -> str:
    """The value of an attribute."""
    match value:
        case None:
            return "None"
        case bool():
            return str(value)
        case int():
            return str(value) if -(2**31) <= value < 2**31 else f"{value}i64"
        case float():
            return attribute_float_text(value)
        case str():
            if '"' in value:
                raise VerifyException(f"Relay text has no string with a quotation mark: {value}")
            return f'"{value}"'
        case list() | tuple():
            return f"[{', '.join(map(value_text, typing.cast('list[Any]', value)))}]"
        case _:
            return f'"{dtype_text(value)}"'


def attribute_text(attribute: Attribute) -> str:
    """A discardable attribute; raises VerifyException for one that Relay text cannot hold."""
    match attribute:
        case IntegerAttr():
            return str(bool(attribute.value.data)) if str(attribute.type) == "i1" else value_text(attribute.value.data)
        case FloatAttr():
            return value_text(attribute.value.data)
        case StringAttr():
            return value_text(attribute.data)
        case NoneAttr():
            return "None"
        case ArrayAttr():
            return f"[{', '.join(map(attribute_text, attribute))}]"
        case DenseArrayBase():
            return value_text(list(integers(attribute)))
        case _:
            raise VerifyException(f"Relay text cannot hold the attribute {attribute}")


def dictionary_texts(attribute: Attribute) -> list[str]:
    """The entries of a dictionary as `name=value`."""
    if not isinstance(attribute, DictionaryAttr):
        raise VerifyException(f"expected a dictionary of attributes, but found {attribute}")
    return [f"{name}={attribute_text(value)}" for name, value in attribute.data.items()]


def call_text(op: RelayOp, operands: list[str], constants: Constants) -> str:
    """The call of an operator on operands that are written so."""
    operator, name = op.operator, type(op).OPERATOR.name
    how = form(name)
    arguments = list(operands)
    if operator.operands and operator.operands[-1].endswith("*"):
        first = len(operator.operands) - 1
        fields = operands[first:]
        arguments[first:] = [f"({fields[0]},)" if len(fields) == 1 else f"({', '.join(fields)})"]
    extra: list[str] = []
    for position, attribute in how.operand_attributes:
        text, reference = _operand_attribute(operator, attribute, constants)
        arguments.insert(position, text)
        if name == "arange":  # TVM wants them as attributes too
            extra.append(f"{attribute}={reference}")
    return f"{name}({', '.join([*arguments, *extra, *_attribute_texts(operator, how)])})"


def _operand_attribute(operator: Operator, name: str, constants: Constants) -> tuple[str, str]:
    """The text of an attribute that is an operand in Relay, and a reference to it as a constant."""
    value = getattr(operator, name)
    dtype = numpy_dtype(getattr(operator, "dtype", None)) if hasattr(operator, "dtype") else np.dtype("int32")
    array = np.asarray(value, dtype)
    text = scalar_text(array)
    reference = constants.reference(array) if hasattr(operator, "dtype") or text is None else ""
    return text or reference, reference


def _attribute_texts(operator: Operator, how: Form) -> list[str]:
    """The attributes that differ from their defaults in Relay."""
    hints = hints_of(type(operator))
    operands = {name for _, name in how.operand_attributes}
    texts: list[str] = []
    for name, field in attribute_fields(type(operator)).items():
        value = getattr(operator, name)
        default = field.default
        if name in how.defaults:
            default = converted(how.defaults[name], hints[name])
        if name in operands:
            continue
        if value != default or default is dataclasses.MISSING or name in how.required:
            if value is None and unwrapped(hints[name])[0] is Attribute:
                continue
            texts.append(f"{name}={value_text(value)}")
    if texts and how.attrs_key is not None:
        texts.append(f'attrs_type_key="{how.attrs_key}"')
    return texts
