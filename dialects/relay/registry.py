"""The operators of the relay dialect by name: the module of an operator is imported when its name is first looked up.

So a tool imports what its program uses, however many operators there are. Which module defines which operator is
written down in operator_table.py (`make docs`); what that does not know is looked for in every module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from relay_mlir.dialects.relay.operator_table import MODULES

if TYPE_CHECKING:
    from relay_mlir.dialects.relay.op import Operator

_PACKAGE = "relay_mlir.dialects.relay"


class Operators(Mapping[str, "type[Operator]"]):
    """Every operator by name, the prefix `relay.` left out. Iteration imports all modules of the dialect."""

    def __init__(self) -> None:
        self._defined: dict[str, type[Operator]] = {}
        self._complete = False

    def define(self, cls: type[Operator]) -> None:
        """Adds an operator; raises ValueError where the name is taken."""
        if cls.name in self._defined:
            raise ValueError(f"operator {cls.name} is defined twice")
        self._defined[cls.name] = cls

    def __getitem__(self, name: str) -> type[Operator]:
        if name not in self._defined and name in MODULES:
            import_module(f"{_PACKAGE}.{MODULES[name]}")
        if name not in self._defined:
            self._import_all()
        return self._defined[name]

    def __iter__(self) -> Iterator[str]:
        self._import_all()
        return iter(self._defined)

    def __len__(self) -> int:
        self._import_all()
        return len(self._defined)

    def _import_all(self) -> None:
        if not self._complete:
            for module in iter_modules([str(Path(__file__).parent)], f"{_PACKAGE}."):
                import_module(module.name)
            self._complete = True
