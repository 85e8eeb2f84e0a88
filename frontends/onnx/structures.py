"""Sequences and optionals of an ONNX graph: known at import, made of tensors that need not be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Attribute

from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value


@dataclass(frozen=True)
class TensorList:
    """A sequence of tensors. How many there are is known at import."""

    items: tuple[Value, ...]
    element: Attribute
    """The element type, which an empty sequence has too."""


@dataclass(frozen=True)
class Maybe:
    """An optional; whether there is something in it is known at import."""

    content: Value | TensorList | None


Item: TypeAlias = "Value | TensorList | Maybe"
"""What a name of a graph may stand for."""


def describe(item: Item) -> str:
    """The kind of an item, as messages name it."""
    if isinstance(item, Value):
        return "a tensor"
    return "a sequence" if isinstance(item, TensorList) else "an optional"


def tensors(items: Sequence[Item], what: str) -> list[Value]:
    """The items, all tensors; raises Problem that names the kind of another, and what `what` says of it."""
    found: list[Value] = []
    for item in items:
        if not isinstance(item, Value):
            raise Problem(f"{describe(item)} cannot be {what}")
        found.append(item)
    return found


def flat(item: Item) -> list[Value]:
    """The tensors that an item is made of."""
    if isinstance(item, Value):
        return [item]
    if isinstance(item, TensorList):
        return list(item.items)
    return [] if item.content is None else flat(item.content)


def flat_names(name: str, item: Item) -> list[str]:
    """A name for each tensor of an item: its own, or `name.0`, `name.1`, ... for those of a sequence."""
    if isinstance(item, Maybe):
        return [] if item.content is None else flat_names(name, item.content)
    return [name] if isinstance(item, Value) else [f"{name}.{at}" for at in range(len(item.items))]
