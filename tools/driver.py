"""What the command line tools share: streams, a stack deep enough for deep programs, contexts and located messages."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from xdsl.ir import Dialect, Operation

from relay_mlir.dialects.errors import Error
from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.dialects.upstream import all_dialects
from relay_mlir.lowering.diagnostics import Diagnostic, Place
from relay_mlir.lowering.ir_text import SourceText
from relay_mlir.lowering.locations import describe_origin, file_location

_STACK_BYTES = 512 << 20
_RECURSION_LIMIT = 20_000
"""Regions, types and attributes may nest about a thousand deep; what is deeper is an error, not a crash."""


@dataclass
class Streams:
    """Where a tool reads and writes: the process's own streams, or those of a test."""

    stdin: IO[bytes]
    stdout: IO[str]
    stderr: IO[str]


class UsageError(Error):
    """A command line that cannot be used, told in one line."""


def with_deep_stack(function: Callable[[], int]) -> int:
    """Runs a function in a thread with a large stack and returns its exit code."""
    codes: list[int] = []
    failures: list[BaseException] = []

    def call() -> None:
        try:
            codes.append(function())
        except BaseException as error:  # raised again in the calling thread
            failures.append(error)

    sys.setrecursionlimit(max(sys.getrecursionlimit(), _RECURSION_LIMIT))
    previous = threading.stack_size(_STACK_BYTES)
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    threading.stack_size(previous)
    thread.join()
    if failures:
        raise failures[0]
    return codes[0]


def run_tool(run: Callable[[Sequence[str], Streams], int], argv: Sequence[str] | None) -> int:
    """Runs a tool on the streams of the process; returns its exit code."""
    streams = Streams(sys.stdin.buffer, sys.stdout, sys.stderr)
    arguments = sys.argv[1:] if argv is None else argv
    try:
        code = with_deep_stack(lambda: run(arguments, streams))
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end
        return 1
    except KeyboardInterrupt:
        return 130


def _relay() -> Dialect:
    from relay_mlir.dialects.relay import Relay

    return Relay


def _heap() -> Dialect:
    from relay_mlir.dialects.heap import Heap

    return Heap


def make_context(*, allow_unregistered: bool = False) -> RelayContext:
    """A context with this project's dialects and xDSL's, each imported when first used."""
    ctx = RelayContext(allow_unregistered=allow_unregistered)
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    ctx.register_dialect("relay", _relay)
    ctx.register_dialect("heap", _heap)
    return ctx


def read_text(path: str | None, streams: Streams) -> tuple[str, str]:
    """The text and the name of an input file; `-` and None are the standard input. Raises UsageError."""
    name = "<stdin>" if path in (None, "-") else str(path)
    try:
        data = streams.stdin.read() if path in (None, "-") else Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read '{name}': {error.strerror or error}") from error
    try:
        return data.decode("utf-8"), name
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        raise UsageError(f"{name}:{line}:{column}: error: byte 0x{data[error.start]:02x} is not UTF-8") from error


def place_of(op: Operation, source: SourceText) -> Place | None:
    """Where in the text an operation comes from, as far as is known."""
    if (place := source.place_of(op)) is not None:
        return place
    location = file_location(op.location)
    if location is None:
        return None
    line, column = location.line.data, location.column.data
    if location.filename.data == source.name:
        return source.place_at(line, column)
    return Place(location.filename.data, line, column)


def op_diagnostic(severity: str, message: str, op: Operation | None, source: SourceText) -> Diagnostic:
    """A message about an operation of a text, or about the whole text."""
    if op is None:
        return Diagnostic(severity, message, file=source.name)
    return Diagnostic(
        severity,
        f"'{op.name}' op {message}",
        place_of(op, source),
        source.name,
        describe_origin(op),
        shown=_one_line(op),
    )


def _one_line(op: Operation) -> str:
    """The operation without what is inside it."""
    try:
        text = str(op).split("\n")[0]
    except Exception:  # an invalid operation may not be printable; its name has been shown
        return op.name
    return text if len(text) <= 200 else text[:197] + "..."
