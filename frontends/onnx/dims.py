"""Vectors of dimensions while some dimensions are not known: what shape arithmetic gives at import.

The shape of a tensor with open dimensions is a vector of which some elements are known. Taking, joining and slicing
such vectors keeps what is known, so that `Reshape(x, Concat(Shape(x)[0], -1))` needs no bound dimension.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import ValueInfoProto
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from relay_mlir.dialects.relay.dims import Dim, atoms_of
from relay_mlir.dialects.relay.types import ANY, Shape, is_integer, is_static, numpy_dtype, tensor
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.value import Value


def open_shape(proto: ValueInfoProto, shape: Shape) -> Shape:
    """The shape of an input with a Dim for each open dimension; those of one name are equal."""
    declared = proto.type.tensor_type.shape.dim
    names = [dim.dim_param for dim in declared] if len(declared) == len(shape) else [""] * len(shape)
    return tuple(
        Dim.atom(name or (proto.name, place)) if size == ANY else size
        for place, (name, size) in enumerate(zip(names, shape, strict=True))
    )


def name_of_dim(size: int) -> str:
    """The name that the model gives an open dimension of an input; empty where it has none."""
    (name,) = atoms_of(size) or ("",)
    return name if isinstance(name, str) else ""


_LONGEST = 64
"""The length up to which an integer vector may be a vector of dimensions."""


def vector_of(c: Emitter, dims: Sequence[int], shape: Sequence[int] | None = None, element: Attribute = i64) -> Value:
    """The tensor (a vector, or of the given shape) of these elements; a constant where all are known."""
    shape = (len(dims),) if shape is None else tuple(shape)
    if ANY not in dims:
        return c.constant(np.asarray(dims, numpy_dtype(element)).reshape(shape))
    return Value(tensor(shape, element), dims=tuple(dims))


def dims_of(value: Value) -> tuple[int, ...] | None:
    """The elements of a vector or scalar of integers as far as they are known; None where nothing is."""
    if value.dims is not None:
        return value.dims
    if value.known and value.rank <= 1 and is_integer(value.element) and value.size <= _LONGEST:
        return tuple(int(v) for v in value.array().reshape(-1))
    return None


def open_dims(*values: Value) -> bool:
    """Whether one of the values is a vector with unknown elements (and no other knowledge is missing)."""
    return any(value.dims is not None for value in values) and all(dims_of(value) is not None for value in values)


def shape_codes(value: Value) -> tuple[int, ...] | None:
    """A target shape for Reshape: -1 stands for the one element that is not known; None where there are more."""
    dims = dims_of(value)
    if dims is None or sum(dim in (ANY, -1) for dim in dims) > 1 or not is_static(value.shape):
        return None
    return tuple(-1 if dim == ANY else dim for dim in dims)
