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


def reshaped(before: Sequence[int], after: Sequence[int], p: Permutation) -> tuple[Permutation, Permutation] | None:
    """Permutations `q` and `r`: reshaping the tensor permuted by `q` gives the reshaped tensor permuted by `r`.

    Of those, `q` is the nearest one to `p`: only dimensions that the reshape joins are brought together. None for
    tensors without elements. Shapes are static.
    """
    if 0 in before:
        return None
    groups = list(_groups(before, after))
    group_of = {axis: number for number, (source, _) in enumerate(groups) for axis in source}
    q: list[int] = []
    r: list[int] = [axis for axis in range(len(after)) if prod(after[: axis + 1]) == 1]
    waiting = [len(source) for source, _ in groups]
    for axis in p:
        number = group_of.get(axis)
        if number is None:
            q.append(axis)
            continue
        # Where the last of them is: what is innermost stays so, and a transpose to there moves long runs.
        waiting[number] -= 1
        if not waiting[number]:
            q += groups[number][0]
            r += _with_following_ones(after, groups[number][1])
    if not moves_data([before[axis] for axis in p], between(p, tuple(q))):
        q = list(p)
    return tuple(q), tuple(r)


def _with_following_ones(shape: Sequence[int], axes: Sequence[int]) -> Iterator[int]:
    """The axes, each with the dimensions of 1 that follow it."""
    for axis in axes:
        yield axis
        following = axis + 1
        while following < len(shape) and shape[following] == 1:
            yield following
            following += 1


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
