"""Programs read, printed and read again: the equal module, the same text, in the expected form."""

from __future__ import annotations

import numpy as np
import pytest

from relay_mlir.frontends.relay_text.std import LIBRARIES, std_path
from test.frontends.relay_text.support import HEADER, LIST, read, round_trip

PROGRAMS = [
    "def @main(%x: Tensor[(2, 3), float32], %c: bool) { let %y = %x + 1f; if (%c) { %y } else { %x * %y } }",
    "def @main() { () }",
    "def @main(%x: float32) { (%x,) }",
    "def @main(%t: (int32, (float32, bool))) { %t.1.0 }",
    "def @f[A](%x: A) -> A { %x } def @main(%x: float32) { @f(@f(%x)) }",
    "def @main() { let %g = fn (%n: int32) { if (%n == 0) { 0 } else { %g(%n - 1) } }; %g(3) }",
    "def @main(%x: int32) { let %f = fn (%y: int32) { %x + %y }; (%f(1), %f) }",
    "def @main(%x: float32) { %0 = ref(%x); ref_write(%0, 1f); ref_read(%0) }",
    "def @even(%n: int32) -> bool { if (%n == 0) { True } else { @odd(%n - 1) } }\n"
    "def @odd(%n: int32) -> bool { if (%n == 0) { False } else { @even(%n - 1) } }",
    LIST + "def @main() { match (Cons(1, Nil)) { Cons(%x, Cons(_, _)) => %x, Cons(%x, Nil) => %x, Nil => 0 } }",
    LIST + "def @main(%l: List[int32]) { match? (%l) { Cons(%x, _) => { let %y = %x + 1; %y } } }",
    LIST + "def @main(%f: fn (int32, List[int32]) -> List[int32]) { %f(1, Nil) } def @g() { @main(Cons) }",
    LIST + "def @main(%a: (int32, List[int32])) { match (%a) { (%x, Nil) => %x, (_, Cons(%y, _)) => %y } }",
    "extern type Storage def @main(%s: Storage) { %s }",
    "def @main(%x: Tensor[(?, 4), int8], %y: Tensor[(2), bfloat16]) { (%x, %y) }",
    'def @main(%x: Tensor[(2, 4), float32], Compiler="dnnl", n=[1, 2.5f, None, True]) { nn.relu(%x) }',
    "def @main(%x: int32, %x: float32) { %x }",
    "def @main(%x: Tensor[(4), float32]) { let %f = fn (%y: Tensor[(4), float32], Primitive=1) { exp(%y) }; %f(%x) }",
    "def @main(%x: int32) { let %unused = %x + 1; %x * 2; %x }",
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda text: text[:50])
@pytest.mark.parametrize("let", [False, True])
def test_round_trip(program: str, let: bool):
    round_trip(HEADER + program, let=let)


@pytest.mark.parametrize("name", LIBRARIES)
def test_standard_libraries(name: str):
    text = std_path(name).read_text(encoding="utf-8")
    printed = round_trip(text, std=["prelude"] if name == "nat" else [])
    functions = {"core": 0, "gradient": 3, "nat": 24 + 5, "prelude": 24}[name]
    assert printed.count("def @") == functions


def test_form():
    printed = round_trip(
        HEADER + "def @main(%x: Tensor[(2, 3), float32], %c: bool) {\n"
        "  %0 = nn.relu(%x); let %y = %0 + 1f;\n"
        "  if (%c) { add(%0, %y) } else { %2 = exp(%y); multiply(%2, %2) } }"
    )
    assert printed == (
        '#[version = "0.0.5"]\n'
        "def @main(%x: Tensor[(2, 3), float32], %c: bool) -> Tensor[(2, 3), float32] {\n"
        "  %0 = nn.relu(%x);\n"
        "  let %y = add(%0, 1f);\n"
        "  if (%c) {\n"
        "    add(%0, %y)\n"
        "  } else {\n"
        "    %1 = exp(%y);\n"
        "    multiply(%1, %1)\n"
        "  }\n"
        "}\n"
    )


def test_a_list_is_written_as_one_reads_it():
    assert "  Cons(1, Nil)\n" in round_trip(HEADER + LIST + "def @main() { Cons(1, Nil) }")


def test_constants_are_written_once():
    table = {"relay.Constant": [np.arange(6, dtype="int8").reshape(2, 3)]}
    printed = round_trip(HEADER + "def @main() { (meta[relay.Constant][0], meta[relay.Constant][0]) }", metadata=table)
    assert printed.count("meta[relay.Constant][0]") == 2
    assert printed.count('"type_key": "relay.Constant"') == 1


def test_names_are_made_unique():
    printed = round_trip(
        HEADER + "def @main(%x: int32) { let %x = %x + 1; let %x = %x + 2; (%x, fn (%x: int32) { %x }) }"
    )
    assert "let %x1 = add(%x, 1);" in printed
    assert "let %x2 = add(%x1, 2);" in printed


def test_one_expression_is_main():
    function = round_trip("fn (%x: int32) { %x }")
    assert function == round_trip("free_var %x: int32; %x")
    assert "def @main(%x: int32) -> int32 {" in function


def test_a_module_is_added_to_another():
    module = read(HEADER + "def @f(%y: int32) -> int32 { negative(%y) }")
    read(HEADER + "def @main(%x: int32) { @f(%x) }", into=module)
    assert [op.get_attr_or_prop("sym_name").data for op in module.ops] == ["f", "main"]  # type: ignore[union-attr]
