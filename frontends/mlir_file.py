"""Programs as files: a .mlir text and, beside it, the .safetensors file of its weights."""

from __future__ import annotations

import os
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.errors import ModelError
from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.lowering.diagnostics import DiagnosticError
from relay_mlir.lowering.ir_files import load_weights, print_module, save_weights, weights_used
from relay_mlir.lowering.ir_text import SourceText, parse_ir
from relay_mlir.lowering.verifier import verify_module


def read_mlir(path: Path, ctx: RelayContext) -> ModuleOp:
    """The verified module of a .mlir file; the weights file that `@main` names is added to `ctx.weights`.

    Raises ModelError for a file that cannot be read, is not a module, or names a weight that its weights file lacks.
    """
    try:
        text = path.read_bytes().decode()
    except OSError as e:
        raise ModelError(f"{path}: cannot be read: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise ModelError(f"{path}: byte 0x{e.object[e.start]:02x} at offset {e.start} is not UTF-8") from e
    try:
        module = parse_ir(ctx, SourceText(text, str(path)))
        verify_module(module)
        load_weights(ctx, module, path.parent)
    except DiagnosticError as e:
        raise ModelError(str(e)) from e
    except VerifyException as e:
        raise ModelError(f"{path}: {e}") from e
    if missing := [key for key in weights_used(module) if key not in ctx.weights]:
        raise ModelError(f"{path}: weight '{missing[0]}' is in no file: @main has no attribute 'weights'")
    return module


def write_mlir(module: ModuleOp, ctx: RelayContext, path: Path) -> None:
    """Writes a module with its locations, and its weights to the .safetensors file of the same name.

    Each file is written beside its place and then renamed, weights first, so that no reader sees half of one. Raises
    OSError.
    """
    save_weights(module, ctx.weights, path.with_suffix(".safetensors"))
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        beside.write_text(print_module(module, ctx, debuginfo=True), encoding="utf-8")
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
