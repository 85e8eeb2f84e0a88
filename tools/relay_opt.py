"""`relay-opt`: reads IR, runs passes on it and prints the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import get_all_dialects
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.xdsl_opt_main import xDSLOptMain

from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.lowering.pipeline import PASSES, PIPELINES, pass_class


def _relay() -> Dialect:
    from relay_mlir.dialects.relay import Relay

    return Relay


class RelayOptMain(xDSLOptMain):
    """The driver with this project's dialects and passes."""

    def register_all_dialects(self) -> None:
        self.ctx = RelayContext()
        for name, factory in get_all_dialects().items():
            self.ctx.register_dialect(name, factory)
        self.ctx.register_dialect("relay", _relay)

    def register_all_passes(self) -> None:
        super().register_all_passes()
        for name in PASSES:
            self.register_pass(name, _lazy(name))

    def setup_pipeline(self) -> None:
        self.args.passes = ",".join(PIPELINES[self.args.passes]) if self.args.passes in PIPELINES else self.args.passes
        super().setup_pipeline()


def _lazy(name: str) -> Callable[[], type[ModulePass]]:
    return lambda: pass_class(name)


def main(args: Sequence[str] | None = None) -> int:
    """The entry point of the command."""
    RelayOptMain(args=args).run()
    return 0
