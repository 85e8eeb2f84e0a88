"""What a resize reads along one dimension: for each output position the input positions and their weights.

Interpolation is separable, so one such table for each resized dimension says everything about a resize. Tables follow
the definition of ONNX Resize and are computed in f64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

METHODS = ("nearest_neighbor", "linear", "cubic")
COORDINATE_MODES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
    "tf_half_pixel_for_nn",
)
ROUNDING_METHODS = ("round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@dataclass(frozen=True)
class AxisResize:
    """How one dimension is resized; the attributes of the image.resize operators that concern it."""

    size_in: int
    size_out: int
    scale: float
    """Output size by input size; not their quotient where the output size was rounded from a given scale."""
    method: str
    coordinate_mode: str
    rounding_method: str
    cubic_alpha: float
    cubic_exclude: bool
    antialias: bool
    roi: tuple[float, float]

    def coordinates(self) -> np.ndarray:
        """Where each output position lies in the input, as f64."""
        import numpy as np

        x = np.fromiter(range(self.size_out), np.float64, self.size_out)
        length, last = self.scale * self.size_in, self.size_in - 1
        match self.coordinate_mode:
            case "align_corners":
                return x * 0.0 if length == 1 else x * last / (length - 1)
            case "asymmetric":
                return x / self.scale
            case "tf_crop_and_resize":
                start, end = self.roi
                if length == 1:
                    return x * 0.0 + 0.5 * (start + end) * last
                return x * (end - start) * last / (length - 1) + start * last
            case "tf_half_pixel_for_nn":
                return (x + 0.5) / self.scale
            case "pytorch_half_pixel" if length == 1:
                return x * 0.0
            case "half_pixel_symmetric":
                offset = self.size_in / 2 * (1 - self.size_out / length)
                return offset + (x + 0.5) / self.scale - 0.5
            case _:
                return (x + 0.5) / self.scale - 0.5

    def table(self) -> AxisTable:
        """The positions and weights of the resize."""
        import numpy as np

        x = self.coordinates()
        outside = np.zeros(x.shape, np.bool_)
        if self.coordinate_mode == "tf_crop_and_resize":
            outside = (x < 0) | (x > self.size_in - 1)
        if self.method == "nearest_neighbor":
            positions, weights = self._nearest(x).reshape(-1, 1), np.ones((self.size_out, 1))
        else:
            positions, weights = self._weighted(x)
        positions = positions.clip(0, max(self.size_in - 1, 0)).astype(np.int64)
        return AxisTable(self.size_in, positions, weights, outside).trimmed()

    def _nearest(self, x: np.ndarray) -> np.ndarray:
        import numpy as np

        low = np.floor(x)
        part = x - low
        match self.rounding_method:
            case "floor":
                return low
            case "ceil":
                return low + (part > 0)
            case "round_prefer_floor":
                return low + (part > 0.5)
            case _:  # "round" is half up, as "round_prefer_ceil"
                return low + (part >= 0.5)

    def _weighted(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The window of each position: an even number of neighbours, half of them below it."""
        import numpy as np

        reach = 2 if self.method == "cubic" else 1
        shrink = min(self.scale, 1.0) if self.antialias else 1.0
        half = -math.floor(-reach / shrink)
        low = np.ceil(x) - 1  # a position on an element counts it as the upper neighbour
        offsets = np.fromiter(range(1 - half, half + 1), np.float64, 2 * half).reshape(1, -1)
        distance = np.abs((offsets - (x - low).reshape(-1, 1)) * shrink)
        weights = _cubic(distance, self.cubic_alpha) if self.method == "cubic" else (1 - distance).clip(0, 1)
        if self.antialias:
            weights = weights / weights.sum(axis=1, keepdims=True)
        positions = low.reshape(-1, 1) + offsets
        if self.cubic_exclude:
            weights = np.where((positions < 0) | (positions >= self.size_in), 0.0, weights)
            total = weights.sum(axis=1, keepdims=True)
            weights = weights / np.where(total == 0, 1.0, total)
        return positions, weights


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """The cubic convolution kernel (Keys 1981) with parameter a."""
    import numpy as np

    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


@dataclass(frozen=True)
class AxisTable:
    """For each output position: positions in the input (i64, all in range), their weights (f64), and whether it lies
    outside of the input, where only the extrapolation value counts. The arrays are [out, taps], [out, taps], [out]."""

    size_in: int
    positions: np.ndarray
    weights: np.ndarray
    outside: np.ndarray

    @property
    def size_out(self) -> int:
        return self.positions.shape[0]

    @property
    def taps(self) -> int:
        """How many input positions an output position reads."""
        return self.positions.shape[1]

    def trimmed(self) -> AxisTable:
        """Without the taps whose weight is zero everywhere."""
        import numpy as np

        used = np.any(self.weights != 0, axis=0)
        if not used.any():
            used[:1] = True
        return replace(self, positions=self.positions[:, used], weights=self.weights[:, used])

    @property
    def moves(self) -> bool:
        """Whether every output element is one input element, unchanged."""
        return self.taps == 1 and bool((self.weights == 1).all())

    @property
    def extrapolates(self) -> bool:
        return bool(self.outside.any())

    @property
    def repeats(self) -> int | None:
        """How often each element is repeated in a row, where that is all that the resize does."""
        import numpy as np

        if self.extrapolates or not self.moves or not self.size_in or self.size_out % self.size_in:
            return None
        count = self.size_out // self.size_in
        expected = np.repeat(np.fromiter(range(self.size_in), np.int64, self.size_in), count)
        return count if np.array_equal(self.positions[:, 0], expected) else None
