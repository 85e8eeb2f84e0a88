"""Types as terms with holes, and unification: what type inference computes with.

A term is a hole (possibly bound to another term), a tensor, or a constructor applied to terms (tuple, function,
reference, data type, rigid type variable). Tensors agree where element type, rank and each dimension known on both
sides agree. The type that a hole is bound to gives way to `?` where it meets a `?`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import FunctionType, TensorType, TupleType
from xdsl.ir import Attribute, Operation

from relay_mlir.dialects.relay.language_types import ADTType, IncompleteType, PolyType, RefType, TypeVarType
from relay_mlir.dialects.relay.types import ANY


@dataclass(eq=False)
class Hole:
    """A type not known yet. `waiting` are told when it becomes known."""

    what: str
    """What it is the type of, for messages."""
    place: Operation
    bound: Term | None = None
    bound_by: Operation | None = None
    waiting: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])


@dataclass(eq=False)
class TensorTerm:
    """A tensor type; `soft` ones belong to a hole and may lose a known dimension."""

    element: Attribute
    shape: list[int]
    soft: bool = False


@dataclass(eq=False)
class Con:
    """A type constructor applied to terms. `head` tells constructors apart: `tuple`, `fn`, `ref`, `adt @List`, `var A`.

    The last argument of a function is its result.
    """

    head: str
    args: list[Term]


@dataclass(eq=False)
class Scheme:
    """A polymorphic function type."""

    parameters: tuple[str, ...]
    body: Con


Term: TypeAlias = "Hole | TensorTerm | Con | Scheme"


class MismatchError(Exception):
    """Two terms that cannot be one; `found` and `expected` are the parts that differ."""

    def __init__(self, found: Term, expected: Term, why: str = ""):
        self.found, self.expected, self.why = found, expected, why
        super().__init__(why)


def prune(term: Term) -> Term:
    """The term that a hole is bound to, as far as known."""
    while isinstance(term, Hole) and term.bound is not None:
        term = term.bound
    return term


def origin(term: Term) -> Operation | None:
    """The operation that gave a hole its type."""
    by: Operation | None = None
    while isinstance(term, Hole) and term.bound is not None:
        by = term.bound_by or by
        term = term.bound
    return by


def term_of(type_: Attribute, hole: Callable[[], Hole], values: Mapping[str, Term] | None = None) -> Term:
    """A type as a term; each hole in it is a fresh one, type variables in `values` are replaced."""
    known = values or {}

    def convert(part: Attribute) -> Term:
        match part:
            case IncompleteType():
                return hole()
            case TensorType():
                return TensorTerm(part.element_type, list(part.get_shape()))
            case TupleType():
                return Con("tuple", [convert(t) for t in part.types])
            case FunctionType():
                outputs = list(part.outputs)
                result = convert(outputs[0]) if len(outputs) == 1 else Con("tuple", [convert(t) for t in outputs])
                return Con("fn", [*(convert(t) for t in part.inputs), result])
            case RefType():
                return Con("ref", [convert(part.content)])
            case ADTType():
                return Con(f"adt @{part.adt_name}", [convert(t) for t in part.arguments])
            case TypeVarType():
                return known.get(part.var.data, Con(f"var {part.var.data}", []))
            case PolyType():
                inner = {name: term for name, term in known.items() if name not in part.type_parameters}
                return Scheme(part.type_parameters, cast(Con, term_of(part.body, hole, inner)))
            case _:
                return Con(f"other {part}", [])

    return convert(type_)


def type_of(term: Term) -> Attribute:
    """A term as a type; unbound holes are `!relay.incomplete`."""
    term = prune(term)
    match term:
        case Hole():
            return IncompleteType()
        case TensorTerm():
            return TensorType(term.element, tuple(term.shape))
        case Scheme():
            return PolyType(term.parameters, cast(FunctionType, type_of(term.body)))
        case Con():
            args = [type_of(arg) for arg in term.args]
            kind, _, name = term.head.partition(" ")
            match kind:
                case "tuple":
                    return TupleType(cast(Any, tuple(args)))  # a list would make a type that equals no other
                case "fn":
                    return FunctionType.from_lists(args[:-1], args[-1:])
                case "ref":
                    return RefType(args[0])
                case "adt":
                    return ADTType(name[1:], args)
                case _:
                    return TypeVarType(name)


def instance(scheme: Scheme, fresh: Callable[[str], Term]) -> Con:
    """The function type of a scheme with fresh terms for its parameters."""
    values = {name: fresh(name) for name in scheme.parameters}

    def copy(term: Term) -> Term:
        term = prune(term)
        if isinstance(term, Con):
            kind, _, name = term.head.partition(" ")
            return values[name] if kind == "var" and name in values else Con(term.head, [copy(a) for a in term.args])
        return term

    return cast(Con, copy(scheme.body))


def occurs(hole: Hole, term: Term) -> bool:
    """Whether a hole is part of a term."""
    pending = [term]
    while pending:
        part = prune(pending.pop())
        if part is hole:
            return True
        if isinstance(part, Con):
            pending += part.args
        elif isinstance(part, Scheme):
            pending.append(part.body)
    return False


def holes(term: Term) -> list[Hole]:
    """The unbound holes of a term."""
    found: list[Hole] = []
    pending = [term]
    while pending:
        part = prune(pending.pop())
        if isinstance(part, Hole):
            found.append(part)
        elif isinstance(part, Con):
            pending += part.args
        elif isinstance(part, Scheme):
            pending.append(part.body)
    return found


class Unifier:
    """Makes terms equal; remembers which operation bound which hole."""

    def __init__(self) -> None:
        self.woken: list[Callable[[], None]] = []
        """What waited for holes that are bound now."""

    def bind(self, hole: Hole, term: Term, by: Operation) -> None:
        if occurs(hole, term):
            raise MismatchError(hole, term, "the type would contain itself")
        if isinstance(term, TensorTerm):
            term = TensorTerm(term.element, list(term.shape), soft=True)
        hole.bound, hole.bound_by = term, by
        if isinstance(term, Hole):
            term.waiting += hole.waiting
        else:
            self.woken += hole.waiting
        hole.waiting = []

    def unify(self, found: Term, expected: Term, by: Operation) -> None:
        """Makes two terms one; raises MismatchError with the parts that differ."""
        pending: list[tuple[Term, Term]] = [(found, expected)]
        while pending:
            left, right = pending.pop()
            a, b = prune(left), prune(right)
            if a is b:
                continue
            if isinstance(a, Hole):
                self.bind(a, b, by)
            elif isinstance(b, Hole):
                self.bind(b, a, by)
            elif isinstance(a, TensorTerm) and isinstance(b, TensorTerm):
                _unify_tensors(a, b, left, right)
            elif isinstance(a, Con) and isinstance(b, Con):
                if a.head != b.head or len(a.args) != len(b.args):
                    raise MismatchError(left, right, _difference(a, b))
                pending += reversed(list(zip(a.args, b.args, strict=True)))
            elif isinstance(a, Scheme) and isinstance(b, Scheme) and len(a.parameters) == len(b.parameters):
                renamed = instance(a, lambda name, a=a, b=b: Con(f"var {b.parameters[a.parameters.index(name)]}", []))
                pending.append((renamed, b.body))
            elif isinstance(a, Scheme) and isinstance(b, Con) and b.head == "fn":
                pending.append((_used(a, by), b))
            elif isinstance(b, Scheme) and isinstance(a, Con) and a.head == "fn":
                pending.append((a, _used(b, by)))
            else:
                raise MismatchError(left, right)


def _used(scheme: Scheme, place: Operation) -> Con:
    """A polymorphic function where one at certain types is wanted: an instance of it."""
    return instance(scheme, lambda name: Hole(f"type parameter {name}", place))


def _difference(a: Con, b: Con) -> str:
    if a.head == b.head == "fn":
        return f"the one takes {len(a.args) - 1} arguments, the other {len(b.args) - 1}"
    if a.head == b.head == "tuple":
        return f"the one has {len(a.args)} fields, the other {len(b.args)}"
    return ""


def _unify_tensors(a: TensorTerm, b: TensorTerm, left: Term, right: Term) -> None:
    if a.element != b.element:
        raise MismatchError(left, right, f"the element types {a.element} and {b.element} differ")
    if len(a.shape) != len(b.shape):
        raise MismatchError(left, right, f"the ranks {len(a.shape)} and {len(b.shape)} differ")
    for position, (one, other) in enumerate(zip(a.shape, b.shape, strict=True)):
        if ANY in (one, other):
            for term in (a, b):
                if term.soft:
                    term.shape[position] = ANY
        elif one != other:
            raise MismatchError(left, right, f"dimension {position} is {one} in the one and {other} in the other")
