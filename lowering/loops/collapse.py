"""Collapses the loops of a generic on memrefs, so that vectors run over rows that are short."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    ArrayAttr,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    i64,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from relay_mlir.dialects.relay.dims import product
from relay_mlir.lowering.collapsing import Groups, collapsed, groups, has_index
from relay_mlir.lowering.loops.emitter import Emitter
from relay_mlir.lowering.structured import Structured, element_of, shape_of, strides_of, structured


def collapse(emit: Emitter, view: Structured) -> Structured:
    """The same computation with collapsed loops, on collapsed views of the operands; leaves `view.op` alone."""
    parts = groups(view)
    if len(parts) == len(view.extents):
        return view
    return structured(collapsed(view, parts, lambda value, dims: _view(emit, value, dims)))


def squeeze(emit: Emitter, view: Structured) -> Structured:
    """The same computation without loops of one iteration, on operands without dimensions of one element.

    So a reduction over channels whose weight has one output channel walks the weight's last dimension.
    """
    kept = [loop for loop, extent in enumerate(view.extents) if extent != 1]
    if len(kept) == len(view.extents) or has_index(view):
        return view
    replacements: list[AffineExpr] = [
        AffineExpr.dimension(kept.index(loop)) if loop in kept else AffineExpr.constant(0)
        for loop in range(len(view.extents))
    ]
    operands: list[SSAValue] = []
    maps: list[AffineMapAttr] = []
    for access in (*view.inputs, *view.outputs):
        shape = shape_of(access.value)
        places = [place for place, size in enumerate(shape) if size != 1]
        exprs = tuple(access.map.results[place].replace_dims_and_symbols(replacements, []) for place in places)
        maps.append(AffineMapAttr(AffineMap(len(kept), 0, exprs)))
        # Each dimension of one element goes with the next larger one, those at the end with the last.
        dims = [list(range(start, end + 1)) for start, end in zip([0, *(p + 1 for p in places)], places, strict=False)]
        if dims:
            dims[-1] = list(range(dims[-1][0], len(shape)))
        operands.append(access.value if len(places) == len(shape) else _view(emit, access.value, dims))
    inputs = len(view.inputs)
    made = linalg.GenericOp(
        operands[:inputs],
        operands[inputs:],
        view.op.body.clone(),
        ArrayAttr(maps),
        ArrayAttr([view.op.iterator_types.data[loop] for loop in kept]),
    )
    made.location = view.op.location
    return structured(made)


def _stride(shape: Sequence[int], strides: Sequence[int], run: Sequence[int]) -> int:
    """The stride of joined dimensions: that of the last one with more than one element."""
    return next((strides[place] for place in reversed(run) if shape[place] != 1), strides[run[-1]])


def _view(emit: Emitter, value: SSAValue, dims: Groups) -> SSAValue:
    """A view of a memref with runs of dimensions joined."""
    shape, strides = shape_of(value), strides_of(value)
    source = value.type
    assert isinstance(source, MemRefType)
    assert strides is not None
    layout = (
        source.layout
        if isinstance(source.layout, NoneAttr)
        else StridedLayoutAttr(
            [None if stride == DYNAMIC_INDEX else stride for stride in (_stride(shape, strides, run) for run in dims)],
            source.layout.get_offset(),
        )
    )
    type_ = MemRefType(element_of(value), [product([shape[place] for place in run]) for run in dims], layout)
    reassociation = ArrayAttr([ArrayAttr([IntegerAttr(place, i64) for place in run]) for run in dims])
    return emit.value(
        memref.CollapseShapeOp.build(
            operands=[value], result_types=[type_], properties={"reassociation": reassociation}
        )
    )
