"""The standard libraries of Relay as text: prelude (lists, options, trees), gradient, nat, core."""

from __future__ import annotations

from pathlib import Path

from relay_mlir.dialects.errors import InputError

LIBRARIES = ("core", "gradient", "nat", "prelude")
"""The names of the libraries; nat uses prelude."""


def std_path(name: str) -> Path:
    """The file of a library; raises InputError."""
    if name not in LIBRARIES:
        raise InputError(f"there is no standard library '{name}'; expected {', '.join(LIBRARIES)}")
    return Path(__file__).with_name(f"{name}.relay")
