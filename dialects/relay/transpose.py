"""Operators that permute dimensions: transpose, and the change between named layouts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder
from relay_mlir.dialects.relay.moves import identity_fold
from relay_mlir.dialects.relay.op import Operator, Pattern, RelayOp, operator
from relay_mlir.dialects.relay.types import ANY, Shape, Tensor, normalize_axes, show_shape, tensor

if TYPE_CHECKING:
    import numpy as np


@operator
class Transpose(Operator):
    """Dimensions permuted: result dimension i is dimension `axes[i]` of the data; reversed where `axes` is `none`."""

    name = "transpose"
    operands = ("data",)
    pattern = Pattern.INJECTIVE
    axes: tuple[int, ...] | None = None

    def permutation(self, rank: int) -> tuple[int, ...]:
        """The axes counted from the front; raises VerifyException where they are no permutation."""
        if self.axes is None:
            return tuple(range(rank))[::-1]
        if len(self.axes) != rank:
            raise VerifyException(f"axes {list(self.axes)} do not permute {rank} dimensions")
        return normalize_axes(self.axes, rank)

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        shape = types[0].get_shape()
        return [tensor([shape[axis] for axis in self.permutation(len(shape))], types[0].element_type)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        return [args[0].transpose(self.permutation(args[0].ndim)).copy()]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        axes = self.permutation(len(results[0].get_shape()))
        return [permuted(build, args[0], axes)]

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        axes = self.permutation(op.operand_types[0].get_num_dims())
        return identity_fold(op) if list(axes) == sorted(axes) else None


def permuted(build: LinalgBuilder, value: SSAValue, axes: Sequence[int]) -> SSAValue:
    """The transposed value; a view where only dimensions of 1 move."""
    shape = build.shape(value)
    moving = [axis for axis in axes if shape[axis] != 1]
    if moving == sorted(moving):
        return build.reshape(value, [shape[axis] for axis in axes])
    return build.transpose(value, axes)


@operator
class LayoutTransform(Operator):
    """The data from `src_layout` to `dst_layout`, such as `NCHW` to `NHWC`, `NCHW` to `NCHW4c`, `OIHW` to `OHWI4i`.

    A layout names each dimension by a capital letter; `4c` is a dimension of size 4 split off C, which then counts
    blocks. Both layouts have the same capital letters; a split dimension must be divisible by the factor.
    """

    name = "layout_transform"
    operands = ("data",)
    pattern = Pattern.INJECTIVE
    src_layout: str
    dst_layout: str

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        shape = self._whole(types[0].get_shape())
        result: list[int] = []
        for letter, factor in parse_layout(self.dst_layout):
            size, block = shape[letter], block_factor(self.dst_layout, letter)
            if size != ANY and size % block:
                raise VerifyException(f"dimension {letter} of size {size} cannot be split into blocks of {block}")
            result.append(factor or (size if size == ANY else size // block))
        return [tensor(result, types[0].element_type)]

    def _whole(self, shape: Shape) -> dict[str, int]:
        """The size of each dimension, blocks put together, by its letter."""
        source, target = parse_layout(self.src_layout), parse_layout(self.dst_layout)
        letters = [{letter for letter, factor in layout if not factor} for layout in (source, target)]
        if letters[0] != letters[1]:
            raise VerifyException(f"layouts {self.src_layout} and {self.dst_layout} do not have the same dimensions")
        if len(source) != len(shape):
            raise VerifyException(f"layout {self.src_layout} does not fit the shape {show_shape(shape)}")
        whole: dict[str, int] = {}
        for (letter, factor), size in zip(source, shape, strict=True):
            if not factor:
                whole[letter] = size if size == ANY else size * block_factor(self.src_layout, letter)
            elif size not in (factor, ANY):
                raise VerifyException(f"layout {self.src_layout} wants {factor} where {show_shape(shape)} has {size}")
        return whole

    def steps(self, shape: Shape) -> list[tuple[str, tuple[int, ...]]]:
        """The change of layout as reshapes and transposes of a static shape: blocks are put together, then split."""
        source, target = parse_layout(self.src_layout), parse_layout(self.dst_layout)
        whole = self._whole(shape)
        # Through the source's order of letters, unless its blocks have to be moved anyway: then through the target's.
        blocked = any(factor for _, factor in source)
        letters = [letter for letter, factor in (target if blocked else source) if not factor]
        split: list[int] = []
        for letter in letters:
            factor = block_factor(self.dst_layout, letter)
            split += [whole[letter]] if factor == 1 else [whole[letter] // factor, factor]
        grouped, splitted = (_grouped(layout, letters) for layout in (self.src_layout, self.dst_layout))
        return [
            ("transpose", tuple(source.index(piece) for piece in grouped)),
            ("reshape", tuple(whole[letter] for letter in letters)),
            ("reshape", tuple(split)),
            ("transpose", tuple(splitted.index(piece) for piece in target)),
        ]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        data = args[0]
        for kind, numbers in self.steps(data.shape):
            data = data.transpose(numbers) if kind == "transpose" else data.reshape(numbers)
        return [data.copy()]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        value = args[0]
        for kind, numbers in self.steps(build.shape(value)):
            value = permuted(build, value, numbers) if kind == "transpose" else build.reshape(value, numbers)
        return [value]

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        return identity_fold(op) if self.src_layout == self.dst_layout else None


def parse_layout(layout: str) -> list[tuple[str, int]]:
    """A layout's dimensions as capital letters with block factors, 0 for a whole one: `NC4c` is N 0, C 0, C 4.

    Raises VerifyException for a text that is no layout.
    """
    pieces = [(letter.upper(), int(digits or 0)) for digits, letter in re.findall(r"([0-9]*)([A-Za-z])", layout)]
    letters = re.findall("[A-Za-z]", layout)
    good = re.fullmatch(r"([A-Z]|[1-9][0-9]*[a-z])*", layout) and len(set(letters)) == len(letters)
    if not good or any(letter.islower() and letter.upper() not in letters for letter in letters):
        raise VerifyException(f"layout '{layout}' is malformed; expected letters and blocks such as NCHW or NCHW4c")
    return pieces


def block_factor(layout: str, letter: str) -> int:
    """The block factor of a dimension in a layout; 1 where it is not split."""
    return next((factor for name, factor in parse_layout(layout) if name == letter and factor), 1)


def _grouped(layout: str, letters: Sequence[str]) -> list[tuple[str, int]]:
    """The pieces of a layout ordered by letter, each block right after its dimension."""
    return sorted(parse_layout(layout), key=lambda piece: (letters.index(piece[0]), piece[1]))
