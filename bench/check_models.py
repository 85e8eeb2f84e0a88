"""Compares whole models with onnxruntime: `check_models.py resnet18 minilm_l3 --executor interpret`.

Inputs are seeded; floats are compared by the greatest difference relative to the greatest magnitude of the output.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import models  # noqa: E402

TOLERANCE = 1e-4


def inputs_of(name: str, path: Path) -> dict[str, np.ndarray]:
    """Seeded inputs: of the shapes that the model declares, or that models.py lists."""
    import onnx
    from onnx_cases import input_names

    random = np.random.default_rng(0)
    model = onnx.load(str(path), load_external_data=False)
    shapes = models.PACKAGED[name].shapes if name in models.PACKAGED else {}
    types = {value.name: value.type.tensor_type for value in model.graph.input}
    inputs: dict[str, np.ndarray] = {}
    for key in input_names(model):
        shape = shapes.get(key, tuple(dim.dim_value for dim in types[key].shape.dim))
        dtype = onnx.helper.tensor_dtype_to_np_dtype(types[key].elem_type)
        if dtype.kind == "f":
            inputs[key] = random.standard_normal(shape).astype(dtype)
        else:
            inputs[key] = random.integers(1, 2 if "mask" in key else 100, shape).astype(dtype)
        if key == "sr":
            inputs[key] = np.asarray(16000, dtype)
        if key == "length":
            inputs[key] = np.asarray([shapes["token_ids"][1]], dtype)
    return inputs


def expected_of(path: Path, inputs: dict[str, np.ndarray]) -> list[Any]:
    """What onnxruntime gives, without its optimizations."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return list(onnxruntime.InferenceSession(str(path), options).run(None, inputs))


def interpreted(path: Path, inputs: dict[str, np.ndarray], values: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What the reference interpreter gives for the imported model."""
    from relay_mlir.dialects.relay.weights import RelayContext
    from relay_mlir.frontends.onnx import import_onnx
    from relay_mlir.runtime.interpreter import evaluate

    ctx = RelayContext()
    given = {name: array for name, array in inputs.items() if name not in values}
    start = time.perf_counter()
    module = import_onnx(path, ctx, {name: array.shape for name, array in given.items()}, values)
    print(f"imported in {time.perf_counter() - start:.2f} s", end=", ")
    return [np.asarray(value) for value in evaluate(module, ctx.weights, list(given.values()))]


def compiled(path: Path, inputs: dict[str, np.ndarray], values: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What the compiled model gives."""
    import relay_mlir

    given = {name: array for name, array in inputs.items() if name not in values}
    program = relay_mlir.compile(path, shapes={name: array.shape for name, array in given.items()}, values=values)
    return list(program(**given).values())


def difference(expected: np.ndarray, found: np.ndarray) -> float:
    """The greatest difference relative to the greatest magnitude; infinite for other types or shapes."""
    if expected.dtype != found.dtype or expected.shape != found.shape:
        return float("inf")
    if expected.dtype.kind != "f":
        return 0.0 if np.array_equal(expected, found) else float("inf")
    scale = max(float(np.abs(expected).max(initial=0.0)), 1e-30)
    return float(np.abs(expected.astype(np.float64) - found).max(initial=0.0)) / scale


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--executor", choices=["interpret", "native"], default="interpret")
    parser.add_argument("--bind", nargs="*", default=["sr"], help="inputs that are part of the program")
    args = parser.parse_args()
    failed = False
    for name in args.names:
        path = models.model(name)
        inputs = inputs_of(name, path)
        values = {key: array for key, array in inputs.items() if key in args.bind}
        print(f"{name}: ", end="", flush=True)
        try:
            found = (interpreted if args.executor == "interpret" else compiled)(path, inputs, values)
        except Exception as e:
            failed = True
            print(f"{type(e).__name__}: {str(e)[:2000]}")
            continue
        worst = max(difference(a, b) for a, b in zip(expected_of(path, inputs), found, strict=True))
        failed |= not worst <= TOLERANCE
        print(f"differs by {worst:.2e}{'' if worst <= TOLERANCE else ' TOO MUCH'}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
