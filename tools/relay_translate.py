"""`relay-translate`: imports a model, or reads a program, and writes it as .mlir (weights beside it) or Relay text."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from relay_mlir.dialects.errors import Error
from relay_mlir.tools.driver import Streams, UsageError, make_context, with_deep_stack

if TYPE_CHECKING:
    import numpy as np
    from xdsl.dialects.builtin import ModuleOp

    from relay_mlir.dialects.relay.weights import RelayContext


class _Arguments(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def _arguments() -> _Arguments:
    description = (
        "Imports an ONNX or PyTorch model, or reads a .mlir or .relay file, and writes the program as .mlir or .relay."
    )
    parser = _Arguments(prog="relay-translate", description=description, allow_abbrev=False)
    add = parser.add_argument
    add("input", help="a model (.onnx, .pt2) or a program (.mlir, .relay)")
    add("--to", choices=["mlir", "relay"], default=None, help="what to write; by default what the output file ends in")
    add(
        "-o",
        "--output",
        metavar="FILE",
        help="a .mlir file (weights go to the .safetensors file of the same name) or a .relay file",
    )
    add(
        "--std",
        action="append",
        default=[],
        metavar="LIBRARY",
        help="a standard library that a .relay file uses: core, gradient, nat or prelude",
    )
    add("--let", action="store_true", help="in Relay text, bind every value by let")
    add(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=SHAPE",
        help="the shape of an input (x=1x3x224x224), or the size of a named dimension (batch=1)",
    )
    add(
        "--value",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="the value of an input, which becomes part of the program: numbers (1,2,3) or a .npy file",
    )
    add("-v", "--version", action="version", version=_version())
    return parser


def _version() -> str:
    from importlib.metadata import version

    return f"relay-translate {version('relay-mlir')}"


def parse_shapes(options: Sequence[str]) -> dict[str, tuple[int, ...] | int]:
    """The shapes and dimensions that `--shape` options bind; raises UsageError."""
    shapes: dict[str, tuple[int, ...] | int] = {}
    for option in options:
        name, equals, text = option.rpartition("=")
        try:
            sizes = tuple(int(size) for size in text.split("x")) if text else ()
        except ValueError:
            equals = ""
            sizes = ()
        if not equals or not name or any(size < 0 for size in sizes):
            raise UsageError(f"--shape {option}: expected NAME=SIZExSIZE..., such as x=1x3x224x224")
        if name in shapes:
            raise UsageError(f"--shape {option}: '{name}' is bound twice")
        shapes[name] = sizes[0] if len(sizes) == 1 else sizes
    return shapes


def parse_values(options: Sequence[str]) -> dict[str, np.ndarray | list[float]]:
    """The values that `--value` options bind: arrays, or lists of numbers; raises UsageError."""
    import numpy as np

    values: dict[str, np.ndarray | list[float]] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not equals or not name or name in values:
            raise UsageError(f"--value {option}: expected NAME=VALUE, each name once")
        try:
            if text.endswith(".npy"):
                values[name] = np.load(text, allow_pickle=False)
            else:
                values[name] = [_number(word) for word in text.split(",") if word]
        except OSError as e:
            raise UsageError(f"--value {option}: cannot read the file: {e.strerror or e}") from e
        except ValueError as e:
            raise UsageError(f"--value {option}: {e}") from e
    return values


def _number(word: str) -> float:
    try:
        return int(word)
    except ValueError:
        return float(word)


def read_program(args: argparse.Namespace, ctx: RelayContext) -> ModuleOp:
    """The program of the input file; raises Error."""
    path = Path(args.input)
    shapes, values = parse_shapes(args.shape), parse_values(args.value)
    if args.std and path.suffix != ".relay":
        raise UsageError("--std is for .relay files")
    if path.suffix == ".onnx":
        from relay_mlir.frontends.onnx import import_onnx

        return import_onnx(path, ctx, shapes, values)
    if path.suffix == ".pt2":
        from relay_mlir.frontends.torch import import_torch

        return import_torch(path, ctx, shapes, values)
    if path.suffix == ".mlir":
        from relay_mlir.frontends.mlir_file import read_mlir

        if shapes or values:
            raise UsageError("--shape and --value are for models; the shapes of a .mlir file are in its text")
        return read_mlir(path, ctx)
    if path.suffix == ".relay":
        from relay_mlir.frontends.relay_text.reader import read_relay

        if shapes or values:
            raise UsageError("--shape and --value are for models; the shapes of a .relay file are in its text")
        return read_relay(path, ctx, args.std)
    raise UsageError(f"'{path.name}': expected a file that ends in .onnx, .pt2, .mlir or .relay")


def _target(args: argparse.Namespace) -> str:
    """What to write; raises UsageError where that is not what the output file ends in."""
    if args.output in (None, "-"):
        return args.to or "mlir"
    suffix = Path(args.output).suffix
    if suffix not in (".mlir", ".relay") or args.to not in (None, suffix[1:]):
        expected = f".{args.to}" if args.to else ".mlir or .relay"
        raise UsageError(f"'{Path(args.output).name}': the output must end in {expected}")
    return suffix[1:]


def write_program(module: ModuleOp, ctx: RelayContext, args: argparse.Namespace, to: str, streams: Streams) -> None:
    """Writes a program to the output of the command line; raises Error."""
    output = None if args.output in (None, "-") else Path(args.output)
    try:
        if to == "relay":
            from relay_mlir.frontends.relay_text.writer import relay_text, write_relay

            if output is None:
                streams.stdout.write(relay_text(module, ctx, let=args.let))
            else:
                write_relay(module, ctx, output, let=args.let)
        elif output is None:
            from relay_mlir.lowering.ir_files import print_module

            streams.stdout.write(print_module(module, ctx))
        else:
            from relay_mlir.frontends.mlir_file import write_mlir

            write_mlir(module, ctx, output)
    except OSError as e:
        raise UsageError(f"cannot write '{output}': {e.strerror or e}") from e


def run(argv: Sequence[str], streams: Streams) -> int:
    """Runs the tool on given streams; returns the exit code: 0, or 1 after any error."""
    try:
        args = _arguments().parse_args(list(argv))
        ctx = make_context()
        to = _target(args)
        write_program(read_program(args, ctx), ctx, args, to, streams)
        return 0
    except Error as e:
        for problem in getattr(e, "problems", None) or [str(e)]:
            streams.stderr.write(problem if ": error: " in problem else f"relay-translate: error: {problem}")
            streams.stderr.write("\n")
        return 1


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point of the command."""
    streams = Streams(sys.stdin.buffer, sys.stdout, sys.stderr)
    arguments = sys.argv[1:] if argv is None else argv
    try:
        return with_deep_stack(lambda: run(arguments, streams))
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
