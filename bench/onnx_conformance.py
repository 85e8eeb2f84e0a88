"""Runs the onnx package's backend suite and writes what passes: `onnx_conformance.py --executor interpret`.

A refusal (a clear ModelError or CompileError) is not a pass; a wrong answer, any other exception, a crash or a
time-out is a failure. Each test runs in a worker process that is replaced when it dies. Where a model is refused
because the value of an input must be known at import (a Reshape whose shape is an input), the test is tried again
with that input bound to its value, and such passes are counted in a column of their own.
"""

from __future__ import annotations

import argparse
import json
import re
import selectors
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from onnx_cases import KINDS, Case, cases, check_outputs, input_names  # noqa: E402

PASSED, BOUND, REFUSED, WRONG, CRASHED = "passed", "passed with values bound", "refused", "wrong", "crashed"
KNOWN = {
    "test_attention_4d_causal_fp16": "two elements differ by one unit of f16: products add up in f32 here",
    "test_dft_inverse": "imaginary parts that are 0: 3e-15 here, the 2e-7 of an f32 transform there",
    "test_dft_inverse_opset19": "as test_dft_inverse",
}
"""Why tests that fail do."""
OUTCOMES = (PASSED, BOUND, REFUSED, WRONG, CRASHED)
TIMEOUT = 120
Executor = Callable[[Case, dict[str, Any], dict[str, np.ndarray]], list[np.ndarray]]


@dataclass
class Result:
    """What became of a test, and why where it did not pass."""

    name: str
    operator: str
    kind: str
    outcome: str
    reason: str = ""


# In the worker.


def interpret(case: Case, inputs: dict[str, Any], values: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Imports the model and runs it in the reference interpreter."""
    from relay_mlir.dialects.relay.weights import RelayContext
    from relay_mlir.frontends.onnx import import_onnx
    from relay_mlir.runtime.interpreter import evaluate as run

    ctx = RelayContext()
    module = import_onnx(case.model, ctx, _shapes(inputs, values), values)
    args = list(_tensors(inputs, values).values())
    return [np.asarray(value) for value in run(module, ctx.weights, args)]


def native(case: Case, inputs: dict[str, Any], values: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Compiles the model for this machine and runs it."""
    import relay_mlir

    compiled = relay_mlir.compile(case.model, shapes=_shapes(inputs, values), values=values)
    return list(compiled(**_tensors(inputs, values)).values())


def _shapes(inputs: dict[str, Any], values: dict[str, np.ndarray]) -> dict[str, Any]:
    """The shapes of the inputs, of a sequence those of its tensors."""
    return {
        name: [item.shape for item in _parts(value)] if isinstance(value, list) else value.shape
        for name, value in inputs.items()
        if name not in values
    }


def _tensors(inputs: dict[str, Any], values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The inputs of the program, each tensor of a sequence on its own."""
    found: dict[str, np.ndarray] = {}
    for name, value in inputs.items():
        if isinstance(value, list):
            found |= {f"{name}.{at}": item for at, item in enumerate(_parts(value))}
        elif name not in values:
            found[name] = value
    return found


EXECUTORS: dict[str, Executor] = {"interpret": interpret, "native": native}


def run_case(case: Case, executor: Executor) -> tuple[str, str]:
    """The outcome of a case and the reason."""
    from relay_mlir.dialects.errors import Error
    from relay_mlir.frontends.onnx.importer import IMPORTER_FAILED

    outcome, reason = PASSED, ""
    for inputs, expected in case.data:
        names = input_names(case.proto())
        given = {name: _array(value) for name, value in zip(names, inputs, strict=False)}
        expected = [part for value in expected for part in _parts(_array(value))]
        values: dict[str, Any] = {name: None for name, value in given.items() if value is None}
        while True:
            try:
                check_outputs(case, expected, executor(case, given, values))
                break
            except AssertionError as e:
                return WRONG, " ".join(str(e).split())[:300]
            except Error as e:
                if IMPORTER_FAILED in str(e):
                    return CRASHED, str(e)[:300]
                more = _needed(str(e), case, given, values)
                if more is None:
                    return REFUSED, str(e)[:300]
                values[more] = given[more]
                outcome = BOUND
    return outcome, reason


def _array(value: Any) -> Any:
    """A tensor as an array, a sequence as a list of them, an empty optional as None."""
    import onnx

    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    if value is None:
        return None
    return [_array(item) for item in cast(Any, value)] if isinstance(value, list | tuple) else np.asarray(value)


def _parts(value: Any) -> list[np.ndarray]:
    """The tensors of a value, as the results of a program have them."""
    return [] if value is None else cast("list[np.ndarray]", value) if isinstance(value, list) else [value]


def _needed(message: str, case: Case, given: dict[str, Any], values: dict[str, np.ndarray]) -> str | None:
    """The next input to bind where a model was refused because a value must be known at import."""
    if "must be known when the model is imported" not in message:
        return None
    candidates = [name for name in reversed(given) if name not in values and not isinstance(given[name], list)]
    position = re.search(r"input (\d+) \(", message)
    nodes = case.proto().graph.node
    if position is not None and len(nodes) == 1 and "operators that define it" not in message:
        name = nodes[0].input[int(position[1])]
        if name in candidates:
            return name
    return candidates[0] if candidates else None


def work(kinds: Sequence[str], expanded: bool, executor: Executor) -> None:
    """Runs the tests whose names come in, a line each; answers with a line of JSON."""
    known = {case.name: case for case in cases(kinds, expanded)}
    answers = sys.stdout
    sys.stdout = sys.stderr  # what a test prints is not an answer
    for line in sys.stdin:
        case = known[line.strip()]
        try:
            outcome, reason = run_case(case, executor)
        except Exception as e:
            outcome, reason = CRASHED, f"{type(e).__name__}: {' '.join(str(e).split())[:300]}"
        print(json.dumps([outcome, reason]), file=answers, flush=True)


# In the parent.


class Worker:
    """A process that runs tests one at a time."""

    def __init__(self, arguments: Sequence[str]):
        command = [sys.executable, __file__, "--worker", *arguments]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def run(self, name: str) -> tuple[str, str] | None:
        """The outcome of a test; None where the process died or took too long, and is gone."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            line = self.process.stdout.readline() if selector.select(TIMEOUT) else ""
        if line:
            outcome, reason = json.loads(line)
            return outcome, reason
        self.process.kill()
        self.process.wait()
        return None


def run_all(chosen: Sequence[Case], arguments: Sequence[str], jobs: int) -> list[Result]:
    """The results of the cases in their order, each run in one of `jobs` workers."""
    results: dict[int, Result] = {}
    waiting = iter(list(enumerate(chosen)))
    lock = threading.Lock()

    def serve() -> None:
        worker = Worker(arguments)
        while True:
            with lock:
                position, case = next(waiting, (-1, None))
            if case is None:
                break
            answer = worker.run(case.name)
            if answer is None:
                code = worker.process.returncode
                answer = (CRASHED, f"the process ended with {code}" if code != -9 else f"no answer in {TIMEOUT} s")
                worker = Worker(arguments)
            results[position] = Result(case.name, case.operator, case.kind, *answer)
        worker.process.kill()

    threads = [threading.Thread(target=serve) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [results[position] for position in sorted(results)]


def report(results: Sequence[Result], executor: str) -> str:
    """The coverage document."""
    import onnx

    passes = f"`bench/onnx_conformance.py --executor {executor}`"
    lines = [
        "# ONNX coverage",
        "",
        f"What of the onnx {onnx.__version__} backend suite passes, written by {passes}.",
        "A refusal is an error message that names the node and the reason; it is not a pass. *With values bound* are",
        "tests that pass once an input that holds a shape, axes or the like is given at import. The node tests are the",
        "ones that are not expanded into functions.",
        "",
        *_table("suite", Counter((result.kind, result.outcome) for result in results)),
        "",
        "## Node tests by operator",
        "",
        *_table("operator", Counter((r.operator, r.outcome) for r in results if r.kind == "node")),
        "",
        "## Failures",
        "",
        *[
            f"- `{r.name}` ({r.outcome}): {KNOWN.get(r.name, r.reason)}"
            for r in results
            if r.outcome in (WRONG, CRASHED)
        ],
        "",
        "## Reasons for refusals",
        "",
    ]
    reasons: dict[str, list[str]] = defaultdict(list)
    for result in results:
        if result.outcome == REFUSED:
            reasons[_general(result.reason)].append(result.operator)
    for reason, operators in sorted(reasons.items(), key=lambda entry: -len(entry[1])):
        lines.append(f"- {len(operators)} x {reason} ({', '.join(sorted(set(operators))[:8])})")
    return "\n".join(lines) + "\n"


def _table(what: str, counts: Counter[tuple[str, str]]) -> list[str]:
    rows = sorted({row for row, _ in counts})
    lines = [f"| {what} | tests | " + " | ".join(OUTCOMES) + " |", "|---" * (len(OUTCOMES) + 2) + "|"]
    for row in [*rows, None]:
        cells = [sum(n for (r, o), n in counts.items() if o == out and row in (r, None)) for out in OUTCOMES]
        lines.append(f"| {row or 'all'} | {sum(cells)} | " + " | ".join(str(cell or "") for cell in cells) + " |")
    return lines


def _general(reason: str) -> str:
    """A reason without the node that it is about, so that equal ones are counted together."""
    first = reason.split("\n")[0]
    return first.split("): ", 1)[-1][:120]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--executor", choices=EXECUTORS, default="interpret")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=["node"])
    parser.add_argument("--expanded", action="store_true", help="the node tests written out as functions instead")
    parser.add_argument("--filter", default="", help="only tests whose name contains this")
    parser.add_argument("--output", type=Path, help="where to write the coverage document")
    parser.add_argument("--jobs", type=int, default=1, help="how many tests run at a time")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        work(args.kinds, args.expanded, EXECUTORS[args.executor])
        return
    chosen = [case for case in cases(args.kinds, args.expanded) if args.filter in case.name]
    passed_on = ["--executor", args.executor, "--kinds", *args.kinds, *["--expanded"] * args.expanded]
    results = run_all(chosen, passed_on, args.jobs)
    for result in results:
        if result.outcome not in (PASSED, BOUND):
            print(f"{result.outcome:8} {result.name}: {result.reason}")
    print(dict(Counter(result.outcome for result in results)))
    if args.output:
        args.output.write_text(report(results, args.executor))


if __name__ == "__main__":
    main()
