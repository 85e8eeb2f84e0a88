"""The ordered pass list of each target: the only place that states order.

A pass is named as its file and class are: `fold-constant` is `FoldConstantPass` of `lowering/fold_constant.py`.
A module is imported when its pass is first used, so that tools start quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from xdsl.passes import ModulePass

RELAY = (
    "simplify-inference",  # before folding: it leaves arithmetic on constants
    "fold-constant",
    "fold-scale-axis",  # needs the scales as constants; leaves arithmetic on weights
    "simplify-expr",  # merges the additions that scales stood between
    "fold-constant",
    "split-conv-transpose",  # after scales are folded into its weight; leaves arithmetic on the weight
    "convert-layout",  # channels last, which the kernels are written for
    "fold-constant",  # of the transposed weights
    "eliminate-common-subexpr",
    "dead-code-elimination",
    "fuse-ops",
)
"""relay -> relay: what every target runs first."""

CPU = (
    *RELAY,
    "relay-to-linalg",
    "fuse-elementwise",
    "winograd-convolutions",  # leaves matrix products, which the next passes tile and pack
    "collapse-loops",  # before tiles are chosen: it makes rows longer
    "tile-contractions",
    "pack-weights",
    "bufferize",
    "linalg-to-loops",  # before the memory plan: accumulators and epilogue inputs never reach memory
    "plan-memory",
    "expand-math",
    "outline-parallel",  # does nothing for one thread
    "loops-to-llvm",
)
"""To the llvm dialect, for the CPU."""

CPU_LANGUAGE = (
    "propagate-weights",  # before all that looks at weights
    *RELAY,
    "relay-to-heap",  # what is not primitive; the rest goes the way of every primitive function
    *(name for name in CPU[len(RELAY) :] if name not in ("outline-parallel", "loops-to-llvm")),
    "insert-reference-counts",  # after bufferize, which says what kernels may write in place
    "loops-to-llvm",
    "heap-to-llvm",
)
"""To the llvm dialect, for the CPU, of programs that are more than straight lines of operators on tensors."""

PIPELINES: dict[str, tuple[str, ...]] = {"relay": RELAY, "cpu": CPU, "cpu-language": CPU_LANGUAGE}
"""The named pipelines of relay-opt."""

LANGUAGE = (
    "relay-infer-type",
    "remove-unused-functions",
    "eta-expand",
    "inline",
    "lambda-lift",
    "to-a-normal-form",
    "to-basic-block-normal-form",
    "to-graph-normal-form",
    "to-cps",
    "un-cps",
    "defunctionalization",
    "print-analysis",
)
"""Passes on programs of the whole language that are run by name."""

PASSES: tuple[str, ...] = tuple(dict.fromkeys((*CPU, *CPU_LANGUAGE, *LANGUAGE)))
"""Every pass of this project by name."""


def pass_class(name: str) -> type[ModulePass]:
    """The pass of this name; raises KeyError for an unknown one."""
    if name not in PASSES:
        raise KeyError(name)
    module = import_module(f"relay_mlir.lowering.{name.replace('-', '_')}")
    return cast(type[ModulePass], getattr(module, "".join(word.capitalize() for word in name.split("-")) + "Pass"))
