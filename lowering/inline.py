"""inline: bodies take the place of calls where a function asks for it, and where a closure is called once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from relay_mlir.dialects.relay.core import CallOp, FuncOp
from relay_mlir.dialects.relay.language import ApplyOp, ConstructOp, ConstructorValueOp, FnOp, GlobalOp
from relay_mlir.lowering.analysis.call_graph import CallGraph
from relay_mlir.lowering.inlining import (
    copy_body,
    functions_by_name,
    hides,
    instance_of,
    marked,
    parameters_of,
)
from relay_mlir.lowering.rewriting import erase_op, replace_op

INLINE = "Inline"
"""The attribute that marks a function or closure, as in Relay: `Inline = 1`."""


@dataclass(frozen=True)
class InlinePass(ModulePass):
    """Inlines functions and closures marked `Inline` (not recursive ones), and closures that are called once.

    A closure is called once if its only use is as the callee of one `relay.apply`. A call of a known function becomes
    direct: `relay.apply` of `relay.global` is `relay.call`, of a constructor `relay.construct`. What nobody uses then
    is removed: closures, and functions marked `Inline`. A call whose types differ from those of the function in open
    dimensions stays, since it checks them at run time.
    """

    name = "inline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        graph = CallGraph(op)
        functions = functions_by_name(op)
        wanted = {
            name
            for name, function in functions.items()
            if marked(function, INLINE) and not function.primitive and not graph.is_recursive(name)
        }
        for name in graph.order():
            _inline_in(functions[name].block, functions, wanted)
        left = CallGraph(op)
        for name in wanted:
            if not left.references(name) and name != "main":
                erase_op(functions[name])


def _inline_in(block: Block, functions: dict[str, FuncOp], wanted: set[str]) -> None:
    """Inlines everything in a block, also in what is inlined there."""
    op = block.first_op
    while op is not None:
        previous, after = op.prev_op, op.next_op
        replaced = False
        if isinstance(op, CallOp) and op.callee.string_value() in wanted:
            replaced = _inline_call(op, functions[op.callee.string_value()])
        elif isinstance(op, ApplyOp):
            replaced = _inline_apply(op)
        if replaced:  # goes on with the first operation that took its place
            op = block.first_op if previous is None or previous.parent is not block else previous.next_op
            continue
        for region in op.regions:
            _inline_in(region.block, functions, wanted)
        op = after
    _drop_unused(block)


def _inline_call(call: CallOp, callee: FuncOp) -> bool:
    types = instance_of(callee.function_type, callee.type_parameters, call.arguments, call.results)
    if types is None or hides(callee.block, types):
        return False
    replace_op(call, copy_body(callee.block, dict(zip(callee.args, call.arguments, strict=True)), call, types))
    return True


def _inline_apply(apply: ApplyOp) -> bool:
    """Replaces an application of a known function."""
    made = apply.callee.op if isinstance(apply.callee, OpResult) else None
    match made:
        case GlobalOp():
            new: Operation = CallOp(made.function.string_value(), apply.arguments, [apply.result.type])
        case ConstructorValueOp():
            new = ConstructOp(made.constructor.string_value(), apply.arguments, apply.result.type)
        case FnOp() if made.recursive is None and (_called_once(made) or marked(made, INLINE)):
            return _inline_closure(apply, made)
        case _:
            return False
    if isinstance(made.result.type, FunctionType) and not _same_types(apply, made.result.type):
        return False
    cast(Block, apply.parent).insert_op_before(new, apply)
    replace_op(apply, new.results)
    return True


def _same_types(apply: ApplyOp, type_: FunctionType) -> bool:
    found = FunctionType.from_lists([value.type for value in apply.arguments], [apply.result.type])
    return found == type_


def _called_once(closure: FnOp) -> bool:
    uses = list(closure.result.uses)
    return len(uses) == 1 and isinstance(uses[0].operation, ApplyOp) and uses[0].index == 0


def _inline_closure(apply: ApplyOp, closure: FnOp) -> bool:
    general, parameters = parameters_of(closure)
    body = closure.body.block
    types = instance_of(general, parameters, apply.arguments, [apply.result])
    if types is None or hides(body, types):
        return False
    values: dict[SSAValue, SSAValue] = dict(zip(closure.parameters, apply.arguments, strict=True))
    replace_op(apply, copy_body(body, values, apply, types))
    if not closure.result.uses:
        erase_op(closure)
    return True


def _drop_unused(block: Block) -> None:
    """Removes closures and functions as values that nobody uses."""
    for op in reversed(list(block.ops)):
        if isinstance(op, FnOp | GlobalOp | ConstructorValueOp) and not op.result.uses:
            erase_op(op)
