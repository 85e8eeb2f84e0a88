"""A compiled program in this process: call it with arrays, save it as an object file or a shared library."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from relay_mlir.dialects.errors import InputError, RunError
from relay_mlir.dialects.relay.types import show_shape
from relay_mlir.lowering.diagnostics import did_you_mean
from relay_mlir.runtime.c_abi import weights_symbol
from relay_mlir.runtime.open_shapes import MISFIT
from relay_mlir.runtime.program import Program
from relay_mlir.runtime.signature import TensorSpec

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from relay_mlir.runtime.jit import Loaded


class Executable:
    """A program that can be called; several threads may call it at the same time.

        exe = relay_mlir.compile("model.onnx")
        outputs = exe(x=array)            # or exe.run({"input.1": array})
        exe.save("model.so")

    Machine code is loaded at the first call.
    """

    def __init__(self, program: Program):
        self._program = program
        self._lock = threading.Lock()
        self._code: _Code | None = None

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        """Name, dtype and shape of every input, in order; a dimension is None where any size will do."""
        return self._program.signature.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        """Name, dtype and shape of every output, in order."""
        return self._program.signature.outputs

    @property
    def arena_bytes(self) -> int | None:
        """The temporary memory of a run; None where it depends on the sizes of the inputs."""
        return self._program.arena_bytes

    @property
    def weight_bytes(self) -> int:
        """The memory of the weights."""
        return self._program.weights.size

    def __call__(self, **arrays: np.ndarray) -> dict[str, np.ndarray]:
        """The outputs by name, for inputs by name; see `run`."""
        return self.run(arrays)

    def run(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs by name, in order.

        Nothing is converted: each array has the dtype and shape of its input. Arrays that are not dense are copied.
        Raises InputError for a missing or unknown name and for an array that does not fit. Sizes of open dimensions
        are checked against each other before anything is computed.
        """
        import numpy as np

        given = [np.ascontiguousarray(array).reshape(array.shape) for array in self._checked(arrays)]
        code = self._loaded()
        sizes = [array.shape for array in given] if self._program.shapes is not None else None
        shapes = [spec.sizes for spec in self.outputs] if sizes is None else code.output_shapes(sizes, self.outputs)
        made = [np.empty(shape, spec.numpy_dtype) for shape, spec in zip(shapes, self.outputs, strict=True)]
        code.run([a.ctypes.data for a in given], [a.ctypes.data for a in made], sizes)
        return {spec.name: array for spec, array in zip(self.outputs, made, strict=True)}

    def live_objects(self) -> int:
        """How many objects of the program's heaps are not freed: 0 when no run is under way, however runs ended.

        A program without closures, data types and references has no heap, and always 0.
        """
        return self._loaded().count("live_objects")

    def unreleased_objects(self) -> int:
        """How many objects kept each other alive, by references, until the ends of their runs; of all runs so far."""
        return self._loaded().count("unreleased_objects")

    def save(self, path: str | Path) -> None:
        """Writes a `.o` or `.so` with the weights in it, and no need of Python; `header` declares its functions."""
        self._program.save(Path(path))

    def header(self) -> str:
        """The C header of what `save` writes."""
        return self._program.header()

    def _loaded(self) -> _Code:
        with self._lock:
            if self._code is None:
                self._code = _Code(self._program)
            return self._code

    def _checked(self, arrays: Mapping[str, np.ndarray]) -> Sequence[np.ndarray]:
        names = [spec.name for spec in self.inputs]
        problems = [f"no input '{name}'{did_you_mean(name, names)}" for name in arrays if name not in names]
        for spec in self.inputs:
            if spec.name not in arrays:
                problems.append(f"input '{spec.name}' is missing; expected {spec.dtype}{spec.shape_text}")
            elif problem := _misfit(spec, arrays[spec.name]):
                problems.append(problem)
        if problems:
            raise InputError("; ".join(problems))
        return [arrays[name] for name in names]


def _misfit(spec: TensorSpec, given: object) -> str | None:
    """Why an array is not what an input takes."""
    import numpy as np

    if not isinstance(given, np.ndarray):
        return f"input '{spec.name}' must be a numpy array, but is a {type(given).__name__}"
    array = cast("npt.NDArray[Any]", given)
    expected = f"expected {spec.dtype}{spec.shape_text}"
    if not spec.fits(array.shape):
        return f"input '{spec.name}' has the shape {show_shape(array.shape)}; {expected}"
    if array.dtype != spec.numpy_dtype:
        hint = "" if array.dtype.newbyteorder("=") != spec.numpy_dtype else " in this machine's byte order"
        return f"input '{spec.name}' is {array.dtype}; {expected}{hint}: convert it with .astype('{spec.dtype}')"
    return None


def _pointers(addresses: Sequence[int]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * max(len(addresses), 1))(*addresses)


def _sizes(shape: Sequence[int]) -> ctypes.Array[ctypes.c_int64]:
    return (ctypes.c_int64 * max(len(shape), 1))(*shape)


class _Code:
    """A program's machine code in this process, and a model made from it."""

    def __init__(self, program: Program):
        from relay_mlir.runtime.jit import load

        self._weights = program.weights.in_memory()  # kept: the code points at it
        symbols = {weights_symbol(program.prefix): self._weights.ctypes.data} if program.weights.size else {}
        self._loaded: Loaded = load([program.code], symbols)
        prefix = self._prefix = program.prefix
        self._run: Any = None
        if program.values is not None:
            pass  # it is run by functions of its own: see ValueExecutable
        elif program.shapes is None:
            self._run = self._function(f"{prefix}_run", ctypes.c_int32, [ctypes.c_void_p] * 3)
        else:
            self._run = self._function(f"{prefix}_run_shaped", ctypes.c_int32, [ctypes.c_void_p] * 4)
            types = [*[ctypes.c_void_p] * 3, ctypes.c_int64]
            self._output_shapes = self._function(f"{prefix}_output_shapes", ctypes.c_int32, types)
        self._error = self._function(f"{prefix}_error", ctypes.c_char_p, [ctypes.c_int32])
        self._destroy = self._function(f"{prefix}_destroy", None, [ctypes.c_void_p])
        create = self._function(f"{prefix}_create", ctypes.c_int32, [ctypes.c_void_p])
        self._counters: dict[str, Any] = {}
        if program.failures is not None:
            for name in ("live_objects", "unreleased_objects"):
                self._counters[name] = self._function(f"{prefix}_{name}", ctypes.c_int64, [ctypes.c_void_p])
        self._model = ctypes.c_void_p()
        self._check(create(ctypes.byref(self._model)))

    def _function(self, name: str, result: Any, arguments: list[Any]) -> Any:
        return ctypes.CFUNCTYPE(result, *arguments)(self._loaded.address(name))

    def run(self, inputs: Sequence[int], outputs: Sequence[int], sizes: Sequence[Sequence[int]] | None) -> None:
        """Runs the program on arrays at these addresses; Python's lock is not held meanwhile.

        `sizes` are the shapes of the inputs, for a program with open dimensions.
        """
        given, made = _pointers(inputs), _pointers(outputs)
        if sizes is None:
            self._check(self._run(self._model, ctypes.addressof(given), ctypes.addressof(made)))
            return
        lists = [_sizes(shape) for shape in sizes]
        shapes = _pointers([ctypes.addressof(each) for each in lists])
        addresses = (ctypes.addressof(each) for each in (given, shapes, made))
        self._check(self._run(self._model, *addresses))

    def output_shapes(self, sizes: Sequence[Sequence[int]], outputs: Sequence[TensorSpec]) -> list[tuple[int, ...]]:
        """The shapes of the outputs for inputs of these shapes; raises InputError for shapes that do not fit."""
        lists, found = [_sizes(shape) for shape in sizes], [_sizes(spec.sizes) for spec in outputs]
        given, made = (_pointers([ctypes.addressof(each) for each in group]) for group in (lists, found))
        message = ctypes.create_string_buffer(1024)
        addresses = (ctypes.addressof(each) for each in (given, made, message))
        status = self._output_shapes(*addresses, len(message))
        if status == MISFIT:
            raise InputError(message.value.decode(errors="replace"))
        self._check(status)
        return [tuple(shape[: len(spec.shape)]) for shape, spec in zip(found, outputs, strict=True)]

    @property
    def model(self) -> ctypes.c_void_p:
        """The handle of the model."""
        return self._model

    def function(self, name: str, result: Any, arguments: list[Any]) -> Any:
        """A C function of the program by its name without the prefix."""
        return self._function(f"{self._prefix}_{name}", result, arguments)

    def check(self, status: int) -> None:
        """Raises RunError for the status of a failure."""
        self._check(status)

    def count(self, counter: str) -> int:
        """A counter of heap objects; 0 where there is no heap."""
        return int(self._counters[counter](self._model)) if self._counters else 0

    def _check(self, status: int) -> None:
        if status:
            raise RunError(f"the compiled program failed: {self._error(status).decode()}")

    def __del__(self) -> None:
        model = getattr(self, "_model", None)
        if model:
            self._destroy(model)
