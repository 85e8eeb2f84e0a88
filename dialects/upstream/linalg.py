"""Upstream's syntax for linalg.generic of several results, which xDSL prints and cannot read.

    %max, %index = linalg.generic {indexing_maps = [#in, #out, #out], iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<2x3xf32>) outs(%a, %b : tensor<2xf32>, tensor<2xi64>) {
      ...
    } -> (tensor<2xf32>, tensor<2xi64>)

Importing this module teaches it to xDSL's own class.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, StringAttr
from xdsl.dialects.linalg import Linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser

__all__ = ["LINALG", "GenericOp"]


def _parse_generic(cls: type[GenericOp], parser: Parser) -> GenericOp:
    start = parser.pos
    given = parser.parse_optional_attr_dict()
    end = parser.pos
    maps, kinds = given.pop("indexing_maps", None), given.pop("iterator_types", None)
    doc, library_call = given.pop("doc", None), given.pop("library_call", None)
    if not isinstance(maps, ArrayAttr) or not all(isinstance(m, AffineMapAttr) for m in cast(ArrayAttr[Any], maps)):
        parser.raise_error("expected indexing_maps, a list of affine maps", start, end)
    if not isinstance(kinds, ArrayAttr):
        parser.raise_error("expected iterator_types, a list", start, end)
    if given:
        parser.raise_error(f"unknown attribute '{next(iter(given))}': others come after `attrs =`", start, end)
    iterators = [_iterator(parser, kind, start, end) for kind in cast(ArrayAttr[Attribute], kinds)]
    inputs, outputs = (_parse_operands(parser, keyword) for keyword in ("ins", "outs"))
    attributes: dict[str, Attribute] = {}
    if parser.parse_optional_keyword("attrs"):
        parser.parse_punctuation("=")
        attributes = parser.expect(parser.parse_optional_attr_dict, "expected a dictionary of attributes")
    body = parser.parse_region()
    types = _parse_results(parser) if parser.parse_optional_punctuation("->") else []
    strings = [value if isinstance(value, StringAttr) else None for value in (doc, library_call)]
    op = cls(inputs, outputs, body, cast(ArrayAttr[AffineMapAttr], maps), iterators, types, *strings)
    op.attributes |= attributes
    return op


def _iterator(parser: Parser, kind: Attribute, start: int, end: int) -> IteratorTypeAttr:
    """Upstream writes `"parallel"`, in the generic form `#linalg.iterator_type<parallel>`."""
    if isinstance(kind, IteratorTypeAttr):
        return kind
    if not isinstance(kind, StringAttr) or kind.data not in list(IteratorType):
        parser.raise_error(f"unknown iterator type {kind}", start, end)
    return IteratorTypeAttr(IteratorType(kind.data))


def _parse_operands(parser: Parser, keyword: str) -> list[SSAValue]:
    if not parser.parse_optional_keyword(keyword):
        return []
    position = parser.pos
    parser.parse_punctuation("(")
    names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    return list(parser.resolve_operands(names, types, position))


def _parse_results(parser: Parser) -> list[Attribute]:
    listed = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    if listed is not None:
        return list(listed)
    return list(parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type))


def _install() -> None:
    generic: Any = GenericOp
    generic.parse = classmethod(_parse_generic)


_install()

LINALG = Linalg
"""The linalg dialect."""
