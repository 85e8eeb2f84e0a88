"""Permutations of dimensions, and how a reshape acts on permuted data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TypeAlias, TypeVar

Permutation: TypeAlias = tuple[int, ...]
"""Dimension i of the permuted tensor is dimension `p[i]` of the tensor: the `axes` of a transpose."""

_T = TypeVar("_T")


def identity(rank: int) -> Permutation:
    return tuple(range(rank))


def permuted(items: Sequence[_T], p: Permutation) -> tuple[_T, ...]:
    """What belongs to the dimensions of a tensor, in the order of the permuted tensor."""
    return tuple(items[axis] for axis in p)


def inverse(p: Permutation) -> Permutation:
    """The permutation that undoes `p`."""
    return tuple(sorted(range(len(p)), key=p.__getitem__))


def between(p: Permutation, q: Permutation) -> Permutation:
    """The transpose from a tensor permuted by `p` to the same tensor permuted by `q`."""
    return permuted(inverse(p), q)


def moves_data(shape: Sequence[int], p: Permutation) -> bool:
    """Whether transposing a tensor of this shape changes the order of its elements: some dimension above 1 moves."""
    order = [axis for axis in p if shape[axis] != 1]
    return order != sorted(order)


def reshaped(before: Sequence[int], after: Sequence[int], p: Permutation) -> Permutation | None:
    """The permutation `q` for which reshaping the tensor permuted by `p` gives the reshaped tensor permuted by `q`.

    None where there is none: where the reshape joins dimensions that `p` has moved apart. Shapes are static.
    """
    if 0 in before:
        return None
    order = [axis for axis in p if before[axis] != 1]
    groups = list(_groups(before, after))
    for source, _ in groups:
        start = order.index(source[0])
        if order[start : start + len(source)] != source:
            return None
    groups.sort(key=lambda group: order.index(group[0][0]))
    # A dimension of 1 goes along with the dimension before it.
    result = [axis for axis, size in enumerate(after) if size == 1 and prod(after[:axis]) == 1]
    for _, target in groups:
        for axis in target:
            result.append(axis)
            following = axis + 1
            while following < len(after) and after[following] == 1:
                result.append(following)
                following += 1
    return tuple(result)


def _groups(before: Sequence[int], after: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """The smallest runs of dimensions above 1 of two shapes that a reshape turns into each other."""
    sources = [axis for axis, size in enumerate(before) if size != 1]
    targets = [axis for axis, size in enumerate(after) if size != 1]
    while sources:
        source, target = [sources.pop(0)], [targets.pop(0)]
        while (left := prod(before[axis] for axis in source)) != (right := prod(after[axis] for axis in target)):
            if left < right:
                source.append(sources.pop(0))
            else:
                target.append(targets.pop(0))
        yield source, target
