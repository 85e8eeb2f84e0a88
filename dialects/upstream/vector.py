"""Operations of the vector dialect that xDSL lacks."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import I1, IndexType, MemRefType, VectorType
from xdsl.dialects.vector import Vector
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def, var_operand_def
from xdsl.traits import MemoryReadEffect, Pure
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.upstream.attributes import element_of


@irdl_op_definition
class StepOp(IRDLOperation):
    """The numbers of the lanes: `vector.step : vector<4xindex>` is 0, 1, 2, 3."""

    name = "vector.step"

    result = result_def(VectorType[IndexType])
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"


@irdl_op_definition
class GatherOp(IRDLOperation):
    """Elements at `base[indices] + index_vec` of the lanes whose mask is set, `pass_thru` of the others.

    vector.gather %m[%i] [%v], %mask, %rest
        : memref<8xf32>, vector<4xi32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
    """

    name = "vector.gather"

    base = operand_def(MemRefType)
    offsets = var_operand_def(IndexType)
    indices = operand_def(VectorType)
    mask = operand_def(VectorType[I1])
    pass_thru = operand_def(VectorType)
    result = result_def(VectorType)
    traits = traits_def(MemoryReadEffect())
    assembly_format = (
        "$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $pass_thru attr-dict `:` type($base) `,` "
        "type($indices) `,` type($mask) `,` type($pass_thru) `into` type($result)"
    )

    def verify_(self) -> None:
        element = cast("MemRefType[Attribute]", self.base.type).element_type
        if self.result.type != self.pass_thru.type or element_of(self.result.type) != element:
            raise VerifyException(f"gathering from {self.base.type} gives vectors of {element}, not {self.result.type}")


NEW_OPS: list[type[Operation]] = [GatherOp, StepOp]

VECTOR_EXTENDED = Dialect("vector", [*Vector.operations, *NEW_OPS], list(Vector.attributes))
"""The vector dialect with these operations."""
