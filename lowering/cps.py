"""What to-cps and un-cps share: the types of functions in continuation-passing style, and the marks they leave."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Attribute, Block, Operation

from relay_mlir.dialects.relay.core import ReturnOp, YieldOp
from relay_mlir.dialects.relay.language_types import TypeVarType, map_type

CPS_OF = "cps_of"
"""The attribute of a function in continuation-passing style: the name of the one it was made from."""
CONTINUATION = "continuation"
"""The attribute of a closure that is the rest of a function, rather than one of the program."""


def cps_type(type_: Attribute, answer: TypeVarType) -> Attribute:
    """A type with each function in it taking a continuation: `(T) -> U` is `(T, (U) -> Answer) -> Answer`."""

    def change(part: Attribute) -> Attribute | None:
        if not isinstance(part, FunctionType):
            return None
        inputs = [cps_type(t, answer) for t in part.inputs]
        return FunctionType.from_lists([*inputs, continuation_type(list(part.outputs), answer)], [answer])

    return map_type(type_, change)


def continuation_type(results: list[Attribute], answer: TypeVarType) -> FunctionType:
    """The type of what takes these results."""
    return FunctionType.from_lists([cps_type(t, answer) for t in results], [answer])


def direct_type(type_: Attribute, answer: TypeVarType) -> Attribute:
    """The inverse of `cps_type`."""

    def change(part: Attribute) -> Attribute | None:
        if not isinstance(part, FunctionType) or list(part.outputs) != [answer] or not part.inputs.data:
            return None
        *inputs, continuation = part.inputs
        if not isinstance(continuation, FunctionType) or list(continuation.outputs) != [answer]:
            return None
        return FunctionType.from_lists(
            [direct_type(t, answer) for t in inputs], [direct_type(t, answer) for t in continuation.inputs]
        )

    return map_type(type_, change)


def has_function(type_: Attribute) -> bool:
    """Whether a function type is part of a type."""
    found: list[Attribute] = []

    def visit(part: Attribute) -> None:
        if isinstance(part, FunctionType):
            found.append(part)

    map_type(type_, visit)
    return bool(found)


def add(block: Block, op: Operation, source: Operation) -> Operation:
    """Appends an operation, with the location of the one it stems from."""
    op.location = source.location
    block.add_op(op)
    return op


def is_tail(op: Operation) -> bool:
    """Whether the results of an operation are, in order, all that the terminator behind it passes on."""
    last = op.next_op
    return isinstance(last, ReturnOp | YieldOp) and [*last.operands] == [*op.results]


def terminator(block: Block) -> Operation:
    """The last operation of a block."""
    return cast(Operation, block.last_op)
