"""Control flow: If."""

from __future__ import annotations

from xdsl.ir import Block, Region

from relay_mlir.dialects.relay.core import IfOp, YieldOp
from relay_mlir.dialects.relay.types import show_shape
from relay_mlir.frontends.onnx.emitter import Emitter
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.problem import Problem
from relay_mlir.frontends.onnx.registry import converts
from relay_mlir.frontends.onnx.value import Value


@converts("If")
def if_(c: Emitter, node: NodeView) -> list[Value]:
    """One branch where the condition is known at import, else `relay.if`."""
    condition = node.input(0)
    branches = (node.graph("then_branch"), node.graph("else_branch"))
    if condition.rank:
        condition = c.reshape(condition, ())
    if condition.known:
        return node.subgraph(branches[0 if bool(condition.array()) else 1])
    regions: list[Region] = []
    yielded: list[list[Value]] = []
    for graph in branches:
        block = Block()
        with c.into(block):
            values = node.subgraph(graph)
            c.append(YieldOp(*map(c.ssa, values)))
        regions.append(Region(block))
        yielded.append(values)
    _check_branches(*yielded)
    op = c.append(IfOp(c.ssa(condition), [value.type for value in yielded[0]], regions[0], regions[1]))
    return [Value(value.type, ssa=result) for value, result in zip(yielded[0], op.results, strict=True)]


def _check_branches(then: list[Value], other: list[Value]) -> None:
    """Raises Problem unless both branches give tensors of the same types."""
    if len(then) != len(other):
        raise Problem(f"the branches give {len(then)} and {len(other)} outputs")
    for position, (a, b) in enumerate(zip(then, other, strict=True)):
        if a.type != b.type:
            raise Problem(
                f"output {position} is {a.element} {show_shape(a.shape)} in the then branch, but {b.element} "
                f"{show_shape(b.shape)} in the else branch"
            )
