"""winograd-convolutions: a 3x3 convolution of stride 1 becomes 36 small matrix products, a quarter of the work.

Winograd's F(4x4, 3x3): tiles of 6x6 data become 36 products of channels, which become 4x4 outputs.

    V[36, tiles, C] = B^T d B       one generic, which reads each tile once
    M[36, tiles, O] = V x U         a contraction for each of 36 positions; U = G g G^T is made of the weight beforehand
    y               = A^T M A       one generic, with the element-wise operations after the convolution in its body

Where it pays: constant f32 weights, channels in the last dimension, and enough tiles that reading U, four times the
size of the weight, does not cost what the products save. Results differ from the direct sum by rounding (see
winograd_matrices.py), so strict numerics leave the pass out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, f32
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import BlockArgument, OpResult, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from relay_mlir.dialects.relay.linalg_builder import Body, LinalgBuilder, ScalarBuilder, dims
from relay_mlir.dialects.relay.sizes import Sizes
from relay_mlir.dialects.relay.weights import weights_of
from relay_mlir.lowering.structured import Structured, contraction, element_of, structured
from relay_mlir.lowering.weight_arguments import WeightArguments
from relay_mlir.lowering.winograd_matrices import OUTPUTS, SIZE, TAPS, Matrix, matrices

if TYPE_CHECKING:
    import numpy as np

LEAST_TILES = 16
"""With fewer tiles the products are limited by reading U."""
LEAST_CHANNELS = 32
CHUNK = 32
"""Channels of a weight that are transformed at a time, in f64: so that little memory is needed besides the result."""


@dataclass(frozen=True)
class _Convolution:
    """A convolution this pass transforms: its sizes, and its data, padded."""

    view: Structured
    batch: int
    height: int
    width: int
    inputs: int
    outputs: int

    @property
    def tile_rows(self) -> int:
        return -(-self.height // OUTPUTS)

    @property
    def tile_columns(self) -> int:
        return -(-self.width // OUTPUTS)

    @property
    def least_tiles(self) -> int:
        """How many tiles there are, of one image where the batch is open."""
        images = 1 if self.batch == DYNAMIC_INDEX else self.batch
        return images * self.tile_rows * self.tile_columns

    @property
    def tiles(self) -> tuple[int, ...]:
        """The dimensions of tiles: one, or two where the batch is open, so that rows of tiles have a known number."""
        each = self.tile_rows * self.tile_columns
        return (self.batch, each) if self.batch == DYNAMIC_INDEX else (self.batch * each,)


def _match(op: linalg.GenericOp) -> _Convolution | None:
    """The generic as a 3x3 convolution of stride 1 with channels last that is worth transforming, or None."""
    view = structured(op)
    if len(view.extents) != 7 or contraction(view) is None or "schedule" in op.attributes:
        return None
    n, y, x, o, ky, kx, c = (AffineExpr.dimension(loop) for loop in range(7))
    wanted = [(n, y + ky, x + kx, c), (ky, kx, c, o), (n, y, x, o)]
    accesses = [*view.inputs, *view.outputs]
    if [access.map.results for access in accesses] != wanted or view.extents[4:6] != (TAPS, TAPS):
        return None
    if any(element_of(access.value) != f32 for access in accesses):
        return None
    if DYNAMIC_INDEX in view.extents[1:]:
        return None
    batch, height, width = view.sizes(Sizes())[:3]
    found = _Convolution(view, batch, height, width, view.extents[6], view.extents[3])
    worth = found.least_tiles >= LEAST_TILES and min(found.inputs, found.outputs) >= LEAST_CHANNELS
    return found if worth else None


def transformed_weight(weight: np.ndarray) -> np.ndarray:
    """`G g G^T` for each pair of channels: [3, 3, C, O] to [36, C, O], computed in f64 and rounded once."""
    import numpy as np

    g = np.array([[float(v) for v in row] for row in matrices()[1]])
    whole = np.empty((SIZE * SIZE, *weight.shape[2:]), weight.dtype)
    for start in range(0, weight.shape[2], CHUNK):
        part = weight[:, :, start : start + CHUNK].astype(np.float64)
        rows = np.tensordot(g, part, ([1], [0]))
        both = np.tensordot(g, rows, ([1], [1]))  # [column, row, C, O]
        whole[:, start : start + CHUNK] = both.swapaxes(0, 1).reshape(SIZE * SIZE, *part.shape[2:])
    return whole


def _combination(s: ScalarBuilder, row: Sequence[Any], values: Sequence[SSAValue]) -> SSAValue:
    """The sum of the values times the row's coefficients, without those that are zero."""
    total: SSAValue | None = None
    for factor, value in sorted(zip(row, values, strict=True), key=lambda pair: pair[0] not in (1, -1)):
        if factor == 0:
            continue
        if total is None:
            total = value if factor == 1 else s.mul(value, s.const(float(factor), f32))
        elif factor in (1, -1):
            total = s.add(total, value) if factor == 1 else s.sub(total, value)
        else:
            total = s.math("Fma", value, s.const(float(factor), f32), total)
    assert total is not None
    return total


def _apply(s: ScalarBuilder, matrix: Matrix, values: Sequence[SSAValue]) -> list[SSAValue]:
    """The matrix times the values. Two rows that differ in signs only share the sums of equal and of opposite signs."""
    results: dict[int, SSAValue] = {}
    for number, row in enumerate(matrix):
        if number in results:
            continue
        partner = next((k for k in range(number + 1, len(matrix)) if _mirrored(row, matrix[k])), None)
        if partner is None:
            results[number] = _combination(s, row, values)
            continue
        other = matrix[partner]
        even = _combination(s, [a if a == b else 0 for a, b in zip(row, other, strict=True)], values)
        odd = _combination(s, [a if a != b else 0 for a, b in zip(row, other, strict=True)], values)
        results[number], results[partner] = s.add(even, odd), s.sub(even, odd)
    return [results[number] for number in range(len(matrix))]


def _mirrored(row: Sequence[Any], other: Sequence[Any]) -> bool:
    pairs = list(zip(row, other, strict=True))
    return (
        all(abs(a) == abs(b) for a, b in pairs) and any(a == b != 0 for a, b in pairs) and any(a != b for a, b in pairs)
    )


def _apply_twice(s: ScalarBuilder, matrix: Matrix, tile: Sequence[SSAValue]) -> list[SSAValue]:
    """`matrix tile matrix^T` of a 6x6 tile, given and returned by rows."""
    columns = [_apply(s, matrix, [tile[row * SIZE + column] for row in range(SIZE)]) for column in range(SIZE)]
    rows = [[columns[column][row] for column in range(SIZE)] for row in range(len(matrix))]
    return [value for row in rows for value in _apply(s, matrix, row)]


def _transform_body(which: int) -> Body:
    """A body that makes the transformed tile, by the matrix of this number, of the 36 elements of a tile."""

    def body(s: ScalarBuilder, *args: SSAValue) -> Sequence[SSAValue]:
        return _apply_twice(s, matrices()[which], args[: SIZE * SIZE])

    return body


def _multiply_add(s: ScalarBuilder, left: SSAValue, right: SSAValue, total: SSAValue) -> SSAValue:
    return s.add(total, s.mul(left, right))


def _padded(build: LinalgBuilder, conv: _Convolution) -> SSAValue:
    """The data, with zeros at its high sides so that whole tiles can be read."""
    data = conv.view.inputs[0].value
    wanted = [conv.batch, OUTPUTS * conv.tile_rows + 2, OUTPUTS * conv.tile_columns + 2, conv.inputs]
    have = build.shape(data)
    if list(have) == wanted:
        return data
    made = data.op if isinstance(data, OpResult) else None
    if isinstance(made, tensor.InsertSliceOp) and data.has_one_use() and _is_zero(made.dest):
        # The data is padded already: into a larger tensor, then.
        zeros = build.fill(0, wanted, f32)
        return build.insert_slice(made.source, zeros, list(made.static_offsets.get_values()))
    return build.pad(data, [0] * 4, [a - b for a, b in zip(wanted, have, strict=True)], 0)


def _is_zero(value: SSAValue) -> bool:
    from xdsl.dialects import arith
    from xdsl.dialects.builtin import FloatAttr

    if not isinstance(value, OpResult) or not isinstance(value.op, linalg.FillOp):
        return False
    scalar = value.op.inputs[0]
    found = scalar.op.value if isinstance(scalar, OpResult) and isinstance(scalar.op, arith.ConstantOp) else None
    return isinstance(found, FloatAttr) and found.value.data == 0


def _input_transform(build: LinalgBuilder, conv: _Convolution) -> SSAValue:
    """V, of shape [36, tiles, C]."""
    data = _padded(build, conv)
    shape = [conv.batch, conv.tile_rows, conv.tile_columns, conv.inputs]
    n, row, column, channel = (AffineExpr.dimension(loop) for loop in range(4))
    maps = [
        AffineMap(4, 0, (n, row * OUTPUTS + i, column * OUTPUTS + j, channel)) for i in range(SIZE) for j in range(SIZE)
    ]
    parts = build.generic(
        [data] * len(maps),
        maps,
        [build.empty([1, *shape], f32) for _ in maps],
        [dims(AffineExpr.constant(0), 0, 1, 2, 3, rank=4)] * len(maps),
        ["parallel"] * 4,
        _transform_body(2),
    )
    whole = build.empty([SIZE * SIZE, *shape], f32)
    for position, part in enumerate(parts):
        whole = build.insert_slice(part, whole, [position, 0, 0, 0, 0])
    return build.reshape(whole, [SIZE * SIZE, *conv.tiles, conv.inputs])


def _products(build: LinalgBuilder, conv: _Convolution, data: SSAValue, weight: SSAValue) -> SSAValue:
    """M, of shape [36, tiles, O]."""
    zeros = build.fill(0, [SIZE * SIZE, *conv.tiles, conv.outputs], f32)
    tiles = range(1, 1 + len(conv.tiles))
    out, depth = len(tiles) + 1, len(tiles) + 2
    maps = [dims(0, *tiles, depth, rank=depth + 1), dims(0, depth, out, rank=depth + 1)]
    iterators = ["parallel"] * depth + ["reduction"]
    result = dims(0, *tiles, out, rank=depth + 1)
    return build.generic([data, weight], maps, [zeros], [result], iterators, _multiply_add)[0]


def _output_transform(build: LinalgBuilder, conv: _Convolution, products: SSAValue) -> SSAValue:
    """The result of the convolution."""
    tiles = [conv.batch, conv.tile_rows, conv.tile_columns, conv.outputs]
    split = build.reshape(products, [SIZE * SIZE, *tiles])
    maps = [dims(AffineExpr.constant(k), 0, 1, 2, 3, rank=4) for k in range(SIZE * SIZE)]
    offsets = [(i, j) for i in range(OUTPUTS) for j in range(OUTPUTS)]
    parts = build.generic(
        [split] * len(maps),
        maps,
        [build.empty(tiles, f32) for _ in offsets],
        [AffineMap.identity(4)] * len(offsets),
        ["parallel"] * 4,
        _transform_body(0),
    )
    whole = build.empty([conv.batch, OUTPUTS * conv.tile_rows, OUTPUTS * conv.tile_columns, conv.outputs], f32)
    for (i, j), part in zip(offsets, parts, strict=True):
        whole = build.insert_slice(part, whole, [0, i, j, 0], [1, OUTPUTS, OUTPUTS, 1])
    sizes = [conv.batch, conv.height, conv.width, conv.outputs]
    return whole if list(build.shape(whole)) == sizes else build.slice(whole, [0] * 4, sizes)


def _transform(function: func.FuncOp, weights: WeightArguments, conv: _Convolution) -> None:
    op = conv.view.op
    build = LinalgBuilder(Builder(InsertPoint.before(op)), op.location)
    argument = cast(BlockArgument, op.inputs[1])
    shape = (SIZE * SIZE, conv.inputs, conv.outputs)
    derive: Callable[[np.ndarray], np.ndarray] = transformed_weight
    weight = weights.replace(function, argument, "winograd", shape, derive)
    result = _output_transform(build, conv, _products(build, conv, _input_transform(build, conv), weight))
    op.results[0].replace_all_uses_with(result)
    op.detach()
    op.erase()


@dataclass(frozen=True)
class WinogradConvolutionsPass(ModulePass):
    """Turn 3x3 convolutions of stride 1 into matrix products of transformed tiles, where that is faster."""

    name = "winograd-convolutions"

    numerics: str = "relaxed"
    """`strict` leaves every convolution as it is."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.numerics == "strict":
            return
        weights = WeightArguments(op, weights_of(ctx))
        for function in list(op.body.block.ops):
            if not isinstance(function, func.FuncOp) or function.is_declaration:
                continue
            for inner in list(function.walk()):
                if isinstance(inner, linalg.GenericOp) and (found := _match(inner)):
                    if weights.is_weight(inner.inputs[1], function):
                        _transform(function, weights, found)
        weights.erase_unread()
