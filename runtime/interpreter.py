"""The reference interpreter: runs a relay module on numpy arrays, one operator after the other, as each defines itself.

It is strict (every operation of a function is evaluated in order) and checks what operators return against the types
of the program. Calls and branches take no Python stack, so recursion in the program may be deep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from xdsl.dialects.builtin import ModuleOp, TensorType, TupleType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.errors import CompileError, InputError
from relay_mlir.dialects.relay.core import (
    CallOp,
    ConstantOp,
    FuncOp,
    IfOp,
    ReturnOp,
    TupleGetItemOp,
    TupleOp,
    WeightOp,
    YieldOp,
)
from relay_mlir.dialects.relay.op import RelayOp
from relay_mlir.dialects.relay.types import ANY, numpy_dtype, show_shape
from relay_mlir.dialects.relay.weights import WeightStore
from relay_mlir.lowering.rewriting import dense_array

if TYPE_CHECKING:
    import numpy as np

Value: TypeAlias = "np.ndarray | tuple[Any, ...]"
"""An array, or a tuple of values for a relay tuple."""


@dataclass
class _Frame:
    """A block under evaluation; `results` are the values of the caller that its terminator gives."""

    block: Block
    env: dict[SSAValue, Value]
    results: Sequence[SSAValue] = ()
    next: Operation | None = field(init=False)

    def __post_init__(self) -> None:
        self.next = self.block.first_op


class Interpreter:
    """Runs the functions of a module. `weights` is a WeightStore or a mapping from names to arrays."""

    def __init__(self, module: ModuleOp, weights: WeightStore | Mapping[str, np.ndarray] | None = None):
        self._functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
        self._weights = weights if weights is not None else WeightStore()
        self._dying: dict[Block, dict[Operation, list[SSAValue]]] = {}

    def run(self, *args: Value, entry: str = "main") -> list[Value]:
        """The results of a function on these arguments.

        Raises InputError for arguments that are not of the types of the function, KeyError for a weight that the
        store lacks, and CompileError where an operator fails, with the operation and its location.
        """
        if entry not in self._functions:
            raise InputError(f"there is no function @{entry}; the module has {', '.join(self._functions) or 'none'}")
        func = self._functions[entry]
        if len(args) != len(func.args):
            raise InputError(f"@{entry} takes {len(func.args)} arguments, but {len(args)} were given")
        for position, (arg, formal) in enumerate(zip(args, func.args, strict=True)):
            if problem := _mismatch(arg, formal.type):
                raise InputError(f"argument {position} of @{entry}: {problem}")
        return self._run_frames(_Frame(func.block, dict(zip(func.args, args, strict=True))))

    def _run_frames(self, entry: _Frame) -> list[Value]:
        frames, returned = [entry], list[Value]()
        while frames:
            frame = frames[-1]
            op = frame.next
            if op is None:
                raise CompileError("a block ends without a terminator")
            frame.next = op.next_op
            operands = [frame.env[operand] for operand in op.operands]
            if isinstance(op, ReturnOp | YieldOp):
                frames.pop()
                returned = operands
                if frames:
                    frames[-1].env.update(zip(frame.results, operands, strict=True))
            elif isinstance(op, CallOp):
                callee = self._functions[op.callee.string_value()]
                frames.append(_Frame(callee.block, dict(zip(callee.args, operands, strict=True)), op.results))
            elif isinstance(op, IfOp):
                branch = op.then_region if bool(cast("np.ndarray", operands[0])) else op.else_region
                frames.append(_Frame(branch.block, dict(frame.env), op.results))
            else:
                frame.env.update(zip(op.results, self._evaluate(op, operands), strict=True))
            for value in self._last_uses(frame.block).get(op, ()):
                frame.env.pop(value, None)
        return returned

    def _evaluate(self, op: Operation, operands: list[Value]) -> Sequence[Value]:
        match op:
            case RelayOp():
                return _apply(op, cast("list[np.ndarray]", operands))
            case WeightOp():
                value = self._weights[op.key.data]
                if problem := _mismatch(value, op.result.type):
                    raise CompileError(f"weight '{op.key.data}' does not fit the program: {problem}")
                return [value]
            case ConstantOp():
                return [dense_array(op.value)]
            case TupleOp():
                return [tuple(operands)]
            case TupleGetItemOp():
                return [cast(tuple[Any, ...], operands[0])[op.index.value.data]]
            case _:
                raise CompileError(f"the interpreter does not know {op.name} (at {op.location})")

    def _last_uses(self, block: Block) -> dict[Operation, list[SSAValue]]:
        """The values of a block that are not needed after each operation of it."""
        if block not in self._dying:
            last: dict[SSAValue, Operation] = {}
            for op in block.ops:
                last.update((result, op) for result in op.results)
                for inner in op.walk():
                    last.update(
                        (operand, op) for operand in inner.operands if operand in last or operand.owner is block
                    )
            dying: dict[Operation, list[SSAValue]] = {}
            for value, op in last.items():
                dying.setdefault(op, []).append(value)
            self._dying[block] = dying
        return self._dying[block]


def interpret(
    module: ModuleOp,
    weights: WeightStore | Mapping[str, np.ndarray] | None = None,
    args: Sequence[Value] = (),
    entry: str = "main",
) -> list[Value]:
    """The results of a function of a relay module; see `Interpreter.run`."""
    return Interpreter(module, weights).run(*args, entry=entry)


def _apply(op: RelayOp, operands: list[np.ndarray]) -> Sequence[np.ndarray]:
    import numpy as np

    try:
        with np.errstate(all="ignore"):
            values = op.operator.evaluate(operands)
    except (VerifyException, ValueError, IndexError, TypeError) as e:
        raise CompileError(f"{op.name} (at {op.location}) fails: {e}") from e
    for value, result in zip(values, op.results, strict=True):
        if problem := _mismatch(value, result.type):
            raise CompileError(f"{op.name} (at {op.location}) gives another type than it declares: {problem}")
    return values


def _mismatch(value: Value, type_: Attribute) -> str | None:
    """What is wrong with a value of this type, None where nothing is."""
    import numpy as np

    match type_:
        case TupleType():
            types = cast(Sequence[Attribute], type_.types.data)
            if not isinstance(value, tuple) or len(value) != len(types):
                return f"expected a tuple of {len(types)} values"
            return next(filter(None, map(_mismatch, value, types)), None)
        case TensorType():
            element, shape = type_.element_type, type_.get_shape()
            if not isinstance(value, np.ndarray | np.generic):
                return f"expected an array, but found a {type(value).__name__}"
            if value.dtype != numpy_dtype(element):
                return f"expected dtype {numpy_dtype(element)}, but found {value.dtype}"
            if value.ndim != len(shape) or any(n not in (m, ANY) for n, m in zip(shape, value.shape, strict=True)):
                return f"expected shape {show_shape(shape)}, but found {show_shape(value.shape)}"
            return None
        case _:
            return f"the interpreter has no values of type {type_}"


__all__ = ["Interpreter", "Value", "interpret"]
