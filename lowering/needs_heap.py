"""What decides how a program is compiled: whether it needs heap objects, and whether types are still to be inferred."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from relay_mlir.dialects.relay.core import CallOp, FuncOp
from relay_mlir.dialects.relay.language_types import is_complete

LANGUAGE_FORMS = frozenset(
    {
        "relay.fn",
        "relay.apply",
        "relay.match",
        "relay.construct",
        "relay.constructor_value",
        "relay.global",
        "relay.ref_create",
        "relay.ref_read",
        "relay.ref_write",
    }
)
"""Operations on values that have no place known before the run."""


def needs_heap(module: ModuleOp) -> bool:
    """Whether a relay module has closures, data types, references, or functions that call themselves."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    calls: dict[str, list[str]] = {name: [] for name in functions}
    for name, function in functions.items():
        if function.type_parameters:
            return True
        for op in function.walk():
            if op.name in LANGUAGE_FORMS:
                return True
            if isinstance(op, CallOp):
                calls[name].append(op.callee.string_value())
    return _has_cycle(calls)


def has_holes(module: ModuleOp) -> bool:
    """Whether a value of a relay module has a type that inference must complete."""
    types = {result.type for op in module.walk() for result in op.results}
    types |= {arg.type for op in module.walk() for region in op.regions for b in region.blocks for arg in b.args}
    return not all(map(is_complete, types))


def _has_cycle(calls: dict[str, list[str]]) -> bool:
    """Whether some function calls itself, be it through others."""
    waiting = {name: len(callees) for name, callees in calls.items()}
    callers: dict[str, list[str]] = {}
    for name, callees in calls.items():
        for callee in callees:
            callers.setdefault(callee, []).append(name)
    ready = [name for name, count in waiting.items() if count == 0]
    done = 0
    while ready:
        done += 1
        for caller in callers.get(ready.pop(), []):
            waiting[caller] -= 1
            if waiting[caller] == 0:
                ready.append(caller)
    return done < len(calls)
