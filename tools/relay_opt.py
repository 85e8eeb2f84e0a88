"""`relay-opt`: reads IR text, runs passes on it and prints the result."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relay_mlir.tools.driver import Streams


def run(argv: Sequence[str], streams: Streams) -> int:
    """Runs the tool on given streams; returns the exit code: 0, or 1 after any error."""
    from relay_mlir.tools.opt_main import run as run_on_streams

    return run_on_streams(argv, streams)


def main(argv: Sequence[str] | None = None) -> int:
    """The entry point of the command."""
    gc.disable()  # what the imports make stays: looking for garbage in it takes a fifth of the start-up
    from relay_mlir.tools.driver import run_tool

    return run_tool(run, argv)


if __name__ == "__main__":
    sys.exit(main())
