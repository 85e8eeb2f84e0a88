"""Every level below relay goes through stock mlir-opt and back, and mlir-translate makes the same program of the last.

The judge of the numbers is onnxruntime.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from xdsl.dialects.builtin import ModuleOp

from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.lowering.ir_files import load_weights
from relay_mlir.lowering.ir_text import SourceText, parse_ir
from relay_mlir.lowering.llvm_text import llvm_text
from relay_mlir.lowering.pass_manager import run_passes
from relay_mlir.lowering.verifier import verify_module
from relay_mlir.runtime.compiler import Options, import_model, make_context, pipeline
from test.interop import programs

pytestmark = pytest.mark.skipif(shutil.which("mlir-opt-22") is None, reason="mlir-opt-22 is not installed")

MODELS = {"residual": programs.residual, "encoder": programs.encoder}
STARTS = ("relay-to-linalg", "pack-weights", "bufferize", "linalg-to-loops", "plan-memory", "loops-to-llvm")
"""Passes whose result is read from what mlir-opt prints, and compiled on."""


@dataclass
class Case:
    """A model, what it gives, and the folder with its program after each pass."""

    model: onnx.ModelProto
    inputs: dict[str, np.ndarray]
    expected: list[np.ndarray]
    folder: Path

    def file(self, name: str) -> Path:
        """The program after the last run of a pass that changed it."""
        return sorted(self.folder.glob(f"??-{name}.mlir"))[-1]


@pytest.fixture(scope="module", params=MODELS)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = tmp_path_factory.mktemp(request.param)
    model = MODELS[request.param]()
    ctx = make_context()
    run_passes(ctx, import_model(model, ctx), pipeline(Options()), dump=folder)
    inputs = programs.inputs_of(model)
    return Case(model, inputs, programs.expected_of(model, inputs), folder)


def read(text: str, folder: Path) -> tuple[RelayContext, ModuleOp]:
    ctx = make_context()
    module = parse_ir(ctx, SourceText(text, "from mlir-opt"))
    verify_module(module)
    load_weights(ctx, module, folder)
    return ctx, module


def close(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_mlir_opt_accepts_every_level(case: Case):
    files = sorted(case.folder.glob("*.mlir"))
    first = files.index(case.file("relay-to-linalg"))
    assert len(files) - first >= 8
    for path in files[first:]:
        programs.stock("mlir-opt-22", path)


@pytest.mark.parametrize("name", MODELS)
def test_mlir_opt_accepts_the_levels_for_threads(name: str, tmp_path: Path):
    ctx = make_context()
    run_passes(ctx, import_model(MODELS[name](), ctx), pipeline(Options(threads=2, numerics="strict")), dump=tmp_path)
    for path in [*tmp_path.glob("*-outline-parallel.mlir"), *tmp_path.glob("*-loops-to-llvm.mlir")]:
        programs.stock("mlir-opt-22", path)


@pytest.mark.parametrize("start", STARTS)
def test_what_mlir_opt_prints_compiles_on(case: Case, start: str):
    ctx, module = read(programs.stock("mlir-opt-22", case.file(start)), case.folder)
    names = [pass_.name for pass_ in pipeline(Options())]
    run_passes(ctx, module, pipeline(Options())[names.index(start) + 1 :])
    close(programs.run_llvm(llvm_text(module), module, ctx, case.inputs, case.expected), case.expected)


def test_generic_form_of_mlir_opt_compiles_on(case: Case):
    ctx, module = read(programs.stock("mlir-opt-22", case.file("bufferize"), "--mlir-print-op-generic"), case.folder)
    names = [pass_.name for pass_ in pipeline(Options())]
    run_passes(ctx, module, pipeline(Options())[names.index("bufferize") + 1 :])
    close(programs.run_llvm(llvm_text(module), module, ctx, case.inputs, case.expected), case.expected)


@pytest.mark.skipif(shutil.which("mlir-translate-22") is None, reason="mlir-translate-22 is not installed")
def test_mlir_translate_makes_the_same_program(case: Case):
    path = case.file("loops-to-llvm")
    theirs = programs.stock("mlir-translate-22", path, "--mlir-to-llvmir")
    ctx, module = read(path.read_text(), case.folder)
    results = [programs.run_llvm(text, module, ctx, case.inputs, case.expected) for text in (theirs, llvm_text(module))]
    close(results[0], case.expected)
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
