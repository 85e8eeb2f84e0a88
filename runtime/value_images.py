"""Values of data types, tuples and references between Python and the memory of compiled programs.

`Image` writes Python values as heap objects (docs/language_runtime.md has their layout) into one piece of memory, whose
pointers are filled in when its address is known. `read_value` reads a value out of memory. Nothing recurses: a list of
a million elements is as good as any.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import ModuleOp, TensorType, TupleType
from xdsl.ir import Attribute

from relay_mlir.dialects.errors import CompileError
from relay_mlir.dialects.relay.language import AdtOp, constructor_fields
from relay_mlir.dialects.relay.language_types import ADTType, RefType
from relay_mlir.dialects.relay.types import Tensor, numpy_dtype
from relay_mlir.lowering.heap_layout import ELEMENTS, HEADER, header, size_class
from relay_mlir.runtime.values import ADT, Ref

if TYPE_CHECKING:
    import numpy as np

_WORD = struct.Struct("<Q")
_HEADER = struct.Struct("<qq")


@dataclass
class ValueTypes:
    """The inputs and outputs of a program by name, and the data types it declares."""

    inputs: dict[str, Attribute]
    outputs: dict[str, Attribute]
    declarations: ModuleOp
    _fields: dict[int, tuple[ADTType, list[tuple[str, list[Attribute]]]]] = field(
        default_factory=dict[int, tuple[ADTType, list[tuple[str, list[Attribute]]]]]
    )
    _tensors: dict[int, tuple[Attribute, np.dtype[np.generic], tuple[int, ...]]] = field(
        default_factory=dict[int, "tuple[Attribute, np.dtype[np.generic], tuple[int, ...]]"]
    )
    """What is known of types, by identity: hashing one takes longer than reading a value."""

    def constructors(self, type_: ADTType) -> list[tuple[str, list[Attribute]]]:
        """Name and field types of the constructors of a data type, by tag."""
        found = self._fields.get(id(type_))
        if found is None:
            declared = next(
                op for op in self.declarations.ops if isinstance(op, AdtOp) and op.sym_name.data == type_.adt_name
            )
            # One object for each type, so that a list of a million elements needs one entry.
            one: dict[Attribute, Attribute] = {type_: type_}
            made = [
                (each.sym_name.data, [one.setdefault(part, part) for part in constructor_fields(each, type_)])
                for each in declared.constructors
            ]
            found = self._fields[id(type_)] = type_, made
        return found[1]

    def tensor(self, type_: Tensor) -> tuple[np.dtype[np.generic], tuple[int, ...]]:
        """The dtype and shape of a tensor type."""
        found = self._tensors.get(id(type_))
        if found is None:
            found = self._tensors[id(type_)] = type_, numpy_dtype(type_.element_type), type_.get_shape()
        return found[1], found[2]

    def check(self) -> None:
        """Raises CompileError for types whose values cannot leave a program."""
        for name, type_ in (*self.inputs.items(), *self.outputs.items()):
            seen: set[Attribute] = set()
            pending = [type_]
            while pending:
                part = pending.pop()
                if part in seen:
                    continue
                seen.add(part)
                match part:
                    case TensorType():
                        pass
                    case TupleType():
                        pending += part.types
                    case RefType():
                        pending.append(part.content)
                    case ADTType():
                        pending += [each for _, fields in self.constructors(part) for each in fields]
                    case _:
                        raise CompileError(
                            f"'{name}' of @main holds a {part}; @main takes and gives tensors, tuples, data types and "
                            "references"
                        )


def immediate(bits: int) -> int:
    """The word of a scalar of up to 32 bits."""
    return bits << 32 | 1


class Image:
    """Objects that are being written; offsets from its start stand for their addresses."""

    def __init__(self, types: ValueTypes):
        self._types = types
        self._data = bytearray()
        self._pointers: list[int] = []
        """Where the image holds an offset that is to become an address."""
        self._refs: dict[int, int] = {}
        self.objects = 0
        self.roots: list[int] = []
        """The offset of each argument's word."""

    def add(self, values: Sequence[tuple[Any, Attribute]]) -> None:
        """Writes the arguments of a program, which have these types."""
        start = self._take(8 * max(len(values), 1), 64)
        self.roots = [start + 8 * i for i in range(len(values))]
        pending = [(value, type_, at) for (value, type_), at in zip(values, self.roots, strict=True)]
        while pending:
            value, type_, at = pending.pop()
            self._write(value, type_, at, pending)

    def _take(self, size: int, alignment: int) -> int:
        start = -(-len(self._data) // alignment) * alignment
        self._data += bytes(start + size - len(self._data))
        return start

    def _object(self, tag: int, words: int, size: int, *, aligned: bool = False) -> int:
        number, rounded = size_class(size, aligned)
        at = self._take(rounded, 64 if number > 32 else 16)
        _HEADER.pack_into(self._data, at, 1, header(tag, number, words))
        self.objects += 1
        return at

    def _point(self, at: int, target: int) -> None:
        _WORD.pack_into(self._data, at, target)
        self._pointers.append(at)

    def _write(self, value: Any, type_: Attribute, at: int, pending: list[tuple[Any, Attribute, int]]) -> None:
        """Writes a value's word at an offset; what it holds is put on the list."""
        match type_:
            case TensorType():
                self._tensor(value, type_, at)
            case ADTType():
                given = cast(ADT, value)
                constructors = self._types.constructors(type_)
                tag = next(i for i, (name, _) in enumerate(constructors) if name == given.constructor)
                self._record(tag, given.fields, constructors[tag][1], at, pending)
            case TupleType():
                self._record(0, cast(Sequence[Any], value), list(type_.types), at, pending)
            case RefType():
                known = self._refs.get(id(value))
                if known is None:
                    known = self._refs[id(value)] = self._object(0, 1, HEADER + 8)
                    pending.append((cast(Ref, value).value, type_.content, known + HEADER))
                else:
                    (count,) = struct.unpack_from("<q", self._data, known)
                    struct.pack_into("<q", self._data, known, count + 1)
                self._point(at, known)
            case _:
                raise CompileError(f"a {type_} cannot be given to a program")

    def _record(
        self,
        tag: int,
        fields: Sequence[Any],
        types: Sequence[Attribute],
        at: int,
        pending: list[tuple[Any, Attribute, int]],
    ) -> None:
        if not fields:
            _WORD.pack_into(self._data, at, 2 * tag + 1)
            return
        made = self._object(tag, len(fields), HEADER + 8 * len(fields))
        self._point(at, made)
        pending += [
            (value, type_, made + HEADER + 8 * i) for i, (value, type_) in enumerate(zip(fields, types, strict=True))
        ]

    def _tensor(self, value: np.ndarray, type_: Tensor, at: int) -> None:
        data = value.tobytes()
        if self._types.tensor(type_)[1]:
            made = self._object(0, 0, ELEMENTS + len(data), aligned=True)
            self._point(at, made)
            self._point(made + HEADER, made + ELEMENTS)
            self._data[made + ELEMENTS : made + ELEMENTS + len(data)] = data
        elif len(data) <= 4:
            _WORD.pack_into(self._data, at, immediate(int.from_bytes(data, "little")))
        else:
            made = self._object(0, 0, HEADER + 8)
            self._point(at, made)
            self._data[made + HEADER : made + HEADER + len(data)] = data

    @property
    def size(self) -> int:
        """The bytes of the image."""
        return len(self._data)

    def copy_to(self, address: int) -> None:
        """Puts a copy of the image into memory at an address that is a multiple of 64."""
        import numpy as np

        words = np.frombuffer(self._data, np.uint64).copy()
        words[np.array(self._pointers, np.int64) // 8] += np.uint64(address)
        ctypes.memmove(address, words.ctypes.data, words.nbytes)


@dataclass
class _Node:
    """A value that is being read: what it is made of comes behind it in the list."""

    type: Attribute
    constructor: str | None
    children: list[int]
    value: Any = None


def read_value(word: int, type_: Attribute, types: ValueTypes) -> Any:
    """The value of a word in this process."""
    nodes: list[_Node] = []
    pending: list[tuple[int, Attribute, int]] = [(word, type_, -1)]
    refs: dict[int, Ref] = {}
    cells: list[tuple[Ref, int]] = []
    while pending:
        word, type_, parent = pending.pop()
        node = _Node(type_, None, [])
        if parent >= 0:
            nodes[parent].children.append(len(nodes))
        index = len(nodes)
        nodes.append(node)
        match type_:
            case TensorType():
                node.value = _read_tensor(word, type_, types)
            case ADTType():
                constructors = types.constructors(type_)
                tag = word >> 1 if word & 1 else ctypes.c_uint16.from_address(word + 8).value
                node.constructor, fields = constructors[tag]
                pending += _children(word, fields, index)
            case TupleType():
                pending += _children(word, list(type_.types), index)
            case RefType():
                known = refs.get(word)
                node.value = known
                if known is None:
                    node.value = refs[word] = Ref(None)
                    cells.append((node.value, index))
                    pending.append((ctypes.c_uint64.from_address(word + HEADER).value, type_.content, index))
            case _:
                raise CompileError(f"a program cannot give a {type_}")
    for node in reversed(nodes):
        fields = [nodes[child].value for child in node.children]
        if isinstance(node.type, ADTType):
            node.value = ADT(cast(str, node.constructor), fields)
        elif isinstance(node.type, TupleType):
            node.value = tuple(fields)
    for ref, index in cells:
        ref.value = nodes[nodes[index].children[0]].value
    return nodes[0].value


def _children(word: int, types: Sequence[Attribute], parent: int) -> list[tuple[int, Attribute, int]]:
    """The fields of a record, the last one first: they are taken from the end of the list."""
    if not types:
        return []
    words = struct.unpack(f"<{len(types)}Q", ctypes.string_at(word + HEADER, 8 * len(types)))
    return [(words[i], types[i], parent) for i in reversed(range(len(types)))]


def _read_tensor(word: int, type_: Tensor, types: ValueTypes) -> np.ndarray:
    import numpy as np

    dtype, shape = types.tensor(type_)
    if shape:
        count = math.prod(shape)
        data = ctypes.string_at(ctypes.c_uint64.from_address(word + HEADER).value, count * dtype.itemsize)
    elif dtype.itemsize <= 4:
        data = (word >> 32).to_bytes(4, "little")[: dtype.itemsize]
    else:
        data = ctypes.string_at(word + HEADER, dtype.itemsize)
    return np.frombuffer(data, dtype).reshape(shape).copy()


def declarations(module: ModuleOp) -> ModuleOp:
    """A module of the data types that a module declares, for when its passes have replaced them."""
    return ModuleOp([op.clone() for op in module.ops if isinstance(op, AdtOp)])


def value_types(
    names: tuple[Sequence[str], Sequence[str]],
    types: tuple[Sequence[Attribute], Sequence[Attribute]],
    module: ModuleOp,
) -> ValueTypes:
    """The interface of a program by names and types of inputs and outputs. Raises CompileError; see ValueTypes."""
    made: Mapping[str, Attribute] = dict(zip(names[0], types[0], strict=True))
    given: Mapping[str, Attribute] = dict(zip(names[1], types[1], strict=True))
    found = ValueTypes(dict(made), dict(given), declarations(module))
    found.check()
    return found
