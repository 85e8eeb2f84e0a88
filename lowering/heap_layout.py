"""The layout of heap objects: headers, and the size classes of their memory. runtime/heap.ll says the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import Float16Type, Float32Type, Float64Type, IntegerType
from xdsl.ir import Attribute

from relay_mlir.dialects.relay.types import Tensor

HEADER = 16
"""The bytes of a header: i64 count, i16 tag, i8, i8 class, i32 words."""
ELEMENTS = 64
"""Where the elements of a tensor object are; the pointer to them is its first word."""
MAX_TAG = 0xFFFF
RECORD_CLASSES = 32
"""Classes of 16 bytes each."""
LINE_CLASSES = 16
"""Classes of 64 bytes each that follow, at addresses that are multiples of 64."""

WEIGHTS, SCRATCH, INPUTS, OUTPUTS = 8, 16, 88, 96
"""Where the state of a heap holds pointers."""
ARGUMENTS, MAX_ARGUMENTS = 2176, 256
"""Where the state of a heap holds arguments that registers have no place for, and how many it can hold."""
WORD_REGISTERS, FLOAT_REGISTERS = 6, 8
"""The registers for arguments that every processor has; the heap itself takes one."""


def in_registers(types: Sequence[Attribute]) -> list[bool]:
    """Which arguments of these llvm types go in registers.

    The others go through the state of the heap, never on the stack: a tail call must not need more of it than its
    caller had.
    """
    words, floats = 1, 0
    result: list[bool] = []
    for type_ in types:
        if isinstance(type_, Float16Type | Float32Type | Float64Type):
            floats += 1
            result.append(floats <= FLOAT_REGISTERS)
        else:
            words += 1
            result.append(words <= WORD_REGISTERS)
    return result


def size_class(size: int, aligned: bool = False) -> tuple[int, int]:
    """The class of an object of this many bytes, and the size of the class; `aligned` is to 64 bytes."""
    if size <= 16 * RECORD_CLASSES and not aligned:
        number = -(-size // 16)
        return number, 16 * number
    if size <= 64 * LINE_CLASSES:
        number = -(-size // 64)
        return RECORD_CLASSES + number, 64 * number
    power = (size - 1).bit_length() - 1
    quarter = -(-(size - (1 << power)) * 4 >> power)
    return RECORD_CLASSES + LINE_CLASSES + (power - 10) * 4 + quarter, (1 << power) + (quarter << power >> 2)


def header(tag: int, number: int, words: int) -> int:
    """The second word of a header, as a signed number."""
    return signed(tag | number << 24 | words << 32)


def signed(word: int) -> int:
    """The bits of a word as a signed number."""
    return word - (1 << 64) if word >= 1 << 63 else word


def element_size(element: Attribute) -> int:
    """The bytes of an element in memory."""
    width = cast(IntegerType, element).bitwidth
    return -(-width // 8)


def tensor_bytes(type_: Tensor) -> int:
    """The bytes of a tensor's elements."""
    return math.prod(type_.get_shape()) * element_size(type_.element_type)
