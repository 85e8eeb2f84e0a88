"""Loops as functions that call themselves: what is carried from round to round is their arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import FunctionType, TupleType
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue

from relay_mlir.dialects.relay.core import IfOp, TupleGetItemOp, TupleOp, YieldOp
from relay_mlir.dialects.relay.language import ApplyOp, FnOp
from relay_mlir.dialects.relay.types import ANY, Tensor, show_shape, tensor
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value

Step: TypeAlias = "Callable[[Sequence[Value]], Sequence[Value]]"
"""The carried values of the next round, from those of this one."""
Test: TypeAlias = "Callable[[Sequence[Value]], Value]"
"""Whether there is another round: a bool of rank 0."""


def joined(left: Tensor, right: Tensor, what: str) -> Tensor:
    """The type of what may have either type: dimensions that differ are `?`; raises Problem where it is a third."""
    if left.element_type != right.element_type or left.get_num_dims() != right.get_num_dims():
        shown = [f"{type_.element_type} {show_shape(type_.get_shape())}" for type_ in (left, right)]
        raise Problem(f"{what} is {' or '.join(shown)}: no type stands for both")
    pairs = zip(left.get_shape(), right.get_shape(), strict=True)
    return tensor([a if a == b else ANY for a, b in pairs], left.element_type)


def settled(c: Emitter, types: Sequence[Tensor], step: Step) -> tuple[list[Tensor], list[Tensor]]:
    """Types that the carried values keep from round to round, and the types of what else the step gives.

    Starts from the types before the first round; a dimension that a round changes is `?`. Raises Problem.
    """
    found = list(types)
    while True:
        block = Block(arg_types=found)
        with c.into(block):
            results = [value.type for value in step([_argument(value) for value in block.args])]
        block.erase(safe_erase=False)
        wider = [
            joined(a, b, f"value {at} carried by the loop")
            for at, (a, b) in enumerate(zip(found, results, strict=False))
        ]
        if wider == found:
            return found, results[len(found) :]
        found = wider


def repeat(c: Emitter, initial: Sequence[Value], types: Sequence[Tensor], test: Test, step: Step) -> list[Value]:
    """The carried values, of these (settled) types, after the last round: a recursive closure, called once."""
    result = types[0] if len(types) == 1 else TupleType(tuple(types))
    function = FunctionType.from_lists(list(types), [result])
    block = Block(arg_types=[function, *types])
    state = [_argument(value) for value in block.args[1:]]
    with c.into(block):
        going = c.ssa(test(state))
        again, done = Block(), Block()
        with c.into(again):
            after = [c.ssa(value) for value in step(state)]
            c.append(YieldOp(c.append(ApplyOp(block.args[0], after, result)).results[0]))
        with c.into(done):
            c.append(YieldOp(_packed(c, [c.ssa(value) for value in state])))
        choice = c.append(IfOp(going, [result], Region(again), Region(done)))
        c.append(YieldOp(choice.results[0]))
    made = c.append(FnOp(Region(block), [result], recursive=True))
    call = c.append(ApplyOp(made.results[0], [c.ssa(value) for value in initial], cast(Attribute, result)))
    return _unpacked(c, call.results[0], len(types))


def _argument(value: BlockArgument) -> Value:
    return Value(cast(Tensor, value.type), ssa=value)


def _packed(c: Emitter, values: Sequence[SSAValue]) -> SSAValue:
    return values[0] if len(values) == 1 else c.append(TupleOp(*values)).results[0]


def _unpacked(c: Emitter, value: SSAValue, count: int) -> list[Value]:
    if count == 1:
        return [Value(cast(Tensor, value.type), ssa=value)]
    fields = [c.append(TupleGetItemOp(value, at)).results[0] for at in range(count)]
    return [Value(cast(Tensor, field.type), ssa=field) for field in fields]
