"""Which function converts which operator of torch.

    @converts("aten.relu.default")
    def relu(c: Emitter, node: NodeView) -> Value: ...

Names without an overload, such as `aten.relu`, stand for every overload that has no handler of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from relay_mlir.frontends.common.emitter import Emitter
    from relay_mlir.frontends.common.value import Value
    from relay_mlir.frontends.torch.node import NodeView

Handler: TypeAlias = "Callable[[Emitter, NodeView], Value | Sequence[Value]]"

_HandlerT = TypeVar("_HandlerT", bound="Handler")

_HANDLERS: dict[str, Handler] = {}
_LOADED: list[str] = []

FAMILIES = "relay_mlir.frontends.torch"
"""The package whose modules `ops_*` hold the handlers."""


def converts(*targets: str) -> Callable[[_HandlerT], _HandlerT]:
    """Registers a handler for operators."""

    def register(handler: _HandlerT) -> _HandlerT:
        for target in targets:
            if target in _HANDLERS:
                raise ValueError(f"{target} has two handlers")
            _HANDLERS[target] = handler
        return handler

    return register


def handler_of(target: str) -> Handler | None:
    """The handler of an operator, or None."""
    _load()
    return _HANDLERS.get(target) or _HANDLERS.get(target.rpartition(".")[0])


def supported() -> list[str]:
    """The names that handlers are registered for."""
    _load()
    return sorted(_HANDLERS)


def _load() -> None:
    """Imports the operator families, once."""
    if _LOADED:
        return
    package = import_module(FAMILIES)
    for module in iter_modules(package.__path__):
        if module.name.startswith("ops_"):
            import_module(f"{FAMILIES}.{module.name}")
            _LOADED.append(module.name)
