"""The rules of the repository, held by tests: docstrings, a test for each operator and pass, live directives, docs."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from relay_mlir.dialects.relay import Relay
from relay_mlir.dialects.relay.op import OPERATORS
from relay_mlir.lowering.pipeline import PASSES, pass_class
from relay_mlir.tools import gen_docs
from test.support.directives import problems

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [
    path
    for folder in ("dialects", "lowering", "frontends", "runtime", "tools", "relay_mlir", "test", "bench")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not any(part.is_symlink() for part in path.parents)
]
MLIR_TESTS = sorted((ROOT / "test").rglob("*.mlir"))


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_sources_are_found():
    assert len(SOURCES) > 50
    assert MLIR_TESTS


def test_modules_say_what_they_are_for():
    missing = [relative(path) for path in SOURCES if not ast.get_docstring(ast.parse(path.read_text()))]
    assert not missing


def test_operations_have_docstrings():
    missing = [op.name for op in Relay.operations if not inspect.cleandoc(op.__dict__.get("__doc__") or "")]
    for name, cls in OPERATORS.items():
        doc = cls.__dict__.get("__doc__") or ""
        if not doc or doc.startswith(f"{cls.__name__}("):  # what dataclass writes where there is none
            missing.append(name)
    assert not missing


@pytest.mark.parametrize("name", PASSES)
def test_pass(name: str):
    """A pass is documented, and has a golden test in the folder of its name."""
    cls = pass_class(name)
    assert cls.name == name
    assert gen_docs.pass_doc(cls)
    folder = ROOT / "test" / "lowering" / name.replace("-", "_")
    golden = [
        path
        for path in folder.glob("*.mlir")
        if re.search(rf"// RUN:.* -p '?(?:\S*,)?{name}\b.*filecheck", path.read_text())
    ]
    assert golden, f"no test in {relative(folder)} runs `relay-opt %s -p {name} | filecheck %s`"


def test_operators_are_tested():
    tests = gen_docs.named_in_tests(ROOT)
    assert not [name for name in OPERATORS if not gen_docs.tests_of(name, tests)]


def test_directives_are_alive():
    found = [f"{relative(path)}: {problem}" for path in MLIR_TESTS for problem in problems(path.read_text())]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("line", ["CHECK-NXT: a", "CHECK : a", "CHECK-NEXT a", "check: a", "CHECK_NEXT: a", "CHEK: a"])
def test_mistyped_directive_is_found(line: str):
    assert problems(f"// RUN: relay-opt %s | filecheck %s\n// CHECK: b\n// {line}\n")


def test_dead_directives_are_found():
    assert problems("// RUN: relay-opt %s | filecheck %s --check-prefix=A\n// CHECK: a\n")
    assert problems("// RUN: relay-opt %s\n// expected-error @below {{a}}\n")
    assert problems("// CHECK: a\n")
    assert not problems("// RUN: relay-opt %s | filecheck %s\n// Checks a note: fine.\n// CHECK-COUNT-2: a\n")


@pytest.mark.parametrize("page", list(gen_docs.PAGES))
def test_generated_docs_are_current(page: str):
    text = gen_docs.PAGES[page]()
    path = ROOT / page
    assert path.exists()
    assert path.read_text() == text, "run `make docs`"


def test_imports_go_downwards():
    """The layers of pyproject.toml, checked by import-linter."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
