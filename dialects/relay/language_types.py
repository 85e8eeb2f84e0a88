"""Types of the relay language beyond tensors and tuples: data types, references, type variables, holes, polymorphism.

    !relay.adt<@List<tensor<f32>>>     a value of a declared data type, with its type arguments
    !relay.ref<tensor<f32>>            a mutable cell
    !relay.type_var<A>                 a type variable, bound by the function or declaration around it
    !relay.poly<[A], (A) -> A>         a polymorphic function type; a plain one is builtin's `(T) -> U`
    !relay.incomplete                  a hole that type inference fills; each occurrence stands for a type of its own

A tuple type is builtin's `tuple<...>`; the unit type is `tuple<>`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, FlatSymbolRefAttrConstr, FunctionType, StringAttr, SymbolRefAttr, TupleType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


def parse_names(parser: AttrParser, delimiter: AttrParser.Delimiter) -> list[str]:
    """A list of bare names."""
    return parser.parse_comma_separated_list(delimiter, parser.parse_identifier)


@irdl_attr_definition
class ADTType(ParametrizedAttribute, TypeAttribute):
    """`!relay.adt<@List<tensor<f32>>>`: a value of a declared data type (Relay's TypeCall)."""

    name = "relay.adt"
    symbol: SymbolRefAttr = param_def(FlatSymbolRefAttrConstr)
    arguments: ArrayAttr[Attribute] = param_def()

    def __init__(self, symbol: str | SymbolRefAttr, arguments: Sequence[Attribute] = ()):
        super().__init__(SymbolRefAttr(symbol) if isinstance(symbol, str) else symbol, ArrayAttr(arguments))

    @property
    def adt_name(self) -> str:
        """The name of the declaration."""
        return self.symbol.string_value()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            symbol = SymbolRefAttr(parser.parse_symbol_name())
            arguments = parser.parse_optional_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_type)
            return [symbol, ArrayAttr(arguments or [])]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_symbol_name(self.adt_name)
            if self.arguments.data:
                with printer.in_angle_brackets():
                    printer.print_list(self.arguments, printer.print_attribute)


@irdl_attr_definition
class RefType(ParametrizedAttribute, TypeAttribute):
    """`!relay.ref<T>`: a mutable cell that holds a T."""

    name = "relay.ref"
    content: Attribute = param_def()


@irdl_attr_definition
class TypeVarType(ParametrizedAttribute, TypeAttribute):
    """`!relay.type_var<A>`: a type variable of kind Type."""

    name = "relay.type_var"
    var: StringAttr = param_def()

    def __init__(self, var: str | StringAttr):
        super().__init__(StringAttr(var) if isinstance(var, str) else var)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_identifier())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.var.data)


@irdl_attr_definition
class IncompleteType(ParametrizedAttribute, TypeAttribute):
    """`!relay.incomplete`: a hole; type inference fills it."""

    name = "relay.incomplete"


@irdl_attr_definition
class PolyType(ParametrizedAttribute, TypeAttribute):
    """`!relay.poly<[A, B], (A) -> B>`: a function type with type parameters."""

    name = "relay.poly"
    parameters_: ArrayAttr[StringAttr] = param_def()
    body: FunctionType = param_def()

    def __init__(self, parameters: Sequence[str] | ArrayAttr[StringAttr], body: FunctionType):
        names = parameters if isinstance(parameters, ArrayAttr) else ArrayAttr([StringAttr(p) for p in parameters])
        super().__init__(names, body)

    @property
    def type_parameters(self) -> tuple[str, ...]:
        return tuple(name.data for name in self.parameters_)

    def verify(self) -> None:
        if not self.parameters_.data or len(set(self.type_parameters)) != len(self.type_parameters):
            raise VerifyException("a polymorphic type needs type parameters, each with a name of its own")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            names = parse_names(parser, parser.Delimiter.SQUARE)
            parser.parse_punctuation(",")
            position = parser.pos
            body = parser.parse_type()
            if not isinstance(body, FunctionType):
                parser.raise_error(f"expected a function type, but found {body}", position)
            return [ArrayAttr([StringAttr(name) for name in names]), body]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            with printer.in_square_brackets():
                printer.print_list(self.type_parameters, printer.print_string)
            printer.print_string(", ")
            printer.print_attribute(self.body)


UNIT = TupleType(())
"""The type of a value without content."""


def map_type(type_: Attribute, change: Callable[[Attribute], Attribute | None]) -> Attribute:
    """A type with each part that `change` gives a replacement for replaced, from the outside inwards."""
    found = change(type_)
    if found is not None:
        return found
    match type_:
        case TupleType():
            return TupleType(tuple(cast(TypeAttribute, map_type(field, change)) for field in type_.types))
        case FunctionType():
            return FunctionType.from_lists(
                [map_type(t, change) for t in type_.inputs], [map_type(t, change) for t in type_.outputs]
            )
        case ADTType():
            return ADTType(type_.symbol, [map_type(t, change) for t in type_.arguments])
        case RefType():
            return RefType(map_type(type_.content, change))
        case PolyType():
            bound = type_.type_parameters

            def inside(part: Attribute) -> Attribute | None:
                return part if isinstance(part, TypeVarType) and part.var.data in bound else change(part)

            return PolyType(type_.parameters_, cast(FunctionType, map_type(type_.body, inside)))
        case _:
            return type_


def substitute(type_: Attribute, values: Mapping[str, Attribute]) -> Attribute:
    """A type with type variables replaced."""
    return map_type(type_, lambda t: values.get(t.var.data) if isinstance(t, TypeVarType) else None)


def parts(type_: Attribute) -> list[Attribute]:
    """The type and every type in it."""
    found: list[Attribute] = []

    def visit(part: Attribute) -> None:
        found.append(part)

    map_type(type_, visit)
    return found


def is_complete(type_: Attribute) -> bool:
    """Whether a type has no hole."""
    return not any(isinstance(part, IncompleteType) for part in parts(type_))


LANGUAGE_TYPES: list[type[Attribute]] = [ADTType, RefType, TypeVarType, IncompleteType, PolyType]
