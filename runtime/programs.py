"""Programs from what a caller has at hand (a path, a text, a module), with every hole in their types filled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Attribute
from xdsl.utils.exceptions import DiagnosticException

from relay_mlir.dialects.relay.core import FuncOp
from relay_mlir.dialects.relay.language_types import is_complete
from relay_mlir.dialects.relay.weights import RelayContext, WeightStore
from relay_mlir.lowering.diagnostics import Diagnostic, DiagnosticError, op_of
from relay_mlir.lowering.ir_text import SourceText, parse_ir
from relay_mlir.lowering.verifier import verify_module
from relay_mlir.runtime.compiler import import_model, make_context

if TYPE_CHECKING:
    import numpy as np

TEXT = "<text>"
"""The name of a program that was given as a text, in messages."""


def load(
    program: str | Path | ModuleOp | Any, weights: WeightStore | Mapping[str, np.ndarray] | None = None
) -> tuple[ModuleOp, WeightStore | Mapping[str, np.ndarray]]:
    """The module of a program with complete types, and its weights; see `interpreter.interpret` for what it takes.

    A module is not changed: where inference has to fill its types, that happens in a copy.
    """
    if isinstance(program, ModuleOp):
        return complete(program, make_context()), weights if weights is not None else WeightStore()
    ctx = make_context()
    text = program if isinstance(program, str) and ("\n" in program or "{" in program) else None
    if text is None:
        module, source = import_model(program, ctx), None
    else:
        module, source = read_text(text, ctx)
    for key in weights or ():
        ctx.weights.add(key, (weights or {})[key])
    return complete(module, ctx, source, owned=True), ctx.weights


def read_text(text: str, ctx: RelayContext) -> tuple[ModuleOp, SourceText]:
    """The verified module of a text: MLIR, or Relay's own where it begins with `#[version`. Raises DiagnosticError."""
    source = SourceText(text, TEXT)
    if text.lstrip().startswith("#[version"):
        from relay_mlir.frontends.relay_text.reader import parse_relay

        return parse_relay(source, ctx), source
    module = parse_ir(ctx, source)
    try:
        verify_module(module)
    except DiagnosticException as error:
        raise located(error, source) from error
    return module, source


def located(error: DiagnosticException, source: SourceText | None) -> DiagnosticError:
    """An error about an operation of a text, with its place."""
    op = op_of(error)
    place = source.place_of(op) if source is not None and op is not None else None
    message = f"'{op.name}' op {error}" if op is not None else str(error)
    return DiagnosticError(Diagnostic("error", message, place, source.name if source is not None else None))


def complete(module: ModuleOp, ctx: Context, source: SourceText | None = None, *, owned: bool = False) -> ModuleOp:
    """The module with every hole in its types filled; itself where there is none. Raises DiagnosticError."""
    if all(map(is_complete, _types(module))):
        return module
    from relay_mlir.lowering.relay_infer_type import RelayInferTypePass

    typed = module if owned else module.clone()
    try:
        RelayInferTypePass().apply(ctx, typed)
    except DiagnosticException as error:
        raise located(error, source) from error
    return typed


def _types(module: ModuleOp) -> list[Attribute]:
    """The types of the program, each once."""
    found: dict[Attribute, None] = {}
    for op in module.walk():
        if isinstance(op, FuncOp):
            found[FunctionType.from_lists(list(op.function_type.inputs), list(op.function_type.outputs))] = None
        found.update((result.type, None) for result in op.results)
        found.update((argument.type, None) for region in op.regions for b in region.blocks for argument in b.args)
    return list(found)
