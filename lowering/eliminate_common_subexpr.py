"""eliminate-common-subexpr: computes equal things once.

Two operations are equal where they are of one kind with equal attributes, types and operands: operators, calls (every
relay function is pure), tuples and projections, constants, and weights of one name. The first one stays, with its
location. A branch of relay.if may use what is computed before it, never what the other branch computes.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Hashable, MutableMapping
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from relay_mlir.lowering.rewriting import attributes_key, functions, replace_op

Seen: TypeAlias = MutableMapping[Hashable, Operation]


@dataclass(frozen=True)
class EliminateCommonSubexprPass(ModulePass):
    """Replaces an operation by an equal one that is computed before it."""

    name = "eliminate-common-subexpr"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            _merge_equal(func.block, {})


def _merge_equal(block: Block, seen: Seen) -> None:
    """Merges within a block; `seen` has what is computed before it and around it, and gets what the block adds."""
    for op in list(block.ops):
        for region in op.regions:
            _merge_equal(region.block, ChainMap({}, seen))
        if op.regions or not is_side_effect_free(op):
            continue
        earlier = seen.setdefault(_key(op), op)
        if earlier is not op:
            replace_op(op, earlier.results)


def _key(op: Operation) -> Hashable:
    return op.name, attributes_key(op), op.operands[:], tuple(result.type for result in op.results)
