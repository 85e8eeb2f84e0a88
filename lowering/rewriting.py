"""What the relay passes share: replacing operations without losing locations, and reading and making constants."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    FusedLoc,
    LocationAttr,
    ModuleOp,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from relay_mlir.dialects.relay.core import ConstantOp, FuncOp, WeightOp
from relay_mlir.dialects.relay.op import Operator, RelayOp
from relay_mlir.dialects.relay.types import Tensor, is_bool, is_static, numpy_dtype, type_of
from relay_mlir.dialects.relay.weights import WeightStore

if TYPE_CHECKING:
    import numpy as np

INLINE_ELEMENTS = 16
"""A tensor of at most this many elements is written out in the program; a larger one goes to the weight store."""

_DERIVED = re.compile(r"\.[0-9a-f]{12}$")


# Locations and replacement


def fuse_locations(locations: Iterable[Attribute]) -> LocationAttr:
    """One location that names all the given ones, each once, in order; unknown ones are left out."""
    parts: dict[Attribute, None] = {}
    for location in locations:
        nested = isinstance(location, FusedLoc) and isinstance(location.metadata, NoneAttr)
        for part in cast(ArrayAttr[Attribute], cast(FusedLoc, location).locations).data if nested else (location,):
            if not isinstance(part, UnknownLoc):
                parts[part] = None
    if len(parts) > 1:
        return FusedLoc(ArrayAttr(list(parts)), NoneAttr())
    return cast(LocationAttr, next(iter(parts), UnknownLoc()))


def replace_op(op: Operation, values: Sequence[SSAValue]) -> None:
    """Replaces the results of an operation by values of the same types, and erases it.

    An operation that has no location yet and makes one of the values takes over the location; names go over as well.
    """
    for result, value in zip(op.results, values, strict=True):
        if isinstance(value, OpResult) and isinstance(value.op.location, UnknownLoc):
            value.op.location = op.location
        if value.name_hint is None:
            value.name_hint = result.name_hint
        result.replace_all_uses_with(value)
    erase_op(op)


def erase_op(op: Operation) -> None:
    """Removes an operation without uses from its block."""
    op.detach()
    op.erase()


@dataclass
class Emitter:
    """Inserts operations before another one, each with the same location."""

    before: Operation
    location: LocationAttr

    @staticmethod
    def at(op: Operation) -> Emitter:
        """An emitter before `op`, with its location: for what replaces it."""
        return Emitter(op, op.location)

    def insert(self, op: Operation) -> SSAValue:
        """Inserts an operation; returns its first result."""
        return self.insert_all(op)[0]

    def insert_all(self, op: Operation) -> Sequence[SSAValue]:
        """Inserts an operation; returns its results."""
        op.location = self.location
        block = self.before.parent
        assert block is not None
        block.insert_op_before(op, self.before)
        return op.results

    def __call__(self, operator: Operator, *operands: SSAValue) -> SSAValue:
        """Inserts an operator applied to values; raises VerifyException where its type relation refuses them."""
        return self.insert(operator.on(*operands))


def attributes_key(op: Operation) -> Hashable:
    """What two operations have in common exactly if their attributes and properties agree bit for bit."""
    attributes = (*op.properties.items(), *op.attributes.items())
    return tuple(sorted(((name, _exact(value)) for name, value in attributes), key=lambda item: item[0]))


def _exact(attribute: Attribute) -> Hashable:
    """An attribute, with floats by their bits: -0.0 is not 0.0, and NaN is itself."""
    if isinstance(attribute, FloatAttr):
        number = cast(FloatAttr[AnyFloat], attribute)
        return number.type, number.value.data.hex()
    if isinstance(attribute, DenseArrayBase):
        array = cast(DenseArrayBase[AnyFloat], attribute)
        return array.elt_type, array.data
    if isinstance(attribute, ArrayAttr):
        return tuple(_exact(item) for item in cast(ArrayAttr[Attribute], attribute))
    return attribute


# Walking


def functions(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions of a module that are not fused groups, in order."""
    return (op for op in list(module.ops) if isinstance(op, FuncOp) and not op.primitive)


def applies(op: Operation, *operators: type[Operator]) -> bool:
    """Whether the operation applies one of these operators."""
    return isinstance(op, RelayOp) and op.OPERATOR in operators


def producer(value: SSAValue, *operators: type[Operator]) -> RelayOp | None:
    """The operation that makes the value, if it applies one of these operators (any operator where none is given)."""
    if isinstance(value, OpResult) and isinstance(value.op, RelayOp):
        return value.op if not operators or value.op.OPERATOR in operators else None
    return None


class SymbolNames:
    """The symbols of a module, and new ones that are made readable and the same for the same module."""

    def __init__(self, module: ModuleOp):
        symbols = (op.get_attr_or_prop("sym_name") for op in module.ops)
        self._counts = {symbol.data: 0 for symbol in symbols if isinstance(symbol, StringAttr)}

    def fresh(self, stem: str) -> str:
        """`stem`, or `stem_1`, `stem_2` ... where that is taken."""
        name = stem
        while name in self._counts:
            self._counts[stem] += 1
            name = f"{stem}_{self._counts[stem]}"
        self._counts[name] = 0
        return name


# Constants


def is_constant(value: SSAValue) -> bool:
    """Whether the value is a relay.constant or a relay.weight."""
    return isinstance(value, OpResult) and isinstance(value.op, ConstantOp | WeightOp)


def constant_array(value: SSAValue, store: WeightStore) -> np.ndarray | None:
    """The value of a relay.constant, or of a relay.weight that the store has; else None. The array is read-only."""
    if not isinstance(value, OpResult):
        return None
    if isinstance(value.op, WeightOp):
        return store[value.op.key.data] if value.op.key.data in store else None
    if isinstance(value.op, ConstantOp):
        return dense_array(value.op.value)
    return None


def dense_array(value: DenseIntOrFPElementsAttr) -> np.ndarray:
    """The elements of a dense literal, with the numpy dtype of its element type."""
    import numpy as np

    element = cast(Attribute, value.type.element_type)
    # xDSL stores a bool as a byte that is 0 or 255.
    stored = np.dtype(np.uint8) if is_bool(element) else numpy_dtype(element)
    array = np.frombuffer(value.data.data, stored).reshape(value.get_shape())
    return array != 0 if is_bool(element) else array


def dense_literal(array: np.ndarray) -> DenseIntOrFPElementsAttr:
    """The dense literal of an array, bit for bit."""
    import numpy as np

    type_ = type_of(array)
    stored = array.astype(np.uint8) * np.uint8(255) if is_bool(type_.element_type) else array
    return DenseIntOrFPElementsAttr(cast(Any, type_), BytesAttr(np.ascontiguousarray(stored).tobytes()))


def make_constant(array: np.ndarray, store: WeightStore, stem: str = "constant") -> Operation:
    """An operation that makes the array: a relay.constant if it is small, else a relay.weight of the store.

    `stem` begins the name of a new weight; the rest is made of the content, so equal tensors share one entry.
    """
    if array.size <= INLINE_ELEMENTS:
        return ConstantOp(dense_literal(array))
    return WeightOp(store.add_derived(stem, array), type_of(array))


def weight_stem(value: SSAValue) -> str | None:
    """The name of a weight without the digest that marks a derived one; None for what is not a weight."""
    if isinstance(value, OpResult) and isinstance(value.op, WeightOp):
        return _DERIVED.sub("", value.op.key.data)
    return None


def keep_used_weights(module: ModuleOp, store: WeightStore) -> None:
    """Forgets the tensors of the store that the module does not name."""
    store.keep(op.key.data for op in module.walk() if isinstance(op, WeightOp))


def nbytes(type_: Tensor) -> int | None:
    """The bytes that a tensor of this type takes in numpy, None where a dimension is not known."""
    if not is_static(type_.get_shape()):
        return None
    size = numpy_dtype(type_.element_type).itemsize
    for dim in type_.get_shape():
        size *= dim
    return size
