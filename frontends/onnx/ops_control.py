"""If: one branch where the condition is known at import, else `relay.if`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Region

from relay_mlir.dialects.relay.core import IfOp, YieldOp
from relay_mlir.dialects.relay.types import Tensor
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.recursion import joined
from relay_mlir.frontends.onnx.registry import converts
from relay_mlir.frontends.onnx.structures import Item, tensors


@converts("If")
def if_(c: Emitter, node: NodeView) -> Sequence[Item]:
    """One branch where the condition is known at import, else `relay.if`."""
    condition = node.input(0)
    branches = (node.graph("then_branch"), node.graph("else_branch"))
    if condition.rank:
        condition = c.reshape(condition, ())
    if condition.known:
        return node.subgraph(branches[0 if bool(condition.array()) else 1], ())
    regions: list[Region] = []
    yielded: list[list[Value]] = []
    for graph in branches:
        block = Block()
        with c.into(block):
            what = "what a branch gives: input 0 (cond) must be known when the model is imported"
            values = tensors(node.subgraph(graph, ()), what)
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
