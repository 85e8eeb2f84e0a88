"""Texts with random mistakes: a program or a located error, never another exception."""

from __future__ import annotations

import random

import pytest

from relay_mlir.frontends.relay_text.std import std_path
from relay_mlir.lowering.diagnostics import DiagnosticError
from test.frontends.relay_text.support import HEADER, LIST, read
from test.frontends.relay_text.test_metadata import SECTION
from test.frontends.relay_text.test_round_trip import PROGRAMS

TEXTS = [
    *(HEADER + program for program in PROGRAMS),
    HEADER + "def @main() { (meta[relay.Constant][0], meta[relay.Constant][1]) }\n" + SECTION,
    HEADER + LIST + "def @main(%x: Tensor[(1, 3, 8, 8), float32]) { nn.max_pool2d(%x, pool_size=[2, 2], padding=[1]) }",
    std_path("gradient").read_text(encoding="utf-8"),
]
PIECES = [
    *["(", ")", "{", "}", "[", "]", ",", ";", "=", "->", "=>", "%x", "%0", "@main", "_", "1", "-1f", "let", "fn", "if"],
    *[
        "match",
        "?",
        '"',
        "meta[a][0]",
        "#[metadata]",
        "/*",
        "*/",
        "//",
        ".0",
        ": int32",
        "Nil",
        "ref",
        "free_var",
        "\r",
    ],
]


def _mutated(text: str, choose: random.Random) -> str:
    for _ in range(choose.randint(1, 3)):
        at = choose.randrange(len(text) + 1)
        until = min(len(text), at + choose.choice([0, 0, 1, 1, 2, 8]))
        match choose.randrange(4):
            case 0:
                text = text[:at] + text[until:]
            case 1:
                text = text[:at] + choose.choice(PIECES) + text[until:]
            case 2:
                text = text[:at] + text[at:until] * 2 + text[until:]
            case _:
                text = text[:at] + chr(choose.choice([0, 9, 37, 64, 92, 123, 233, 8364])) + text[until:]
    return text


@pytest.mark.parametrize("seed", range(6))
def test_mutations(seed: int):
    choose = random.Random(seed)
    messages: list[tuple[str, str]] = []
    for _ in range(60):
        text = _mutated(choose.choice(TEXTS), choose)
        try:
            read(text)
        except DiagnosticError as e:
            messages.append((text, str(e)))
    for text, message in messages:
        assert message.startswith("t.relay:"), text
        assert ": error: " in message.split("\n")[0], text
    assert len(messages) > 20
