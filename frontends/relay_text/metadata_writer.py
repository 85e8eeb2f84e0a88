"""The tensors of a program that is written as Relay text, and the metadata section that holds them for TVM."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import numpy as np

TVM_VERSION = "0.19.0"
"""The version of TVM whose metadata is written, the last that has Relay."""

_CODES = {"i": 0, "u": 1, "f": 2, "b": 1}


def encode_array(array: np.ndarray) -> bytes:
    """A tensor in TVM's stream format, on the CPU."""
    name = array.dtype.name
    code = 4 if name == "bfloat16" else _CODES[array.dtype.kind]
    bits = 1 if name == "bool" else array.dtype.itemsize * 8
    data = np.ascontiguousarray(array).tobytes()
    return (
        struct.pack("<QQiiiBBH", 0xDD5E40F096B4A13F, 0, 1, 0, array.ndim, code, bits, 1)
        + struct.pack(f"<{array.ndim}q", *array.shape)
        + struct.pack("<q", len(data))
        + data
    )


class Constants:
    """The tensors that `meta[relay.Constant][n]` names, each once."""

    KEY = "relay.Constant"

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._known: dict[Any, int] = {}

    def reference(self, array: np.ndarray, key: str | None = None) -> str:
        """The reference to a tensor; `key` is its name in the weight store."""
        identity = key or (array.dtype.name, array.shape, array.tobytes())
        if identity not in self._known:
            self._known[identity] = len(self.arrays)
            self.arrays.append(array)
        return f"meta[{self.KEY}][{self._known[identity]}]"

    def section(self) -> str:
        """The metadata section as TVM's JSON graph, or nothing where there is no tensor."""
        if not self.arrays:
            return ""
        first = 5
        constant = {"_checked_type_": "0", "span": "0", "virtual_device_": "3"}
        device = {"device_type_int": "-1", "memory_scope": "4", "target": "0", "virtual_device_id": "-1"}
        nodes: list[dict[str, Any]] = [
            {"type_key": ""},
            {"type_key": "Map", "keys": [self.KEY], "data": [2]},
            {"type_key": "Array", "data": list(range(first, first + len(self.arrays)))},
            {"type_key": "VirtualDevice", "attrs": device},
            {"type_key": "runtime.String"},
        ]
        for number in range(len(self.arrays)):
            nodes.append({"type_key": self.KEY, "attrs": {**constant, "data": str(number)}})
        graph = {
            "root": 1,
            "nodes": nodes,
            "b64ndarrays": [base64.b64encode(encode_array(array)).decode() for array in self.arrays],
            "attrs": {"tvm_version": TVM_VERSION},
        }
        return f"\n#[metadata]\n{json.dumps(graph, indent=2)}\n"
