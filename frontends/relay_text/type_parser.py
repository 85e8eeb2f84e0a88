"""Types and patterns of Relay text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar, cast

from xdsl.dialects.builtin import FunctionType, IntegerType, Signedness, TensorType, TupleType, VectorType
from xdsl.ir import Attribute, TypeAttribute

from relay_mlir.dialects.relay.language_types import ADTType, IncompleteType, PolyType, RefType, TypeVarType
from relay_mlir.dialects.relay.patterns import (
    ConstructorPattern,
    MatchPattern,
    TuplePattern,
    VarPattern,
    WildcardPattern,
)
from relay_mlir.dialects.relay.types import ANY, ELEMENT_TYPES
from relay_mlir.frontends.relay_text.cursor import Cursor
from relay_mlir.frontends.relay_text.lexer import Kind, Token
from relay_mlir.frontends.relay_text.literals import Scalar, parse_number
from relay_mlir.frontends.relay_text.syntax import Var

_T = TypeVar("_T")
_INTEGER = re.compile(r"(u?)int(\d+)")


def dtype(name: str) -> Attribute | None:
    """The element type that Relay calls so (`float32`, `int8x4`), or None."""
    base, lanes_follow, lanes = name.partition("x")
    element = ELEMENT_TYPES.get(base + "32" if base in ("int", "uint", "float") else base)
    if element is None and (match := _INTEGER.fullmatch(base)) is not None and 0 < int(match.group(2)) <= 64:
        element = IntegerType(int(match.group(2)), Signedness.UNSIGNED if match.group(1) else Signedness.SIGNLESS)
    if element is None or not lanes_follow:
        return element
    return VectorType(element, [int(lanes)]) if lanes.isdigit() and 1 < int(lanes) < 2**16 else None


class TypeParser(Cursor):
    """Reads types and patterns."""

    def sequence(self, opening: str, closing: str, read: Callable[[], _T]) -> list[_T]:
        """Elements between brackets, separated by commas; the last may be followed by one."""
        self.expect(opening)
        found: list[_T] = []
        while not self.accept(closing):
            found.append(read())
            if not self.accept(",") and not self.at(closing):
                self.refuse(f"`,` or `{closing}`")
        return found

    # Types

    def parse_type(self) -> Attribute:
        """A type."""
        self.deeper()
        token = self.token
        if self.at("("):
            type_: Attribute = TupleType(
                tuple(cast(TypeAttribute, t) for t in self.sequence("(", ")", self.parse_type))
            )
        elif self.accept("fn"):
            type_ = self._function_type()
        elif self.accept("ref"):
            self.expect("(")
            type_ = RefType(self.parse_type())
            self.expect(")")
        elif token.kind is Kind.NAME:
            type_ = self._named_type(self.take())
        else:
            self.refuse("a type")
        self.less_deep()
        return type_

    def _function_type(self) -> Attribute:
        names = self.type_parameters()
        inputs = self.sequence("(", ")", self.parse_type)
        self.expect("->")
        function = FunctionType.from_lists(inputs, [self.parse_type()])
        parameters = list(self.type_variables.pop().values())
        return PolyType(parameters, function) if names else function

    def type_parameters(self) -> list[str]:
        """`[A, B]`, if it is there; opens the scope of these type variables."""
        scope: dict[str, str] = {}
        self.type_variables.append(scope)

        def read() -> None:
            token = self.expect_kind(Kind.NAME)
            if token.text in scope:
                self.error(f"the type parameter `{token.text}` is given twice", token)
            scope[token.text] = self._fresh(token.text)

        if self.at("["):
            self.sequence("[", "]", read)
        return list(scope.values())

    def _fresh(self, name: str) -> str:
        """A name that no enclosing type variable has."""
        taken = {used for scope in self.type_variables for used in scope.values()}
        number, fresh = 0, name
        while fresh in taken:
            number += 1
            fresh = f"{name}{number}"
        return fresh

    def _named_type(self, token: Token) -> Attribute:
        name = token.text
        if name == "_":
            return IncompleteType()
        if name == "Tensor":
            return self._tensor_type()
        for scope in reversed(self.type_variables):
            if name in scope:
                return TypeVarType(scope[name])
        if name in self.names.types:
            return self._adt_type(token)
        if name.startswith(("int", "uint", "float", "bool", "bfloat")):
            return TensorType(self._dtype(token), [])
        self.unknown("undefined type", name, self.names.types, token)

    def _adt_type(self, token: Token) -> Attribute:
        arguments = self.sequence("[", "]", self.parse_type) if self.at("[") else []
        arity = self.names.types[token.text]
        if len(arguments) != arity:
            plural = "" if arity == 1 else "s"
            self.error(f"type `{token.text}` takes {arity} type argument{plural}, but has {len(arguments)}", token)
        return ADTType(token.text, arguments)

    def _dtype(self, token: Token) -> Attribute:
        element = dtype(token.text)
        if element is None:
            self.unknown("unknown dtype", token.text, ELEMENT_TYPES, token)
        return element

    def _tensor_type(self) -> Attribute:
        self.expect("[")
        shape = self.sequence("(", ")", self._dimension)
        self.expect(",")
        element = self._dtype(self.expect_kind(Kind.NAME))
        self.expect("]")
        return TensorType(element, shape)

    def _dimension(self) -> int:
        if self.accept("?"):
            return ANY
        if self.token.kind is Kind.META:
            return self.symbolic_dimension(self.take())
        token = self.expect_kind(Kind.NUMBER)
        value = self.number(token).value
        if not isinstance(value, int) or value < 0:
            self.error(f"a dimension must be an integer of at least 0, but is {token.text}", token)
        return value

    def symbolic_dimension(self, token: Token) -> int:
        """A dimension that the metadata gives: its value if it is a number, else `?`."""
        raise NotImplementedError

    def number(self, token: Token) -> Scalar:
        """The value of a number token."""
        try:
            return parse_number(token.text)
        except ValueError as e:
            self.error(str(e), token)

    # Patterns

    def parse_pattern(self, variables: list[Var]) -> MatchPattern:
        """A pattern; the variables it binds are added to `variables` and to the scope."""
        self.deeper()
        token = self.token
        if token.kind is Kind.LOCAL:
            self.take()
            var = Var(token.text, self.parse_type() if self.accept(":") else None, token.position)
            self.bind(var)
            variables.append(var)
            pattern: MatchPattern = VarPattern()
        elif token.kind is Kind.NAME:
            pattern = WildcardPattern() if self.take().text == "_" else self._constructor_pattern(token, variables)
        elif self.at("("):
            pattern = TuplePattern(self.sequence("(", ")", lambda: self.parse_pattern(variables)))
        else:
            self.refuse("a pattern")
        self.less_deep()
        return pattern

    def _constructor_pattern(self, token: Token, variables: list[Var]) -> MatchPattern:
        name = token.text
        if name not in self.names.constructors:
            self.error(f"undefined constructor `{name}`; a variable is written `%{name}`", token)
        fields = self.sequence("(", ")", lambda: self.parse_pattern(variables)) if self.at("(") else []
        arity = self.names.constructors[name]
        if len(fields) != arity:
            plural = "" if arity == 1 else "s"
            self.error(f"constructor `{name}` has {arity} field{plural}, but its pattern has {len(fields)}", token)
        return ConstructorPattern(name, fields)
