"""dead-code-elimination: removes operations whose results nobody reads, and private functions that nobody calls.

A relay.if or a call without used results goes as well, unless it may write to a reference, call a closure or
fail. Weights that the program no longer names leave the store.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from relay_mlir.dialects.relay.core import CallOp, FuncOp
from relay_mlir.dialects.relay.language import ApplyOp, GlobalOp, MatchOp, RefWriteOp
from relay_mlir.dialects.relay.weights import weights_of
from relay_mlir.lowering.rewriting import erase_op, keep_used_weights


@dataclass(frozen=True)
class DeadCodeEliminationPass(ModulePass):
    """Removes what cannot change a result of a public function."""

    name = "dead-code-elimination"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        effects = Effects(op)
        for func in op.ops:
            if isinstance(func, FuncOp):
                _clean(func.block, effects)
        _remove_unused_functions(op)
        keep_used_weights(op, weights_of(ctx))


class Effects:
    """Which operations of a module may do more than compute a value: write to a reference, or fail."""

    def __init__(self, module: ModuleOp):
        functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
        self._effectful: set[str] = set()
        callers: dict[str, list[str]] = {}
        for name, function in functions.items():
            for op in function.walk():
                if isinstance(op, CallOp):
                    callers.setdefault(op.callee.string_value(), []).append(name)
        pending = [name for name, function in functions.items() if self.of(function)]
        while pending:
            name = pending.pop()
            if name not in self._effectful:
                self._effectful.add(name)
                pending += callers.get(name, [])

    def of(self, op: Operation) -> bool:
        """Whether the operation, or one in it, may have an effect; a function that is not known may have any."""
        for inner in op.walk():
            if isinstance(inner, RefWriteOp | ApplyOp) or (isinstance(inner, MatchOp) and inner.partial is not None):
                return True
            if isinstance(inner, CallOp) and inner.callee.string_value() in self._effectful:
                return True
        return False


def _clean(block: Block, effects: Effects) -> None:
    """Removes the dead operations of a block, users before what they use."""
    for op in reversed(list(block.ops)):
        if op.has_trait(IsTerminator):
            continue
        if not any(result.uses for result in op.results) and not effects.of(op):
            erase_op(op)
            continue
        for region in op.regions:
            _clean(region.block, effects)


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
