"""Checks that every value is defined before it is used: in its block, or in a block that dominates the use."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.traits import IsolatedFromAbove

from relay_mlir.lowering.diagnostics import OpError


def immediate_dominators(region: Region) -> dict[Block, Block]:
    """The immediate dominator of each block that the entry reaches; the entry's is itself.

    The algorithm is that of Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".
    """
    entry = region.blocks.first
    if entry is None:
        return {}
    order = _reverse_postorder(entry)
    number = {block: position for position, block in enumerate(order)}
    predecessors: dict[Block, list[Block]] = {block: [] for block in order}
    for block in order:
        for successor in _successors(block):
            predecessors[successor].append(block)
    dominator: dict[Block, Block] = {entry: entry}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [p for p in predecessors[block] if p in dominator]
            found = known[0]
            for other in known[1:]:
                while found is not other:
                    if number[found] > number[other]:
                        found = dominator[found]
                    else:
                        other = dominator[other]
            if dominator.get(block) is not found:
                dominator[block] = found
                changed = True
    return dominator


def _successors(block: Block) -> list[Block]:
    last = block.last_op
    return [] if last is None else [s for s in last.successors if s.parent is block.parent]


def _reverse_postorder(entry: Block) -> list[Block]:
    seen, postorder = {entry}, list[Block]()
    stack = [(entry, iter(_successors(entry)))]
    while stack:
        block, rest = stack[-1]
        successor = next(rest, None)
        if successor is None:
            postorder.append(block)
            stack.pop()
        elif successor not in seen:
            seen.add(successor)
            stack.append((successor, iter(_successors(successor))))
    return postorder[::-1]


class _Checker:
    """The checks of one module, with what is known about its blocks and regions."""

    def __init__(self) -> None:
        self._orders: dict[Block, dict[Operation, int]] = {}
        self._dominators: dict[Region, dict[Block, Block]] = {}

    def check(self, op: Operation) -> None:
        for position, value in enumerate(op.operands):
            problem = self._problem(value, op)
            if problem is not None:
                name = f" %{value.name_hint}" if value.name_hint else ""
                raise OpError(op, f"operand {position}{name} {problem}")

    def _problem(self, value: SSAValue, op: Operation) -> str | None:
        """What is wrong with this use of the value, or None."""
        if isinstance(value, OpResult):
            block = value.op.parent
        elif isinstance(value, BlockArgument):
            block = value.block
        else:
            return "was erased"
        if block is None or block.parent is None:
            return "is defined outside the module"
        user: Operation = op
        while user.parent is None or user.parent.parent is not block.parent:
            parent = user.parent_op()
            if parent is None:
                return "is defined in a region that does not hold its use"
            if parent.has_trait(IsolatedFromAbove) and not parent.is_ancestor(block):
                return f"is defined outside the isolated region of '{parent.name}'"
            user = parent
        use_block = user.parent
        if use_block is block:
            if isinstance(value, BlockArgument) or isinstance(block.parent_op(), ModuleOp):
                return None  # a module's body has no order
            order = self._order(block)
            return None if order[value.op] < order[user] else "is used before it is defined"
        return None if self._dominates(block, use_block) else "is defined in a block that does not dominate its use"

    def _order(self, block: Block) -> dict[Operation, int]:
        order = self._orders.get(block)
        if order is None:
            order = self._orders[block] = {op: position for position, op in enumerate(block.ops)}
        return order

    def _dominates(self, block: Block, other: Block) -> bool:
        region = block.parent
        assert region is not None
        dominators = self._dominators.get(region)
        if dominators is None:
            dominators = self._dominators[region] = immediate_dominators(region)
        if other not in dominators:
            return True  # the entry does not reach the use
        while other is not block:
            if dominators[other] is other:
                return False
            other = dominators[other]
        return True


def verify_dominance(module: Operation) -> None:
    """Raises OpError for the first operation that uses a value which does not dominate it."""
    checker = _Checker()
    for op in module.walk():
        if op.operands:
            checker.check(op)
