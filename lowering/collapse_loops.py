"""collapse-loops: give a contraction and what follows it the same, fewest loops, so that they meet without a reshape.

A contraction loses reduction loops of one iteration and joins neighbouring parallel loops that walk memory as one: a
pointwise convolution becomes a matrix product. An element-wise generic that reads a reduction's result through a
reshape takes the shape of that result. Reshapes that undo each other vanish.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, ArrayAttr, ModuleOp
from xdsl.dialects.linalg import attrs as linalg_attrs
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Block, OpResult, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from relay_mlir.dialects.relay.dims import product
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder
from relay_mlir.dialects.relay.sizes import Sizes
from relay_mlir.lowering.collapsing import Groups, collapsed, groups, groups_to_shape
from relay_mlir.lowering.structured import Structured, contraction, element_of, structured

_RESHAPES = (tensor.CollapseShapeOp, tensor.ExpandShapeOp)


def _source(value: SSAValue) -> SSAValue:
    """The tensor that a chain of reshapes started from."""
    while isinstance(value, OpResult) and isinstance(value.op, _RESHAPES):
        value = value.op.operands[0]
    return value


def _without_unit_reductions(view: Structured) -> linalg.GenericOp | None:
    """The contraction without its reduction loops of one iteration, all but one if there is no other; None if none."""
    units = [loop for loop in view.ordered_reductions if view.extents[loop] == 1]
    if len(units) == len(view.reductions):
        units = units[1:]
    if not units:
        return None
    kept = [loop for loop in range(len(view.extents)) if loop not in units]
    replacements: list[AffineExpr] = [
        AffineExpr.dimension(kept.index(loop)) if loop in kept else AffineExpr.constant(0)
        for loop in range(len(view.extents))
    ]
    maps: list[AffineMapAttr] = []
    for access in (*view.inputs, *view.outputs):
        exprs = tuple(expr.replace_dims_and_symbols(replacements, []) for expr in access.map.results)
        maps.append(AffineMapAttr(AffineMap(len(kept), 0, exprs)))
    reduction, parallel = linalg_attrs.IteratorType.REDUCTION, linalg_attrs.IteratorType.PARALLEL
    made = linalg.GenericOp(
        list(view.op.inputs),
        list(view.op.outputs),
        view.op.body.clone(),
        ArrayAttr(maps),
        ArrayAttr([linalg_attrs.IteratorTypeAttr(reduction if loop in view.reductions else parallel) for loop in kept]),
        [value.type for value in view.op.outputs],
    )
    made.location = view.op.location
    made.attributes |= view.op.attributes
    return made


def _replace(old: linalg.GenericOp, values: Sequence[SSAValue]) -> None:
    for result, value in zip(old.results, values, strict=True):
        value.name_hint = result.name_hint
        result.replace_all_uses_with(value)
    old.detach()
    old.erase()


def _collapse(view: Structured, parts: Groups) -> linalg.GenericOp:
    """Replaces a generic by one with collapsed loops, between reshapes."""
    op = view.op
    build = LinalgBuilder(Builder(InsertPoint.before(op)), op.location)

    def reshape(value: SSAValue, dims: Groups) -> SSAValue:
        shape = build.shape(value)
        target = [product([shape[place] for place in run]) for run in dims]
        # A fill or an empty tensor is made in the new shape, so that nothing stands between it and its user.
        if isinstance(value, OpResult) and isinstance(value.op, tensor.EmptyOp):
            return build.empty(target, element_of(value))
        if isinstance(value, OpResult) and isinstance(value.op, linalg.FillOp):
            into = build.empty(target, element_of(value))
            return build.insert(linalg.FillOp([value.op.inputs[0]], [into], [into.type]))
        return build.reshape(value, target)

    made = collapsed(view, parts, reshape)
    made.attributes |= op.attributes
    build.insert(made)
    _replace(op, [build.reshape(new, build.shape(old)) for new, old in zip(made.results, op.results, strict=True)])
    return made


def _fold_reshapes(block: Block) -> None:
    """Removes chains of reshapes that end in the shape they started from, or in one that the source already has."""
    sizes = Sizes()
    for op in list(block.ops):
        if isinstance(op, _RESHAPES):
            source = _source(op.results[0])
            if source.type == op.results[0].type and sizes.shape(source) == sizes.shape(op.results[0]):
                op.results[0].replace_all_uses_with(source)
    for op in reversed(list(block.ops)):
        if isinstance(op, _RESHAPES) and not op.results[0].uses:
            op.detach()
            op.erase()


def _reduced(view: Structured, sizes: Sizes) -> Sequence[int] | None:
    """The shape of the reduction result that an element-wise generic reads through a reshape."""
    for access in view.inputs:
        source = _source(access.value)
        if source is access.value or not access.is_identity:
            continue
        if (
            isinstance(source, OpResult)
            and isinstance(source.op, linalg.GenericOp)
            and structured(source.op).reductions
        ):
            return sizes.shape(source)
    return None


class CollapseLoopsPass(ModulePass):
    """Give a contraction and what follows it the same, fewest loops."""

    name = "collapse-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                self._block(function.body.block)

    @staticmethod
    def _block(block: Block) -> None:
        for op in [inner for inner in block.ops if isinstance(inner, linalg.GenericOp)]:
            view = structured(op)
            if contraction(view) is not None:
                if (shorter := _without_unit_reductions(view)) is not None:
                    block.insert_op_before(shorter, op)
                    _replace(op, shorter.results)
                    view = structured(shorter)
                parts = _open_loops_apart(view, groups(view))
                # The last dimension of the output stays a loop of its own: vectors run along it.
                if len(parts) < len(view.extents) and _keeps_lanes(view, parts):
                    _collapse(view, parts)
            elif (
                not view.reductions
                and len(view.outputs) == 1
                and (shape := _reduced(view, sizes := Sizes())) is not None
            ):
                parts_ = groups_to_shape(view, shape, sizes)
                if parts_ is not None and len(parts_) < len(view.extents):
                    _collapse(view, parts_)
            _fold_reshapes(block)


def _open_loops_apart(view: Structured, parts: Groups) -> Groups:
    """The runs, cut between loops of known and of unknown length: tiles of rows fit a length that is known."""
    result: Groups = []
    for run in parts:
        kinds = {view.extents[loop] == DYNAMIC_INDEX for loop in run if view.extents[loop] != 1}
        if len(kinds) < 2:
            result.append(run)
            continue
        current: list[int] = []
        kind: bool | None = None
        for loop in run:
            is_open = view.extents[loop] == DYNAMIC_INDEX
            if view.extents[loop] != 1:
                if kind is not None and is_open != kind:
                    result.append(current)
                    current = []
                kind = is_open
            current.append(loop)
        result.append(current)
    return result


def _keeps_lanes(view: Structured, parts: Groups) -> bool:
    results = view.outputs[0].map.results
    last = results[-1] if results else None
    return isinstance(last, AffineDimExpr) and [last.position] in parts
