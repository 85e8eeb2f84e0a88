"""Attributes of functions and of calls to them: `Primitive=1`, `Compiler="dnnl"`; in the IR discardable attributes.

`Primitive=1` is the unit attribute `primitive`. The attributes of a call, which have no meaning here, are kept in
`call_attrs`.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, IntegerAttr, NoneAttr, StringAttr, UnitAttr
from xdsl.dialects.builtin import f64 as f64_type
from xdsl.dialects.builtin import i1 as i1_type
from xdsl.dialects.builtin import i64 as i64_type
from xdsl.ir import Attribute

from relay_mlir.frontends.relay_text.emitter import Emitter
from relay_mlir.frontends.relay_text.literals import Scalar
from relay_mlir.frontends.relay_text.metadata import MetaValue
from relay_mlir.frontends.relay_text.syntax import AttrValue, Call, Function, MetaRef

CALL_ATTRIBUTES = "call_attrs"
"""The discardable attribute of `relay.call` and `relay.apply` that holds the attributes of a call."""

PRIVATE = "private"
"""The attribute of a function that only its module may call."""

_IGNORED = ("virtual_device",)


def _encode(value: MetaValue) -> Attribute | None:
    """The IR attribute of a value, or None for an object that has none."""
    match value:
        case None:
            return NoneAttr()
        case bool():
            return IntegerAttr(int(value), i1_type)
        case int():
            return IntegerAttr(value, i64_type)
        case float():
            return FloatAttr(value, f64_type)
        case str():
            return StringAttr(value)
        case list():
            items = [_encode(item) for item in value]
            return None if None in items else ArrayAttr([item for item in items if item is not None])
        case dict():
            entries = {key: _encode(item) for key, item in value.items()}
            known = {key: item for key, item in entries.items() if item is not None}
            return DictionaryAttr(known) if len(known) == len(entries) else None
        case _:
            return None


def plain(builder: Emitter, value: AttrValue, position: int) -> MetaValue:
    """The value of an attribute in the text; raises DiagnosticError for an expression."""
    match value:
        case Scalar():
            return value.value
        case None | str():
            return value
        case list():
            return [plain(builder, item, position) for item in value]
        case MetaRef():
            return builder.metadata.referenced(value)
        case _:
            builder.error("the value of an attribute must be a literal or a metadata reference", value.position)


def attributes_of(builder: Emitter, node: Function) -> dict[str, Attribute]:
    """The IR attributes of a function."""
    found: dict[str, Attribute] = {}
    for attr in node.attrs:
        if attr.name in _IGNORED or attr.name == PRIVATE:
            continue
        value = plain(builder, attr.value, attr.position)
        if attr.name == "Primitive":
            if value:
                found["primitive"] = UnitAttr()
            continue
        encoded = _encode(value)
        if encoded is None:
            builder.error(f"the value of attribute `{attr.name}` cannot be kept in the program", attr.position)
        found[attr.name] = encoded
    return found


def call_attributes(builder: Emitter, node: Call) -> dict[str, Attribute]:
    """The IR attributes of a call to a function."""
    if isinstance(node.attrs, MetaRef):
        builder.error("the attributes of a call to a function must be written out", node.attrs.position)
    if not node.attrs:
        return {}
    values = {attr.name: plain(builder, attr.value, attr.position) for attr in node.attrs}
    if "attrs_type_key" not in values:
        builder.error("the attributes of a call to a function need `attrs_type_key`", node.attrs[0].position)
    encoded = _encode(values)
    if encoded is None:
        builder.error("the attributes of this call cannot be kept in the program", node.attrs[0].position)
    return {CALL_ATTRIBUTES: encoded}
