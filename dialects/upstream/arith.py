"""The arith dialect with the operations that xDSL lacks: remf and index_castui."""

from __future__ import annotations

from xdsl.dialects.arith import Arith as XdslArith
from xdsl.dialects.arith import ArithConstantMaterializationInterface, FloatingPointLikeBinaryOperation
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure


@irdl_op_definition
class RemFOp(FloatingPointLikeBinaryOperation):
    """`%r = arith.remf %a, %b : f32`: the remainder of a division rounded towards zero, C's fmod."""

    name = "arith.remf"


@irdl_op_definition
class IndexCastUIOp(IRDLOperation):
    """`%i = arith.index_castui %a : i32 to index`: between an unsigned integer and an index."""

    name = "arith.index_castui"
    input = operand_def(IntegerType | IndexType)
    result = result_def(IntegerType | IndexType)
    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"

    def __init__(self, value: SSAValue, target: Attribute):
        super().__init__(operands=[value], result_types=[target])


Arith = Dialect(
    "arith",
    [*XdslArith.operations, RemFOp, IndexCastUIOp],
    list(XdslArith.attributes),
    [ArithConstantMaterializationInterface()],
)
"""xDSL's arith dialect and these operations: register it in place of xDSL's."""
