"""relay-opt from the outside: bad input, weights, dumps, timing, reproducers, locations."""

import io
import random
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from relay_mlir.lowering import pass_spec
from relay_mlir.tools.driver import Streams, with_deep_stack
from relay_mlir.tools.relay_opt import run

MODULE = """relay.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.nn.relu %x : tensor<2xf32> loc("/layer1/Relu")
  %1 = relay.add %0, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  relay.return %1 : tensor<2xf32>
}
"""


@dataclass
class Result:
    code: int
    out: str
    err: str


def opt(*arguments: str, text: str | bytes = "") -> Result:
    """Runs relay-opt with `text` as its standard input."""
    data = text if isinstance(text, bytes) else text.encode()
    out, err = io.StringIO(), io.StringIO()
    code = with_deep_stack(lambda: run(arguments, Streams(io.BytesIO(data), out, err)))
    return Result(code, out.getvalue(), err.getvalue())


def assert_one_error(result: Result, *words: str) -> None:
    """Exit code 1 and one line with `error:`; no traceback."""
    assert result.code == 1
    assert "Traceback" not in result.err
    assert result.err.count("error: ") == 1, result.err
    assert all(word in result.err for word in words), result.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "<stdin>:1:1: error: the text holds no operation"),
        ("}", "<stdin>:1:1: error: expected an operation"),
        ("relay.func @f(", "<stdin>:1:15: error: "),
        ('relay.func @f() -> () attributes {a = "x} {\n}', "<stdin>:1:39: error: "),
        ("relay.func @f(%x: tensor<-1xf32>) -> () {\n}", "<stdin>:1:"),
        ("relay.func @f(%x: tensor<99999999999999999999xf32>) -> () {\n  relay.return\n}", ""),
        ("relay.func @f(%x: tensor<2xf33>) -> () {\n}", "<stdin>:1:"),
        ("relay.func @f(%x: i99999999999) -> () {\n}", "<stdin>:1:"),
        (
            "relay.constant dense<[1, [2]]> : tensor<2xi32>",
            "<stdin>:1:22: error: the rows of the literal have different",
        ),
        ('relay.constant dense<"0x12"> : tensor<2xi32>', "error: the literal has 1 bytes, but tensor<2xi32> has 8"),
        ('relay.constant dense<"0xzz"> : tensor<2xi32>', "error: expected hexadecimal digits"),
        (
            "relay.constant dense<1.5> : tensor<2xi32>",
            "<stdin>:1:22: error: expected an integer of type i32, but found 1.5",
        ),
        ("relay.constant dense<true> : tensor<2xi32>", "error: 'true' is a value of i1, not of i32"),
        ("relay.constant dense<> : tensor<2xi32>", "error: the literal has no element, but tensor<2xi32> has 2"),
        ("relay.constant dense<-0x7F800000> : tensor<2xf32>", "error: a float's bit pattern has no minus sign"),
        ("relay.constant dense<1" + "0" * 5000 + "> : tensor<2xi32>", "<stdin>:1:22: error: "),
        ("relay.constant array<i8: 1000>", "<stdin>:1:26: error: 1000 is out of the range of i8, -128 to 255"),
        ('"relay.add"() : () -> ()', "<stdin>:1:1: error: 'relay.add' op expected 2 operands"),
        ('%0 = "relay.nn.relu"() : () -> tensor<2xf32>', "<stdin>:1:1: error: 'relay.nn.relu' op expected 1 operands"),
        ('"arith.addf"() : () -> ()', "<stdin>:1:1: error: 'arith.addf' op "),
        ('"relay.func"() : () -> ()', "<stdin>:1:1: error: 'relay.func' op "),
        ('"relay.if"() ({}) : () -> ()', "<stdin>:1:1: error: 'relay.if' op "),
        ("#a = #a", "error: undefined symbol alias '#a'"),
        ("module { func.func @f() { cf.br ^nowhere } }", "error: region ends with missing block"),
    ],
)
def test_bad_text(text: str, message: str):
    assert_one_error(opt(text=text), message)


def test_not_utf8(tmp_path: Path):
    path = tmp_path / "x.mlir"
    path.write_bytes(b"relay.func\n  \xff")
    assert_one_error(opt(str(path)), f"{path}:2:3: error: byte 0xff is not UTF-8")


def test_unknown_weight_attributes():
    assert_one_error(
        opt(text="relay.func @main() -> () attributes {weights = 1 : i64} {\n  relay.return\n}"), "name of a file"
    )


def test_damaged_text_never_gives_a_traceback():
    """Random deletions, repetitions and swaps of a program are refused in one line, or accepted."""
    generator = random.Random(0)
    for _ in range(300):
        text = list(MODULE)
        for _ in range(generator.randint(1, 4)):
            at = generator.randrange(len(text))
            match generator.randrange(4):
                case 0:
                    del text[at : at + generator.randint(1, 8)]
                case 1:
                    text[at:at] = text[at : at + generator.randint(1, 12)]
                case 2:
                    text[at] = generator.choice('{}()<>[]%@"#!:,-=?x0 \n')
                case _:
                    other = generator.randrange(len(text))
                    text[at], text[other] = text[other], text[at]
        result = opt(text="".join(text))
        assert result.code == 0 or (result.code == 1 and result.err.count("error: ") == 1), "".join(text) + result.err


@pytest.mark.parametrize("depth", [400, 1000])
def test_deep_nesting(depth: int):
    text = "builtin.module {\n" * depth + "}\n" * depth
    assert opt(text=text).code == 0


def test_too_deep_nesting_is_an_error():
    assert_one_error(opt(text="builtin.module {\n" * 30000), "error: the program is nested too deeply")


# Passes


class _Crash(ModulePass):
    """A pass with a mistake."""

    name = "test-crash"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise KeyError("lost")


class _Break(ModulePass):
    """A pass that leaves a value without its definition."""

    name = "test-break"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        add = next(each for each in op.walk() if each.name == "relay.add")
        relu = next(each for each in op.walk() if each.name == "relay.nn.relu")
        relu.detach()
        assert add.parent is not None
        add.parent.insert_op_after(relu, add)


@pytest.fixture
def faulty_passes(monkeypatch: pytest.MonkeyPatch):
    real = pass_spec.find_pass
    extra = {"test-crash": _Crash, "test-break": _Break}
    monkeypatch.setattr(pass_spec, "find_pass", lambda name: extra.get(name) or real(name))


def test_crash_reproducer(tmp_path: Path, faulty_passes: None):
    file = tmp_path / "crash.mlir"
    result = opt("-p", "dce,test-crash,cse", "--crash-reproducer", str(file), text=MODULE)
    assert_one_error(result, "error: internal error in pass 'test-crash': KeyError: 'lost'", str(file))
    lines = file.read_text().splitlines()
    assert lines[0] == f"// relay-opt {file} -p test-crash"
    assert "relay.nn.relu" in file.read_text()
    assert_one_error(opt(*lines[0].split()[2:], "--crash-reproducer", str(tmp_path / "2")), "KeyError: 'lost'")
    assert "Traceback" in opt("-p", "test-crash", "--debug", "--crash-reproducer", str(file), text=MODULE).err


def test_invalid_result_names_pass_and_operation(tmp_path: Path, faulty_passes: None):
    result = opt("-p", "test-break", "--crash-reproducer", str(tmp_path / "c"), text=MODULE)
    assert_one_error(
        result,
        "<stdin>:3:3: error: internal error in pass 'test-break': 'relay.add' op the pass left an invalid program",
    )
    assert "used before it is defined" in result.err


def test_until_dump_timing(tmp_path: Path):
    text = MODULE.replace("relay.return %1", "%2 = relay.nn.relu %x : tensor<2xf32>\n  relay.return %1")
    result = opt(
        "-p", "dce,canonicalize,cse", "--until", "canonicalize", "--dump", str(tmp_path), "--timing", text=text
    )
    assert result.code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00-input.mlir", "01-dce.mlir"]
    assert opt(str(tmp_path / "01-dce.mlir")).out == result.out
    table = result.err.splitlines()
    assert table[0].split() == ["seconds", "peak", "MiB", "pass"]
    assert {line.split()[-1] for line in table[1:]} == {"dce", "canonicalize", "total"}
    times = [float(line.split()[0]) for line in table[1:-1]]
    assert times == sorted(times, reverse=True)
    assert all(float(line.split()[1]) > 1 for line in table[1:-1])


def test_print_ir_after_change():
    text = MODULE.replace("relay.return %1", "%2 = relay.nn.relu %x : tensor<2xf32>\n  relay.return %1")
    result = opt("-p", "dce,cse", "--print-ir-after-change", text=text)
    assert result.err.startswith("--- before dce\n+++ after dce\n")
    assert result.err.count("---") == 1
    assert re.search(r"^-.*relay.nn.relu", result.err, re.MULTILINE)


def test_locations_survive():
    """A pattern's new operations get the location of what they replace; explicit locations are printed."""
    text = (
        'func.func @f(%x: i32) -> i32 {\n  %z = arith.constant 0 : i32\n  %y = arith.addi %z, %z : i32 loc("/a/Add")\n'
        "  func.return %y : i32\n}"
    )
    result = opt("-p", "canonicalize", "--print-debuginfo", text=text)
    assert re.search(r'arith.constant 0 : i32 loc\("/a/Add"\)', result.out), result.out
    operations = [line for line in result.out.splitlines() if "arith" in line or "func.return" in line]
    assert operations
    assert all("loc(" in line and "unknown" not in line for line in operations)


# Weights

WEIGHTED = """relay.func @main(%x: tensor<2xf32>) -> tensor<2xf32> attributes {weights = "w.safetensors"} {
  %w = relay.weight "w" : tensor<2xf32>
  %0 = relay.add %x, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  relay.return %0 : tensor<2xf32>
}
"""


@pytest.fixture
def weighted(tmp_path: Path) -> Path:
    save_file({"w": np.array([1, -0.0], np.float32), "unused": np.zeros(3, np.float32)}, tmp_path / "w.safetensors")
    path = tmp_path / "m.mlir"
    path.write_text(WEIGHTED)
    return path


def test_weights_are_written_beside_the_output(weighted: Path):
    out = weighted.with_name("out.mlir")
    assert opt(str(weighted), "-o", str(out)).code == 0
    assert 'weights = "out.safetensors"' in out.read_text()
    saved = load_file(out.with_suffix(".safetensors"))
    assert list(saved) == ["w"]
    assert saved["w"].tobytes() == np.array([1, -0.0], np.float32).tobytes()
    assert opt(str(out), "-o", str(weighted.with_name("again.mlir"))).code == 0
    assert opt(str(weighted)).err == ""


def test_dump_has_weights(weighted: Path):
    folder = weighted.parent / "dump"
    assert opt(str(weighted), "--dump", str(folder)).code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["00-input.mlir", "weights.safetensors"]
    assert 'weights = "weights.safetensors"' in (folder / "00-input.mlir").read_text()


@pytest.mark.parametrize("name", ["../w.safetensors", "/etc/passwd", "link.safetensors", "a/../../w.safetensors"])
def test_weights_outside_the_folder_are_refused(weighted: Path, name: str):
    inner = weighted.parent / "inner"
    inner.mkdir()
    (inner / "link.safetensors").symlink_to(weighted.parent / "w.safetensors")
    path = inner / "m.mlir"
    path.write_text(WEIGHTED.replace("w.safetensors", name))
    assert_one_error(
        opt(str(path)), f"{path}:1:1: error: 'relay.func' op the weights file '{name}' must lie in the folder"
    )


def test_missing_and_wrong_weights(weighted: Path):
    weighted.write_text(WEIGHTED.replace("w.safetensors", "v.safetensors"))
    assert_one_error(opt(str(weighted)), ":1:1: error: ", "'v.safetensors' does not exist")
    weighted.with_name("v.safetensors").write_bytes(b"junk")
    assert_one_error(opt(str(weighted)), ":1:1: error: ", "'v.safetensors' is not a safetensors file")
    weighted.write_text(WEIGHTED.replace('weight "w"', 'weight "unusd"'))
    assert_one_error(opt(str(weighted)), ":2:3: error: ", "'unusd' is not in 'w.safetensors'; did you mean 'unused'?")
