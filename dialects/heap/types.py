"""Types of the heap dialect: counted objects, values that need no counting, memory for reuse."""

from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition


@irdl_attr_definition
class ObjectType(ParametrizedAttribute, TypeAttribute):
    """`!heap.object`: one word, a pointer to a counted object or (low bit 1) an immediate value."""

    name = "heap.object"


@irdl_attr_definition
class ImmediateType(ParametrizedAttribute, TypeAttribute):
    """`!heap.immediate`: a word that is known to be an immediate value, which is never counted."""

    name = "heap.immediate"


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """`!heap.token`: the memory of a dead object that a new one may use, or nothing."""

    name = "heap.token"


OBJECT = ObjectType()
IMMEDIATE = ImmediateType()
TOKEN = TokenType()

HEAP_TYPES: list[type[Attribute]] = [ObjectType, ImmediateType, TokenType]
