"""What an operator of the relay dialect defines, in one place: docs, attributes, type relation, meaning, lower form.

An operator is a class with `@operator` on it:

    @operator
    class LeakyRelu(Operator):
        \"\"\"`x if x > 0 else alpha * x`, element by element.\"\"\"

        name = "nn.leaky_relu"
        operands = ("data",)
        pattern = Pattern.ELEMWISE
        alpha: float = 0.01

        def infer(self, types): ...
        def evaluate(self, args): ...
        def lower(self, build, args, results): ...

Its fields are its attributes (of type int, float, bool, str, tuples of these, or an element type; `| None` where
absent has a meaning). An instance is the operator with its attributes; `LeakyRelu(alpha=0.1).on(x)` applies it.
In the IR it is `relay.nn.leaky_relu %x {alpha = 0.1} : tensor<4xf32>`; attributes at their defaults are not printed.
"""

from __future__ import annotations

import dataclasses
import inspect
import typing
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast, dataclass_transform

from xdsl.dialects.builtin import (
    FunctionType,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, traits_def, var_operand_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.attribute_values import decode, encode, parse_value, print_value, unwrap
from relay_mlir.dialects.relay.language_types import IncompleteType, is_complete
from relay_mlir.dialects.relay.registry import Operators
from relay_mlir.dialects.relay.types import Tensor, compatible

if TYPE_CHECKING:
    import numpy as np

    from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder

PREFIX = "relay."


class Pattern(IntEnum):
    """How far an operator may fuse with its neighbours; Relay's TOpPattern, with its numbers."""

    ELEMWISE = 0
    """Output element i depends on element i of each input."""
    BROADCAST = 1
    """As ELEMWISE, with inputs that are broadcast along some axes."""
    INJECTIVE = 2
    """Each output element reads one input element (transpose, slice, concatenate)."""
    COMM_REDUCE = 3
    """A commutative reduction."""
    OUT_FUSABLE = 4
    """A contraction or window: element-wise consumers fuse into its output."""
    OPAQUE = 8
    """Never fused."""


@dataclasses.dataclass(frozen=True)
class Operator(ABC):
    """The definition of an operator; an instance carries the values of its attributes."""

    name: ClassVar[str]
    """The name in the relay dialect, without the prefix `relay.`; Relay's own name where it has one."""
    operands: ClassVar[tuple[str, ...]]
    """Names of the operands. A last name that ends in `*` stands for any number of operands, at least one."""
    pattern: ClassVar[Pattern] = Pattern.OPAQUE
    """How the operator fuses."""
    op_class: ClassVar[type[RelayOp]]
    """The xDSL operation, made by `@operator`."""

    @abstractmethod
    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        """The type relation: result types from operand types, whose dimensions may be `?`.

        Raises VerifyException that says what was found and what was expected.
        """

    @abstractmethod
    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """The meaning, on numpy arrays of the operand types; what the interpreter and the constant folder run."""

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        """The same values from linalg, tensor, arith and math operations, for static shapes.

        `args` are lowered tensors (see `linalg_builder.lowered_type`), `results` the relay types of the results.
        Raises VerifyException where the operator has no lower form; the default has none.
        """
        raise VerifyException(f"{PREFIX}{self.name} has no lower form: it runs in the constant folder only")

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        """Values that the results equal without computing anything (a transpose by the identity), or None."""
        return None

    def on(self, *operands: SSAValue | Operation) -> RelayOp:
        """This operator applied to values; raises VerifyException where the type relation refuses them."""
        values = [SSAValue.get(operand) for operand in operands]
        results = self.infer(checked_types(self, [value.type for value in values]))
        return self.op_class.create(operands=values, result_types=results, properties=encode_attributes(self))


_OperatorT = TypeVar("_OperatorT", bound=Operator)

OPERATORS = Operators()
"""Every operator by name; the module of one is imported when it is first looked up."""


@dataclass_transform(frozen_default=True)
def operator(cls: type[_OperatorT]) -> type[_OperatorT]:
    """Makes the class a frozen dataclass of its attributes, defines its xDSL operation and registers it."""
    if inspect.get_annotations(cls):  # else it has the attributes of its base; this saves a third of the import
        cls = dataclasses.dataclass(frozen=True)(cls)
    fields = attribute_fields(cls)
    body: dict[str, Any] = {"name": PREFIX + cls.name, "__doc__": cls.__doc__, "__module__": cls.__module__}
    body |= {f"attr_{name}": opt_prop_def(Attribute, prop_name=name) for name in fields}
    body["__annotations__"] = {}
    op_class = irdl_op_definition(cast(type[RelayOp], type(cls.__name__ + "Op", (RelayOp,), body)))
    op_class.OPERATOR = cls
    cls.op_class = op_class
    OPERATORS.define(cast(Any, cls))
    return cls


@cache
def attribute_fields(cls: type[Operator]) -> Mapping[str, dataclasses.Field[Any]]:
    """The attributes of an operator by name."""
    return {field.name: field for field in dataclasses.fields(cast(Any, cls))}


@cache
def _attribute_types(cls: type[Operator]) -> Mapping[str, Any]:
    names = attribute_fields(cls)
    return {name: hint for name, hint in typing.get_type_hints(cls).items() if name in names}


def encode_attributes(op: Operator) -> dict[str, Attribute]:
    """The IR properties of an operator: its attributes other than None."""
    hints = _attribute_types(type(op))
    values = {name: getattr(op, name) for name in hints}
    return {name: encode(value, unwrap(hints[name])[0]) for name, value in values.items() if value is not None}


def checked_types(op: Operator | type[Operator], found: Sequence[Attribute]) -> list[Tensor]:
    """The operand types, all tensors and as many as the operator takes; raises VerifyException otherwise."""
    variadic = bool(op.operands) and op.operands[-1].endswith("*")
    if len(found) < len(op.operands) or (len(found) > len(op.operands) and not variadic):
        least = "at least " if variadic else ""
        names = ", ".join(op.operands)
        raise VerifyException(f"expected {least}{len(op.operands)} operands ({names}), but found {len(found)}")
    for position, type_ in enumerate(found):
        if not isinstance(type_, TensorType):
            raise VerifyException(f"operand {position} must be a tensor, but is {type_}")
    return cast(list[Tensor], list(found))


class RelayOp(IRDLOperation):
    """An operator applied to tensors; one subclass an operator, made by `@operator`."""

    OPERATOR: ClassVar[type[Operator]]

    # Tensors, but holes and type variables too until type inference has run.
    arguments = var_operand_def()
    outputs = var_result_def()

    traits = traits_def(Pure())

    @property
    def operator(self) -> Operator:
        """The operator with the attribute values of this operation; raises VerifyException for a malformed one."""
        hints = _attribute_types(self.OPERATOR)
        values: dict[str, Any] = {}
        for name, field in attribute_fields(self.OPERATOR).items():
            attribute = self.properties.get(name)
            if attribute is None:
                if field.default is dataclasses.MISSING:
                    raise VerifyException(f"attribute '{name}' is required")
                if field.default is not None and unwrap(hints[name])[1]:
                    values[name] = None
                continue
            try:
                values[name] = decode(attribute, unwrap(hints[name])[0])
            except VerifyException as e:
                raise VerifyException(f"attribute '{name}': {e}") from e
        return self.OPERATOR(**values)

    @property
    def operand_types(self) -> list[Tensor]:
        return cast(list[Tensor], [operand.type for operand in self.operands])

    @property
    def result_tensors(self) -> list[Tensor]:
        """The types of the results."""
        return cast(list[Tensor], [result.type for result in self.results])

    def verify_(self) -> None:
        if any(not isinstance(value.type, TensorType) and not is_complete(value.type) for value in self.operands):
            return  # type inference will tell
        inferred = self.operator.infer(checked_types(self.OPERATOR, [operand.type for operand in self.operands]))
        found = [result.type for result in self.results]
        agree = len(inferred) == len(found) and all(
            compatible(a, b) or isinstance(b, IncompleteType) for a, b in zip(inferred, found, strict=True)
        )
        if not agree:
            raise VerifyException(
                f"result is {', '.join(map(str, found))}, but the operands give {', '.join(map(str, inferred))}"
            )

    # The syntax: operands, attributes that differ from their defaults, types.

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        hints = _attribute_types(self.OPERATOR)
        entries: list[tuple[str, Attribute | None]] = []
        for name, field in attribute_fields(self.OPERATOR).items():
            attribute = self.properties.get(name)
            if attribute is None:
                if field.default is not None and unwrap(hints[name])[1]:
                    entries.append((name, None))
            elif field.default is dataclasses.MISSING or (
                field.default is None or encode(field.default, unwrap(hints[name])[0]) != attribute
            ):
                entries.append((name, attribute))
        if entries or self.attributes:
            printer.print_string(" ")
            with printer.in_braces():
                printer.print_list(entries, lambda entry: _print_entry(printer, *entry))
                if entries and self.attributes:
                    printer.print_string(", ")
                printer.print_list(
                    self.attributes.items(),
                    lambda entry: printer.print_string(f"{entry[0]} = ") or printer.print_attribute(entry[1]),
                )
        printer.print_string(" : ")
        operand_types = [operand.type for operand in self.operands]
        result_types = [result.type for result in self.results]
        if len(operand_types) == 1 and operand_types == result_types:
            printer.print_attribute(operand_types[0])
        else:
            printer.print_function_type(operand_types, result_types)

    @classmethod
    def parse(cls, parser: Parser) -> RelayOp:
        unresolved = (
            parser.parse_optional_undelimited_comma_separated_list(
                parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
            )
            or []
        )
        properties: dict[str, Attribute] = {}
        attributes: dict[str, Attribute] = {}
        if parser.parse_optional_punctuation("{"):
            while not parser.parse_optional_punctuation("}"):
                _parse_entry(cls, parser, properties, attributes)
                if not parser.parse_optional_punctuation(","):
                    parser.parse_punctuation("}")
                    break
        _default_properties(cls.OPERATOR, properties)
        parser.parse_punctuation(":")
        position = parser.pos
        if (type_ := parser.parse_optional_type()) is not None and not (
            len(unresolved) != 1 and parser.parse_optional_punctuation("->")
        ):
            if isinstance(type_, FunctionType):
                operand_types, result_types = type_.inputs.data, type_.outputs.data
            else:
                operand_types = result_types = (cast(Attribute, type_),)
        else:
            parser.raise_error("expected the types: `(operand types) -> result types`, or one type")
        operands = parser.resolve_operands(unresolved, operand_types, position)
        return cls.create(operands=operands, result_types=result_types, properties=properties, attributes=attributes)


def _default_properties(cls: type[Operator], properties: dict[str, Attribute]) -> None:
    """Adds the attributes that the text leaves at their defaults; `none` in the text stays absent."""
    hints = _attribute_types(cls)
    for name, field in attribute_fields(cls).items():
        if name in properties:
            if properties[name] == _NONE:
                del properties[name]
        elif field.default is not dataclasses.MISSING and field.default is not None:
            properties[name] = encode(field.default, unwrap(hints[name])[0])


_NONE = StringAttr("relay.none")
"""Stands for the keyword `none` while an operation is parsed."""


def _print_entry(printer: Printer, name: str, attribute: Attribute | None) -> None:
    printer.print_string(f"{name} = ")
    print_value(printer, attribute)


def _parse_entry(
    cls: type[RelayOp], parser: Parser, properties: dict[str, Attribute], attributes: dict[str, Attribute]
) -> None:
    start = parser.pos
    key = parser.parse_optional_str_literal() or parser.parse_identifier()
    if "." in key:
        attributes[key] = parser.parse_attribute() if parser.parse_optional_punctuation("=") else StringAttr("")
        return
    hints = _attribute_types(cls.OPERATOR)
    if key not in hints:
        import difflib

        close = difflib.get_close_matches(key, hints, 1)
        hint = f"; did you mean '{close[0]}'?" if close else f"; it has {', '.join(hints) or 'none'}"
        parser.raise_error(f"{cls.name} has no attribute '{key}'{hint}", start, start + len(key))
    if key in properties:
        parser.raise_error(f"attribute '{key}' is given twice", start, start + len(key))
    parser.parse_punctuation("=")
    item, optional = unwrap(hints[key])
    if optional and parser.parse_optional_keyword("none"):
        properties[key] = _NONE
        return
    properties[key] = encode(parse_value(parser, item), item)
