"""`relay-compile`: an object file or a shared library, and a C header, from a model."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from relay_mlir.dialects.errors import InputError
from relay_mlir.tools.model_options import Progress, add_model_options, parse_shapes, parse_values, run_tool

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from relay_mlir.lowering.pass_manager import PassRun


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="relay-compile",
        description="Compiles a model to native code that needs no Python: an object file or a shared library.",
    )
    add_model_options(parser)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="FILE.o or FILE.so")
    parser.add_argument("--header", type=Path, metavar="FILE", help="also write the C header of the functions")
    parser.add_argument(
        "--prefix",
        metavar="NAME",
        help="what the names of the C functions start with, so that several models link into one program "
        "(default: relay_model)",
    )
    return parser


def main(args: Sequence[str] | None = None) -> int:
    """The entry point of the command."""
    options = _parser().parse_args(args)
    return run_tool("relay-compile", lambda: _compile(options))


def _compile(options: argparse.Namespace) -> int:
    from relay_mlir.runtime.compiler import PREFIX, Options, compile_module, import_model, make_context, pipeline
    from relay_mlir.runtime.program import written_beside

    output: Path = options.output
    if output.suffix not in (".o", ".so"):
        raise InputError(f"-o {output}: expected a name that ends in .o or .so")
    if output.resolve() == options.model.resolve():
        raise InputError(f"-o {output} would overwrite the model")
    chosen = Options(options.target, options.threads, options.numerics, options.prefix or PREFIX)
    chosen.check()
    start = time.perf_counter()
    ctx = make_context()
    module = import_model(options.model, ctx, parse_shapes(options.shape), parse_values(options.value))
    imported = time.perf_counter() - start
    passes = pipeline(chosen, module)
    progress = Progress([pass_.name for pass_ in passes])
    runs: list[PassRun] = []

    def on_pass(run: PassRun, _: ModuleOp) -> None:
        runs.append(run)
        progress.advance()

    code_start: list[float] = []
    try:
        program = compile_module(
            module,
            ctx,
            chosen,
            passes=passes,
            dump=options.dump,
            on_pass=on_pass,
            on_code=lambda: code_start.append(time.perf_counter()),
        )
    finally:
        progress.clear()
    coded = time.perf_counter() - code_start[0]
    program.save(output)
    if options.header is not None:
        with written_beside(options.header) as file:
            file.write(program.header().encode())
    if options.timing:
        _print_timing(imported, runs, coded, time.perf_counter() - start)
    return 0


def _print_timing(imported: float, runs: Sequence[PassRun], coded: float, total: float) -> None:
    rows = [("import", imported, 0), *((run.name, run.seconds, run.peak_bytes) for run in runs)]
    rows += [("machine code", coded, 0), ("total", total, 0)]
    width = max(len(name) for name, _, _ in rows)
    for name, seconds, peak in rows:
        memory = f"{peak / 2**20:8.0f} MiB" if peak else ""
        print(f"{name:<{width}}  {seconds:8.3f} s{memory}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
