"""Makes the code of functions: jumps for `if` and `match`, calls, and where values are forgotten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.ir import Block, Operation, SSAValue

from relay_mlir.dialects.relay.core import CallOp, FuncOp, IfOp, ReturnOp, YieldOp
from relay_mlir.dialects.relay.language import ApplyOp, FnOp, MatchOp
from relay_mlir.dialects.relay.patterns import ConstructorPattern, MatchPattern, TuplePattern, VarPattern
from relay_mlir.lowering.diagnostics import OpError
from relay_mlir.runtime.bytecode import (
    Call,
    Check,
    Closure,
    Code,
    Instruction,
    Program,
    Registers,
    Return,
    needs_check,
    unpromised,
)
from relay_mlir.runtime.bytecode_builder import Builder
from relay_mlir.runtime.values import show


def compile_function(program: Program, code: Code, op: FuncOp | FnOp, captured: Sequence[SSAValue]) -> None:
    """Fills the code of a function, or of a closure that captures these values."""
    _Compiler(program, code, op).run(captured)


class _Compiler(Builder):
    """Makes the instructions of one function or closure."""

    def run(self, captured: Sequence[SSAValue]) -> None:
        """Fills the code."""
        block = self.op.body.block
        itself = self.op.self_argument if isinstance(self.op, FnOp) else None
        parameters = [argument for argument in block.args if argument is not itself]
        for value in (*parameters, *captured):
            self.slot(value)
        first = len(self.slots)
        if itself is not None:
            self.code.itself = self.slot(itself)
        self.block(block, tail=True)
        self.code.rest = [None] * (len(self.slots) - first)

    def block(self, block: Block, *, tail: bool) -> None:
        """The instructions of a block. In tail position its terminator leaves the function."""
        dying = _last_uses(block)
        for op in block.ops:
            if isinstance(op, ReturnOp | YieldOp):
                self.leave(op, tail=tail)
                continue
            dead = [self.slot(value) for value in dying.get(op, ())]
            last = tail and _is_returned(op)
            if isinstance(op, IfOp):
                self.if_(op, dead, tail=last)
            elif isinstance(op, MatchOp):
                self.match(op, dead, tail=last)
            elif isinstance(op, CallOp):
                self.call(op, dead, tail=last)
            elif isinstance(op, ApplyOp):
                self.apply(op, dead, tail=last)
            else:
                self.emit(op, self.simple(op))
                self.free(op, dead)

    # Control

    def leave(self, op: ReturnOp | YieldOp, *, tail: bool) -> None:
        """The end of a block: its values go to the results of the operation around it, or leave the function."""
        parent = cast(Operation, op.parent_op())
        isfunction = isinstance(parent, FuncOp | FnOp)
        types = list(parent.function_type.outputs) if isfunction else [result.type for result in parent.results]
        self.check(op, op.operands, types, "the result" if isfunction else "the value")
        sources = [self.slot(value) for value in op.operands]
        if tail:
            if _tail_called(op):
                return
            if len(sources) == 1:
                (one,) = sources
                self.emit(op, lambda registers: Return((registers[one],)))
            else:
                self.emit(op, lambda registers: Return([registers[source] for source in sources]))
            return
        targets = [self.slot(result) for result in parent.results]

        def move(registers: Registers) -> None:
            values = [registers[source] for source in sources]
            for target, value in zip(targets, values, strict=True):
                registers[target] = value

        self.emit(op, move)

    def jump(self, op: Operation) -> Callable[[], None]:
        """A jump to a place that is told later, by calling the result."""
        number = self.emit(op, lambda _registers: None)

        def land() -> None:
            target = self.here
            self.code.instructions[number] = lambda _registers: target

        return land

    def if_(self, op: IfOp, dead: Sequence[int], *, tail: bool) -> None:
        condition = self.slot(op.condition)
        branch = self.emit(op, lambda _registers: None)
        self.block(op.then_region.block, tail=tail)
        land = None if tail else self.jump(op)
        otherwise = self.here

        def choose(registers: Registers) -> int | None:
            return None if registers[condition] else otherwise

        self.code.instructions[branch] = choose
        self.block(op.else_region.block, tail=tail)
        if land is not None:
            land()
            self.free(op, dead)

    def match(self, op: MatchOp, dead: Sequence[int], *, tail: bool) -> None:
        scrutinee = self.slot(op.scrutinee)
        dispatch = self.emit(op, lambda _registers: None)
        inside = any(op.scrutinee in inner.operands for case in op.cases for inner in case.walk())
        if not inside and scrutinee in dead:
            dead = [position for position in dead if position != scrutinee]
            forgotten = True
        else:
            forgotten = False
        cases: list[_Case] = []
        lands: list[Callable[[], None]] = []
        for pattern, case in zip(op.patterns, op.cases, strict=True):
            cases.append(self.case(pattern, list(case.block.args), self.here))
            self.block(case.block, tail=tail)
            if not tail:
                lands.append(self.jump(op))
        self.code.instructions[dispatch] = _dispatch(op, scrutinee, cases, forgotten=forgotten)
        for land in lands:
            land()
        if not tail:
            self.free(op, dead)

    def case(self, pattern: MatchPattern, arguments: Sequence[SSAValue], target: int) -> _Case:
        """The tests and bindings of a pattern, in order; see `_matches`."""
        steps: list[_Step] = []
        variables = iter(arguments)
        pending: list[tuple[int, MatchPattern]] = [(0, pattern)]
        known, bound = 1, list[tuple[MatchPattern, int]]()
        while pending:
            source, part = pending.pop(0)
            match part:
                case VarPattern():
                    bound.append((part, source))
                case ConstructorPattern() | TuplePattern():
                    name = part.constructor.string_value() if isinstance(part, ConstructorPattern) else None
                    steps.append((source, name, None))
                    pending = [(known + i, inner) for i, inner in enumerate(part.fields)] + pending
                    known += len(part.fields)
                case _:
                    pass
        steps += [(source, None, self.slot(next(variables))) for _, source in bound]
        return _Case(steps, target)

    def call(self, op: CallOp, dead: Sequence[int], *, tail: bool) -> None:
        name = op.callee.string_value()
        function = self.program.functions.get(name)
        if function is None:
            raise OpError(op, f"@{name} is not a relay.func of this module")
        self.check(op, op.arguments, list(function.function_type.inputs), f"an argument of @{name}")
        sources = [self.slot(value) for value in op.arguments]
        checks = unpromised(op, function)
        results = None if tail and not checks else [self.slot(result) for result in op.results]
        program = self.program
        code: Code | None = None

        def call(registers: Registers) -> Call:
            nonlocal code
            if code is None:
                code = program.code(function)
            arguments = [registers[source] for source in sources]
            for position in dead:
                registers[position] = None
            return Call(code, arguments + code.rest, results, checks)

        self.emit(op, call)
        self.after_call(op, tail=tail)

    def apply(self, op: ApplyOp, dead: Sequence[int], *, tail: bool) -> None:
        callee, sources = self.slot(op.callee), [self.slot(value) for value in op.arguments]
        result = self.slot(op.result)
        given, wanted = [value.type for value in op.arguments], op.result.type
        known: dict[Code, tuple[list[Check], list[Check]]] = {}
        mismatch = self.program.checker.mismatch

        def apply(registers: Registers) -> Call | None:
            function = registers[callee]
            arguments = [registers[source] for source in sources]
            for position in dead:
                registers[position] = None
            if not isinstance(function, Closure):
                registers[result] = function(*arguments)
                return None
            code = function.code
            if code not in known:
                if len(code.parameters) != len(given):
                    raise OpError(op, f"{code.name} takes {len(code.parameters)} arguments, not {len(given)}")
                pairs = enumerate(zip(given, code.parameters, strict=True))
                before = [(position, type_) for position, (have, type_) in pairs if needs_check(have, type_)]
                after = [(0, wanted)] if len(code.outputs) == 1 and needs_check(code.outputs[0], wanted) else []
                known[code] = before, after
            before, after = known[code]
            for position, type_ in before:
                if problem := mismatch(arguments[position], type_):
                    raise OpError(op, f"argument {position}: {problem}")
            fresh = arguments + function.captured + code.rest
            if code.itself is not None:
                fresh[code.itself] = function
            leaves = tail and not after and len(code.outputs) == 1
            return Call(code, fresh, None if leaves else (result,), after)

        self.emit(op, apply)
        self.after_call(op, tail=tail)

    def after_call(self, op: Operation, *, tail: bool) -> None:
        """What a call in tail position does where it turned out to need its frame: it leaves the function."""
        if tail:
            results = [self.slot(result) for result in op.results]
            self.emit(op, lambda registers: Return([registers[result] for result in results]))


# Matching

_Step: TypeAlias = tuple[int, str | None, int | None]


@dataclass
class _Case:
    """A case: `steps` are (number of a part, constructor or None for a tuple, register that it is bound to or None).

    Part 0 is the matched value; the fields of each part taken apart are numbered on.
    """

    steps: list[_Step]
    target: int

    def matches(self, value: Any, registers: Registers) -> bool:
        """Whether the value fits; its variables are put into their registers."""
        parts = [value]
        for source, name, register in self.steps:
            part = parts[source]
            if register is not None:
                registers[register] = part
            elif name is None:
                parts.extend(part)
            elif part.constructor == name:
                parts.extend(part.fields)
            else:
                return False
        return True


def _dispatch(op: MatchOp, scrutinee: int, cases: Sequence[_Case], *, forgotten: bool) -> Instruction:
    """Jumps to the first case that matches."""

    def choose(registers: Registers) -> int:
        value = registers[scrutinee]
        if forgotten:
            registers[scrutinee] = None
        for case in cases:
            if case.matches(value, registers):
                return case.target
        raise OpError(op, f"no case matches {show(value, 200)}")

    return choose


# Where values end


def _is_returned(op: Operation) -> bool:
    """Whether the results of an operation are, in order, all that the next operation, a terminator, passes on."""
    last = op.next_op
    if not isinstance(last, ReturnOp | YieldOp) or tuple(last.operands) != tuple(op.results):
        return False
    parent = cast(Operation, last.parent_op())
    outputs = (
        list(parent.function_type.outputs)
        if isinstance(parent, FuncOp | FnOp)
        else [result.type for result in parent.results]
    )
    return not any(needs_check(v.type, t) for v, t in zip(last.operands, outputs, strict=True))


def _tail_called(op: ReturnOp | YieldOp) -> bool:
    """Whether the operation before a terminator in tail position has left the function already."""
    previous = op.prev_op
    return isinstance(previous, IfOp | MatchOp | CallOp | ApplyOp) and _is_returned(previous)


def _last_uses(block: Block) -> dict[Operation, list[SSAValue]]:
    """The values of a block that are not needed after each operation of it."""
    last: dict[SSAValue, Operation] = {}
    inside: set[SSAValue] = set(block.args)
    for op in block.ops:
        inside.update(op.results)
        last.update((result, op) for result in op.results)
        for inner in op.walk():
            last.update((operand, op) for operand in inner.operands if operand in inside)
    dying: dict[Operation, list[SSAValue]] = {}
    for value, op in last.items():
        dying.setdefault(op, []).append(value)
    return dying
