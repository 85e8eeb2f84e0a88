"""The position of a parser in the tokens of a text, the names in scope there, and its errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from relay_mlir.frontends.relay_text.lexer import Kind, Token, Tokens
from relay_mlir.frontends.relay_text.syntax import Shared, Var
from relay_mlir.lowering.diagnostics import did_you_mean
from relay_mlir.lowering.ir_text import SourceText

MAX_DEPTH = 1000
"""How deeply functions, branches, cases, types and patterns may be nested."""


def shown(token: Token) -> str:
    """A token as messages quote it."""
    match token.kind:
        case Kind.END:
            return "the end of the text"
        case Kind.LOCAL | Kind.GRAPH:
            return f"`%{token.text}`"
        case Kind.GLOBAL:
            return f"`@{token.text}`"
        case Kind.STRING:
            return f'"{token.text}"'
        case Kind.META:
            return f"`meta{token.text}`"
        case Kind.VERSION:
            return "a version header"
        case _:
            return f"`{token.text}`"


class Names:
    """What the names of a module stand for while its text is read."""

    def __init__(self) -> None:
        self.types: dict[str, int] = {}
        """Each declared type and its number of type parameters."""
        self.constructors: dict[str, int] = {}
        """Each constructor and its number of fields."""
        self.globals: set[str] = set()


class Cursor:
    """Reads tokens one after the other."""

    def __init__(self, source: SourceText, tokens: Tokens, names: Names):
        self.source = source
        self.tokens = tokens.tokens
        self.names = names
        self.index: int = 0
        self.depth = 0
        self._visible: dict[str, list[Var]] = {}
        self._bound: list[str] = []
        self.graph: dict[str, Shared] = {}
        self.type_variables: list[dict[str, str]] = []
        self.free: list[Var] = []
        """The variables that `free_var` declares."""

    # Tokens

    @property
    def token(self) -> Token:
        """The token to read next."""
        return self.tokens[self.index]

    def ahead(self, count: int) -> Token:
        """A later token."""
        return self.tokens[min(self.index + count, len(self.tokens) - 1)]

    def take(self) -> Token:
        """Reads the token."""
        token = self.tokens[self.index]
        if token.kind is not Kind.END:
            self.index += 1
        return token

    def at(self, text: str, count: int = 0) -> bool:
        """Whether a token is this punctuation or keyword."""
        token = self.ahead(count)
        return token.text == text and token.kind in (Kind.PUNCTUATION, Kind.KEYWORD)

    def accept(self, text: str) -> bool:
        """Reads the token if it is this punctuation or keyword."""
        if self.at(text):
            self.index += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        """Reads this punctuation or keyword."""
        if not self.at(text):
            self.refuse(f"`{text}`")
        return self.take()

    def expect_kind(self, kind: Kind) -> Token:
        """Reads a token of this kind."""
        if self.token.kind is not kind:
            self.refuse(kind.value)
        return self.take()

    # Errors

    def error(self, message: str, token: Token | None = None) -> NoReturn:
        """Raises the error at a token, by default the next one."""
        token = token or self.token
        raise self.source.error(message, token.position, token.position + token.width)

    def error_at(self, message: str, position: int) -> NoReturn:
        raise self.source.error(message, position)

    def refuse(self, expected: str) -> NoReturn:
        """Raises the error that something else was expected."""
        self.error(f"expected {expected}, but found {shown(self.token)}")

    def unknown(self, what: str, name: str, known: Iterable[str], token: Token, sigil: str = "") -> NoReturn:
        """Raises the error that a name is not known, with the nearest one that is."""
        self.error(f"{what} `{sigil}{name}`{did_you_mean(name, known)}", token)

    # Scopes

    def bind(self, var: Var) -> None:
        """Makes a variable visible until `leave`."""
        self._visible.setdefault(var.name, []).append(var)
        self._bound.append(var.name)

    def variable(self, token: Token) -> Var:
        """The variable that a name stands for."""
        found = self._visible.get(token.text)
        if not found:
            self.unknown("undefined variable", token.text, [n for n, v in self._visible.items() if v], token, "%")
        return found[-1]

    def enter(self) -> int:
        """Opens a scope of variables; what it returns closes it."""
        return len(self._bound)

    def leave(self, mark: int) -> None:
        """Closes a scope."""
        while len(self._bound) > mark:
            self._visible[self._bound.pop()].pop()

    def deeper(self) -> None:
        """Counts a level of what may not be nested without a limit."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.error(f"functions, branches, cases and types may be nested {MAX_DEPTH} deep, but not deeper")

    def less_deep(self) -> None:
        self.depth -= 1
