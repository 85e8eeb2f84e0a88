"""to-basic-block-normal-form: each value is bound in the innermost block that holds all its uses."""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from relay_mlir.dialects.relay.core import FuncOp
from relay_mlir.lowering.scopes import blocks_of, is_movable, scope_of, users_in


class ToBasicBlockNormalFormPass(ModulePass):
    """Moves what has no effect into the branch or case that alone uses it.

    Relay's form lets a value have a name only where several scopes use it, in the scope around them. In SSA each value
    has a name; what remains is the scope, and that a branch not taken computes nothing for the others. A value used
    in a closure stays outside, where it is computed once. `print-analysis{which=basic-block-normal-form}` checks.
    """

    name = "to-basic-block-normal-form"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.ops:
            if isinstance(func, FuncOp):
                for block in blocks_of(func):
                    _sink(block)


def _sink(block: Block) -> None:
    """Moves the operations of a block into the scopes of their uses, users first."""
    for op in reversed(list(block.ops)):
        if not is_movable(op) or not any(result.uses for result in op.results):
            continue
        scope = scope_of(op)
        if scope is not block:
            users = set(users_in(scope, op))
            first = next(user for user in scope.ops if user in users)
            op.detach()
            cast(Block, first.parent).insert_op_before(op, first)
