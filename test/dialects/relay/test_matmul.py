"""Matrix products: evaluate against sums of Python numbers, the lower form against evaluate."""

import numpy as np
import pytest
from xdsl.dialects.builtin import f16, f32, f64, i1, i8, i16, i32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.matmul import BatchMatmul, Dense, Matmul
from relay_mlir.dialects.relay.op import Operator
from relay_mlir.dialects.relay.types import ANY, tensor, ui8
from test.support.mlir_oracle import AVAILABLE, lowered_module
from test.support.operator_check import assert_close, dtype_of, run_lowered_together

SHAPES = {
    "dense": (Dense(), (2, 5), (3, 5)),
    "dense of a vector": (Dense(units=3), (5,), (3, 5)),
    "dense of many dimensions": (Dense(), (2, 1, 4, 5), (3, 5)),
    "dense of no rows": (Dense(), (0, 5), (3, 5)),
    "dense of nothing": (Dense(), (2, 0), (3, 0)),
    "matmul": (Matmul(units=3), (2, 5), (5, 3)),
    "matmul of many dimensions": (Matmul(), (2, 3, 4, 5), (5, 3)),
    "matmul, a transposed": (Matmul(transpose_a=True), (2, 5, 4), (5, 3)),
    "matmul, both transposed": (Matmul(transpose_a=True, transpose_b=True), (5, 4), (3, 5)),
    "batch_matmul": (BatchMatmul(), (2, 4, 5), (2, 5, 3)),
    "batch_matmul, a transposed": (BatchMatmul(transpose_a=True), (2, 5, 4), (2, 5, 3)),
    "batch_matmul, b transposed": (BatchMatmul(transpose_b=True), (2, 4, 5), (2, 3, 5)),
    "batch_matmul, both transposed": (BatchMatmul(transpose_a=True, transpose_b=True), (2, 5, 4), (2, 3, 5)),
    "batch_matmul, batch of a broadcast": (BatchMatmul(), (1, 4, 5), (3, 5, 2)),
    "batch_matmul, batch of b broadcast": (BatchMatmul(transpose_b=True), (3, 4, 5), (1, 2, 5)),
    "batch_matmul of no batch": (BatchMatmul(), (0, 4, 5), (0, 5, 2)),
}


def small(seed: int, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Small integers, whose sums of products are exact in every type."""
    low = 0 if dtype[0] == "u" else -3
    return np.random.default_rng(seed).integers(low, 4, shape).astype(dtype_of(dtype))


def by_sums(op: Operator, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The product as sums of Python floats."""
    a = left.swapaxes(-1, -2) if getattr(op, "transpose_a", False) else left
    b = right.swapaxes(-1, -2) if getattr(op, "transpose_b", isinstance(op, Dense)) else right
    batch = (max(a.shape[0], b.shape[0]) if min(a.shape[0], b.shape[0]) else 0,) if b.ndim == 3 else a.shape[:-2]
    rows = a.shape[-2:-1]
    out = np.zeros((*batch, *rows, b.shape[-1]))
    for index in np.ndindex(*out.shape):
        *lead, column = index
        if b.ndim == 3:
            row, matrix = a[min(lead[0], a.shape[0] - 1), lead[1]], b[min(lead[0], b.shape[0] - 1)]
        else:
            row, matrix = a[tuple(lead)], b
        out[index] = sum(float(x) * float(y) for x, y in zip(row, matrix[:, column], strict=True))
    return out


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "uint8"])
def test_evaluate_matches_sums(name: str, dtype: str):
    op, left, right = SHAPES[name]
    args = [small(1, left, dtype), small(2, right, dtype)]
    (got,) = op.evaluate(args)
    assert_close(got, by_sums(op, *args).astype(got.dtype))
    assert got.dtype == dtype_of(dtype)


@pytest.mark.skipif(not AVAILABLE, reason="mlir-opt-22 is not installed")
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8"])
def test_lower_form_matches_evaluate(dtype: str):
    cases = [(op, [small(1, left, dtype), small(2, right, dtype)]) for op, left, right in SHAPES.values()]
    for (op, args), (got,) in zip(cases, run_lowered_together(cases), strict=True):
        assert_close(got, op.evaluate(args)[0])


@pytest.mark.parametrize(
    ("left", "right", "out", "want"),
    [
        ("int8", "int8", i32, -128 * -128 * 2 + 127 * 127),
        ("uint8", "int8", i32, 255 * -128 * 2 + 255 * 127),
        ("uint8", "uint8", i16, (255 * 255 * 3 + 2**15) % 2**16 - 2**15),
        ("int8", "int8", None, (-128 * -128 * 2 + 127 * 127 + 128) % 256 - 128),
    ],
)
def test_integers_wrap_in_the_result_type(left: str, right: str, out: object, want: int):
    a = np.full((1, 3), 255 if left[0] == "u" else -128, np.int64).astype(left)
    b = np.full((1, 3), 255 if right[0] == "u" else -128, np.int64).astype(right)
    if left == "int8":
        a[0, 2] = 127
    if right == "int8":
        b[0, 2] = 127
    op = Dense(out_dtype=out)
    (got,) = op.evaluate([a, b])
    assert got.dtype == {i32: np.int32, i16: np.int16, None: np.int8}[out]
    assert got.tolist() == [[want]]
    if AVAILABLE:
        assert run_lowered_together([(op, [a, b])])[0][0].tolist() == [[want]]


def test_narrow_floats_accumulate_in_f32():
    """2048 + 1 is not an f16, but 2048 + 1 + 1 is."""
    a, b = np.array([[2048, 1, 1]], np.float16), np.ones((1, 3), np.float16)
    cases = [Dense().evaluate([a, b])[0]]
    cases += run_lowered_together([(Dense(), [a, b])])[0] if AVAILABLE else []
    for got in cases:
        assert got.tolist() == [[2050]]
        assert got.dtype == np.float16


def test_out_dtype_of_floats():
    a, b = np.array([[60000, 60000]], np.float16), np.ones((1, 2), np.float16)
    assert Dense().evaluate([a, b])[0].tolist() == [[np.inf]]
    for out in (f32, f64):
        assert Dense(out_dtype=out).evaluate([a, b])[0].tolist() == [[120000]]
        if AVAILABLE:
            assert run_lowered_together([(Dense(out_dtype=out), [a, b])])[0][0].tolist() == [[120000]]


def test_nan_and_infinity():
    a = np.array([[np.nan, 0], [np.inf, 0], [np.inf, 1]], np.float32)
    b = np.array([[1, 1], [0, 1], [1, -np.inf]], np.float32)
    (got,) = Dense().evaluate([a, b])
    nan, inf = np.nan, np.inf
    np.testing.assert_array_equal(got, [[nan, nan, nan], [inf, nan, nan], [inf, nan, nan]])


@pytest.mark.parametrize(
    ("op", "shapes", "maps"),
    [
        (Dense(), [(2, 4, 5), (3, 5)], ["(d0, d2)", "(d1, d2)", "(d0, d1)"]),
        (Matmul(), [(4, 5), (5, 3)], ["(d0, d2)", "(d2, d1)", "(d0, d1)"]),
        (BatchMatmul(), [(1, 4, 5), (2, 5, 3)], ["(0, d1, d3)", "(d0, d3, d2)", "(d0, d1, d2)"]),
    ],
)
def test_lower_form_is_one_contraction(op: Operator, shapes: list, maps: list[str]):
    module, _ = lowered_module(op, [np.zeros(shape, np.float32) for shape in shapes])
    (generic,) = (o for o in module.walk() if isinstance(o, GenericOp))
    assert [str(attr.data).split("-> ")[1] for attr in generic.indexing_maps] == maps
    iterators = [iterator.data.value for iterator in generic.iterator_types]
    assert iterators == ["parallel"] * (len(iterators) - 1) + ["reduction"]


@pytest.mark.parametrize(
    ("op", "left", "right", "result"),
    [
        (Dense(), (ANY, 5), (3, ANY), (ANY, 3)),
        (Dense(units=3), (2, ANY), (ANY, 5), (2, 3)),
        (Matmul(transpose_a=True), (ANY, 5, 4), (5, ANY), (ANY, 4, ANY)),
        (BatchMatmul(), (ANY, 4, 5), (3, 5, 2), (3, 4, 2)),
        (BatchMatmul(), (ANY, 4, ANY), (1, 5, ANY), (ANY, 4, ANY)),
    ],
)
def test_infer_with_unknown_dimensions(op: Operator, left: tuple, right: tuple, result: tuple):
    assert op.infer([tensor(left, f32), tensor(right, f32)]) == [tensor(result, f32)]


F, G = f32, f16


@pytest.mark.parametrize(
    ("op", "left", "right", "message"),
    [
        (
            Dense(),
            tensor((2, 5), F),
            tensor((3, 4), F),
            "the reduced dimensions of the operands must agree, .* 5 and 4",
        ),
        (Dense(units=4), tensor((2, 5), F), tensor((3, 5), F), "output dimension of weight and units must agree"),
        (Dense(), tensor((), F), tensor((3, 5), F), "data must have at least 1 dimensions, but has shape"),
        (Dense(), tensor((2, 5), F), tensor((5,), F), "weight must have 2 dimensions"),
        (Dense(), tensor((2, 5), F), tensor((3, 5), G), "element types f32 and f16 give no f32"),
        (Dense(), tensor((2, 5), i1), tensor((3, 5), i1), "give no i1"),
        (Dense(out_dtype=f32), tensor((2, 5), i8), tensor((3, 5), i8), "give no f32"),
        (Dense(), tensor((2, 5), ui8), tensor((3, 5), i8), "give the type of the result as out_dtype"),
        (Matmul(transpose_a=True), tensor((5,), F), tensor((5, 3), F), "tensor_a must have at least 2 dimensions"),
        (BatchMatmul(), tensor((2, 4, 5), F), tensor((3, 5, 2), F), "dimensions 2 and 3 do not broadcast"),
        (BatchMatmul(), tensor((4, 5), F), tensor((3, 5, 2), F), "tensor_a must have 3 dimensions"),
        (BatchMatmul(transpose_b=True), tensor((1, 4, 5), F), tensor((1, 5, 2), F), "must agree, but are 5 and 2"),
    ],
)
def test_rejections(op: Operator, left: object, right: object, message: str):
    with pytest.raises(VerifyException, match=message):
        op.infer([left, right])
