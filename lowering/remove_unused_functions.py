"""remove-unused-functions: removes the functions of a module that its entries do not reach."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relay_mlir.lowering.analysis.call_graph import CallGraph
from relay_mlir.lowering.inlining import functions_by_name
from relay_mlir.lowering.rewriting import erase_op


@dataclass(frozen=True)
class RemoveUnusedFunctionsPass(ModulePass):
    """Removes the functions, public ones too, that no entry reaches by calls or by taking them as values.

    `entries` are names of functions. A module that has none of them keeps everything. Data types stay.
    """

    name = "remove-unused-functions"
    entries: tuple[str, ...] = ("main",)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = functions_by_name(op)
        entries = [name for name in self.entries if name in functions]
        if not entries:
            return
        live = CallGraph(op).reachable(entries)
        for name, function in functions.items():
            if name not in live:
                erase_op(function)
