"""Patterns of `relay.match`: wildcard, variable, constructor, tuple; they nest.

    case @Cons(%x: tensor<f32>, @Nil) { ... }     case (%a: tensor<f32>, _) { ... }     case _ { ... }

The variables of a pattern, from left to right, are the arguments of the block of its case.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, FlatSymbolRefAttrConstr, SymbolRefAttr
from xdsl.ir import Attribute, BlockArgument, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer


class MatchPattern(ParametrizedAttribute):
    """A pattern of a case."""

    def variables(self) -> int:
        """How many variables it binds."""
        return 0


@irdl_attr_definition
class WildcardPattern(MatchPattern):
    """`_`: matches everything and binds nothing."""

    name = "relay.pattern_wildcard"


@irdl_attr_definition
class VarPattern(MatchPattern):
    """`%x: T`: matches everything and binds it; the type is that of the block argument."""

    name = "relay.pattern_var"

    def variables(self) -> int:
        return 1


@irdl_attr_definition
class ConstructorPattern(MatchPattern):
    """`@Cons(p, q)`: matches a value made by the constructor whose fields match."""

    name = "relay.pattern_constructor"
    constructor: SymbolRefAttr = param_def(FlatSymbolRefAttrConstr)
    fields: ArrayAttr[MatchPattern] = param_def()

    def __init__(self, constructor: str | SymbolRefAttr, fields: Sequence[MatchPattern] = ()):
        symbol = SymbolRefAttr(constructor) if isinstance(constructor, str) else constructor
        super().__init__(symbol, ArrayAttr(fields))

    def variables(self) -> int:
        return sum(field.variables() for field in self.fields)


@irdl_attr_definition
class TuplePattern(MatchPattern):
    """`(p, q)`: matches a tuple whose fields match."""

    name = "relay.pattern_tuple"
    fields: ArrayAttr[MatchPattern] = param_def()

    def __init__(self, fields: Sequence[MatchPattern] | ArrayAttr[MatchPattern]):
        super().__init__(fields if isinstance(fields, ArrayAttr) else ArrayAttr(fields))

    def variables(self) -> int:
        return sum(field.variables() for field in self.fields)


def parse_pattern(parser: Parser, arguments: list[Parser.Argument]) -> MatchPattern:
    """A pattern; the variables it binds are appended to `arguments`."""
    if parser.parse_optional_keyword("_"):
        return WildcardPattern()
    if (name := parser.parse_optional_symbol_name()) is not None:
        fields = parser.parse_optional_comma_separated_list(
            AttrParser.Delimiter.PAREN, lambda: parse_pattern(parser, arguments)
        )
        return ConstructorPattern(name.data, fields or [])
    fields = parser.parse_optional_comma_separated_list(
        AttrParser.Delimiter.PAREN, lambda: parse_pattern(parser, arguments)
    )
    if fields is not None:
        return TuplePattern(fields)
    arguments.append(parser.parse_argument())
    return VarPattern()


def print_pattern(printer: Printer, pattern: MatchPattern, arguments: list[BlockArgument]) -> None:
    """Prints a pattern; takes the block arguments it binds from the front of `arguments`."""
    match pattern:
        case VarPattern():
            printer.print_block_argument(arguments.pop(0))
        case ConstructorPattern():
            printer.print_symbol_name(pattern.constructor.string_value())
            if pattern.fields.data:
                _print_fields(printer, pattern.fields, arguments)
        case TuplePattern():
            _print_fields(printer, pattern.fields, arguments)
        case _:
            printer.print_string("_")


def _print_fields(printer: Printer, fields: ArrayAttr[MatchPattern], arguments: list[BlockArgument]) -> None:
    with printer.in_parens():
        printer.print_list(fields, lambda field: print_pattern(printer, field, arguments))


PATTERNS: list[type[Attribute]] = [WildcardPattern, VarPattern, ConstructorPattern, TuplePattern]
