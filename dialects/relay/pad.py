"""nn.pad: a tensor made larger, or cropped, at its borders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.lazy import arith
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder
from relay_mlir.dialects.relay.moves import clamped, counting, gathered, identity_fold, wrap_negative
from relay_mlir.dialects.relay.op import Operator, Pattern, RelayOp, operator
from relay_mlir.dialects.relay.types import ANY, Shape, Tensor, show_shape, tensor

if TYPE_CHECKING:
    import numpy as np

MODES = ("constant", "edge", "reflect", "wrap")


@operator
class Pad(Operator):
    """The data with `pad_width[i] = [before, after]` elements added to dimension i; negative widths crop. ONNX Pad.

    What is added: with mode "constant" the scalar operand `pad_value` (of the data's element type; the other modes do
    not read it), with "edge" the border element, with "reflect" the data mirrored at the border element, which is not
    repeated, with "wrap" the data again from its other end. Both go on beyond one period, as in numpy. Cropping comes
    first: it decides what the border is.
    """

    name = "nn.pad"
    operands = ("data", "pad_value")
    pattern = Pattern.INJECTIVE
    pad_width: tuple[tuple[int, ...], ...]
    pad_mode: str = "constant"

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        data, fill = types
        shape = data.get_shape()
        if self.pad_mode not in MODES:
            raise VerifyException(f'pad_mode is "{self.pad_mode}"; expected one of {", ".join(MODES)}')
        if len(self.pad_width) != len(shape) or any(len(pair) != 2 for pair in self.pad_width):
            raise VerifyException(
                f"pad_width {[list(pair) for pair in self.pad_width]} does not fit the shape {show_shape(shape)}; "
                "expected [before, after] for each dimension"
            )
        if fill.get_num_dims() or fill.element_type != data.element_type:
            raise VerifyException(f"pad_value must be a tensor<{data.element_type}>, but is {fill}")
        return [tensor(map(self._size, shape, self.pad_width), data.element_type)]

    def _size(self, size: int, pair: Sequence[int]) -> int:
        if size == ANY:
            return ANY
        padded = size + sum(pair)
        kept = size + sum(min(width, 0) for width in pair)
        if min(padded, kept) < 0:
            raise VerifyException(f"widths {list(pair)} crop more than the size {size}")
        if kept == 0 and padded > 0 and self.pad_mode != "constant":
            raise VerifyException(f"pad_mode {self.pad_mode} has no element to pad a dimension of size 0 with")
        return padded

    def _cropped(self, shape: Shape) -> tuple[list[int], list[int]]:
        """Where the part of the data that is kept starts, and its sizes."""
        starts = [max(-low, 0) for low, _ in self.pad_width]
        return starts, [
            size + min(low, 0) + min(high, 0) for size, (low, high) in zip(shape, self.pad_width, strict=True)
        ]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        data, fill = args
        starts, sizes = self._cropped(data.shape)
        kept = data[tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))]
        if self.pad_mode == "constant":
            low = [max(width, 0) for width, _ in self.pad_width]
            result = np.full(
                [max(sum(pair), n + sum(pair)) for n, pair in zip(data.shape, self.pad_width, strict=True)], fill
            )
            result[tuple(slice(a, a + size) for a, size in zip(low, sizes, strict=True))] = kept
            return [result]
        for axis, (size, (low, high)) in enumerate(zip(sizes, self.pad_width, strict=True)):
            places = counting(max(low, 0) + size + max(high, 0)) - max(low, 0)
            kept = kept.take(self._source(places, size), axis=axis)
        return [kept.copy()]

    def _source(self, places: np.ndarray, size: int) -> np.ndarray:
        """Where the elements at these positions, 0 being the first one of the data, come from."""
        import numpy as np

        if self.pad_mode == "edge" or size <= 1:
            return places.clip(0, max(size - 1, 0))
        if self.pad_mode == "wrap":
            return places % size
        period = 2 * (size - 1)
        return np.minimum(places % period, -places % period)

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        starts, sizes = self._cropped(build.shape(args[0]))
        kept = build.slice(args[0], starts, sizes)
        shape, low = results[0].get_shape(), [max(width, 0) for width, _ in self.pad_width]
        if self.pad_mode == "constant":
            whole = build.broadcast_to(args[1], shape)
            return [build.insert_slice(kept, whole, low)]

        def places(s: ScalarBuilder) -> list[SSAValue]:
            found = [s.index(axis) for axis in range(len(shape))]
            return [
                place if size == shape[axis] else self._place(s, s.sub(place, s.like(low[axis], place)), size)
                for axis, (place, size) in enumerate(zip(found, sizes, strict=True))
            ]

        return [gathered(build, kept, results[0], places)]

    def _place(self, s: ScalarBuilder, place: SSAValue, size: int) -> SSAValue:
        """`_source` of one position, of index type."""
        if self.pad_mode == "edge" or size <= 1:
            return clamped(s, place, size)
        if self.pad_mode == "wrap":
            return _modulo(s, place, size)
        period = 2 * (size - 1)
        there = _modulo(s, place, period)
        return s.minimum(there, s.sub(s.like(period, there), there))

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        return identity_fold(op) if not any(map(any, self.pad_width)) else None


def _modulo(s: ScalarBuilder, place: SSAValue, size: int) -> SSAValue:
    """The position modulo a positive size, in [0, size)."""
    return wrap_negative(s, s.insert(arith.RemSIOp(place, s.like(size, place))), size)
