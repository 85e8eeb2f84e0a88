"""Relay text to tokens, with the numbers, comments, names and metadata section of version 0.0.5."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from typing import NoReturn

from relay_mlir.lowering.ir_text import SourceText


class Kind(Enum):
    """What a token is, as messages name it; keywords and punctuation are told apart by their text."""

    LOCAL = "a local variable"
    GRAPH = "a graph variable"
    GLOBAL = "a global name"
    NAME = "a name"
    KEYWORD = "a keyword"
    NUMBER = "a number"
    STRING = "a string"
    META = "a metadata reference"
    VERSION = "a version header"
    PUNCTUATION = "punctuation"
    END = "the end of the text"


KEYWORDS = frozenset(
    ["let", "fn", "def", "if", "else", "type", "match", "extern", "free_var", "ref", "ref_read", "ref_write"]
)

_IDENTIFIER = r"[A-Za-z_](?:[A-Za-z0-9_]|/(?![/*]))*"
# A minus sign directly before a digit belongs to the number: `%x - 1` is a subtraction, `%x -1` is not.
_NUMBER = r"-*(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?:[fi]\d*)?|(?:inf|nan)f(?:\d+)?(?![A-Za-z0-9_/]))"
_TOKEN = re.compile(
    rf"""(?P<space>[ \t\f\v\n]+|\r\n)
    |(?P<line_comment>//[^\n]*)
    |(?P<comment>/\*)
    |(?P<local>%{_IDENTIFIER})
    |(?P<graph>%\d+)
    |(?P<global>@{_IDENTIFIER})
    |(?P<meta>meta\[(?P<key>[^\]\n]*)\]\[(?P<index>[^\]\n]*)\])
    |(?P<number>{_NUMBER})
    |(?P<name>{_IDENTIFIER})
    |(?P<string>"[^"]*")
    |(?P<attribute>\#\[(?P<attribute_text>[^\]]*)\])
    |(?P<punctuation>->|=>|==|!=|<=|>=|[-+*/<>=;:,.(){{}}\[\]?])""",
    re.VERBOSE,
)
_DIGITS = re.compile(r"\d+")
_COMMENT_EDGE = re.compile(r"/\*|\*/")


@dataclass(frozen=True, slots=True)
class Token:
    """A token: its kind, its text (of a name without the sigil), and where it starts."""

    kind: Kind
    text: str
    position: int
    width: int


@dataclass
class Tokens:
    """The tokens of a text, the last of which is END, and its metadata section."""

    tokens: list[Token] = field(default_factory=list[Token])
    metadata: str | None = None
    metadata_position: int = 0


class _Lexer:
    """One run over a text."""

    def __init__(self, source: SourceText):
        self.source = source
        self.found = Tokens()

    def error(self, message: str, position: int, end: int | None = None) -> NoReturn:
        raise self.source.error(message, position, end)

    def add(self, kind: Kind, text: str, position: int, end: int) -> None:
        self.found.tokens.append(Token(kind, text, position, end - position))

    def run(self) -> Tokens:
        text, position = self.source.text, 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                self._refuse(position)
            position = self._take(match)
        self.add(Kind.END, "", len(text), len(text) + 1)
        return self.found

    def _refuse(self, position: int) -> NoReturn:
        text = self.source.text
        if text[position] == "\r":
            self.error("a carriage return must be followed by a line feed", position)
        if text[position] == '"':
            self.error("the string does not end", position)
        if text[position] == "#":
            self.error("`#` starts `#[version = ...]` or `#[metadata]`", position)
        self.error(f"unexpected character {text[position]!r}", position)

    def _take(self, match: re.Match[str]) -> int:
        """Adds the token of a match; returns where the next one may start."""
        start, end, text = match.start(), match.end(), match.group()
        match match.lastgroup:
            case "space" | "line_comment":
                pass
            case "comment":
                return self._skip_comment(start)
            case "local":
                self.add(Kind.LOCAL, text[1:], start, end)
            case "graph":
                self.add(Kind.GRAPH, text[1:], start, end)
            case "global":
                self.add(Kind.GLOBAL, text[1:], start, end)
            case "number":
                return self._number(match)
            case "name":
                self._name(text, start, end)
            case "string":
                self.add(Kind.STRING, text[1:-1], start, end)
            case "punctuation":
                self.add(Kind.PUNCTUATION, text, start, end)
            case _:
                return self._bracketed(match)
        return end

    def _number(self, match: re.Match[str]) -> int:
        start, end = match.start(), match.end()
        before = self.found.tokens[-1] if self.found.tokens else None
        if before is not None and before.kind is Kind.PUNCTUATION and before.text == ".":
            digits = _DIGITS.match(self.source.text, start)  # `%t.0.1` projects twice
            if digits is not None:
                end = digits.end()
        self.add(Kind.NUMBER, self.source.text[start:end], start, end)
        return end

    def _name(self, text: str, start: int, end: int) -> None:
        self.add(Kind.KEYWORD if text in KEYWORDS else Kind.NAME, text, start, end)

    def _skip_comment(self, start: int) -> int:
        """The end of a comment, in which others may be nested."""
        depth = 0
        for edge in _COMMENT_EDGE.finditer(self.source.text, start):
            depth += 1 if edge.group() == "/*" else -1
            if depth == 0:
                return edge.end()
        self.error("the comment does not end", start, start + 2)

    def _bracketed(self, match: re.Match[str]) -> int:
        start, end = match.start(), match.end()
        if match.group("meta") is not None:
            self.add(Kind.META, match.group()[len("meta") :], start, end)
            return end
        content = match.group("attribute_text").strip()
        if content == "metadata":
            if self.found.metadata is not None:
                self.error("the metadata section is given twice", start, end)
            self.found.metadata, self.found.metadata_position = self.source.text[end:], end
            return len(self.source.text)
        name, equals, value = content.partition("=")
        if name.strip() != "version" or not equals:
            self.error(f"unsupported attribute `{content}`; expected `version` or `metadata`", start, end)
        self.add(Kind.VERSION, value.strip(), start, end)
        return end


def tokenize(source: SourceText) -> Tokens:
    """The tokens of a text and its metadata section, not yet read; raises DiagnosticError."""
    return _Lexer(source).run()


_META = re.compile(r"\[\s*(.*?)\s*\]\[\s*(.*?)\s*\]")


def meta_parts(token: Token) -> tuple[str, str]:
    """The type key and the index, as text, of a metadata reference."""
    match = _META.fullmatch(token.text)
    assert match is not None
    return match.group(1), match.group(2)
