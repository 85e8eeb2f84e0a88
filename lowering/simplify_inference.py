"""simplify-inference: turns what an operator does at inference into plain arithmetic that folds and fuses.

A batch_norm whose statistics are constants is a multiplication and an addition for each channel,

    scale = gamma / sqrt(moving_var + epsilon)        shift = beta - moving_mean * scale

both computed by operators on constants, which fold-constant evaluates. In f16 and bf16 the scale itself would be
rounded, so a batch_norm of those stays whole, as one does whose statistics are computed by the program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import Float32Type, Float64Type, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from relay_mlir.dialects.relay.channelwise import BatchNorm
from relay_mlir.dialects.relay.core import ConstantOp
from relay_mlir.dialects.relay.division import Divide
from relay_mlir.dialects.relay.elementwise_binary import Add, Multiply, Subtract
from relay_mlir.dialects.relay.elementwise_unary import Negative, Sqrt
from relay_mlir.dialects.relay.op import RelayOp
from relay_mlir.dialects.relay.reshape import ExpandDims
from relay_mlir.dialects.relay.types import normalize_axis, numpy_dtype
from relay_mlir.lowering.rewriting import Emitter, applies, dense_literal, functions, is_constant, replace_op


@dataclass(frozen=True)
class SimplifyInferencePass(ModulePass):
    """Rewrites batch_norm with constant statistics into a multiplication and an addition."""

    name = "simplify-inference"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            for inner in list(func.walk()):
                if applies(inner, BatchNorm):
                    _simplify_batch_norm(cast(RelayOp, inner))


def _simplify_batch_norm(op: RelayOp) -> None:
    operator, data = cast(BatchNorm, op.operator), op.operand_types[0]
    if not isinstance(data.element_type, Float32Type | Float64Type):
        return
    if any(type_.element_type != data.element_type for type_ in op.operand_types):
        return
    if not all(map(is_constant, op.operands[1:])) or op.result_tensors[0] != data:
        return
    rank = data.get_num_dims()
    emit = Emitter.at(op)
    scale, shift = _scale_and_shift(emit, operator, list(op.operands[1:]))
    trailing = rank - 1 - normalize_axis(operator.axis, rank)
    if trailing:
        scale, shift = (emit(ExpandDims(axis=1, num_newaxis=trailing), value) for value in (scale, shift))
    replace_op(op, [emit(Add(), emit(Multiply(), op.operands[0], scale), shift)])


def _scale_and_shift(emit: Emitter, norm: BatchNorm, parameters: list[SSAValue]) -> tuple[SSAValue, SSAValue]:
    """The factor and the summand of each channel, of shape (C)."""
    import numpy as np

    gamma, beta, mean, variance = parameters
    dtype = numpy_dtype(cast(RelayOp, emit.before).operand_types[0].element_type)

    def scalar(value: float) -> SSAValue:
        return emit.insert(ConstantOp(dense_literal(np.asarray(value, dtype))))

    root = emit(Sqrt(), emit(Add(), variance, scalar(norm.epsilon)))
    scale = emit(Divide(), gamma if norm.scale else scalar(1.0), root)
    moved = emit(Multiply(), mean, scale)
    return scale, emit(Subtract(), beta, moved) if norm.center else emit(Negative(), moved)
