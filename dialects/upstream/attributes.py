"""Views of xDSL's generic attributes with types that a type checker can follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Attribute


def as_vector(type_: Attribute) -> VectorType[Attribute] | None:
    """The type if it is a vector."""
    return cast("VectorType[Attribute]", type_) if isinstance(type_, VectorType) else None


def element_of(type_: Attribute) -> Attribute:
    """The element type of a vector; any other type is its own."""
    vector = as_vector(type_)
    return type_ if vector is None else vector.element_type


def with_element(like: Attribute, element: Attribute) -> Attribute:
    """The type of this shape with another element type."""
    vector = as_vector(like)
    return element if vector is None else VectorType(element, vector.shape)


def integers(array: Attribute | None) -> Sequence[int]:
    """The numbers of a dense array of integers."""
    assert isinstance(array, DenseArrayBase)
    return cast("Sequence[int]", cast(Any, array).get_values())


def integer(attribute: Attribute | None) -> int:
    """The number of an integer attribute."""
    assert isinstance(attribute, IntegerAttr)
    return cast("IntegerAttr[IntegerType]", attribute).value.data


def width_of(type_: Attribute) -> int:
    """The bits of an integer, or of a vector's."""
    element = element_of(type_)
    assert isinstance(element, IntegerType)
    return cast("IntegerType", element).width.data


def dense(type_: Attribute, values: Sequence[int] | Sequence[float]) -> DenseIntOrFPElementsAttr[Any]:
    """A dense attribute of a vector or tensor type; one value stands for all."""
    return cast("DenseIntOrFPElementsAttr[Any]", cast(Any, DenseIntOrFPElementsAttr).from_list(type_, list(values)))


def numbers(attribute: Attribute) -> Sequence[int | float]:
    """The values of a dense attribute, each of them."""
    assert isinstance(attribute, DenseIntOrFPElementsAttr)
    return cast("Sequence[int | float]", cast(Any, attribute).get_values())


def is_vector(type_: Attribute) -> bool:
    """Whether a type is a vector. (Unlike isinstance it leaves the checker's idea of the type alone.)"""
    return isinstance(type_, VectorType)


def is_integer(type_: Attribute) -> bool:
    """Whether a type is an integer of some width."""
    return isinstance(type_, IntegerType)


def is_dense(attribute: Attribute) -> bool:
    """Whether an attribute is a dense one of numbers."""
    return isinstance(attribute, DenseIntOrFPElementsAttr)


def lanes_of(type_: Attribute) -> int:
    """The lanes of a vector of one dimension."""
    vector = as_vector(type_)
    assert vector is not None
    return vector.get_shape()[0]
