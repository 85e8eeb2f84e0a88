"""to-cps: every call passes on what is to be done with its result, and returns nothing of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr, TupleType, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from relay_mlir.dialects.relay.core import CallOp, FuncOp, IfOp, ReturnOp, TupleGetItemOp, TupleOp, YieldOp
from relay_mlir.dialects.relay.language import (
    AdtOp,
    ApplyOp,
    ConstructorValueOp,
    FnOp,
    GlobalOp,
    MatchOp,
)
from relay_mlir.dialects.relay.language_types import PolyType, TypeVarType
from relay_mlir.lowering.analysis.variables import bound_type_variables
from relay_mlir.lowering.cps import CONTINUATION, CPS_OF, add, continuation_type, cps_type, has_function, is_tail
from relay_mlir.lowering.diagnostics import OpError
from relay_mlir.lowering.eta_expand import expand
from relay_mlir.lowering.inlining import functions_by_name, set_type
from relay_mlir.lowering.rewriting import SymbolNames, erase_op


class ToCpsPass(ModulePass):
    """Converts functions and closures to continuation-passing style; every call is then in tail position.

    `@f(T) -> U` becomes `@f_cps(T, (U) -> Answer) -> Answer`, polymorphic in the answer; so do the types of closures.
    `@f` itself stays as a call of `@f_cps` with a continuation that returns, unless its signature has functions in it,
    which callers would have to convert. Fused groups stay as they are. Data types may not declare fields that are
    functions: their answer would be a parameter of the data type. The closures that are continuations have the
    attribute `continuation`, by which un-cps finds them.
    """

    name = "to-cps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for declared in op.ops:
            if isinstance(declared, AdtOp):
                for made in declared.constructors:
                    if any(map(has_function, made.fields)):
                        raise OpError(made, "has a field that is a function, which has no continuation-passing form")
        _Conversion(op).run()


class _Conversion:
    """The conversion of one module."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self.functions = {name: f for name, f in functions_by_name(module).items() if not f.primitive}
        names = SymbolNames(module)
        self.names = {name: names.fresh(f"{name}_cps") for name in self.functions}
        taken = set(bound_type_variables(module))
        name = "Answer"
        while name in taken:
            name += "_"
        self.answer = TypeVarType(name)
        self.values: dict[SSAValue, SSAValue] = {}

    def run(self) -> None:
        for op in list(self.module.walk()):
            if isinstance(op, ConstructorValueOp) or (
                isinstance(op, GlobalOp)
                and (isinstance(op.result.type, PolyType) or op.function.string_value() not in self.functions)
            ):
                expand(op)
        for name, function in self.functions.items():
            self.module.body.block.insert_op_after(self.function(name, function), function)
        for name, function in self.functions.items():
            if any(map(has_function, [*function.function_type.inputs, *function.function_type.outputs])):
                erase_op(function)
            else:
                self.wrap(name, function)

    def type(self, type_: Attribute) -> Attribute:
        return cps_type(type_, self.answer)

    def function(self, name: str, function: FuncOp) -> FuncOp:
        """A function in continuation-passing style."""
        outputs = list(function.function_type.outputs)
        inputs = [self.type(argument.type) for argument in function.args]
        block = Block(arg_types=[*inputs, continuation_type(outputs, self.answer)])
        for argument, new in zip(function.args, block.args, strict=False):
            new.name_hint = argument.name_hint
        self.values |= dict(zip(function.args, block.args, strict=False))
        block.args[-1].name_hint = "k"
        result = self.block(list(function.block.ops), block, block.args[-1])
        add(block, ReturnOp(result), function.return_op)
        type_ = FunctionType.from_lists([argument.type for argument in block.args], [self.answer])
        converted = FuncOp(self.names[name], type_, Region(block), private=True)
        parameters = [*function.type_parameters, self.answer.var.data]
        converted.attributes["type_params"] = ArrayAttr([StringAttr(parameter) for parameter in parameters])
        converted.attributes[CPS_OF] = StringAttr(name)
        converted.location = function.location
        return converted

    def wrap(self, name: str, function: FuncOp) -> None:
        """Makes a function call its converted form with a continuation that returns."""
        outputs = list(function.function_type.outputs)
        inner = Block(arg_types=outputs)
        several = len(outputs) != 1
        answer: Attribute = TupleType(tuple(cast(Sequence[TupleType], outputs))) if several else outputs[0]
        result = add(inner, TupleOp(*inner.args), function).results[0] if several else inner.args[0]
        add(inner, YieldOp(result), function)
        block = Block(arg_types=[argument.type for argument in function.args])
        for argument, new in zip(function.args, block.args, strict=True):
            new.name_hint = argument.name_hint
        identity = FnOp(Region(inner), [answer])
        identity.attributes[CONTINUATION] = UnitAttr()
        last = add(block, identity, function).results[0]
        call = add(block, CallOp(self.names[name], [*block.args, last], [answer]), function)
        results = list(call.results)
        if several:
            results = [
                add(block, TupleGetItemOp(call.results[0], index), function).results[0] for index in range(len(outputs))
            ]
        add(block, ReturnOp(*results), function)
        function.body.detach_block(function.block)
        function.body.add_block(block)

    # Blocks

    def block(self, ops: Sequence[Operation], target: Block, k: SSAValue) -> SSAValue:
        """Converts operations up to a terminator, whose values go to the continuation; returns the answer."""
        for number, op in enumerate(ops):
            if isinstance(op, ReturnOp | YieldOp):
                values = [self.values[value] for value in op.operands]
                return add(target, ApplyOp(k, values, self.answer), op).results[0]
            if self.is_control(op):
                rest = k if is_tail(op) else self.continuation(op, ops[number + 1 :], target, k)
                return self.control(op, target, rest)
            self.copy(op, target)
        raise AssertionError("a block ends without a terminator")

    def is_control(self, op: Operation) -> bool:
        """Whether running an operation calls something, now or in a branch of it."""
        if isinstance(op, ApplyOp):
            return True
        if isinstance(op, CallOp):
            return op.callee.string_value() in self.functions
        if isinstance(op, FnOp):
            return False
        return any(self.is_control(inner) for region in op.regions for inner in region.block.ops)

    def continuation(self, op: Operation, rest: Sequence[Operation], target: Block, k: SSAValue) -> SSAValue:
        """A closure that takes the results of an operation and does the rest."""
        block = Block(arg_types=[self.type(result.type) for result in op.results])
        for result, new in zip(op.results, block.args, strict=True):
            new.name_hint = result.name_hint
            self.values[result] = new
        answer = self.block(rest, block, k)
        add(block, YieldOp(answer), op)
        closure = FnOp(Region(block), [self.answer])
        closure.attributes[CONTINUATION] = UnitAttr()
        return add(target, closure, op).results[0]

    def control(self, op: Operation, target: Block, k: SSAValue) -> SSAValue:
        """Converts an operation that calls, given what is done with its results; returns the answer."""
        operands = [self.values[operand] for operand in op.operands]
        new: Operation
        match op:
            case CallOp():
                new = CallOp(self.names[op.callee.string_value()], [*operands, k], [self.answer])
            case ApplyOp():
                new = ApplyOp(operands[0], [*operands[1:], k], self.answer)
            case IfOp():
                new = IfOp(operands[0], [self.answer], *(self.branch(region, k) for region in op.regions))
            case MatchOp():
                cases = [self.branch(region, k) for region in op.regions]
                partial = op.partial is not None
                new = MatchOp(operands[0], list(op.patterns), cases, self.answer, partial=partial)
            case _:
                raise OpError(op, "holds a call, but has no continuation-passing form")
        new.attributes |= op.attributes
        return add(target, new, op).results[0]

    def branch(self, region: Region, k: SSAValue) -> Region:
        block = self.entry(region)
        answer = self.block(list(region.block.ops), block, k)
        add(block, YieldOp(answer), cast(Operation, region.block.last_op))
        return Region(block)

    def entry(self, region: Region) -> Block:
        """A block with the converted arguments of that of a region."""
        block = Block(arg_types=[self.type(argument.type) for argument in region.block.args])
        for argument, new in zip(region.block.args, block.args, strict=True):
            new.name_hint = argument.name_hint
            self.values[argument] = new
        return block

    # Operations that call nothing

    def copy(self, op: Operation, target: Block) -> None:
        """Copies an operation, converting the types of its results, and the closures in it."""
        if isinstance(op, FnOp):
            self.closure(op, target)
            return
        if isinstance(op, GlobalOp):
            new: Operation = GlobalOp(self.names[op.function.string_value()], self.type(op.result.type))
        else:
            new = op.clone_without_regions(self.values)
            for result in new.results:
                set_type(result, self.type(result.type))
        for old, made in zip(op.results, new.results, strict=True):
            made.name_hint = old.name_hint
            self.values[old] = made
        for region, empty in zip(op.regions, new.regions, strict=True):
            block = self.entry(region)
            empty.add_block(block)
            for inner in region.block.ops:
                self.copy(inner, block)
        add(target, new, op)

    def closure(self, op: FnOp, target: Block) -> None:
        block = Block(arg_types=[self.type(argument.type) for argument in op.body.block.args])
        for argument, new in zip(op.body.block.args, block.args, strict=True):
            new.name_hint = argument.name_hint
            self.values[argument] = new
        k = block.insert_arg(continuation_type(list(op.function_type.outputs), self.answer), len(block.args))
        k.name_hint = "k"
        answer = self.block(list(op.body.block.ops), block, k)
        add(block, YieldOp(answer), cast(Operation, op.body.block.last_op))
        recursive = op.recursive is not None
        new = FnOp(Region(block), [self.answer], recursive=recursive, type_parameters=op.type_parameters)
        new.attributes |= op.attributes
        new.result.name_hint = op.result.name_hint
        self.values[op.result] = add(target, new, op).results[0]
