"""Upstream's syntax for memref.global, copy and cast, which xDSL prints in the generic form.

    memref.global "private" constant @table : memref<2xf32> = dense<[1.0, 2.0]> {alignment = 64 : i64}
    memref.copy %a, %b : memref<4xf32> to memref<4xf32>
    %c = memref.cast %a : memref<4xf32> to memref<?xf32>

Importing this module teaches it to xDSL's own classes.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.dialects.memref import CastOp, CopyOp, GlobalOp, MemRef
from xdsl.ir import Attribute, Operation
from xdsl.irdl.operations import OptPropertyDef
from xdsl.parser import Parser
from xdsl.printer import Printer

__all__ = ["MEMREF", "CastOp", "CopyOp", "GlobalOp"]


def _print_global(op: GlobalOp, printer: Printer) -> None:
    # Upstream has no visibility keyword for a public global.
    visibility = op.properties.get("sym_visibility")
    if isinstance(visibility, StringAttr) and visibility.data != "public":
        printer.print_string(f' "{visibility.data}"')
    if op.constant is not None:
        printer.print_string(" constant")
    printer.print_string(" ")
    printer.print_symbol_name(op.sym_name.data)
    printer.print_string(" : ")
    type_ = op.properties["type"]
    printer.print_attribute(type_)
    value = op.properties.get("initial_value")
    if isinstance(value, UnitAttr):
        printer.print_string(" = uninitialized")
    elif value is not None:
        printer.print_string(" = ")
        if isinstance(value, DenseIntOrFPElementsAttr):
            value.print_without_type(printer)
        else:
            printer.print_attribute(value)
    attributes = dict(op.attributes)
    if op.alignment is not None:
        attributes["alignment"] = op.alignment
    printer.print_op_attributes(attributes)


def _parse_global(cls: type[GlobalOp], parser: Parser) -> GlobalOp:
    properties: dict[str, Attribute] = {"sym_visibility": StringAttr(parser.parse_optional_str_literal() or "public")}
    if parser.parse_optional_keyword("constant"):
        properties["constant"] = UnitAttr()
    properties["sym_name"] = parser.parse_symbol_name()
    parser.parse_punctuation(":")
    type_ = parser.parse_type()
    if not isinstance(type_, MemRefType):
        parser.raise_error("expected a memref type")
    memref = cast("MemRefType[Attribute]", type_)
    properties["type"] = memref
    if parser.parse_optional_punctuation("="):
        if parser.parse_optional_keyword("uninitialized"):
            properties["initial_value"] = UnitAttr()
        else:
            tensor: TensorType[Any] = TensorType(memref.element_type, memref.shape)
            properties["initial_value"] = _parse_value(parser, tensor)
    attributes = parser.parse_optional_attr_dict()
    if (alignment := attributes.pop("alignment", None)) is not None:
        properties["alignment"] = alignment
    return cls.create(properties=properties, attributes=attributes)


def _parse_value(parser: Parser, type_: TensorType[Any]) -> Attribute:
    if not type_.get_shape():
        value = parser.parse_attribute()
        if isinstance(value, IntegerAttr | FloatAttr):
            return DenseIntOrFPElementsAttr.from_list(type_, [value.value.data])
        return value
    parser.parse_keyword("dense")
    return parser.parse_dense_int_or_fp_elements_attr(type_)


def _print_conversion(op: Operation, printer: Printer, source: Attribute, target: Attribute) -> None:
    printer.print_string(" ")
    printer.print_list(op.operands, printer.print_ssa_value)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_attribute(source)
    printer.print_string(" to ")
    printer.print_attribute(target)


def _print_copy(op: CopyOp, printer: Printer) -> None:
    _print_conversion(op, printer, op.source.type, op.destination.type)


def _print_cast(op: CastOp, printer: Printer) -> None:
    _print_conversion(op, printer, op.source.type, op.dest.type)


def _parse_types(parser: Parser) -> tuple[dict[str, Attribute], Attribute, Attribute]:
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    source = parser.parse_type()
    parser.parse_characters("to")
    return attributes, source, parser.parse_type()


def _parse_copy(cls: type[CopyOp], parser: Parser) -> CopyOp:
    names = [parser.parse_unresolved_operand()]
    parser.parse_punctuation(",")
    names.append(parser.parse_unresolved_operand())
    attributes, source, target = _parse_types(parser)
    operands = parser.resolve_operands(names, [source, target], parser.pos)
    return cls.create(operands=operands, attributes=attributes)


def _parse_cast(cls: type[CastOp], parser: Parser) -> CastOp:
    name = parser.parse_unresolved_operand()
    attributes, source, target = _parse_types(parser)
    operand = parser.resolve_operand(name, source)
    return cls.create(operands=[operand], result_types=[target], attributes=attributes)


def _install() -> None:
    table: list[tuple[Any, Any, Any]] = [
        (GlobalOp, _print_global, _parse_global),
        (CopyOp, _print_copy, _parse_copy),
        (CastOp, _print_cast, _parse_cast),
    ]
    # A global that is defined elsewhere has no value.
    properties = GlobalOp.get_irdl_definition().properties
    properties["initial_value"] = OptPropertyDef(properties["initial_value"].constr)
    for cls, print_, parse in table:
        cls.print, cls.parse = print_, classmethod(parse)


_install()

MEMREF = MemRef
"""The memref dialect."""
