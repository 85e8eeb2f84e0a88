"""How a value is bound in Relay text, so that reading the text evaluates it where it stands."""

from __future__ import annotations

from enum import Enum

from xdsl.ir import Block, Operation, SSAValue

from relay_mlir.dialects.relay.core import (
    ConstantOp,
    IfOp,
    TupleGetItemOp,
    TupleOp,
    WeightOp,
)
from relay_mlir.dialects.relay.language import ApplyOp, ConstructOp, ConstructorValueOp, FnOp, GlobalOp, MatchOp
from relay_mlir.dialects.relay.op import RelayOp
from relay_mlir.frontends.relay_text.op_table import form

_PURE = (
    ConstantOp,
    WeightOp,
    TupleOp,
    TupleGetItemOp,
    ConstructOp,
    ConstructorValueOp,
    GlobalOp,
    FnOp,
    RelayOp,
)


class Binding(Enum):
    """How an operation is written."""

    INLINE = "at its use"
    GRAPH = "%0 = ...;"
    LET = "let %x = ...;"
    SEQUENCE = "...;"
    RESULT = "as the value of its block"


def is_pure(op: Operation) -> bool:
    """Whether a reader may evaluate the operation later: as the reader decides it, from the syntax alone."""
    if isinstance(op, IfOp) or (isinstance(op, MatchOp) and op.partial is None):
        return all(is_pure(inner) for region in op.regions for inner in list(region.block.ops)[:-1])
    return isinstance(op, _PURE)


def gives_tuple(op: Operation) -> bool:
    """Whether what is written for an operation gives a tuple, of which its results are the first fields."""
    if len(op.results) != 1:
        return True
    how = form(type(op).OPERATOR.name) if isinstance(op, RelayOp) else None
    return how is not None and (how.tuple_result or bool(how.extra_results))


def binding_of(op: Operation, last: Operation, let: bool) -> Binding:
    """How an operation of a block is written; `last` ends the block, `let` says to bind everything by `let`."""
    users = [use.operation for result in op.results for use in result.uses]
    if op.next_op is last and users == [last] and len(last.operands) == 1 and not gives_tuple(op):
        return Binding.RESULT
    if not users:
        return Binding.SEQUENCE
    if _is_leaf(op) and len(users) == 1 and _directly_before(op, users[0]):
        return Binding.INLINE
    named = any(result.name_hint for result in op.results)
    if let or named or not is_pure(op) or not _evaluated_here(op, users):
        return Binding.LET
    return Binding.GRAPH


def _is_leaf(op: Operation) -> bool:
    """Whether an operation without operands may be written at its use."""
    if isinstance(op, GlobalOp | ConstructorValueOp):
        # Called where it is written, it would be another call.
        return not any(isinstance(use.operation, ApplyOp) and use.index == 0 for use in op.result.uses)
    return isinstance(op, ConstantOp | WeightOp) or (isinstance(op, ConstructOp) and not op.fields)


def _directly_before(op: Operation, user: Operation) -> bool:
    """Whether a leaf stands where a reader puts one that is written at its use: before it, in operand order."""
    if op.parent is not user.parent or user.regions:
        return False
    before: list[Operation] = []
    for operand in reversed(user.operands):
        owner = operand.owner
        if isinstance(owner, Operation) and owner.parent is user.parent and _is_leaf(owner) and _uses(operand) == 1:
            before.append(owner)
    position = user
    for expected in before:
        if position.prev_op is not expected:
            return False
        position = expected
        if expected is op:
            return True
    return False


def _uses(value: SSAValue) -> int:
    return sum(1 for _ in value.uses)


def _evaluated_here(op: Operation, users: list[Operation]) -> bool:
    """Whether the innermost scope around all uses is the block of the operation."""
    inside: set[Block] = set()
    for user in users:
        block = user.parent
        if block is op.parent:
            return True
        while block is not None and (parent := block.parent_op()) is not None and parent.parent is not op.parent:
            block = parent.parent
        if block is not None:
            inside.add(block)
    return len(inside) > 1
