"""Options that relay-compile and relay-run share: the model, how to compile it, and what failure looks like."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from relay_mlir.dialects.errors import Error, InputError
from relay_mlir.lowering.diagnostics import DiagnosticError
from relay_mlir.tools.driver import with_deep_stack

if TYPE_CHECKING:
    import numpy as np


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """The options that say what is compiled and how."""
    parser.add_argument(
        "model", type=Path, metavar="MODEL", help="an .onnx or .pt2 file, or an .mlir file of the relay level"
    )
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=SIZES",
        help="sizes that the model leaves open: an input's shape (x=1x3x224x224) or a dimension's size (batch=1)",
    )
    parser.add_argument(
        "--value",
        action="append",
        default=[],
        metavar="NAME=NUMBERS",
        help="the value of an input, which becomes part of the program: numbers (1,2,3) or a .npy file",
    )
    parser.add_argument("--target", default="cpu", help="what to compile for (default: cpu)")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="the most threads a run uses (default: 1)")
    parser.add_argument(
        "--numerics",
        default="relaxed",
        choices=("relaxed", "strict"),
        help="strict: IEEE arithmetic; relaxed: also FMA, and denormal numbers are zero (default)",
    )
    parser.add_argument("--dump", type=Path, metavar="DIR", help="write the program after each pass to this folder")
    parser.add_argument("--timing", action="store_true", help="print the time and memory of each pass")


def parse_shapes(options: Sequence[str]) -> dict[str, Sequence[int] | int]:
    """`NAME=1x3x224x224` and `NAME=1` as a mapping; raises InputError for another form."""
    shapes: dict[str, Sequence[int] | int] = {}
    for option in options:
        name, equals, sizes = option.rpartition("=")
        parts = sizes.split("x")
        if not equals or not name or not all(part.isdecimal() for part in parts):
            raise InputError(f"--shape {option}: expected NAME=1x3x224x224, or NAME=1 for a dimension")
        if name in shapes:
            raise InputError(f"--shape {name} is given twice")
        numbers = [int(part) for part in parts]
        shapes[name] = numbers if len(numbers) > 1 else numbers[0]
    return shapes


def parse_values(options: Sequence[str]) -> dict[str, np.ndarray]:
    """`NAME=1,2,3` and `NAME=FILE.npy`; numbers take the dtype of the input. Raises InputError for another form."""
    import numpy as np

    values: dict[str, np.ndarray | list[float]] = {}
    for option in options:
        name, equals, text = option.rpartition("=")
        if not equals or not name or name in values:
            raise InputError(f"--value {option}: expected NAME=1,2,3 or NAME=FILE.npy, each name once")
        try:
            if text.endswith(".npy"):
                values[name] = np.load(text, allow_pickle=False)
            else:
                values[name] = [_number(word) for word in text.split(",") if word]
        except OSError as error:
            raise InputError(f"--value {option}: cannot read '{text}': {error.strerror or error}") from error
        except ValueError as error:
            raise InputError(f"--value {option}: {error}") from error
    return cast("dict[str, np.ndarray]", values)  # the importer takes lists as well


def _number(word: str) -> float:
    try:
        return int(word)
    except ValueError:
        return float(word)


class Progress:
    """Which pass runs, on one line of a terminal that is overwritten; nothing elsewhere."""

    def __init__(self, passes: Sequence[str]):
        self._names = [*passes, "machine code"]
        self._shown = sys.stderr.isatty()
        self._next = 0
        self.advance()

    def advance(self) -> None:
        """Goes on to the next pass."""
        if self._shown and self._next < len(self._names):
            sys.stderr.write(f"\r\033[K[{self._next + 1}/{len(self._names)}] {self._names[self._next]}")
            sys.stderr.flush()
        self._next += 1

    def clear(self) -> None:
        """Leaves an empty line."""
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def run_tool(name: str, function: Callable[[], int]) -> int:
    """Runs a tool: what went wrong becomes one message and exit code 1, never a traceback of an error of the user."""
    try:
        return with_deep_stack(function)
    except DiagnosticError as error:
        print(error, file=sys.stderr)
    except (Error, OSError) as error:
        print(f"{name}: error: {error}", file=sys.stderr)
    except MemoryError:
        print(f"{name}: error: out of memory", file=sys.stderr)
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        if os.environ.get("RELAY_TRACEBACK"):
            raise
        text = f"{type(error).__name__}: {error}"
        hint = "this is a mistake of the compiler; RELAY_TRACEBACK=1 shows where it was made"
        print(f"{name}: internal error: {text} ({hint})", file=sys.stderr)
    return 1
