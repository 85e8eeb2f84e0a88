"""Mistakes in a text: one located line each, with the place TVM reports."""

from __future__ import annotations

import pytest

from relay_mlir.lowering.diagnostics import DiagnosticError
from test.frontends.relay_text.support import HEADER, LIST, read

MISTAKES = [
    ("def @main() { addd(1, 2) }", 15, "unknown operator `addd`; did you mean 'add'?"),
    ("def @main(%xs: int32) { %x }", 25, "undefined variable `%x`; did you mean 'xs'?"),
    ("def @main() { %0 }", 15, "undefined graph variable `%0`"),
    ("def @main() { @man() }", 15, "undefined function `@man`; did you mean 'main'?"),
    ("def @main(%x: Lst) { %x }", 15, "undefined type `Lst`"),
    (LIST.strip() + " def @main(%x: List) { %x }", 54, "type `List` takes 1 type argument, but has 0"),
    (LIST.strip() + " def @m(%x: List[int32]) { match (%x) { Nill => 0 } }", 79, "undefined constructor `Nill`"),
    (LIST.strip() + " def @m(%x: List[int32]) { match (%x) { Cons(%y) => 0 } }", 79, "has 2 fields"),
    (LIST.strip() + " def @main() { Cons(1) }", 54, "constructor `Cons` has 2 fields, but is given 1"),
    ("def @f() { 0 } def @f() { 0 }", 20, "function `@f` is defined twice"),
    ("type A { B } type A { C }", 19, "type `A` is declared twice"),
    ("type A { B } type C { B }", 23, "constructor `B` is declared twice"),
    ("extern type A { B }", 15, "the extern type `A` can have no constructors"),
    ("def @main() { 32768i16 }", 15, "does not fit 16 bits"),
    ("def @main() { 2147483648i32 }", 15, "does not fit 32 bits"),
    ("def @main() { 65505f16 }", 15, "does not fit 16 bits"),
    ("def @main() { 3.40283e+38f32 }", 15, "does not fit 32 bits"),
    ("def @main() { 1.5 }", 15, "a floating point number ends in `f`"),
    ("def @main() { 1i7 }", 15, "invalid numeric suffix `i7`"),
    ("def @main() { let @x = 1; () }", 19, "expected a local variable, but found `@x`"),
    ("def @main() { let x = 1; () }", 19, "expected a local variable, but found `x`"),
    ("def @main() { if (True) { let %x = 1; () } else { %x } }", 51, "undefined variable `%x`"),
    ("def @main(%x: (int32,)) { %x.1 }", 27, "field 1 of a tuple that has 1 fields"),
    ("def @main(%x: int32) { %x.0 }", 24, "only a tuple has fields"),
    ("def @main(%x: int32) { %x(1) }", 24, "only a function can be called"),
    ("def @f(%x: int32) { %x } def @main() { @f(1, 2) }", 40, "@f takes 1 argument, but is given 2"),
    ("def @main() { add(1) }", 15, "add: expected 2 arguments, but found 1"),
    ("def @main(%x: int32) { if (%x) { 0 } else { 1 } }", 28, "the condition must be bool"),
    ("def @main(%x: bool) { if (%x) { 0 } else { 1f } }", 23, "the branches are"),
    ("def @main() { let %x: int32 = 1f; %x }", 19, "%x is declared"),
    ("def @main() -> int32 { 1f }", 24, "returns"),
    ("def @main(%x: Tensor[(2), float32]) { sum(%x, axs=[0]) }", 39, "sum has no attribute `axs`; did you mean"),
    ('def @main(%x: Tensor[(2), float32]) { sum(%x, axis="0") }', 39, "attribute `axis` of sum: expected"),
    ('def @main(%x: Tensor[(2), float32]) { cast(%x, dtype="float31") }', 39, "unknown dtype"),
    ("def @main() { meta[relay.Constant][0] }", 15, "the metadata has no `relay.Constant`"),
    ("def @main() { /* open }", 15, "the comment does not end"),
    ('def @main() { "open }', 15, "the string does not end"),
    ("def @main(%x: Tensor[(2), float32]) { nn.relu(%x, n=1, n=2) }", 56, "attribute `n` is given twice"),
    ("def @main() { fn () { %y } }", 23, "undefined variable `%y`"),
    ("def @main() { free_var %y: int32; %y }", 24, "has no free variables"),
    ("def @main(%f: fn () -> int32) { %f(n=1) }", 36, "need `attrs_type_key`"),
    ("def @main() { 1 ", 17, "expected `}`, but found the end of the text"),
    ("def @main(%c: bool) { if (%c) { let %x = 1; %0 = %x + 1; %0 } else { %0 } }", 50, "used outside its scope"),
]


@pytest.mark.parametrize(("text", "column", "message"), MISTAKES, ids=lambda value: str(value)[:40])
def test_mistake(text: str, column: int, message: str):
    with pytest.raises(DiagnosticError) as caught:
        read(HEADER + text)
    first, line, caret = str(caught.value).split("\n")
    assert first.startswith(f"t.relay:2:{column}: error: ")
    assert message in first
    assert line == text
    assert caret.index("^") == column - 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('#[version = "0.0.4"]\ndef @main() { () }', 't.relay:1:1: error: version "0.0.4" is not supported'),
        ("def @main() { () }", "t.relay:1:1: error: a module starts with its version"),
        ("#[versio]", "t.relay:1:1: error: unsupported attribute"),
        (HEADER + "def @main() { () }\n#[metadata]\n{", "t.relay:3:12: error: the metadata section is not"),
        ("\rdef", "t.relay:1:1: error: a carriage return must be followed by a line feed"),
    ],
)
def test_header_and_metadata(text: str, message: str):
    with pytest.raises(DiagnosticError) as caught:
        read(text)
    assert str(caught.value).startswith(message)


def test_types_that_cannot_be_inferred():
    with pytest.raises(DiagnosticError, match=r"t.relay:1:11: error: .*annotate"):
        read("fn (%x) { %x + 1 }")


def test_a_match_that_does_not_cover():
    with pytest.raises(DiagnosticError, match=r"t.relay:2:66: error: .*does not cover"):
        read(HEADER + LIST.strip() + " def @m(%x: List[int32]) { match (%x) { Nil => 0 } }")
