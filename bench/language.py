"""Times the recurrent models of examples/ beside other runtimes: `language.py lstm tree_lstm -o build/language.md`.

Peers: the compiled program, its interpreter, PyTorch (eager) where installed, and onnxruntime for the models that ONNX
can express as one operator (rnn, gru, lstm). All run in one process, pinned to one core, and in turn; each turn is one
run that is not counted and several that are. What is shown is the median. Before that, the results of every peer are
compared with those of the compiled program.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "examples")]

import recurrent  # noqa: E402
from peers import machine, milliseconds  # noqa: E402

from relay_mlir.runtime.value_executable import ValueExecutable  # noqa: E402

Arrays = dict[str, np.ndarray]
Program = Callable[[], Any]
TOLERANCE = 1e-4
TURN_SECONDS = 0.05
RUNS_A_TURN = 200


def native(name: str, inputs: dict[str, Any], weights: Arrays) -> Program:
    """relay-mlir, compiled, its weights bound; trees and the like are converted beforehand, as for PyTorch."""
    compiled = recurrent.compiled(name)
    if isinstance(compiled, ValueExecutable):
        run = compiled.prepared(inputs)
        return lambda: tuple(run().values())
    return lambda: tuple(compiled.run(inputs).values())


def interpreter(name: str, inputs: dict[str, Any], weights: Arrays) -> Program:
    """relay-mlir's interpreter."""
    function = recurrent.interpreted(name)
    return lambda: function(**inputs)


def torch(name: str, inputs: dict[str, Any], weights: Arrays) -> Program:
    """PyTorch, eager, on one thread; numpy arrays become tensors beforehand."""
    from language_torch import program

    return program(name, inputs, weights)


def onnxruntime(name: str, inputs: dict[str, Any], weights: Arrays) -> Program:
    """onnxruntime with all its optimizations, on a model of one RNN, GRU or LSTM."""
    import onnxruntime as runtime

    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    model = onnx_model(name, weights)
    session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    given = {key: array if key == "x" else array[np.newaxis] for key, array in inputs.items()}
    return lambda: session.run(["y"], given)[0][0]


ONNX_GATES = {"rnn": ("RNN", [0]), "gru": ("GRU", [1, 0, 2]), "lstm": ("LSTM", [0, 3, 1, 2])}
"""The operator of a model, and where in the model's weights each gate of ONNX stands."""


def onnx_model(name: str, weights: Arrays) -> bytes:
    """A model of one recurrent operator, with gates in ONNX's order (z r h; i o f c)."""
    from onnx import TensorProto, helper, numpy_helper

    operator, order = ONNX_GATES[name]

    def gates(*keys: str) -> np.ndarray:
        parts = [np.split(weights[key], len(order)) for key in keys]
        return np.concatenate([part[gate] for part in parts for gate in order])[np.newaxis]

    constants = {"w": gates("w"), "u": gates("u"), "b": gates("b", "d")}
    states = ["h", "c"] if name == "lstm" else ["h"]
    attributes = {"hidden_size": 128} | ({"linear_before_reset": 1} if name == "gru" else {})
    outputs = ["", "y"]
    node = helper.make_node(operator, ["x", "w", "u", "b", "", *states], outputs, **attributes)
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [5, 1, 128])]
    values += [helper.make_tensor_value_info(state, TensorProto.FLOAT, [1, 1, 128]) for state in states]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 128])
    initializers = [numpy_helper.from_array(np.ascontiguousarray(array), key) for key, array in constants.items()]
    graph = helper.make_graph([node], name, values, [result], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


PEERS: dict[str, tuple[Callable[[str, dict[str, Any], Arrays], Program], str, tuple[str, ...]]] = {
    "native": (native, "relay_mlir", tuple(recurrent.MODELS)),
    "interpreter": (interpreter, "relay_mlir", tuple(recurrent.MODELS)),
    "torch": (torch, "torch", tuple(recurrent.MODELS)),
    "onnxruntime": (onnxruntime, "onnxruntime", tuple(ONNX_GATES)),
}
"""The peers: how a program of each is made, the module it needs, and the models that it can run."""


def difference(found: Any, expected: Any) -> float:
    """The largest difference between two results; infinite where their tensors do not correspond."""
    a, b = recurrent.leaves(found), recurrent.leaves(expected)
    if [x.shape for x in a] != [x.shape for x in b]:
        return float("inf")
    return max(float(np.abs(x.astype(np.float64) - y).max()) for x, y in zip(a, b, strict=True))


def measure(name: str, peers: Sequence[str], turns: int) -> dict[str, float]:
    """The median seconds of each peer that can run the model. Raises ValueError where results differ."""
    _, _, weights = recurrent.read(name)
    inputs = recurrent.inputs_of(name)
    programs = {peer: PEERS[peer][0](name, inputs, weights) for peer in peers if name in PEERS[peer][2]}
    results = {peer: program() for peer, program in programs.items()}
    for peer, result in results.items():
        if not (worst := difference(result, results["native"])) <= TOLERANCE:
            raise ValueError(f"{name}: {peer} differs from the compiled program by {worst:.1e}")
    times: dict[str, list[float]] = {peer: [] for peer in programs}
    for _ in range(turns):
        for peer, program in programs.items():
            times[peer] += _turn(program)
    return {peer: statistics.median(kept) for peer, kept in times.items()}


def _turn(program: Program) -> list[float]:
    """The times of some runs in a row, the first of which is not counted."""
    program()
    times: list[float] = []
    while not times or (sum(times) < TURN_SECONDS and len(times) < RUNS_A_TURN):
        start = time.perf_counter()
        program()
        times.append(time.perf_counter() - start)
    return times


def table(results: dict[str, dict[str, float]], peers: Sequence[str]) -> str:
    """The results as Markdown: milliseconds, and how many times longer each peer takes than the compiled program."""
    others = [peer for peer in peers if peer != "native"]
    head = ["model", *(f"{peer} (ms)" for peer in peers), *(f"{peer} / native" for peer in others)]
    rows = [head, ["---", *["--:"] * (len(head) - 1)]]
    for name, times in results.items():
        cells = [milliseconds(times[peer] * 1e3) if peer in times else "" for peer in peers]
        rows.append([name, *cells, *(f"{times[p] / times['native']:.2f}" if p in times else "" for p in others)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def page(results: dict[str, dict[str, float]], peers: Sequence[str], turns: int) -> str:
    """The page of the results."""
    names = dict.fromkeys(PEERS[peer][1] for peer in peers)
    versions = ", ".join(f"{name.replace('_', '-')} {version(name.replace('_', '-'))}" for name in names)
    return (
        "# Performance of recurrent models\n\n"
        "Written by `bench/language.py`, which says how it measures. Batch 1, float32, one core; weights of a seed.\n"
        "A number above 1 in the last columns says that the peer takes that many times longer.\n\n"
        f"Machine: {machine()}. Versions: {versions}. Medians of {turns} turns.\n\n{table(results, peers)}\n"
    )


def main() -> None:
    """The entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"{' '.join(recurrent.MODELS)}: all where absent")
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), help="beside native; all installed where absent")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--core", type=int, help="the core to run on; the first where absent")
    parser.add_argument("-o", "--output", type=Path, help="also write the page of results")
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in recurrent.MODELS]:
        parser.error(f"no model '{unknown[0]}'; there are {', '.join(recurrent.MODELS)}")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0)) if args.core is None else args.core})
    installed = [peer for peer, (_, needed, _) in PEERS.items() if find_spec(needed)]
    if missing := [peer for peer in args.peers or PEERS if peer not in installed]:
        print(f"not installed: {', '.join(missing)}", file=sys.stderr)
    peers = [peer for peer in dict.fromkeys(["native", *(args.peers or installed)]) if peer in installed]
    results: dict[str, dict[str, float]] = {}
    for name in args.names or recurrent.MODELS:
        results[name] = measure(name, peers, args.turns)
        shown = ", ".join(f"{peer} {milliseconds(seconds * 1e3)} ms" for peer, seconds in results[name].items())
        print(f"{name}: {shown}", file=sys.stderr)
    print(table(results, peers))
    if args.output is not None:
        args.output.write_text(page(results, peers, args.turns), encoding="utf-8")


if __name__ == "__main__":
    main()
