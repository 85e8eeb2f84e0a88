"""Instructions of the operations that neither jump nor call: operators, data, closures, references, constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.core import ConstantOp, FuncOp, TupleGetItemOp, TupleOp, WeightOp
from relay_mlir.dialects.relay.language import (
    ConstructOp,
    ConstructorValueOp,
    FnOp,
    GlobalOp,
    RefCreateOp,
    RefReadOp,
    RefWriteOp,
)
from relay_mlir.dialects.relay.language_types import ADTType
from relay_mlir.dialects.relay.op import RelayOp
from relay_mlir.dialects.relay.types import Tensor, is_static, numpy_dtype
from relay_mlir.lowering.analysis.variables import free_values
from relay_mlir.lowering.diagnostics import OpError
from relay_mlir.lowering.rewriting import dense_array
from relay_mlir.runtime.bytecode import (
    Closure,
    Code,
    ConstructorFunction,
    Instruction,
    Program,
    Registers,
    needs_check,
)
from relay_mlir.runtime.values import ADT, Ref


class Builder:
    """Instructions of one function or closure, and the registers of its values."""

    def __init__(self, program: Program, code: Code, op: FuncOp | FnOp):
        self.program = program
        self.code = code
        self.op = op
        self.slots: dict[SSAValue, int] = {}

    def slot(self, value: SSAValue) -> int:
        """The register of a value."""
        return self.slots.setdefault(value, len(self.slots))

    def emit(self, op: Operation, instruction: Instruction) -> int:
        """Adds an instruction; returns its number."""
        self.code.instructions.append(instruction)
        self.code.sources.append(op)
        return len(self.code.instructions) - 1

    @property
    def here(self) -> int:
        """The number of the next instruction."""
        return len(self.code.instructions)

    def free(self, op: Operation, dead: Sequence[int]) -> None:
        """Forgets values after their last use."""
        if len(dead) == 1:
            (one,) = dead

            def forget(registers: Registers) -> None:
                registers[one] = None

            self.emit(op, forget)
        elif dead:

            def forget_all(registers: Registers) -> None:
                for position in dead:
                    registers[position] = None

            self.emit(op, forget_all)

    def check(self, op: Operation, values: Sequence[SSAValue], types: Sequence[Attribute], what: str) -> None:
        """Checks values at run time where their types do not promise what is declared."""
        checks = [(self.slot(v), t) for v, t in zip(values, types, strict=True) if needs_check(v.type, t)]
        if not checks:
            return
        mismatch = self.program.checker.mismatch

        def check(registers: Registers) -> None:
            for position, type_ in checks:
                if problem := mismatch(registers[position], type_):
                    raise OpError(op, f"{what}: {problem}")

        self.emit(op, check)

    # Operations that neither jump nor call

    def simple(self, op: Operation) -> Instruction:
        match op:
            case RelayOp():
                return self.operator(op)
            case ConstructOp():
                return self.construct(op)
            case FnOp():
                return self.closure(op)
            case TupleOp():
                return _gather(self.slot(op.result), [self.slot(value) for value in op.fields], tuple)
            case TupleGetItemOp():
                return _take(self.slot(op.result), self.slot(op.tuple_value), op.index.value.data)
            case ConstantOp():
                return _put(self.slot(op.result), dense_array(op.value))
            case WeightOp():
                return self.weight(op)
            case GlobalOp():
                return self.global_(op)
            case ConstructorValueOp():
                return _put(self.slot(op.result), ConstructorFunction(op.constructor.string_value()))
            case RefCreateOp() | RefReadOp() | RefWriteOp():
                return self.reference(op)
            case _:
                raise OpError(op, "the interpreter does not know this operation")

    def operator(self, op: RelayOp) -> Instruction:
        """Runs an operator, and checks what it gives against the types of the program."""
        import numpy as np

        try:
            evaluate = op.operator.evaluate
        except VerifyException as e:
            raise OpError(op, str(e)) from e
        sources, targets = [self.slot(value) for value in op.operands], [self.slot(value) for value in op.results]
        expected = [_expected(result.type) for result in op.results]
        mismatch = self.program.checker.mismatch
        array_type = np.ndarray

        def run(registers: Registers) -> None:
            try:
                values = evaluate([registers[source] for source in sources])
            except (VerifyException, ValueError, IndexError, TypeError, ArithmeticError) as e:
                raise OpError(op, f"fails: {e}") from e
            for target, value, (type_, dtype, shape) in zip(targets, values, expected, strict=True):
                if type(value) is not array_type:
                    value = np.asarray(value)
                if value.shape != shape or value.dtype != dtype:
                    if problem := mismatch(value, type_):
                        raise OpError(op, f"gives another type than it declares: {problem}")
                registers[target] = value

        return run

    def construct(self, op: ConstructOp) -> Instruction:
        name = op.constructor.string_value()
        declared = self.program.constructors.get(name)
        if declared is None:
            raise OpError(op, f"no data type of this module has a constructor @{name}")
        if isinstance(op.result.type, ADTType):
            self.check(op, op.fields, self.program.field_types(declared, op.result.type), f"a field of @{name}")
        if not op.fields:
            return _put(self.slot(op.result), ADT(name))
        return _gather(self.slot(op.result), [self.slot(value) for value in op.fields], lambda v: ADT(name, v))

    def closure(self, op: FnOp) -> Instruction:
        captured = free_values(op.body)
        sources, target = [self.slot(value) for value in captured], self.slot(op.result)
        program = self.program

        def make(registers: Registers) -> None:
            code = program.code(op, captured)
            registers[target] = Closure(code, [registers[source] for source in sources], program.machine)

        return make

    def global_(self, op: GlobalOp) -> Instruction:
        name, target, program = op.function.string_value(), self.slot(op.result), self.program

        def make(registers: Registers) -> None:
            registers[target] = Closure(program.function(name, op), [], program.machine)

        return make

    def weight(self, op: WeightOp) -> Instruction:
        key, target, program = op.key.data, self.slot(op.result), self.program

        def read(registers: Registers) -> None:
            if key not in program.weights:
                raise OpError(op, f"weight '{key}' is not in the store")
            value = program.weights[key]
            if problem := program.checker.mismatch(value, op.result.type):
                raise OpError(op, f"weight '{key}' does not fit the program: {problem}")
            registers[target] = value

        return read

    def reference(self, op: RefCreateOp | RefReadOp | RefWriteOp) -> Instruction:
        target = self.slot(op.result)
        if isinstance(op, RefCreateOp):
            self.check(op, [op.value], [op.result.type.content], "the content")
            initial = self.slot(op.value)

            def create(registers: Registers) -> None:
                registers[target] = Ref(registers[initial])

            return create
        ref = self.slot(op.ref)
        content = getattr(op.ref.type, "content", op.result.type)
        if isinstance(op, RefReadOp):
            mismatch = self.program.checker.mismatch
            checked = needs_check(content, op.result.type)

            def read(registers: Registers) -> None:
                value = registers[ref].value
                if checked and (problem := mismatch(value, op.result.type)):
                    raise OpError(op, f"the content: {problem}")
                registers[target] = value

            return read
        self.check(op, [op.value], [content], "the content")
        new = self.slot(op.value)

        def write(registers: Registers) -> None:
            registers[ref].value = registers[new]
            registers[target] = ()

        return write


def _expected(type_: Attribute) -> tuple[Attribute, Any, Any]:
    """A type with the dtype and shape that its values have, None where these are not known."""
    if isinstance(type_, TensorType):
        tensor = cast(Tensor, type_)
        if is_static(shape := tensor.get_shape()):
            return tensor, cast(Any, numpy_dtype(tensor.element_type)), tuple(shape)
    return cast(Attribute, type_), None, None


def _put(target: int, value: object) -> Instruction:
    def put(registers: Registers) -> None:
        registers[target] = value

    return put


def _take(target: int, source: int, index: int) -> Instruction:
    def take(registers: Registers) -> None:
        registers[target] = registers[source][index]

    return take


def _gather(target: int, sources: Sequence[int], make: Callable[[Any], object]) -> Instruction:
    def gather(registers: Registers) -> None:
        registers[target] = make([registers[source] for source in sources])

    return gather
