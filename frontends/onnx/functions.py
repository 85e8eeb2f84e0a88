"""Operators that are defined by other operators: functions of the model, and those of the ONNX specification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TypeProto
from onnx.defs import OpSchema

from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.onnx.schema import onnx_type
from relay_mlir.frontends.onnx.structures import Item


def specified_function(
    schema: OpSchema, node: NodeProto, opset: int, inputs: Sequence[Item | None]
) -> FunctionProto | None:
    """The body that ONNX's specification gives an operator at an opset, for these inputs; None where it has none."""
    untyped = cast(Any, schema)  # onnx's stubs lack these members
    if untyped.has_context_dependent_function:
        version = _newest(untyped.context_dependent_function_opset_versions, opset)
        if version is not None:
            types = [(TypeProto() if v is None else onnx_type(v)).SerializeToString() for v in inputs]
            body = untyped.get_context_dependent_function_with_opset_version(version, node.SerializeToString(), types)
            return FunctionProto.FromString(body) if body else None
    if untyped.has_function:
        version = _newest(untyped.function_opset_versions, opset)
        if version is not None:
            return FunctionProto.FromString(untyped.get_function_with_opset_version(version))
    return None


def has_body(schema: OpSchema | None) -> bool:
    """Whether the specification defines the operator by others, for some opsets and inputs."""
    untyped = cast(Any, schema)
    return schema is not None and bool(untyped.has_function or untyped.has_context_dependent_function)


def _newest(versions: Sequence[int], opset: int) -> int | None:
    return max((version for version in versions if version <= opset), default=None)


def bind_attributes(function: FunctionProto, node: NodeProto, schema: OpSchema | None) -> list[NodeProto]:
    """The nodes of a function with the attributes of the call put in; raises Problem for one that it does not have."""
    declared = set(function.attribute) | {attribute.name for attribute in function.attribute_proto}
    given = {attribute.name: attribute for attribute in node.attribute}
    if schema is None and (unknown := sorted(set(given) - declared)):
        raise Problem(f"the function has no attribute '{unknown[0]}'")
    values = {attribute.name: attribute for attribute in function.attribute_proto}
    if schema is not None:
        defaults = {name: attribute.default_value for name, attribute in schema.attributes.items()}
        values |= {name: default for name, default in defaults.items() if default.name}
    return [_bound(inner, values | given) for inner in function.node]


def _bound(node: NodeProto, values: dict[str, AttributeProto]) -> NodeProto:
    """A copy of a node with attribute references replaced; one without a value is left out."""
    copy = NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            bound = copy.attribute.add()
            bound.CopyFrom(attribute)
            for graph in (bound.g, *bound.graphs) if bound.type == AttributeProto.GRAPH else bound.graphs:
                _bind_graph(graph, values)
        elif attribute.ref_attr_name in values:
            bound = copy.attribute.add()
            bound.CopyFrom(values[attribute.ref_attr_name])
            bound.name = attribute.name
    return copy


def _bind_graph(graph: GraphProto, values: dict[str, AttributeProto]) -> None:
    nodes = [_bound(node, values) for node in graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
