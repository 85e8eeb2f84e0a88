"""What ONNX itself says of an operator at an opset: whether it exists, how many inputs it takes, of which types."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from onnx import NodeProto, TensorProto, TypeProto, defs
from onnx.defs import OpSchema
from xdsl.ir import Attribute

from relay_mlir.dialects.relay.types import ANY, dtype_name
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.reader import DTYPES
from relay_mlir.frontends.onnx.registry import serves
from relay_mlir.frontends.onnx.structures import Item, Maybe, TensorList, describe

_TYPE_STRINGS = {
    "float32": "tensor(float)",
    "float64": "tensor(double)",
    "bool": "tensor(bool)",
    **{name: f"tensor({name})" for name in ("float16", "bfloat16")},
    **{f"{sign}int{width}": f"tensor({sign}int{width})" for sign in ("", "u") for width in (8, 16, 32, 64)},
}
_ELEMENT_NUMBERS = {dtype.name: number for number, dtype in DTYPES.items()}


def newest_opset() -> int:
    """The newest opset that the onnx package knows."""
    return defs.onnx_opset_version()


@cache
def schema_of(domain: str, op_type: str, opset: int) -> OpSchema | None:
    """The schema of an operator at an opset, or None for a domain that the onnx package does not know.

    Raises Problem where the operator does not exist at that opset, or was deprecated there: a deprecated version that
    a handler serves of its own (GroupNormalization of opset 18) is taken.
    """
    try:
        schema = defs.get_schema(op_type, opset, domain)
    except defs.SchemaError as e:
        if domain:
            return None
        raise Problem("the operator does not exist at this opset") from e
    if schema.deprecated and not serves(domain, op_type, schema.since_version):
        raise Problem("the operator was removed from ONNX before this opset")
    return schema


def check_node(schema: OpSchema, node: NodeProto, inputs: Sequence[Item | None]) -> None:
    """Checks the number of inputs and outputs and the inputs' element types; raises Problem."""
    count = len(inputs)
    if not schema.min_input <= count <= schema.max_input:
        most = "" if schema.max_input > 1 << 20 else f" to {schema.max_input}"
        raise Problem(f"it has {count} inputs, but takes {schema.min_input}{most}")
    if len(node.output) > schema.max_output:
        raise Problem(f"it has {len(node.output)} outputs, but gives at most {schema.max_output}")
    if not any(node.output):
        raise Problem("it has no outputs")
    bound: dict[str, tuple[str, str]] = {}
    for position, value in enumerate(inputs):
        if value is not None:
            _check_type(schema, position, type_of_item(value), bound)


def _check_type(schema: OpSchema, position: int, found: str, bound: dict[str, tuple[str, str]]) -> None:
    """Checks one input's type against the schema and against the other inputs that must have the same."""
    name, variable, allowed, homogeneous = _formal(schema, min(position, len(schema.inputs) - 1))
    if found not in allowed:
        raise Problem(f"input {position} ({name}) is {found}, but must be one of {', '.join(sorted(allowed))}")
    if variable and homogeneous:
        other, first = bound.setdefault(variable, (found, name))
        if other != found:
            raise Problem(f"input {position} ({name}) is {found}, but input '{first}' is {other}: they must agree")


@cache
def _formals(name: str, domain: str, since: int) -> list[tuple[str, str, frozenset[str], bool]]:
    schema = defs.get_schema(name, since, domain)
    variables = {constraint.type_param_str for constraint in schema.type_constraints}
    return [
        (
            formal.name,
            formal.type_str if formal.type_str in variables else "",
            frozenset(cast(Any, formal.types)),
            formal.is_homogeneous,
        )
        for formal in schema.inputs
    ]


def _formal(schema: OpSchema, position: int) -> tuple[str, str, frozenset[str], bool]:
    """Of one input: its name, type variable (if any), allowed types, whether variadic ones agree."""
    return _formals(schema.name, schema.domain, schema.since_version)[position]


def type_string(element: Attribute) -> str:
    """ONNX's spelling of a tensor of this element type."""
    return _TYPE_STRINGS[dtype_name(element)]


def type_of_item(item: Item) -> str:
    """ONNX's spelling of the type of an item; of an empty optional that of an optional tensor of floats."""
    if isinstance(item, Maybe):
        return f"optional({'tensor(float)' if item.content is None else type_of_item(item.content)})"
    return f"seq({type_string(item.element)})" if isinstance(item, TensorList) else type_string(item.element)


def onnx_type(value: Item) -> TypeProto:
    """The ONNX type of a value; raises Problem for a sequence or optional."""
    if not isinstance(value, Value):
        raise Problem(f"an input is {describe(value)}")
    proto = TypeProto()
    proto.tensor_type.elem_type = cast(TensorProto.DataType, _ELEMENT_NUMBERS[dtype_name(value.element)])
    proto.tensor_type.shape.SetInParent()
    for dim in value.shape:
        entry = proto.tensor_type.shape.dim.add()
        if dim != ANY:
            entry.dim_value = dim
    return proto
