"""Which values a match does not cover: exhaustiveness of patterns, after Maranget's usefulness of pattern matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, Operation

from relay_mlir.dialects.relay.language import constructor, constructor_fields, declaration
from relay_mlir.dialects.relay.language_types import ADTType
from relay_mlir.dialects.relay.patterns import ConstructorPattern, MatchPattern, TuplePattern

_Row = list[MatchPattern | None]
"""Patterns side by side; None stands for a wildcard or variable."""


def _plain(pattern: MatchPattern) -> MatchPattern | None:
    return pattern if isinstance(pattern, ConstructorPattern | TuplePattern) else None


def missing(op: Operation, type_: Attribute, patterns: Sequence[MatchPattern], limit: int = 3) -> list[str]:
    """Texts of values of this type that no pattern matches, `limit` at most."""
    found: list[str] = []
    for example in _uncovered(op, [[_plain(pattern)] for pattern in patterns], [type_]):
        found.append(example[0])
        if len(found) == limit:
            break
    return found


def _uncovered(op: Operation, rows: list[_Row], types: list[Attribute]) -> Any:
    """Yields, as texts, tuples of values of these types that no row matches."""
    if not types:
        if not rows:
            yield []
        return
    first, rest = types[0], types[1:]
    if not any(row[0] is not None for row in rows):
        for tail in _uncovered(op, [row[1:] for row in rows], rest):
            yield ["_", *tail]
        return
    if isinstance(first, TupleType):
        fields = list(first.types)
        for values in _uncovered(op, _specialize(rows, None, len(fields)), [*fields, *rest]):
            yield [f"({', '.join(values[: len(fields)])})", *values[len(fields) :]]
        return
    declared = declaration(op, first.adt_name) if isinstance(first, ADTType) else None
    if declared is None:
        return  # a type that no pattern can take apart: type inference has refused it
    for made in declared.constructors:
        name = made.sym_name.data
        fields = constructor_fields(cast(Any, constructor(op, name)), cast(ADTType, first))
        for values in _uncovered(op, _specialize(rows, name, len(fields)), [*fields, *rest]):
            inner = f"({', '.join(values[: len(fields)])})" if fields else ""
            yield [name + inner, *values[len(fields) :]]


def _specialize(rows: list[_Row], name: str | None, fields: int) -> list[_Row]:
    """The rows that match a constructor (or, for None, a tuple), with its fields in place of its pattern."""
    result: list[_Row] = []
    for first, *rest in rows:
        if first is None:
            result.append([None] * fields + rest)
        elif isinstance(first, TuplePattern):
            result.append([*map(_plain, first.fields), *rest])
        elif isinstance(first, ConstructorPattern) and first.constructor.string_value() == name:
            inner = list(map(_plain, first.fields)) or [None] * fields
            result.append([*inner, *rest])
    return result
