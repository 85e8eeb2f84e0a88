"""Times compiled models beside other runtimes: `peers.py resnet18 bert_base --threads 1 2 -o docs/performance.md`.

All peers of a model run in one process and in turn, so that whatever else the machine does hits them alike; each
turn is one run that is not counted and several that are. What is shown is the median. With one thread the process is
pinned to one core, with two to two. Outputs are checked against onnxruntime's.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import models  # noqa: E402
from check_models import difference, inputs_of  # noqa: E402

Arrays = dict[str, np.ndarray]
Program = Callable[[], list[np.ndarray]]
MODELS = ("mlp", "resnet18", "resnet50", "vgg16", "mobilenet_v1", "mobilenet_v2", "bert_base", "gpt2_block", "dcgan")
TOLERANCE = 1e-3
TURN_SECONDS = 0.05
PAUSE_SECONDS = 0.005  # threads of the one before go to sleep


def ours(path: Path, inputs: Arrays, threads: int) -> Program:
    """relay-mlir, with relaxed numerics."""
    import relay_mlir

    shapes = {name: array.shape for name, array in inputs.items()}
    program = relay_mlir.compile(path, shapes=shapes, threads=threads)
    return lambda: list(program.run(inputs).values())


def onnxruntime(path: Path, inputs: Arrays, threads: int) -> Program:
    """onnxruntime with all its optimizations; its threads stop spinning after a run, or they would slow the others."""
    import onnxruntime as runtime

    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)


def openvino(path: Path, inputs: Arrays, threads: int) -> Program:
    """OpenVINO for latency, in f32."""
    import openvino as runtime

    core = runtime.Core()
    model = core.read_model(path)
    model.reshape({name: list(array.shape) for name, array in inputs.items()})
    hints = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    compiled = core.compile_model(model, "CPU", hints)
    return lambda: list(compiled(inputs).values())


def torch(path: Path, inputs: Arrays, threads: int) -> Program:
    """PyTorch, the traced calls of torch_model.py."""
    import torch as runtime
    from torch_model import load

    runtime.set_num_threads(threads)
    tensors = [runtime.from_numpy(array) for array in inputs.values()]
    function = load(path, tensors)

    def run() -> list[np.ndarray]:
        with runtime.inference_mode():
            return [result.numpy() for result in function(*tensors)]

    return run


PEERS: dict[str, tuple[Callable[[Path, Arrays, int], Program], tuple[str, ...]]] = {
    "relay-mlir": (ours, ("relay_mlir",)),
    "onnxruntime": (onnxruntime, ("onnxruntime",)),
    "openvino": (openvino, ("openvino",)),
    "torch": (torch, ("torch",)),
}
"""The runtimes: how a program of each is made, and the modules it needs."""


@dataclass
class Result:
    """The median milliseconds of each peer on a model, and what went wrong with the others."""

    model: str
    threads: int
    times: dict[str, float] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def measure(name: str, threads: int, peers: Sequence[str], turns: int) -> Result:
    """Runs a model in every peer, in turn; in a process of its own."""
    result = Result(name, threads)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    path = models.model(name)
    inputs = inputs_of(name, path)
    programs: dict[str, Program] = {}
    outputs: dict[str, list[np.ndarray]] = {}
    for peer in peers:
        try:
            programs[peer] = PEERS[peer][0](path, inputs, threads)
            outputs[peer] = programs[peer]()
        except Exception as error:  # each peer has its own classes; what fails is in the table
            programs.pop(peer, None)
            result.problems[peer] = f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"
    judge = outputs["onnxruntime"]
    for peer, arrays in outputs.items():
        worst = max(difference(a, np.asarray(b)) for a, b in zip(judge, arrays, strict=True))
        if not worst <= TOLERANCE:
            result.problems[peer] = f"differs from onnxruntime by {worst:.1e}"
    times: dict[str, list[float]] = {peer: [] for peer in programs}
    for _ in range(turns):
        for peer, program in programs.items():
            times[peer] += _turn(program)
    result.times = {peer: statistics.median(kept) * 1e3 for peer, kept in times.items()}
    return result


def _turn(program: Program) -> list[float]:
    """The times of some runs in a row, the first of which is not counted."""
    time.sleep(PAUSE_SECONDS)
    program()
    times: list[float] = []
    while sum(times) < TURN_SECONDS and len(times) < 20:
        start = time.perf_counter()
        program()
        times.append(time.perf_counter() - start)
    return times


def table(results: Sequence[Result], peers: Sequence[str]) -> str:
    """The results as Markdown: milliseconds, and how many times longer each peer takes than this project."""
    first, *others = peers
    head = ["model", "threads", f"{first} (ms)", *(f"{peer} (ms)" for peer in others), *(f"{p} / ours" for p in others)]
    lines = [_row(head), _row(["---", *["--:"] * (len(head) - 1)])]
    for result in results:
        times, base = result.times, result.times.get(first)
        cells = [milliseconds(times[peer]) if peer in times else "" for peer in peers]
        ratios = [f"{times[peer] / base:.2f}" if base and peer in times else "" for peer in others]
        lines.append(_row([result.model, str(result.threads), *cells, *ratios]))
    for threads in sorted({result.threads for result in results}):
        means = [_mean(results, threads, first, peer) for peer in others]
        lines.append(_row(["geometric mean", str(threads), *[""] * len(peers), *means]))
    notes = [f"- {r.model}, {r.threads} threads, {peer}: {text}" for r in results for peer, text in r.problems.items()]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def milliseconds(value: float) -> str:
    """Three significant digits."""
    return f"{value:.{max(2 - math.floor(math.log10(value)), 0)}f}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _mean(results: Sequence[Result], threads: int, first: str, peer: str) -> str:
    ratios = [r.times[peer] / r.times[first] for r in results if r.threads == threads and {peer, first} <= set(r.times)]
    return f"{math.exp(statistics.fmean(map(math.log, ratios))):.2f}" if ratios else ""


def machine() -> str:
    """The processor of this machine, as far as Linux tells."""
    info = Path("/proc/cpuinfo").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in info if ":" in line)
    names = {key.strip(): value.strip() for key, value in fields.items()}
    wide = "AVX-512" if "avx512f" in names.get("flags", "") else "AVX2" if "avx2" in names.get("flags", "") else "SIMD"
    family = f"family {names.get('cpu family', '?')}, model {names.get('model', '?')}"
    return f"{names.get('model name', 'unknown')} ({family}, {wide}), {len(os.sched_getaffinity(0))} cores"


def page(text: str, peers: Sequence[str], turns: int) -> str:
    """The page of the results."""
    versions = ", ".join(f"{peer} {version(PEERS[peer][1][0].replace('_', '-'))}" for peer in peers)
    return (
        "# Performance\n\n"
        "Written by `bench/peers.py`, which says how it measures. Batch 1, float32; a number above 1 in the last\n"
        "columns says that the peer takes that many times longer. The weights are random, the shapes are those of the\n"
        "papers (`bench/make_models.py`), or the models are the trained ones of `bench/models.py`.\n\n"
        f"Machine: {machine()}. Versions: {versions}. Medians of {turns} turns.\n\n{text}\n"
    )


def main() -> None:
    """The entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"models of models.py; {' '.join(MODELS)} where absent")
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), help="all that are installed where absent")
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("-o", "--output", type=Path, help="also write the page of results")
    args = parser.parse_args()
    installed = [peer for peer, (_, needed) in PEERS.items() if all(find_spec(name) for name in needed)]
    peers = list(dict.fromkeys(["relay-mlir", "onnxruntime", *(args.peers or installed)]))
    results: list[Result] = []
    spawn: Any = multiprocessing.get_context("spawn")
    for name in args.names or MODELS:
        for threads in args.threads:
            with spawn.Pool(1) as pool:
                result = pool.apply(measure, (name, threads, peers, args.turns))
            results.append(result)
            shown = ", ".join(f"{peer} {ms:.2f} ms" for peer, ms in result.times.items())
            print(f"{name}, {threads} threads: {shown}", *result.problems.items(), file=sys.stderr)
    text = table(results, peers)
    print(text)
    if args.output is not None:
        args.output.write_text(page(text, peers, args.turns), encoding="utf-8")


if __name__ == "__main__":
    main()
