"""The reference interpreter: runs every form of the relay language on numpy arrays, each operator as it defines itself.

It is strict and goes from left to right. Calls and branches take no Python stack, so recursion may be millions deep,
and a call in tail position takes no memory. Arrays are checked against the types of the program wherever these do not
promise what is declared: behind operators, and where a value with an open dimension meets a known one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Operation

from relay_mlir.dialects.errors import InputError
from relay_mlir.dialects.relay.core import FuncOp
from relay_mlir.dialects.relay.language import AdtOp
from relay_mlir.dialects.relay.weights import WeightStore
from relay_mlir.lowering.diagnostics import Diagnostic, DiagnosticError, OpError, Place, attach, op_of
from relay_mlir.lowering.locations import describe_origin, file_location
from relay_mlir.runtime.bytecode import Call, Closure, Code, Program, Registers
from relay_mlir.runtime.bytecode_compiler import compile_function
from relay_mlir.runtime.values import TypeChecker, Value

if TYPE_CHECKING:
    import numpy as np

MAX_DEPTH = 20_000_000
"""How many calls may be open at once: recursion without an end stops with an error before memory does."""


class ExecutionError(DiagnosticError):
    """A program that fails while it runs; the message names the operation and where it comes from."""


class Interpreter:
    """Runs the functions of a module. `weights` is a WeightStore or a mapping from names to arrays.

    A run that makes more than `max_calls` calls (of functions and closures) fails.
    """

    def __init__(
        self,
        module: ModuleOp,
        weights: WeightStore | Mapping[str, np.ndarray] | None = None,
        max_calls: int | None = None,
    ):
        self._max_calls = max_calls
        self._checker = TypeChecker(module)
        self._program = Program(
            functions={op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)},
            constructors={
                made.sym_name.data: made for op in module.ops if isinstance(op, AdtOp) for made in op.constructors
            },
            weights=weights if weights is not None else WeightStore(),
            checker=self._checker,
            machine=self._call,
            compile=compile_function,
        )

    def function(self, entry: str) -> FuncOp:
        """The function of this name; raises InputError where there is none."""
        functions = self._program.functions
        if entry not in functions:
            raise InputError(f"there is no function @{entry}; the module has {', '.join(functions) or 'none'}")
        return functions[entry]

    def run(self, *args: Value, entry: str = "main") -> list[Value]:
        """The results of a function on these arguments.

        Raises InputError for arguments that are not of the types of the function, and ExecutionError where the
        program fails: an operator, a partial match without a case for its value, a weight that the store lacks.
        """
        func = self.function(entry)
        self._check(args, func.function_type.inputs.data, f"@{entry}")
        code = self._located(lambda: self._program.code(func), func)
        return list(self._execute(code, [*args, *code.rest]))

    def _check(self, args: Sequence[Value], types: Sequence[Any], name: str) -> None:
        if len(args) != len(types):
            raise InputError(f"{name} takes {len(types)} arguments, but {len(args)} were given")
        for position, (arg, type_) in enumerate(zip(args, types, strict=True)):
            if problem := self._checker.mismatch(arg, type_):
                raise InputError(f"argument {position} of {name}: {problem}")

    def _call(self, closure: Closure, args: Sequence[Value]) -> Value:
        """The result of a closure that Python calls."""
        code = closure.code
        self._check(args, code.parameters, code.name)
        registers = [*args, *closure.captured, *code.rest]
        if code.itself is not None:
            registers[code.itself] = closure
        values = self._execute(code, registers)
        return values[0] if len(values) == 1 else tuple(values)

    def _located(self, function: Callable[[], Code], op: Operation) -> Code:
        try:
            return function()
        except OpError as error:
            raise _execution_error(error, op) from error

    def _execute(self, code: Code, registers: Registers) -> Sequence[Value]:
        import numpy as np

        with np.errstate(all="ignore"):
            return _Machine(self._checker, self._max_calls).run(code, registers)


class _Machine:
    """The frames of one run."""

    def __init__(self, checker: TypeChecker, max_calls: int | None):
        self._checker = checker
        self._max_calls = sys.maxsize if max_calls is None else max_calls

    def run(self, code: Code, registers: Registers) -> Sequence[Value]:
        """Runs code to its end."""
        frames: list[tuple[Code, Registers, int, Sequence[int], Any]] = []
        instructions, next_, calls = code.instructions, 0, 0
        try:
            while True:
                outcome = instructions[next_](registers)
                next_ += 1
                if outcome is None:
                    continue
                if type(outcome) is int:
                    next_ = outcome
                elif type(outcome) is Call:
                    if outcome.results is not None:
                        frames.append((code, registers, next_, outcome.results, outcome.checks))
                        if len(frames) > MAX_DEPTH:
                            raise OpError(code.sources[next_ - 1], f"more than {MAX_DEPTH} calls are open")
                    calls += 1
                    if calls > self._max_calls:
                        raise OpError(code.sources[next_ - 1], f"more than {self._max_calls} calls were made")
                    code, registers, next_ = outcome.code, outcome.registers, 0
                    instructions = code.instructions
                else:
                    values = cast(Sequence[Any], cast(Any, outcome).values)
                    if not frames:
                        return values
                    code, registers, next_, results, checks = frames.pop()
                    instructions = code.instructions
                    if checks:
                        self._check(code.sources[next_ - 1], values, checks)
                    if len(results) == len(values):
                        for result, value in zip(results, values, strict=True):
                            registers[result] = value
                    else:
                        registers[results[0]] = tuple(values)
        except OpError as error:
            raise _execution_error(error, code.sources[max(next_ - 1, 0)]) from error

    def _check(self, op: Operation, values: Sequence[Any], checks: Sequence[Any]) -> None:
        for position, type_ in checks:
            if problem := self._checker.mismatch(values[position], type_):
                raise OpError(op, f"the result: {problem}")


def _execution_error(error: OpError, fallback: Operation) -> ExecutionError:
    """The error as users see it, at the operation that it is about."""
    op = op_of(error) or fallback
    location = file_location(op.location)
    place = Place(location.filename.data, location.line.data, location.column.data) if location else None
    shown = str(op).split("\n")[0]
    diagnostic = Diagnostic(
        "error",
        f"'{op.name}' op {error}",
        place,
        origin=describe_origin(op),
        shown=shown if len(shown) <= 200 else shown[:197] + "...",
    )
    located = ExecutionError(diagnostic)
    attach(located, op)
    return located


def evaluate(
    module: ModuleOp,
    weights: WeightStore | Mapping[str, np.ndarray] | None = None,
    args: Sequence[Value] = (),
    entry: str = "main",
) -> list[Value]:
    """The results of a function of a relay module; see `Interpreter.run`."""
    return Interpreter(module, weights).run(*args, entry=entry)


class Interpreted:
    """A function of a program, run by the interpreter. `weights` are the program's."""

    def __init__(self, module: ModuleOp, weights: WeightStore | Mapping[str, np.ndarray], entry: str):
        self._interpreter = Interpreter(module, weights)
        self._function = self._interpreter.function(entry)
        self._entry = entry
        self.module = module
        self.weights = weights

    @property
    def function_type(self) -> FunctionType:
        """The type of the function."""
        return self._function.function_type

    @property
    def input_names(self) -> Sequence[str]:
        """The names of the arguments, for calls by keyword."""
        return self._function.names("input_names")

    @property
    def output_names(self) -> Sequence[str]:
        """The names of the results."""
        return self._function.names("output_names")

    def run(self, *args: Value) -> list[Value]:
        """The results of the function; see `Interpreter.run`."""
        return self._interpreter.run(*args, entry=self._entry)

    def __call__(self, *args: Value, **named: Value) -> Value:
        """The result of the function, a tuple of the results if it has several or none.

        Arguments are given by position, then by name. Raises InputError and ExecutionError, see `Interpreter.run`.
        """
        names = list(self.input_names)[len(args) :]
        if unknown := [name for name in named if name not in names]:
            raise InputError(f"@{self._entry} has no argument '{unknown[0]}' left; it has {', '.join(names) or 'none'}")
        if missing := [name for name in names if name not in named]:
            raise InputError(f"@{self._entry} lacks the argument '{missing[0]}'")
        results = self.run(*args, *(named[name] for name in names))
        return results[0] if len(results) == 1 else tuple(results)


def interpret(
    program: str | Path | ModuleOp | Any,
    entry: str = "main",
    weights: WeightStore | Mapping[str, np.ndarray] | None = None,
) -> Interpreted:
    """A function of a program, to be called with arrays, tuples, `ADT`, `Ref`: `interpret("x.relay")(x, y)`.

    `program` is the path of a .relay, .mlir, .onnx or .pt2 file, an onnx.ModelProto, a torch ExportedProgram, a module,
    or the text of one (MLIR, or Relay if it starts with `#[version`). Holes in its types are filled by inference.
    `weights` are added to those of the file. Raises ModelError and DiagnosticError for a program that cannot be read or
    typed.
    """
    from relay_mlir.runtime.programs import load

    module, store = load(program, weights)
    return Interpreted(module, store, entry)


__all__ = ["MAX_DEPTH", "ExecutionError", "Interpreted", "Interpreter", "Value", "evaluate", "interpret"]
