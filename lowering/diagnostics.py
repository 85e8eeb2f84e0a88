"""Messages about a program: what is wrong, where, shown as one located line with the source line and a caret."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NoReturn

from xdsl.ir import IRNode, Operation
from xdsl.utils import diagnostic as xdsl_diagnostic
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.errors import Error


@dataclass(frozen=True)
class Place:
    """A position of a text: 1-based line and column, and the text of that line where it is known."""

    file: str
    line: int
    column: int
    source_line: str | None = None
    width: int = 1
    """How many characters the caret underlines."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Diagnostic:
    """One message. `severity` is error, warning, note or remark."""

    severity: str
    message: str
    place: Place | None = None
    file: str | None = None
    """The name of the text where no line of it is known."""
    origin: str | None = None
    """The source node of the operation, from its location."""
    shown: str | None = None
    """The operation itself, where no line of the text shows it."""
    notes: tuple[Diagnostic, ...] = field(default=())

    def render(self) -> str:
        """The message as shown to a person, without a newline at the end."""
        head = str(self.place) if self.place else self.file
        text = " ".join(self.message.split("\n")) if self.severity == "error" else self.message
        origin = f" [from {self.origin}]" if self.origin else ""
        lines = [f"{head + ': ' if head else ''}{self.severity}: {text}{origin}"]
        if self.place and self.place.source_line is not None:
            lines.append(self.place.source_line)
            before = self.place.source_line[: self.place.column - 1]
            indent = "".join("\t" if c == "\t" else " " for c in before)
            room = max(len(self.place.source_line) - len(before), 1)
            lines.append(indent + "^" + "~" * (min(max(self.place.width, 1), room) - 1))
        elif self.shown:
            lines.append(f"  in: {self.shown}")
        lines += [note.render() for note in self.notes]
        return "\n".join(lines)


class DiagnosticError(Error):
    """An error in a program, with its place."""

    def __init__(self, diagnostic: Diagnostic):
        self.diagnostic = diagnostic
        super().__init__(diagnostic.render())


class OpError(VerifyException):
    """What is wrong with one operation; the pass manager and the tools show where it is."""

    def __init__(self, op: Operation, message: str):
        super().__init__(message)
        attach(self, op)


def attach(error: BaseException, op: Operation) -> None:
    """Remembers the operation that an exception is about, unless one is remembered already."""
    if op_of(error) is None:
        error.__dict__["relay_op"] = op


def op_of(error: BaseException) -> Operation | None:
    """The operation that an exception is about, where one was attached."""
    found = error.__dict__.get("relay_op")
    return found if isinstance(found, Operation) else None


def _raise_attached(self: xdsl_diagnostic.Diagnostic, ir: IRNode, underlying_error: Exception) -> NoReturn:
    """Instead of printing the whole program into the exception, as xDSL does, remembers the operation."""
    if isinstance(ir, Operation):
        attach(underlying_error, ir)
    raise underlying_error


xdsl_diagnostic.Diagnostic.raise_exception = _raise_attached

Handler = Callable[[str, str, Operation], None]
_handler: ContextVar[Handler | None] = ContextVar("relay_diagnostic_handler", default=None)


@contextmanager
def handling(handler: Handler) -> Generator[None]:
    """Gives every warning, note and remark (severity, message, operation) of the block to a handler."""
    token = _handler.set(handler)
    try:
        yield
    finally:
        _handler.reset(token)


def report(severity: str, op: Operation, message: str) -> None:
    """Tells the user something about an operation: severity is warning, note or remark."""
    handler = _handler.get()
    if handler is None:
        print(f"{severity}: '{op.name}' op {message}", file=sys.stderr)
    else:
        handler(severity, message, op)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the known word nearest to this one, or nothing."""
    import difflib  # only for errors: it takes as long to import as a small file to parse

    close = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean '{close[0]}'?" if close else ""
