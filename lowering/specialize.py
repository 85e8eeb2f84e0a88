"""Monomorphic programs: a copy of each polymorphic function and closure for each way in which it is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation

from relay_mlir.dialects.relay.core import CallOp, FuncOp
from relay_mlir.dialects.relay.language import ApplyOp, FnOp, GlobalOp, instantiate
from relay_mlir.dialects.relay.language_types import UNIT, PolyType, substitute
from relay_mlir.lowering.diagnostics import OpError
from relay_mlir.lowering.inlining import functions_by_name, named_function, replace_type_variables, set_type
from relay_mlir.lowering.rewriting import SymbolNames, erase_op

LIMIT = 10_000
"""How many copies are made before recursion at ever new types is assumed."""


def specialize(module: ModuleOp) -> None:
    """Makes a module monomorphic; functions with type parameters are gone then.

    Raises OpError for a polymorphic value that is more than called, and for recursion at ever new types.
    """
    _Specialization(module).run()


class _Specialization:
    """The copies made so far of the functions of a module."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self.functions = functions_by_name(module)
        self.names = SymbolNames(module)
        self.copies: dict[tuple[str, tuple[Attribute, ...]], str] = {}
        self.pending = [f for f in self.functions.values() if not f.type_parameters]

    def run(self) -> None:
        while self.pending:
            function = self.pending.pop()
            self.closures(function)
            for op in list(function.walk()):
                self.use(op)
        for function in self.functions.values():
            if function.type_parameters:
                erase_op(function)

    def use(self, op: Operation) -> None:
        """Makes an operation name the copy of a polymorphic function for its types."""
        name = named_function(op)
        general = self.functions.get(name) if name is not None else None
        if name is None or general is None or not general.type_parameters:
            return
        if isinstance(op, GlobalOp):
            if not isinstance(op.result.type, FunctionType):
                self.calls(op)
                return
            copy = self.copy(op, general, op.result.type)
            op.properties["function"] = SymbolRefAttr(copy)
        else:
            call = cast(CallOp, op)
            found = FunctionType.from_lists([v.type for v in call.arguments], [v.type for v in call.results])
            call.properties["callee"] = SymbolRefAttr(self.copy(op, general, found))

    def calls(self, value: GlobalOp) -> None:
        """Gives each call of a polymorphic function that is a value a function of its own."""
        for apply, type_ in _applications(value):
            made = GlobalOp(value.function.string_value(), type_)
            made.location = value.location
            cast(Block, apply.parent).insert_op_before(made, apply)
            apply.operands[0] = made.result
            self.use(made)
        erase_op(value)

    def copy(self, op: Operation, general: FuncOp, found: FunctionType) -> str:
        """The name of the copy of a function for a type."""
        values: dict[str, Attribute] = {}
        instantiate(general.function_type, found, general.type_parameters, values)
        # A variable that is in no argument and no result may be anything.
        chosen = {name: values.get(name, UNIT) for name in general.type_parameters}
        key = general.sym_name.data, tuple(chosen.values())
        if key not in self.copies:
            if len(self.copies) >= LIMIT:
                raise OpError(op, f"uses @{key[0]} at ever new types, the last {found}")
            self.copies[key] = self.names.fresh(key[0])
            copied = general.clone()
            copied.properties["sym_name"] = StringAttr(self.copies[key])
            copied.properties["sym_visibility"] = StringAttr("private")
            copied.properties["function_type"] = substitute(general.function_type, chosen)
            del copied.attributes["type_params"]
            replace_type_variables(copied, chosen)
            self.module.body.block.insert_op_before(copied, general)
            self.pending.append(copied)
        return self.copies[key]

    def closures(self, function: FuncOp) -> None:
        """Gives each call of a polymorphic closure a copy of its own; outer closures first, copies hold inner ones."""
        while True:
            found = next((op for op in function.walk() if isinstance(op, FnOp) and op.type_parameters), None)
            if found is None:
                return
            for apply, type_ in _applications(found):
                values: dict[str, Attribute] = {}
                instantiate(cast(PolyType, found.result.type).body, type_, found.type_parameters, values)
                chosen = {name: values.get(name, UNIT) for name in found.type_parameters}
                copied = found.clone()
                set_type(copied.result, substitute(cast(PolyType, found.result.type).body, chosen))
                replace_type_variables(copied, chosen)
                if (itself := copied.self_argument) is not None:
                    set_type(itself, copied.result.type)
                cast(Block, found.parent).insert_op_before(copied, found)
                apply.operands[0] = copied.result
            erase_op(found)


def _applications(value: FnOp | GlobalOp) -> Sequence[tuple[ApplyOp, FunctionType]]:
    """The calls of a polymorphic value, with their types; raises OpError for another use."""
    found: list[tuple[ApplyOp, FunctionType]] = []
    for use in list(value.result.uses):
        apply = use.operation
        if not isinstance(apply, ApplyOp) or use.index != 0:
            raise OpError(value, "is polymorphic and more than called: it has no single type")
        types = [v.type for v in apply.arguments], [apply.result.type]
        found.append((apply, FunctionType.from_lists(*types)))
    return found
