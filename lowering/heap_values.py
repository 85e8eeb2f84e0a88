"""What relay values become in the heap dialect: scalars stay scalars, everything else is a word."""

from __future__ import annotations

from xdsl.dialects.builtin import FunctionType, TensorType, TupleType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from relay_mlir.dialects.heap.ops import BoxOp, UnboxOp, word_type
from relay_mlir.dialects.heap.types import IMMEDIATE, OBJECT, ImmediateType, ObjectType
from relay_mlir.dialects.relay.language_types import ADTType, PolyType, RefType, TypeVarType
from relay_mlir.dialects.relay.linalg_builder import lowered_type
from relay_mlir.dialects.relay.types import is_static
from relay_mlir.lowering.diagnostics import OpError


def value_type(type_: Attribute, where: Operation) -> Attribute:
    """The type of the value that stands for one of a relay type: a scalar for a tensor of rank 0, else a word."""
    match type_:
        case TensorType():
            tensor = type_
            if not is_static(tensor.get_shape()):
                raise OpError(where, f"{tensor} has a dimension that is not known at compile time")
            lowered = lowered_type(tensor)
            return OBJECT if tensor.get_shape() else lowered.element_type
        case TupleType():
            return OBJECT if type_.types.data else IMMEDIATE
        case FunctionType() | PolyType() | ADTType() | RefType() | TypeVarType():
            return OBJECT
        case _:
            raise OpError(where, f"a value of type {type_} has no native form; run relay-infer-type")


def field_type(type_: Attribute, where: Operation) -> Attribute:
    """The type of the word that stands for a value of a relay type in objects and calls of closures."""
    found = value_type(type_, where)
    return found if isinstance(found, ObjectType | ImmediateType) else word_type(found)


def is_word(type_: Attribute) -> bool:
    """Whether a value of this type is a word."""
    return isinstance(type_, ObjectType | ImmediateType)


class HeapBuilder:
    """Appends operations to a block, each with the location of a relay operation."""

    def __init__(self, block: Block, source: Operation):
        self.block = block
        self.source = source

    def add(self, op: Operation) -> Operation:
        """Appends an operation."""
        op.location = self.source.location
        self.block.add_op(op)
        return op

    def value(self, op: Operation) -> SSAValue:
        """Appends an operation; gives its first result."""
        return self.add(op).results[0]

    def word(self, value: SSAValue) -> SSAValue:
        """The value as a word; where it came out of one, that one: so a call of which it is the result stays last."""
        if is_word(value.type):
            return value
        return value.owner.value if isinstance(value.owner, UnboxOp) else self.value(BoxOp(value))

    def convert(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """The value as one of a heap type: boxed or unboxed where that differs."""
        if value.type == type_ or (is_word(value.type) and is_word(type_)):
            return value
        return self.value(UnboxOp(value, type_)) if is_word(value.type) else self.word(value)
