"""fuse-elementwise: put the body of a producing linalg.generic into its only consumer, so that the value between them
never becomes a tensor.

Fused where the producer has only parallel loops and one result, and the consumer reads it once. Where the consumer
would compute a value again (it reads it at several positions, as in a broadcast), only bodies of few cheap
operations are fused. A tensor that is only a fill becomes the constant.
"""

from __future__ import annotations

import math as python_math
from collections.abc import Sequence
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, FusedLoc, LocationAttr, ModuleOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass

from relay_mlir.lowering.structured import Structured, contraction, likely, structured

CHEAP_OPERATIONS = 3
"""A body of at most this many operations may be computed again for each position of a broadcast."""
MAX_OPERATIONS = 256
"""A fused body does not grow beyond this, so that compile time stays linear."""


def _inverse(map_: AffineMap) -> list[AffineExpr] | None:
    """For a producer's output map (a permutation): each loop as a dimension of the output; None for other maps."""
    exprs = map_.results
    if len(exprs) != map_.num_dims or not all(isinstance(expr, AffineDimExpr) for expr in exprs):
        return None
    positions = [cast(AffineDimExpr, expr).position for expr in exprs]
    if sorted(positions) != list(range(map_.num_dims)):
        return None
    return [AffineExpr.dimension(positions.index(loop)) for loop in range(map_.num_dims)]


def _fusable(producer: Structured, consumer: Structured, place: int) -> bool:
    """Whether the producer may be computed inside the consumer, which reads it as input `place`."""
    if producer.reductions or len(producer.outputs) != 1 or contraction(consumer) is not None:
        return False
    if any(bool(argument.uses) for argument in producer.body.args[len(producer.inputs) :]):
        return False
    if _inverse(producer.outputs[0].map) is None:
        return False
    if len(producer.body.ops) + len(consumer.body.ops) > MAX_OPERATIONS:
        return False
    has_index = any(isinstance(op, linalg.IndexOp) for op in producer.body.ops)
    expressions = consumer.inputs[place].map.results
    if has_index and not all(isinstance(expr, AffineDimExpr) for expr in expressions):
        return False
    again = python_math.prod(map(likely, consumer.extents)) > python_math.prod(map(likely, producer.extents))
    return not again or (len(producer.body.ops) - 1 <= CHEAP_OPERATIONS and not _costly(producer))


def _costly(view: Structured) -> bool:
    return any(op.name.startswith("math.") or isinstance(op, arith.DivfOp | tensor.ExtractOp) for op in view.body.ops)


def _locations(*ops: Operation) -> LocationAttr:
    """The location of a fused operation: the sources, each once, in order."""
    found: list[LocationAttr] = []
    for op in ops:
        parts = op.location.locations.data if isinstance(op.location, FusedLoc) else (op.location,)  # type: ignore
        for part in cast("Sequence[LocationAttr]", parts):
            if part not in found:
                found.append(part)
    return found[0] if len(found) == 1 else FusedLoc(tuple(found), _no_metadata())


def _no_metadata():
    from xdsl.dialects.builtin import NoneAttr

    return NoneAttr()


def fuse(producer: Structured, consumer: Structured, place: int) -> linalg.GenericOp:
    """The consumer with the producer computed in its body; replaces both."""
    inverse = cast("list[AffineExpr]", _inverse(producer.outputs[0].map))
    read = consumer.inputs[place].map
    at = [expr.replace_dims_and_symbols(list(read.results), []) for expr in inverse]  # producer's loops
    moved = [
        AffineMap(read.num_dims, 0, tuple(expr.replace_dims_and_symbols(at, []) for expr in access.map.results))
        for access in producer.inputs
    ]
    kept = [number for number in range(len(consumer.inputs)) if number != place]
    inputs = [*(a.value for a in producer.inputs), *(consumer.inputs[n].value for n in kept)]
    maps = [*moved, *(consumer.inputs[n].map for n in kept), *(a.map for a in consumer.outputs)]
    outputs = [a.value for a in consumer.outputs]

    block = Block(arg_types=[])
    values: dict[SSAValue, SSAValue] = {}

    def argument(source: SSAValue) -> None:
        values[source] = block.insert_arg(source.type, len(block.args))

    for number in range(len(producer.inputs)):
        argument(producer.body.args[number])
    for number in [*kept, *range(len(consumer.inputs), len(consumer.body.args))]:
        argument(consumer.body.args[number])
    for op in producer.body.ops:
        if isinstance(op, linalg.YieldOp):
            values[consumer.body.args[place]] = values.get(op.operands[0], op.operands[0])
        elif isinstance(op, linalg.IndexOp):
            loop = cast(AffineDimExpr, at[op.dim.value.data])
            _add(block, linalg.IndexOp(loop.position), op, values)
        else:
            _clone(block, op, values)
    for op in consumer.body.ops:
        _clone(block, op, values)

    made = linalg.GenericOp(
        inputs,
        outputs,
        Region(block),
        ArrayAttr([AffineMapAttr(m) for m in maps]),
        consumer.op.iterator_types,
        [result.type for result in consumer.op.results],
    )
    made.attributes |= consumer.op.attributes
    made.location = _locations(producer.op, consumer.op)
    return made


def _add(block: Block, made: Operation, source: Operation, values: dict[SSAValue, SSAValue]) -> None:
    made.location = source.location
    block.add_op(made)
    values.update(zip(source.results, made.results, strict=True))


def _clone(block: Block, op: Operation, values: dict[SSAValue, SSAValue]) -> None:
    _add(block, op.clone(value_mapper=values), op, values)


def _producer(value: SSAValue) -> linalg.GenericOp | None:
    if isinstance(value, OpResult) and isinstance(value.op, linalg.GenericOp) and value.has_one_use():
        return value.op
    return None


def _fuse_inputs(op: linalg.GenericOp) -> linalg.GenericOp:
    """Fuses into a generic all producers that may be, and theirs; returns what it became."""
    changed = True
    while changed:
        changed = False
        consumer = structured(op)
        for place, access in enumerate(consumer.inputs):
            source = _producer(access.value)
            if source is None or source.parent is not op.parent:
                continue
            producer = structured(source)
            if not _fusable(producer, consumer, place):
                continue
            made = fuse(producer, consumer, place)
            cast(Block, op.parent).insert_op_before(made, op)
            for old, new in zip(op.results, made.results, strict=True):
                new.name_hint = old.name_hint
                old.replace_all_uses_with(new)
            for dead in (op, source):
                dead.detach()
                dead.erase()
            op, changed = made, True
            break
    return op


def _inline_fills(op: linalg.GenericOp) -> None:
    """Replaces inputs that are one constant everywhere by that constant."""
    view = structured(op)
    for place, access in enumerate(view.inputs):
        value = access.value
        if not isinstance(value, OpResult) or not isinstance(value.op, linalg.FillOp):
            continue
        argument = view.body.args[place]
        if argument.uses:
            argument.replace_all_uses_with(value.op.inputs[0])


def _deduplicate(op: linalg.GenericOp) -> linalg.GenericOp:
    """A generic that reads each operand through each map once, and no input that its body ignores."""
    view = structured(op)
    first: dict[tuple[SSAValue, AffineMap], int] = {}
    kept: list[int] = []
    extents_need: set[int] = set(range(len(view.extents)))
    for access in view.outputs:
        extents_need -= {expr.position for expr in access.map.results if isinstance(expr, AffineDimExpr)}
    for place, access in enumerate(view.inputs):
        argument = view.body.args[place]
        key = (access.value, access.map)
        if key in first:
            argument.replace_all_uses_with(view.body.args[first[key]])
            continue
        gives = {expr.position for expr in access.map.results if isinstance(expr, AffineDimExpr)}
        if not argument.uses and not gives & extents_need:
            continue
        extents_need -= gives
        first[key] = place
        kept.append(place)
    if len(kept) == len(view.inputs):
        return op
    for place in reversed(range(len(view.inputs))):
        if place not in kept:
            view.body.erase_arg(view.body.args[place])
    maps = [*(view.inputs[n].map for n in kept), *(a.map for a in view.outputs)]
    made = linalg.GenericOp(
        [view.inputs[n].value for n in kept],
        [a.value for a in view.outputs],
        op.detach_region(op.regions[0]),
        ArrayAttr([AffineMapAttr(m) for m in maps]),
        op.iterator_types,
        [result.type for result in op.results],
    )
    made.attributes |= op.attributes
    made.location = op.location
    cast(Block, op.parent).insert_op_before(made, op)
    for old, new in zip(op.results, made.results, strict=True):
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()
    return made


class FuseElementwisePass(ModulePass):
    """Put element-wise producers into the bodies of their only consumers."""

    name = "fuse-elementwise"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                self._function(function)

    @staticmethod
    def _function(function: func.FuncOp) -> None:
        owners = [op for op in function.walk() if not isinstance(op, linalg.GenericOp)]
        for block in [block for op in owners for region in op.regions for block in region.blocks]:
            for op in reversed([inner for inner in block.ops if isinstance(inner, linalg.GenericOp)]):
                if op.parent is None:
                    continue  # already part of a consumer
                fused = _fuse_inputs(op)
                _inline_fills(fused)
                _deduplicate(fused)
            for op in reversed(list(block.ops)):
                if isinstance(op, tensor.EmptyOp | linalg.FillOp | arith.ConstantOp) and not any(
                    bool(result.uses) for result in op.results
                ):
                    op.detach()
                    op.erase()
