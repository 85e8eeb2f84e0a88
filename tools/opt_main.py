"""The command line of relay-opt: its arguments, and a run on given streams."""

from __future__ import annotations

import argparse
import gc
from collections.abc import Sequence
from typing import NoReturn

from relay_mlir.dialects.errors import Error
from relay_mlir.lowering.diagnostics import did_you_mean
from relay_mlir.lowering.pass_manager import up_to
from relay_mlir.lowering.pass_spec import known_passes, parse_passes
from relay_mlir.tools.driver import Streams, UsageError, read_text
from relay_mlir.tools.opt_run import OptRun, check_target


class _Arguments(argparse.ArgumentParser):
    """An argument parser whose errors are one line, with the nearest known option."""

    def error(self, message: str) -> NoReturn:
        options = [option for action in self._actions for option in action.option_strings]
        unknown = message.rpartition(" ")[2].split("=")[0]
        raise UsageError(message + (did_you_mean(unknown, options) if message.startswith("unrecognized") else ""))


def _arguments() -> _Arguments:
    description = "Reads IR or Relay text, runs passes on it and prints the result."
    parser = _Arguments(prog="relay-opt", description=description, allow_abbrev=False)
    add = parser.add_argument
    add("input", nargs="?", help="the input file, IR or Relay text (.relay); the standard input where absent or -")
    add("-p", "--passes", action="append", default=[], help="passes in order: `a,b{option=1},c`, or a named pipeline")
    add("--pipeline", action="append", dest="passes", help="the same as -p")
    add("-o", "--output", help="the output file; its weights go to a .safetensors file beside it")
    add("-t", "--target", default="mlir", help="what to print: mlir, relay, or a target of xDSL")
    add("--until", metavar="PASS", help="the last pass to run; PASS:2 is its second run")
    add("--split-input-file", action="store_true", help="treat the parts between `// -----` lines as files")
    add("--verify-diagnostics", action="store_true", help="check messages against `expected-error {{...}}` comments")
    add("--disable-verify", action="store_true", help="do not verify the module")
    add("--allow-unregistered-dialect", action="store_true", help="take operations of unknown dialects")
    add("--print-op-generic", action="store_true", help="print the generic form of operations")
    add("--print-no-properties", action="store_true", help="print properties as attributes")
    add("--print-debuginfo", action="store_true", help="print locations")
    add("--print-between-passes", action="store_true", help="print the module after each pass, to stderr")
    add("--print-ir-after-change", action="store_true", help="print what each pass changed as a diff, to stderr")
    add("--dump", metavar="DIR", help="write the module after each pass that changed it to a numbered file")
    add("--timing", "--time-passes", action="store_true", help="print time and peak memory of each pass, to stderr")
    add("--crash-reproducer", metavar="FILE", default="relay-crash.mlir", help="where the input of a failing pass goes")
    add("--debug", action="store_true", help="show Python's traceback of errors")
    add("--list-passes", action="store_true", help="print the names of passes and pipelines")
    add("-v", "--version", action="store_true", help="print the version")
    return parser


def run(argv: Sequence[str], streams: Streams) -> int:
    """Runs the tool on given streams; returns the exit code: 0, or 1 after any error."""
    try:
        return _run(argv, streams)
    except Error as error:
        text = str(error)
        streams.stderr.write((text if ": error: " in text else f"relay-opt: error: {text}") + "\n")
    except BrokenPipeError:
        raise
    except Exception as error:  # a mistake of the tool: one line, and the traceback for those who ask
        if "--debug" in argv:
            import traceback

            streams.stderr.write(traceback.format_exc())
        message = f"relay-opt: error: internal error: {type(error).__name__}: {error} (--debug shows the traceback)"
        streams.stderr.write(message.replace("\n", " ") + "\n")
    return 1


def _run(argv: Sequence[str], streams: Streams) -> int:
    args = _arguments().parse_args(list(argv))
    if args.version:
        from importlib.metadata import version

        streams.stdout.write(f"relay-opt {version('relay-mlir')} (xdsl {version('xdsl')})\n")
        return 0
    if args.list_passes:
        streams.stdout.write("\n".join(known_passes()) + "\n")
        return 0
    check_target(args.target)
    passes = up_to(parse_passes(",".join(args.passes)), args.until)
    gc.freeze()
    gc.enable()
    text, name = read_text(args.input, streams)
    return OptRun(args, streams, passes).run(text, name)
