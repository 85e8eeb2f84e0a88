"""Names of variables in Relay text: valid ones, each used once."""

from __future__ import annotations

import re
from collections.abc import Iterable

from relay_mlir.frontends.relay_text.lexer import KEYWORDS

_VALID = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_]|/(?![/*]))*")


class UniqueNames:
    """Gives names that are valid and not given before."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._next: dict[str, int] = dict.fromkeys(taken, 1)

    def take(self, wanted: str) -> str:
        """The name itself, or with a number behind it where it is taken."""
        name = valid_name(wanted)
        if name not in self._next:
            self._next[name] = 1
            return name
        while True:
            number = self._next[name]
            self._next[name] = number + 1
            if (numbered := f"{name}{number}") not in self._next:
                self._next[numbered] = 1
                return numbered


def valid_name(wanted: str) -> str:
    """The name, changed where Relay text cannot write it."""
    name = re.sub(r"[^A-Za-z0-9_/]", "_", wanted)
    if not _VALID.fullmatch(name):
        name = "v" + name.replace("/", "_")
    return "v" + name if name in KEYWORDS or name == "_" else name


def unique_names(wanted: Iterable[str]) -> list[str]:
    """The names, made valid and different."""
    names = UniqueNames()
    return [names.take(name) for name in wanted]
