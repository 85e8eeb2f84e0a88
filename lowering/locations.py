"""Keeps the location of each operation through rewrites, and says which source node an operation comes from.

xDSL 0.75 gives what a rewrite creates no location. Importing this module makes every PatternRewriter and Rewriter
give a new operation that has none the location of the one it replaces, or of the one that the pattern matched.
`complete` does the same after a pass for what was built without a rewriter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    ModuleOp,
    NameLoc,
    SymbolRefAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint, Rewriter


def _parts(location: FusedLoc) -> Sequence[Attribute]:
    return cast(ArrayAttr[Attribute], location.locations).data


def names_of(location: Attribute) -> list[str]:
    """The source nodes that a location names, each once, in order."""
    match location:
        case NameLoc():
            found = [location.desc.data]
        case FusedLoc():
            found = [name for part in _parts(location) for name in names_of(part)]
        case CallSiteLoc():
            found = names_of(location.callee)
        case _:
            found = []
    return list(dict.fromkeys(found))


def file_location(location: Attribute) -> FileLineColLoc | None:
    """The first file position in a location."""
    match location:
        case FileLineColLoc():
            return location
        case NameLoc():
            return file_location(location.location)
        case FusedLoc():
            return next((found for part in _parts(location) if (found := file_location(part))), None)
        case CallSiteLoc():
            return file_location(location.callee)
        case _:
            return None


def describe_origin(op: Operation) -> str | None:
    """The source nodes of an operation in quotes, as messages show them, or None where it has none."""
    names = names_of(op.location)
    shown = ", ".join(f'"{name}"' for name in names[:3])
    return (shown + (f" and {len(names) - 3} more" if len(names) > 3 else "")) or None


def _give(location: LocationAttr, ops: Operation | Sequence[Operation]) -> None:
    """Gives the location to those of the operations, and of the ones inside them, that have none."""
    if isinstance(location, UnknownLoc):
        return
    for op in (ops,) if isinstance(ops, Operation) else ops:
        if op.regions:
            for inner in op.walk():
                if isinstance(inner.location, UnknownLoc):
                    inner.location = location
        elif isinstance(op.location, UnknownLoc):
            op.location = location


def complete(module: ModuleOp) -> None:
    """Gives every operation without a location that of the first one that uses or names it, else of its parent."""
    missing = [op for op in module.walk() if isinstance(op.location, UnknownLoc) and op is not module]
    for op in reversed(missing):  # users come after their operands: chains are resolved from their end
        uses = (use.operation.location for result in op.results for use in result.uses)
        found = next((location for location in uses if not isinstance(location, UnknownLoc)), None)
        parent = op.parent_op()
        if found is None and parent is not None and not isinstance(parent, ModuleOp):
            found = parent.location
        if found is not None:
            op.location = found
    symbols = {op.get_attr_or_prop("sym_name"): op for op in missing if isinstance(op.location, UnknownLoc)}
    symbols.pop(None, None)
    if symbols:
        _complete_symbols(module, symbols)


def _complete_symbols(module: ModuleOp, symbols: dict[Attribute | None, Operation]) -> None:
    """Gives each symbol (a global, a declaration) the location of the first operation that refers to it."""
    for op in module.walk():
        for attribute in (*op.properties.values(), *op.attributes.values()):
            if isinstance(attribute, SymbolRefAttr):
                symbol = symbols.pop(attribute.root_reference, None)
                if symbol is not None:
                    symbol.location = op.location


_insert = PatternRewriter.insert
_replace = PatternRewriter.replace
_replace_op = Rewriter.replace_op


def _insert_located(self: PatternRewriter, op: Any, insertion_point: InsertPoint | None = None) -> Any:
    matched = cast(Operation | None, cast(Any, self)._current_operation)
    if matched is not None:
        _give(matched.location, op)
    return _insert(self, op, insertion_point)


def _replace_located(
    self: PatternRewriter,
    op: Operation,
    new_ops: Operation | Sequence[Operation],
    new_results: Sequence[SSAValue | None] | None = None,
    safe_erase: bool = True,
) -> None:
    _give(op.location, new_ops)
    _replace(self, op, new_ops, new_results, safe_erase)


def _replace_op_located(
    op: Operation,
    new_ops: Operation | Sequence[Operation],
    new_results: Sequence[SSAValue | None] | None = None,
    safe_erase: bool = True,
) -> None:
    _give(op.location, new_ops)
    _replace_op(op, new_ops, new_results, safe_erase)


PatternRewriter.insert = _insert_located
PatternRewriter.replace = _replace_located
Rewriter.replace_op = staticmethod(_replace_op_located)
