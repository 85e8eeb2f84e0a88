"""Free and bound variables of a program: values, and type variables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from relay_mlir.dialects.relay.core import FuncOp
from relay_mlir.dialects.relay.language import AdtOp, ConstructorOp, FnOp
from relay_mlir.dialects.relay.language_types import PolyType, TypeVarType, map_type


def free_values(region: Region) -> list[SSAValue]:
    """The values of outer regions that a region uses, each once, in the order of their first use."""
    inside: set[Block] = set(region.blocks)
    for op in region.walk():
        inside.update(block for inner in op.regions for block in inner.blocks)
    found: dict[SSAValue, None] = {}
    for op in region.walk():
        for value in op.operands:
            if _block_of(value) not in inside:
                found[value] = None
    return list(found)


def _block_of(value: SSAValue) -> Block | None:
    return value.op.parent if isinstance(value, OpResult) else cast(Block, value.owner)


def bound_values(op: Operation) -> list[SSAValue]:
    """The values that a function, or anything else with regions, binds in them: arguments and results, in order."""
    found: list[SSAValue] = []
    for region in op.regions:
        for block in region.blocks:
            found += block.args
            for inner in block.ops:
                found += inner.results
                found += bound_values(inner)
    return found


def free_type_variables(op: Operation) -> list[str]:
    """The type variables that an operation, with all in it, uses and does not bind, each once, in order."""
    found: dict[str, None] = {}
    _collect(op, frozenset(), found)
    return list(found)


def bound_type_variables(op: Operation) -> list[str]:
    """The type variables that functions, closures and data types bind in an operation, each once, in order."""
    found: dict[str, None] = {}
    for inner in op.walk():
        found.update(dict.fromkeys(_binders(inner)))
        for type_ in types_of(inner):
            map_type(type_, lambda part: found.update(_poly_binders(part)))
    return list(found)


def types_of(op: Operation) -> Iterable[Attribute]:
    """The types that an operation states: of its results and block arguments, its signature, its fields."""
    yield from (result.type for result in op.results)
    yield from (argument.type for region in op.regions for block in region.blocks for argument in block.args)
    if isinstance(op, FuncOp):
        yield op.function_type
    if isinstance(op, ConstructorOp):
        yield from op.fields


def _binders(op: Operation) -> tuple[str, ...]:
    return op.type_parameters if isinstance(op, FuncOp | FnOp | AdtOp) else ()


def _poly_binders(type_: Attribute) -> dict[str, None]:
    return dict.fromkeys(type_.type_parameters) if isinstance(type_, PolyType) else {}


def _collect(op: Operation, bound: frozenset[str], found: dict[str, None]) -> None:
    inner = bound | set(_binders(op))
    for type_ in types_of(op):
        # The type of a polymorphic closure binds its own variables.
        found.update(dict.fromkeys(name for name in type_variables(type_) if name not in inner))
    for region in op.regions:
        for block in region.blocks:
            for child in block.ops:
                _collect(child, inner, found)


def type_variables(type_: Attribute) -> list[str]:
    """The free type variables of a type, each once, in order."""
    found: dict[str, None] = {}

    def visit(part: Attribute, bound: frozenset[str]) -> Attribute | None:
        if isinstance(part, TypeVarType) and part.var.data not in bound:
            found[part.var.data] = None
        elif isinstance(part, PolyType):
            inside = bound | set(part.type_parameters)
            map_type(part.body, lambda inner: visit(inner, inside))
            return part
        return None

    map_type(type_, lambda part: visit(part, frozenset()))
    return list(found)
