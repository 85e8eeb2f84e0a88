"""What the operators that move elements without computing on them share: folds, and positions that stay inside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder, identity
from relay_mlir.dialects.relay.op import RelayOp
from relay_mlir.dialects.relay.types import Tensor, is_static

if TYPE_CHECKING:
    import numpy as np


def identity_fold(op: RelayOp) -> Sequence[SSAValue] | None:
    """The first operand as the only result, where their types agree: for an operator known to be an identity."""
    return [op.operands[0]] if op.operand_types[0] == op.result_tensors[0] else None


def same_shape_fold(op: RelayOp) -> Sequence[SSAValue] | None:
    """`identity_fold` for operators that are an identity where the static shape does not change."""
    return identity_fold(op) if is_static(op.operand_types[0].get_shape()) else None


def check_index_type(type_: Tensor, what: str = "indices") -> None:
    """Raises VerifyException where the tensor's elements are no signed 32 or 64 bit integers."""
    if type_.element_type not in (i32, i64):
        raise VerifyException(f"{what} must be i32 or i64, but are {type_.element_type}; cast them")


def gathered(
    build: LinalgBuilder,
    source: SSAValue,
    result: Tensor,
    positions: Callable[[ScalarBuilder], Sequence[SSAValue]],
) -> SSAValue:
    """A tensor whose every element is read from `source` at the positions that the body computes (in range)."""
    shape = result.get_shape()
    into = build.empty(shape, result.element_type)
    if 0 in shape:
        return into
    rank = len(shape)

    def body(s: ScalarBuilder, _: SSAValue) -> SSAValue:
        return s.extract(source, positions(s))

    return build.generic(
        [],
        [],
        [into],
        [identity(rank)],
        ["parallel"] * rank,
        body,
        widen=False,
    )[0]


def counting(count: int) -> np.ndarray:
    """0, 1, ... count - 1."""
    import numpy as np

    return np.fromiter(range(count), np.int64, count)


def wrap_negative(s: ScalarBuilder, position: SSAValue, size: int) -> SSAValue:
    """The position with the size added where it is negative: -1 is the last."""
    below = s.compare("lt", position, s.like(0, position))
    return s.select(below, s.add(position, s.like(size, position)), position)


def clamped(s: ScalarBuilder, position: SSAValue, size: int) -> SSAValue:
    """The position nearest to it in [0, size)."""
    return s.maximum(s.minimum(position, s.like(size - 1, position)), s.like(0, position))


def within(s: ScalarBuilder, position: SSAValue, size: int) -> SSAValue:
    """Whether the position lies in [0, size), as an i1."""
    return s.compare("lt", position, s.like(size, position), unsigned=True)


def nest(
    build: LinalgBuilder,
    shape: Sequence[int],
    carried: SSAValue,
    body: Callable[[LinalgBuilder, list[SSAValue], SSAValue], SSAValue],
) -> SSAValue:
    """A nest of sequential loops over a shape, carrying a tensor: `body(build, positions, tensor)` gives the next."""

    def level(build: LinalgBuilder, outer: list[SSAValue], tensor: SSAValue) -> SSAValue:
        if len(outer) == len(shape):
            return body(build, outer, tensor)
        return build.loop(
            shape[len(outer)], [tensor], lambda b, position, inner: [level(b, [*outer, position], inner[0])]
        )[0]

    return level(build, [], carried)


def copied(build: LinalgBuilder, value: SSAValue) -> SSAValue:
    """A tensor of its own with the same elements, which may be written to."""
    return build.elementwise([value], cast(Tensor, value.type), moved, widen=False)


def moved(s: ScalarBuilder, value: SSAValue, *rest: SSAValue) -> SSAValue:
    """The body of a generic whose element is that of its first input."""
    return value
