"""un-cps: functions in continuation-passing style return their results again; undoes to-cps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass

from relay_mlir.dialects.relay.core import CallOp, FuncOp, IfOp, ReturnOp, YieldOp
from relay_mlir.dialects.relay.language import ApplyOp, FnOp, GlobalOp, MatchOp
from relay_mlir.dialects.relay.language_types import TypeVarType
from relay_mlir.lowering.cps import CONTINUATION, CPS_OF, add, direct_type, terminator
from relay_mlir.lowering.diagnostics import OpError
from relay_mlir.lowering.inlining import functions_by_name, set_type
from relay_mlir.lowering.rewriting import erase_op


class UnCpsPass(ModulePass):
    """Converts the functions that to-cps made, found by their attribute `cps_of`, back to direct style.

    What a continuation does stands behind the call that it is passed to; branches that go on with the same
    continuation yield its argument. A continuation is a closure with the attribute `continuation`, which is only
    called or passed on; raises OpError for a program that uses one otherwise.
    """

    name = "un-cps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = functions_by_name(op)
        origins = {name: f.attributes[CPS_OF] for name, f in functions.items() if CPS_OF in f.attributes}
        names = {name: cast(StringAttr, origin).data for name, origin in origins.items()}
        for name, original in names.items():
            converted = _Conversion(functions[name], names).function(original)
            if original in functions:
                converted.attributes |= functions[original].attributes
                converted.properties |= {
                    key: value for key, value in functions[original].properties.items() if key == "sym_visibility"
                }
                op.body.block.insert_op_before(converted, functions[original])
                erase_op(functions[original])
            else:
                op.body.block.insert_op_before(converted, functions[name])
        for name in names:
            erase_op(functions[name])


class _Conversion:
    """The conversion of one function."""

    def __init__(self, source: FuncOp, names: dict[str, str]):
        self.source = source
        self.names = names
        self.answer = TypeVarType(source.type_parameters[-1])
        self.values: dict[SSAValue, SSAValue] = {}

    def type(self, type_: Attribute) -> Attribute:
        return direct_type(type_, self.answer)

    def function(self, name: str) -> FuncOp:
        """The function in direct style."""
        source = self.source
        block = self.entry(source.args[:-1])
        k = source.args[-1]
        results = self.block(source.block, block, k)
        add(block, ReturnOp(*results), source.return_op)
        outputs = [self.type(t) for t in cast(FunctionType, k.type).inputs]
        type_ = FunctionType.from_lists([argument.type for argument in block.args], outputs)
        function = FuncOp(name, type_, Region(block))
        if len(source.type_parameters) > 1:
            parameters = [StringAttr(parameter) for parameter in source.type_parameters[:-1]]
            function.attributes["type_params"] = ArrayAttr(parameters)
        function.location = source.location
        return function

    def entry(self, arguments: Sequence[SSAValue]) -> Block:
        """A block with these arguments in direct style."""
        block = Block(arg_types=[self.type(argument.type) for argument in arguments])
        for argument, new in zip(arguments, block.args, strict=True):
            new.name_hint = argument.name_hint
            self.values[argument] = new
        return block

    def block(self, source: Block, target: Block, end: SSAValue) -> list[SSAValue]:
        """Converts a block of which every way out calls the continuation `end`; returns what that is given."""
        while True:
            last = terminator(source)
            tail = last.prev_op
            for op in source.ops:
                if op is not tail and op is not last and not _is_continuation(op):
                    self.copy(op, target)
            if tail is None or [*tail.results] != [*last.operands]:
                raise OpError(last, "expected the answer of a call in tail position")
            results, k = self.leave(tail, target)
            if k is end:
                return results
            closure = k.owner
            if not isinstance(closure, FnOp) or not _is_continuation(closure):
                raise OpError(tail, "goes on with a function that is no continuation of this function")
            self.values |= dict(zip(closure.parameters, results, strict=True))
            source = closure.body.block

    def leave(self, op: Operation, target: Block) -> tuple[list[SSAValue], SSAValue]:
        """Converts the last call of a block; returns its results and the continuation that takes them."""
        k = _continuation_of(op)
        match op:
            case ApplyOp() if op.callee is k:
                return [self.values[value] for value in op.arguments], k
            case CallOp():
                name = op.callee.string_value()
                if name not in self.names:
                    raise OpError(op, f"calls @{name}, which is not in continuation-passing style")
                arguments = [self.values[value] for value in op.arguments[:-1]]
                new: Operation = CallOp(self.names[name], arguments, self.results(k))
            case ApplyOp():
                (result,) = self.results(k)
                arguments = [self.values[value] for value in op.arguments[:-1]]
                new = ApplyOp(self.values[op.callee], arguments, result)
            case IfOp():
                regions = [self.branch(region, k) for region in op.regions]
                new = IfOp(self.values[op.condition], self.results(k), *regions)
            case MatchOp():
                (result,) = self.results(k)
                regions = [self.branch(region, k) for region in op.regions]
                partial = op.partial is not None
                new = MatchOp(self.values[op.scrutinee], list(op.patterns), regions, result, partial=partial)
            case _:
                raise OpError(op, "expected a call in tail position")
        new.attributes |= op.attributes
        parameters = k.owner.parameters if isinstance(k.owner, FnOp) else ()
        for parameter, made in zip(parameters, new.results, strict=False):
            made.name_hint = parameter.name_hint
        return list(add(target, new, op).results), k

    def results(self, k: SSAValue) -> list[Attribute]:
        return [self.type(t) for t in cast(FunctionType, k.type).inputs]

    def branch(self, region: Region, end: SSAValue) -> Region:
        block = self.entry(region.block.args)
        results = self.block(region.block, block, end)
        add(block, YieldOp(*results), terminator(region.block))
        return Region(block)

    def copy(self, op: Operation, target: Block) -> None:
        """Copies an operation that calls nothing, with the closures in it in direct style."""
        if isinstance(op, FnOp):
            self.closure(op, target)
            return
        if isinstance(op, GlobalOp):
            name = op.function.string_value()
            new: Operation = GlobalOp(self.names.get(name, name), self.type(op.result.type))
        else:
            new = op.clone_without_regions(self.values)
            for result in new.results:
                set_type(result, self.type(result.type))
        for old, made in zip(op.results, new.results, strict=True):
            made.name_hint = old.name_hint
            self.values[old] = made
        for region, empty in zip(op.regions, new.regions, strict=True):
            block = self.entry(region.block.args)
            empty.add_block(block)
            for inner in region.block.ops:
                self.copy(inner, block)
        add(target, new, op)

    def closure(self, op: FnOp, target: Block) -> None:
        *arguments, k = op.body.block.args
        block = self.entry(arguments)
        results = self.block(op.body.block, block, k)
        add(block, YieldOp(*results), terminator(op.body.block))
        recursive = op.recursive is not None
        new = FnOp(Region(block), self.results(k), recursive=recursive, type_parameters=op.type_parameters)
        new.attributes |= op.attributes
        new.result.name_hint = op.result.name_hint
        self.values[op.result] = add(target, new, op).results[0]


def _is_continuation(op: Operation) -> bool:
    return isinstance(op, FnOp) and CONTINUATION in op.attributes


def _continuation_of(op: Operation) -> SSAValue:
    """The continuation from outside of a call in tail position that it goes on with in the end."""
    inside: set[Block] = set()
    current = op
    while True:
        if isinstance(current, IfOp | MatchOp):
            block = current.regions[0].block
            inside.add(block)
            current = cast(Operation, terminator(block).prev_op)
            continue
        if isinstance(current, ApplyOp) and _names_continuation(current.callee, current):
            k = current.callee
        elif isinstance(current, CallOp | ApplyOp) and current.arguments:
            k = current.arguments[-1]
        else:
            raise OpError(op, "expected a call in tail position")
        if isinstance(k, OpResult) and k.op.parent in inside and isinstance(k.op, FnOp):
            block = k.op.body.block
            inside.add(block)
            current = cast(Operation, terminator(block).prev_op)
        else:
            return k


def _names_continuation(callee: SSAValue, apply: ApplyOp) -> bool:
    """Whether a callee is a continuation: a closure marked so, or the last parameter of a function or closure."""
    if isinstance(callee, OpResult):
        return _is_continuation(callee.op)
    block = cast(Block, callee.owner)
    parent = block.parent_op()
    whole = isinstance(parent, FuncOp) or (isinstance(parent, FnOp) and not _is_continuation(parent))
    return whole and callee is block.args[-1] and [*cast(FunctionType, callee.type).outputs] == [apply.result.type]
