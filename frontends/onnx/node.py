"""An ONNX node as a handler sees it; remembers what the handler asked for, so that nothing of a node is ignored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, cast

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto
from onnx.defs import OpSchema

from relay_mlir.dialects.relay.types import Tensor, element_type, tensor
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.reader import TensorReader, numpy_type
from relay_mlir.frontends.onnx.structures import Item, TensorList, describe, tensors

_T = TypeVar("_T")
Required = Literal["required"]
REQUIRED: Required = "required"
"""Stands for no default: the schema's, and where that has none the attribute must be given."""

_FIELDS: dict[int, str] = {
    AttributeProto.INT: "i",
    AttributeProto.FLOAT: "f",
    AttributeProto.STRING: "s",
    AttributeProto.TENSOR: "t",
    AttributeProto.GRAPH: "g",
    AttributeProto.SPARSE_TENSOR: "sparse_tensor",
    AttributeProto.INTS: "ints",
    AttributeProto.FLOATS: "floats",
    AttributeProto.STRINGS: "strings",
}


class NodeView:
    """A node with its inputs; each question about an attribute or input marks it as accounted for."""

    def __init__(
        self,
        proto: NodeProto,
        opset: int,
        inputs: Sequence[Item | None],
        schema: OpSchema | None,
        tensors: TensorReader,
        subgraph: Callable[[GraphProto, Sequence[Item]], list[Item]],
    ):
        self.proto = proto
        self.opset = opset
        self.inputs = list(inputs)
        self.schema = schema
        self._tensors = tensors
        self.subgraph = subgraph
        """Converts a subgraph, with values for its inputs, in place; gives its outputs."""
        self._attributes = {attribute.name: attribute for attribute in proto.attribute}
        self._asked_inputs: set[int] = set()
        self._asked_attributes: set[str] = set()

    @property
    def op_type(self) -> str:
        return self.proto.op_type

    # Outputs.

    @property
    def output_count(self) -> int:
        return len(self.proto.output)

    def wants(self, position: int) -> bool:
        """Whether the output of this position has a name."""
        return position < len(self.proto.output) and bool(self.proto.output[position])

    # Inputs.

    def input(self, position: int) -> Value:
        """A required input; raises Problem where it is absent."""
        value = self.optional(position)
        if value is None:
            raise Problem(f"input {self.input_name(position)} is missing")
        return value

    def optional(self, position: int) -> Value | None:
        """An input, or None where it is absent; raises Problem for one that is not a tensor."""
        item = self.item(position)
        if item is not None and not isinstance(item, Value):
            raise Problem(f"input {self.input_name(position)} is {describe(item)}, but must be a tensor")
        return item

    def item(self, position: int) -> Item | None:
        """An input that may be a sequence or an optional, or None where it is absent."""
        self._asked_inputs.add(position)
        return self.inputs[position] if position < len(self.inputs) else None

    def items(self, start: int) -> list[Item]:
        """All inputs from a position on, none of which may be absent; raises Problem."""
        found = [self.item(position) for position in range(start, len(self.inputs))]
        if None in found:
            raise Problem(f"input {self.input_name(start + found.index(None))} is missing")
        return [item for item in found if item is not None]

    def sequence(self, position: int) -> TensorList:
        """A required input that is a sequence."""
        item = self.item(position)
        if not isinstance(item, TensorList):
            found = "missing" if item is None else describe(item)
            raise Problem(f"input {self.input_name(position)} is {found}, but must be a sequence")
        return item

    def rest(self, start: int = 0) -> list[Value]:
        """All inputs from a position on; raises Problem where there are none or one is absent."""
        return [self.input(position) for position in range(start, max(len(self.inputs), start + 1))]

    def known(self, position: int) -> np.ndarray:
        """The elements of a required input that must be known at import; raises Problem otherwise."""
        return self._elements(position, self.input(position))

    def known_or_none(self, position: int) -> np.ndarray | None:
        """The elements of an optional input that must be known at import, or None where it is absent."""
        value = self.optional(position)
        return None if value is None else self._elements(position, value)

    def known_ints(self, position: int) -> tuple[int, ...] | None:
        """The elements of an optional integer input (axes, pads, a shape) in order, or None where it is absent."""
        array = self.known_or_none(position)
        return None if array is None else tuple(int(v) for v in array.reshape(-1))

    def _elements(self, position: int, value: Value) -> np.ndarray:
        if not value.known:
            raise Problem(
                f"input {self.input_name(position)} must be known when the model is imported; "
                "bind it with a value, or the inputs that it is computed from with --shape"
            )
        return value.array()

    def input_name(self, position: int) -> str:
        """The position of an input, and its name in the operator's documentation."""
        if self.schema is None or not self.schema.inputs:
            return str(position)
        return f"{position} ({self.schema.inputs[min(position, len(self.schema.inputs) - 1)].name})"

    def tensors(self, graph: GraphProto, values: Sequence[Value]) -> list[Value]:
        """The outputs of a subgraph, all tensors; see `subgraph`."""
        return tensors(self.subgraph(graph, values), f"an output of '{graph.name}', which is converted on its own")

    # Attributes.

    def has(self, name: str) -> bool:
        """Whether the attribute is given."""
        return name in self._attributes

    def integer(self, name: str, default: int | _T | Required = REQUIRED) -> int | _T:
        return self._attribute(name, AttributeProto.INT, default)

    def flag(self, name: str) -> bool:
        """An integer attribute that is 0 or 1."""
        value = self.integer(name)
        if value not in (0, 1):
            raise Problem(f"attribute '{name}' must be 0 or 1, but is {value}")
        return value == 1

    def real(self, name: str, default: float | _T | Required = REQUIRED) -> float | _T:
        return self._attribute(name, AttributeProto.FLOAT, default)

    def string(self, name: str, default: str | Required = REQUIRED) -> str:
        return self._attribute(name, AttributeProto.STRING, default)

    def choice(self, name: str, *allowed: str, default: str | Required = REQUIRED) -> str:
        """A string attribute that is one of the given ones."""
        value = self.string(name, default)
        if value not in allowed:
            raise Problem(f"attribute '{name}' is '{value}'; supported: {', '.join(allowed)}")
        return value

    def integers(self, name: str, default: Sequence[int] | _T | Required = REQUIRED) -> tuple[int, ...] | _T:
        return self._attribute(name, AttributeProto.INTS, default)

    def reals(self, name: str, default: Sequence[float] | _T | Required = REQUIRED) -> tuple[float, ...] | _T:
        return self._attribute(name, AttributeProto.FLOATS, default)

    def strings(self, name: str, default: Sequence[str]) -> tuple[str, ...]:
        values: Sequence[bytes] | None = self._attribute(name, AttributeProto.STRINGS, None)
        try:
            return tuple(default) if values is None else tuple(value.decode() for value in values)
        except UnicodeDecodeError as e:
            raise Problem(f"attribute '{name}' is not UTF-8") from e

    def tensor(self, name: str) -> TensorProto:
        return self._attribute(name, AttributeProto.TENSOR, REQUIRED)

    def array(self, name: str) -> np.ndarray:
        """The elements of a tensor attribute."""
        try:
            return self._tensors.read(self.tensor(name))
        except Problem as e:
            raise Problem(f"attribute '{name}': {e}") from e

    def loader(self, name: str) -> tuple[Tensor, Callable[[], np.ndarray]]:
        """The type of a tensor attribute, and a function that reads it."""
        proto = self.tensor(name)
        try:
            type_ = tensor(self._tensors.shape(proto), element_type(numpy_type(proto.data_type)))
            return type_, self._tensors.loader(proto)
        except Problem as e:
            raise Problem(f"attribute '{name}': {e}") from e

    def sparse(self, name: str) -> np.ndarray:
        """The dense form of a sparse tensor attribute."""
        try:
            return self._tensors.densify(self._attribute(name, AttributeProto.SPARSE_TENSOR, REQUIRED))
        except Problem as e:
            raise Problem(f"attribute '{name}': {e}") from e

    def graph(self, name: str) -> GraphProto:
        return self._attribute(name, AttributeProto.GRAPH, REQUIRED)

    def ignore(self, *names: str) -> None:
        """Accounts for attributes that cannot change the answer (the caller says why)."""
        self._asked_attributes.update(names)

    def _attribute(self, name: str, kind: Any, default: Any) -> Any:
        """The value of an attribute, or the default of the caller, or the schema's."""
        self._asked_attributes.add(name)
        attribute = self._attributes.get(name)
        if attribute is None and default is REQUIRED:
            attribute = self._schema_default(name)
        if attribute is None:
            return default
        if attribute.ref_attr_name:
            raise Problem(f"attribute '{name}' refers to attribute '{attribute.ref_attr_name}' outside of a function")
        if attribute.type != kind:
            found = AttributeProto.AttributeType.Name(attribute.type)
            raise Problem(f"attribute '{name}' is {found}, but must be {AttributeProto.AttributeType.Name(kind)}")
        value = getattr(attribute, _FIELDS[kind])
        if kind == AttributeProto.STRING:
            try:
                return cast(bytes, value).decode()
            except UnicodeDecodeError as e:
                raise Problem(f"attribute '{name}' is not UTF-8") from e
        return tuple(value) if kind in (AttributeProto.INTS, AttributeProto.FLOATS) else value

    def _schema_default(self, name: str) -> AttributeProto:
        """The default that the operator's schema gives at this opset; raises Problem where there is none."""
        known = self.schema.attributes.get(name) if self.schema is not None else None
        if known is None or not known.default_value.name:
            raise Problem(f"attribute '{name}' is required")
        return known.default_value

    # Accounting.

    def leftovers(self) -> list[str]:
        """What the handler did not ask for: attributes, and inputs that are present."""
        attributes = [name for name in self._attributes if name not in self._asked_attributes]
        inputs = [
            position
            for position, value in enumerate(self.inputs)
            if value is not None and position not in self._asked_inputs
        ]
        return [f"attribute '{name}' is not supported" for name in attributes] + [
            f"input {self.input_name(position)} is not supported" for position in inputs
        ]
