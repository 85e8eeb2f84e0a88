"""What passes on functions share: copies of function bodies in place of calls, with type variables replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import FunctionType, ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from relay_mlir.dialects.relay.core import CallOp, FuncOp
from relay_mlir.dialects.relay.language import FnOp, GlobalOp, instantiate
from relay_mlir.dialects.relay.language_types import PolyType, substitute
from relay_mlir.lowering.analysis.variables import type_variables


def functions_by_name(module: ModuleOp) -> dict[str, FuncOp]:
    """The functions of a module."""
    return {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}


def named_function(op: Operation) -> str | None:
    """The function of the module that an operation calls or takes as a value."""
    if isinstance(op, CallOp):
        return op.callee.string_value()
    return op.function.string_value() if isinstance(op, GlobalOp) else None


def set_type(value: SSAValue, type_: Attribute) -> None:
    """Gives a value another type."""
    value._type = type_  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]


def replace_type_variables(op: Operation, values: Mapping[str, Attribute]) -> None:
    """Replaces type variables in the types of an operation and all in it. Raises ValueError, see `hides`."""
    if not values:
        return
    for result in op.results:
        set_type(result, substitute(result.type, values))
    inner = values
    if isinstance(op, FnOp) and op.type_parameters:
        inner = {name: type_ for name, type_ in values.items() if name not in op.type_parameters}
    for region in op.regions:
        for block in region.blocks:
            for argument in block.args:
                set_type(argument, substitute(argument.type, inner))
            for child in block.ops:
                replace_type_variables(child, inner)


def hides(body: Block, values: Mapping[str, Attribute]) -> bool:
    """Whether a polymorphic closure in a body binds a variable that is free in one of these types."""
    names = {name for type_ in values.values() for name in type_variables(type_)}
    return any(isinstance(op, FnOp) and names.intersection(op.type_parameters) for op in body.walk())


def instance_of(
    general: FunctionType, parameters: Sequence[str], arguments: Sequence[SSAValue], results: Sequence[SSAValue]
) -> dict[str, Attribute] | None:
    """What the type parameters of a function stand for at a call; None unless the types then are exactly the same.

    They may differ in open dimensions: then the call checks them at run time, and its body cannot take its place.
    """
    found = FunctionType.from_lists([value.type for value in arguments], [value.type for value in results])
    values: dict[str, Attribute] = {}
    if not instantiate(general, found, parameters, values):
        return None
    return values if substitute(general, values) == found else None


def copy_body(
    body: Block, arguments: Mapping[SSAValue, SSAValue], before: Operation, types: Mapping[str, Attribute]
) -> list[SSAValue]:
    """Copies the operations of a body in front of an operation; returns the values that its terminator gives."""
    mapping = dict(arguments)
    block = cast(Block, before.parent)
    last = cast(Operation, body.last_op)
    for op in body.ops:
        if op is not last:
            copied = op.clone(mapping)
            replace_type_variables(copied, types)
            block.insert_op_before(copied, before)
    return [mapping.get(value, value) for value in last.operands]


def parameters_of(closure: FnOp) -> tuple[FunctionType, tuple[str, ...]]:
    """The type of a closure without its type parameters, and these."""
    type_ = closure.result.type
    return (type_.body, type_.type_parameters) if isinstance(type_, PolyType) else (closure.function_type, ())


def set_callee(call: CallOp, name: str) -> None:
    """Makes a call call another function."""
    call.properties["callee"] = SymbolRefAttr(name)


def marked(op: Operation, name: str) -> bool:
    """Whether an attribute is there and is not 0, false or "0": Relay's `Inline=1`."""
    found: Any = op.attributes.get(name)
    if found is None:
        return False
    value = getattr(getattr(found, "value", None), "data", None)
    return value != 0 and getattr(found, "data", None) not in ("0", "")
