"""print-analysis: says what the analyses of relay programs find, as remarks at the operations that they are about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from relay_mlir.dialects.errors import CompileError
from relay_mlir.dialects.relay.core import FuncOp
from relay_mlir.dialects.relay.language import FnOp
from relay_mlir.lowering.analysis import features, operators
from relay_mlir.lowering.analysis.call_graph import CallGraph
from relay_mlir.lowering.analysis.kinds import kind_problems
from relay_mlir.lowering.analysis.variables import (
    bound_type_variables,
    bound_values,
    free_type_variables,
    free_values,
)
from relay_mlir.lowering.analysis.well_formed import basic_block_normal_form_problems, well_formed_problems
from relay_mlir.lowering.diagnostics import OpError, did_you_mean, report

Remark = tuple[Operation, str]


def _functions(module: ModuleOp) -> list[FuncOp]:
    return [op for op in module.ops if isinstance(op, FuncOp)]


def _names(values: Sequence[SSAValue], limit: int = 50) -> str:
    names = [f"%{value.name_hint}" if value.name_hint else "%_" for value in values[:limit]]
    more = [f"{len(values) - limit} more"] if len(values) > limit else []
    return ", ".join([*names, *more]) or "none"


def _variables(module: ModuleOp) -> Iterator[Remark]:
    """Free and bound variables of functions and closures."""
    for op in module.walk():
        if isinstance(op, FuncOp | FnOp):
            yield op, f"free variables: {_names(free_values(op.body))}; bound: {_names(bound_values(op))}"


def _type_variables(module: ModuleOp) -> Iterator[Remark]:
    for op in module.walk():
        if isinstance(op, FuncOp | FnOp):
            free, bound = ", ".join(free_type_variables(op)), ", ".join(bound_type_variables(op))
            yield op, f"free type variables: {free or 'none'}; bound: {bound or 'none'}"


def _features(module: ModuleOp) -> Iterator[Remark]:
    return ((f, f"features: {features.text(features.features(f))}") for f in _functions(module))


def _call_graph(module: ModuleOp) -> Iterator[Remark]:
    graph = CallGraph(module)
    lines = dict(zip(graph.callees, graph.text().split("\n"), strict=True)) if graph.callees else {}
    return ((f, lines[f.sym_name.data]) for f in _functions(module))


def _operators(module: ModuleOp) -> Iterator[Remark]:
    for function in _functions(module):
        counts = operators.operator_frequency(function)
        shown = ", ".join(f"{name} x{count}" for name, count in sorted(counts.items()))
        yield function, f"operators: {shown or 'none'}"


def _macs(module: ModuleOp) -> Iterator[Remark]:
    for function in _functions(module):
        try:
            yield function, f"multiply-accumulates: {operators.mac_count(function)}"
        except OpError as error:
            yield function, f"multiply-accumulates: not known: an operation {error}"


ANALYSES: dict[str, Callable[[ModuleOp], Iterator[Remark] | list[Remark]]] = {
    "variables": _variables,
    "type-variables": _type_variables,
    "kinds": kind_problems,
    "features": _features,
    "call-graph": _call_graph,
    "operators": _operators,
    "macs": _macs,
    "basic-block-normal-form": basic_block_normal_form_problems,
    "well-formed": well_formed_problems,
}
"""The analyses by name, and the remarks that each one makes."""


@dataclass(frozen=True)
class PrintAnalysisPass(ModulePass):
    """Reports the findings of the analyses named in `which` (all by default) as remarks, and changes nothing.

    `variables` and `type-variables`: free and bound ones of functions and closures. `kinds`: types that are none.
    `features`: what of the language each function uses, by Relay's names. `call-graph`: who calls whom, and which
    functions are recursive. `operators`: how often each occurs. `macs`: multiply-accumulates of convolutions and
    matrix products. `basic-block-normal-form`: what is bound too far outside. `well-formed`: names that lead nowhere,
    type variables that are not bound. Checks that find nothing say nothing. The same is in Python:
    `relay_mlir.lowering.analysis`.
    """

    name = "print-analysis"
    which: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for name in self.which:
            if name not in ANALYSES:
                raise CompileError(f"there is no analysis '{name}'{did_you_mean(name, ANALYSES)}")
        for name in self.which or ANALYSES:
            for found, text in ANALYSES[name](op):
                report("remark", found, text)
