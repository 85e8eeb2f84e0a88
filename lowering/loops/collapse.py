"""Collapses the loops of a generic on memrefs, so that vectors run over rows that are short."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntegerAttr, MemRefType, NoneAttr, StridedLayoutAttr, i64
from xdsl.ir import SSAValue

from relay_mlir.dialects.relay.dims import product
from relay_mlir.lowering.collapsing import Groups, collapsed, groups
from relay_mlir.lowering.loops.emitter import Emitter
from relay_mlir.lowering.structured import Structured, element_of, shape_of, strides_of, structured


def collapse(emit: Emitter, view: Structured) -> Structured:
    """The same computation with collapsed loops, on collapsed views of the operands; leaves `view.op` alone."""
    parts = groups(view)
    if len(parts) == len(view.extents):
        return view
    return structured(collapsed(view, parts, lambda value, dims: _view(emit, value, dims)))


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
            [None if strides[run[-1]] == DYNAMIC_INDEX else strides[run[-1]] for run in dims],
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
