"""defunctionalization: functions that are values become data, and calling one a match on what it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from relay_mlir.dialects.relay.core import CallOp, FuncOp, ReturnOp, YieldOp
from relay_mlir.dialects.relay.language import (
    AdtOp,
    ApplyOp,
    ConstructOp,
    ConstructorOp,
    FnOp,
    GlobalOp,
    MatchOp,
)
from relay_mlir.dialects.relay.language_types import ADTType, map_type
from relay_mlir.dialects.relay.patterns import ConstructorPattern, VarPattern
from relay_mlir.lowering.analysis.variables import type_variables
from relay_mlir.lowering.cps import add, has_function
from relay_mlir.lowering.diagnostics import OpError
from relay_mlir.lowering.eta_expand import EtaExpandPass
from relay_mlir.lowering.inlining import functions_by_name, set_type
from relay_mlir.lowering.lambda_lift import LambdaLiftPass
from relay_mlir.lowering.rewriting import SymbolNames, replace_op
from relay_mlir.lowering.specialize import specialize


class DefunctionalizationPass(ModulePass):
    """Makes a first-order program: no closure, no function as a value.

    The program is specialized, so that it has no type variables, and its closures are lifted. For each function type
    there is then a data type `@Function_N` with a constructor for each function that is a value of it, whose fields
    are the captured values, and a function `@apply_N` that matches on it. Raises OpError for an `@main` that takes or
    gives functions, for a data type that declares a field of a function of type variables, and for a polymorphic value
    that is more than called.
    """

    name = "defunctionalization"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = functions_by_name(op).get("main")
        if main is not None and any(map(has_function, [*main.function_type.inputs, *main.function_type.outputs])):
            raise OpError(main, "takes or gives functions, which callers could not make or call any more")
        EtaExpandPass().apply(ctx, op)
        specialize(op)
        LambdaLiftPass().apply(ctx, op)
        _Conversion(op).run()


@dataclass
class _Kind:
    """The data that stands for the functions of a type."""

    type: FunctionType
    name: str
    """The name of the data type."""
    apply: str
    """The name of the function that calls one."""
    cases: dict[str, tuple[str, list[Attribute], Operation]] = field(
        default_factory=dict[str, tuple[str, list[Attribute], Operation]]
    )
    """By the function that is called: constructor, types of the captured values, the operation that makes it."""


class _Conversion:
    """The conversion of one module without type variables, whose closures are partial applications."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self.functions = functions_by_name(module)
        self.symbols = SymbolNames(module)
        for op in module.walk():
            if isinstance(op, ConstructorOp):
                self.symbols.fresh(op.sym_name.data)
        self.kinds: dict[FunctionType, _Kind] = {}

    def run(self) -> None:
        for op in list(self.module.walk()):
            if isinstance(op, ConstructorOp):
                self.fields(op)
            elif isinstance(op, FnOp):
                call = cast(CallOp, op.body.block.first_op)
                captured = list(call.arguments)[: len(call.arguments) - len(op.parameters)]
                self.make(op, call.callee.string_value(), captured)
            elif isinstance(op, GlobalOp):
                self.make(op, op.function.string_value(), [])
        for op in list(self.module.walk()):
            if isinstance(op, ApplyOp):
                kind = self.kind(cast(FunctionType, op.callee.type))
                call = CallOp(kind.apply, [op.callee, *op.arguments], [op.result.type])
                call.location = op.location
                cast(Block, op.parent).insert_op_before(call, op)
                replace_op(op, call.results)
        self.retype()
        for kind in list(self.kinds.values()):
            self.define(kind)

    def kind(self, type_: FunctionType) -> _Kind:
        """The data for the functions of a type."""
        if type_ not in self.kinds:
            self.kinds[type_] = _Kind(type_, self.symbols.fresh("Function"), self.symbols.fresh("apply"))
        return self.kinds[type_]

    def type(self, type_: Attribute) -> Attribute:
        """A type with data types for function types."""
        return map_type(type_, lambda t: ADTType(self.kind(t).name) if isinstance(t, FunctionType) else None)

    def fields(self, op: ConstructorOp) -> None:
        for type_ in op.fields:
            if has_function(type_) and type_variables(type_):
                raise OpError(op, f"has a field {type_}: the data for functions of type variables is not known")

    def make(self, op: FnOp | GlobalOp, callee: str, captured: list[SSAValue]) -> None:
        """Replaces a function that is a value by data."""
        if len(self.functions[callee].function_type.outputs) != 1:
            raise OpError(op, f"@{callee} has several results; a function that is a value has one")
        kind = self.kind(cast(FunctionType, op.result.type))
        if callee not in kind.cases:
            name = self.symbols.fresh(f"Call_{callee}")
            kind.cases[callee] = name, [value.type for value in captured], op
        made = ConstructOp(kind.cases[callee][0], captured, op.result.type)
        made.location = op.location
        cast(Block, op.parent).insert_op_before(made, op)
        replace_op(op, [made.result])

    def retype(self) -> None:
        """Puts data types in the place of function types everywhere."""
        for op in self.module.walk():
            values = [*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)]
            for value in values:
                set_type(value, self.type(value.type))
            if isinstance(op, FuncOp):
                type_ = op.function_type
                op.properties["function_type"] = FunctionType.from_lists(
                    [self.type(t) for t in type_.inputs], [self.type(t) for t in type_.outputs]
                )
            elif isinstance(op, ConstructorOp):
                set_fields(op, [self.type(t) for t in op.fields])

    def define(self, kind: _Kind) -> None:
        """Adds the data type for a function type, and the function that applies its values."""
        made = [ConstructorOp(name, [self.type(t) for t in captured]) for name, captured, _ in kind.cases.values()]
        declaration = AdtOp(kind.name, [], Region(Block(made)))
        inputs = [ADTType(kind.name), *(self.type(t) for t in kind.type.inputs)]
        output = self.type(kind.type.outputs.data[0])
        block = Block(arg_types=inputs)
        patterns: list[ConstructorPattern] = []
        cases: list[Region] = []
        for callee, (name, captured, source) in kind.cases.items():
            case = Block(arg_types=[self.type(t) for t in captured])
            call = add(case, CallOp(callee, [*case.args, *block.args[1:]], [output]), source)
            add(case, YieldOp(call.results[0]), source)
            patterns.append(ConstructorPattern(name, [VarPattern() for _ in captured]))
            cases.append(Region(case))
        # No function of the type is ever made: the match is not reached, and covers nothing.
        match = MatchOp(block.args[0], patterns, cases, output, partial=not cases)
        end = ReturnOp(match.result)
        block.add_ops([match, end])
        function = FuncOp(kind.apply, FunctionType.from_lists(inputs, [output]), Region(block), private=True)
        top = self.module.body.block
        first = top.first_op
        assert first is not None
        top.insert_op_before(declaration, first)
        top.add_op(function)


def set_fields(op: ConstructorOp, fields: list[Attribute]) -> None:
    """Gives a constructor other field types."""
    op.properties |= ConstructorOp(op.sym_name.data, fields).properties
