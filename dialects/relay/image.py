"""The image.resize operators: resampling the spatial dimensions of a tensor, as ONNX Resize defines it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, f32, f64, i8, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.lazy import arith
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder, dims, identity
from relay_mlir.dialects.relay.moves import identity_fold
from relay_mlir.dialects.relay.op import Operator, Pattern, RelayOp, operator
from relay_mlir.dialects.relay.resize_table import COORDINATE_MODES, METHODS, ROUNDING_METHODS, AxisResize, AxisTable
from relay_mlir.dialects.relay.transpose import parse_layout
from relay_mlir.dialects.relay.types import (
    ANY,
    Shape,
    Tensor,
    is_bool,
    is_float,
    is_integer,
    numpy_dtype,
    show_shape,
    tensor,
)

if TYPE_CHECKING:
    import numpy as np

UNROLLED_TAPS = 4
"""Up to so many taps a pass is written out; with more it is a reduction."""


@dataclass(frozen=True)
class Resize(Operator):
    """The spatial dimensions (the letters D, H and W of `layout`) resampled to `size`.

    `method` is "nearest_neighbor", "linear" or "cubic". `coordinate_transformation_mode` says where output position x
    lies in the input (ONNX's names and formulas): "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
    "align_corners", "asymmetric", "tf_half_pixel_for_nn", or "tf_crop_and_resize", which reads the region `roi` =
    [starts..., ends...] (fractions of each dimension) and gives `extrapolation_value` outside of the data. `scales`
    are the factors that the size was computed from where they are not its quotient by the data's size (as where a
    product was rounded down); empty for that quotient. `rounding_method` picks the neighbour: "floor", "ceil",
    "round_prefer_floor", or "round" and "round_prefer_ceil", which are the same. `cubic_alpha` is the parameter of the
    cubic kernel (ONNX: -0.75). With `cubic_exclude` nonzero the neighbours outside of the data get no weight, otherwise
    they repeat the border. `antialias` stretches the kernel by 1 / scale where an image shrinks.

    Integers are interpolated in f64 and rounded to the nearest, ties to even; f16 and bf16 in f32. Dimensions are
    resampled one after another, those that shrink most first. bool takes "nearest_neighbor" only.
    """

    operands = ("data",)
    pattern = Pattern.INJECTIVE
    size: tuple[int, ...]
    roi: tuple[float, ...] = ()
    layout: str = "NCHW"
    method: str = "linear"
    coordinate_transformation_mode: str = "half_pixel"
    rounding_method: str = "round"
    cubic_alpha: float = -0.5
    cubic_exclude: int = 0
    extrapolation_value: float = 0.0
    scales: tuple[float, ...] = ()
    antialias: bool = False

    def _check(self, type_: Tensor, count: int) -> None:
        """Raises VerifyException for attributes that do not fit each other or the data."""
        for what, found, known in (
            ("method", self.method, METHODS),
            ("coordinate_transformation_mode", self.coordinate_transformation_mode, COORDINATE_MODES),
            ("rounding_method", self.rounding_method, ROUNDING_METHODS),
        ):
            if found not in known:
                raise VerifyException(f'{what} is "{found}"; expected one of {", ".join(known)}')
        crop = self.coordinate_transformation_mode == "tf_crop_and_resize"
        for what, length, expected in (
            ("size", len(self.size), (count,)),
            ("scales", len(self.scales), (0, count)),
            ("roi", len(self.roi), (2 * count,) if crop else (0, 2 * count)),
        ):
            if length not in expected:
                raise VerifyException(f"{what} has {length} entries; expected {' or '.join(map(str, expected))}")
        if any(size < 0 for size in self.size) or any(not scale > 0 for scale in self.scales):
            raise VerifyException(f"size {list(self.size)} and scales {list(self.scales)} must be positive")
        if self.method == "nearest_neighbor" and self.antialias:
            raise VerifyException('antialias needs the method "linear" or "cubic"')
        if self.method != "nearest_neighbor" and is_bool(type_.element_type):
            raise VerifyException(f"bool cannot be interpolated by {self.method}; cast it")

    def spatial_axes(self, shape: Shape, count: int) -> list[int]:
        """The positions of the resized dimensions; raises VerifyException where the layout does not fit."""
        letters = parse_layout(self.layout)
        axes = [letters.index((letter, 0)) for letter in "DHW" if (letter, 0) in letters]
        if (
            len(letters) != len(shape)
            or len(axes) != count
            or any(name in "DHW" and factor for name, factor in letters)
        ):
            raise VerifyException(
                f"layout {self.layout} of data of shape {show_shape(shape)} must have its rank and {count} of D, H, W"
            )
        return axes

    def infer_resized(self, type_: Tensor, count: int) -> Sequence[Tensor]:
        """The type relation for this many spatial dimensions."""
        self._check(type_, count)
        shape = list(type_.get_shape())
        for axis, size in zip(self.spatial_axes(tuple(shape), count), self.size, strict=True):
            if shape[axis] == 0 and size:
                raise VerifyException(f"dimension {axis} of size 0 cannot be resized to {size}")
            shape[axis] = size
        return [tensor(shape, type_.element_type)]

    def tables(self, shape: Shape) -> list[tuple[int, AxisTable]]:
        """The dimensions that change with their tables, those that shrink most first, for a static shape."""
        count = len(self.size)
        found: list[tuple[int, AxisTable]] = []
        for position, axis in enumerate(self.spatial_axes(shape, count)):
            size_in, size_out = shape[axis], self.size[position]
            axis_resize = AxisResize(
                size_in,
                size_out,
                self.scales[position] if self.scales else size_out / max(size_in, 1) or 1.0,
                self.method,
                self.coordinate_transformation_mode,
                self.rounding_method,
                self.cubic_alpha,
                self.cubic_exclude != 0,
                self.antialias,
                (self.roi[position], self.roi[position + count]) if self.roi else (0.0, 1.0),
            )
            table = axis_resize.table()
            if table.repeats != 1:
                found.append((axis, table))
        return sorted(found, key=lambda entry: entry[1].size_out / max(entry[1].size_in, 1))

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        from relay_mlir.dialects.relay.types import element_type

        (data,) = args
        tables = self.tables(data.shape)
        if all(table.moves for _, table in tables):
            for axis, table in tables:
                data = _outside(data.take(table.positions[:, 0], axis), axis, table, self.extrapolation_value)
            return [data.copy()]
        wide = data.astype(numpy_dtype(_wide(element_type(data.dtype))))
        for axis, table in tables:
            wide = _outside(_interpolated(wide, axis, table), axis, table, self.extrapolation_value)
        return [_rounded(wide, args[0].dtype)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        (data,), (result,) = args, results
        if 0 in result.get_shape():
            return [build.empty(result.get_shape(), result.element_type)]
        tables = self.tables(build.shape(data))
        if all(table.repeats for _, table in tables):
            return [_repeated(build, data, tables, result)]
        if all(table.moves for _, table in tables):
            return [self._moved(build, data, tables, result)]
        wide = _wide(result.element_type)
        for position, (axis, table) in enumerate(tables):
            source = wide if position else result.element_type
            target = result.element_type if position == len(tables) - 1 else wide
            data = self._pass(build, data, axis, table, source, target)
        return [data]

    def _moved(
        self, build: LinalgBuilder, data: SSAValue, tables: Sequence[tuple[int, AxisTable]], result: Tensor
    ) -> SSAValue:
        """Every element from the position that the tables give."""
        shape = result.get_shape()
        rank = len(shape)
        flagged = [(axis, table) for axis, table in tables if table.extrapolates]
        inputs = [_constant(build, table.positions[:, 0], i64) for _, table in tables]
        inputs += [_constant(build, table.outside, i8) for _, table in flagged]
        maps = [dims(axis, rank=rank) for axis, _ in (*tables, *flagged)]

        def body(s: ScalarBuilder, *values: SSAValue) -> SSAValue:
            where = [s.index(axis) for axis in range(rank)]
            for (axis, _), place in zip(tables, values, strict=False):
                where[axis] = s.to_index(place)
            element = s.extract(data, where)
            for flag in values[len(tables) : -1]:
                outside = s.compare("ne", flag, s.like(0, flag))
                element = s.select(outside, s.like(self.extrapolation_value, element), element)
            return element

        into = build.empty(shape, result.element_type)
        return build.generic(inputs, maps, [into], [identity(rank)], ["parallel"] * rank, body, widen=False)[0]

    def _pass(
        self,
        build: LinalgBuilder,
        data: SSAValue,
        axis: int,
        table: AxisTable,
        source: Attribute,
        target: Attribute,
    ) -> SSAValue:
        """One dimension resampled, from the element type `source` to `target`."""
        shape = [table.size_out if d == axis else size for d, size in enumerate(build.shape(data))]
        rank, wide = len(shape), _wide(source)
        flags = [_constant(build, table.outside, i8)] if table.extrapolates else []

        def read(s: ScalarBuilder, place: SSAValue) -> SSAValue:
            where = [s.to_index(place) if d == axis else s.index(d) for d in range(rank)]
            return s.cast(s.widen(s.extract(data, where)), source, wide)

        def finish(s: ScalarBuilder, value: SSAValue, flag: Sequence[SSAValue]) -> SSAValue:
            if flag:
                outside = s.compare("ne", flag[0], s.like(0, flag[0]))
                value = s.select(outside, s.like(self.extrapolation_value, value), value)
            return s.cast(s.math("RoundEven", value), wide, target) if is_integer(target) else value

        def unrolled(s: ScalarBuilder, *values: SSAValue) -> SSAValue:
            total: SSAValue | None = None
            for place, weight in zip(values[: table.taps], values[table.taps : 2 * table.taps], strict=True):
                term = s.mul(read(s, place), weight)
                total = term if total is None else s.add(total, term)
            assert total is not None
            return finish(s, total, values[2 * table.taps : -1])

        def accumulated(s: ScalarBuilder, place: SSAValue, weight: SSAValue, total: SSAValue) -> SSAValue:
            return s.add(total, s.mul(read(s, place), weight))

        def finished(s: ScalarBuilder, value: SSAValue, *rest: SSAValue) -> SSAValue:
            return finish(s, value, rest[:-1])

        into = build.empty(shape, target)
        along, iterators = dims(axis, rank=rank), ["parallel"] * rank
        if table.taps <= UNROLLED_TAPS:
            inputs = [_constant(build, table.positions[:, tap], i64) for tap in range(table.taps)]
            inputs += [_constant(build, table.weights[:, tap], wide) for tap in range(table.taps)]
            inputs += flags
            return build.generic(inputs, [along] * len(inputs), [into], [identity(rank)], iterators, unrolled)[0]
        columns = [_constant(build, table.positions, i64), _constant(build, table.weights, wide)]
        total = build.generic(
            columns,
            [dims(axis, rank, rank=rank + 1)] * 2,
            [build.fill(0.0, shape, wide)],
            [dims(*range(rank), rank=rank + 1)],
            [*iterators, "reduction"],
            accumulated,
        )[0]
        return build.generic(
            [total, *flags],
            [identity(rank), *[along] * len(flags)],
            [into],
            [identity(rank)],
            iterators,
            finished,
        )[0]

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        shape = op.operand_types[0].get_shape()
        return identity_fold(op) if ANY not in shape and not self.tables(shape) else None


def _wide(element: Attribute) -> Attribute:
    """The element type in which values are interpolated: f32 for floats up to 32 bits, else f64."""
    return f32 if is_float(element) and element != f64 else f64


def _constant(build: LinalgBuilder, values: np.ndarray, element: Attribute) -> SSAValue:
    """A constant tensor of these values, in the element type."""
    import numpy as np

    array = np.ascontiguousarray(values.astype(numpy_dtype(element)))
    type_ = cast(Any, tensor(array.shape, element))
    return build.insert(arith.ConstantOp(DenseIntOrFPElementsAttr(type_, BytesAttr(array.tobytes()))))


def _repeated(
    build: LinalgBuilder, data: SSAValue, tables: Sequence[tuple[int, AxisTable]], result: Tensor
) -> SSAValue:
    """The data with its elements repeated in a row along dimensions: broadcast along a new dimension after each."""
    counts = {axis: table.repeats or 1 for axis, table in tables}
    source: list[int] = []
    spread: list[int] = []
    for axis, size in enumerate(build.shape(data)):
        source += [size, 1] if axis in counts else [size]
        spread += [size, counts[axis]] if axis in counts else [size]
    return build.reshape(build.broadcast_to(build.reshape(data, source), spread), result.get_shape())


def _along(values: np.ndarray, axis: int, rank: int) -> np.ndarray:
    return values.reshape([-1 if d == axis else 1 for d in range(rank)])


def _outside(data: np.ndarray, axis: int, table: AxisTable, value: float) -> np.ndarray:
    """The data with the extrapolation value where the table says so."""
    import numpy as np

    if not table.extrapolates:
        return data
    filler = np.asarray(value if data.dtype.kind not in "iub" else int(value)).astype(data.dtype)
    return np.where(_along(table.outside, axis, data.ndim), filler, data)


def _interpolated(data: np.ndarray, axis: int, table: AxisTable) -> np.ndarray:
    """The weighted sum of the taps, added up in their order."""
    weights = table.weights.astype(data.dtype)
    total: np.ndarray | None = None
    for tap in range(table.taps):
        term = data.take(table.positions[:, tap], axis) * _along(weights[:, tap], axis, data.ndim)
        total = term if total is None else total + term
    assert total is not None
    return total


def _rounded(data: np.ndarray, dtype: np.dtype[np.generic]) -> np.ndarray:
    """The data in a narrower type; integers rounded to the nearest and saturated."""
    import numpy as np

    if dtype.kind not in "iu":
        return data.astype(dtype)
    info = np.iinfo(cast(Any, dtype))
    inside = np.rint(data)
    top = inside >= float(info.max)
    bottom = inside <= float(info.min)
    converted = np.where(top | bottom, 0.0, inside).astype(dtype)
    return np.where(top, np.asarray(info.max, dtype), np.where(bottom, np.asarray(info.min, dtype), converted))


@operator
class Resize1D(Resize):
    __doc__ = f"The dimension W of `layout` resized. {Resize.__doc__}"

    name = "image.resize1d"
    layout: str = "NCW"

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        return self.infer_resized(types[0], 1)


@operator
class Resize2D(Resize):
    __doc__ = f"The dimensions H and W of `layout` resized. {Resize.__doc__}"

    name = "image.resize2d"

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        return self.infer_resized(types[0], 2)


@operator
class Resize3D(Resize):
    __doc__ = f"The dimensions D, H and W of `layout` resized. {Resize.__doc__}"

    name = "image.resize3d"
    layout: str = "NCDHW"

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        return self.infer_resized(types[0], 3)
