"""`--verify-diagnostics`: what is expected must come, and nothing else."""

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relay_mlir.lowering import pass_spec
from relay_mlir.lowering.diagnostics import report
from test.tools.test_relay_opt import opt

UNDEFINED = "  relay.return %y : tensor<2xf32>"


def program(*lines: str) -> str:
    return "\n".join(["relay.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {", *lines, "}"])


def check(text: str, *arguments: str) -> tuple[int, list[str]]:
    """The exit code and the error lines of a run that verifies diagnostics."""
    result = opt("--verify-diagnostics", "--split-input-file", *arguments, text=text)
    return result.code, [line for line in result.err.splitlines() if ": error: " in line]


@pytest.mark.parametrize(
    "lines",
    [
        ["  // expected-error @below {{use of undefined value %y}}", UNDEFINED],
        ["  // expected-error @+1 {{undefined}}", UNDEFINED],
        [UNDEFINED + " // expected-error {{undefined}}"],
        [UNDEFINED, "  // expected-error @above {{undefined}}"],
        [UNDEFINED, "", "  // expected-error @-2 {{undefined}}"],
        ["  // expected-error-re @below {{use of {{[a-z]+}} value %{{.}}}}", UNDEFINED],
    ],
)
def test_expected(lines: list[str]):
    assert check(program(*lines)) == (0, [])


def test_missing():
    text = program("  // expected-error @below {{undefined}}", "  relay.return %x : tensor<2xf32>")
    assert check(text) == (1, ['<stdin>:2:3: error: expected error "undefined" was not produced'])


def test_unexpected():
    assert check(program(UNDEFINED)) == (1, ["<stdin>:2:16: error: unexpected error: use of undefined value %y"])


@pytest.mark.parametrize(
    "comment",
    [
        "// expected-error @below {{something else}}",
        "// expected-error {{undefined}}",
        "// expected-warning @below {{undefined}}",
        "// expected-error @unknown {{undefined}}",
    ],
)
def test_wrong_expectation(comment: str):
    code, errors = check(program("  " + comment, UNDEFINED))
    assert code == 1
    assert len(errors) == 2


def test_malformed_expectation():
    code, errors = check(program("  // expected-error below undefined", "  relay.return %x : tensor<2xf32>"))
    assert code == 1
    assert "not an expectation" in errors[0]


def test_one_expectation_matches_one_message():
    part = program("  // expected-error @below {{undefined}}", "  // expected-error @below {{undefined}}", UNDEFINED)
    assert check(part)[0] == 1


def test_parts_are_independent():
    good = program("  // expected-error @below {{undefined}}", UNDEFINED)
    assert check(good + "\n// -----\n" + good) == (0, [])
    code, errors = check(good + "\n// -----\n" + program(UNDEFINED))
    assert code == 1
    assert errors == ["<stdin>:7:16: error: unexpected error: use of undefined value %y"]


class _Remarks(ModulePass):
    """Says something about each operation of a function."""

    name = "test-remarks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in op.walk():
            if each.name == "relay.return":
                report("remark", each, "is the end")
                report("warning", each, "is late")


def test_remarks_and_warnings(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pass_spec, "find_pass", lambda _: _Remarks)
    end = "  relay.return %x : tensor<2xf32>"
    expected = program("  // expected-remark @below {{is the end}}", "  // expected-warning @below {{is late}}", end)
    assert check(expected, "-p", "test-remarks") == (0, [])
    assert check(program(end), "-p", "test-remarks")[0] == 1
    result = opt("-p", "test-remarks", text=program(end))
    assert result.code == 0
    assert "<stdin>:2:3: remark: 'relay.return' op is the end" in result.err
    assert "<stdin>:2:3: warning: 'relay.return' op is late" in result.err
