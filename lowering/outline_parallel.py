"""outline-parallel: each outermost scf.parallel that is worth it becomes a function of tiles, run by the thread pool.

    scf.parallel (%i) = (%c0) to (%c64) step (%c1) { ... }

becomes `func.call @f.0.launch(captured..., %pool, %tiles)`. `@f.0.tile(captured..., %tile)` runs a part of the
iterations; the runtime defines `@f.0.launch`, which calls it for every tile on whatever thread is free. Functions with
such loops, those that call them and `@main` take the state of the pool as their last argument. With one thread the
program stays as it is. Loops of little work stay loops: starting threads costs as much as some thousand operations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import FunctionType, IndexType, IntegerAttr, MemRefType, ModuleOp, i8
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.traits import is_side_effect_free

POOL_BYTES = 512
"""The size of the pool's state."""
POOL = MemRefType(i8, [POOL_BYTES])
TILES_PER_THREAD = 8
"""Threads that were late find work left; the last tile is a small part of the whole."""
MAX_TILES = (1 << 20) - 1
WORTH = 20_000
"""Operations that a loop has to run to be shared: some ten microseconds."""

_VIEWS = (memref.SubviewOp, memref.ViewOp, memref.CollapseShapeOp, memref.ExpandShapeOp, memref.CastOp)


def _constant(value: SSAValue) -> int | None:
    """The value of an integer constant."""
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def _trips(low: SSAValue, high: SSAValue, step: SSAValue) -> int | None:
    bounds = [_constant(value) for value in (low, high, step)]
    if None in bounds:
        return None
    first, last, by = cast(list[int], bounds)
    return max(0, -(-(last - first) // by))


def _parallel_trips(loop: scf.ParallelOp) -> list[int] | None:
    """The number of iterations of each dimension; None where it is not known."""
    trips = [_trips(*bounds) for bounds in zip(loop.lowerBound, loop.upperBound, loop.step, strict=True)]
    return None if None in trips else cast(list[int], trips)


def _work(op: Operation) -> int:
    """About how many operations run; a loop of unknown length counts once."""
    inside = sum(_work(nested) for region in op.regions for block in region.blocks for nested in block.ops)
    match op:
        case scf.ForOp():
            return 1 + inside * (_trips(op.lb, op.ub, op.step) or 1)
        case scf.ParallelOp():
            return 1 + inside * math.prod(_parallel_trips(op) or [1])
        case _:
            return 1 + inside


def _outermost(function: func.FuncOp) -> list[scf.ParallelOp]:
    found: list[scf.ParallelOp] = []
    for op in function.walk():
        if isinstance(op, scf.ParallelOp) and not any(loop.is_ancestor(op) for loop in found):
            found.append(op)
    return found


def _is_cheap(op: Operation) -> bool:
    """Whether an operation is done again in the outlined function rather than passed to it."""
    return not op.regions and (isinstance(op, _VIEWS) or (op.name.startswith("arith.") and is_side_effect_free(op)))


def _captured(loop: scf.ParallelOp) -> tuple[list[SSAValue], list[Operation]]:
    """What the loop uses from outside: values to pass, and operations to repeat, in order."""
    leaves: dict[SSAValue, None] = {}
    repeated: dict[Operation, None] = {}

    def visit(value: SSAValue) -> None:
        owner = value.owner
        if loop.is_ancestor(owner):
            return
        if isinstance(value, OpResult) and _is_cheap(value.op):
            if value.op not in repeated:
                for operand in value.op.operands:
                    visit(operand)
                repeated[value.op] = None
        else:
            leaves[value] = None

    for operand in (*loop.lowerBound, *loop.step):
        visit(operand)
    for op in loop.body.walk():
        for operand in op.operands:
            visit(operand)
    return list(leaves), list(repeated)


@dataclass
class _Outliner:
    """Outlines the loops of a module."""

    module: ModuleOp
    threads: int

    def run(self) -> None:
        functions = {f.sym_name.data: f for f in self.module.ops if isinstance(f, func.FuncOp)}
        pooled: set[str] = {"main"} & set(functions)
        found: dict[str, list[scf.ParallelOp]] = {}
        for name, function in functions.items():
            found[name] = [loop for loop in _outermost(function) if self._is_worth(loop)]
            if found[name]:
                pooled.add(name)
        callers = {
            name: {op.callee.string_value() for op in function.walk() if isinstance(op, func.CallOp)}
            for name, function in functions.items()
        }
        while more := {name for name, callees in callers.items() if callees & pooled} - pooled:
            pooled |= more
        for name in functions:
            if name in pooled:
                self._add_pool(functions[name], pooled)
        for name, loops in found.items():
            for number, loop in enumerate(loops):
                self._outline(functions[name], loop, f"{name}.{number}")

    def _is_worth(self, loop: scf.ParallelOp) -> bool:
        trips = _parallel_trips(loop)
        return trips is not None and not loop.results and math.prod(trips) > 1 and _work(loop) >= WORTH

    def _add_pool(self, function: func.FuncOp, pooled: set[str]) -> None:
        block = function.body.block
        pool = block.insert_arg(POOL, len(block.args))
        pool.name_hint = "pool"
        for op in function.walk():
            if isinstance(op, func.CallOp) and op.callee.string_value() in pooled:
                op.operands = [*op.operands, pool]
        function.properties["function_type"] = FunctionType.from_lists(
            [arg.type for arg in block.args], list(function.function_type.outputs)
        )

    def _outline(self, function: func.FuncOp, loop: scf.ParallelOp, name: str) -> None:
        leaves, repeated = _captured(loop)
        trips = cast(list[int], _parallel_trips(loop))
        total = math.prod(trips)
        chunk = -(-total // min(total, self.threads * TILES_PER_THREAD, MAX_TILES))
        tiles = -(-total // chunk)

        launch_types = [*(leaf.type for leaf in leaves), POOL, IndexType()]
        launch = func.FuncOp(name + ".launch", (launch_types, []), Region(), "private")
        tile = _tile_function(name + ".tile", loop, leaves, repeated, trips, chunk)
        for made in (launch, tile):
            made.location = loop.location
            self.module.body.block.insert_op_before(made, function)

        builder = Builder(InsertPoint.before(loop))
        count = arith.ConstantOp(IntegerAttr(tiles, IndexType()))
        pool = function.body.block.args[-1]
        call = func.CallOp(name + ".launch", [*leaves, pool, count.result], [])
        for made in (count, call):
            made.location = loop.location
            builder.insert(made)
        cast(Block, loop.parent).erase_op(loop)


def _tile_function(
    name: str, loop: scf.ParallelOp, leaves: list[SSAValue], repeated: list[Operation], trips: list[int], chunk: int
) -> func.FuncOp:
    """The function of the captured values and the number of a tile that runs `chunk` iterations."""
    block = Block(arg_types=[*(leaf.type for leaf in leaves), IndexType()])
    build = _Emitter(Builder(InsertPoint.at_end(block)), loop)
    values: dict[SSAValue, SSAValue] = dict(zip(leaves, block.args[:-1], strict=True))
    for leaf, argument in values.items():
        argument.name_hint = leaf.name_hint
    for op in repeated:
        clone = op.clone(values)
        block.add_op(clone)
        values |= dict(zip(op.results, clone.results, strict=True))

    low = build.op(arith.MuliOp(block.args[-1], build.constant(chunk)))
    high = build.op(arith.MinSIOp(build.op(arith.AddiOp(low, build.constant(chunk))), build.constant(math.prod(trips))))
    body = Block(arg_types=[IndexType()])
    inner = _Emitter(Builder(InsertPoint.at_end(body)), loop)
    rest: SSAValue = body.args[0]
    for position in reversed(range(len(trips))):
        iteration = rest
        if position:
            size = inner.constant(trips[position])
            iteration = inner.op(arith.RemUIOp(rest, size))
            rest = inner.op(arith.DivUIOp(rest, size))
        step, first = loop.step[position], loop.lowerBound[position]
        counter: BlockArgument | SSAValue = iteration
        if _constant(step) != 1:
            counter = inner.op(arith.MuliOp(counter, values[step]))
        if _constant(first) != 0:
            counter = inner.op(arith.AddiOp(counter, values[first]))
        values[loop.body.block.args[position]] = counter
    for op in loop.body.block.ops:
        if isinstance(op, scf.ReduceOp):
            continue
        clone = op.clone(values)
        body.add_op(clone)
        values |= dict(zip(op.results, clone.results, strict=True))
    inner.end(scf.YieldOp())
    build.end(scf.ForOp(low, high, build.constant(1), [], Region(body)))
    build.end(func.ReturnOp())
    return func.FuncOp(name, ([arg.type for arg in block.args], []), Region(block), "private")


@dataclass
class _Emitter:
    """Inserts operations with the location of a loop."""

    builder: Builder
    loop: Operation

    def op(self, op: Operation) -> SSAValue:
        self.end(op)
        return op.results[0]

    def end(self, op: Operation) -> None:
        op.location = self.loop.location
        self.builder.insert(op)

    def constant(self, value: int) -> SSAValue:
        return self.op(arith.ConstantOp(IntegerAttr(value, IndexType())))


@dataclass(frozen=True)
class OutlineParallelPass(ModulePass):
    """Makes the outermost parallel loops functions of tiles for the thread pool, when there are several threads."""

    name = "outline-parallel"

    threads: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.threads > 1:
            _Outliner(op, self.threads).run()
