"""Torch's rules for the common element type of operands: tensors, 0-d tensors and numbers weigh differently."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32, i1, i16, i64
from xdsl.ir import Attribute

from relay_mlir.dialects.relay.types import dtype_name, is_bool, is_float, is_integer, is_unsigned, numpy_dtype
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.torch.node import Operand

DEFAULT_FLOAT = f32
"""What a number with a fraction makes of integers: torch's default dtype."""


def _category(element: Attribute) -> int:
    return 0 if is_bool(element) else 2 if is_float(element) else 1


def promoted(a: Attribute, b: Attribute) -> Attribute:
    """The common type of two tensors of equal weight; raises Problem for unsigned types torch does not promote."""
    if a == b:
        return a
    if _category(a) != _category(b):
        return a if _category(a) > _category(b) else b
    if is_float(a):
        if {dtype_name(a), dtype_name(b)} == {"float16", "bfloat16"}:
            return f32
        return max(a, b, key=lambda e: numpy_dtype(e).itemsize)
    if is_unsigned(a) == is_unsigned(b):
        return max(a, b, key=lambda e: numpy_dtype(e).itemsize)
    signed, unsigned = (b, a) if is_unsigned(a) else (a, b)
    if dtype_name(unsigned) != "uint8":
        raise Problem(f"torch has no common type of {dtype_name(a)} and {dtype_name(b)}")
    return i16 if numpy_dtype(signed).itemsize == 1 else signed


def common_type(operands: Sequence[Operand]) -> Attribute:
    """The type in which torch compares or combines operands.

    Tensors with dimensions decide; a 0-d tensor only matters where its category (bool, integer, float) is higher, and
    a number only where its category is higher than those of all tensors.
    """
    tiers: list[list[Attribute]] = [[], [], []]
    for operand in operands:
        if isinstance(operand, Value):
            tiers[0 if operand.rank else 1].append(operand.element)
        else:
            tiers[2].append(i1 if isinstance(operand, bool) else i64 if isinstance(operand, int) else DEFAULT_FLOAT)
    found: Attribute | None = None
    for tier in tiers:
        if not tier:
            continue
        own = tier[0]
        for element in tier[1:]:
            own = promoted(own, element)
        if found is None or _category(own) > _category(found):
            found = own
    if found is None:
        raise Problem("it has no operands")
    return found


def as_tensor(c: Emitter, operand: Operand, element: Attribute) -> Value:
    """An operand as a tensor of an element type."""
    if isinstance(operand, Value):
        return converted(c, operand, element)
    if is_integer(element):
        return c.scalar(int(operand), element)
    return c.scalar(operand, element)


def converted(c: Emitter, x: Value, element: Attribute) -> Value:
    """The tensor in another element type; to bool by comparison with zero, so that 0.5 is true."""
    if is_bool(element) and not is_bool(x.element):
        return c.op("not_equal", x, c.scalar(0, x))
    return c.cast(x, element)


__all__ = ["as_tensor", "common_type", "converted", "promoted"]
