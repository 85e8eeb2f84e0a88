"""relay-compile and relay-run: files, outputs, checks that name the culprit, and errors in one line."""

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from relay_mlir.dialects.relay.op import OPERATORS
from relay_mlir.tools import relay_compile, relay_run


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """tanh(relu(x . w)) with named nodes."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="/fc/MatMul"),
        helper.make_node("Softmax", ["a"], ["b"], name="/soft/Softmax", axis=1),
        helper.make_node("Tanh", ["b"], ["y"], name="/act/Tanh"),
    ]
    weight = helper.make_tensor("w", TensorProto.FLOAT, [6, 4], np.linspace(-1, 1, 24).astype(np.float32))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])],
        [weight],
    )
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def test_run_and_check(model: Path, capfd: pytest.CaptureFixture[str]):
    for check in ("reference", "onnxruntime"):
        arguments = [str(model), "--shape", "batch=3", "--check", check, "--repeat", "3", "--input", "x=random:7"]
        assert relay_run.main(arguments) == 0
        out = capfd.readouterr().out
        assert "y: float32[3, 4]  least" in out
        assert "median of 3 runs" in out
        assert f"check: agrees with {'the interpreter' if check == 'reference' else check}" in out


def test_input_from_a_file(model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    np.save(tmp_path / "x.npy", np.full((1, 6), np.nan, np.float32))
    assert relay_run.main([str(model), "--shape", "x=1x6", "--input", f"x={tmp_path / 'x.npy'}"]) == 0
    assert "no finite element, 4 NaN" in capfd.readouterr().out


def test_a_wrong_lower_form_is_found(model: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    softmax = OPERATORS["nn.softmax"]
    right = softmax.lower

    def wrong(self, build, args, results):
        (value,) = right(self, build, args, results)
        return [build.elementwise([value], results[0], lambda s, v: s.mul(v, s.like(1.5, v)))]

    monkeypatch.setattr(softmax, "lower", wrong)
    assert relay_run.main([str(model), "--shape", "batch=3", "--check", "reference"]) == 1
    out = capfd.readouterr().out
    assert re.search(r"check: output 'y': \d+ of 12 elements differ by up to", out)
    assert re.search(r'the first wrong result is that of "/soft/Softmax".* \(group @\w*softmax\w*\)', out)


def test_a_wrong_meaning_is_found_against_onnxruntime(
    model: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    softmax = OPERATORS["nn.softmax"]
    right_meaning, right_lower = softmax.evaluate, softmax.lower

    def lower(self, build, args, results):
        (value,) = right_lower(self, build, args, results)
        return [build.elementwise([value], results[0], lambda s, v: s.mul(v, s.like(1.5, v)))]

    monkeypatch.setattr(softmax, "evaluate", lambda self, args: [right_meaning(self, args)[0] * np.float32(1.5)])
    monkeypatch.setattr(softmax, "lower", lower)
    assert relay_run.main([str(model), "--shape", "batch=3", "--check", "onnxruntime"]) == 1
    assert 'the import of node "/soft/Softmax" (Softmax) is the first to differ' in capfd.readouterr().out


def test_compile_to_files(model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    out, head = tmp_path / "m.o", tmp_path / "m.h"
    arguments = [str(model), "-o", str(out), "--header", str(head), "--prefix", "net", "--shape", "batch=1", "--timing"]
    assert relay_compile.main([*arguments, "--dump", str(tmp_path / "dump")]) == 0
    assert out.read_bytes()[:4] == b"\x7fELF"
    assert "int32_t net_run(net *model" in head.read_text()
    assert " *   inputs[0]   x: float32[1, 6]" in head.read_text()
    timing = capfd.readouterr().err
    assert re.search(r"bufferize +\d+\.\d+ s", timing)
    assert re.search(r"machine code +\d+\.\d+ s", timing)
    assert any(path.name.endswith("bufferize.mlir") for path in (tmp_path / "dump").iterdir())


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        (relay_run, ["--shape", "batch=3", "--input", "z=random"], "--input z=random: no input 'z'"),
        (relay_run, ["--shape", "batch=3", "--input", "x=random:a"], "the seed must be a number"),
        (relay_run, ["--shape", "batch=3", "--input", "x=none.npy"], "cannot read 'none.npy': No such file"),
        (relay_run, ["--shape", "batch"], "--shape batch: expected NAME=1x3x224x224"),
        (relay_run, ["--shape", "batch=3", "--repeat", "0"], "--repeat 0: expected 1 or more"),
        (relay_run, [], "input 'x' has the shape [?, 6]: give every dimension a size with --shape"),
        (relay_run, ["--shape", "batch=3", "--target", "abacus"], "target 'abacus' is not one of"),
        (relay_compile, ["-o", "x.dll"], "expected a name that ends in .o or .so"),
        (relay_compile, ["-o", "missing/x.o", "--shape", "batch=3"], "the folder"),
        (relay_compile, ["-o", "x.o", "--prefix", "a-b"], "'a-b' cannot start the names of C functions"),
        (relay_compile, ["-o", "x.o", "--threads", "-1"], "threads is -1"),
    ],
)
def test_errors_are_one_line(model: Path, capfd: pytest.CaptureFixture[str], tool, arguments: list[str], message: str):
    assert tool.main([str(model), *arguments]) == 1
    error = capfd.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert "Traceback" not in error


def test_value_of_an_input(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    """An input that is given a value is part of the program, and onnxruntime gets it too."""
    nodes = [onnx.helper.make_node("Mul", ["x", "factor"], ["y"], name="mul")]
    declared = [
        onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [3]),
        onnx.helper.make_tensor_value_info("factor", onnx.TensorProto.FLOAT, []),
    ]
    outputs = [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [3])]
    graph = onnx.helper.make_graph(nodes, "g", declared, outputs)
    path = tmp_path / "m.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), str(path))
    assert relay_run.main([str(path), "--value", "factor=4", "--check", "onnxruntime"]) == 0
    assert "agrees with onnxruntime" in capfd.readouterr().out
    assert relay_run.main([str(path), "--value", "factor=four"]) == 1
    assert "--value factor=four: could not convert" in capfd.readouterr().err


def test_interpret_prints_the_results_of_any_program(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    path = tmp_path / "program.mlir"
    path.write_text("""
relay.func @main(%x: tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<i32>> attributes {input_names = ["x"]} {
  %f = relay.fn (%y: tensor<2xf32>) -> tensor<2xf32> {
    %z = relay.add %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    relay.yield %z : tensor<2xf32>
  }
  %a = relay.apply %f(%x) : (tensor<2xf32>) -> tensor<2xf32>, (tensor<2xf32>) -> tensor<2xf32>
  %c = relay.constant dense<7> : tensor<i32>
  %t = relay.tuple %a, %c : tuple<tensor<2xf32>, tensor<i32>>
  relay.return %t : tuple<tensor<2xf32>, tensor<i32>>
}
relay.func @open(%x: tensor<?xf32>) -> tensor<?xf32> {
  relay.return %x : tensor<?xf32>
}
relay.func @partial(%x: tensor<f32>, %t: tuple<>) -> tensor<f32> {
  relay.return %x : tensor<f32>
}
""")
    np.save(tmp_path / "x.npy", np.array([1, 2], np.float32))
    assert relay_run.main([str(path), "--interpret", "--input", f"x={tmp_path / 'x.npy'}"]) == 0
    assert capfd.readouterr().out == "y0: (float32[2] [2., 4.], 7)\n"
    assert relay_run.main([str(path), "--interpret", "--entry", "open"]) == 1
    assert "input 'x0' has the shape [?]" in capfd.readouterr().err
    assert relay_run.main([str(path), "--interpret", "--entry", "partial"]) == 1
    assert "the argument 'x1' is a tuple<>: only tensors can be given here" in capfd.readouterr().err
    assert relay_run.main([str(path), "--interpret", "--entry", "absent"]) == 1
    assert "there is no function @absent; the module has main, open, partial" in capfd.readouterr().err
