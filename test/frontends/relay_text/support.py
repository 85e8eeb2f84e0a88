"""What the tests of Relay text share: reading a text, and the round trip through the printer."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp

from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.frontends.relay_text.printer import print_relay
from relay_mlir.frontends.relay_text.reader import parse_relay
from relay_mlir.lowering.ir_text import SourceText
from relay_mlir.tools.driver import make_context

HEADER = '#[version = "0.0.5"]\n'
LIST = "type List[A] { Cons(A, List[A]), Nil }\n"


def read(text: str, ctx: RelayContext | None = None, **options: Any) -> ModuleOp:
    """The module of a text."""
    return parse_relay(SourceText(text, "t.relay"), ctx or make_context(), **options)


def round_trip(text: str, *, let: bool = False, **options: Any) -> str:
    """The printed text of a program, which reads back to the equal module and prints the same again."""
    ctx = make_context()
    module = read(text, ctx, **options)
    printed = print_relay(module, ctx.weights, let=let)
    again = read(printed, ctx)
    assert print_relay(again, ctx.weights, let=let) == printed
    if not let:
        assert module.is_structurally_equivalent(again), printed
    return printed
