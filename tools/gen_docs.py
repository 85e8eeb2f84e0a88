"""Writes what follows from the definitions, see PAGES: `python -m relay_mlir.tools.gen_docs`."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from xdsl.ir import Attribute
from xdsl.passes import ModulePass, get_pass_option_infos

from relay_mlir.dialects.relay.core import CORE_OPS
from relay_mlir.dialects.relay.op import OPERATORS, Operator
from relay_mlir.lowering.pipeline import PASSES, PIPELINES, pass_class

ROOT = Path(__file__).resolve().parent.parent
_GENERATED = "<!-- Made by `make docs` from the definitions; edit those. -->"


def operators_page(root: Path = ROOT) -> str:
    """The page of all operations of the relay dialect."""
    tests = named_in_tests(root)
    lines = [
        "# The relay dialect",
        "",
        _GENERATED,
        "",
        f"{len(OPERATORS)} operators and {len(CORE_OPS)} other operations. An attribute at its default is not printed.",
        "",
        "## Functions, control flow, weights",
        "",
    ]
    for op in CORE_OPS:
        lines += [f"### {op.name}", "", inspect.cleandoc(op.__doc__ or ""), ""]
    for module in sorted({operator.__module__ for operator in OPERATORS.values()}):
        family = sorted((o for o in OPERATORS.values() if o.__module__ == module), key=lambda o: o.name)
        summary = inspect.cleandoc(sys.modules[module].__doc__ or "")
        lines += [f"## {module.rpartition('.')[2].replace('_', ' ')}", "", summary, ""]
        for operator in family:
            lines += _operator_section(operator, tests)
    return "\n".join(lines).rstrip() + "\n"


def _operator_section(operator: type[Operator], tests: Mapping[str, set[str]]) -> list[str]:
    lines = [f"### relay.{operator.name}", "", "```mlir", _syntax(operator), "```", ""]
    lines += [inspect.cleandoc(operator.__doc__ or ""), ""]
    if (accepts := getattr(operator, "accepts", None)) is not None:
        lines += [f"Element types: {accepts}.", ""]
    fields = dataclasses.fields(cast(Any, operator))
    if fields:
        lines += ["| attribute | type | default |", "|---|---|---|"]
        for field in fields:
            default = "required" if field.default is dataclasses.MISSING else f"`{_shown(field.default)}`"
            lines.append(f"| `{field.name}` | {_type_name(field.type)} | {default} |")
        lines.append("")
    lines += [f"Fusion: {operator.pattern.name}. Test: {', '.join(tests_of(operator.name, tests)) or 'none'}.", ""]
    return lines


def _syntax(operator: type[Operator]) -> str:
    """The operator applied to operands named as it names them, with its required attributes."""
    names = [f"%{name.rstrip('*')}" + (", ..." if name.endswith("*") else "") for name in operator.operands]
    required = [f for f in dataclasses.fields(cast(Any, operator)) if f.default is dataclasses.MISSING]
    attributes = f" {{{', '.join(f'{field.name} = ...' for field in required)}}}" if required else ""
    operands = f" {', '.join(names)}" if names else ""
    return f"%result = relay.{operator.name}{operands}{attributes} : ({', '.join('...' for _ in names)}) -> ..."


def _type_name(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"tuple\[(\w+), \.\.\.\]", r"list of \1", text)
    return re.sub(r"\bstr\b", "string", text).replace("Attribute", "element type").replace(" | None", " or none")


def _shown(value: object) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        return f"[{', '.join(_shown(item) for item in cast(tuple[object, ...], value))}]"
    return str(value) if isinstance(value, int | float | Attribute) else repr(value)


def named_in_tests(root: Path) -> dict[str, set[str]]:
    """What each test names, by its path: operations in IR, `relay.nn.relu`; words and `"nn.relu"` in Python."""
    paths = sorted([*(root / "test").rglob("*.mlir"), *(root / "test").rglob("test_*.py")])
    named: dict[str, set[str]] = {}
    for path in paths:
        pattern = r'"[\w.]+"|\w+' if path.suffix == ".py" else r"\brelay\.[\w.]+"
        named[str(path.relative_to(root))] = set(re.findall(pattern, path.read_text(encoding="utf-8")))
    return named


def tests_of(name: str, tests: Mapping[str, set[str]]) -> list[str]:
    """The tests that name an operator: `relay.nn.relu` in IR, or its class or name in Python; the first one."""
    python = {OPERATORS[name].__name__, f'"{name}"'}
    found = [path for path, names in tests.items() if (python if path.endswith(".py") else {f"relay.{name}"}) & names]
    own = sorted(found, key=lambda path: ("/dialects/" not in path, path))
    return [f"[{Path(path).name}](../{path})" for path in own[:1]]


def passes_page() -> str:
    """The page of all passes and named pipelines."""
    lines = ["# Passes", "", _GENERATED, ""]
    for name, passes in PIPELINES.items():
        lines += [f"`-p {name}` runs: {', '.join(f'`{each}`' for each in passes)}.", ""]
    for name in PASSES:
        cls = pass_class(name)
        lines += [f"## {name}", "", pass_doc(cls), ""]
        if options := get_pass_option_infos(cls):
            lines += ["| option | type | default |", "|---|---|---|"]
            for option in options:
                default = "required" if option.default_value is None else f"`{option.default_value}`"
                lines.append(f"| `{option.name.replace('_', '-')}` | {option.expected_type} | {default} |")
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def pass_doc(cls: type[ModulePass]) -> str:
    """What a pass says about itself: the docstring of its class, or of its module."""
    own = cls.__dict__.get("__doc__") or ""
    text = "" if own.startswith(f"{cls.__name__}(") else own  # what dataclass writes where there is none
    return inspect.cleandoc(text or sys.modules[cls.__module__].__doc__ or "")


def operator_table() -> str:
    """The Python module that says which module defines an operator."""
    lines = [
        '"""Which module of this package defines an operator; made by `make docs` from the definitions."""',
        "",
        "MODULES = {",
        *(f'    "{name}": "{cls.__module__.rpartition(".")[2]}",' for name, cls in sorted(OPERATORS.items())),
        "}",
    ]
    return "\n".join(lines) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "dialects/relay/operator_table.py": operator_table,
    "docs/operators.md": operators_page,
    "docs/passes.md": passes_page,
}
"""The functions that make the generated files, by their path in the repository."""


def main(argv: Sequence[str] | None = None) -> int:
    """Writes the files."""
    del argv
    for path, page in PAGES.items():
        (ROOT / path).write_text(page(), encoding="utf-8")
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
