"""Sums of products of tensors by index letters, written as transposes, sums and products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.matmul import matmul
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value


@dataclass
class Term:
    """A tensor and the letter of each of its axes."""

    value: Value
    letters: str

    def size(self, letter: str) -> int:
        return self.value.shape[self.letters.index(letter)]


def einsum(c: Emitter, equation: str, values: Sequence[Value]) -> Value:
    """The sum of products that an equation such as `bij,bjk->bik` names; raises Problem where the values do not fit."""
    equation = equation.replace(" ", "")
    for value in values:
        value.static_shape("an einsum needs the sizes of all axes")
    subscripts, out = _parsed(equation, values)
    terms = [_without_repeats(c, Term(v, letters)) for v, letters in zip(values, subscripts, strict=True)]
    _check_sizes(terms)
    term = terms[0]
    for position, other in enumerate(terms[1:], 1):
        kept = set(out).union(*(later.letters for later in terms[position + 1 :]))
        term = _product(c, term, other, kept)
    term = _summed(c, term, set(out))
    return c.transpose(term.value, [term.letters.index(letter) for letter in out])


def _parsed(equation: str, values: Sequence[Value]) -> tuple[list[str], str]:
    """The letters of each operand and of the result; an ellipsis becomes capital letters that are not used yet."""
    left, arrow, right = equation.partition("->")
    subscripts = left.split(",")
    if len(subscripts) != len(values):
        raise Problem(f"equation '{equation}' has {len(subscripts)} terms, but there are {len(values)} inputs")
    free = [letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if letter not in equation]
    longest = max((v.rank - len(s.replace("...", "")) for s, v in zip(subscripts, values, strict=True)), default=0)
    if longest > len(free):
        raise Problem(f"equation '{equation}' has too many axes")
    dots = "".join(free[: max(longest, 0)])
    parsed: list[str] = []
    for subscript, value in zip(subscripts, values, strict=True):
        count = value.rank - len(subscript.replace("...", ""))
        letters = subscript.replace("...", dots[len(dots) - count :] if count > 0 else "")
        if len(letters) != value.rank or not (letters.isalpha() or not letters):
            raise Problem(f"'{subscript}' of equation '{equation}' does not fit an input of rank {value.rank}")
        parsed.append(letters)
    if arrow:
        out = right.replace("...", dots)
    else:
        every = "".join(parsed)
        out = dots + "".join(sorted(x for x in set(every) if every.count(x) == 1 and x not in dots))
    if not set(out) <= set("".join(parsed)) or len(set(out)) != len(out):
        raise Problem(f"the result '{out}' of equation '{equation}' must have letters of the inputs, each once")
    return parsed, out


def _check_sizes(terms: Sequence[Term]) -> None:
    sizes: dict[str, int] = {}
    for term in terms:
        for letter, size in zip(term.letters, term.value.shape, strict=True):
            if sizes.setdefault(letter, size) != size and 1 not in (sizes[letter], size):
                raise Problem(f"axis '{letter}' has the sizes {sizes[letter]} and {size}")
            sizes[letter] = max(sizes[letter], size)


def _without_repeats(c: Emitter, term: Term) -> Term:
    """The diagonal of axes with the same letter."""
    for letter in sorted(set(term.letters)):
        while term.letters.count(letter) > 1:
            first = term.letters.index(letter)
            second = term.letters.index(letter, first + 1)
            rest = [axis for axis in range(term.value.rank) if axis not in (first, second)]
            size = term.value.shape[first]
            if size != term.value.shape[second]:
                raise Problem(f"axis '{letter}' has the sizes {size} and {term.value.shape[second]}")
            shape = [term.value.shape[axis] for axis in rest]
            flat = c.reshape(c.transpose(term.value, (first, second, *rest)), (size * size, *shape))
            places = c.constant(np.arange(size, dtype=np.int64) * (size + 1))
            letters = letter + "".join(term.letters[axis] for axis in rest)
            term = Term(c.op("take", flat, places, axis=0, mode="fast"), letters)
    return term


def _summed(c: Emitter, term: Term, kept: set[str]) -> Term:
    """The term with all other letters summed."""
    axes = tuple(axis for axis, letter in enumerate(term.letters) if letter not in kept)
    if not axes:
        return term
    return Term(c.op("sum", term.value, axis=axes), "".join(letter for letter in term.letters if letter in kept))


def _product(c: Emitter, a: Term, b: Term, kept: set[str]) -> Term:
    """Two terms multiplied, letters that nothing else needs summed: one product of (batches of) matrices."""
    a, b = _summed(c, a, kept | set(b.letters)), _summed(c, b, kept | set(a.letters))
    shared = [letter for letter in a.letters if letter in b.letters]
    batch = [letter for letter in shared if letter in kept]
    inner = [letter for letter in shared if letter not in kept]
    rows = [letter for letter in a.letters if letter not in shared]
    columns = [letter for letter in b.letters if letter not in shared]
    sizes = {letter: max(a.size(letter), b.size(letter)) for letter in shared}
    left = _matrix(c, a, batch, rows, inner, sizes)
    right = _matrix(c, b, batch, inner, columns, sizes)
    sizes |= {letter: a.size(letter) for letter in rows} | {letter: b.size(letter) for letter in columns}
    letters = "".join([*batch, *rows, *columns])
    return Term(c.reshape(matmul(c, left, right), [sizes[letter] for letter in letters]), letters)


def _matrix(
    c: Emitter, term: Term, batch: Sequence[str], rows: Sequence[str], columns: Sequence[str], sizes: dict[str, int]
) -> Value:
    """The term as (batch, rows, columns), without the batch dimension where there is none."""
    order = [*batch, *rows, *columns]
    value = c.transpose(term.value, [term.letters.index(letter) for letter in order])
    value = c.broadcast_to(value, [sizes.get(letter, term.size(letter)) for letter in order])
    dims = iter(value.shape)
    counts = [prod(next(dims) for _ in group) for group in (batch, rows, columns)]
    return c.reshape(value, counts if batch else counts[1:])
