"""The code that the interpreter runs: functions of the relay language as flat lists of instructions.

One function or closure body is one `Code`: the regions of `if` and `match` become jumps, values live in numbered
registers. An instruction is a Python function of the registers. It gives None to go on with the next one, the number
of the instruction to jump to, or a `Call` or `Return`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.dialects.builtin import FunctionType, TensorType, TupleType
from xdsl.ir import Attribute, Operation, SSAValue

from relay_mlir.dialects.relay.core import CallOp, FuncOp
from relay_mlir.dialects.relay.language import ConstructorOp, FnOp, constructor_fields, instantiate
from relay_mlir.dialects.relay.language_types import ADTType, RefType, substitute
from relay_mlir.dialects.relay.types import ANY
from relay_mlir.lowering.diagnostics import OpError
from relay_mlir.runtime.values import ADT, FunctionValue, TypeChecker, Value

if TYPE_CHECKING:
    import numpy as np

Registers: TypeAlias = list[Any]
Instruction: TypeAlias = Callable[[Registers], "int | Call | Return | None"]
Check: TypeAlias = tuple[int, Attribute]
"""A position and the type that the value there must have."""


@dataclass(slots=True)
class Call:
    """Go on in another function; `results` are the registers of the caller for its values, None in tail position."""

    code: Code
    registers: Registers
    results: Sequence[int] | None
    checks: Sequence[Check] = ()
    """Types of results that the callee does not promise."""


@dataclass(slots=True)
class Return:
    """Leave the function with values."""

    values: Sequence[Any]


class Code:
    """The instructions of a function or closure. Registers start with parameters and captured values."""

    def __init__(self, name: str, parameters: Sequence[Attribute], outputs: Sequence[Attribute]):
        self.name = name
        self.parameters = parameters
        self.outputs = outputs
        self.instructions: list[Instruction] = []
        self.sources: list[Operation] = []
        """The operation that each instruction comes from."""
        self.rest: Registers = []
        """The registers behind parameters and captured values, empty."""
        self.itself: int | None = None
        """The register of the closure itself, of a recursive one."""


class Closure(FunctionValue):
    """A function of the program with the values it captures. Python can call it: each call is a run of its own."""

    __slots__ = ("captured", "code", "machine")

    def __init__(self, code: Code, captured: Registers, machine: Callable[[Any, Sequence[Value]], Value]):
        self.code = code
        self.captured = captured
        self.machine = machine

    def __call__(self, *args: Any) -> Any:
        return self.machine(self, args)


class ConstructorFunction(FunctionValue):
    """A constructor as a function."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __call__(self, *args: Any) -> Any:
        return ADT(self.name, args)


@dataclass
class Program:
    """What the functions of a module share: their code, made when first asked for, and what they name."""

    functions: Mapping[str, FuncOp]
    constructors: Mapping[str, ConstructorOp]
    weights: Mapping[str, np.ndarray] | Any
    checker: TypeChecker
    machine: Callable[[Closure, Sequence[Value]], Value]
    """Runs a closure that Python calls."""
    compile: Callable[[Program, Code, FuncOp | FnOp, Sequence[SSAValue]], None]
    """Fills the code of a function or closure, given the values it captures."""
    codes: dict[Operation, Code] = field(default_factory=dict[Operation, Code])

    fields: dict[tuple[str, ADTType], Sequence[Attribute]] = field(
        default_factory=dict[tuple[str, ADTType], Sequence[Attribute]]
    )

    def field_types(self, constructor: ConstructorOp, type_: ADTType) -> Sequence[Attribute]:
        """The types of the fields of a constructor in a value of this type."""
        key = constructor.sym_name.data, type_
        if key not in self.fields:
            self.fields[key] = constructor_fields(constructor, type_)
        return self.fields[key]

    def function(self, name: str, op: Operation) -> Code:
        """The code of a function of the module; raises OpError at the operation that names it."""
        found = self.functions.get(name)
        if found is None:
            raise OpError(op, f"@{name} is not a relay.func of this module")
        return self.code(found)

    def code(self, op: FuncOp | FnOp, captured: Sequence[SSAValue] = ()) -> Code:
        """The code of a function or closure."""
        if op not in self.codes:
            type_ = op.function_type
            name = f"@{op.sym_name.data}" if isinstance(op, FuncOp) else "a closure"
            code = self.codes[op] = Code(name, list(type_.inputs), list(type_.outputs))
            self.compile(self, code, op, captured)
        return self.codes[op]


def needs_check(have: Attribute, declared: Attribute) -> bool:
    """Whether a value of the one type may lack the other: where the one leaves a dimension open that the other gives.

    The elements of a data structure are not looked at for a type variable: they were when it was made.
    """
    if have == declared:
        return False
    match declared:
        case TensorType():
            shape = declared.get_shape()
            known = have.get_shape() if isinstance(have, TensorType) else [ANY] * len(shape)
            return any(h == ANY and d != ANY for h, d in zip(known, shape, strict=False))
        case TupleType():
            types = declared.types.data
            fields = have.types.data if isinstance(have, TupleType) else [have] * len(types)
            return any(map(needs_check, fields, types))
        case ADTType() if isinstance(have, ADTType):
            return any(map(needs_check, have.arguments, declared.arguments))
        case RefType() if isinstance(have, RefType):
            return needs_check(have.content, declared.content)
        case _:
            return False


def unpromised(op: CallOp, function: FuncOp) -> list[Check]:
    """The results of a call whose types the function does not promise for these arguments."""
    found = FunctionType.from_lists([v.type for v in op.arguments], [v.type for v in op.results])
    values: dict[str, Attribute] = {}
    instantiate(function.function_type, found, function.type_parameters, values)
    promised = [substitute(type_, values) for type_ in function.function_type.outputs]
    pairs = enumerate(zip(promised, found.outputs, strict=True))
    return [(position, wanted) for position, (have, wanted) in pairs if needs_check(have, wanted)]
