"""Sends whole models through stock MLIR: `interop.py resnet18 minilm_l3`.

Every level below relay must be accepted by mlir-opt-22, and mlir-translate-22 must make LLVM IR of the last level that
gives exactly the numbers of our own LLVM IR. test/interop does the same for small models.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "test" / "interop")]

import models  # noqa: E402
from check_models import expected_of, inputs_of  # noqa: E402
from programs import run_llvm  # noqa: E402

from relay_mlir.lowering.llvm_text import llvm_text  # noqa: E402
from relay_mlir.lowering.pass_manager import run_passes  # noqa: E402
from relay_mlir.runtime.compiler import Options, import_model, make_context, pipeline  # noqa: E402


def check(name: str, folder: Path) -> list[str]:
    """What is wrong with a model; the program after each pass is written to the folder."""
    path = models.model(name)
    inputs = inputs_of(name, path)
    ctx = make_context()
    module = import_model(path, ctx, {key: array.shape for key, array in inputs.items()})
    run_passes(ctx, module, pipeline(Options()), dump=folder)
    problems: list[str] = []
    files = sorted(folder.glob("*.mlir"))
    (start,) = (index for index, file in enumerate(files) if "relay-to-linalg" in file.name)
    for file in files[start:]:
        done = subprocess.run(["mlir-opt-22", str(file), "-o", "/dev/null"], capture_output=True, text=True)
        if done.returncode:
            problems.append(f"mlir-opt-22 refuses {file.name}: {done.stderr.splitlines()[0]}")
    command = ["mlir-translate-22", "--mlir-to-llvmir", str(files[-1])]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return [*problems, f"mlir-translate-22 refuses {files[-1].name}: {done.stderr.splitlines()[0]}"]
    expected = expected_of(path, inputs)
    theirs, ours = (run_llvm(text, module, ctx, inputs, expected) for text in (done.stdout, llvm_text(module)))
    if not all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(theirs, ours, strict=True)):
        problems.append("the LLVM IR of mlir-translate-22 gives other numbers than ours")
    print(f"{name}: {len(files) - start} files of levels, {len(problems)} problems", flush=True)
    return problems


def main() -> None:
    """The entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["resnet18", "minilm_l3"], help="models of models.py")
    problems: list[str] = []
    for name in parser.parse_args().names:
        with tempfile.TemporaryDirectory() as folder:
            problems += [f"{name}: {problem}" for problem in check(name, Path(folder))]
    print("\n".join(problems))
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
