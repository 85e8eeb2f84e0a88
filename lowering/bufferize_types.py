"""Buffer types and views for bufferize: what holds a tensor, and reshapes and slices of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

from xdsl.dialects import arith, memref, tensor
from xdsl.dialects.builtin import (
    DenseArrayBase,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    TensorType,
    i1,
    i8,
    i64,
)
from xdsl.ir import Attribute, Operation, OpResult, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.types import show_shape
from relay_mlir.lowering.bufferize_analysis import Reshape

Buffer: TypeAlias = MemRefType[Attribute]


def stored_element(element: Attribute) -> Attribute:
    """The element type of a buffer for tensors of this element type: bool takes a byte."""
    return i8 if element == i1 else element


def buffer_type(type_: Attribute) -> Attribute:
    """The type of the buffer that holds a tensor of this type; other types stay as they are."""
    if not isinstance(type_, TensorType):
        return type_
    tensor_type = cast(TensorType[Attribute], type_)
    return MemRefType(stored_element(tensor_type.element_type), tensor_type.get_shape())


def is_contiguous(type_: Attribute) -> bool:
    """Whether a buffer of this type holds its elements in row-major order without gaps, from its first byte on."""
    return isinstance(cast(Buffer, type_).layout, NoneAttr)


def shape_of_tensor(value: SSAValue) -> tuple[int, ...]:
    return cast(TensorType[Attribute], value.type).get_shape()


def memory(buffer: SSAValue) -> SSAValue:
    """The allocation or argument that a view looks at."""
    views = memref.SubviewOp | memref.CollapseShapeOp | memref.ExpandShapeOp
    while isinstance(buffer, OpResult) and isinstance(buffer.op, views):
        buffer = buffer.op.operands[0]
    return buffer


def store_bools_in_body(body: Region) -> None:
    """Makes the body of a linalg operation read and yield bytes where its buffers hold bools."""
    block = body.block
    for argument in list(block.args):
        if argument.type != i1:
            continue
        stored = block.insert_arg(i8, argument.index)
        if any(True for _ in argument.uses):
            first = cast(Operation, block.first_op)
            narrow = arith.TruncIOp(stored, i1)
            narrow.location = first.location
            block.insert_op_before(narrow, first)
            argument.replace_all_uses_with(narrow.result)
        block.erase_arg(argument)
    last = cast(Operation, block.last_op)
    for index, value in enumerate(last.operands):
        if value.type == i1:
            wide = arith.ExtUIOp(value, i8)
            wide.location = last.location
            block.insert_op_before(wide, last)
            last.operands[index] = wide.result


def reshape(op: Reshape, source: SSAValue, sizes: Sequence[SSAValue]) -> Operation:
    """The reshape of a tensor, of a buffer; `sizes` are the open ones of the result."""
    shape = shape_of_tensor(op.result)
    element = cast(Buffer, source.type).element_type
    if isinstance(op, tensor.CollapseShapeOp):
        return memref.CollapseShapeOp.build(
            operands=[source], result_types=[MemRefType(element, shape)], properties={"reassociation": op.reassociation}
        )
    return expand(op, source, shape, sizes)


def inverse_reshape(op: Reshape, buffer: SSAValue, sizes: Sequence[SSAValue]) -> Operation:
    """A view of the reshaped result's buffer as the reshape's source, whose open sizes are `sizes`."""
    shape = shape_of_tensor(op.src)
    element = cast(Buffer, buffer.type).element_type
    if isinstance(op, tensor.ExpandShapeOp):
        return memref.CollapseShapeOp.build(
            operands=[buffer], result_types=[MemRefType(element, shape)], properties={"reassociation": op.reassociation}
        )
    return expand(op, buffer, shape, sizes)


def expand(op: Reshape, source: SSAValue, shape: Sequence[int], sizes: Sequence[SSAValue]) -> Operation:
    return memref.ExpandShapeOp.build(
        operands=[source, list(sizes)],
        result_types=[MemRefType(cast(Buffer, source.type).element_type, shape)],
        properties={
            "reassociation": op.reassociation,
            "static_output_shape": DenseArrayBase.from_list(i64, list(shape)),
        },
    )


def drop_unit_dims(type_: Buffer, shape: Sequence[int]) -> Buffer:
    """The type of a rank-reducing subview: `type_` without the unit dimensions that `shape` lacks."""
    have = type_.get_shape()
    if have == tuple(shape):
        return type_
    layout = cast(StridedLayoutAttr, type_.layout)
    strides: list[int | None] = []
    wanted = list(shape)
    for size, stride in zip(have, layout.get_strides(), strict=True):
        if wanted and size == wanted[0]:
            wanted.pop(0)
            strides.append(stride)
        elif size != 1:
            raise VerifyException(f"bufferize: a slice of shape {show_shape(have)} is not one of {show_shape(shape)}")
    return MemRefType(type_.element_type, shape, StridedLayoutAttr(strides, layout.get_offset()), type_.memory_space)
