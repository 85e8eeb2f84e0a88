"""When expressions are evaluated: graph variables in the innermost scope of their uses, effects in order."""

from __future__ import annotations

from xdsl.ir import Operation

from test.frontends.relay_text.support import HEADER, read


def _names(text: str) -> list[str]:
    """The operations of @main in order, `(` and `)` around those inside another."""
    found: list[str] = []

    def visit(op: Operation) -> None:
        found.append(op.name.removeprefix("relay."))
        for region in op.regions:
            found.append("(")
            for inner in region.block.ops:
                visit(inner)
            found.append(")")

    main = next(op for op in read(text).ops if "main" in str(op.get_attr_or_prop("sym_name")))
    for op in main.regions[0].block.ops:
        visit(op)
    return [name for name in found if name not in ("yield", "return", "constant")]


def test_used_in_one_branch_is_evaluated_there():
    text = "def @main(%x: int32, %c: bool) -> int32 { %0 = @main(%x - 1, %c); if (%c) { %0 } else { %x } }"
    assert _names(HEADER + text) == ["if", "(", "subtract", "call", ")", "(", ")"]


def test_used_in_both_branches_is_evaluated_before():
    text = "def @main(%x: int32, %c: bool) { if (%c) { %0 = %x + 1; %0 } else { %0 * %0 } }"
    assert _names(HEADER + text) == ["add", "if", "(", ")", "(", "multiply", ")"]


def test_chains_follow_their_uses():
    text = "def @main(%x: int32, %c: bool) { %0 = exp(1f); %1 = log(%0); if (%c) { (%1, %0) } else { (1f, 2f) } }"
    assert _names(HEADER + text) == ["if", "(", "exp", "log", "tuple", ")", "(", "tuple", ")"]


def test_a_graph_variable_with_an_effect_is_evaluated_at_its_first_use():
    text = "def @main(%r: ref(int32)) { %0 = ref_read(%r); ref_write(%r, 1); let %y = 2 + 3; %0 }"
    assert _names(HEADER + text) == ["ref_write", "add", "ref_read"]


def test_unused_graph_variables_are_not_evaluated():
    assert _names(HEADER + "def @main(%x: int32) { %0 = @main(%x); let %y = @main(%x); 0 }") == ["call"]


def test_operands_are_evaluated_from_left_to_right():
    text = "def @main(%x: float32) { %1 = exp(%x); add(log(%x), sqrt(%1)) }"
    assert _names(HEADER + text) == ["exp", "log", "sqrt", "add"]


def test_precedence():
    text = "def @main(%x: int32) { %x + %x * %x - %x / %x <= %x == True }"
    assert _names(HEADER + text) == ["multiply", "add", "divide", "subtract", "less_equal", "equal"]


def test_results_of_operators():
    text = "def @main(%x: Tensor[(4), float32]) { let %s = split(%x, indices_or_sections=2); (%s.1, %s.0) }"
    assert _names(HEADER + text) == ["split", "tuple"]
    text = "def @main(%x: Tensor[(4), float32]) { let %s = (%x, %x); concatenate(%s) }"
    assert _names(HEADER + text) == ["concatenate"]
