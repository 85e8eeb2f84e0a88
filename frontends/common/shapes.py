"""Shapes with open dimensions as attributes of operators: what relay's reshape can say in its codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.dims import Dim
from relay_mlir.dialects.relay.reshape import Reshape
from relay_mlir.dialects.relay.types import ANY, Shape, tensor
from relay_mlir.dialects.relay.types import ELEMENT_TYPES as _ELEMENTS

_ELEMENT = _ELEMENTS["float32"]


def is_symbolic(shape: Sequence[int]) -> bool:
    """Whether every open dimension of a shape says what it depends on."""
    return all(isinstance(size, Dim) for size in shape if size == ANY)


def reshape_codes(data: Shape, target: Shape) -> tuple[int, ...] | None:
    """A `newshape` that gives the target from the data, both symbolic; None where relay's codes cannot say it."""
    source = tensor(data, _ELEMENT)
    for codes in _codes(data, target, 0, True):
        try:
            (found,) = Reshape(newshape=codes).infer([source])
        except VerifyException:
            continue
        if found.get_shape() == target:
            return codes
    return None


def _codes(data: Shape, target: Shape, at: int, may_infer: bool) -> Iterator[tuple[int, ...]]:
    """Candidates, most telling first: copied, merged and split dimensions before an inferred one."""
    if not target:
        yield ()
        return
    size, *others = target
    rest = tuple(others)
    left = data[at:]
    if left and left[0] == size:
        yield from _followed((0,), _codes(data, rest, at + 1, may_infer))
    if len(left) > 1 and left[0] * left[1] == size:
        yield from _followed((-3,), _codes(data, rest, at + 2, may_infer))
    if left and rest and size * rest[0] == left[0]:
        parts = tuple(-1 if isinstance(part, Dim) else part for part in (size, rest[0]))
        if parts.count(-1) < 2 and 0 not in parts:
            yield from _followed((-4, *parts), _codes(data, rest[1:], at + 1, may_infer))
    if not isinstance(size, Dim) and size > 0:
        yield from _followed((size,), _codes(data, rest, at + 1, may_infer))
    if may_infer:
        yield from _followed((-1,), _codes(data, rest, at + 1, False))


def _followed(first: tuple[int, ...], rest: Iterator[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    for codes in rest:
        yield (*first, *codes)


def completed(codes: Sequence[int], data: Shape, allowzero: bool) -> Shape | None:
    """The shape that ONNX's Reshape asks for, its 0 and -1 replaced; None where -1 cannot be told from the sizes."""
    sizes = [data[at] if code == 0 and not allowzero and at < len(data) else code for at, code in enumerate(codes)]
    inferred = [at for at, size in enumerate(sizes) if not isinstance(size, Dim) and size == -1]
    if len(inferred) > 1 or not is_symbolic(sizes) or not is_symbolic(data):
        return None
    if inferred:
        have: int = 1
        want: int = 1
        for size in data:
            have = have * size
        for at, size in enumerate(sizes):
            want = want if at in inferred else want * size
        try:
            if want == 0 or (have % want if not isinstance(have, Dim) and not isinstance(want, Dim) else 0):
                return None
            sizes[inferred[0]] = have // want
        except VerifyException:
            return None
    return tuple(sizes)
