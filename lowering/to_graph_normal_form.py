"""to-graph-normal-form: the order of what has no effect is forgotten: it is that in which values are needed."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult
from xdsl.passes import ModulePass

from relay_mlir.dialects.relay.core import FuncOp
from relay_mlir.lowering.rewriting import erase_op
from relay_mlir.lowering.scopes import blocks_of, is_movable


class ToGraphNormalFormPass(ModulePass):
    """Orders each block by need, depth first from its effects and its terminator, and drops what nothing needs.

    Relay's form has no `let`, only nodes that are shared. SSA has the nodes; what a `let` adds to them is an order,
    and bindings that are never used. Two programs that differ in these only become the same. Effects (references,
    calls, what has regions that run) keep their order.
    """

    name = "to-graph-normal-form"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.ops:
            if isinstance(func, FuncOp):
                for block in reversed(blocks_of(func)):
                    _order(block)


def _order(block: Block) -> None:
    needed: dict[Operation, None] = {}
    for root in block.ops:
        if not is_movable(root):
            _need(root, block, needed)
    for op in reversed(list(block.ops)):
        if op not in needed:
            erase_op(op)
    for op in needed:
        op.detach()
        block.add_op(op)


def _need(root: Operation, block: Block, needed: dict[Operation, None]) -> None:
    """Adds an operation behind those of its block that it needs, without recursion."""
    stack: list[tuple[Operation, bool]] = [(root, False)]
    while stack:
        op, ready = stack.pop()
        if op in needed:
            continue
        if ready:
            needed[op] = None
            continue
        stack.append((op, True))
        stack += [(made, False) for made in reversed(_operands(op, block)) if made not in needed]


def _operands(op: Operation, block: Block) -> list[Operation]:
    """The operations of a block that one uses, itself or in its regions, in order."""
    values = (operand for inner in op.walk() for operand in inner.operands)
    return [value.op for value in values if isinstance(value, OpResult) and value.op.parent is block]
