"""Dimensions that are known at run time only, as expressions: what type relations and lower forms compute shapes with.

A `Dim` is a sum of products of atoms, which are never negative. It stands in a shape where an int may stand, is equal
to `ANY` and to dims of the same value, and can be added, multiplied and divided; a question that only run time can
answer (whether it is less than 7) raises VerifyException. So `infer` of an operator is its shape function too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.utils.exceptions import VerifyException

Monomial: TypeAlias = "frozenset[tuple[Hashable, int]]"
"""Atoms and their powers."""
Terms: TypeAlias = "dict[Monomial, int]"
"""The coefficient of each product."""

_ONE: Monomial = frozenset()


class Dim:
    """A size as a polynomial of atoms."""

    __slots__ = ("terms",)

    def __init__(self, terms: Terms):
        self.terms = terms

    @staticmethod
    def atom(of: Hashable) -> int:
        """The size that an atom stands for; typed as an int, as every dimension of a shape is."""
        return cast(int, Dim({frozenset([(of, 1)]): 1}))

    # Equality

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dim):
            return self.terms == other.terms
        return other == DYNAMIC_INDEX

    def __hash__(self) -> int:
        return hash(DYNAMIC_INDEX)

    def __repr__(self) -> str:
        parts = [
            "*".join([*([str(factor)] if factor != 1 or not product else []), *(f"{a}^{p}" for a, p in product)])
            for product, factor in self.terms.items()
        ]
        return " + ".join(parts)

    # Arithmetic

    def __add__(self, other: Dim | int) -> int:
        total = dict(self.terms)
        for product, factor in terms_of(other).items():
            total[product] = total.get(product, 0) + factor
        return _made(total)

    def __mul__(self, other: Dim | int) -> int:
        total: Terms = {}
        for left, a in self.terms.items():
            for right, b in terms_of(other).items():
                product = _times(left, right)
                total[product] = total.get(product, 0) + a * b
        return _made(total)

    def __neg__(self) -> int:
        return self * -1

    def __sub__(self, other: Dim | int) -> int:
        return self + other * -1

    def __rsub__(self, other: int) -> int:
        return cast(Dim, self * -1) + other

    __radd__ = __add__
    __rmul__ = __mul__

    def __floordiv__(self, other: Dim | int) -> int:
        exact = self._divided(other)
        if exact is not None:
            return exact
        if isinstance(other, Dim) or other <= 0:
            raise VerifyException(f"the size {self} cannot be divided by {other} before run time")
        return Dim.atom(Quotient(self, other))

    def __mod__(self, other: Dim | int) -> int:
        return 0 if self._divided(other) is not None else self - (self // other) * other

    def _divided(self, other: Dim | int) -> int | None:
        """The quotient by a constant or one product, where every term divides."""
        divisor = terms_of(other)
        if len(divisor) != 1:
            return None
        ((below, by),) = divisor.items()
        result: Terms = {}
        for product, factor in self.terms.items():
            powers = dict(product)
            for atom, power in below:
                powers[atom] = powers.get(atom, 0) - power
            if by == 0 or factor % by or any(power < 0 for power in powers.values()):
                return None
            result[frozenset((a, p) for a, p in powers.items() if p)] = factor // by
        return _made(result)

    # Order

    @property
    def _least(self) -> int | None:
        """A bound from below, as far as it is known."""
        positive = all(factor >= 0 for factor in self.terms.values())
        return self.terms.get(_ONE, 0) if positive else None

    def _at_least(self, other: Dim | int) -> bool:
        """Whether it is never below `other`; raises VerifyException where that depends on the run."""
        rest = self - other
        if not isinstance(rest, Dim):
            return rest >= 0
        least, most = rest._least, cast(Dim, rest * -1)._least
        if least is not None and least >= 0:
            return True
        if most is not None and most > 0:
            return False
        raise VerifyException("it depends on a dimension that is not known before run time")

    def __ge__(self, other: Dim | int) -> bool:
        return self._at_least(other)

    def __lt__(self, other: Dim | int) -> bool:
        return not self._at_least(other)

    def __gt__(self, other: Dim | int) -> bool:
        return self._at_least(other + 1)

    def __le__(self, other: Dim | int) -> bool:
        return not self._at_least(other + 1)

    def __bool__(self) -> bool:
        return self._at_least(1)


@dataclass(frozen=True)
class Quotient:
    """The atom for a size divided by a positive constant, rounded down."""

    dividend: Dim
    divisor: int


def _times(left: Monomial, right: Monomial) -> Monomial:
    powers = dict(left)
    for atom, power in right:
        powers[atom] = powers.get(atom, 0) + power
    return frozenset(powers.items())


def _made(terms: Terms) -> int:
    """The dimension of these terms: an int where nothing is open."""
    kept = {product: factor for product, factor in terms.items() if factor}
    if not kept:
        return 0
    if set(kept) == {_ONE}:
        return kept[_ONE]
    return cast(int, Dim(kept))


def terms_of(dim: Dim | int) -> Terms:
    """The terms of a dimension; none may be ANY itself."""
    if isinstance(dim, Dim):
        return dim.terms
    if dim == DYNAMIC_INDEX:
        raise VerifyException("a dimension is not known, not even by what it depends on")
    return {_ONE: dim} if dim else {}


def is_open(dim: int) -> bool:
    """Whether a dimension is known at run time only."""
    return dim == DYNAMIC_INDEX


def plain(shape: Iterable[int]) -> tuple[int, ...]:
    """The shape as types state it: ANY for every open dimension."""
    return tuple(DYNAMIC_INDEX if dim == DYNAMIC_INDEX else dim for dim in shape)


def atoms_of(dim: int) -> list[Hashable]:
    """The atoms that a dimension depends on, those within quotients left inside."""
    if not isinstance(dim, Dim):
        return []
    return [atom for product in cast(Dim, dim).terms for atom, _ in product]


def all_atoms(dim: int) -> list[Hashable]:
    """The atoms that a dimension depends on, those within quotients instead of the quotients."""
    found: list[Hashable] = []
    for atom in atoms_of(dim):
        found += all_atoms(cast(int, atom.dividend)) if isinstance(atom, Quotient) else [atom]
    return found


def substitute(dim: int, of: Callable[[Hashable], int]) -> int:
    """The dimension with each atom replaced by what `of` gives for it."""
    if not isinstance(dim, Dim):
        return dim
    total: int = 0
    for product, factor in cast(Dim, dim).terms.items():
        value = factor
        for atom, power in product:
            if isinstance(atom, Quotient):
                new = substitute(cast(int, atom.dividend), of) // atom.divisor
            else:
                new = of(atom)
            for _ in range(power):
                value = value * new
        total = total + value
    return total


def product(dims: Sequence[int]) -> int:
    """The product of dimensions: ANY where one is open and not said what it depends on, unless one is 0."""
    if 0 in dims:
        return 0
    total: int = 1
    for dim in dims:
        if dim == DYNAMIC_INDEX and not isinstance(dim, Dim):
            return DYNAMIC_INDEX
        total = total * dim
    return total


__all__ = ["Dim", "Quotient", "all_atoms", "atoms_of", "is_open", "plain", "product", "substitute", "terms_of"]
