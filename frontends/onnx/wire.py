"""Large tensors are left in the model file: rewrites ONNX protobuf bytes so that they are parsed without them.

A tensor whose `raw_data` is large becomes a reference (offset, length) into the file, written in the form ONNX has
for external data. The parsed message then takes little memory, the tensors are mapped, and a model may exceed the
two gigabytes that a protobuf parser accepts.
"""

from __future__ import annotations

from enum import Enum

SELF = "\0self"
"""The location of an external tensor that lies in the model file itself; no path contains a NUL."""

LARGE = 1024
"""Bytes from which on a tensor stays in the file; also the size below which a message is not looked into."""

_RAW_DATA, _EXTERNAL_DATA, _DATA_LOCATION = 9, 13, 14
_VARINT, _I64, _LEN, _I32 = 0, 1, 2, 5


class Message(Enum):
    """The ONNX messages that may hold a tensor."""

    MODEL = 0
    GRAPH = 1
    NODE = 2
    ATTRIBUTE = 3
    TENSOR = 4
    SPARSE_TENSOR = 5
    FUNCTION = 6


_CHILDREN: dict[Message, dict[int, Message]] = {
    Message.MODEL: {7: Message.GRAPH, 25: Message.FUNCTION},
    Message.GRAPH: {1: Message.NODE, 5: Message.TENSOR, 15: Message.SPARSE_TENSOR},
    Message.FUNCTION: {7: Message.NODE},
    Message.NODE: {5: Message.ATTRIBUTE},
    Message.ATTRIBUTE: {
        5: Message.TENSOR,
        6: Message.GRAPH,
        10: Message.TENSOR,
        11: Message.GRAPH,
        22: Message.SPARSE_TENSOR,
        23: Message.SPARSE_TENSOR,
    },
    Message.SPARSE_TENSOR: {1: Message.TENSOR, 2: Message.TENSOR},
    Message.TENSOR: {},
}
"""The fields of each message that hold another one of these, by field number (onnx.proto)."""


def without_large_tensors(data: memoryview) -> bytes:
    """A serialized ModelProto whose large tensors refer to their bytes in `data` instead of holding them.

    Raises ValueError for bytes that are not a well-formed protobuf message.
    """
    return _rewrite(data, 0, len(data), Message.MODEL)


def _rewrite(data: memoryview, start: int, end: int, kind: Message) -> bytes:
    """The message between the two offsets, rewritten."""
    children = _CHILDREN[kind]
    out: list[bytes | memoryview] = []
    kept, at = start, start  # data[kept:at] is to be copied as it is
    while at < end:
        field_start = at
        tag, at = _varint(data, at, end)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == _LEN:
            length, body = _varint(data, at, end)
            at = body + length
        else:
            body, at = at, _skip(data, at, end, wire_type)
        if at > end:
            raise ValueError(f"a field of {at - field_start} bytes at offset {field_start} exceeds its message")
        if wire_type != _LEN or at - body < LARGE:
            continue
        if kind is Message.TENSOR and number == _RAW_DATA:
            out += [data[kept:field_start], _reference(body, at - body)]
            kept = at
        elif number in children:
            message = _rewrite(data, body, at, children[number])
            out += [data[kept:field_start], _encode(tag), _encode(len(message)), message]
            kept = at
    out.append(data[kept:end])
    return b"".join(out)


def _reference(offset: int, length: int) -> bytes:
    """The fields of a TensorProto that say where its bytes are."""
    entries = (("location", SELF), ("offset", str(offset)), ("length", str(length)))
    encoded = b"".join(
        _field(_EXTERNAL_DATA, _field(1, key.encode()) + _field(2, value.encode())) for key, value in entries
    )
    return encoded + _encode(_DATA_LOCATION << 3 | _VARINT) + _encode(1)


def _field(number: int, body: bytes) -> bytes:
    return _encode(number << 3 | _LEN) + _encode(len(body)) + body


def _encode(value: int) -> bytes:
    """A number as a varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    """The varint at an offset, and the offset after it."""
    value = shift = 0
    while True:
        if at >= end or shift > 63:
            raise ValueError(f"a number at offset {at} is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, at
        shift += 7


def _skip(data: memoryview, at: int, end: int, wire_type: int) -> int:
    """The offset after a field that is not length-delimited."""
    if wire_type == _VARINT:
        return _varint(data, at, end)[1]
    if wire_type in (_I64, _I32):
        return at + (8 if wire_type == _I64 else 4)
    raise ValueError(f"a field at offset {at} has the unknown wire type {wire_type}")
