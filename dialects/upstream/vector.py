"""Operations of the vector dialect that xDSL lacks."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, VectorType
from xdsl.dialects.vector import Vector
from xdsl.ir import Dialect, Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, result_def, traits_def
from xdsl.traits import Pure


@irdl_op_definition
class StepOp(IRDLOperation):
    """The numbers of the lanes: `vector.step : vector<4xindex>` is 0, 1, 2, 3."""

    name = "vector.step"

    result = result_def(VectorType[IndexType])
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"


NEW_OPS: list[type[Operation]] = [StepOp]

VECTOR_EXTENDED = Dialect("vector", [*Vector.operations, *NEW_OPS], list(Vector.attributes))
"""The vector dialect with these operations."""
