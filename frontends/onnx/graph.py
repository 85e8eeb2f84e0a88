"""The names of an ONNX graph: scopes, and an order in which every value is defined before it is used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from onnx import AttributeProto, GraphProto, NodeProto

from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.onnx.structures import Item


class Failed:
    """Stands for a value whose node could not be imported; what depends on it is not reported again."""


FAILED: Final = Failed()


class AlreadyReported(Exception):
    """A node depends on one whose problem is already on the list."""


class Scope:
    """The values of a graph by name; a subgraph also sees those of the graphs around it."""

    def __init__(self, parent: Scope | None = None):
        self._values: dict[str, Item | Failed] = {}
        self._parent = parent

    def define(self, name: str, value: Item | Failed) -> None:
        """Gives a value its name; raises Problem where this graph already has the name."""
        if name in self._values:
            raise Problem(f"the value '{name}' is defined twice")
        self._values[name] = value

    def fail(self, names: Iterable[str]) -> None:
        """Marks values as not available, those that have no definition yet."""
        for name in names:
            self._values.setdefault(name, FAILED)

    def get(self, name: str) -> Item | Failed | None:
        """The value of this name, or None."""
        if name in self._values:
            return self._values[name]
        return None if self._parent is None else self._parent.get(name)

    def has(self, name: str) -> bool:
        return self.get(name) is not None


def captured_names(node: NodeProto) -> set[str]:
    """The names that a node reads, its subgraphs included (without what these define themselves)."""
    names = {name for name in node.input if name}
    for attribute in node.attribute:
        graphs = [attribute.g] if attribute.type == AttributeProto.GRAPH else list(attribute.graphs)
        for graph in graphs:
            names |= _free_names(graph)
    return names


def _free_names(graph: GraphProto) -> set[str]:
    read = {output.name for output in graph.output}
    defined = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        read |= captured_names(node)
        defined |= set(node.output)
    return read - defined


def in_order(nodes: Sequence[NodeProto], scope: Scope) -> tuple[list[NodeProto], list[NodeProto]]:
    """The nodes, each after those it reads from, otherwise in the given order; and those that wait for each other.

    A name that no node defines does not hold a node back: that is another mistake, reported elsewhere.
    """
    producer = {name: at for at, node in enumerate(nodes) for name in node.output if name}
    waits: list[int] = []
    readers: list[list[int]] = [[] for _ in nodes]
    for at, node in enumerate(nodes):
        sources = {producer[name] for name in captured_names(node) if name in producer and not scope.has(name)}
        waits.append(len(sources))
        for source in sources:
            readers[source].append(at)
    if all(at < min(readers[at], default=len(nodes)) for at in range(len(nodes))):
        return list(nodes), []
    ready = [at for at in range(len(nodes)) if waits[at] == 0]
    ordered: list[int] = []
    while ready:
        at = ready.pop(0)
        ordered.append(at)
        for reader in readers[at]:
            waits[reader] -= 1
            if waits[reader] == 0:
                ready.append(reader)
    done = set(ordered)
    return [nodes[at] for at in ordered], [node for at, node in enumerate(nodes) if at not in done]
