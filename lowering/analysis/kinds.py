"""Kinds: whether each type of a program is one: its data types are declared, with as many arguments as parameters."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, TupleType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.language import AdtOp
from relay_mlir.dialects.relay.language_types import (
    ADTType,
    IncompleteType,
    PolyType,
    RefType,
    TypeVarType,
    parts,
)
from relay_mlir.dialects.relay.types import dtype_name
from relay_mlir.lowering.analysis.variables import types_of

Problem = tuple[Operation, str]
"""An operation and what is wrong with it."""


def kind_problems(module: ModuleOp) -> list[Problem]:
    """What is wrong with the kinds of the types of a module, each kind of mistake of an operation once."""
    declared = {op.sym_name.data: op for op in module.ops if isinstance(op, AdtOp)}
    found: dict[Problem, None] = {}
    for op in module.walk():
        for type_ in types_of(op):
            for part in parts(type_):
                found.update(dict.fromkeys((op, problem) for problem in _problems(part, declared)))
    return list(found)


def _problems(part: Attribute, declared: dict[str, AdtOp]) -> Iterator[str]:
    """What is wrong with a type itself, apart from the types in it."""
    match part:
        case ADTType():
            adt = declared.get(part.adt_name)
            if adt is None:
                yield f"{part}: @{part.adt_name} is not a data type of this module"
            elif len(adt.type_parameters) != len(part.arguments):
                wanted, given = len(adt.type_parameters), len(part.arguments)
                yield f"{part}: @{part.adt_name} takes {wanted} types, but is given {given}"
        case TensorType():
            try:
                dtype_name(part.element_type)
            except VerifyException as e:
                yield f"{part}: {e}"
        case FunctionType() | TupleType() | RefType() | TypeVarType() | IncompleteType() | PolyType():
            pass
        case _:
            yield f"{part} is not a type of the relay language"
