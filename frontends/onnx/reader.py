"""Reading ONNX files: the model, its tensors (mapped from the file, not copied) and the types of its values."""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto, numpy_helper

from relay_mlir.dialects.errors import ModelError
from relay_mlir.dialects.relay.types import ANY
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import MAX_KNOWN
from relay_mlir.frontends.onnx.wire import SELF, without_large_tensors

DTYPES: dict[int, np.dtype[Any]] = {
    TensorProto.FLOAT: np.dtype(np.float32),
    TensorProto.DOUBLE: np.dtype(np.float64),
    TensorProto.FLOAT16: np.dtype(np.float16),
    TensorProto.BFLOAT16: np.dtype(ml_dtypes.bfloat16),
    TensorProto.INT8: np.dtype(np.int8),
    TensorProto.INT16: np.dtype(np.int16),
    TensorProto.INT32: np.dtype(np.int32),
    TensorProto.INT64: np.dtype(np.int64),
    TensorProto.UINT8: np.dtype(np.uint8),
    TensorProto.UINT16: np.dtype(np.uint16),
    TensorProto.UINT32: np.dtype(np.uint32),
    TensorProto.UINT64: np.dtype(np.uint64),
    TensorProto.BOOL: np.dtype(np.bool_),
}
"""The element types that relay has, by ONNX's number."""


def numpy_type(data_type: int) -> np.dtype[Any]:
    """The dtype of an ONNX element type; raises Problem for one that relay lacks."""
    if data_type not in DTYPES:
        known = TensorProto.DataType.Name(data_type) if data_type in TensorProto.DataType.values() else data_type
        raise Problem(f"element type {known} is not supported; relay has {', '.join(d.name for d in DTYPES.values())}")
    return DTYPES[data_type]


class TensorReader:
    """Gives the arrays of a model's tensors; those of files are mapped into memory when they are read."""

    def __init__(self, path: Path | None):
        self.path = path
        self._files: dict[Path, np.ndarray] = {}

    def shape(self, tensor: TensorProto) -> tuple[int, ...]:
        """The shape of a tensor; raises Problem for a negative dimension."""
        shape = tuple(tensor.dims)
        if any(dim < 0 for dim in shape):
            raise Problem(f"its shape {list(shape)} has a negative dimension")
        return shape

    def read(self, tensor: TensorProto) -> np.ndarray:
        """The elements of a tensor, aligned for its dtype; raises Problem for malformed or unsupported ones."""
        return self.loader(tensor)()

    def loader(self, tensor: TensorProto) -> Callable[[], np.ndarray]:
        """A function that gives the elements; everything that can be wrong with the tensor is raised here."""
        dtype, shape = numpy_type(tensor.data_type), self.shape(tensor)
        count = math.prod(shape)
        if tensor.data_location == TensorProto.EXTERNAL:
            data = self._external(tensor, count * dtype.itemsize)
        elif tensor.HasField("raw_data"):
            data = np.frombuffer(tensor.raw_data, np.uint8)
        else:
            values = self._typed(tensor, count)
            return lambda: values
        if data.size != count * dtype.itemsize:
            raise Problem(f"it holds {data.size} bytes, but {dtype.name}{list(shape)} takes {count * dtype.itemsize}")
        # A view of the file may start anywhere; arrays are handed to native code, which wants them aligned.
        return lambda: np.require(data.view(dtype).reshape(shape), requirements="A")

    def densify(self, sparse: onnx.SparseTensorProto) -> np.ndarray:
        """The dense form of a sparse tensor; raises Problem for a malformed one."""
        shape = tuple(sparse.dims)
        if any(dim < 0 for dim in shape) or math.prod(shape) > MAX_KNOWN:
            raise Problem(f"a dense tensor of shape {list(shape)} is not possible or too large")
        values, indices = self.read(sparse.values), self.read(sparse.indices)
        dense = np.zeros(shape, values.dtype)
        if values.ndim != 1 or indices.shape not in ((values.size,), (values.size, len(shape))):
            raise Problem(f"values of shape {list(values.shape)} do not fit indices of shape {list(indices.shape)}")
        linear = indices.ndim == 1
        limits = np.asarray([dense.size] if linear else shape)
        if np.any(indices < 0) or np.any(indices.reshape(values.size, -1) >= limits):
            raise Problem(f"an index is outside of the shape {list(shape)}")
        if linear:
            dense.reshape(-1)[indices] = values
        else:
            dense[tuple(indices.T)] = values
        return dense

    def _typed(self, tensor: TensorProto, count: int) -> np.ndarray:
        """The elements of a tensor that are stored as protobuf numbers (`float_data`, `int32_data`, ...)."""
        fields: dict[int, str] = {
            TensorProto.FLOAT: "float_data",
            TensorProto.DOUBLE: "double_data",
            TensorProto.INT64: "int64_data",
            TensorProto.UINT32: "uint64_data",
            TensorProto.UINT64: "uint64_data",
        }
        field = fields.get(tensor.data_type, "int32_data")
        found = len(getattr(tensor, field))
        if found != count:
            raise Problem(f"{field} holds {found} elements, but the shape {list(tensor.dims)} has {count}")
        try:
            return np.asarray(numpy_helper.to_array(tensor), numpy_type(tensor.data_type))
        except (ValueError, TypeError, OverflowError) as e:
            raise Problem(f"its elements cannot be read: {e}") from e

    def _external(self, tensor: TensorProto, length: int) -> np.ndarray:
        """The bytes of a tensor that lie in a file."""
        entries = {entry.key: entry.value for entry in tensor.external_data}
        file = self._file(entries.get("location", ""))
        try:
            offset = int(entries.get("offset", "0"))
            length = int(entries.get("length", str(length)))
        except ValueError as e:
            raise Problem(f"its place in the external file is not a number: {e}") from e
        if offset < 0 or length < 0 or offset + length > file.size:
            raise Problem(f"it needs bytes {offset} to {offset + length} of a file of {file.size} bytes")
        return file[offset : offset + length]

    def _file(self, location: str) -> np.ndarray:
        """The bytes of a file beside the model, mapped; raises Problem for a path that leaves the model's folder."""
        if self.path is None:
            raise Problem("its data is in an external file: import the model from its path, not as a ModelProto")
        if location == SELF:
            path = self.path
        else:
            folder = self.path.parent.resolve()
            try:
                path = (folder / location).resolve()
            except (OSError, ValueError) as e:
                raise Problem(f"external data file {location!r} is not a path: {e}") from e
            if not path.is_relative_to(folder) or path == folder:
                raise Problem(f"external data file {location!r} must lie inside the folder of the model")
        if path not in self._files:
            try:
                self._files[path] = map_file(path)
            except OSError as e:
                raise Problem(f"external data file {location!r} cannot be read: {e.strerror}") from e
        return self._files[path]


def map_file(path: Path) -> np.ndarray:
    """The bytes of a file, mapped read-only into memory; raises OSError."""
    with path.open("rb") as file:
        if path.stat().st_size == 0:
            return np.zeros(0, np.uint8)
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def read_model(path: Path) -> onnx.ModelProto:
    """The model of a file, its large tensors left in the file; raises ModelError for a file that is not a model."""
    try:
        data = map_file(path)
    except OSError as e:
        raise ModelError(f"{path}: cannot be read: {e.strerror}") from e
    model = onnx.ModelProto()
    try:
        model.ParseFromString(without_large_tensors(memoryview(cast(Any, data))))
    except (DecodeError, ValueError) as e:
        raise ModelError(f"{path}: not an ONNX model, or cut off: {e}") from e
    except RecursionError as e:
        raise ModelError(f"{path}: its graphs are nested too deeply") from e
    if not model.HasField("graph"):
        raise ModelError(f"{path}: not an ONNX model: it has no graph")
    if (text := _not_text(model)) is not None:
        raise ModelError(f"{path}: the model is damaged: the name {text!r} is not UTF-8")
    return model


def _not_text(model: onnx.ModelProto) -> bytes | None:
    """A name that is not UTF-8, which protobuf gives as bytes; None where all are text."""
    names: list[object] = [model.graph.name]
    for entry in model.opset_import:
        names.append(entry.domain)
    graphs: list[onnx.GraphProto] = [model.graph]
    for function in model.functions:
        names += [function.name, function.domain, *function.input, *function.output, *function.attribute]
        names += _node_names(function.node, graphs)
    while graphs:
        graph = graphs.pop()
        names += _node_names(graph.node, graphs)
        for tensor in graph.initializer:
            names += [tensor.name, *(entry.value for entry in tensor.external_data)]
        names += [tensor.values.name for tensor in graph.sparse_initializer]
        for value in (*graph.input, *graph.output):
            names.append(value.name)
            names += [dim.dim_param for dim in value.type.tensor_type.shape.dim]
    return next((name for name in names if isinstance(name, bytes)), None)


def _node_names(nodes: Iterable[onnx.NodeProto], graphs: list[onnx.GraphProto]) -> list[object]:
    """The names in nodes; their subgraphs are added to `graphs`."""
    names: list[object] = []
    for node in nodes:
        names += [node.op_type, node.domain, node.name, *node.input, *node.output]
        for attribute in node.attribute:
            names += [attribute.name, attribute.ref_attr_name]
            names += [entry.value for entry in attribute.t.external_data]
            graphs += [attribute.g] if attribute.HasField("g") else []
            graphs += attribute.graphs
    return names


def declared_type(value: onnx.ValueInfoProto) -> tuple[np.dtype[Any], list[int | str] | None]:
    """The dtype and shape that a model declares for a value; a dimension is a number, a name, or ANY.

    The shape is None where the rank is not declared. Raises Problem for what is not a tensor of a supported type.
    """
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        found = "no type" if kind is None else f"the type {kind.removesuffix('_type')}"
        raise Problem(f"it has {found}, but only tensors are supported")
    tensor = value.type.tensor_type
    dtype = numpy_type(tensor.elem_type)
    if not tensor.HasField("shape"):
        return dtype, None
    return dtype, [_declared_dim(dim) for dim in tensor.shape.dim]


def _declared_dim(dim: onnx.TensorShapeProto.Dimension) -> int | str:
    match dim.WhichOneof("value"):
        case "dim_value" if dim.dim_value >= 0:
            return dim.dim_value
        case "dim_value" if dim.dim_value == -1:  # what some exporters write for a dimension they do not know
            return ANY
        case "dim_value":
            raise Problem(f"it has the negative dimension {dim.dim_value}")
        case "dim_param" if dim.dim_param not in ("", "?"):
            return dim.dim_param
        case _:
            return ANY
