"""How each operator computes on data whose dimensions are permuted: the rules of convert-layout.

A rule gets an operation and a permutation `p` of the dimensions of its data: dimension i of the permuted data is
dimension `p[i]` of the data. It answers with the operator that does the same on permuted data, how each operand is to
be permuted for it and how its results then are, or None where there is no such operator. Operators without a rule keep
their layout.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast

from relay_mlir.dialects.relay.activation import PRelu
from relay_mlir.dialects.relay.adaptive_pool import AdaptivePool
from relay_mlir.dialects.relay.argreduce import ArgReduction
from relay_mlir.dialects.relay.channelwise import BatchNorm, BiasAdd
from relay_mlir.dialects.relay.conv import ConvBase
from relay_mlir.dialects.relay.create import ConstantLike
from relay_mlir.dialects.relay.elementwise import Elementwise
from relay_mlir.dialects.relay.global_pool import GlobalPool
from relay_mlir.dialects.relay.image import Resize
from relay_mlir.dialects.relay.join import Concatenate, Split
from relay_mlir.dialects.relay.l2_normalize import L2Normalize
from relay_mlir.dialects.relay.lrn import LRN
from relay_mlir.dialects.relay.matmul import Dense
from relay_mlir.dialects.relay.norm import GroupNorm, InstanceNorm, LayerNorm
from relay_mlir.dialects.relay.op import Operator, RelayOp
from relay_mlir.dialects.relay.pad import Pad
from relay_mlir.dialects.relay.pool import Pool
from relay_mlir.dialects.relay.reduce import Mean, Reduction
from relay_mlir.dialects.relay.reshape import BatchFlatten, BroadcastTo, ExpandDims, Reshape, ReshapeLike, Squeeze
from relay_mlir.dialects.relay.scan import Scan
from relay_mlir.dialects.relay.slice import Repeat, Reverse, StridedSlice, Tile
from relay_mlir.dialects.relay.softmax import LogSoftmax, Softmax
from relay_mlir.dialects.relay.space import DepthToSpace, SpaceToDepth
from relay_mlir.dialects.relay.types import is_static, normalize_axes, normalize_axis
from relay_mlir.lowering.permutations import Permutation, permuted, reshaped


@dataclass(frozen=True)
class Plan:
    """An operator for permuted data."""

    operator: Operator
    operands: Sequence[Permutation | None]
    """How each operand is permuted, None for as the program has it; operands after these are not needed.

    An operand of lower rank than its permutation broadcasts.
    """
    results: Sequence[Permutation]
    """How each result is permuted."""


Rule: TypeAlias = Callable[[RelayOp, Any, Permutation], "Plan | None"]

_OperatorT = TypeVar("_OperatorT", bound=Operator)


def plan_for(op: RelayOp, p: Permutation) -> Plan | None:
    """The operator that computes on data permuted by `p`, None where there is no rule or it does not apply."""
    rule = next((RULES[cls] for cls in op.OPERATOR.__mro__ if cls in RULES), None)
    if rule is None or (rule is not _elementwise and op.operand_types[0].get_num_dims() != len(p)):
        return None
    return rule(op, op.operator, p)


def channels_last(op: RelayOp) -> Permutation | None:
    """The permutation of the data that puts channels last, for operators with a layout; None for others."""
    operator = op.operator
    if isinstance(operator, ConvBase):
        layout = operator.data_layout
    elif isinstance(operator, Pool | GlobalPool | AdaptivePool):
        layout = operator.layout
    else:
        return None
    spatial = [axis for axis, letter in enumerate(layout) if letter not in "NC"]
    return (layout.index("N"), *spatial, layout.index("C"))


# Helpers


def _changed(operator: _OperatorT, **attributes: Any) -> _OperatorT:
    """The operator with other values for some attributes."""
    return cast(_OperatorT, dataclasses.replace(cast(Any, operator), **attributes))


def _letters(layout: str, p: Permutation) -> str:
    return "".join(layout[axis] for axis in p)


def _first_only(op: RelayOp, operator: Operator, p: Permutation) -> Plan:
    """The plan where the first operand and every result are permuted alike."""
    return Plan(operator, [p, *[None] * (len(op.operands) - 1)], [p] * len(op.results))


# Rules


def _elementwise(op: RelayOp, operator: Elementwise, p: Permutation) -> Plan | None:
    if op.result_tensors[0].get_num_dims() != len(p):
        return None
    return Plan(operator, [p] * len(op.operands), [p])


def _same(op: RelayOp, operator: Operator, p: Permutation) -> Plan:
    return _first_only(op, operator, p)


def _axis(op: RelayOp, operator: Any, p: Permutation) -> Plan | None:
    """One axis, along which other operands may lie; the result has the rank of the data."""
    if operator.axis is None:
        return None
    return _first_only(op, _changed(operator, axis=p.index(normalize_axis(operator.axis, len(p)))), p)


def _inner_axis(op: RelayOp, operator: Any, p: Permutation) -> Plan | None:
    """As `_axis`, for operators that are fast along the last dimension: there it has to stay."""
    last = len(p) - 1
    if normalize_axis(operator.axis, len(p)) == last != p[last]:
        return None
    return _axis(op, operator, p)


def _norm_of_samples(op: RelayOp, operator: GroupNorm | InstanceNorm, p: Permutation) -> Plan | None:
    """Normalizations of each sample for itself: dimension 0 is the batch."""
    return _axis(op, operator, p) if p[0] == 0 else None


def _layer_norm(op: RelayOp, operator: LayerNorm, p: Permutation) -> Plan | None:
    return _inner_axis(op, operator, p) if op.operand_types[1].get_num_dims() == 1 else None


def _axes(op: RelayOp, operator: L2Normalize, p: Permutation) -> Plan:
    axes = normalize_axes(operator.axis, len(p))
    return _first_only(op, _changed(operator, axis=tuple(sorted(p.index(axis) for axis in axes))), p)


def _concatenate(op: RelayOp, operator: Concatenate, p: Permutation) -> Plan:
    axis = p.index(normalize_axis(operator.axis, len(p)))
    return Plan(_changed(operator, axis=axis), [p] * len(op.operands), [p])


def _reduction(op: RelayOp, operator: Reduction | Mean | ArgReduction, p: Permutation) -> Plan | None:
    rank = len(p)
    reduced = operator.axes(rank)
    if isinstance(operator, ArgReduction) and len(reduced) != 1:
        return None  # The result counts elements in row-major order.
    changed = _changed(operator, axis=tuple(sorted(p.index(axis) for axis in reduced)), exclude=False)
    if operator.keepdims:
        return _first_only(op, changed, p)
    kept = [axis for axis in range(rank) if axis not in reduced]
    return Plan(changed, [p], [tuple(kept.index(axis) for axis in p if axis in kept)])


def _layout(op: RelayOp, operator: Pool | GlobalPool | AdaptivePool, p: Permutation) -> Plan:
    return _first_only(op, _changed(operator, layout=_letters(operator.layout, p)), p)


def _resize(op: RelayOp, operator: Resize, p: Permutation) -> Plan | None:
    if not operator.layout.isalpha():  # A split dimension, as in NCHW4c.
        return None
    return _first_only(op, _changed(operator, layout=_letters(operator.layout, p)), p)


def _blocks(op: RelayOp, operator: DepthToSpace | SpaceToDepth, p: Permutation) -> Plan | None:
    layout = _letters(operator.layout, p)
    return _first_only(op, _changed(operator, layout=layout), p) if layout in ("NCHW", "NHWC") else None


def _convolution(op: RelayOp, operator: ConvBase, p: Permutation) -> Plan:
    kernel = operator.kernel_layout
    spatial = [axis for axis, letter in enumerate(kernel) if letter not in "OI"]
    k = (*spatial, kernel.index("I"), kernel.index("O"))
    changed = _changed(operator, data_layout=_letters(operator.data_layout, p), kernel_layout=_letters(kernel, k))
    return Plan(changed, [p, k], [p])


def _dense(op: RelayOp, operator: Dense, p: Permutation) -> Plan | None:
    return _first_only(op, operator, p) if p[-1] == len(p) - 1 else None


def _pad(op: RelayOp, operator: Pad, p: Permutation) -> Plan:
    return _first_only(op, _changed(operator, pad_width=permuted(operator.pad_width, p)), p)


def _strided_slice(op: RelayOp, operator: StridedSlice, p: Permutation) -> Plan:
    axes = range(len(operator.begin)) if operator.axes is None else normalize_axes(operator.axes, len(p))
    return _first_only(op, _changed(operator, axes=tuple(p.index(axis) for axis in axes)), p)


def _tile(op: RelayOp, operator: Tile, p: Permutation) -> Plan | None:
    if len(operator.reps) > len(p):
        return None
    reps = (1,) * (len(p) - len(operator.reps)) + operator.reps
    return _first_only(op, _changed(operator, reps=permuted(reps, p)), p)


def _broadcast_to(op: RelayOp, operator: BroadcastTo, p: Permutation) -> Plan | None:
    if len(operator.shape) != len(p):
        return None
    return _first_only(op, _changed(operator, shape=permuted(operator.shape, p)), p)


def _reshape(op: RelayOp, operator: Operator, p: Permutation) -> Plan | None:
    """A reshape of the permuted data, after a transpose where it joins what the permutation has moved apart."""
    before, after = op.operand_types[0].get_shape(), op.result_tensors[0].get_shape()
    if not is_static(before) or not is_static(after) or (found := reshaped(before, after, p)) is None:
        return None
    q, r = found
    return Plan(Reshape(newshape=permuted(after, r)), [q], [r])


RULES: dict[type, Rule] = {
    Elementwise: _elementwise,
    PRelu: _axis,
    BiasAdd: _axis,
    BatchNorm: _axis,
    LRN: _axis,
    Split: _axis,
    Reverse: _axis,
    Repeat: _axis,
    Scan: _axis,
    Softmax: _inner_axis,
    LogSoftmax: _inner_axis,
    LayerNorm: _layer_norm,
    GroupNorm: _norm_of_samples,
    InstanceNorm: _norm_of_samples,
    L2Normalize: _axes,
    Concatenate: _concatenate,
    Reduction: _reduction,
    Mean: _reduction,
    ArgReduction: _reduction,
    Pool: _layout,
    GlobalPool: _layout,
    AdaptivePool: _layout,
    Resize: _resize,
    DepthToSpace: _blocks,
    SpaceToDepth: _blocks,
    ConvBase: _convolution,
    Dense: _dense,
    Pad: _pad,
    StridedSlice: _strided_slice,
    Tile: _tile,
    BroadcastTo: _broadcast_to,
    ConstantLike: _same,
    Reshape: _reshape,
    Squeeze: _reshape,
    ExpandDims: _reshape,
    BatchFlatten: _reshape,
    ReshapeLike: _reshape,
}
"""The rule of each operator or family of operators; that of the most derived class holds."""

__all__ = ["Plan", "channels_last", "plan_for"]
