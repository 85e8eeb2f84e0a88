"""Operators that move blocks of pixels into channels and back: depth_to_space and space_to_depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder
from relay_mlir.dialects.relay.moves import identity_fold
from relay_mlir.dialects.relay.op import Operator, Pattern, RelayOp, operator
from relay_mlir.dialects.relay.transpose import permuted
from relay_mlir.dialects.relay.types import ANY, Shape, Tensor, show_shape, tensor

if TYPE_CHECKING:
    import numpy as np


class _Blocks(Operator):
    """What both directions share: they are a reshape, a permutation and a reshape."""

    pattern = Pattern.INJECTIVE
    block_size: int
    layout: str
    mode: str

    def _check(self, type_: Tensor) -> dict[str, int]:
        """The sizes by letter; raises VerifyException for a malformed operator."""
        shape = type_.get_shape()
        if self.layout not in ("NCHW", "NHWC") or self.mode not in ("DCR", "CRD") or self.block_size < 1:
            raise VerifyException(
                f"block_size {self.block_size}, layout {self.layout} and mode {self.mode}: expected a positive size, "
                "NCHW or NHWC, and DCR or CRD"
            )
        if len(shape) != 4:
            raise VerifyException(f"expected a tensor of rank 4 in layout {self.layout}, but found {type_}")
        return dict(zip(self.layout, shape, strict=True))

    def _arranged(self, sizes: dict[str, int], element: Tensor) -> Sequence[Tensor]:
        return [tensor([sizes[letter] for letter in self.layout], element.element_type)]

    def pieces(self, shape: Shape) -> tuple[list[int], list[int]]:
        """The shape of the pieces, and their permutation."""
        raise NotImplementedError

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        from relay_mlir.dialects.relay.types import type_of

        (result,) = self.infer([type_of(args[0])])
        shape, order = self.pieces(args[0].shape)
        return [args[0].reshape(shape).transpose(order).reshape(result.get_shape())]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        shape, order = self.pieces(build.shape(args[0]))
        return [build.reshape(permuted(build, build.reshape(args[0], shape), order), results[0].get_shape())]

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        return identity_fold(op) if self.block_size == 1 else None


def _divided(size: int, by: int, what: str) -> int:
    if size == ANY:
        return ANY
    if size % by:
        raise VerifyException(f"{what} of size {size} is not divisible by {by}")
    return size // by


def _times(size: int, by: int) -> int:
    return ANY if size == ANY else size * by


@operator
class DepthToSpace(_Blocks):
    """Channels moved into blocks of `block_size` x `block_size` pixels: [N, C, H, W] to [N, C / b / b, H * b, W * b].

    In mode "DCR" channel (i * b + j) * C' + c is pixel (i, j) of channel c, in mode "CRD" channel (c * b + i) * b + j.
    `layout` is NCHW or NHWC. ONNX DepthToSpace.
    """

    name = "nn.depth_to_space"
    operands = ("data",)
    block_size: int = 1
    layout: str = "NCHW"
    mode: str = "DCR"

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        sizes, block = self._check(types[0]), self.block_size
        sizes["C"] = _divided(sizes["C"], block * block, f"the channel dimension of {show_shape(types[0].get_shape())}")
        sizes |= {letter: _times(sizes[letter], block) for letter in "HW"}
        return self._arranged(sizes, types[0])

    def pieces(self, shape: Shape) -> tuple[list[int], list[int]]:
        b = self.block_size
        if self.layout == "NCHW":
            n, c, h, w = shape
            c //= b * b
            return (
                ([n, b, b, c, h, w], [0, 3, 4, 1, 5, 2])
                if self.mode == "DCR"
                else ([n, c, b, b, h, w], [0, 1, 4, 2, 5, 3])
            )
        n, h, w, c = shape
        c //= b * b
        return (
            ([n, h, w, b, b, c], [0, 1, 3, 2, 4, 5]) if self.mode == "DCR" else ([n, h, w, c, b, b], [0, 1, 4, 2, 5, 3])
        )


@operator
class SpaceToDepth(_Blocks):
    """Blocks of `block_size` x `block_size` pixels moved into channels: [N, C, H, W] to [N, C * b * b, H / b, W / b].

    The inverse of nn.depth_to_space with the same attributes. ONNX SpaceToDepth is mode "DCR".
    """

    name = "nn.space_to_depth"
    operands = ("data",)
    block_size: int = 1
    layout: str = "NCHW"
    mode: str = "DCR"

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        sizes, block = self._check(types[0]), self.block_size
        sizes["C"] = _times(sizes["C"], block * block)
        sizes |= {letter: _divided(sizes[letter], block, f"dimension {letter}") for letter in "HW"}
        return self._arranged(sizes, types[0])

    def pieces(self, shape: Shape) -> tuple[list[int], list[int]]:
        b = self.block_size
        if self.layout == "NCHW":
            n, c, h, w = shape
            order = [0, 3, 5, 1, 2, 4] if self.mode == "DCR" else [0, 1, 3, 5, 2, 4]
            return [n, c, h // b, b, w // b, b], order
        n, h, w, c = shape
        return [n, h // b, b, w // b, b, c], [0, 1, 3, 2, 4, 5] if self.mode == "DCR" else [0, 1, 3, 5, 2, 4]
