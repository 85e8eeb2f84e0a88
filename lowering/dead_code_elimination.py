"""dead-code-elimination: removes operations whose results nobody reads, and private functions that nobody calls.

A relay.if or a call without used results goes as well, unless it may write to a reference, call an unknown function or
fail. Weights that the program no longer names leave the store.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator, is_side_effect_free

from relay_mlir.dialects.relay.core import CallOp, FuncOp
from relay_mlir.dialects.relay.language import GlobalOp
from relay_mlir.dialects.relay.weights import weights_of
from relay_mlir.lowering.rewriting import erase_op, keep_used_weights


@dataclass(frozen=True)
class DeadCodeEliminationPass(ModulePass):
    """Removes what cannot change a result of a public function."""

    name = "dead-code-elimination"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.ops:
            if isinstance(func, FuncOp):
                _clean(func.block)
        _remove_unused_functions(op)
        keep_used_weights(op, weights_of(ctx))


def _clean(block: Block) -> None:
    """Removes the dead operations of a block, users before what they use."""
    for op in reversed(list(block.ops)):
        if op.has_trait(IsTerminator):
            continue
        if not any(result.uses for result in op.results) and is_side_effect_free(op):
            erase_op(op)
            continue
        for region in op.regions:
            _clean(region.block)


def _function_of(op: Operation) -> str | None:
    """The function that an operation calls or makes a value of."""
    if isinstance(op, CallOp):
        return op.callee.string_value()
    return op.function.string_value() if isinstance(op, GlobalOp) else None


def _remove_unused_functions(module: ModuleOp) -> None:
    """Removes the private functions that no public one calls, directly or through others."""
    by_name = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    pending = [func for func in by_name.values() if not func.sym_visibility]
    live = {func.sym_name.data for func in pending}
    while pending:
        for op in pending.pop().walk():
            name = _function_of(op)
            if name is not None and name not in live:
                live.add(name)
                pending.append(by_name[name])
    for name, func in by_name.items():
        if name not in live:
            erase_op(func)
