"""lambda-lift: the bodies of closures become functions of the module that take the captured values as arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from relay_mlir.dialects.relay.core import CallOp, FuncOp, ReturnOp, YieldOp
from relay_mlir.dialects.relay.language import ApplyOp, FnOp, GlobalOp
from relay_mlir.dialects.relay.language_types import PolyType
from relay_mlir.lowering.analysis.variables import free_type_variables, free_values, type_variables
from relay_mlir.lowering.inlining import copy_body, parameters_of
from relay_mlir.lowering.rewriting import SymbolNames, erase_op, replace_op


@dataclass(frozen=True)
class LambdaLiftPass(ModulePass):
    """Gives each closure's body to a private function `@lambda_N(captured..., parameters...)`.

    A closure without captured values becomes `relay.global @lambda_N`; another one stays a closure whose body is
    nothing but `relay.call @lambda_N(captured..., parameters...)`: a code pointer with its environment. In the
    function, a recursive closure that calls itself calls the function. Type variables around the closure become type
    parameters of the function.
    """

    name = "lambda-lift"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = SymbolNames(op)
        for inner in list(op.walk(region_first=True)):
            if isinstance(inner, FnOp) and not is_partial_application(inner):
                _Lifting(op, inner, names.fresh("lambda")).run()


def is_partial_application(closure: FnOp) -> bool:
    """Whether a body only calls a function with captured values, then the parameters."""
    block = closure.body.block
    call, last = block.first_op, block.last_op
    if closure.recursive is not None or not isinstance(call, CallOp) or call.next_op is not last:
        return False
    inner = list(closure.parameters)
    outer = list(call.arguments)[: len(call.arguments) - len(inner)]
    captured = all(value not in inner for value in outer)
    return (
        captured and [*call.arguments] == [*outer, *inner] and tuple(cast(YieldOp, last).operands) == (*call.results,)
    )


class _Lifting:
    """The lifting of one closure."""

    def __init__(self, module: ModuleOp, closure: FnOp, name: str):
        self.module = module
        self.closure = closure
        self.name = name
        self.captured = free_values(closure.body)
        type_, self.own = parameters_of(closure)
        self.inputs = [*(value.type for value in self.captured), *type_.inputs]
        self.outputs = list(type_.outputs)

    def run(self) -> None:
        function = self.function()
        self.module.body.block.insert_op_after(function, _top(self.closure))
        before = self.closure
        value = self.value(before, self.captured)
        cast(Block, before.parent).insert_op_before(value, before)
        replace_op(before, value.results)

    def function(self) -> FuncOp:
        """The function that has the body."""
        closure = self.closure
        block = Block(arg_types=self.inputs)
        last = cast(YieldOp, closure.body.block.last_op)
        end = ReturnOp()
        end.location = last.location
        block.add_op(end)
        values: dict[SSAValue, SSAValue] = dict(zip([*self.captured, *closure.parameters], block.args, strict=True))
        for source, target in values.items():
            target.name_hint = source.name_hint
        itself: Operation | None = None
        if closure.self_argument is not None:
            itself = self.value(closure, list(block.args[: len(self.captured)]))
            block.insert_op_before(itself, end)
            values[closure.self_argument] = itself.results[0]
        end.operands = copy_body(closure.body.block, values, end, {})
        if itself is not None:
            self.call_directly(itself.results[0], list(block.args[: len(self.captured)]))
            if not itself.results[0].uses:
                erase_op(itself)
        function = FuncOp(self.name, FunctionType.from_lists(self.inputs, self.outputs), Region(block), private=True)
        parameters = dict.fromkeys([*free_type_variables(closure), *self.own])
        parameters |= dict.fromkeys(name for type_ in self.inputs for name in type_variables(type_))
        if parameters:
            function.attributes["type_params"] = ArrayAttr([StringAttr(name) for name in parameters])
        function.location = closure.location
        return function

    def call_directly(self, itself: SSAValue, captured: list[SSAValue]) -> None:
        """Calls of the closure by itself call the function."""
        for use in list(itself.uses):
            apply = use.operation
            if isinstance(apply, ApplyOp) and use.index == 0 and _outside_closures(apply):
                call = CallOp(self.name, [*captured, *apply.arguments], [apply.result.type])
                call.location = apply.location
                cast(Block, apply.parent).insert_op_before(call, apply)
                replace_op(apply, call.results)

    def value(self, at: Operation, captured: list[SSAValue]) -> FnOp | GlobalOp:
        """The closure as a value, made of the function and the captured values."""
        type_: Attribute = self.closure.result.type
        made: FnOp | GlobalOp
        if not captured:
            made = GlobalOp(self.name, type_)
        else:
            block = Block(arg_types=[parameter.type for parameter in self.closure.parameters])
            call = CallOp(self.name, [*captured, *block.args], self.outputs)
            end = YieldOp(*call.results)
            call.location = end.location = at.location
            block.add_ops([call, end])
            made = FnOp(Region(block), self.outputs, type_parameters=self.own)
            made.attributes |= self.closure.attributes
        made.location = at.location
        assert isinstance(type_, PolyType | FunctionType)
        return made


def _outside_closures(op: Operation) -> bool:
    """Whether an operation of a function that is being made lies in no closure of it: in one it would capture more."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        if isinstance(parent, FnOp):
            return False
        parent = parent.parent_op()
    return True


def _top(op: Operation) -> Operation:
    """The operation of the module that holds an operation."""
    while (parent := op.parent_op()) is not None and not isinstance(parent, ModuleOp):
        op = parent
    return op
