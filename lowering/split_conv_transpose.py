"""split-conv-transpose: a strided transposed convolution becomes one convolution for each phase of its result.

Result element `o` meets the kernel elements `k` with `k = o + low (mod stride)` only. So the elements of one phase
(equal remainder along both axes) are an ordinary convolution of the data with every stride-th element of the kernel,
backwards; no zero that would stand between the data's elements is multiplied. The phases are put side by side as
channels and woven together by `nn.depth_to_space`. Done for two dimensions, constant weights, square strides, one
group and no dilation.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from relay_mlir.dialects.relay.conv import Conv2D
from relay_mlir.dialects.relay.conv_transpose import Conv2DTranspose
from relay_mlir.dialects.relay.core import ConstantOp
from relay_mlir.dialects.relay.join import Concatenate
from relay_mlir.dialects.relay.op import RelayOp
from relay_mlir.dialects.relay.pad import Pad
from relay_mlir.dialects.relay.slice import StridedSlice
from relay_mlir.dialects.relay.space import DepthToSpace
from relay_mlir.dialects.relay.types import is_static, numpy_dtype
from relay_mlir.lowering.rewriting import Emitter, applies, dense_literal, functions, is_constant, replace_op


@dataclass(frozen=True)
class _Phase:
    """The elements of the result of one remainder along one axis: which kernel elements they meet, and where from."""

    first: int
    """The first kernel element; every stride-th from here is met."""
    taps: int
    """How many kernel elements."""
    low: int
    """Zeros before the data, or, where negative, elements cut off."""
    high: int


def _phase(number: int, stride: int, kernel: int, cut: int, length: int, count: int) -> _Phase:
    """Phase `number` along an axis: of `count` elements, with `cut` elements cut off the low side of the result."""
    first = (number + cut) % stride
    start = (number + cut - first) // stride
    taps = -(-(kernel - first) // stride)
    low = taps - 1 - start
    return _Phase(first, taps, low, count + taps - 1 - length - low)


def _applies(op: RelayOp) -> bool:
    operator = cast(Conv2DTranspose, op.operator)
    stride = operator.strides[0]
    shapes = [*op.operand_types, *op.result_tensors]
    if not is_constant(op.operands[1]) or not all(is_static(t.get_shape()) for t in shapes):
        return False
    kernel = [op.operand_types[1].get_shape()[operator.kernel_layout.index(letter)] for letter in "HW"]
    return (
        operator.data_layout == "NCHW"
        and operator.groups == 1
        and operator.strides == (stride, stride)
        and stride > 1
        and set(operator.dilation) == {1}
        and min(kernel) >= stride
        and operator.out_dtype is None
    )


def _split(op: RelayOp) -> None:
    operator = cast(Conv2DTranspose, op.operator)
    emit = Emitter.at(op)
    data, weight = op.operands
    stride = operator.strides[0]
    shape, result = op.operand_types[0].get_shape(), op.result_tensors[0].get_shape()
    axes = [operator.kernel_layout.index(letter) for letter in "HW"]
    kernel = [op.operand_types[1].get_shape()[axis] for axis in axes]
    counts = [-(-result[2 + axis] // stride) for axis in range(2)]
    phases = [
        [_phase(r, stride, kernel[axis], operator.padding[axis], shape[2 + axis], counts[axis]) for r in range(stride)]
        for axis in range(2)
    ]
    parts = [_convolve(emit, operator, data, weight, axes, rows, columns) for rows, columns in product(*phases)]
    woven = emit(DepthToSpace(block_size=stride), emit(Concatenate(axis=1), *parts))
    if (counts[0] * stride, counts[1] * stride) != tuple(result[2:]):
        woven = emit(StridedSlice(begin=(0, 0), end=tuple(result[2:]), axes=(2, 3)), woven)
    replace_op(op, [woven])


def _convolve(
    emit: Emitter,
    operator: Conv2DTranspose,
    data: SSAValue,
    weight: SSAValue,
    axes: list[int],
    rows: _Phase,
    columns: _Phase,
) -> SSAValue:
    """The convolution of one phase."""
    import numpy as np

    stride = operator.strides[0]
    last = [phase.first + stride * (phase.taps - 1) for phase in (rows, columns)]
    size = [cast(RelayOp, emit.before).operand_types[1].get_shape()[axis] for axis in axes]
    taps = emit(
        StridedSlice(
            begin=tuple(last),
            # Down to the first element: for an end below 0, the end before element 0.
            end=tuple(
                phase.first - stride if phase.first >= stride else -n - 1
                for phase, n in zip((rows, columns), size, strict=True)
            ),
            strides=(-stride, -stride),
            axes=tuple(axes),
        ),
        weight,
    )
    if min(rows.low, rows.high, columns.low, columns.high) < 0:
        widths = ((0, 0), (0, 0), (min(rows.low, 0), min(rows.high, 0)), (min(columns.low, 0), min(columns.high, 0)))
        zero = np.zeros((), numpy_dtype(cast(RelayOp, emit.before).operand_types[0].element_type))
        data = emit(Pad(pad_width=widths), data, emit.insert(ConstantOp(dense_literal(zero))))
    padding = tuple(max(width, 0) for width in (rows.low, columns.low, rows.high, columns.high))
    return emit(Conv2D(padding=padding, kernel_layout=operator.kernel_layout), data, taps)


class SplitConvTransposePass(ModulePass):
    """Turn a strided transposed convolution with constant weights into one convolution for each phase of its result."""

    name = "split-conv-transpose"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            for inner in list(func.walk()):
                if applies(inner, Conv2DTranspose) and _applies(cast(RelayOp, inner)):
                    _split(cast(RelayOp, inner))
