"""image.grid_sample: a tensor sampled at positions that a grid of coordinates holds.

The formulas are written once, over `Arithmetic`: numpy arrays evaluate them, a ScalarBuilder writes them as IR.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from xdsl.dialects.builtin import Float32Type, Float64Type, f32, f64, i64
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.lazy import arith
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder, constant_expr, dims, identity
from relay_mlir.dialects.relay.moves import counting
from relay_mlir.dialects.relay.op import Operator, Pattern, operator
from relay_mlir.dialects.relay.types import ANY, Tensor, is_float, show_shape, tensor

if TYPE_CHECKING:
    import numpy as np

_V = TypeVar("_V")

METHODS = {"nearest": 1, "bilinear": 2, "bicubic": 4}
"""The methods, with how many neighbours each reads along a dimension."""

PADDING_MODES = ("zeros", "border", "reflection")

CUBIC_ALPHA = -0.75


class Arithmetic(Protocol[_V]):
    """The part of ScalarBuilder that the formulas are written with."""

    def add(self, a: _V, b: _V, /) -> _V: ...
    def sub(self, a: _V, b: _V, /) -> _V: ...
    def mul(self, a: _V, b: _V, /) -> _V: ...
    def div(self, a: _V, b: _V, /) -> _V: ...
    def compare(self, predicate: str, a: _V, b: _V, /) -> _V: ...
    def select(self, condition: _V, a: _V, b: _V, /) -> _V: ...
    def like(self, value: float, other: _V, /) -> _V: ...
    def math(self, name: str, /, *args: _V) -> _V: ...


class _Arrays:
    """`Arithmetic` on numpy arrays."""

    def add(self, a: np.ndarray, b: np.ndarray, /) -> np.ndarray:
        return a + b

    def sub(self, a: np.ndarray, b: np.ndarray, /) -> np.ndarray:
        return a - b

    def mul(self, a: np.ndarray, b: np.ndarray, /) -> np.ndarray:
        return a * b

    def div(self, a: np.ndarray, b: np.ndarray, /) -> np.ndarray:
        return a / b

    def compare(self, predicate: str, a: np.ndarray, b: np.ndarray, /) -> np.ndarray:
        import operator

        return getattr(operator, predicate)(a, b)

    def select(self, condition: np.ndarray, a: np.ndarray, b: np.ndarray, /) -> np.ndarray:
        import numpy as np

        return np.where(condition, a, b)

    def like(self, value: float, other: np.ndarray, /) -> np.ndarray:
        import numpy as np

        return np.asarray(value, other.dtype)

    def math(self, name: str, /, *args: np.ndarray) -> np.ndarray:
        import numpy as np

        functions: dict[str, Any] = {"Floor": np.floor, "RoundEven": np.rint, "AbsF": np.abs}
        return functions[name](*args)


@dataclass(frozen=True)
class _Tap(Generic[_V]):
    """One neighbour along a dimension: its position (a whole number in range), its weight, and whether it counts."""

    position: _V
    weight: _V
    counts: _V | None


@dataclass(frozen=True)
class _Axis:
    """How coordinates along one dimension become neighbours."""

    size: int
    method: str
    padding_mode: str
    align_corners: bool

    def taps(self, s: Arithmetic[_V], normalized: _V) -> list[_Tap[_V]]:
        """The neighbours of a coordinate in [-1, 1]."""
        x = self._padded(s, self._denormalized(s, normalized))
        if self.method == "nearest":
            return [self._tap(s, x, s.like(1.0, x))]
        low = s.math("Floor", x)
        part = s.sub(x, low)
        rest = s.sub(s.like(1.0, x), part)
        if self.method == "bilinear":
            places = ((0, rest), (1, part))
        else:
            one = s.like(1.0, x)
            places = (
                (-1, self._far(s, s.add(part, one))),
                (0, self._near(s, part)),
                (1, self._near(s, rest)),
                (2, self._far(s, s.add(rest, one))),
            )
        return [self._tap(s, s.add(low, s.like(float(offset), x)), weight) for offset, weight in places]

    def _denormalized(self, s: Arithmetic[_V], n: _V) -> _V:
        """-1 and 1 are the centres of the outer elements (align_corners) or the outer edges."""
        shifted = s.add(n, s.like(1.0, n))
        if self.align_corners:
            x = s.mul(s.div(shifted, s.like(2.0, n)), s.like(self.size - 1.0, n))
        else:
            x = s.div(s.sub(s.mul(shifted, s.like(float(self.size), n)), s.like(1.0, n)), s.like(2.0, n))
        return s.math("RoundEven", x) if self.method == "nearest" else x

    @property
    def _borders(self) -> tuple[float, float]:
        return (0.0, self.size - 1.0) if self.align_corners else (-0.5, self.size - 0.5)

    def _padded(self, s: Arithmetic[_V], x: _V) -> _V:
        """The coordinate near the data; as far out as neighbours are padded one by one, all of them give the same."""
        if self.padding_mode == "zeros" or (self.padding_mode == "border" and self.method == "bicubic"):
            return _confined(s, x, -4.0, self.size + 3.0)
        if self.padding_mode == "border":
            return s.select(self._inside(s, x), x, _confined(s, x, 0.0, self.size - 1.0))
        return s.select(self._inside(s, x), x, self._reflected(s, x))

    def _inside(self, s: Arithmetic[_V], x: _V) -> _V:
        low, high = self._borders
        return _both(s, s.compare("ge", x, s.like(low, x)), s.compare("le", x, s.like(high, x)))

    def _reflected(self, s: Arithmetic[_V], x: _V) -> _V:
        """The coordinate mirrored at the borders until it lies between them."""
        low, high = self._borders
        if low == high:
            return s.like(low, x)
        distance = s.math("AbsF", s.sub(x, s.like(low, x)))
        length = s.like(high - low, x)
        times = s.math("Floor", s.div(distance, length))
        rest = s.sub(distance, s.mul(times, length))
        half = s.mul(times, s.like(0.5, x))
        even = s.compare("eq", s.math("Floor", half), half)
        mirrored = s.select(even, s.add(s.like(low, x), rest), s.sub(s.like(high, x), rest))
        return _confined(s, mirrored, low, high)

    def _tap(self, s: Arithmetic[_V], place: _V, weight: _V) -> _Tap[_V]:
        counts = None
        if self.padding_mode == "zeros":
            last = s.like(self.size - 1.0, place)
            counts = _both(s, s.compare("ge", place, s.like(0.0, place)), s.compare("le", place, last))
        elif self.padding_mode == "reflection":
            place = s.select(self._inside(s, place), place, self._reflected(s, place))
        return _Tap(_confined(s, place, 0.0, self.size - 1.0), weight, counts)

    @staticmethod
    def _near(s: Arithmetic[_V], d: _V) -> _V:
        """The cubic kernel at a distance up to 1."""
        a = CUBIC_ALPHA
        inner = s.sub(s.mul(s.like(a + 2, d), d), s.like(a + 3, d))
        return s.add(s.mul(s.mul(inner, d), d), s.like(1.0, d))

    @staticmethod
    def _far(s: Arithmetic[_V], d: _V) -> _V:
        """The cubic kernel at a distance from 1 to 2."""
        a = CUBIC_ALPHA
        inner = s.add(s.mul(s.sub(s.mul(s.like(a, d), d), s.like(5 * a, d)), d), s.like(8 * a, d))
        return s.sub(s.mul(inner, d), s.like(4 * a, d))


def _both(s: Arithmetic[_V], a: _V, b: _V) -> _V:
    return s.select(a, b, a)


def _confined(s: Arithmetic[_V], x: _V, low: float, high: float) -> _V:
    """The nearest number in [low, high]; `low` for NaN."""
    x = s.select(s.compare("gt", x, s.like(low, x)), x, s.like(low, x))
    return s.select(s.compare("lt", x, s.like(high, x)), x, s.like(high, x))


def _extended(s: ScalarBuilder, value: SSAValue, wide: Float32Type | Float64Type) -> SSAValue:
    """A float in the type that the operator computes in."""
    return value if value.type == wide else s.insert(arith.ExtFOp(value, wide))


def _weighted(
    s: Arithmetic[_V], axes: Sequence[Sequence[_Tap[_V]]], chosen: list[_Tap[_V]], read: Callable[[list[_Tap[_V]]], _V]
) -> _V:
    """The weighted sum over the neighbours along the dimensions left, the last one innermost."""
    if not axes:
        return read(chosen)
    terms = [s.mul(_weighted(s, axes[1:], [*chosen, tap], read), tap.weight) for tap in axes[0]]
    return reduce(s.add, terms)


@operator
class GridSample(Operator):
    """The data [N, C, H, W] sampled at the coordinates of a grid [N, 2, H', W']: gives [N, C, H', W'].

    grid[:, 0] are coordinates along W, grid[:, 1] along H, where -1 and 1 are the centres of the outer elements, or
    without `align_corners` the outer edges. In layout NCDHW the grid is [N, 3, D', H', W'] and grid[:, 2] runs along D.
    `method` is "bilinear" (trilinear), "nearest" (ties to even) or "bicubic" (NCHW only; parameter -0.75).
    Outside of the data there are zeros, its border elements, or its reflection (`padding_mode` "zeros", "border",
    "reflection"). A NaN coordinate counts as far below the data. Data and grid are floats; all is computed in f32, or
    in f64 where one of them is f64. ONNX GridSample has the coordinates last: transpose its grid.
    """

    name = "image.grid_sample"
    operands = ("data", "grid")
    pattern = Pattern.INJECTIVE
    method: str = "bilinear"
    layout: str = "NCHW"
    padding_mode: str = "zeros"
    align_corners: bool = True

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        if self.method not in METHODS or self.padding_mode not in PADDING_MODES:
            raise VerifyException(
                f'method is "{self.method}" and padding_mode "{self.padding_mode}"; expected one of '
                f"{', '.join(METHODS)} and one of {', '.join(PADDING_MODES)}"
            )
        if self.layout not in ("NCHW", "NCDHW") or (self.method == "bicubic" and self.layout != "NCHW"):
            raise VerifyException(f"layout is {self.layout}; expected NCHW, or NCDHW where method is not bicubic")
        data, grid = (type_.get_shape() for type_ in types)
        rank = len(self.layout)
        agree = len(data) == len(grid) == rank and (data[0] == grid[0] or ANY in (data[0], grid[0]))
        if not agree or grid[1] not in (rank - 2, ANY):
            raise VerifyException(
                f"a grid of shape {show_shape(grid)} does not fit data of shape {show_shape(data)}; expected "
                f"{rank} dimensions, as many batches, and {rank - 2} coordinates"
            )
        if not all(is_float(type_.element_type) for type_ in types):
            raise VerifyException(f"expected floats, but found {types[0].element_type} and {types[1].element_type}")
        if 0 in data[2:] and 0 not in (*data[:2], *grid):
            raise VerifyException(f"there is nothing to sample in data of shape {show_shape(data)}")
        batch = grid[0] if data[0] == ANY else data[0]
        return [tensor((batch, data[1], *grid[2:]), types[0].element_type)]

    def _axes(self, sizes: Sequence[int]) -> list[_Axis]:
        return [_Axis(size, self.method, self.padding_mode, self.align_corners) for size in sizes]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        data, grid = args
        wide = np.dtype(np.float64 if np.dtype(np.float64) in (data.dtype, grid.dtype) else np.float32)
        shape = (*data.shape[:2], *grid.shape[2:])
        if 0 in shape:
            return [np.empty(shape, data.dtype)]
        arrays, rank = _Arrays(), data.ndim
        batch = counting(data.shape[0]).reshape([-1] + [1] * (rank - 1))
        channel = counting(data.shape[1]).reshape([1, -1] + [1] * (rank - 2))

        def read(taps: Sequence[_Tap[np.ndarray]]) -> np.ndarray:
            places = [tap.position.astype(np.int64) for tap in taps]
            value = data[(batch, channel, *places)].astype(wide)
            for tap in taps:
                value = value if tap.counts is None else np.where(tap.counts, value, np.zeros((), wide))
            return value

        with np.errstate(all="ignore"):
            columns = [grid[:, n : n + 1].astype(wide) for n in reversed(range(rank - 2))]
            taps = [axis.taps(arrays, x) for axis, x in zip(self._axes(data.shape[2:]), columns, strict=True)]
            return [_weighted(arrays, taps, [], read).astype(data.dtype)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        data, grid = args
        shape, element = results[0].get_shape(), results[0].element_type
        into = build.empty(shape, element)
        if 0 in shape:
            return [into]
        rank = len(shape)
        wide = f64 if f64 in (build.element(data), build.element(grid)) else f32
        ones = [shape[0], 1, *shape[2:]]
        columns = [build.slice(grid, [0, n, *[0] * (rank - 2)], ones) for n in reversed(range(rank - 2))]

        def body(s: ScalarBuilder, *values: SSAValue) -> SSAValue:
            def read(taps: Sequence[_Tap[SSAValue]]) -> SSAValue:
                places = [s.to_index(s.insert(arith.FPToSIOp(tap.position, i64))) for tap in taps]
                value = _extended(s, s.extract(data, [s.index(0), s.index(1), *places]), wide)
                for tap in taps:
                    value = value if tap.counts is None else s.select(tap.counts, value, s.like(0.0, value))
                return value

            coordinates = [_extended(s, value, wide) for value in values[:-1]]
            axes = self._axes(build.shape(data)[2:])
            taps = [axis.taps(s, x) for axis, x in zip(axes, coordinates, strict=True)]
            return s.narrow(_weighted(s, taps, [], read), element)

        source = dims(0, constant_expr(0), *range(2, rank), rank=rank)
        return list(
            build.generic(
                columns, [source] * len(columns), [into], [identity(rank)], ["parallel"] * rank, body, widen=False
            )
        )
