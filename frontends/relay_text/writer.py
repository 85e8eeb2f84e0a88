"""Relay text as files, and its errors as those of the tools."""

from __future__ import annotations

import os
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.errors import ModelError
from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.frontends.relay_text.printer import print_relay
from relay_mlir.lowering.diagnostics import op_of
from relay_mlir.lowering.locations import describe_origin, file_location


def relay_text(module: ModuleOp, ctx: RelayContext, *, let: bool = False) -> str:
    """The text of a module; raises ModelError where it is not one of the relay dialect, or lacks a weight."""
    try:
        return print_relay(module, ctx.weights, let=let)
    except VerifyException as e:
        op = op_of(e)
        if op is None:
            raise ModelError(str(e)) from e
        location = file_location(op.location)
        where = f"{location.filename.data}:{location.line.data}:{location.column.data}: error: " if location else ""
        origin = f" [from {name}]" if (name := describe_origin(op)) else ""
        raise ModelError(f"{where}'{op.name}' op {e}{origin}") from e
    except KeyError as e:
        raise ModelError(f"weight {e} is in no file") from e
    except RecursionError as e:
        raise ModelError("the program is nested too deeply") from e


def write_relay(module: ModuleOp, ctx: RelayContext, path: Path, *, let: bool = False) -> None:
    """Writes the text of a module, beside its place first and then renamed; raises ModelError and OSError."""
    text = relay_text(module, ctx, let=let)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
