"""The lit format: a test that should fail does fail, in the worker as in a shell."""

import subprocess
import sys
from pathlib import Path

import pytest

from test.support.lit_format import Command, NeedsShell, parse_line

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = "relay.func @f() -> () {\n  relay.return\n}\n"

CONFIG = f"""
import sys
sys.path.insert(0, {str(ROOT / "test" / "support")!r})
from lit_format import InProcessTest
config.name = "inner"
config.test_format = InProcessTest()
config.suffixes = [".mlir"]
config.test_source_root = config.test_exec_root = __file__.rpartition("/")[0]
config.available_features.add("here")
"""

CASES = {
    "pass_check": ("// RUN: relay-opt %s | filecheck %s\n// CHECK: relay.func @f\n", "PASS"),
    "pass_pipeline": (
        "// RUN: relay-opt %s | relay-opt - -p canonicalize > %t && filecheck %s < %t\n// CHECK: @f\n",
        "PASS",
    ),
    "pass_not": ("// RUN: not relay-opt %s -p nothing 2>&1 | filecheck %s\n// CHECK: unknown pass 'nothing'\n", "PASS"),
    "fail_check": ("// RUN: relay-opt %s | filecheck %s\n// CHECK: relay.func @g\n", "FAIL"),
    "fail_no_directive": ("// RUN: relay-opt %s | filecheck %s\n", "FAIL"),
    "fail_empty_input": ("// RUN: cat /dev/null | filecheck %s\n// CHECK-NOT: x\n", "FAIL"),
    "fail_empty_capture": ("// RUN: relay-opt %s | filecheck %s\n// CHECK: relay.func @f[[X:.*?]](\n", "FAIL"),
    "fail_first_of_pipe": ("// RUN: relay-opt %s -p nothing | cat\n", "FAIL"),
    "fail_first_of_and": ("// RUN: relay-opt %s -p nothing && relay-opt %s\n", "FAIL"),
    "fail_second_line": ("// RUN: relay-opt %s\n// RUN: relay-opt %s -p nothing\n", "FAIL"),
    "fail_not": ("// RUN: not relay-opt %s\n", "FAIL"),
    "fail_unknown_program": ("// RUN: no-such-program %s\n", "FAIL"),
    "unsupported": ("// REQUIRES: elsewhere\n// RUN: relay-opt %s\n", "UNSUPPORTED"),
    "required": ("// REQUIRES: here\n// RUN: relay-opt %s\n", "PASS"),
    "xfail": ("// XFAIL: *\n// RUN: not relay-opt %s\n", "XFAIL"),
    "no_run_line": ("// CHECK: relay.func\n", "UNRESOLVED"),
}


def test_results(tmp_path: Path):
    (tmp_path / "lit.cfg.py").write_text(CONFIG)
    for name, (header, _) in CASES.items():
        (tmp_path / f"{name}.mlir").write_text(header + PROGRAM)
    command = [str(Path(sys.executable).with_name("lit")), "-v", "-a", "-j1", "--show-all", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = {
        line.split(" :: ")[1].split(".mlir")[0]: line.split(":")[0]
        for line in done.stdout.splitlines()
        if " :: " in line and "(" in line and not line.startswith(("*", " "))
    }
    expected = {name: result for name, (_, result) in CASES.items()}
    assert found == expected, done.stdout


@pytest.mark.parametrize("line", ["a; b", "a || b", "a $(b)", "X=1 a", "a > *.mlir", "cd x && a", "a |", "> x"])
def test_lines_for_a_shell(line: str):
    with pytest.raises(NeedsShell):
        parse_line(line)


def test_line():
    assert parse_line("not a 'x;|y' --b=\"1 2\" 2>&1 | c < in > out && d 2> err") == [
        [
            Command(["not", "a", "x;|y", "--b=1 2"], merge=True),
            Command(["c"], stdin="in", stdout="out"),
        ],
        [Command(["d"], stderr="err")],
    ]
