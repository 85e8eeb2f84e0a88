"""The scf, cf and func dialects' operations inside of a function to the llvm dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects import cf, func, llvm, scf
from xdsl.dialects.builtin import DenseArrayBase, SymbolRefAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from relay_mlir.dialects.upstream import llvm as more
from relay_mlir.dialects.upstream.attributes import integers, numbers
from relay_mlir.lowering.loops_to_llvm_core import Lowering
from relay_mlir.lowering.loops_to_llvm_types import flat_types

Handler = Callable[[Lowering, Operation], None]


def _flat(low: Lowering, values: Sequence[SSAValue]) -> list[SSAValue]:
    return [part for value in values for part in low.flatten(value)]


def _bind(low: Lowering, values: Sequence[SSAValue], flat: Sequence[SSAValue]) -> None:
    parts = iter(flat)
    for value in values:
        low.unflatten(value, parts)


def _types(values: Sequence[SSAValue]) -> list[Attribute]:
    return [type_ for value in values for type_ in flat_types(value.type)]


def _for(low: Lowering, op: Operation) -> None:
    assert isinstance(op, scf.ForOp)
    block = op.body.block

    def body(counter: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        low.set(block.args[0], counter)
        low.levels[block.args[0]] = low.level
        _bind(low, block.args[1:], carried)
        return _flat(low, low.lower_block(block).operands)

    bounds = (low.get(op.lb), low.get(op.ub), low.get(op.step))
    _bind(low, op.results, low.loop(bounds, _flat(low, op.iter_args), body))


def _parallel(low: Lowering, op: Operation) -> None:
    """Nested loops; the values of each iteration are combined in order."""
    assert isinstance(op, scf.ParallelOp)
    block = op.body.block
    bounds = list(zip(op.lowerBound, op.upperBound, op.step, strict=True))

    def nest(depth: int, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if depth == len(bounds):
            reduce = cast(scf.ReduceOp, low.lower_block(block))
            return [
                _combine(low, region, low.get(value), total)
                for region, value, total in zip(reduce.reductions, reduce.args, carried, strict=True)
            ]
        lower, upper, step = (low.get(bound) for bound in bounds[depth])

        def body(counter: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            low.set(block.args[depth], counter)
            low.levels[block.args[depth]] = low.level
            return nest(depth + 1, carried)

        return low.loop((lower, upper, step), carried, body)

    results = nest(0, [low.get(value) for value in op.initVals])
    for result, value in zip(op.results, results, strict=True):
        low.set(result, value)


def _combine(low: Lowering, region: Region, value: SSAValue, total: SSAValue) -> SSAValue:
    block = region.block
    low.set(block.args[0], total)
    low.set(block.args[1], value)
    return low.get(low.lower_block(block).operands[0])


def _branch_region(low: Lowering, written: Block, region: Region, done: Block) -> None:
    """Writes a region of an scf.if or index_switch as a block that goes on in `done` with what it yields."""
    low.enter(written, is_loop=False)
    low.branch(done, _flat(low, low.lower_block(region.block).operands))
    low.leave()


def _if(low: Lowering, op: Operation) -> None:
    assert isinstance(op, scf.IfOp)
    done, then = Block(arg_types=_types(op.results)), Block()
    has_else = bool(op.false_region.blocks)
    orelse = Block() if has_else else done
    low.cond_branch(low.get(op.cond), (then, ()), (orelse, ()))
    _branch_region(low, then, op.true_region, done)
    if has_else:
        _branch_region(low, orelse, op.false_region, done)
    low.go_on(done)
    _bind(low, op.results, done.args)


def _index_switch(low: Lowering, op: Operation) -> None:
    assert isinstance(op, scf.IndexSwitchOp)
    done = Block(arg_types=_types(op.results))
    default = Block()
    cases = [
        (int(value), Block(), region) for value, region in zip(op.cases.get_values(), op.case_regions, strict=True)
    ]
    switch = more.SwitchOp.of(low.get(op.arg), (default, ()), {value: (block, ()) for value, block, _ in cases})
    low.emit(switch)
    for _, block, region in cases:
        _branch_region(low, block, region, done)
    _branch_region(low, default, op.default_region, done)
    low.go_on(done)
    _bind(low, op.results, done.args)


def _while(low: Lowering, op: Operation) -> None:
    assert isinstance(op, scf.WhileOp)
    before, after = op.before_region.block, op.after_region.block
    header, body = Block(arg_types=_types(before.args)), Block(arg_types=_types(after.args))
    done = Block(arg_types=_types(op.results))
    low.branch(header, _flat(low, op.arguments))
    low.enter(header, is_loop=True)
    _bind(low, before.args, header.args)
    condition = low.lower_block(before)
    passed = _flat(low, condition.operands[1:])
    low.cond_branch(low.get(condition.operands[0]), (body, passed), (done, passed))
    # The second region goes on in the same scope: the first one's values are known in it.
    low.go_on(body)
    _bind(low, after.args, body.args)
    low.branch(header, _flat(low, low.lower_block(after).operands))
    low.leave()
    low.go_on(done)
    _bind(low, op.results, done.args)


def _execute_region(low: Lowering, op: Operation) -> None:
    region = op.regions[0]
    if len(region.blocks) != 1:
        raise low.fail(op, "a region of several blocks", "use structured control flow")
    values = _flat(low, low.lower_block(region.block).operands)
    _bind(low, op.results, values)


# Branches between the blocks of a function.


def terminate(low: Lowering, op: Operation) -> None:
    """Converts the terminator of a block of a function."""
    low.location = op.location
    match op:
        case func.ReturnOp():
            values = _flat(low, op.operands)
            if len(values) > 1:
                values = [_pack(low, values)]
            low.emit(llvm.ReturnOp.create(operands=values))
        case cf.BranchOp():
            low.branch(low.blocks[op.successor], _flat(low, op.arguments))
        case cf.ConditionalBranchOp():
            then = low.blocks[op.then_block], _flat(low, op.then_arguments)
            orelse = low.blocks[op.else_block], _flat(low, op.else_arguments)
            low.cond_branch(low.get(op.cond), then, orelse)
        case cf.SwitchOp():
            _cf_switch(low, op)
        case _:
            raise low.fail(op, "no conversion of this terminator")


def _cf_switch(low: Lowering, op: cf.SwitchOp) -> None:
    values = numbers(op.case_values) if op.case_values is not None else ()
    cases: dict[int, tuple[Block, Sequence[SSAValue]]] = {}
    start = 0
    counts = integers(op.case_operand_segments)
    for value, block, count in zip(values, op.case_blocks, counts, strict=True):
        cases[int(value)] = low.blocks[block], _flat(low, op.case_operands[start : start + int(count)])
        start += int(count)
    default = low.blocks[op.default_block], _flat(low, op.default_operands)
    low.emit(more.SwitchOp.of(low.get(op.flag), default, cases))


def result_type(types: Sequence[Attribute]) -> Attribute | None:
    """What a function with these results returns: a struct if there are several values."""
    flat = [part for type_ in types for part in flat_types(type_)]
    if len(flat) > 1:
        return llvm.LLVMStructType.from_type_list(flat)
    return flat[0] if flat else None


def _pack(low: Lowering, values: Sequence[SSAValue]) -> SSAValue:
    struct = llvm.LLVMStructType.from_type_list([value.type for value in values])
    packed: SSAValue = low.create(llvm.UndefOp, (), struct)
    for i, value in enumerate(values):
        position = {"position": DenseArrayBase.from_list(i64, [i])}
        packed = low.create(llvm.InsertValueOp, (packed, value), struct, position)
    return packed


def _call(low: Lowering, op: Operation) -> None:
    assert isinstance(op, func.CallOp)
    types = [result.type for result in op.results]
    returned = result_type(types)
    name = op.properties["callee"]
    assert isinstance(name, SymbolRefAttr)
    call = llvm.CallOp(name, *_flat(low, op.arguments), return_type=returned)
    low.emit(call)
    if returned is None:
        return
    flat = [part for type_ in types for part in flat_types(type_)]
    parts: list[SSAValue] = [call.results[0]]
    if len(flat) > 1:
        parts = [
            low.create(llvm.ExtractValueOp, (call.results[0],), type_, {"position": DenseArrayBase.from_list(i64, [i])})
            for i, type_ in enumerate(flat)
        ]
    _bind(low, op.results, parts)


HANDLERS: dict[type[Operation], Handler] = {
    scf.ForOp: _for,
    scf.ParallelOp: _parallel,
    scf.IfOp: _if,
    scf.IndexSwitchOp: _index_switch,
    scf.WhileOp: _while,
    scf.ExecuteRegionOp: _execute_region,
    func.CallOp: _call,
}
"""The conversion of every operation with regions, and of calls."""
