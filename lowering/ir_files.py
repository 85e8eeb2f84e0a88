"""Modules and their weights as files: which weights a module names, where they are read from and written to."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer

from relay_mlir.dialects.relay.weights import RelayContext, WeightStore
from relay_mlir.lowering.diagnostics import OpError, did_you_mean


def print_module(
    module: Operation,
    ctx: Context | None = None,
    *,
    generic: bool = False,
    debuginfo: bool = False,
    properties_as_attributes: bool = False,
) -> str:
    """The text of a module, with a newline at its end."""
    output = StringIO()
    printer = Printer(
        output,
        print_generic_format=generic,
        print_debuginfo=debuginfo,
        print_properties_as_attributes=properties_as_attributes,
    )
    printer.print_op(module)
    if ctx is not None:
        printer.print_metadata(ctx.loaded_dialects)
    return output.getvalue() + "\n"


def main_function(module: ModuleOp) -> Operation | None:
    """The function `@main`, of whatever dialect."""
    for op in module.ops:
        if op.get_attr_or_prop("sym_name") == StringAttr("main"):
            return op
    return None


def weights_used(module: ModuleOp) -> list[str]:
    """The names of the weights that a module of any level names, each once, in order."""
    found: dict[str, None] = {}
    for op in module.walk():
        match op.name:
            case "relay.weight":
                key = op.properties.get("key")
            case "memref.global" if isinstance(op.parent_op(), ModuleOp):
                key = op.properties.get("sym_name")
            case _:
                key = None
        if isinstance(key, StringAttr):
            found[key.data] = None
        layout = op.attributes.get("weight_layout")
        if isinstance(layout, ArrayAttr):
            for entry in cast(ArrayAttr[Attribute], layout):
                name = cast(ArrayAttr[Any], entry).data[0] if isinstance(entry, ArrayAttr) else entry
                if isinstance(name, StringAttr):
                    found[name.data] = None
    return list(found)


def load_weights(ctx: RelayContext, module: ModuleOp, folder: Path) -> set[str]:
    """Adds the file that `@main` names in `weights` to the store; returns the names of the weights in it.

    The file must lie in `folder`. Raises OpError at `@main` for a name that leads out of it and a file that cannot
    be read, and at the operation for a weight that the file lacks.
    """
    main = main_function(module)
    name = None if main is None else main.attributes.get("weights")
    if main is None or name is None:
        return set()
    if not isinstance(name, StringAttr):
        raise OpError(main, f"'weights' must be the name of a file, but is {name}")
    path = _inside(main, folder, name.data)
    before = set(ctx.weights)
    try:
        ctx.weights.load(path)
    except OSError as error:
        raise OpError(main, f"cannot read the weights file '{name.data}': {error.strerror or error}") from error
    except Exception as error:
        if type(error).__name__ != "SafetensorError":
            raise
        raise OpError(main, f"'{name.data}' is not a safetensors file: {error}") from error
    loaded = set(ctx.weights) - before
    for op in module.walk():
        key = op.properties.get("key")
        if op.name == "relay.weight" and isinstance(key, StringAttr) and key.data not in ctx.weights:
            hint = did_you_mean(key.data, loaded)
            raise OpError(op, f"weight '{key.data}' is not in '{name.data}'{hint}")
    return loaded


def _inside(main: Operation, folder: Path, name: str) -> Path:
    """The path of a file in the folder; raises OpError for a name that leads elsewhere."""
    root = folder.resolve()
    path = (root / name).resolve()
    if Path(name).is_absolute() or ".." in Path(name).parts or not path.is_relative_to(root):
        raise OpError(main, f"the weights file '{name}' must lie in the folder of the .mlir file")
    if not path.is_file():
        raise OpError(main, f"the weights file '{name}' does not exist beside the .mlir file")
    return path


def save_weights(module: ModuleOp, store: WeightStore, path: Path) -> bool:
    """Writes the weights that the module uses, if any, and names the file in `@main`; returns whether it did."""
    used = [key for key in weights_used(module) if key in store]
    main = main_function(module)
    if main is None or not used:
        if main is not None and not weights_used(module):
            main.attributes.pop("weights", None)
        return False
    store.save(path, used)
    main.attributes["weights"] = StringAttr(path.name)
    return True


def write_module(ctx: RelayContext, module: ModuleOp, path: Path) -> None:
    """Writes a module, and the weights it uses to a .safetensors file of the same name. Raises OSError."""
    save_weights(module, ctx.weights, path.with_suffix(".safetensors"))
    path.write_text(print_module(module, ctx, debuginfo=False), encoding="utf-8")
