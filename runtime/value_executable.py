"""A compiled program whose `@main` takes or gives more than tensors: it runs in this process, on Python's values."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any, cast

from xdsl.dialects.builtin import TupleType
from xdsl.ir import TypeAttribute

from relay_mlir.dialects.errors import InputError, RunError
from relay_mlir.lowering.diagnostics import did_you_mean
from relay_mlir.runtime.executable import Executable
from relay_mlir.runtime.program import Program
from relay_mlir.runtime.value_images import Image, ValueTypes, read_value
from relay_mlir.runtime.values import TypeChecker


class ValueExecutable(Executable):
    """An Executable that takes and gives tensors, tuples, `relay_mlir.ADT` and `relay_mlir.Ref` values.

    What a reference holds after the run can be seen in the outputs only: a program works on copies of its inputs.
    """

    def __init__(self, program: Program):
        super().__init__(program)
        assert program.values is not None
        self._types: ValueTypes = program.values
        self._checker = TypeChecker(program.values.declarations)

    def run(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name, in order. Raises InputError for values that do not fit, RunError for a failing run."""
        return self.prepared(arrays)()

    def prepared(self, arrays: Mapping[str, Any]) -> Callable[[], dict[str, Any]]:
        """`run` on these values, which are checked and converted now, once; each run gets a copy of what they are now.

        Raises InputError for values that do not fit; the function that is returned raises RunError.
        """
        inputs = self._types.inputs
        problems = [f"no input '{name}'{did_you_mean(name, list(inputs))}" for name in arrays if name not in inputs]
        problems += [f"input '{name}' is missing" for name in inputs if name not in arrays]
        for name, value in arrays.items():
            if name in inputs and (problem := self._checker.mismatch(value, inputs[name])):
                problems.append(f"input '{name}': {problem}")
        if problems:
            raise InputError("; ".join(problems))
        image = Image(self._types)
        image.add([(arrays[name], type_) for name, type_ in inputs.items()])
        return lambda: self._run(image)

    def _run(self, image: Image) -> dict[str, Any]:
        outputs = self._types.outputs
        call = _Call(self._loaded())
        try:
            word = call.run(image)
            if len(outputs) == 1:
                ((name, type_),) = outputs.items()
                return {name: read_value(word, type_, self._types)}
            found = read_value(
                word, TupleType(tuple(cast(TypeAttribute, type_) for type_ in outputs.values())), self._types
            )
            return dict(zip(outputs, found, strict=True))
        finally:
            call.close()


class _Call:
    """One run: a heap from when the arguments are put there until the result was read."""

    def __init__(self, code: Any):
        self._code = code
        pointer = ctypes.c_void_p
        self._image = code.function("image", pointer, [pointer, ctypes.c_int64, ctypes.c_int64])
        self._run = code.function("run_values", ctypes.c_int32, [pointer] * 4)
        self._close = code.function("close", None, [pointer, pointer, pointer])
        self._heap = code.function("open", pointer, [pointer])(code.model)
        self._result = ctypes.c_uint64(1)
        if not self._heap:
            raise RunError("the compiled program failed: out of memory")

    def run(self, image: Image) -> int:
        """The word of the result."""
        address = self._image(self._heap, image.size, image.objects)
        if not address:
            raise RunError("the compiled program failed: out of memory")
        image.copy_to(address)
        inputs = (ctypes.c_void_p * max(len(image.roots), 1))(*[address + at for at in image.roots])
        outputs = (ctypes.c_void_p * 1)(ctypes.addressof(self._result))
        self._code.check(self._run(self._code.model, self._heap, ctypes.addressof(inputs), ctypes.addressof(outputs)))
        return self._result.value

    def close(self) -> None:
        """Frees the result, and gives the heap back."""
        self._close(self._code.model, self._heap, self._result.value)
