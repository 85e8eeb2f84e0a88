"""The weight store: tensors that the IR only names, held in memory or read from safetensors files when asked for.

`relay.weight "fc.weight"` names an entry of the store of the context (`weights_of(ctx)`). The function attribute
`weights = "model.safetensors"` of `@main` names the file beside the .mlir file that holds them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from xdsl.context import Context
from xdsl.ir import Operation

if TYPE_CHECKING:
    import numpy as np

Loader = Callable[[], "np.ndarray"]


@dataclass
class WeightStore:
    """Tensors by name. An entry is an array or a function that reads it; arrays are never written to."""

    _entries: dict[str, np.ndarray | Loader] = field(default_factory=dict[str, "np.ndarray | Loader"])

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __getitem__(self, key: str) -> np.ndarray:
        """The tensor of this name; raises KeyError."""
        entry = self._entries[key]
        return entry() if callable(entry) else entry

    def entry(self, key: str) -> np.ndarray | Loader:
        """The tensor of this name, or the function that reads it; raises KeyError."""
        return self._entries[key]

    def __delitem__(self, key: str) -> None:
        del self._entries[key]

    def add(self, key: str, value: np.ndarray | Loader) -> None:
        """Puts a tensor (or a function that reads it) into the store; raises ValueError where the name is taken."""
        if key in self._entries:
            raise ValueError(f"weight '{key}' is defined twice")
        self._entries[key] = value

    def add_derived(self, stem: str, value: np.ndarray) -> str:
        """Puts a computed tensor into the store under a name made of `stem` and its content; returns the name.

        Equal tensors share one entry, so the same program gives the same names.
        """
        import hashlib

        import numpy as np

        contiguous = np.ascontiguousarray(value)
        digest = hashlib.sha256(f"{value.dtype.name}{value.shape}".encode())
        digest.update(contiguous.reshape(-1).view(np.uint8).data)
        key = f"{stem}.{digest.hexdigest()[:12]}"
        self._entries.setdefault(key, contiguous)
        return key

    def add_lazily(self, key: str, source: str, derive: Callable[[np.ndarray], np.ndarray]) -> None:
        """Puts a tensor into the store that is computed from another each time it is asked for.

        It stays readable when the other is forgotten; nothing is held twice.
        """
        entry = self._entries[source]
        self.add(key, lambda: derive(entry() if callable(entry) else entry))

    def keep(self, keys: Iterable[str]) -> None:
        """Forgets every tensor whose name is not among `keys`."""
        kept = set(keys)
        self._entries = {key: entry for key, entry in self._entries.items() if key in kept}

    def load(self, path: Path) -> None:
        """Adds the tensors of a safetensors file, each read when first asked for.

        Raises OSError or safetensors.SafetensorError for a file that cannot be read.
        """
        with _open(path) as file:
            keys = list(file.keys())

        def reader(key: str) -> Loader:
            def read() -> np.ndarray:
                import_module("ml_dtypes")  # teaches numpy bfloat16
                with _open(path) as file:
                    return file.get_tensor(key)

            return read

        for key in keys:
            self.add(key, reader(key))

    def save(self, path: Path, keys: Iterable[str]) -> None:
        """Writes the named tensors to a safetensors file, beside it first and then renamed."""
        save_file = cast(Any, import_module("safetensors.numpy")).save_file
        beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            beside.touch()
            mode = beside.stat().st_mode  # what the umask gives; safetensors makes files that only their owner reads
            save_file({key: _contiguous(self[key]) for key in keys}, str(beside))
            beside.chmod(mode)
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)


class _SafetensorsFile(Protocol):
    """What is used of an open safetensors file, whose package declares no types."""

    def keys(self) -> Iterable[str]: ...

    def get_tensor(self, name: str) -> np.ndarray: ...


def _open(path: Path) -> AbstractContextManager[_SafetensorsFile]:
    from safetensors import safe_open

    return cast("AbstractContextManager[_SafetensorsFile]", safe_open(str(path), framework="np"))


def _contiguous(array: np.ndarray) -> np.ndarray:
    import numpy as np

    return np.ascontiguousarray(array).reshape(array.shape)


@dataclass
class RelayContext(Context):
    """An xDSL context with a weight store, which loads an operator of relay when a program first names it."""

    weights: WeightStore = field(default_factory=WeightStore)

    def load_registered_dialect(self, name: str) -> None:
        if name != "relay":
            return super().load_registered_dialect(name)
        from relay_mlir.dialects.relay.dialect import Relay

        self._loaded_dialects[name] = Relay
        for op in Relay.forms:
            self.load_op(op)
        for attribute in Relay.attributes:
            self.load_attr_or_type(attribute)

    def _get_known_op(self, name: str) -> type[Operation] | None:
        known = super()._get_known_op(name)
        if known is None and name.startswith("relay.") and "relay" in self._loaded_dialects:
            from relay_mlir.dialects.relay.op import OPERATORS

            operator = OPERATORS.get(name.removeprefix("relay."))
            # All of them where there is none of this name: for the message, which proposes one that is spelled like it.
            for cls in OPERATORS.values() if operator is None else [operator]:
                self._loaded_ops.setdefault(cls.op_class.name, cls.op_class)
            known = self._loaded_ops.get(name)
        return known


def weights_of(ctx: Context) -> WeightStore:
    """The weight store of a context; raises TypeError where it has none."""
    if not isinstance(ctx, RelayContext):
        raise TypeError("this pass reads weights: run it with a RelayContext")
    return ctx.weights
