"""Types and patterns as Relay text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects.builtin import FunctionType, IntegerType, Signedness, TensorType, TupleType, VectorType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.language_types import ADTType, IncompleteType, PolyType, RefType, TypeVarType
from relay_mlir.dialects.relay.patterns import ConstructorPattern, MatchPattern, TuplePattern, VarPattern
from relay_mlir.dialects.relay.types import ANY, ELEMENT_TYPES

_NAMES = {element: name for name, element in ELEMENT_TYPES.items()}


def dtype_text(element: Attribute) -> str:
    """Relay's name of an element type; raises VerifyException for one that Relay has not."""
    if isinstance(element, VectorType):
        vector = cast("VectorType[Attribute]", element)
        return f"{dtype_text(vector.element_type)}x{vector.get_shape()[0]}"
    if element in _NAMES:
        return _NAMES[element]
    if isinstance(element, IntegerType):
        integer = cast(IntegerType, element)
        unsigned = "u" if integer.signedness.data == Signedness.UNSIGNED else ""
        return f"{unsigned}int{integer.width.data}"
    raise VerifyException(f"Relay has no element type {element}")


def type_text(type_: Attribute) -> str:
    """A type; a hole is `_`. Raises VerifyException for a type that Relay has not."""
    match type_:
        case TensorType():
            element = dtype_text(type_.element_type)
            shape = type_.get_shape()
            dims = ", ".join("?" if dim == ANY else str(dim) for dim in shape)
            return f"Tensor[({dims}), {element}]" if shape else element
        case TupleType():
            fields = list(map(type_text, type_.types))
            return f"({fields[0]},)" if len(fields) == 1 else f"({', '.join(fields)})"
        case FunctionType():
            outputs = list(type_.outputs)
            result = type_text(outputs[0]) if len(outputs) == 1 else type_text(TupleType(cast(Any, tuple(outputs))))
            return f"fn ({', '.join(map(type_text, type_.inputs))}) -> {result}"
        case PolyType():
            return f"fn [{', '.join(type_.type_parameters)}]{type_text(type_.body)[3:]}"
        case ADTType():
            arguments = ", ".join(map(type_text, type_.arguments))
            return f"{type_.adt_name}[{arguments}]" if arguments else type_.adt_name
        case RefType():
            return f"ref({type_text(type_.content)})"
        case TypeVarType():
            return type_.var.data
        case IncompleteType():
            return "_"
        case _:
            raise VerifyException(f"Relay has no type {type_}")


def pattern_text(pattern: MatchPattern, variable: Callable[[], str]) -> str:
    """A pattern; `variable` gives the text of its variables from left to right."""
    match pattern:
        case VarPattern():
            return variable()
        case ConstructorPattern():
            fields = ", ".join(pattern_text(field, variable) for field in pattern.fields)
            name = pattern.constructor.string_value()
            return f"{name}({fields})" if fields else name
        case TuplePattern():
            return f"({', '.join(pattern_text(field, variable) for field in pattern.fields)})"
        case _:
            return "_"
