"""Relay text in relay-translate and relay-opt: as input by its extension, as output when asked for."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from relay_mlir.tools.driver import Streams
from relay_mlir.tools.opt_main import run as run_opt
from relay_mlir.tools.relay_translate import run as run_translate

TEXT = (
    '#[version = "0.0.5"]\n'
    "def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {\n"
    "  let %y = nn.relu(%x);\n"
    "  add(%y, 1f)\n"
    "}\n"
)
Tool = Callable[[Sequence[str], Streams], int]


def _run(tool: Tool, *argv: str | Path) -> tuple[int, str, str]:
    streams = Streams(io.BytesIO(), io.StringIO(), io.StringIO())
    code = tool([str(argument) for argument in argv], streams)
    assert isinstance(streams.stdout, io.StringIO)
    assert isinstance(streams.stderr, io.StringIO)
    return code, streams.stdout.getvalue(), streams.stderr.getvalue()


def _file(folder: Path, text: str) -> Path:
    path = folder / "net.relay"
    path.write_text(text, encoding="utf-8")
    return path


def test_translate_both_ways(tmp_path: Path):
    path = _file(tmp_path, TEXT)
    mlir = tmp_path / "net.mlir"
    assert _run(run_translate, path, "-o", mlir) == (0, "", "")
    assert _run(run_translate, mlir, "--to", "relay") == (0, TEXT, "")
    again = tmp_path / "again.relay"
    assert _run(run_translate, mlir, "-o", again) == (0, "", "")
    assert again.read_text(encoding="utf-8") == TEXT


def test_translate_keeps_weights(tmp_path: Path):
    from relay_mlir.frontends.relay_text.metadata_writer import Constants

    constants = Constants()
    reference = constants.reference(np.arange(100, dtype="float32"))
    text = f'#[version = "0.0.5"]\ndef @main() -> Tensor[(100), float32] {{\n  {reference}\n}}\n' + constants.section()
    mlir = tmp_path / "net.mlir"
    assert _run(run_translate, _file(tmp_path, text), "-o", mlir)[0] == 0
    assert (tmp_path / "net.safetensors").exists()
    assert _run(run_translate, mlir, "--to", "relay") == (0, text, "")


def test_translate_with_a_library(tmp_path: Path):
    path = _file(tmp_path, '#[version = "0.0.5"]\ndef @main() { @length(Cons(1, Nil)) }\n')
    code, out, _ = _run(run_translate, path, "--std", "prelude", "--to", "relay")
    assert code == 0
    assert "def @length[A](%xs: List[A]) -> int32 {" in out
    assert _run(run_translate, path)[0] == 1
    assert "there is no standard library 'prelud'" in _run(run_translate, path, "--std", "prelud")[2]


def test_opt(tmp_path: Path):
    path = _file(tmp_path, TEXT)
    assert _run(run_opt, path, "-t", "relay") == (0, TEXT, "")
    assert "relay.nn.relu %x" in _run(run_opt, path)[1]
    assert f'loc("{path}":3:12)' in _run(run_opt, path, "--print-debuginfo")[1]


@pytest.mark.parametrize("tool", [run_opt, run_translate])
def test_mistakes_are_located(tool: Tool, tmp_path: Path):
    path = _file(tmp_path, TEXT.replace("%y,", "%z,"))
    code, out, err = _run(tool, path)
    assert (code, out) == (1, "")
    assert err == f"{path}:4:7: error: undefined variable `%z`\n  add(%z, 1f)\n      ^~\n"


def test_what_is_not_relay_cannot_be_written(tmp_path: Path):
    path = tmp_path / "f.mlir"
    path.write_text("func.func @main() { return }", encoding="utf-8")
    code, _, err = _run(run_translate, path, "--to", "relay")
    assert code == 1
    assert err.startswith(f"{path}:1:1: error: 'func.func' op only functions and data types can be written")
    assert "must end in .relay" in _run(run_translate, _file(tmp_path, TEXT), "--to", "relay", "-o", "x.mlir")[2]
