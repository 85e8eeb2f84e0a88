"""Tensor types of the relay dialect: element types, their numpy dtypes, and the shape arithmetic of type relations.

A dimension is an int, or `ANY` (printed `?`) where it is not known before run time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntAttr,
    IntegerType,
    Signedness,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.dims import Dim, product

if TYPE_CHECKING:
    import numpy as np

ANY = DYNAMIC_INDEX
"""A dimension that is known at run time only."""

Tensor: TypeAlias = TensorType[Attribute]
Shape: TypeAlias = tuple[int, ...]

ui8, ui16, ui32, ui64 = (IntegerType(width, Signedness.UNSIGNED) for width in (8, 16, 32, 64))

ELEMENT_TYPES: dict[str, Attribute] = {
    "float32": f32,
    "float64": f64,
    "float16": f16,
    "bfloat16": bf16,
    "int8": i8,
    "int16": i16,
    "int32": i32,
    "int64": i64,
    "uint8": ui8,
    "uint16": ui16,
    "uint32": ui32,
    "uint64": ui64,
    "bool": i1,
}
"""The element types a relay tensor may have, by numpy (and Relay) name."""

_NAMES = {element: name for name, element in ELEMENT_TYPES.items()}


def tensor(shape: Iterable[int], element: Attribute) -> Tensor:
    """The tensor type of this shape and element type."""
    return TensorType(element, [IntAttr(dim) for dim in shape])


def dtype_name(element: Attribute) -> str:
    """numpy's (and Relay's) name of an element type; raises VerifyException for one that relay lacks."""
    if element not in _NAMES:
        raise VerifyException(f"element type {element} is not one of {', '.join(str(e) for e in _NAMES)}")
    return _NAMES[element]


@cache
def numpy_dtype(element: Attribute) -> np.dtype[np.generic]:
    """The numpy dtype of an element type (bfloat16 through ml_dtypes)."""
    import numpy as np

    name = dtype_name(element)
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


@cache
def element_type(dtype: np.dtype[np.generic]) -> Attribute:
    """The element type of a numpy dtype; raises VerifyException for one that relay lacks."""
    if dtype.name not in ELEMENT_TYPES:
        raise VerifyException(f"dtype {dtype.name} is not one of {', '.join(ELEMENT_TYPES)}")
    return ELEMENT_TYPES[dtype.name]


def type_of(array: np.ndarray) -> Tensor:
    """The tensor type of a numpy array."""
    return tensor(array.shape, element_type(array.dtype))


def is_float(element: Attribute) -> bool:
    return isinstance(element, Float16Type | Float32Type | Float64Type | BFloat16Type)


def is_bool(element: Attribute) -> bool:
    return element == i1


def is_unsigned(element: Attribute) -> bool:
    """Whether it is an unsigned integer; bool counts as unsigned."""
    if not isinstance(element, IntegerType):
        return False
    integer = cast(IntegerType, element)
    return integer.signedness.data == Signedness.UNSIGNED or integer.width.data == 1


def is_integer(element: Attribute) -> bool:
    """Whether it is an integer other than bool."""
    return isinstance(element, IntegerType) and cast(IntegerType, element).width.data > 1


def is_static(shape: Sequence[int]) -> bool:
    return ANY not in shape


def normalize_axis(axis: int, rank: int, what: str = "axis") -> int:
    """The axis counted from the front; raises VerifyException where it is out of [-rank, rank)."""
    if not -rank <= axis < rank:
        raise VerifyException(f"{what} {axis} is out of range for rank {rank}; expected {-rank} to {rank - 1}")
    return axis % rank


def normalize_axes(axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """The axes counted from the front, in order; raises VerifyException for one out of range or given twice."""
    normal = tuple(normalize_axis(axis, rank) for axis in axes)
    if len(set(normal)) != len(normal):
        raise VerifyException(f"an axis occurs twice in {list(normal)}")
    return normal


def broadcast_dims(dims: Sequence[int]) -> int:
    """One dimension of a broadcast: 1 stretches, unequal ones are refused, `?` gives way to a known one above 1."""
    known = {dim for dim in dims if dim not in (1, ANY)}
    if len(known) > 1:
        raise VerifyException(f"dimensions {' and '.join(map(str, sorted(known)))} do not broadcast")
    if known:
        return known.pop()
    return next((dim for dim in dims if isinstance(dim, Dim)), ANY) if ANY in dims else 1


def broadcast_shapes(*shapes: Sequence[int]) -> Shape:
    """The shape that numpy's broadcasting gives; raises VerifyException where there is none."""
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    try:
        return tuple(broadcast_dims(dims) for dims in zip(*padded, strict=True))
    except VerifyException as e:
        raise VerifyException(f"shapes {' and '.join(map(show_shape, shapes))} do not broadcast: {e}") from e


def show_shape(shape: Sequence[int]) -> str:
    """A shape as a person reads it: `[1, ?, 3]`."""
    return "[" + ", ".join("?" if dim == ANY else str(dim) for dim in shape) + "]"


def num_elements(shape: Sequence[int]) -> int:
    """The number of elements, or ANY where a dimension is not known."""
    return math.prod(shape) if is_static(shape) else product(shape)


def add_dims(*dims: int) -> int:
    """The sum of dimensions, ANY if one of them is (and does not say what it depends on)."""
    return ANY if any(dim == ANY and not isinstance(dim, Dim) for dim in dims) else sum(dims)


def compatible(left: Attribute, right: Attribute) -> bool:
    """Whether two types agree in element type, rank and each dimension known on both sides."""
    if not isinstance(left, TensorType) or not isinstance(right, TensorType):
        return left == right
    have, want = cast(Tensor, left), cast(Tensor, right)
    return (
        have.element_type == want.element_type
        and have.get_num_dims() == want.get_num_dims()
        and all(a == b or ANY in (a, b) for a, b in zip(have.get_shape(), want.get_shape(), strict=True))
    )
