"""Recursion without a stack limit: a recursive function is a generator that yields the calls it waits for."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias, TypeVar

_T = TypeVar("_T")

Steps: TypeAlias = Generator["Steps[Any]", Any, _T]
"""A computation that yields the computations whose results it needs, and returns a value."""


def run(steps: Steps[_T]) -> _T:
    """The result of a computation, however deep the computations it waits for are nested."""
    stack: list[Steps[Any]] = [steps]
    value: Any = None
    while True:
        try:
            waiting = stack[-1].send(value)
        except StopIteration as done:
            stack.pop()
            value = done.value
            if not stack:
                return value
        else:
            stack.append(waiting)
            value = None
