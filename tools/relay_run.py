"""`relay-run`: compiles a model, runs it, says what came out and how fast, and checks it against a reference."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from relay_mlir.dialects.errors import Error, InputError, ModelError
from relay_mlir.lowering.diagnostics import did_you_mean
from relay_mlir.tools.model_options import Progress, add_model_options, parse_shapes, parse_values, run_tool

if TYPE_CHECKING:
    import numpy as np
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Attribute

    from relay_mlir.dialects.relay.weights import RelayContext
    from relay_mlir.runtime.executable import Executable
    from relay_mlir.runtime.signature import TensorSpec

Arrays = Mapping[str, "np.ndarray"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="relay-run",
        description="Compiles a model, runs it and shows the outputs. With --check, exit code 1 says that they differ.",
    )
    add_model_options(parser)
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=WHAT",
        help="WHAT is a .npy file, `random` or `random:SEED` (the default, with seed 0)",
    )
    parser.add_argument(
        "--check",
        choices=("reference", "onnxruntime"),
        help="compare with the reference interpreter or with onnxruntime, and name the first operation that differs",
    )
    parser.add_argument(
        "--interpret",
        action="store_true",
        help="run the reference interpreter instead of compiled code, and print the results: for every program",
    )
    parser.add_argument("--entry", default="main", metavar="NAME", help="the function that --interpret runs")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run N times and show the times")
    return parser


def main(args: Sequence[str] | None = None) -> int:
    """The entry point of the command."""
    options = _parser().parse_args(args)
    return run_tool("relay-run", lambda: _Run(options).run())


@dataclass
class _Run:
    """One invocation."""

    options: argparse.Namespace

    def run(self) -> int:
        from relay_mlir.runtime.compiler import Options, compile_module, pipeline
        from relay_mlir.runtime.executable import Executable

        if self.options.interpret:
            return self._interpret()
        if self.options.repeat < 1:
            raise InputError(f"--repeat {self.options.repeat}: expected 1 or more")
        if self.options.check == "onnxruntime" and self.options.model.suffix != ".onnx":
            raise InputError("--check onnxruntime needs an .onnx model; use --check reference")
        chosen = Options(self.options.target, self.options.threads, self.options.numerics)
        ctx, module = self._import()
        passes = pipeline(chosen, module)
        progress = Progress([pass_.name for pass_ in passes])
        start = time.perf_counter()
        try:
            program = compile_module(
                module,
                ctx,
                chosen,
                passes=passes,
                dump=self.options.dump,
                on_pass=lambda _run, _module: progress.advance(),
            )
        finally:
            progress.clear()
        if program.values is not None:
            raise InputError(
                "@main takes or gives more than tensors, which cannot be given here; use relay_mlir.compile in Python"
            )
        executable = Executable(program)
        inputs = self._inputs(executable)
        if self.options.timing:
            print(f"compiled in {time.perf_counter() - start:.2f} s")
        outputs = self._timed(executable, inputs)
        for spec in executable.outputs:
            print(_summary(spec, outputs[spec.name]))
        return self._check(inputs, outputs, chosen) if self.options.check else 0

    def _interpret(self) -> int:
        from relay_mlir.runtime.interpreter import Interpreted
        from relay_mlir.runtime.programs import complete
        from relay_mlir.runtime.values import show

        ctx, module = self._import()
        function = Interpreted(complete(module, ctx), ctx.weights, self.options.entry)
        given = self._given(function.input_names)
        types = function.function_type.inputs.data
        specs = [_spec(name, type_) for name, type_ in zip(function.input_names, types, strict=True)]
        start = time.perf_counter()
        results = function.run(*(_array(spec, given.get(spec.name, "random")) for spec in specs))
        if self.options.timing:
            print(f"interpreted in {time.perf_counter() - start:.2f} s")
        for name, result in zip(function.output_names, results, strict=True):
            print(f"{name}: {show(result)}")
        return 0

    def _import(self) -> tuple[RelayContext, ModuleOp]:
        from relay_mlir.runtime.compiler import import_model, make_context

        ctx = make_context()
        values = parse_values(self.options.value)
        return ctx, import_model(self.options.model, ctx, parse_shapes(self.options.shape), values)

    def _inputs(self, executable: Executable) -> dict[str, np.ndarray]:
        given = self._given([spec.name for spec in executable.inputs])
        return {spec.name: _array(spec, given.get(spec.name, "random")) for spec in executable.inputs}

    def _given(self, names: Sequence[str]) -> dict[str, str]:
        """What the options say about each input; raises InputError for one that there is not."""
        given: dict[str, str] = {}
        for option in self.options.input:
            name, equals, what = option.partition("=")
            while equals and name not in names and "=" in what:  # names of inputs may hold '='
                more, _, what = what.partition("=")
                name = f"{name}={more}"
            if not equals or name not in names:
                raise InputError(f"--input {option}: no input '{name}'{did_you_mean(name, names)}")
            if name in given:
                raise InputError(f"--input {name} is given twice")
            given[name] = what
        return given

    def _timed(self, executable: Executable, inputs: Arrays) -> dict[str, np.ndarray]:
        outputs = executable.run(inputs)  # the first run loads the code and touches the memory
        times: list[float] = []
        for _ in range(self.options.repeat):
            start = time.perf_counter()
            outputs = executable.run(inputs)
            times.append((time.perf_counter() - start) * 1e3)
        if len(times) == 1:
            print(f"time: {times[0]:.3f} ms")
        else:
            print(f"time: {min(times):.3f} ms least, {statistics.median(times):.3f} ms median of {len(times)} runs")
        arena, weights = executable.arena_bytes, executable.weight_bytes
        temporary = "as sizes demand" if arena is None else f"{arena / 2**20:.2f} MiB"
        memory = f"{temporary} temporary, {weights / 2**20:.2f} MiB weights"
        print(f"memory: {memory}")
        return outputs

    def _check(self, inputs: Arrays, outputs: Arrays, chosen: Any) -> int:
        from relay_mlir.runtime.differences import first_difference, outputs_differ, reference

        which = self.options.check
        if which == "reference":
            expected: Arrays = reference(*self._import(), inputs)
        else:
            expected = self._onnxruntime(self._model(), inputs)
        differences = outputs_differ(outputs, expected)
        if not differences:
            print(f"check: agrees with {'the interpreter' if which == 'reference' else which}")
            return 0
        for name, text in differences:
            print(f"check: output '{name}': {text}")
        finding = self._import_difference(inputs) if which == "onnxruntime" else None
        if finding is None:
            finding = first_difference(self._import, chosen, inputs)
        print(f"check: {finding.text}")
        return 1

    def _import_difference(self, inputs: Arrays) -> Any:
        from relay_mlir.runtime.differences import first_import_difference

        return first_import_difference(self._model(), self._import, inputs, self._onnxruntime)

    def _onnxruntime(self, model: Any, inputs: Arrays) -> dict[str, np.ndarray]:
        """The outputs of an ONNX model from onnxruntime, which also gets the inputs that the program holds."""
        return _onnxruntime(model, {**_typed(model, parse_values(self.options.value)), **inputs})

    def _model(self) -> Any:
        import onnx

        return cast(Any, onnx).load(self.options.model)


def _array(spec: TensorSpec, what: str) -> np.ndarray:
    """The array of an input option; raises InputError."""
    import numpy as np

    if what == "random" or what.startswith("random:"):
        seed = what.partition(":")[2] or "0"
        if not seed.isdecimal():
            raise InputError(f"--input {spec.name}={what}: the seed must be a number")
        return _random(spec, int(seed))
    path = Path(what)
    if path.suffix != ".npy":
        raise InputError(f"--input {spec.name}={what}: expected a .npy file, `random` or `random:SEED`")
    try:
        return cast("np.ndarray", np.load(path, allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"--input {spec.name}: cannot read '{path}': {reason}") from error


def _spec(name: str, type_: Attribute) -> TensorSpec:
    """An argument of an interpreted function; raises InputError for what a command line cannot give."""
    from xdsl.dialects.builtin import TensorType

    from relay_mlir.dialects.relay.types import ANY, Tensor, dtype_name
    from relay_mlir.runtime.signature import TensorSpec

    if not isinstance(type_, TensorType):
        raise InputError(
            f"the argument '{name}' is a {type_}: only tensors can be given here; use relay_mlir.interpret in Python"
        )
    tensor = cast(Tensor, type_)
    return TensorSpec(
        name, dtype_name(tensor.element_type), tuple(None if size == ANY else size for size in tensor.get_shape())
    )


def _random(spec: TensorSpec, seed: int) -> np.ndarray:
    """Normal floats, integers from 0 to 9, or bools."""
    import numpy as np

    if spec.is_open:
        raise InputError(
            f"input '{spec.name}' has the shape {spec.shape_text}: give every dimension a size with --shape "
            f"{spec.name}=1x3x224x224, or an array with --input {spec.name}=FILE.npy"
        )
    generator = np.random.default_rng(seed)
    if spec.dtype == "bool":
        return generator.integers(0, 2, spec.sizes).astype(np.bool_)
    if "int" in spec.dtype:
        return generator.integers(0, 10, spec.sizes).astype(spec.numpy_dtype)
    return generator.standard_normal(spec.sizes).astype(spec.numpy_dtype)


def _summary(spec: TensorSpec, array: np.ndarray) -> str:
    """One line about an output."""
    import numpy as np

    if array.size == 0:
        return f"{spec}  empty"
    values = array.astype(np.float64)
    finite = values[np.isfinite(values)]
    text = "no finite element"
    if finite.size:
        text = f"least {finite.min():.6g}, mean {finite.mean():.6g}, greatest {finite.max():.6g}"
    nans, infinite = int(np.isnan(values).sum()), int(np.isinf(values).sum())
    return f"{spec}  {text}" + (f", {nans} NaN" if nans else "") + (f", {infinite} Inf" if infinite else "")


def _typed(model: Any, values: Arrays) -> dict[str, np.ndarray]:
    """Bound values with the dtypes, and ranks of 0 and 1, that a model declares."""
    import numpy as np
    import onnx

    result: dict[str, np.ndarray] = {}
    for declared in model.graph.input:
        if (value := values.get(declared.name)) is not None:
            tensor = declared.type.tensor_type
            array = np.asarray(value).astype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
            result[declared.name] = array.reshape(()) if array.size == 1 and not tensor.shape.dim else array
    return result


def _onnxruntime(model: Any, inputs: Arrays) -> dict[str, np.ndarray]:
    """The outputs of an ONNX model by name, from onnxruntime without optimizations. Raises ModelError."""
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise Error("--check onnxruntime needs the package onnxruntime: pip install onnxruntime") from error
    runtime: Any = onnxruntime
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    try:
        session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        known = {value.name for value in session.get_inputs()}
        results = session.run(None, {name: array for name, array in inputs.items() if name in known})
    except Exception as error:  # onnxruntime has no common class of errors
        raise ModelError(f"onnxruntime cannot run the model: {error}") from error
    return dict(zip([value.name for value in session.get_outputs()], results, strict=True))


if __name__ == "__main__":
    sys.exit(main())
