"""Appends operations of the relay dialect to the blocks of a program that is read, each with its location."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, cast

import numpy as np
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, FunctionType, TensorType, TupleType
from xdsl.ir import Attribute, Operation, SSAValue

from relay_mlir.dialects.relay.core import ConstantOp, TupleOp, WeightOp
from relay_mlir.dialects.relay.language import AdtOp, ConstructorOp
from relay_mlir.dialects.relay.language_types import ADTType, IncompleteType, PolyType, RefType
from relay_mlir.dialects.relay.types import compatible, type_of
from relay_mlir.dialects.relay.weights import WeightStore
from relay_mlir.frontends.relay_text.metadata import Metadata
from relay_mlir.frontends.relay_text.syntax import Scope
from relay_mlir.lowering.ir_text import SourceText

INLINE = 16
"""The number of elements up to which a constant is written out in the program."""

HOLE = IncompleteType()


class Emitter:
    """Appends operations and constants."""

    def __init__(self, source: SourceText, weights: WeightStore, metadata: Metadata, types: Iterable[AdtOp]):
        self.source = source
        self.weights = weights
        self.metadata = metadata
        self.constructors: dict[str, ConstructorOp] = {
            made.sym_name.data: made for declared in types for made in declared.constructors
        }
        self.unused: list[Operation] = []
        """Operations that may turn out to be without uses: tuples whose fields are used, constant operands."""
        self.implicit: dict[SSAValue, list[SSAValue]] = {}
        """The tuples that stand for several results of one operator, with those results."""

    def error(self, message: str, position: int) -> NoReturn:
        raise self.source.error(message, position)

    def emit(self, op: Operation, scope: Scope, position: int) -> SSAValue:
        """Appends an operation; returns its first result."""
        assert scope.block is not None
        op.location = self.source.location(position)
        scope.block.add_op(op)
        return op.results[0]

    def constant(self, array: np.ndarray, scope: Scope, position: int) -> SSAValue:
        """A tensor: written out where it is small, else in the weight store."""
        if array.size <= INLINE:
            data = np.ascontiguousarray(array).tobytes()
            op: Operation = ConstantOp(DenseIntOrFPElementsAttr(cast(Any, type_of(array)), BytesAttr(data)))
        else:
            op = WeightOp(self.weights.add_derived("constant", array), type_of(array))
        return self.emit(op, scope, position)

    def implicit_tuple(self, results: list[SSAValue], scope: Scope, position: int) -> SSAValue:
        """A tuple of the results of one operator; projections of it give the results themselves."""
        op = TupleOp(*results)
        value = self.emit(op, scope, position)
        self.implicit[value] = results
        self.unused.append(op)
        return value

    def fields(self, value: SSAValue) -> Sequence[SSAValue] | None:
        """The fields of a value that is a tuple made by `relay.tuple`, or None."""
        if not isinstance(value.owner, TupleOp):
            return None
        self.unused.append(value.owner)
        return list(value.owner.fields)

    def drop_unused(self) -> None:
        """Removes the operations of `unused` that have no uses."""
        for op in reversed(self.unused):
            if op.parent is not None and not any(result.uses for result in op.results):
                op.detach()
                op.erase()
        self.unused.clear()


def set_type(value: SSAValue, type_: Attribute) -> None:
    """Changes the type of a value."""
    value._type = type_  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]


def merge(left: Attribute, right: Attribute) -> Attribute | None:
    """The type in which the holes of each are filled from the other; None where they disagree."""
    if isinstance(left, IncompleteType) or isinstance(right, IncompleteType):
        return right if isinstance(left, IncompleteType) else left
    match left, right:
        case TensorType(), TensorType():
            return left if compatible(left, right) else None
        case TupleType(), TupleType():
            types = _merge_all(left.types.data, right.types.data)
            return None if types is None else TupleType(tuple(types))
        case FunctionType(), FunctionType():
            inputs = _merge_all(left.inputs.data, right.inputs.data)
            outputs = _merge_all(left.outputs.data, right.outputs.data)
            return None if inputs is None or outputs is None else FunctionType.from_lists(inputs, outputs)
        case ADTType(), ADTType() if left.symbol == right.symbol:
            types = _merge_all(left.arguments.data, right.arguments.data)
            return None if types is None else ADTType(left.symbol, types)
        case RefType(), RefType():
            content = merge(left.content, right.content)
            return None if content is None else RefType(content)
        case PolyType(), _:
            return left
        case _, PolyType():
            return left
        case _:
            return left if left == right else None


def _merge_all(left: Sequence[Attribute], right: Sequence[Attribute]) -> list[Any] | None:
    if len(left) != len(right):
        return None
    merged = [merge(a, b) for a, b in zip(left, right, strict=True)]
    return None if None in merged else merged
