"""Which function converts which ONNX operator of which opset.

    @converts("Softmax", "LogSoftmax", since=13)
    def softmax(c: Emitter, node: NodeView) -> Value: ...

A handler serves the opsets from `since` up to the next handler of the same operator.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from relay_mlir.frontends.common.emitter import Emitter
    from relay_mlir.frontends.onnx.node import NodeView
    from relay_mlir.frontends.onnx.structures import Item

Handler: TypeAlias = "Callable[[Emitter, NodeView], Item | Sequence[Item | None]]"

_HandlerT = TypeVar("_HandlerT", bound="Handler")

_HANDLERS: dict[tuple[str, str], list[tuple[int, Handler]]] = {}
_LOADED: list[str] = []

FAMILIES = "relay_mlir.frontends.onnx"
"""The package whose modules `ops_*` hold the handlers."""


def converts(*op_types: str, since: int = 1, domain: str = "") -> Callable[[_HandlerT], _HandlerT]:
    """Registers a handler for operators of a domain from an opset on."""

    def register(handler: _HandlerT) -> _HandlerT:
        for op_type in op_types:
            versions = _HANDLERS.setdefault((domain, op_type), [])
            if any(version == since for version, _ in versions):
                raise ValueError(f"{op_type} has two handlers for opset {since}")
            versions.append((since, handler))
            versions.sort(key=lambda entry: entry[0])
        return handler

    return register


def handler_of(domain: str, op_type: str, opset: int) -> Handler | None:
    """The handler for an operator at an opset, or None."""
    _load()
    versions = _HANDLERS.get((domain, op_type), [])
    position = bisect_right([version for version, _ in versions], opset)
    return versions[position - 1][1] if position else None


def serves(domain: str, op_type: str, version: int) -> bool:
    """Whether a handler was written for just this version of an operator."""
    _load()
    return any(since == version for since, _ in _HANDLERS.get((domain, op_type), []))


def supported() -> dict[tuple[str, str], list[int]]:
    """The opsets from which each handler serves, by domain and operator."""
    _load()
    return {key: [version for version, _ in versions] for key, versions in sorted(_HANDLERS.items())}


def _load() -> None:
    """Imports the operator families, once."""
    if _LOADED:
        return
    package = import_module(FAMILIES)
    for module in iter_modules(package.__path__):
        if module.name.startswith("ops_"):
            import_module(f"{FAMILIES}.{module.name}")
            _LOADED.append(module.name)
