"""What the caller binds of a model's inputs: whole shapes, named dimensions, values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from onnx import GraphProto, TypeProto, ValueInfoProto

from relay_mlir.dialects.relay.types import ANY, Shape, element_type, numpy_dtype, show_shape, tensor
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.reader import declared_type, numpy_type
from relay_mlir.frontends.onnx.structures import Item, Maybe, TensorList


class Bindings:
    """The bindings of one import. A shape bound to an input also gives its named dimensions their sizes."""

    def __init__(
        self,
        shapes: Mapping[str, Sequence[int] | Sequence[Sequence[int]] | int],
        values: Mapping[str, np.ndarray | Sequence[float] | None],
    ):
        self.shapes: dict[str, Shape] = {}
        self.lists: dict[str, list[Shape]] = {}
        """The shapes of the tensors of inputs that are sequences."""
        self.dims: dict[str, int] = {}
        for name, shape in shapes.items():
            if isinstance(shape, int):
                self.dims[name] = shape
            elif any(not isinstance(size, int) for size in shape):
                self.lists[name] = [tuple(cast(Sequence[int], size)) for size in shape]
            else:
                self.shapes[name] = tuple(cast(Sequence[int], shape))
        self.values = {name: value for name, value in values.items() if value is not None}
        self.empty = {name for name, value in values.items() if value is None}
        """Optional inputs without content."""

    def check_names(self, graph: GraphProto, inputs: set[str]) -> None:
        """Checks that every binding names something of the model; raises Problem that lists what can be bound."""
        dims = set(_dim_names(graph.input))
        for name in (inputs & set(self.dims)) - dims:  # one size: the shape of a vector
            self.shapes[name] = (self.dims.pop(name),)
        for name in (*self.shapes, *self.lists, *self.values, *self.empty):
            if name not in inputs:
                raise Problem(f"'{name}' is bound, but is not an input; the inputs are {_list(inputs)}")
        for name in self.dims:
            if name not in dims:
                raise Problem(f"'{name}' is bound, but is not a dimension; the named dimensions are {_list(dims)}")

    def bind_names(self, inputs: Iterable[ValueInfoProto]) -> None:
        """Learns the sizes of named dimensions from the shapes (and values) bound to whole inputs."""
        for proto in inputs:
            shape = self.shapes.get(proto.name)
            try:
                dtype, declared = declared_type(proto)
            except Problem:
                continue  # told when the input itself is resolved
            if proto.name in self.values:
                value = _array(self.values[proto.name], dtype, declared)
                self.values[proto.name] = value
                shape = value.shape
            for dim, size in zip(declared or (), shape or (), strict=False):
                if isinstance(dim, str):
                    self.dims.setdefault(dim, size)

    def resolve(self, proto: ValueInfoProto) -> tuple[np.dtype[Any], Shape]:
        """The dtype and shape of an input, bound dimensions put in; raises Problem where they contradict the model."""
        dtype, declared = declared_type(proto)
        bound = self.shapes.get(proto.name)
        if proto.name in self.values:
            bound = np.shape(self.values[proto.name])
        if bound is not None and any(dim < 0 for dim in bound):
            raise Problem(f"the bound shape {list(bound)} has a negative dimension")
        if declared is None:
            if bound is None:
                raise Problem(f"the model declares no shape; bind one with --shape {proto.name}=...")
            return dtype, bound
        if bound is None:
            bound = tuple(self.dims.get(dim, ANY) if isinstance(dim, str) else dim for dim in declared)
        if len(bound) != len(declared):
            raise Problem(
                f"the bound shape {list(bound)} has rank {len(bound)}, but the model declares {len(declared)}"
            )
        for dim, size in zip(declared, bound, strict=True):
            expected = self.dims.get(dim, size) if isinstance(dim, str) else dim
            if expected not in (size, ANY):
                name = f"dimension '{dim}'" if isinstance(dim, str) else "the model"
                raise Problem(f"the bound shape {list(bound)} has {size} where {name} has {expected}")
        return dtype, bound

    def structure(self, proto: ValueInfoProto) -> Item:
        """An input that is a sequence or an optional, its tensors without values; raises Problem where it is open."""
        type_ = proto.type
        optional = type_.HasField("optional_type")
        if optional:
            type_ = type_.optional_type.elem_type
            if proto.name in self.empty:
                return Maybe(None)
        content = self._sequence(proto.name, type_) if type_.HasField("sequence_type") else self._content(proto, type_)
        return Maybe(content) if optional else content

    def _sequence(self, name: str, type_: TypeProto) -> TensorList:
        element = element_type(_tensor_dtype(type_.sequence_type.elem_type))
        shapes = self.lists.get(name, [] if self.shapes.get(name) == () else None)
        if shapes is None:
            raise Problem("it is a sequence: bind it to the list of the shapes of its tensors")
        return TensorList(tuple(Value(tensor(shape, element)) for shape in shapes), element)

    def _content(self, proto: ValueInfoProto, type_: TypeProto) -> Value:
        dtype, shape = _tensor_dtype(type_), self.shapes.get(proto.name)
        if shape is None:
            raise Problem("it is an optional: bind the shape of its content, or None as its value where it is empty")
        return Value(tensor(shape, element_type(dtype)))

    def value(self, name: str, dtype: np.dtype[Any], shape: Shape) -> np.ndarray | None:
        """The value bound to an input, or None; raises Problem for a value of another dtype."""
        if name not in self.values:
            return None
        value = np.asarray(self.values[name])
        if value.dtype != dtype or value.shape != shape:
            raise Problem(f"the bound value is {value.dtype}{list(value.shape)}, but the input {dtype}{list(shape)}")
        return value

    def check_output(self, value: Value, dtype: np.dtype[Any], declared: Sequence[int | str] | None) -> None:
        """Compares an output with its declaration; raises Problem where they contradict each other."""
        found = numpy_dtype(value.element)
        if found != dtype:
            raise Problem(f"the model declares {dtype.name}, but the nodes give {found.name}")
        if declared is None:
            return
        expected = [self.dims.get(dim, ANY) if isinstance(dim, str) else dim for dim in declared]
        agree = len(expected) == value.rank and all(
            a == b or ANY in (a, b) for a, b in zip(expected, value.shape, strict=True)
        )
        if not agree and not self.shapes:
            raise Problem(
                f"the model declares the shape {show_shape(expected)}, but the nodes give {show_shape(value.shape)}"
            )


def _tensor_dtype(type_: TypeProto) -> np.dtype[Any]:
    """The dtype of a type that is a tensor; raises Problem for another."""
    kind = type_.WhichOneof("value")
    if kind != "tensor_type":
        raise Problem(f"it is made of {kind or 'nothing'}, but only sequences and optionals of tensors are supported")
    return numpy_type(type_.tensor_type.elem_type)


def _array(
    value: np.ndarray | Sequence[float], dtype: np.dtype[Any], declared: Sequence[int | str] | None
) -> np.ndarray:
    """A bound value; bare numbers take the dtype and, where there is one, the shape that the model declares."""
    if isinstance(value, np.ndarray):
        return value
    array = np.asarray(value)
    if array.dtype.kind == "i" or dtype.kind not in "iub":
        array = array.astype(dtype)
    sizes = [dim for dim in declared or [] if isinstance(dim, int) and dim >= 0]
    if declared is not None and len(sizes) == len(declared) and np.prod(sizes, dtype=np.int64) == array.size:
        array = array.reshape(sizes)
    return array


def _dim_names(inputs: Iterable[ValueInfoProto]) -> list[str]:
    return [dim.dim_param for proto in inputs for dim in proto.type.tensor_type.shape.dim if dim.dim_param]


def _list(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in sorted(names)) or "none"
