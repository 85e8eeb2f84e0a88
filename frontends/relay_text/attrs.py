"""Attributes of operators between Relay text and the fields of an Operator."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import numpy as np
from xdsl.ir import Attribute

from relay_mlir.dialects.relay.op import Operator, attribute_fields
from relay_mlir.frontends.relay_text.metadata import Metadata, MetaValue, Object
from relay_mlir.frontends.relay_text.op_table import NEUTRAL, OBJECT_FIELDS, Form
from relay_mlir.frontends.relay_text.type_parser import dtype
from relay_mlir.lowering.diagnostics import did_you_mean


class AttributeProblem(Exception):
    """What is wrong with an attribute."""


@cache
def hints_of(cls: type[Operator]) -> Mapping[str, Any]:
    """The declared types of the attributes of an operator."""
    names = attribute_fields(cls)
    return {name: hint for name, hint in typing.get_type_hints(cls).items() if name in names}


def unwrapped(hint: Any) -> tuple[Any, bool]:
    """The type without `| None`, and whether None was in it."""
    rest = [arg for arg in typing.get_args(hint) if arg is not type(None)]
    if type(None) in typing.get_args(hint):
        return rest[0], True
    return hint, False


def read_attributes(
    name: str, cls: type[Operator], form: Form, values: Mapping[str, MetaValue], operand_values: Mapping[str, Any]
) -> Operator:
    """The operator with the attributes of a call; raises AttributeProblem, or VerifyException from the operator."""
    hints = hints_of(cls)
    given: dict[str, Any] = {}
    for key, value in {**form.defaults, **values}.items():
        if key in operand_values:
            continue
        if key not in hints:
            _check_neutral(name, key, value, form, hints, values)
            continue
        try:
            given[key] = converted(value, hints[key])
        except AttributeProblem as e:
            raise AttributeProblem(f"attribute `{key}` of {name}: {e}") from e
    given |= {key: converted(value, hints[key]) for key, value in operand_values.items()}
    _spread(cls, given)
    fields = attribute_fields(cls)
    for key, field in fields.items():
        if key not in given and field.default is dataclasses.MISSING:
            if not unwrapped(hints[key])[1]:
                raise AttributeProblem(f"{name} needs the attribute `{key}`")
            given[key] = None
        if given.get(key, ...) is None and not unwrapped(hints[key])[1]:
            if field.default is dataclasses.MISSING:
                raise AttributeProblem(f"attribute `{key}` of {name} must have a value")
            del given[key]  # Relay's null stands for the default
    return cls(**given)


def _check_neutral(
    name: str, key: str, value: MetaValue, form: Form, hints: Mapping[str, Any], values: Mapping[str, MetaValue]
) -> None:
    """Refuses an attribute that the operator has not, unless its value changes nothing."""
    allowed = form.neutral.get(key, NEUTRAL.get(key))
    if allowed is None:
        raise AttributeProblem(f"{name} has no attribute `{key}`{did_you_mean(key, hints)}")
    if ... in allowed or value in allowed:
        return
    if key == "out_layout" and value == values.get("layout", values.get("data_layout")):
        return
    raise AttributeProblem(f"attribute `{key}` of {name} is {value!r}, which is not supported")


def _spread(cls: type[Operator], given: dict[str, Any]) -> None:
    """Writes out windows that the text gives shortly: `padding=[1]`, `padding=[1, 1]`, `strides=[2]`."""
    field = attribute_fields(cls).get("padding")
    if field is None or not isinstance(field.default, tuple):
        return
    rank = len(cast("tuple[int, ...]", field.default)) // 2
    for key in ("strides", "dilation", "pool_size", "kernel_size", "output_padding"):
        value = given.get(key)
        if isinstance(value, tuple):
            sizes = cast("tuple[int, ...]", value)
            given[key] = sizes * rank if len(sizes) == 1 else sizes
    if isinstance(padding := given.get("padding"), tuple):
        edges = cast("tuple[int, ...]", padding)
        given["padding"] = {1: edges * (2 * rank), rank: edges * 2}.get(len(edges), edges)


def converted(value: MetaValue, hint: Any) -> Any:
    """The value of an attribute as the declared type; raises AttributeProblem."""
    item, optional = unwrapped(hint)
    if value is None:
        return None
    if item is bool and isinstance(value, bool | int):
        return bool(value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = cast(MetaValue, value.item())
    if item is int and isinstance(value, int):
        return int(value)
    if item is float and isinstance(value, int | float):
        return float(value)
    if item is str and isinstance(value, str):
        return value
    if item is Attribute and isinstance(value, str):
        element = dtype(value)
        if element is None and not (optional and value in ("", "void", "handle")):
            raise AttributeProblem(f'unknown dtype "{value}"')
        return element
    if typing.get_origin(item) is tuple:
        entry = typing.get_args(item)[0]
        if isinstance(value, np.ndarray) and value.ndim == 1:
            value = cast(MetaValue, value.tolist())
        if isinstance(value, list):
            return tuple(converted(v, entry) for v in value)
        return (converted(value, entry),)
    raise AttributeProblem(f"expected {_describe(item)}, but found {_shown(value)}")


def _describe(hint: Any) -> str:
    if typing.get_origin(hint) is tuple:
        return f"a list of {_describe(typing.get_args(hint)[0])}"
    return {int: "an integer", float: "a number", bool: "True or False", str: "a string"}.get(hint, "a dtype")


def _shown(value: MetaValue) -> str:
    match value:
        case np.ndarray():
            return "a tensor"
        case Object():
            return f"a {value.key}"
        case _:
            return f'"{value}"' if isinstance(value, str) else str(value)


def object_attributes(metadata: Metadata, value: Object, cls: type[Operator]) -> dict[str, MetaValue]:
    """The attributes that an object of the metadata holds; its fields are text, and say by themselves not what of."""
    hints = hints_of(cls)
    objects = OBJECT_FIELDS.get(value.key, frozenset())
    found: dict[str, MetaValue] = {}
    for name, text in value.fields.items():
        item = unwrapped(hints.get(name, str))[0]
        try:
            if name in objects or typing.get_origin(item) is tuple:
                found[name] = metadata.value(int(text))
            elif item is bool:
                found[name] = text not in ("0", "False")
            elif item is int:
                found[name] = int(text)
            elif item is float:
                found[name] = float(text)
            else:
                found[name] = text
        except ValueError as e:
            raise AttributeProblem(f"the field `{name}` of {value.key} is malformed: {text}") from e
    return found
