"""What upstream MLIR has and xDSL 0.75 lacks: operations, types of operands, and the syntax of some operations.

`DIALECTS` replaces xDSL's dialects of the same names: a tool registers them instead (`register`). Loading one of them
also teaches xDSL's own operation classes upstream's syntax, so it does not matter which module a pass takes
`scf.parallel` from. What is imported here is imported when a dialect is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.ir import Dialect


def _llvm() -> Dialect:
    from relay_mlir.dialects.upstream.llvm import LLVM_EXTENDED

    return LLVM_EXTENDED


def _arith() -> Dialect:
    from relay_mlir.dialects.upstream.arith import ARITH_EXTENDED

    return ARITH_EXTENDED


def _vector() -> Dialect:
    from relay_mlir.dialects.upstream.vector import VECTOR_EXTENDED

    return VECTOR_EXTENDED


def _scf() -> Dialect:
    from relay_mlir.dialects.upstream.scf import SCF

    return SCF


def _linalg() -> Dialect:
    from relay_mlir.dialects.upstream.linalg import LINALG

    return LINALG


def _memref() -> Dialect:
    from relay_mlir.dialects.upstream.memref import MEMREF

    return MEMREF


DIALECTS: dict[str, Callable[[], Dialect]] = {
    "arith": _arith,
    "linalg": _linalg,
    "llvm": _llvm,
    "memref": _memref,
    "scf": _scf,
    "vector": _vector,
}
"""Each replaces xDSL's dialect of this name."""


def register(context: Context) -> None:
    """Registers the dialects, in a context where xDSL's of the same names are not registered."""
    for name, factory in DIALECTS.items():
        context.register_dialect(name, factory)


def all_dialects() -> dict[str, Callable[[], Dialect]]:
    """xDSL's dialects, those of `DIALECTS` in their place: what a tool registers."""
    from xdsl.dialects import get_all_dialects

    return {**get_all_dialects(), **DIALECTS}


def load(*names: str) -> None:
    """Teaches xDSL's operations of these dialects upstream's syntax: what a pass does that makes such operations."""
    for name in names:
        DIALECTS[name]()
