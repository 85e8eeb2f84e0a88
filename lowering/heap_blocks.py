"""The blocks of heap functions: their order, joining those that only follow each other, erasing what is not used."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import cf
from xdsl.ir import Block, Operation, OpResult
from xdsl.traits import is_side_effect_free

from relay_mlir.dialects.heap.ops import BoxOp, FuncOp, UnboxOp


def topological(function: FuncOp) -> list[Block]:
    """The blocks, each behind all that branch to it; those that nothing reaches are left out."""
    order: list[Block] = []
    seen: set[Block] = set()
    pending: list[tuple[Block, bool]] = [(function.body.blocks[0], False)]
    while pending:
        block, done = pending.pop()
        if done:
            order.append(block)
        elif block not in seen:
            seen.add(block)
            pending.append((block, True))
            pending += [(successor, False) for successor in cast(Operation, block.last_op).successors]
    return order[::-1]


def join_blocks(function: FuncOp) -> None:
    """Joins each block with the only one that branches to it, where that one goes nowhere else; puts them in order."""
    order = topological(function)
    incoming: dict[Block, int] = {}
    for block in order:
        for successor in cast(Operation, block.last_op).successors:
            incoming[successor] = incoming.get(successor, 0) + 1
    kept: list[Block] = []
    gone: set[Block] = set()
    for block in order:
        if block in gone:
            continue
        kept.append(block)
        while isinstance(last := block.last_op, cf.BranchOp) and incoming[last.successor] == 1:
            target = last.successor
            for argument, value in zip(target.args, last.arguments, strict=True):
                value.name_hint = value.name_hint or argument.name_hint
                argument.replace_all_uses_with(value)
            block.erase_op(last)
            moved = list(target.ops)
            for op in moved:
                op.detach()
            block.add_ops(moved)
            gone.add(target)
    region = function.body
    for block in list(region.blocks):
        region.detach_block(block)
    for block in kept:
        region.add_block(block)


def erase_dead(function: FuncOp) -> None:
    """Erases operations without effects whose results nothing uses, and the boxing of what came out of a word."""
    pending = [op for block in function.body.blocks for op in block.ops]
    for op in pending:
        if isinstance(op, BoxOp) and isinstance(op.value.owner, UnboxOp):
            op.result.replace_all_uses_with(op.value.owner.value)
    while pending:
        op = pending.pop()
        if op.parent is None or not op.results or any(r.first_use for r in op.results) or not is_side_effect_free(op):
            continue
        pending += [operand.op for operand in op.operands if isinstance(operand, OpResult)]
        op.parent.erase_op(op)
