"""The weight blob of a program: the weights of a store at the offsets of `weight_layout`, streamed or in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute

from relay_mlir.dialects.errors import CompileError
from relay_mlir.dialects.relay.weights import WeightStore
from relay_mlir.lowering.diagnostics import did_you_mean

if TYPE_CHECKING:
    import numpy as np

ALIGNMENT = 64
_CHUNK = 16 << 20


def parse_layout(attribute: Attribute | None) -> list[tuple[str, int, int]]:
    """The (name, offset, bytes) of each weight, from the function attribute `weight_layout`."""
    if not isinstance(attribute, ArrayAttr):
        raise CompileError("@main has no attribute 'weight_layout': run plan-memory")
    entries: list[tuple[str, int, int]] = []
    for entry in cast(ArrayAttr[Attribute], attribute):
        match cast(ArrayAttr[Any], entry).data:
            case (StringAttr() as key, IntegerAttr() as offset, IntegerAttr() as size):
                entries.append((key.data, offset.value.data, size.value.data))
            case _:
                raise CompileError(f'an entry of weight_layout is {entry}; expected ["name", offset, bytes]')
    return sorted(entries, key=lambda entry: entry[1])


class WeightsBlob:
    """The bytes of all weights. They come from the store until `in_memory` is called, and from memory afterwards."""

    def __init__(self, layout: Sequence[tuple[str, int, int]], size: int, store: WeightStore):
        self._layout = list(layout)
        self._store: WeightStore | None = store
        self._memory: np.ndarray | None = None
        self.size = size
        missing = [key for key, _, _ in self._layout if key not in store]
        if missing:
            hint = did_you_mean(missing[0], store)
            raise CompileError(f"weight '{missing[0]}' is not in the weight store{hint}")

    def chunks(self) -> Iterator[memoryview]:
        """The bytes, in order; no more than one weight is held at a time."""
        if self._memory is not None:
            data = self._memory.data
            for start in range(0, self.size, _CHUNK):
                yield data[start : start + _CHUNK]
            return
        position = 0
        for key, offset, size in self._layout:
            yield memoryview(bytes(offset - position))
            yield self._array(key, size).data
            position = offset + size
        yield memoryview(bytes(self.size - position))

    def in_memory(self) -> np.ndarray:
        """The bytes as an array that starts at a 64-byte boundary; the store is let go."""
        import numpy as np

        if self._memory is None:
            memory = np.empty(self.size + ALIGNMENT, np.uint8)
            start = -memory.ctypes.data % ALIGNMENT
            memory = memory[start : start + self.size]
            position = 0
            for chunk in self.chunks():
                memory[position : position + len(chunk)] = np.frombuffer(chunk, np.uint8)
                position += len(chunk)
            memory.flags.writeable = False
            self._memory, self._store = memory, None
        return self._memory

    def _array(self, key: str, size: int) -> np.ndarray:
        import numpy as np

        assert self._store is not None
        array = np.ascontiguousarray(self._store[key]).reshape(-1).view(np.uint8)
        if array.nbytes != size:
            raise CompileError(f"weight '{key}' has {array.nbytes} bytes, but the program expects {size}")
        return array
