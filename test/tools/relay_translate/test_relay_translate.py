"""relay-translate: models to .mlir and .safetensors, read back bit for bit; clean errors."""

import io
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.frontends.mlir_file import read_mlir, write_mlir
from relay_mlir.frontends.onnx import import_onnx
from relay_mlir.runtime.interpreter import evaluate
from relay_mlir.tools.driver import Streams, make_context
from relay_mlir.tools.relay_translate import run
from test.support.onnx_graphs import info, model

RANDOM = np.random.default_rng(0)


def network(path: Path) -> Path:
    """A model with an open batch, weights of three types, and constants with NaN and infinities."""
    weights = {
        "w": RANDOM.standard_normal((8, 32)).astype(np.float32),
        "half": RANDOM.standard_normal(32).astype(np.float16),
        "odd": np.float32([np.nan, -np.inf, np.inf, -0.0] * 8),
        "few": np.float32([np.nan, -np.inf, -0.0, 1e-45]),
        "ids": np.arange(40),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="/mat mul"),
        helper.make_node("Cast", ["half"], ["wide"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["h", "wide"], ["a"], name="λ"),
        helper.make_node("Max", ["a", "odd"], ["y"], name='quo"ted\\'),
        helper.make_node("Identity", ["few"], ["z"]),
        helper.make_node("Identity", ["ids"], ["i"]),
    ]
    onnx.save(model(nodes, [info("x", ["n", 8])], ["y", "z", "i"], weights), str(path))
    return path


def translate(*arguments: object) -> tuple[int, str, str]:
    """Exit code, output and errors of the tool."""
    streams = Streams(io.BytesIO(), io.StringIO(), io.StringIO())
    code = run([str(argument) for argument in arguments], streams)
    return code, streams.stdout.getvalue(), streams.stderr.getvalue()


def test_round_trip(tmp_path: Path):
    source = network(tmp_path / "net.onnx")
    first, second = tmp_path / "net.mlir", tmp_path / "again" / "net.mlir"
    second.parent.mkdir()
    assert translate(source, "-o", first, "--to", "mlir", "--shape", "x=3x8") == (0, "", "")
    assert translate(first, "-o", second) == (0, "", "")
    assert first.read_bytes() == second.read_bytes()
    weights = first.with_suffix(".safetensors")
    assert weights.read_bytes() == second.with_suffix(".safetensors").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "net.mlir", "net.onnx", "net.safetensors"]


def test_what_is_read_back_computes_the_same(tmp_path: Path):
    source = network(tmp_path / "net.onnx")
    assert translate(source, "-o", tmp_path / "net.mlir")[0] == 0
    direct, read = RelayContext(), make_context()
    programs = [(import_onnx(source, direct), direct), (read_mlir(tmp_path / "net.mlir", read), read)]
    x = RANDOM.standard_normal((2, 8)).astype(np.float32)
    expected, found = (evaluate(module, ctx.weights, [x]) for module, ctx in programs)
    for a, b in zip(expected, found, strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_locations_and_names_are_written(tmp_path: Path):
    assert translate(network(tmp_path / "net.onnx"), "-o", tmp_path / "net.mlir")[0] == 0
    text = (tmp_path / "net.mlir").read_text()
    assert 'loc("/mat mul")' in text
    assert 'loc("quo\\22ted\\\\")' in text
    names = 'input_names = ["x"], dim_names = [["n", ""]], output_names = ["y", "z", "i"]'
    assert f'{names}, weights = "net.safetensors"' in text


def test_without_an_output_the_text_is_printed(tmp_path: Path):
    code, out, err = translate(network(tmp_path / "net.onnx"))
    assert (code, err) == (0, "")
    assert "relay.nn.matmul %x" in out
    assert [path.name for path in tmp_path.iterdir()] == ["net.onnx"]


def test_bindings(tmp_path: Path):
    node = helper.make_node("Reshape", ["x", "s"], ["y"])
    proto = model([node], [info("x", ["n", 6]), info("s", [2], TensorProto.INT64)])
    path = tmp_path / "m.onnx"
    onnx.save(proto, str(path))
    np.save(tmp_path / "s.npy", np.array([4, 3]))
    for value in ("s=4,3", f"s={tmp_path / 's.npy'}"):
        code, out, _ = translate(path, "--shape", "n=2", "--value", value)
        assert code == 0
        assert "-> tensor<4x3xf32>" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["net.onnx", "--shape", "x"], "--shape x: expected NAME=SIZExSIZE"),
        (["net.onnx", "--shape", "x=3xq"], "--shape x=3xq: expected NAME=SIZExSIZE"),
        (["net.onnx", "--shape", "x=-3x8"], "--shape x=-3x8: expected NAME=SIZExSIZE"),
        (["net.onnx", "--shape", "x=3x8", "--shape", "x=3x8"], "'x' is bound twice"),
        (["net.onnx", "--shape", "x=3x9"], "input 'x': the bound shape [3, 9] has 9 where the model has 8"),
        (["net.onnx", "--shape", "z=3"], "'z' is bound, but is not a dimension"),
        (["net.onnx", "--value", "x=a"], "--value x=a: "),
        (["net.onnx", "--value", "x=absent.npy"], "--value x=absent.npy: cannot read the file"),
        (["net.onnx", "--to", "onnx"], "invalid choice"),
        (["net.onnx", "-o", "net.txt"], "the output must end in .mlir"),
        (["net.onnx", "-o", "absent/net.mlir"], "cannot write 'absent/net.mlir'"),
        (["net.txt"], "expected a file that ends in .onnx, .pt2, .mlir or .relay"),
        (["absent.onnx"], "absent.onnx: cannot be read: No such file or directory"),
        (["absent.mlir"], "absent.mlir: cannot be read: No such file or directory"),
        (["net.mlir", "--shape", "x=1"], "--shape and --value are for models"),
        ([], "the following arguments are required: input"),
    ],
)
def test_errors_are_one_line(arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    network(Path("net.onnx"))
    code, out, err = translate(*arguments)
    assert (code, out) == (1, "")
    assert err.startswith("relay-translate: error: ")
    assert message in err
    assert err.count("\n") == 1


def test_every_problem_is_a_line(tmp_path: Path):
    nodes = [helper.make_node("NoSuchOp", ["x"], ["a"], name="n"), helper.make_node("Relu", ["x"], ["y"], alpha=1.0)]
    onnx.save(model(nodes, [info("x", [2])], ["a", "y"]), str(tmp_path / "m.onnx"))
    code, _, err = translate(tmp_path / "m.onnx")
    assert code == 1
    assert err.splitlines() == [
        "relay-translate: error: node 'n' NoSuchOp (opset 17): the operator does not exist at this opset",
        "relay-translate: error: node Relu that gives 'y' (opset 17): attribute 'alpha' is not supported",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("net.safetensors", "absent.safetensors"), "does not exist beside the .mlir file"),
        (lambda text: text.replace("net.safetensors", "../net.safetensors"), "must lie in the folder"),
        (lambda text: text.replace(', weights = "net.safetensors"', ""), "is in no file: @main has no attribute"),
        (lambda text: text.replace('relay.weight "w"', 'relay.weight "v"'), "weight 'v' is not in 'net.safetensors'"),
        (lambda text: text.replace("relay.return", "relay.retrun"), "net.mlir:"),
        (lambda text: text[: len(text) // 2], "net.mlir:"),
    ],
)
def test_damaged_programs(change, message: str, tmp_path: Path):
    path = tmp_path / "net.mlir"
    assert translate(network(tmp_path / "net.onnx"), "-o", path)[0] == 0
    path.write_text(change(path.read_text()))
    code, _, err = translate(path)
    assert code == 1
    assert message in err
    assert "Traceback" not in err


def test_a_program_may_overwrite_itself(tmp_path: Path):
    path = tmp_path / "net.mlir"
    translate(network(tmp_path / "net.onnx"), "-o", path)
    before = path.read_bytes(), path.with_suffix(".safetensors").read_bytes()
    assert translate(path, "-o", path) == (0, "", "")
    assert (path.read_bytes(), path.with_suffix(".safetensors").read_bytes()) == before


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    ctx = RelayContext()
    module = import_onnx(network(tmp_path / "net.onnx"), ctx)
    path = tmp_path / "net.mlir"
    path.write_text("old")

    def fail(*_: object, **__: object) -> str:
        raise OSError("disk full")

    monkeypatch.setattr("relay_mlir.frontends.mlir_file.print_module", fail)
    with pytest.raises(OSError, match="disk full"):
        write_mlir(module, ctx, path)
    assert path.read_text() == "old"
    assert not list(tmp_path.glob(".*.tmp"))
