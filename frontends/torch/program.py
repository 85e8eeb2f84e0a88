"""What an exported PyTorch program says, in plain data: nothing here, in the importer or in the handlers needs torch.

A graph has inputs, nodes in order, and outputs. The arguments of a node are numbers, strings, None, lists, `Ref`s to
what other nodes give, `Dim`s, `DType`s and, for control flow, `Graph`s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

Number: TypeAlias = "int | float | bool"


@dataclass(frozen=True)
class Ref:
    """What a node or an input of the graph gives, by its name."""

    name: str


@dataclass(frozen=True)
class DType:
    """An element type, by torch's name: `float32`, `bfloat16`, `bool`."""

    name: str


@dataclass(frozen=True)
class Dim:
    """A number that depends on sizes known at run time only, such as `2*s77`.

    `evaluate` gives its value where the symbols in it are bound, else None.
    """

    text: str
    evaluate: Callable[[Mapping[str, int]], Number | None] = field(compare=False)


def symbol(name: str) -> Dim:
    """The dimension that a symbol stands for."""
    return Dim(name, lambda sizes: sizes.get(name))


@dataclass(frozen=True)
class TensorType:
    """The declared type of a tensor; dimensions are ints or `Dim`s."""

    dtype: str
    shape: tuple[int | Dim, ...]


Result: TypeAlias = "TensorType | Dim | Number | str | Sequence[Result] | None"
"""What a node gives: a tensor, a number that is part of the program, or a list of those."""

Argument: TypeAlias = "Ref | Dim | DType | Graph | Number | str | Sequence[Argument] | None"


@dataclass
class Node:
    """A call of an operator.

    `target` is the operator and overload (`aten.add.Tensor`), `arguments` what is given by the names of its schema,
    `defaults` the values of those left out. `module` is the path of the module that the call is written in.
    """

    name: str
    target: str
    arguments: Mapping[str, Argument]
    result: Result
    defaults: Mapping[str, Argument] = field(default_factory=dict[str, Any])
    module: str = ""

    @property
    def location(self) -> str:
        """The name of the node behind the path of its module."""
        return f"{self.module}/{self.name}" if self.module else self.name


@dataclass
class Graph:
    """Inputs (name and type), nodes in order, outputs."""

    inputs: Sequence[tuple[str, Result]]
    nodes: Sequence[Node]
    outputs: Sequence[Argument]


@dataclass
class Source:
    """What an input of the program is: an argument of it (`load` is None), or a tensor with a name."""

    name: str
    load: Callable[[], np.ndarray] | None = None
    key: str = ""
    """The name of the weight; inputs with one key share it."""


@dataclass
class Program:
    """An exported program. Inputs of the graph that are not in `sources` are numbers that are part of it.

    `limits` are the sizes that each symbol may have. `problems` are reasons why it cannot be imported.
    """

    graph: Graph
    sources: Mapping[str, Source]
    name: str = "main"
    limits: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, Any])
    problems: Sequence[str] = ()
