"""Which region a value belongs to: the innermost one that holds all its uses. What the normal forms share."""

from __future__ import annotations

from typing import cast

from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator, Pure

from relay_mlir.dialects.relay.language import FnOp


def is_movable(op: Operation) -> bool:
    """Whether an operation may stand anywhere between its operands and its uses: it has no effect."""
    return op.has_trait(Pure) and not op.has_trait(IsTerminator)


def ancestor_in(block: Block, op: Operation) -> Operation:
    """The operation of a block that an operation is, or lies in."""
    while op.parent is not block:
        op = cast(Operation, op.parent_op())
    return op


def users_in(block: Block, op: Operation) -> list[Operation]:
    """The operations of a block that use results of one, themselves or in their regions, each once."""
    users = (use.operation for result in op.results for use in result.uses)
    return list(dict.fromkeys(ancestor_in(block, user) for user in users))


def scope_of(op: Operation) -> Block:
    """The innermost block that holds all uses of an operation without effects.

    It is never within a closure that the operation is not in: there it would be evaluated at each call.
    """
    block = cast(Block, op.parent)
    while True:
        users = users_in(block, op)
        if len(users) != 1 or isinstance(users[0], FnOp):
            return block
        inner = [nested for region in users[0].regions for nested in region.blocks if _uses_in(nested, op)]
        direct = any(operand.owner is op for operand in users[0].operands)
        if direct or len(inner) != 1:
            return block
        (block,) = inner


def _uses_in(block: Block, op: Operation) -> bool:
    for result in op.results:
        for use in result.uses:
            parent: Operation | None = use.operation
            while parent is not None:
                if parent.parent is block:
                    return True
                parent = parent.parent_op()
    return False


def blocks_of(op: Operation) -> list[Block]:
    """The blocks of an operation and of everything in it, outer ones first."""
    return [block for inner in op.walk() for region in inner.regions for block in region.blocks]
