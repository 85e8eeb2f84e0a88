"""fuse-ops: groups operators into primitive functions by the post-dominator algorithm of the Relay paper, section 4.1.

An operator joins the group of its immediate post-dominator, together with everything on the paths between them, where
the fusion patterns of all of these allow it; so the last operator of a group is the only one seen from outside.
Three rules, in two phases:

- A contraction or window (OUT_FUSABLE) takes a chain of element-wise and broadcast consumers of its own shape
  (phase 0).
- An element-wise or broadcast operator joins element-wise, injective and reducing consumers, and a group that a
  contraction has begun (both phases).
- An injective operator joins element-wise and injective consumers (phase 1, so that contractions choose first).

A reduction ends its group, an opaque operator is a group of its own. The last consumer of an element-wise chain may be
in the group of a contraction on another path (a residual connection); the chain then joins that group as a producer.
Groups are formed within each block: a branch of relay.if is not fused with what surrounds it.

Two restrictions beyond the paper, for the sake of the kernels: the group of a contraction holds arithmetic only, no
operator that moves data; and arithmetic is not fused into a consumer that stretches its value, since it would be
computed again for every element (the sigmoid of a squeeze-and-excite gate, once a channel, is not computed a pixel).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from relay_mlir.dialects.relay.op import Pattern, RelayOp
from relay_mlir.dialects.relay.types import ANY, num_elements
from relay_mlir.lowering.outlining import Outliner
from relay_mlir.lowering.rewriting import functions


@dataclass(frozen=True)
class FuseOpsPass(ModulePass):
    """Turns every function into calls of primitive functions, one a fused group; equal groups share one."""

    name = "fuse-ops"

    max_depth: int = 256
    """The largest number of operators in a group."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        outliner = Outliner(op)
        for func in functions(op):
            blocks = [block for inner in func.walk() for region in inner.regions for block in region.blocks]
            for block in blocks:
                for group in fused_groups(block, self.max_depth):
                    outliner.outline(group)


class Edge(NamedTuple):
    """A use of a value by an operator."""

    user: Node
    pattern: Pattern
    """The pattern of the user; element-wise for a broadcast of what has the shape of the result already."""
    stretches: bool
    """Whether each element is read for more than one element of the result."""


@dataclass(eq=False)
class Node:
    """An operator of the dataflow graph of a block."""

    op: RelayOp
    index: int
    """The position in the block among operators."""
    pattern: Pattern
    """The pattern of the operator; of the whole group where this node is the representative of one."""
    moves: bool
    """Whether the operator moves data, or one of the group where this node is its representative."""
    users: list[Edge] = field(default_factory=list["Edge"])
    """The operators that read a result, and how."""
    escapes: bool = False
    """Whether a result is read by something else than an operator of the block (return, call, tuple, branch)."""
    dominator: Node | None = None
    """The immediate post-dominator; None where only the end of the block is."""
    depth: int = 1
    """The depth in the post-dominator tree."""
    path_pattern: Pattern = Pattern.OPAQUE
    """The worst way in which a value is read on the paths to the post-dominator."""
    parent: Node | None = None
    """The next node of the union-find forest of groups."""
    size: int = 1
    """The number of operators of the group where this node is its representative."""

    def root(self) -> Node:
        """The representative of the node's group; shortens the way there."""
        root = self
        while root.parent is not None:
            root = root.parent
        node = self
        while node.parent is not None:
            node.parent, node = root, node.parent
        return root


def fused_groups(block: Block, max_depth: int) -> list[list[RelayOp]]:
    """The groups of the operators of a block, each in program order, ordered by their last operator."""
    nodes = _dataflow(block)
    _post_dominators(nodes)
    for phase in range(2):
        for node in nodes:
            if node.dominator is not None and node.root() is not node.dominator.root():
                _try_fuse(node, node.dominator, phase, max_depth)
    groups: dict[Node, list[RelayOp]] = {}
    for node in nodes:
        groups.setdefault(node.root(), []).append(node.op)
    position = {node.op: node.index for node in nodes}
    return sorted(groups.values(), key=lambda group: position[group[-1]])


def _dataflow(block: Block) -> list[Node]:
    """The operators of a block in program order, linked to their users."""
    operators = [op for op in block.ops if isinstance(op, RelayOp)]
    nodes = [Node(op, index, op.OPERATOR.pattern, _moves(op)) for index, op in enumerate(operators)]
    by_op: dict[Operation, Node] = {node.op: node for node in nodes}
    for node in nodes:
        for result in node.op.results:
            for use in result.uses:
                user = by_op.get(use.operation)
                if user is None:
                    node.escapes = True
                else:
                    node.users.append(_edge(user, use.index))
        node.users.sort(key=lambda edge: edge.user.index)
    return nodes


MOVING_OPERATORS = frozenset(
    {"expand_dims", "broadcast_to", "broadcast_to_like", "tile", "repeat", "trilu"}
    | {"full", "full_like", "ones", "ones_like", "zeros", "zeros_like"}
)
"""Operators that move or create data although Relay counts them as element-wise or broadcasts."""


def _moves(op: RelayOp) -> bool:
    return op.OPERATOR.pattern == Pattern.INJECTIVE or op.OPERATOR.name in MOVING_OPERATORS


def _edge(user: Node, operand: int) -> Edge:
    """How an operator reads an operand."""
    pattern = user.pattern
    shape, results = user.op.operand_types[operand].get_shape(), [type_.get_shape() for type_ in user.op.result_tensors]
    if pattern > Pattern.BROADCAST:
        return Edge(user, pattern, False)
    if all(result == shape for result in results):
        return Edge(user, Pattern.ELEMWISE, False)
    counts = [num_elements(result) for result in results]
    return Edge(user, Pattern.BROADCAST, ANY in (*counts, num_elements(shape)) or sum(counts) > num_elements(shape))


def _post_dominators(nodes: list[Node]) -> None:
    """Sets the immediate post-dominator of every node: the least common ancestor of its users."""
    for node in reversed(nodes):
        if node.escapes or not node.users:
            continue
        common, pattern, _ = node.users[0]
        for user, edge_pattern, _ in node.users[1:]:
            common, pattern = _common_ancestor(common, user, max(pattern, edge_pattern))
            if common is None:
                break
        if common is not None:
            node.dominator, node.depth, node.path_pattern = common, common.depth + 1, pattern


def _common_ancestor(left: Node | None, right: Node | None, pattern: Pattern) -> tuple[Node | None, Pattern]:
    """The least common ancestor in the post-dominator tree, and the worst pattern met on the way there."""
    while left is not right:
        if left is None or right is None:
            return None, pattern
        if left.depth < right.depth:
            left, right = right, left
        pattern, left = max(pattern, left.path_pattern), left.dominator
    return left, pattern


Condition = Callable[[Node, bool], bool]
"""Whether the group that this node represents may be on a path; the flag says that it is the one at its end."""


def _arithmetic(group: Node, is_sink: bool) -> bool:
    return group.pattern <= Pattern.BROADCAST and not group.moves


def _up_to_injective(group: Node, is_sink: bool) -> bool:
    return group.pattern <= Pattern.INJECTIVE


def _up_to_reduction_at_the_end(group: Node, is_sink: bool) -> bool:
    return group.pattern <= (Pattern.COMM_REDUCE if is_sink else Pattern.INJECTIVE)


def _up_to_contraction_at_the_end(group: Node, is_sink: bool) -> bool:
    if is_sink and group.pattern == Pattern.OUT_FUSABLE:
        return True
    return _up_to_reduction_at_the_end(group, is_sink)


def _condition(node: Node, phase: int) -> Condition | None:
    """What the groups on the paths to the post-dominator must be for the node to join it in this phase."""
    group = node.root()
    if group.pattern == Pattern.OUT_FUSABLE:
        return _arithmetic if phase == 0 and node.path_pattern == Pattern.ELEMWISE else None
    if group.pattern <= Pattern.BROADCAST:
        if node.path_pattern > Pattern.COMM_REDUCE:
            return None
        return _up_to_reduction_at_the_end if group.moves else _up_to_contraction_at_the_end
    return _up_to_injective if group.pattern == Pattern.INJECTIVE and phase == 1 else None


def _try_fuse(node: Node, sink: Node, phase: int, max_depth: int) -> None:
    """Joins the node, and all between, with the group of its post-dominator if the rules of the phase allow it."""
    condition = _condition(node, phase)
    if condition is None:
        return
    path = _path(node, sink, condition, max_depth)
    if path is None:
        return
    roots = {member.root(): None for member in (node, *path)}
    if sum(root.size for root in roots) <= max_depth:
        for root in roots:
            _merge(root, sink.root())


def _path(node: Node, sink: Node, condition: Condition, limit: int) -> list[Node] | None:
    """The nodes after `node` on the paths to the sink, the sink among them.

    None where the condition refuses one, where there are `limit` of them or more, and where arithmetic would be
    computed again because its value is stretched.
    """
    found: dict[Node, None] = {}
    pending = [node]
    while pending:
        current = pending.pop()
        only_moves = current.moves and current.root().size == 1
        for user, _, stretches in current.users:
            if stretches and not only_moves:
                return None
            if user in found:
                continue
            if len(found) + 1 >= limit or not condition(user.root(), user is sink):
                return None
            found[user] = None
            if user is not sink:
                pending.append(user)
    return list(found)


def _merge(child: Node, parent: Node) -> None:
    """Joins two groups; a contraction makes the joined group one."""
    if child is parent:
        return
    child.parent = parent
    parent.size += child.size
    parent.moves |= child.moves
    if child.pattern == Pattern.OUT_FUSABLE:
        parent.pattern = Pattern.OUT_FUSABLE
