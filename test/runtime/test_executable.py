"""Compiled programs in this process and in files: values, refused inputs, threads, denormals, the C interface."""

import ctypes
import os
import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

import relay_mlir
from relay_mlir.runtime.compiler import Options, compile_module, import_model, make_context
from relay_mlir.runtime.elf_object import write_with_data
from relay_mlir.runtime.executable import Executable
from relay_mlir.runtime.program import Program

DENSE = """relay.func @main(%x: tensor<5x7xf32>) -> (tensor<5x3xf32>, tensor<5x3xi1>)
    attributes {input_names = ["input.1"], output_names = ["y", "positive"], weights = "w.safetensors"} {
  %w = relay.weight "fc.weight" : tensor<3x7xf32>
  %0 = relay.nn.dense %x, %w : (tensor<5x7xf32>, tensor<3x7xf32>) -> tensor<5x3xf32>
  %zero = relay.constant dense<0.0> : tensor<f32>
  %1 = relay.greater %0, %zero : (tensor<5x3xf32>, tensor<f32>) -> tensor<5x3xi1>
  relay.return %0, %1 : tensor<5x3xf32>, tensor<5x3xi1>
}
"""
SCALE = """relay.func @main(%x: tensor<SIZExf32>) -> tensor<SIZExf32>
    attributes {input_names = ["x"], output_names = ["y"]} {
  %two = relay.constant dense<2.0> : tensor<f32>
  %y = relay.multiply %x, %two : (tensor<SIZExf32>, tensor<f32>) -> tensor<SIZExf32>
  relay.return %y : tensor<SIZExf32>
}
"""

W = np.random.default_rng(1).standard_normal((3, 7)).astype(np.float32)
X = np.random.default_rng(2).standard_normal((5, 7)).astype(np.float32)


def program(folder: Path, text: str, **options: object) -> Program:
    from safetensors.numpy import save_file

    (folder / "m.mlir").write_text(text)
    save_file({"fc.weight": W}, str(folder / "w.safetensors"))
    ctx = make_context()
    return compile_module(import_model(folder / "m.mlir", ctx), ctx, Options(**options))


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> Executable:
    return Executable(program(tmp_path_factory.mktemp("dense"), DENSE, prefix="dense"))


def check(outputs: dict[str, np.ndarray], x: np.ndarray = X) -> None:
    assert list(outputs) == ["y", "positive"]
    wanted = x.astype(np.float64) @ W.astype(np.float64).T
    np.testing.assert_allclose(outputs["y"], wanted, atol=1e-5)
    np.testing.assert_array_equal(outputs["positive"], outputs["y"] > 0)
    assert outputs["positive"].dtype == np.bool_


def test_outputs_by_name_in_order(dense: Executable):
    check(dense.run({"input.1": X}))
    assert [str(spec) for spec in dense.inputs] == ["input.1: float32[5, 7]"]
    assert [str(spec) for spec in dense.outputs] == ["y: float32[5, 3]", "positive: bool[5, 3]"]
    assert dense.weight_bytes >= W.nbytes


def test_arrays_that_are_not_dense_are_copied(dense: Executable):
    wide = np.zeros((5, 14), np.float32)
    wide[:, ::2] = X
    check(dense.run({"input.1": wide[:, ::2]}))
    check(dense.run({"input.1": np.asfortranarray(X)}))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, r"input 'input\.1' is missing; expected float32\[5, 7\]"),
        ({"input1": X}, r"no input 'input1'; did you mean 'input\.1'\?; input 'input\.1' is missing"),
        ({"input.1": X[:4]}, r"has the shape \[4, 7\]; expected float32\[5, 7\]"),
        ({"input.1": X.astype(np.float64)}, r"is float64; expected float32\[5, 7\]: convert it with \.astype"),
        ({"input.1": X.astype(">f4")}, r"is >f4; expected float32\[5, 7\] in this machine's byte order"),
        ({"input.1": X.tolist()}, r"must be a numpy array, but is a list"),
        ({"input.1": None}, r"must be a numpy array, but is a NoneType"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(dense: Executable, given: dict, message: str):
    with pytest.raises(relay_mlir.InputError, match=message):
        dense.run(given)


def test_runs_may_overlap(dense: Executable):
    expected = dense.run({"input.1": X})
    wrong: list[int] = []

    def work() -> None:
        for _ in range(100):
            found = dense.run({"input.1": X})
            if any(not np.array_equal(found[name], expected[name]) for name in expected):
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.parametrize(("numerics", "kept"), [("relaxed", False), ("strict", True)])
def test_denormal_numbers_are_zero_inside_a_relaxed_run_only(tmp_path: Path, numerics: str, kept: bool):
    exe = Executable(program(tmp_path, SCALE.replace("SIZE", "4"), numerics=numerics))
    tiny = np.array([1e-40, 1.0, -1e-42, 0.0], np.float32)
    found = exe(x=tiny)["y"]
    wanted = tiny * 2 if kept else np.array([0.0, 2.0, -0.0, 0.0], np.float32)
    np.testing.assert_array_equal(found.view(np.uint32), wanted.view(np.uint32))
    assert (tiny * np.float32(0.5))[0] != 0  # the state of this thread is as it was


def test_threads_share_the_work_and_end_with_the_program(tmp_path: Path):
    before = set(os.listdir("/proc/self/task"))
    exe = Executable(program(tmp_path, SCALE.replace("SIZE", "3000x70"), threads=3))
    x = np.random.default_rng(0).standard_normal((3000, 70)).astype(np.float32)
    x[0, 0] = 1e-40  # workers flush denormal numbers too
    x[-1, -1] = 1e-40
    expected = x * 2
    expected[0, 0] = expected[-1, -1] = 0
    for _ in range(20):
        np.testing.assert_array_equal(exe(x=x)["y"], expected)
    workers = set(os.listdir("/proc/self/task")) - before
    assert len(workers) == 2
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(exe(x=x)["y"], expected) else 1)
    assert os.waitpid(child, 0)[1] == 0
    del exe
    assert not workers & set(os.listdir("/proc/self/task"))


def test_overlapping_runs_of_a_threaded_program(tmp_path: Path):
    exe = Executable(program(tmp_path, SCALE.replace("SIZE", "3000x70"), threads=2))
    wrong: list[int] = []

    def work(seed: int) -> None:
        x = np.random.default_rng(seed).standard_normal((3000, 70)).astype(np.float32)
        for _ in range(20):
            if not np.array_equal(exe(x=x)["y"], x * 2):
                wrong.append(seed)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_compilation_is_deterministic(tmp_path: Path):
    codes = {program(tmp_path, DENSE, threads=2).code for _ in range(2)}
    assert len(codes) == 1


def test_options_are_checked():
    for options, message in [
        ({"target": "abacus"}, "target 'abacus' is not one of"),
        ({"threads": 0}, "threads is 0; expected 1 to"),
        ({"numerics": "wild"}, "numerics 'wild' is not one of"),
        ({"prefix": "1st"}, "'1st' cannot start the names"),
    ]:
        with pytest.raises(relay_mlir.CompileError, match=message):
            Options(**options).check()


def test_models_that_cannot_be_read():
    for model, kind, message in [
        ("missing.onnx", relay_mlir.ModelError, "does not exist"),
        (__file__, relay_mlir.ModelError, r"expected a name that ends in \.onnx, \.pt2, \.relay or \.mlir"),
        (b"bytes", relay_mlir.InputError, "this is a bytes"),
    ]:
        with pytest.raises(kind, match=message):
            relay_mlir.compile(model)


# Files.


def run_shared(path: Path, prefix: str, x: np.ndarray) -> np.ndarray:
    library = ctypes.CDLL(str(path))
    model = ctypes.c_void_p()
    assert getattr(library, f"{prefix}_create")(ctypes.byref(model)) == 0
    y, positive = np.zeros((5, 3), np.float32), np.zeros((5, 3), np.bool_)
    inputs = (ctypes.c_void_p * 1)(x.ctypes.data)
    outputs = (ctypes.c_void_p * 2)(y.ctypes.data, positive.ctypes.data)
    assert getattr(library, f"{prefix}_run")(model, inputs, outputs) == 0
    getattr(library, f"{prefix}_destroy")(model)
    return y


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_shared_library(dense: Executable, tmp_path: Path):
    path = tmp_path / "dense.so"
    dense.save(path)
    np.testing.assert_allclose(run_shared(path, "dense", X), X @ W.T, atol=1e-5)
    assert [p.name for p in tmp_path.iterdir()] == ["dense.so"]


C_PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include "dense.h"
#include "scale.h"

int main(void) {
  dense *model;
  scale *other;
  float x[35], y[15], z[4], four[4] = {1, 2, 3, 4};
  unsigned char positive[15];
  if (dense_create(&model) || scale_create_with_threads(&other, 2)) return 1;
  if (fread(x, sizeof(float), 35, stdin) != 35) return 2;
  const void *inputs[] = {x};
  void *outputs[] = {y, positive};
  if (dense_run(model, inputs, outputs)) return 3;
  const void *fours[] = {four};
  void *zs[] = {z};
  if (scale_run(other, fours, zs) || z[3] != 8) return 4;
  if (dense_run(model, NULL, outputs) != 2 || strcmp(dense_error(2), "a null pointer was passed")) return 5;
  inputs[0] = NULL;
  if (dense_run(model, inputs, outputs) != 2 || dense_run(NULL, inputs, outputs) != 2) return 6;
  if (dense_input_count() != 1 || dense_output_count() != 2 || strcmp(dense_input_name(0), "input.1")) return 7;
  if (dense_output_rank(1) != 2 || dense_output_shape(0)[1] != 3 || strcmp(dense_output_dtype(1), "bool")) return 8;
  if (dense_input_name(1) || dense_output_rank(-1) != -1 || dense_input_bytes(0) != 140) return 9;
  dense_destroy(model);
  scale_destroy(other);
  dense_destroy(NULL);
  fwrite(y, sizeof(float), 15, stdout);
  return 0;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_two_models_in_one_c_program(dense: Executable, tmp_path: Path):
    scale = program(tmp_path, SCALE.replace("SIZE", "4"), prefix="scale")
    dense.save(tmp_path / "dense.o")
    scale.save(tmp_path / "scale.o")
    (tmp_path / "dense.h").write_text(dense.header())
    (tmp_path / "scale.h").write_text(scale.header())
    (tmp_path / "use.c").write_text(C_PROGRAM)
    command = ["cc", "-Wall", "-Werror", "-std=c99", "use.c", "dense.o", "scale.o", "-o", "use", "-lm", "-lpthread"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "use"], input=X.tobytes(), capture_output=True, check=False)
    assert done.returncode == 0
    np.testing.assert_allclose(np.frombuffer(done.stdout, np.float32).reshape(5, 3), X @ W.T, atol=1e-5)


def test_a_shared_library_without_a_linker(dense: Executable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(relay_mlir.CompileError, match="a shared library needs a linker: none of cc"):
        dense.save(tmp_path / "dense.so")
    assert not list(tmp_path.iterdir())
    dense.save(tmp_path / "dense.o")


def test_files_that_cannot_be_written(dense: Executable, tmp_path: Path):
    with pytest.raises(relay_mlir.CompileError, match=r"does not exist"):
        dense.save(tmp_path / "missing" / "dense.o")
    with pytest.raises(relay_mlir.CompileError, match=r"expected a name that ends in \.o or \.so"):
        dense.save(tmp_path / "dense.dll")


def test_weights_of_another_size_are_refused(dense: Executable, tmp_path: Path):
    code = dense._program.code
    with (tmp_path / "x.o").open("wb") as file:
        with pytest.raises(relay_mlir.CompileError, match="the weights are 3 bytes, but the program expects 4"):
            write_with_data(file, code, "dense.weights", [b"abc"], 4)
        with pytest.raises(relay_mlir.CompileError, match="does not refer to the symbol 'other'"):
            write_with_data(file, code, "other", [b"abc"], 3)
        with pytest.raises(relay_mlir.CompileError, match="64-bit little-endian ELF"):
            write_with_data(file, b"MZ", "other", [b"abc"], 3)
