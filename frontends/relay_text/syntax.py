"""The tree of a Relay program between its text and the relay dialect.

Names are resolved: a variable is an object, a graph variable (`%0`) a reference to the expression it stands for.
`pure` says whether evaluating a node later, or not at all, makes no difference.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Attribute, Block

from relay_mlir.dialects.relay.patterns import MatchPattern
from relay_mlir.frontends.relay_text.literals import Scalar


@dataclass(slots=True, eq=False)
class Var:
    """A variable: what `let`, a parameter or a pattern binds."""

    name: str
    type: Attribute | None
    position: int


@dataclass(slots=True, eq=False)
class Scope:
    """A part of a program that becomes a block: a function body, a branch, a case."""

    parent: Scope | None
    depth: int
    block: Block | None = None
    """The block while it is built."""


@dataclass(slots=True, eq=False)
class Node:
    """An expression."""

    position: int
    pure: bool


@dataclass(slots=True, eq=False)
class Literal(Node):
    """A number or a boolean."""

    scalar: Scalar


@dataclass(slots=True, eq=False)
class Local(Node):
    """A use of a variable."""

    var: Var


@dataclass(slots=True, eq=False)
class Shared:
    """What a graph variable stands for; evaluated once in the innermost scope around all its uses."""

    number: str
    expr: Expr
    position: int
    order: int
    """Counts the graph variables of a text; what a shared expression uses has a lower number."""
    scope: Scope | None = None
    """The innermost scope around the uses; None without uses."""


@dataclass(slots=True, eq=False)
class GraphRef(Node):
    """A use of a graph variable."""

    shared: Shared


@dataclass(slots=True, eq=False)
class GlobalRef(Node):
    """A function of the module."""

    name: str


@dataclass(slots=True, eq=False)
class OpRef(Node):
    """An operator, by Relay's name."""

    name: str


@dataclass(slots=True, eq=False)
class ConstructorRef(Node):
    """A constructor."""

    name: str


@dataclass(slots=True, eq=False)
class MetaRef(Node):
    """`meta[key][index]`: an entry of the metadata."""

    key: str
    index: int


AttrValue: TypeAlias = "Scalar | str | list[AttrValue] | Expr | None"


@dataclass(slots=True, eq=False)
class Attr:
    """`name=value`."""

    name: str
    value: AttrValue
    position: int


@dataclass(slots=True, eq=False)
class Call(Node):
    """`callee(arguments, attributes)`; the attributes may be one metadata entry."""

    callee: Expr
    arguments: list[Expr]
    attrs: list[Attr] | MetaRef


@dataclass(slots=True, eq=False)
class TupleExpr(Node):
    """`(a, b)`."""

    fields: list[Expr]


@dataclass(slots=True, eq=False)
class Projection(Node):
    """`t.0`."""

    value: Expr
    index: int


@dataclass(slots=True, eq=False)
class Part:
    """An expression that becomes a block of its own, with the variables it binds."""

    body: Expr
    parameters: list[Var] = field(default_factory=list[Var])
    scope: Scope | None = None


@dataclass(slots=True, eq=False)
class If(Node):
    """`if (c) { a } else { b }`."""

    condition: Expr
    branches: tuple[Part, Part]


@dataclass(slots=True, eq=False)
class Match(Node):
    """`match (e) { pattern => case, ... }`."""

    scrutinee: Expr
    cases: list[tuple[MatchPattern, Part]]
    complete: bool


@dataclass(slots=True, eq=False)
class Function(Node):
    """`fn [A](%x: T, attrs) -> R { body }`, or what follows the name of a `def`."""

    type_parameters: list[str]
    part: Part
    result: Attribute | None
    attrs: list[Attr]

    @property
    def parameters(self) -> list[Var]:
        return self.part.parameters


@dataclass(slots=True, eq=False)
class RefCall(Node):
    """`ref(e)`, `ref_read(r)` or `ref_write(r, e)`."""

    name: str
    arguments: list[Expr]


@dataclass(slots=True, eq=False)
class Let:
    """`let %x: T = value;`, or `value;` without a variable."""

    var: Var | None
    value: Expr
    position: int


@dataclass(slots=True, eq=False)
class Body(Node):
    """Bindings, then an expression."""

    bindings: list[Let | Shared]
    result: Expr


Expr: TypeAlias = (
    Literal
    | Local
    | GraphRef
    | GlobalRef
    | OpRef
    | ConstructorRef
    | MetaRef
    | Call
    | TupleExpr
    | Projection
    | If
    | Match
    | Function
    | RefCall
    | Body
)


@dataclass(slots=True, eq=False)
class Definition:
    """`def @name...`."""

    name: str
    function: Function
    position: int


@dataclass(slots=True, eq=False)
class ConstructorDecl:
    """A constructor of a type declaration."""

    name: str
    fields: list[Attribute]
    position: int


@dataclass(slots=True, eq=False)
class TypeDecl:
    """`type Name[A] { ... }` or `extern type Name[A]`."""

    name: str
    parameters: list[str]
    constructors: list[ConstructorDecl]
    extern: bool
    position: int


@dataclass(slots=True, eq=False)
class Program:
    """The declarations and definitions of a text."""

    types: list[TypeDecl] = field(default_factory=list[TypeDecl])
    functions: list[Definition] = field(default_factory=list[Definition])
