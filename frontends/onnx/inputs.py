"""What the caller binds of a model's inputs: whole shapes, named dimensions, values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import GraphProto, ValueInfoProto

from relay_mlir.dialects.relay.types import ANY, Shape, numpy_dtype, show_shape
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.reader import declared_type


class Bindings:
    """The bindings of one import. A shape bound to an input also gives its named dimensions their sizes."""

    def __init__(self, shapes: Mapping[str, Sequence[int] | int], values: Mapping[str, np.ndarray | Sequence[float]]):
        self.shapes = {name: tuple(shape) for name, shape in shapes.items() if not isinstance(shape, int)}
        self.dims = {name: size for name, size in shapes.items() if isinstance(size, int)}
        self.values = dict(values)

    def check_names(self, graph: GraphProto, inputs: set[str]) -> None:
        """Checks that every binding names something of the model; raises Problem that lists what can be bound."""
        dims = set(_dim_names(graph.input))
        for name in (inputs & set(self.dims)) - dims:  # one size: the shape of a vector
            self.shapes[name] = (self.dims.pop(name),)
        for name in (*self.shapes, *self.values):
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
