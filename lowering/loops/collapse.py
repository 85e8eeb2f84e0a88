"""Collapses neighbouring loops that walk memory as one, so that vectors run over rows that are short."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, IntegerAttr, MemRefType, i64
from xdsl.dialects.linalg import attrs as linalg_attrs
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from relay_mlir.lowering.loops.emitter import Emitter
from relay_mlir.lowering.structured import Access, Structured, element_of, shape_of, strides_of, structured


def _joins(access: Access, loop: int, extents: Sequence[int]) -> bool:
    """Whether an operand sees `loop` and the next loop as one: unused both, or adjacent dimensions without a gap."""
    first, second = access.uses(loop), access.uses(loop + 1)
    if not first and not second:
        return True
    strides = strides_of(access.value)
    if not first or not second or strides is None:
        return False
    places: list[int] = []
    for wanted in (loop, loop + 1):
        found = [at for at, expr in enumerate(access.map.results) if wanted in expr.used_dims()]
        if len(found) != 1 or not isinstance(access.map.results[found[0]], AffineDimExpr):
            return False
        places.append(found[0])
    inner, shape = places[1], shape_of(access.value)
    return (
        places[1] == places[0] + 1
        and strides[places[0]] == strides[inner] * shape[inner]
        and shape[inner] == extents[loop + 1]
    )


def groups(view: Structured) -> list[list[int]]:
    """The loops in groups that can be collapsed into one each."""
    if any(isinstance(op, linalg.IndexOp) for op in view.body.ops):
        return [[loop] for loop in range(len(view.extents))]
    result: list[list[int]] = []
    accesses = (*view.inputs, *view.outputs)
    for loop in range(len(view.extents)):
        kind = loop in view.reductions
        if (
            result
            and (result[-1][-1] in view.reductions) == kind
            and all(_joins(access, loop - 1, view.extents) for access in accesses)
        ):
            result[-1].append(loop)
        else:
            result.append([loop])
    return result


def collapse(emit: Emitter, view: Structured) -> Structured:
    """The same computation with collapsed loops, on collapsed views of the operands; leaves `view.op` alone."""
    parts = groups(view)
    if len(parts) == len(view.extents):
        return view
    leader = {group[0]: position for position, group in enumerate(parts)}
    follower = {loop for group in parts for loop in group[1:]}
    rank = len(parts)
    replacements = [AffineExpr.dimension(leader.get(loop, 0)) for loop in range(len(view.extents))]
    operands: list[SSAValue] = []
    maps: list[AffineMapAttr] = []
    for access in (*view.inputs, *view.outputs):
        dims: list[list[int]] = []
        exprs: list[AffineExpr] = []
        for place, expr in enumerate(access.map.results):
            if isinstance(expr, AffineDimExpr) and expr.position in follower:
                dims[-1].append(place)
            else:
                dims.append([place])
                exprs.append(expr.replace_dims_and_symbols(replacements, []))
        operands.append(_collapsed(emit, access.value, dims))
        maps.append(AffineMapAttr(AffineMap(rank, 0, tuple(exprs))))
    iterators = [
        linalg_attrs.IteratorTypeAttr(
            linalg_attrs.IteratorType.REDUCTION if group[0] in view.reductions else linalg_attrs.IteratorType.PARALLEL
        )
        for group in parts
    ]
    inputs = len(view.inputs)
    made = linalg.GenericOp(
        operands[:inputs],
        operands[inputs:],
        view.op.body.clone(),
        ArrayAttr(maps),
        ArrayAttr(iterators),
    )
    made.location = view.op.location
    return structured(made)


def _collapsed(emit: Emitter, value: SSAValue, dims: list[list[int]]) -> SSAValue:
    """A view of a memref with runs of dimensions joined."""
    shape, strides = shape_of(value), strides_of(value)
    if len(dims) == len(shape):
        return value
    sizes: list[int] = []
    for run in dims:
        size = 1
        for place in run:
            size *= shape[place]
        sizes.append(size)
    source = value.type
    assert isinstance(source, MemRefType)
    assert strides is not None
    from xdsl.dialects.builtin import NoneAttr, StridedLayoutAttr

    layout = (
        source.layout
        if isinstance(source.layout, NoneAttr)
        else StridedLayoutAttr([strides[run[-1]] for run in dims], source.layout.get_offset())
    )
    type_ = MemRefType(element_of(value), sizes, layout)
    reassociation = ArrayAttr([ArrayAttr([IntegerAttr(place, i64) for place in run]) for run in dims])
    return emit.value(
        memref.CollapseShapeOp.build(
            operands=[value], result_types=[type_], properties={"reassociation": reassociation}
        )
    )
