"""`--verify-diagnostics`: compares the messages of a run with the `// expected-error {{...}}` comments of its input.

The comments are MLIR's: `expected-error`, `-warning`, `-note` or `-remark`, then `@above`, `@below`, `@+2`, `@-1` or
`@unknown` (no place), then the expected part of the message in `{{...}}`; with `-re`, parts in `{{...}}` inside the
text are regular expressions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from relay_mlir.lowering.diagnostics import Diagnostic, Place
from relay_mlir.lowering.ir_text import SourceText

_COMMENT = re.compile(
    r"expected-(?P<severity>error|warning|note|remark)(?P<regex>-re)? *"
    r"(?:@(?P<where>[+-]\d+|above|below|unknown))? *\{\{(?P<text>.*)\}\}"
)
_MALFORMED = re.compile(r"//.*\bexpected-(?:error|warning|note|remark)")


@dataclass(frozen=True)
class Expectation:
    """One comment: the message it expects at a line (None: without a place)."""

    severity: str
    text: str
    regex: bool
    line: int | None
    at: int
    """The line of the comment."""

    def matches(self, diagnostic: Diagnostic) -> bool:
        """Whether this is the expected message."""
        line = diagnostic.place.line if diagnostic.place else None
        if (diagnostic.severity, line) != (self.severity, self.line):
            return False
        if not self.regex:
            return self.text in diagnostic.message
        parts = re.split(r"\{\{(.*?)\}\}", self.text)
        pattern = "".join(part if odd % 2 else re.escape(part) for odd, part in enumerate(parts))
        return re.search(pattern, diagnostic.message) is not None


def expectations(source: SourceText) -> tuple[list[Expectation], list[Diagnostic]]:
    """The expectations of a text, and an error for each comment that is not one."""
    found: list[Expectation] = []
    wrong: list[Diagnostic] = []
    lines = source.text.split("\n")
    is_comment = [_COMMENT.search(line) is not None for line in lines]
    for number, line in enumerate(lines, 1):
        match = _COMMENT.search(line)
        if match is None:
            if (bad := _MALFORMED.search(line)) is not None:
                message = "not an expectation: write `expected-error @below {{message}}`"
                wrong.append(Diagnostic("error", message, source.place_at(number, bad.start() + 1)))
            continue
        target = _target(match["where"], number, is_comment)
        found.append(Expectation(match["severity"], match["text"], bool(match["regex"]), target, number))
    return found, wrong


def _target(where: str | None, number: int, is_comment: Sequence[bool]) -> int | None:
    """The line that an expectation on line `number` is about; above and below skip other expectations."""
    match where:
        case None:
            return number
        case "unknown":
            return None
        case "above" | "below":
            step = 1 if where == "below" else -1
            line = number + step
            while 1 <= line <= len(is_comment) and is_comment[line - 1]:
                line += step
            return line
        case _:
            return number + int(where)


def compare(source: SourceText, diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """An error for each message that was not expected, and for each that was expected and did not come."""
    expected, problems = expectations(source)
    produced = [each for diagnostic in diagnostics for each in (diagnostic, *diagnostic.notes)]
    for diagnostic in produced:
        match = next((e for e in expected if e.matches(diagnostic)), None)
        if match is not None:
            expected.remove(match)
        elif diagnostic.severity == "error" or diagnostic not in _notes(diagnostics):
            message = f"unexpected {diagnostic.severity}: {diagnostic.message}"
            problems.append(Diagnostic("error", message, diagnostic.place, source.name))
    for left in expected:
        place = source.place_at(left.at, 1)
        indent = len(place.source_line or "") - len((place.source_line or "").lstrip())
        at = Place(place.file, place.line, indent + 1, place.source_line)
        problems.append(Diagnostic("error", f'expected {left.severity} "{left.text}" was not produced', at))
    return problems


def _notes(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The notes of messages: they need not be expected."""
    return [note for diagnostic in diagnostics for note in diagnostic.notes]
