"""If: one branch where the condition is known at import, else `relay.if`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Region

from relay_mlir.dialects.relay.core import IfOp, YieldOp
from relay_mlir.dialects.relay.types import Tensor
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.graph import AlreadyReported
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.recursion import joined
from relay_mlir.frontends.onnx.registry import converts
from relay_mlir.frontends.onnx.structures import Item, tensors


@converts("If")
def if_(c: Emitter, node: NodeView) -> Sequence[Item]:
    """One branch where the condition is known at import, else `relay.if`."""
    condition = node.input(0)
    names = ("then_branch", "else_branch")
    branches = tuple(map(node.graph, names))
    if condition.rank:
        condition = c.reshape(condition, ())
    if condition.known:
        return node.subgraph(branches[0 if bool(condition.array()) else 1], ())
    regions: list[Region] = []
    yielded: list[list[Value]] = []
    for name, graph in zip(names, branches, strict=True):
        block = Block()
        with c.into(block):
            what = "what a branch gives: input 0 (cond) must be known when the model is imported"
            try:
                values = tensors(node.subgraph(graph, ()), what)
            except AlreadyReported:
                raise Problem(
                    f"its {name} has problems of its own; where the other one is always taken, give the inputs that "
                    "the condition depends on a value (--value): then only that one is imported"
                ) from None
            c.append(YieldOp(*map(c.ssa, values)))
        regions.append(Region(block))
        yielded.append(values)
    types = _common_types(*yielded)
    op = c.append(IfOp(c.ssa(condition), types, regions[0], regions[1]))
    return [Value(type_, ssa=result) for type_, result in zip(types, op.results, strict=True)]


def _common_types(then: list[Value], other: list[Value]) -> list[Tensor]:
    """The types of what either branch gives, dimensions that differ open; raises Problem where there are none."""
    if len(then) != len(other):
        raise Problem(f"the branches give {len(then)} and {len(other)} outputs")
    pairs = enumerate(zip(then, other, strict=True))
    return [joined(a.type, b.type, f"output {position} of the branches") for position, (a, b) in pairs]
