"""Modules of Relay text: declarations and definitions, in any order; or one expression, which becomes `@main`."""

from __future__ import annotations

from collections.abc import Callable

from relay_mlir.frontends.relay_text.cursor import Names
from relay_mlir.frontends.relay_text.expr_parser import ExprParser
from relay_mlir.frontends.relay_text.lexer import Kind, Token, Tokens
from relay_mlir.frontends.relay_text.syntax import (
    ConstructorDecl,
    Definition,
    Function,
    Part,
    Program,
    TypeDecl,
)
from relay_mlir.frontends.relay_text.trampoline import run
from relay_mlir.lowering.ir_text import SourceText

VERSION = "0.0.5"
"""The version of the text format."""

_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


class ModuleParser(ExprParser):
    """Reads a whole text."""

    def __init__(
        self,
        source: SourceText,
        tokens: Tokens,
        names: Names,
        *,
        is_attribute_object: Callable[[str, int], bool],
        dimension: Callable[[Token], int],
    ):
        super().__init__(source, tokens, names)
        self._is_attribute_object = is_attribute_object
        self._dimension_of = dimension

    def is_attribute_object(self, key: str, index: int) -> bool:
        return self._is_attribute_object(key, index)

    def symbolic_dimension(self, token: Token) -> int:
        return self._dimension_of(token)

    def parse(self) -> Program:
        """The program; raises DiagnosticError."""
        header = self.token.kind is Kind.VERSION
        if header:
            token = self.take()
            if token.text != f'"{VERSION}"':
                self.error(f'version {token.text} is not supported; expected #[version = "{VERSION}"]', token)
        if not any(map(self.at, ("def", "type", "extern"))) and self.token.kind is not Kind.END:
            return self._single_expression()
        if not header:
            self.error(f'a module starts with its version: #[version = "{VERSION}"]')
        return self._module()

    def _single_expression(self) -> Program:
        position = self.token.position
        expr = run(self.expression())
        if self.token.kind is not Kind.END:
            self.refuse("the end of the text")
        if isinstance(expr, Function) and not self.free:
            function = expr
        else:
            function = Function(position, True, [], Part(expr, self.free), None, [])
        self.names.globals.add("main")
        return Program([], [Definition("main", function, position)])

    def _module(self) -> Program:
        self._declare_types()
        program = Program()
        starts = self._definitions(program)
        for index in starts:
            self.index = index
            program.functions.append(self._function())
            if self.free:
                self.error_at("a function of a module has no free variables", self.free[0].position)
        return program

    def _declare_types(self) -> None:
        """Makes the types of the text known, so that they can be used before their declaration."""
        for index, token in enumerate(self.tokens):
            name = self.tokens[min(index + 1, len(self.tokens) - 1)]
            if token.kind is Kind.KEYWORD and token.text == "type" and name.kind is Kind.NAME:
                if name.text in self.names.types:
                    self.error(f"type `{name.text}` is declared twice", name)
                self.index = index + 2
                self.names.types[name.text] = len(self.type_parameters())
                self.type_variables.pop()
        self.index = 1

    def _definitions(self, program: Program) -> list[int]:
        """Reads the types; returns where the functions start, whose names are then known."""
        starts: list[int] = []
        while self.token.kind is not Kind.END:
            if self.at("def"):
                starts.append(self.index)
                self._skip_function()
            elif self.at("type") or self.at("extern"):
                program.types.append(self._type())
            else:
                self.refuse("`def`, `type` or `extern`")
        return starts

    def _skip_function(self) -> None:
        """Goes to the end of a function, without reading more than its name."""
        self.take()
        token = self.expect_kind(Kind.GLOBAL)
        if token.text in self.names.globals:
            self.error(f"function `@{token.text}` is defined twice", token)
        self.names.globals.add(token.text)
        depth = 0
        while self.token.kind is not Kind.END and not self.at("def"):
            token = self.take()
            if token.kind is Kind.PUNCTUATION:
                depth += (token.text in _OPENING) - (token.text in _CLOSING)
                if depth == 0 and token.text == "}":
                    return

    def _function(self) -> Definition:
        self.take()
        token = self.take()
        self.graph.clear()
        self.free.clear()
        definition = Definition(token.text, run(self.function(token.position)), token.position)
        if self.token.kind is not Kind.END and not any(map(self.at, ("def", "type", "extern"))):
            self.refuse("`def`, `type`, `extern` or the end of the text")
        return definition

    def _type(self) -> TypeDecl:
        extern = self.accept("extern")
        self.expect("type")
        token = self.expect_kind(Kind.NAME)
        parameters = self.type_parameters()
        constructors: list[ConstructorDecl] = []
        if self.at("{"):
            opening = self.token
            constructors = self.sequence("{", "}", self._constructor)
            if extern and constructors:
                self.error(f"the extern type `{token.text}` can have no constructors", opening)
        elif not extern and self.token.kind is not Kind.END and not any(map(self.at, ("def", "type", "extern"))):
            self.refuse("`{`")
        self.type_variables.pop()
        return TypeDecl(token.text, parameters, constructors, extern, token.position)

    def _constructor(self) -> ConstructorDecl:
        token = self.expect_kind(Kind.NAME)
        if token.text in self.names.constructors:
            self.error(f"constructor `{token.text}` is declared twice", token)
        fields = self.sequence("(", ")", self.parse_type) if self.at("(") else []
        self.names.constructors[token.text] = len(fields)
        return ConstructorDecl(token.text, fields, token.position)
