"""Long chains and deep expressions: no limit of recursion, linear time."""

from __future__ import annotations

import sys

import pytest

from test.frontends.relay_text.support import HEADER, LIST, round_trip

COUNT = 3000
"""More than Python's limit of recursion, and still quick; the time grows linearly with it."""

PROGRAMS = {
    "lets": "def @main(%x: float32) { " + "let %x = %x + 1f; " * COUNT + "%x }",
    "graph": "def @main(%x: float32) { %0 = %x; "
    + "".join(f"%{i + 1} = add(%{i}, %{i}); " for i in range(COUNT))
    + f"%{COUNT} }}",
    "list": LIST + "def @main() { " + "Cons(1, " * COUNT + "Nil" + ")" * COUNT + " }",
    "infix": "def @main() { " + "1 + " * COUNT + "1 }",
    "parentheses": "def @main() { " + "(" * COUNT + "1" + ")" * COUNT + " }",
    "sequence": "def @main(%r: ref(int32)) { " + "ref_write(%r, 1); " * COUNT + "() }",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_long_programs(name: str):
    assert sys.getrecursionlimit() < COUNT
    round_trip(HEADER + PROGRAMS[name])
