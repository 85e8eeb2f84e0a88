"""The dialects that operators are lowered to, each imported when first used: a run that lowers nothing needs none.

from relay_mlir.dialects.lazy import arith, linalg
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any


class _LazyModule(ModuleType):
    """Has the names of a module, which is imported when one of them is first looked up."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python itself asks of a module, that is: of this one
            raise AttributeError(name)
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    from xdsl.dialects import arith, func, math, memref, scf, tensor
    from xdsl.dialects.linalg import attrs as linalg_attrs
    from xdsl.dialects.linalg import ops as linalg

    from relay_mlir.dialects.upstream import arith as upstream_arith
else:
    arith = _LazyModule("xdsl.dialects.arith")
    func = _LazyModule("xdsl.dialects.func")
    linalg = _LazyModule("xdsl.dialects.linalg.ops")
    linalg_attrs = _LazyModule("xdsl.dialects.linalg.attrs")
    math = _LazyModule("xdsl.dialects.math")
    memref = _LazyModule("xdsl.dialects.memref")
    scf = _LazyModule("xdsl.dialects.scf")
    tensor = _LazyModule("xdsl.dialects.tensor")
    upstream_arith = _LazyModule("relay_mlir.dialects.upstream.arith")

__all__ = ["arith", "func", "linalg", "linalg_attrs", "math", "memref", "scf", "tensor", "upstream_arith"]
