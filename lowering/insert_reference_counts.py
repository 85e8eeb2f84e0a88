"""insert-reference-counts: makes ownership explicit, so that every heap object is freed right after its last use.

A value whose last use consumes it moves there; another use that consumes it is preceded by `heap.retain`, and after a
last use that only looks at it comes `heap.release`. Then counting is left out where it can be: a record that dies where
its fields are read is taken apart (`heap.take`), which moves the fields out of a record without other owners, and whose
memory goes to the next record of the same size; a kernel writes into an argument that dies, where bufferize allows it
(`in_place`). Calls whose result is returned at once become tail calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerType, ModuleOp, UnitAttr, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free

from relay_mlir.dialects.heap import ops as heap
from relay_mlir.dialects.heap.types import ObjectType
from relay_mlir.lowering.diagnostics import OpError
from relay_mlir.lowering.heap_blocks import topological

Values = dict[SSAValue, None]
"""An ordered set: the order of what is inserted must not depend on addresses."""

REUSE_BLOCKS = 64
"""How many blocks are searched for a record that can use the memory of a dead one."""


def _counted(value: SSAValue) -> bool:
    return isinstance(value.type, ObjectType)


def _consumes(op: Operation, index: int) -> bool:
    return not isinstance(op, heap.HeapOp) or not op.borrows(index)


@dataclass
class _Liveness:
    """The objects that are still used at the start and at the end of each block."""

    starts: dict[Block, Values]
    ends: dict[Block, Values]


def _liveness(function: heap.FuncOp, order: Sequence[Block]) -> _Liveness:
    """Branches only go forward: one pass over the blocks, successors first, is enough."""
    result = _Liveness({}, {})
    for block in reversed(order):
        live: Values = {}
        last = cast(Operation, block.last_op)
        for successor in last.successors:
            if successor not in result.starts:
                raise OpError(function, "has a loop of blocks; loops are calls at this level")
            live |= result.starts[successor]
        result.ends[block] = dict(live)
        for op in reversed(block.ops):
            for made in op.results:
                live.pop(made, None)
            live |= {operand: None for operand in op.operands if _counted(operand)}
        for argument in block.args:
            live.pop(argument, None)
        result.starts[block] = live
    return result


class _Counting:
    """Inserts the counting of one function."""

    def __init__(self, function: heap.FuncOp, in_place: dict[str, list[tuple[int, int]]]):
        self.function = function
        self.in_place = in_place

    def run(self) -> None:
        order = topological(self.function)
        live = _liveness(self.function, order)
        predecessors: dict[Block, list[Block]] = {}
        for block in order:
            for successor in cast(Operation, block.last_op).successors:
                predecessors.setdefault(successor, []).append(block)
        for block in order:
            before = predecessors.get(block, [])
            lost: Values = {}
            if len(before) == 1:
                lost = {value: None for value in live.ends[before[0]] if value not in live.starts[block]}
            elif any(len(cast(Operation, each.last_op).successors) > 1 for each in before):
                raise OpError(self.function, "has a critical edge")
            self._block(block, dict(live.ends[block]), lost)

    def _block(self, block: Block, live: Values, lost: Values) -> None:
        for op in reversed(list(block.ops)):
            self._operation(op, live)
        if isinstance(block.first_op, heap.FailOp):
            return  # what fails frees everything
        dead = [*lost, *(argument for argument in block.args if _counted(argument) and argument not in live)]
        first = cast(Operation, block.first_op)
        for value in dead:
            _before(first, heap.ReleaseOp(value))

    def _operation(self, op: Operation, live: Values) -> None:
        if isinstance(op, heap.KernelOp):
            self._write_in_place(op, live)
        after: list[Operation] = []
        for made in op.results:
            if not _counted(made):
                continue
            if isinstance(op, heap.FieldOp):
                after.append(heap.RetainOp(made))
            elif made not in live:
                after.append(heap.ReleaseOp(made))
            live.pop(made, None)
        consumed: dict[SSAValue, int] = {}
        borrowed: Values = {}
        for index, operand in enumerate(op.operands):
            if not _counted(operand):
                continue
            if _consumes(op, index):
                consumed[operand] = consumed.get(operand, 0) + 1
            else:
                borrowed[operand] = None
        for value, times in consumed.items():
            for _ in range(times if value in live else times - 1):
                _before(op, heap.RetainOp(value))
        for value in borrowed:
            if value not in live and value not in consumed:
                after.append(heap.ReleaseOp(value))
        for new in reversed(after):
            _after(op, new)
        live |= {value: None for value in (*consumed, *borrowed)}

    def _write_in_place(self, op: heap.KernelOp, live: Values) -> None:
        """Lets a kernel have the arguments that die, where it can write over them."""
        operands = list(op.operands)
        pairs: list[tuple[int, int]] = []
        for source, target in self.in_place.get(op.callee.string_value(), []):
            value, result = operands[source], target - len(operands)
            if _counted(value) and value not in live and operands.count(value) == 1 and 0 <= result < len(op.outputs):
                pairs.append((source, result))
        if pairs:
            op.properties["in_place"] = ArrayAttr([DenseArrayBase.from_list(i64, pair) for pair in pairs])


def _before(op: Operation, new: Operation) -> None:
    new.location = op.location
    cast(Block, op.parent).insert_op_before(new, op)


def _after(op: Operation, new: Operation) -> None:
    new.location = op.location
    cast(Block, op.parent).insert_op_after(new, op)


# Records that die where they are read.


def _take_records(function: heap.FuncOp) -> list[heap.TakeOp]:
    """Turns reads of the fields of a record that is then released into `heap.take`."""
    made: list[heap.TakeOp] = []
    for block in function.body.blocks:
        for op in list(block.ops):
            if isinstance(op, heap.ReleaseOp) and (take := _take(op)) is not None:
                made.append(take)
    return made


def _take(release: heap.ReleaseOp) -> heap.TakeOp | None:
    record = release.value
    fields: list[heap.FieldOp] = []
    retains: list[heap.RetainOp] = []
    op = release.prev_op
    while op is not None:
        if isinstance(op, heap.FieldOp) and op.value is record:
            fields.insert(0, op)
        elif isinstance(op, heap.RetainOp):
            retains.append(op)
        elif record in op.operands or not is_side_effect_free(op):
            break
        if op is record.owner:
            break
        op = op.prev_op
    # Only what lies behind the first read is touched.
    results = {f.result for f in fields}
    retains = [r for r in retains if r.value in results]
    if not fields or len({f.index.value.data for f in fields}) != len(fields):
        return None
    first = fields[0]
    between = first.next_op
    while between is not None and between is not release:
        if isinstance(between, heap.RetainOp) and between.value not in results:
            return None
        between = between.next_op
    indices = [f.index.value.data for f in fields]
    take = heap.TakeOp(record, indices, first.count.value.data, [f.result.type for f in fields])
    _before(first, take)
    for each in [*retains, release]:
        cast(Block, each.parent).erase_op(each)
    for each, value in zip(fields, take.taken, strict=True):
        value.name_hint = each.result.name_hint
        each.result.replace_all_uses_with(value)
        cast(Block, each.parent).erase_op(each)
    return take


class _Reuse:
    """Finds the record that uses the memory of a dead one."""

    def __init__(self, take: heap.TakeOp):
        self.token = take.token
        self.count = take.count.value.data
        self.budget = REUSE_BLOCKS
        if not self._search(take.next_op):
            _after(take, heap.FreeOp(self.token))

    def _search(self, op: Operation | None) -> bool:
        """Gives the memory to a record from `op` on, on every path that has one; says whether any has."""
        last = op
        while op is not None:
            if isinstance(op, heap.RecordOp) and op.token is None and len(op.fields) == self.count:
                new = heap.RecordOp(op.tag.value.data, op.fields, self.token)
                _before(op, new)
                new.result.name_hint = op.result.name_hint
                op.result.replace_all_uses_with(new.result)
                cast(Block, op.parent).erase_op(op)
                return True
            last, op = op, op.next_op
        successors = list(last.successors) if last is not None else []
        self.budget -= len(successors)
        if self.budget < 0 or not all(_has_one_predecessor(block) for block in successors):
            return False
        found = [self._search(block.first_op) for block in successors]
        if any(found):
            for block, has in zip(successors, found, strict=True):
                if not has and not isinstance(block.first_op, heap.FailOp):
                    _before(cast(Operation, block.first_op), heap.FreeOp(self.token))
        return any(found)


def _has_one_predecessor(block: Block) -> bool:
    return len(list(block.predecessors())) == 1


def _mark_tail_calls(function: heap.FuncOp) -> None:
    for block in function.body.blocks:
        last = block.last_op
        if isinstance(last, heap.ReturnOp) and len(last.operands) == 1:
            call = last.prev_op
            if isinstance(call, heap.CallOp | heap.ApplyOp) and call.result is last.operands[0]:
                call.properties["tail"] = UnitAttr()


def in_place_pairs(module: ModuleOp) -> dict[str, list[tuple[int, int]]]:
    """The arguments of each primitive function that may be one buffer, by name."""
    found: dict[str, list[tuple[int, int]]] = {}
    for op in module.ops:
        attribute = op.attributes.get("in_place")
        if isinstance(attribute, ArrayAttr) and op.name in ("func.func", "llvm.func"):
            pairs = [
                cast("tuple[int, int]", tuple(cast(DenseArrayBase[IntegerType], pair).get_values()))
                for pair in cast(ArrayAttr[Attribute], attribute)
            ]
            found[cast("heap.FuncOp", op).sym_name.data] = pairs
    return found


@dataclass(frozen=True)
class InsertReferenceCountsPass(ModulePass):
    """Makes the ownership of heap objects explicit: every one is freed right after its last use."""

    name = "insert-reference-counts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        in_place = in_place_pairs(op)
        for function in op.ops:
            if isinstance(function, heap.FuncOp):
                _Counting(function, in_place).run()
                for take in _take_records(function):
                    _Reuse(take)
                _mark_tail_calls(function)
