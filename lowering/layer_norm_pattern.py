"""Recognizes a layer normalization that is written out in arithmetic, as models do that are older than the operator.

    m = mean(x)    c = x - m    v = mean(c * c)    y = c / sqrt(v + epsilon) * gamma + beta

with means along the last axis. `nn.layer_norm` is defined by the same formula.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import SSAValue

from relay_mlir.dialects.relay.division import Divide
from relay_mlir.dialects.relay.elementwise_binary import Add, Multiply, Power, Subtract
from relay_mlir.dialects.relay.elementwise_unary import Sqrt
from relay_mlir.dialects.relay.norm import LayerNorm
from relay_mlir.dialects.relay.op import RelayOp
from relay_mlir.dialects.relay.reduce import Mean
from relay_mlir.dialects.relay.types import Tensor
from relay_mlir.dialects.relay.weights import WeightStore
from relay_mlir.lowering.rewriting import Emitter, constant_array, fuse_locations, producer, replace_op


def raise_layer_norm(op: RelayOp, store: WeightStore) -> bool:
    """Puts a layer_norm in place of the addition of beta that ends the pattern; returns whether it was there."""
    if not isinstance(op.result_tensors[0].element_type, Float32Type | Float64Type):
        return False
    for position in (0, 1):
        scaled, beta = producer(op.operands[position], Multiply), op.operands[1 - position]
        if scaled is None or not scaled.results[0].has_one_use():
            continue
        for which in (0, 1):
            quotient, gamma = producer(scaled.operands[which], Divide), scaled.operands[1 - which]
            if quotient is None or not quotient.results[0].has_one_use():
                continue
            found = _normalized(quotient, store)
            if found is not None and _is_parameter(gamma, op) and _is_parameter(beta, op):
                data, epsilon, members = found
                locations = [member.location for member in (*members, quotient, scaled, op)]
                emit = Emitter(op, fuse_locations(locations))
                replace_op(op, [emit(LayerNorm(epsilon=epsilon), data, gamma, beta)])
                return True
    return False


def _is_parameter(value: SSAValue, op: RelayOp) -> bool:
    """Whether a value lies along the last dimension of the result."""
    return cast(Tensor, value.type).get_shape() == op.result_tensors[0].get_shape()[-1:]


def _normalized(quotient: RelayOp, store: WeightStore) -> tuple[SSAValue, float, list[RelayOp]] | None:
    """The data, epsilon and the operations of `c / sqrt(v + epsilon)`."""
    centered, root = producer(quotient.operands[0], Subtract), producer(quotient.operands[1], Sqrt)
    if centered is None or root is None or (total := producer(root.operands[0], Add)) is None:
        return None
    mean, data = producer(centered.operands[1], Mean), centered.operands[0]
    if mean is None or mean.operands[0] != data or not _along_last(mean) or quotient.operands[0].type != data.type:
        return None
    for position in (0, 1):
        variance, epsilon = (
            producer(total.operands[position], Mean),
            constant_array(total.operands[1 - position], store),
        )
        if variance is None or not _along_last(variance) or epsilon is None or epsilon.size != 1:
            continue
        square = producer(variance.operands[0], Multiply, Power)
        if square is None or not _is_square(square, centered.results[0], store):
            continue
        if all(use.operation in (square, quotient) for use in centered.results[0].uses):
            return data, float(epsilon.reshape(())), [mean, centered, square, variance, total, root]
    return None


def _is_square(op: RelayOp, value: SSAValue, store: WeightStore) -> bool:
    if op.operands[0] != value:
        return False
    if op.OPERATOR is Multiply:
        return op.operands[1] == value
    exponent = constant_array(op.operands[1], store)
    return exponent is not None and exponent.size == 1 and float(exponent.reshape(())) == 2


def _along_last(op: RelayOp) -> bool:
    """Whether a mean is taken along the last axis alone, which stays as a dimension of 1."""
    operator, rank = cast(Mean, op.operator), op.operand_types[0].get_num_dims()
    return operator.keepdims and operator.axes(rank) == (rank - 1,)
