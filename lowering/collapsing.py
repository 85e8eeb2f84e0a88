"""Collapsing neighbouring loops of a linalg.generic that walk memory as one: what may be joined, and the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, ArrayAttr
from xdsl.dialects.linalg import attrs as linalg_attrs
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from relay_mlir.dialects.relay.dims import Dim, product
from relay_mlir.dialects.relay.sizes import Sizes
from relay_mlir.lowering.structured import Access, Structured, is_row_major, shape_of, strides_of

Groups: TypeAlias = list[list[int]]
"""The loops in order, in runs that become one loop each."""
Reshape: TypeAlias = Callable[[SSAValue, Groups], SSAValue]
"""Makes the view of an operand in which runs of its dimensions are joined."""


def joins(access: Access, loop: int, extents: Sequence[int]) -> bool:
    """Whether an operand sees `loop` and the next loop as one: unused both, or adjacent dimensions without a gap."""
    first, second = access.uses(loop), access.uses(loop + 1)
    if not first and not second:
        return True
    strides = strides_of(access.value)
    if not first or not second or strides is None:
        return False
    places: list[int] = []
    for wanted in (loop, loop + 1):
        found = [at for at, expr in enumerate(access.map.results) if wanted in expr.used_dims()]
        if len(found) != 1 or not isinstance(access.map.results[found[0]], AffineDimExpr):
            return False
        places.append(found[0])
    inner, shape = places[1], shape_of(access.value)
    together = is_row_major(access.value) or (
        DYNAMIC_INDEX not in (strides[places[0]], strides[inner], shape[inner])
        and strides[places[0]] == strides[inner] * shape[inner]
    )
    # An open size is the extent of its loop, or else the program would have stopped.
    return (
        places[1] == places[0] + 1
        and together
        and (shape[inner] == extents[loop + 1] or DYNAMIC_INDEX in (shape[inner], extents[loop + 1]))
    )


def _may_join(view: Structured, loop: int) -> bool:
    return (loop in view.reductions) == (loop + 1 in view.reductions) and all(
        joins(access, loop, view.extents) for access in (*view.inputs, *view.outputs)
    )


def has_index(view: Structured) -> bool:
    """Whether the body asks for positions, which collapsing would change."""
    return any(isinstance(op, linalg.IndexOp) for op in view.body.ops)


def groups(view: Structured) -> Groups:
    """The longest runs of loops that can be collapsed."""
    result: Groups = []
    for loop in range(len(view.extents)):
        if result and not has_index(view) and _may_join(view, loop - 1):
            result[-1].append(loop)
        else:
            result.append([loop])
    return result


def groups_to_shape(view: Structured, shape: Sequence[int], sizes: Sizes) -> Groups | None:
    """The runs of loops whose extents multiply to `shape`, where they can be collapsed; None where not."""
    if has_index(view):
        return None
    result: Groups = []
    extents = view.sizes(sizes)
    rest = list(range(len(extents)))

    def count(run: Sequence[int]) -> int:
        return product([extents[loop] for loop in run])

    for size in shape:
        run: list[int] = []
        while rest and (not run or _falls_short(count(run), size) or extents[rest[0]] == 1):
            if run and not _may_join(view, run[-1]):
                break
            run.append(rest.pop(0))
        if not run or count(run) != size:
            return None
        result.append(run)
    return None if rest else result


def _falls_short(count: int, size: int) -> bool:
    """Whether loops of `count` iterations must be joined with more of them to be `size`."""
    return count != size if isinstance(count, Dim) or isinstance(size, Dim) else count < size


def collapsed(view: Structured, parts: Groups, reshape: Reshape) -> linalg.GenericOp:
    """A new generic with collapsed loops on collapsed operands, with a copy of the body; not inserted anywhere."""
    leader = {group[0]: position for position, group in enumerate(parts)}
    follower = {loop for group in parts for loop in group[1:]}
    replacements: list[AffineExpr] = [AffineExpr.dimension(leader.get(loop, 0)) for loop in range(len(view.extents))]
    operands: list[SSAValue] = []
    maps: list[AffineMapAttr] = []
    for access in (*view.inputs, *view.outputs):
        dims: Groups = []
        exprs: list[AffineExpr] = []
        for place, expr in enumerate(access.map.results):
            if isinstance(expr, AffineDimExpr) and expr.position in follower:
                dims[-1].append(place)
            else:
                dims.append([place])
                exprs.append(expr.replace_dims_and_symbols(replacements, []))
        operands.append(access.value if len(dims) == len(access.map.results) else reshape(access.value, dims))
        maps.append(AffineMapAttr(AffineMap(len(parts), 0, tuple(exprs))))
    iterators = [
        linalg_attrs.IteratorTypeAttr(
            linalg_attrs.IteratorType.REDUCTION if group[0] in view.reductions else linalg_attrs.IteratorType.PARALLEL
        )
        for group in parts
    ]
    inputs = len(view.inputs)
    outputs = operands[inputs:]
    made = linalg.GenericOp(
        operands[:inputs],
        outputs,
        view.op.body.clone(),
        ArrayAttr(maps),
        ArrayAttr(iterators),
        [value.type for value in outputs] if view.op.results else [],
    )
    made.location = view.op.location
    return made
