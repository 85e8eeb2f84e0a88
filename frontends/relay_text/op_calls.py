"""Calls of operators: operands and attributes as the relay dialect has them, and the results as one value."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType, TupleType
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.core import ConstantOp, TupleGetItemOp, TupleOp, YieldOp
from relay_mlir.dialects.relay.language import FnOp
from relay_mlir.dialects.relay.op import OPERATORS, Operator, checked_types, encode_attributes
from relay_mlir.dialects.relay.types import ANY, Tensor, normalize_axis, numpy_dtype
from relay_mlir.frontends.relay_text.attrs import AttributeProblem, object_attributes, read_attributes
from relay_mlir.frontends.relay_text.emitter import HOLE, Emitter
from relay_mlir.frontends.relay_text.function_attrs import plain
from relay_mlir.frontends.relay_text.metadata import MetaValue, Object
from relay_mlir.frontends.relay_text.op_table import Form, form
from relay_mlir.frontends.relay_text.syntax import Call, MetaRef, OpRef, Scope


class OpCalls:
    """Builds calls of operators."""

    def __init__(self, builder: Emitter):
        self.builder = builder
        self.metadata = builder.metadata

    def definition(self, node: OpRef) -> type[Operator]:
        """The operator of a name; raises DiagnosticError."""
        found = OPERATORS.get(node.name)
        if found is None:
            known = [*OPERATORS, *self.builder.constructors]
            close = difflib.get_close_matches(node.name, known, 1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            self.builder.error(f"unknown operator `{node.name}`{hint}", node.position)
        return found

    def call(self, node: Call, callee: OpRef, values: Sequence[SSAValue], scope: Scope) -> SSAValue:
        """The value of a call."""
        cls, how = self.definition(callee), form(callee.name)
        try:
            operands, fixed = self.operands(cls, how, values, scope, node.position)
            attributes = self.attributes(node, cls)
            attributes = self._completed(callee.name, attributes, operands)
            operator = read_attributes(callee.name, cls, how, attributes, fixed)
            operands = self._adjusted(callee.name, operands, scope, node.position)
            results = self.apply(operator, how, operands, scope, node.position)
        except AttributeProblem as e:
            self.builder.error(str(e), callee.position)
        except VerifyException as e:
            self.builder.error(f"{callee.name}: {e}", callee.position)
        results += [values[position] for position in how.extra_results]
        if len(results) == 1 and not how.tuple_result:
            return results[0]
        return self.builder.implicit_tuple(results, scope, node.position)

    def apply(
        self, operator: Operator, how: Form, operands: Sequence[SSAValue], scope: Scope, position: int
    ) -> list[SSAValue]:
        """The results of an operator; their types are holes where those of the operands are not known."""
        if all(isinstance(value.type, TensorType) for value in operands):
            types: Sequence[Any] = operator.infer(checked_types(operator, [value.type for value in operands]))
        else:
            for number, value in enumerate(operands):
                if not isinstance(value.type, TensorType) and isinstance(value.type, TupleType):
                    raise VerifyException(f"operand {number} must be a tensor, but is {value.type}")
            types = [HOLE] * how.results(operator, len(operands))
        op = operator.op_class.create(operands=operands, result_types=types, properties=encode_attributes(operator))
        self.builder.emit(op, scope, position)
        return list(op.results)

    # Operands

    def operands(
        self, cls: type[Operator], how: Form, values: Sequence[SSAValue], scope: Scope, position: int
    ) -> tuple[list[SSAValue], dict[str, Any]]:
        """The operands of the dialect's operator, and the values of those that are attributes there."""
        fixed: dict[str, Any] = {}
        at = dict(how.operand_attributes)
        variadic = bool(cls.operands) and cls.operands[-1].endswith("*")
        expected = len(cls.operands) + len(at)
        if len(values) != expected:
            plural = "" if expected == 1 else "s"
            raise VerifyException(f"expected {expected} argument{plural}, but found {len(values)}")
        operands: list[SSAValue] = []
        for number, value in enumerate(values):
            if number in at:
                fixed[at[number]] = self._constant(value, at[number])
            elif variadic and number == len(values) - 1:
                operands += self._fields(value, scope, position)
            else:
                operands.append(value)
        return operands, fixed

    def _constant(self, value: SSAValue, name: str) -> Any:
        if not isinstance(value.owner, ConstantOp):
            raise VerifyException(f"`{name}` must be a constant")
        attribute = value.owner.value
        array = np.frombuffer(attribute.data.data, numpy_dtype(attribute.get_element_type()))
        self.builder.unused.append(value.owner)
        return array.reshape(attribute.get_shape()).item()

    def _fields(self, value: SSAValue, scope: Scope, position: int) -> Sequence[SSAValue]:
        """The fields of a tuple that is the operand of an operator."""
        found = self.builder.fields(value)
        if found is not None:
            return found
        type_: Attribute = value.type
        if isinstance(type_, TupleType):
            return [
                self.builder.emit(TupleGetItemOp(value, index), scope, position) for index in range(len(type_.types))
            ]
        if isinstance(type_, TensorType):
            raise VerifyException(f"expected a tuple of tensors, but found {cast(Attribute, type_)}")
        raise VerifyException("how many tensors the tuple has must be known here: annotate its type")

    # Attributes

    def attributes(self, node: Call, cls: type[Operator]) -> dict[str, MetaValue]:
        """The attributes of a call, written out or as an object of the metadata."""
        if isinstance(node.attrs, MetaRef):
            value = self.metadata.referenced(node.attrs)
            if not isinstance(value, Object):
                raise AttributeProblem(f"`{node.attrs.key}` {node.attrs.index} is not an object with attributes")
            return object_attributes(self.metadata, value, cls)
        return {attr.name: plain(self.builder, attr.value, attr.position) for attr in node.attrs}

    def _completed(
        self, name: str, attributes: dict[str, MetaValue], operands: Sequence[SSAValue]
    ) -> dict[str, MetaValue]:
        """Attributes that follow from others and from the operands."""
        sections = attributes.get("indices_or_sections")
        if name == "split" and isinstance(sections, int):
            type_ = operands[0].type
            if not isinstance(type_, TensorType):
                raise AttributeProblem("the type of what is split into equal sections must be known: annotate it")
            shape = type_.get_shape()
            axis = attributes.get("axis", 0)
            size = shape[normalize_axis(axis if isinstance(axis, int) else 0, len(shape))]
            if size == ANY or sections < 1 or size % sections:
                raise AttributeProblem(f"cannot split a dimension of {size} into {sections} equal sections")
            step = size // sections
            return {**attributes, "indices_or_sections": [step * part for part in range(1, sections)]}
        return attributes

    def _adjusted(self, name: str, operands: list[SSAValue], scope: Scope, position: int) -> list[SSAValue]:
        """Relay lets the value that pads be of another dtype than the data: a constant is converted."""
        if name != "nn.pad" or len(operands) != 2:
            return operands
        data, value = operands
        if not isinstance(data.type, TensorType) or not isinstance(value.type, TensorType):
            return operands
        element = cast(Tensor, data.type).element_type
        if cast(Tensor, value.type).element_type == element or not isinstance(value.owner, ConstantOp):
            return operands
        array = np.asarray(self._constant(value, "pad_value"), numpy_dtype(element))
        return [data, self.builder.constant(array, scope, position)]

    # Operators as values

    def as_closure(self, node: OpRef, scope: Scope) -> SSAValue:
        """An operator as a function: a closure that applies it with the default attributes."""
        cls, how = self.definition(node), form(node.name)
        if not cls.operands or cls.operands[-1].endswith("*") or how.operand_attributes:
            self.builder.error(f"operator `{node.name}` can only be called", node.position)
        inside = Scope(scope, scope.depth + 1, Block(arg_types=[HOLE] * len(cls.operands)))
        assert inside.block is not None
        arguments = list(inside.block.args)
        try:
            operator = read_attributes(node.name, cls, how, {}, {})
            results = self.apply(operator, how, arguments, inside, node.position)
        except (AttributeProblem, VerifyException) as e:
            self.builder.error(str(e), node.position)
        results += [arguments[position] for position in how.extra_results]
        value = results[0]
        if len(results) > 1 or how.tuple_result:
            value = self.builder.emit(TupleOp(*results), inside, node.position)
        end = YieldOp(value)
        end.location = self.builder.source.location(node.position)
        inside.block.add_op(end)
        return self.builder.emit(FnOp(Region(inside.block), [value.type]), scope, node.position)
