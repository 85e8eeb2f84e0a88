"""The metadata section of Relay text: TVM's JSON graph of objects, read into values.

    {"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": [...], "data": [...]}, ...],
     "b64ndarrays": [...], "attrs": {...}}

Node 0 is null. The root maps type keys to arrays of objects; `meta[relay.Constant][2]` is the third of that key. The
fields of an object are text: a number of a node where the field holds an object, otherwise the value itself.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import numpy as np

from relay_mlir.frontends.relay_text.syntax import MetaRef
from relay_mlir.lowering.ir_text import SourceText

_ARRAY_MAGIC = 0xDD5E40F096B4A13F
_HEADER = struct.Struct("<QQii")
_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat"}


@dataclass
class Object:
    """An object of the metadata: its type key and its fields as text."""

    key: str
    fields: dict[str, str]


MetaValue: TypeAlias = "int | float | bool | str | np.ndarray | list[MetaValue] | dict[str, MetaValue] | Object | None"


class MetadataError(Exception):
    """What is wrong with a metadata section, or with a reference into it."""


def decode_array(data: bytes) -> np.ndarray:
    """A tensor in TVM's stream format: magic, device, dimensions, dtype, bytes; raises MetadataError."""
    try:
        magic, _, _, _ = _HEADER.unpack_from(data)
        ndim, code, bits, lanes = struct.unpack_from("<iBBH", data, _HEADER.size)
        start = _HEADER.size + 8
        if magic != _ARRAY_MAGIC or not 0 <= ndim <= 64 or lanes != 1:
            raise MetadataError("a tensor is not in TVM's format")
        shape = struct.unpack_from(f"<{ndim}q", data, start)
        (size,) = struct.unpack_from("<q", data, start + 8 * ndim)
    except struct.error as e:
        raise MetadataError("a tensor of the metadata is cut off") from e
    dtype = _dtype(code, bits)
    content = data[start + 8 * ndim + 8 :]
    if any(dim < 0 for dim in shape) or size != len(content) or size != dtype.itemsize * int(np.prod(shape)):
        raise MetadataError(f"a tensor of the metadata has {len(content)} bytes, which do not make {list(shape)}")
    return np.frombuffer(content, dtype).reshape(shape)


def _dtype(code: int, bits: int) -> np.dtype[Any]:
    name = _CODES.get(code, "?") + str(bits)
    if name in ("uint1",):
        return np.dtype("bool")
    try:
        if name == "bfloat16":
            import ml_dtypes

            return np.dtype(ml_dtypes.bfloat16)
        return np.dtype(name)
    except TypeError as e:
        raise MetadataError(f"tensors of dtype {name} are not supported") from e


@dataclass
class Metadata:
    """The objects that `meta[key][index]` names."""

    source: SourceText
    nodes: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    arrays: list[str] = field(default_factory=list[str])
    table: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    given: dict[str, list[MetaValue]] = field(default_factory=dict[str, list[MetaValue]])
    """Further entries of each key, after those of the text."""
    _decoded: dict[int, np.ndarray] = field(default_factory=dict[int, np.ndarray])

    def read(self, text: str) -> None:
        """Reads a section; raises MetadataError."""
        try:
            graph = json.loads(text)
            self.nodes, self.arrays = graph["nodes"], graph.get("b64ndarrays", [])
            root = self.nodes[int(graph["root"])]
            for key, node in zip(root.get("keys", []), root.get("data", []), strict=True):
                found = cast(dict[str, list[Any]], self.nodes[node])
                self.table[key] = [int(entry) for entry in found.get("data", [])]
        except (ValueError, KeyError, TypeError, LookupError, AttributeError, RecursionError) as e:
            raise MetadataError(f"the metadata section is not a JSON graph of objects: {e!r}") from e

    def entry(self, key: str, index: int) -> MetaValue:
        """The value that `meta[key][index]` names; raises MetadataError."""
        own, more = self.table.get(key, []), self.given.get(key, [])
        if not own and not more:
            raise MetadataError(f"the metadata has no `{key}`")
        if index >= len(own) + len(more):
            raise MetadataError(f"the metadata has {len(own) + len(more)} of `{key}`, but number {index} is asked for")
        return more[index - len(own)] if index >= len(own) else self.value(own[index])

    def value(self, number: int, depth: int = 0) -> MetaValue:
        """The value of a node; raises MetadataError."""
        try:
            return self._value(number, depth)
        except (KeyError, ValueError, TypeError, LookupError, AttributeError, binascii.Error) as e:
            raise MetadataError(f"node {number} of the metadata is malformed: {e!r}") from e

    def _value(self, number: int, depth: int) -> MetaValue:
        if depth > 50:
            raise MetadataError("the objects of the metadata are nested too deeply")
        node = self.nodes[number]
        fields = cast("dict[str, str]", node.get("attrs", {}))
        match node["type_key"]:
            case "":
                return None
            case "Array":
                return [self._value(int(item), depth + 1) for item in node.get("data", [])]
            case "Map":
                pairs = zip(node.get("keys", []), node.get("data", []), strict=True)
                return {str(key): self._value(int(item), depth + 1) for key, item in pairs}
            case "IntImm":
                return bool(int(fields["value"])) if fields["dtype"] == "bool" else int(fields["value"])
            case "FloatImm":
                return float(fields["value"])
            case "runtime.String":
                return str(node.get("repr_str", ""))
            case "runtime.BoxInt":
                return int(node["repr_str"])
            case "runtime.BoxFloat":
                return float(node["repr_str"])
            case "runtime.BoxBool":
                return node["repr_str"] in ("1", "true", "True")
            case "tir.StringImm":
                return self._value(int(fields["value"]), depth + 1)
            case "relay.Constant":
                return self._array(int(fields["data"]))
            case key:
                return Object(key, fields)

    def _array(self, number: int) -> np.ndarray:
        if number not in self._decoded:
            self._decoded[number] = decode_array(base64.b64decode(self.arrays[number], validate=True))
        return self._decoded[number]

    # References

    def is_attribute_object(self, key: str, index: int) -> bool:
        """Whether an entry is the attributes of a call."""
        del index
        return key.startswith("relay.attrs.") or key == "DictAttrs" or key.startswith("attrs.")

    def referenced(self, node: MetaRef) -> MetaValue:
        """The value of a reference; raises DiagnosticError."""
        try:
            return self.entry(node.key, node.index)
        except MetadataError as e:
            raise self.source.error(str(e), node.position) from e

    def constant(self, node: MetaRef) -> np.ndarray:
        """The tensor of a reference; raises DiagnosticError."""
        value = self.referenced(node)
        if not isinstance(value, np.ndarray):
            raise self.source.error(f"expected a tensor, but `{node.key}` {node.index} is not one", node.position)
        return value
