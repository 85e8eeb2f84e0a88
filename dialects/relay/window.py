"""Windows that slide over the spatial dimensions of a tensor, and layouts: what convolutions and pools share.

A layout is a string with a letter a dimension: N batch, C channels, D H W spatial, and for weights O and I, the output
and input channels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, dim
from relay_mlir.dialects.relay.types import ANY, Shape, Tensor, show_shape

MAX_SPATIAL = 3


def spatial_letters(rank: int) -> str:
    """The letters of this many spatial dimensions: `W`, `HW` or `DHW`."""
    return "DHW"[MAX_SPATIAL - rank :]


def check_layout(layout: str, letters: str, what: str) -> None:
    """Raises VerifyException unless the layout has each of the letters once."""
    if sorted(layout) != sorted(letters):
        raise VerifyException(f"{what} '{layout}' must have each of the letters {' '.join(letters)} once")


def check_rank(type_: Tensor, layout: str, what: str) -> None:
    """Raises VerifyException unless the tensor has a dimension for each letter."""
    if type_.get_num_dims() != len(layout):
        raise VerifyException(
            f"{what} must have {len(layout)} dimensions ({layout}), but has shape {show_shape(type_.get_shape())}"
        )


def axes_of(layout: str, letters: str) -> tuple[int, ...]:
    """The positions of letters in a layout, in the order of the letters."""
    return tuple(layout.index(letter) for letter in letters)


def replace_dims(shape: Sequence[int], axes: Sequence[int], sizes: Sequence[int]) -> Shape:
    """The shape with other sizes at these axes."""
    result = list(shape)
    for axis, size in zip(axes, sizes, strict=True):
        result[axis] = size
    return tuple(result)


def check_per_axis(values: Sequence[int], count: int, least: int, what: str) -> None:
    """Raises VerifyException unless there are `count` values, none below `least`."""
    if len(values) != count or any(value < least for value in values):
        raise VerifyException(f"{what} must be {count} integers of at least {least}, but is {list(values)}")


@dataclass(frozen=True)
class Windows:
    """Windows over some axes; every field has one entry an axis. A size may be ANY, where only types are known."""

    sizes: Shape
    strides: Shape
    dilation: Shape
    low: Shape
    """Padding before the first element."""
    high: Shape
    """Padding after the last element."""

    @staticmethod
    def of(
        sizes: Sequence[int], strides: Sequence[int], dilation: Sequence[int], padding: Sequence[int], what: str
    ) -> Windows:
        """Windows from an operator's attributes; `padding` has the low sides and then the high ones.

        `what` names the attribute that gives the sizes. Raises VerifyException for malformed attributes.
        """
        rank = len(sizes)
        check_per_axis([1 if size == ANY else size for size in sizes], rank, 1, what)
        check_per_axis(strides, rank, 1, "strides")
        check_per_axis(dilation, rank, 1, "dilation")
        check_per_axis(padding, 2 * rank, 0, "padding (every low side, then every high side)")
        return Windows(tuple(sizes), tuple(strides), tuple(dilation), tuple(padding[:rank]), tuple(padding[rank:]))

    def extent(self, axis: int) -> int:
        """How many elements a window spans."""
        return (self.sizes[axis] - 1) * self.dilation[axis] + 1

    def counts(self, lengths: Sequence[int], ceil_mode: bool = False) -> Shape:
        """How many windows there are along each axis; raises VerifyException where not even one fits.

        With `ceil_mode` one more window may hang over the end, if it does not start in the padding there.
        """
        return tuple(self._count(axis, length, ceil_mode) for axis, length in enumerate(lengths))

    def _count(self, axis: int, length: int, ceil_mode: bool) -> int:
        if ANY in (length, self.sizes[axis]):
            return ANY
        padded, stride = self.low[axis] + length + self.high[axis], self.strides[axis]
        room = padded - self.extent(axis)
        if room < 0:
            raise VerifyException(
                f"spatial dimension {axis} has {padded} elements with its padding: fewer than the {self.extent(axis)} "
                f"that a window of size {self.sizes[axis]} and dilation {self.dilation[axis]} spans"
            )
        if not ceil_mode:
            return room // stride + 1
        count = -(-room // stride) + 1
        return count - 1 if (count - 1) * stride >= self.low[axis] + length else count

    def overhang(self, axis: int, length: int, count: int) -> int:
        """The padding after the end that `count` windows need, at least the declared one."""
        reach = (count - 1) * self.strides[axis] + self.extent(axis)
        return max(self.high[axis], reach - self.low[axis] - length)

    def position(self, axis: int, window: int, offset: int, backwards: bool = False) -> AffineExpr:
        """The position in padded data: loop `window` counts windows, loop `offset` the elements of one.

        With `backwards`, offset 0 is the last element of a window.
        """
        start: AffineExpr = dim(window)
        step: AffineExpr = dim(offset)
        if self.strides[axis] != 1:
            start = start * self.strides[axis]
        if backwards and self.sizes[axis] > 1:
            return start + step * -self.dilation[axis] + (self.extent(axis) - 1)
        return start + (step * self.dilation[axis] if self.dilation[axis] != 1 else step)

    def offsets(self, counts: Sequence[int]) -> Iterator[tuple[Shape, tuple[slice, ...]]]:
        """Each position in a window, with the slices of padded data that it reads, over all windows."""
        for offset in product(*map(range, self.sizes)):
            starts = [o * d for o, d in zip(offset, self.dilation, strict=True)]
            yield (
                offset,
                tuple(
                    slice(start, start + (count - 1) * stride + 1, stride)
                    for start, count, stride in zip(starts, counts, self.strides, strict=True)
                ),
            )

    def pads(self, shape: Sequence[int], axes: Sequence[int], counts: Sequence[int]) -> tuple[list[int], list[int]]:
        """The padding of each dimension of data that `counts` windows need, before and after."""
        low, high = [0] * len(shape), [0] * len(shape)
        for position, axis in enumerate(axes):
            low[axis] = self.low[position]
            high[axis] = self.overhang(position, shape[axis], counts[position])
        return low, high

    def pad(
        self, build: LinalgBuilder, data: SSAValue, axes: Sequence[int], counts: Sequence[int], fill: float | int
    ) -> SSAValue:
        """Lowered data, padded for `counts` windows over these axes of it."""
        return build.pad(data, *self.pads(build.shape(data), axes, counts), fill)


__all__ = [
    "Windows",
    "axes_of",
    "check_layout",
    "check_per_axis",
    "check_rank",
    "replace_dims",
    "spatial_letters",
]
