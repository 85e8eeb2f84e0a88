"""linalg-to-loops: each linalg operation on memrefs becomes vectorized loops.

A fill, the generic that accumulates on it, and the one element-wise generic that alone reads the sum are one cluster:
the sum is kept in registers until the last of them stores it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, MemRefType, ModuleOp
from xdsl.dialects.linalg import attrs as linalg_attrs
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from relay_mlir.dialects import upstream
from relay_mlir.lowering.loops.collapse import collapse, squeeze
from relay_mlir.lowering.loops.contract import ContractionKernel
from relay_mlir.lowering.loops.emitter import Emitter
from relay_mlir.lowering.loops.nest import Task, emit_task, follows
from relay_mlir.lowering.structured import Structured, contraction, element_of, shape_of, structured
from relay_mlir.lowering.tile_contractions import schedule_of

_VIEWS = (memref.SubviewOp, memref.CollapseShapeOp, memref.ExpandShapeOp, memref.ReinterpretCastOp, memref.CastOp)


def root(value: SSAValue) -> SSAValue:
    """The buffer that a memref is a view of."""
    while isinstance(value, OpResult) and isinstance(value.op, _VIEWS):
        value = value.op.operands[0]
    return value


def _written(op: Operation) -> list[SSAValue]:
    """The buffers that an operation, or one inside it, may write to."""
    result: list[SSAValue] = []
    for inner in op.walk():
        match inner:
            case linalg.GenericOp() | linalg.FillOp():
                result += [root(value) for value in inner.outputs]
            case memref.StoreOp():
                result.append(root(inner.memref))
            case memref.CopyOp():
                result.append(root(inner.destination))
            case func.CallOp():
                result += [root(value) for value in inner.operands if isinstance(value.type, MemRefType)]
            case _:
                pass
    return result


def _constant_of(value: SSAValue) -> Attribute | None:
    return value.op.value if isinstance(value, OpResult) and isinstance(value.op, arith.ConstantOp) else None


@dataclass(frozen=True)
class Cluster:
    """Operations of one block that are emitted together, in place of the last of them."""

    task: Task
    members: tuple[Operation, ...]


def _fill_before(op: linalg.GenericOp, members: Sequence[Operation]) -> linalg.FillOp | None:
    """The linalg.fill with a constant that gives the output its first value, with nothing between that touches it."""
    buffer = op.outputs[0]
    previous = op.prev_op
    while previous is not None:
        if isinstance(previous, linalg.FillOp) and previous.outputs[0] is buffer:
            return previous if _constant_of(previous.inputs[0]) is not None else None
        touched = [root(operand) for inner in previous.walk() for operand in inner.operands]
        if root(buffer) in touched and not isinstance(previous, _VIEWS):
            return None
        previous = previous.prev_op
    return None


def _epilogue_of(view: Structured, fill: linalg.FillOp | None) -> tuple[Structured, int] | None:
    """The element-wise generic that alone reads the result of a reduction, and as which input."""
    op, buffer = view.op, view.op.outputs[0]
    if len(view.outputs) != 1 or not isinstance(buffer, OpResult) or not isinstance(buffer.op, memref.AllocOp):
        return None
    users = [use.operation for use in buffer.uses]
    readers = [user for user in users if user is not op and user is not fill and not isinstance(user, memref.DeallocOp)]
    if len(readers) != 1 or not isinstance(readers[0], linalg.GenericOp) or readers[0].parent is not op.parent:
        return None
    reader = structured(readers[0])
    places = [place for place, access in enumerate(reader.inputs) if access.value is buffer]
    if len(places) != 1 or reader.reductions or len(reader.outputs) != 1:
        return None
    if not reader.inputs[places[0]].is_identity or reader.outputs[0].value is buffer or not reader.extents:
        return None
    if any(bool(argument.uses) for argument in reader.body.args[len(reader.inputs) :]) or not follows(reader):
        return None
    between = op.next_op
    sources = {root(access.value) for access in view.inputs}
    while between is not None and between is not reader.op:
        if sources.intersection(_written(between)):
            return None
        between = between.next_op
    if between is None or root(reader.outputs[0].value) in sources:
        return None  # the result would overwrite an input that later tiles still read
    return reader, places[0]


def cluster(op: linalg.GenericOp) -> Cluster:
    """The cluster that a generic belongs to, seen from the generic."""
    view = structured(op)
    members: list[Operation] = [op]
    if not view.reductions:
        return Cluster(Task(view, None, None), tuple(members))
    fill = _fill_before(op, members) if len(view.outputs) == 1 else None
    initial = None
    if fill is not None:
        members.insert(0, fill)
        initial = _constant_of(fill.inputs[0])
    following = _epilogue_of(view, fill)
    if following is None:
        return Cluster(Task(view, initial, None), tuple(members))
    members.append(following[0].op)
    return Cluster(Task(view, initial, *following), tuple(members))


def _as_generic(op: linalg.FillOp | memref.CopyOp, emit: Emitter) -> Structured:
    """A fill or a copy as a generic, so that one mechanism emits all."""
    source, target = (op.inputs[0], op.outputs[0]) if isinstance(op, linalg.FillOp) else (op.source, op.destination)
    rank = len(shape_of(target))
    element = element_of(target)
    if isinstance(op, linalg.FillOp):
        block = Block(arg_types=[element])
        block.add_op(linalg.YieldOp(source))
        inputs: list[SSAValue] = []
    else:
        block = Block(arg_types=[element, element])
        block.add_op(linalg.YieldOp(block.args[0]))
        inputs = [source]
    made = linalg.GenericOp(
        inputs,
        [target],
        Region(block),
        ArrayAttr([AffineMapAttr(AffineMap.identity(rank))] * (len(inputs) + 1)),
        ArrayAttr([linalg_attrs.IteratorTypeAttr(linalg_attrs.IteratorType.PARALLEL)] * rank),
    )
    made.location = op.location
    return structured(made)


@dataclass(frozen=True)
class LinalgToLoopsPass(ModulePass):
    """Turn each linalg operation on memrefs into vectorized loops, accumulators in registers."""

    name = "linalg-to-loops"

    vector_bits: int = 512
    """Width of the target's vector registers."""
    numerics: str = "relaxed"
    """`strict`: no fused multiply-add, no reassociated sums; `relaxed`: both."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        upstream.load("arith", "memref", "scf", "vector")
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                self._clusters(function)
                for inner in list(function.walk()):
                    if isinstance(inner, linalg.FillOp | memref.CopyOp) and inner.parent is not None:
                        self._simple(inner)
                _erase_dead_allocs(function)

    def _clusters(self, function: func.FuncOp) -> None:
        for generic in [inner for inner in function.walk() if isinstance(inner, linalg.GenericOp)]:
            if generic.parent is not None:
                self._emit(cluster(generic))

    def _emitter(self, op: Operation) -> Emitter:
        return Emitter(Builder(InsertPoint.before(op)), op.location, strict=self.numerics == "strict")

    def _emit(self, found: Cluster) -> None:
        task = found.task
        emit = self._emitter(found.members[-1])
        emit.location = task.view.op.location
        schedule = schedule_of(task.view.op)
        contracted = contraction(task.view) if schedule else None
        if schedule is not None and contracted is not None:
            ContractionKernel(emit, task, contracted, schedule).run()
        else:
            self._emit_nest(emit, task)
        for member in reversed(found.members):
            member.detach()
            member.erase()

    def _emit_nest(self, emit: Emitter, task: Task) -> None:
        """Emits a task as plain loops, on the simplest views of its operands."""
        views = [squeeze(emit, task.view)]
        if task.epilogue is None:
            views.append(collapse(emit, views[0]))
            emit_task(emit, Task(views[-1], task.initial, None), self.vector_bits)
        else:
            # The epilogue takes its positions from the output of the first: both lose the same loops or none.
            views.append(squeeze(emit, task.epilogue) if views[0] is not task.view else task.epilogue)
            if len(views[1].extents) != len(views[0].outputs[0].map.results):
                for made in {view.op for view in views} - {task.view.op, task.epilogue.op}:
                    made.erase()
                views = [task.view, task.epilogue]
            emit_task(emit, Task(views[0], task.initial, views[1], task.epilogue_input), self.vector_bits)
        originals = {task.view.op, task.epilogue.op if task.epilogue else task.view.op}
        for made in {view.op for view in views} - originals:
            made.erase()

    def _simple(self, op: linalg.FillOp | memref.CopyOp) -> None:
        emit = self._emitter(op)
        view = _as_generic(op, emit)
        flat = collapse(emit, view)
        emit_task(emit, Task(flat, None, None), self.vector_bits)
        for made in {flat.op, view.op}:
            made.erase()
        op.detach()
        op.erase()


def _erase_dead_allocs(function: func.FuncOp) -> None:
    """Removes buffers that nothing uses any more, and those that only gave a window its extent."""
    for op in reversed(list(function.walk())):
        if isinstance(op, memref.AllocOp) and all(
            isinstance(u.operation, memref.DeallocOp) for u in op.results[0].uses
        ):
            for use in list(op.results[0].uses):
                use.operation.detach()
                use.operation.erase()
            op.detach()
            op.erase()
        elif isinstance(op, (*_VIEWS, memref.DimOp)) and not op.results[0].uses:
            op.detach()
            op.erase()
