"""Reductions and positions of extrema: evaluate against loops in Python, the lower form against evaluate."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.op import OPERATORS
from relay_mlir.dialects.relay.types import ANY as UNKNOWN
from relay_mlir.dialects.relay.types import ELEMENT_TYPES, tensor, type_of
from test.support.mlir_oracle import AVAILABLE
from test.support.operator_check import ANY, FLOATS, INTEGERS, assert_close, dtype_of, run_lowered_together, wrap

AXES: list[dict] = [
    {},
    {"axis": (1,)},
    {"axis": (-1,), "keepdims": True},
    {"axis": (0, 2)},
    {"axis": (1,), "exclude": True},
    {"axis": ()},
]


def data(dtype: str, shape: Sequence[int] = (2, 3, 4)) -> np.ndarray:
    """Small numbers with ties, whose sums and products are exact in every float type."""
    values = np.random.default_rng(7).choice([-2, -1, 1, 2, 3], int(np.prod(shape)))
    return (np.abs(values) if dtype.startswith("uint") else values).astype(dtype_of(dtype)).reshape(shape)


def with_nan(x: np.ndarray) -> np.ndarray:
    """The array with NaN twice in its first row and an infinity in its last."""
    x = x.copy()
    x[0, 0, 1] = x[0, 0, 3] = np.nan
    x[-1, -1, 0] = np.inf
    return x


def reduced(
    function: Callable[[list], object],
    x: np.ndarray,
    axis: tuple[int, ...] | None = None,
    exclude: bool = False,
    keepdims: bool = False,
    dtype: np.dtype | None = None,
) -> np.ndarray:
    """A function of the list of elements that each result element is made of, in row-major order."""
    dtype = x.dtype if dtype is None else dtype
    listed = set(range(x.ndim)) if axis is None else {a % x.ndim for a in axis}
    gone = [a for a in range(x.ndim) if (a in listed) != exclude]
    kept = [a for a in range(x.ndim) if a not in gone]
    count = math.prod(x.shape[a] for a in kept)
    rows = x.transpose([*kept, *gone]).reshape(count, math.prod(x.shape[a] for a in gone))
    values = [function(row.astype(object if row.dtype.kind in "iub" else np.float64).tolist()) for row in rows]
    shape = [1 if a in gone else x.shape[a] for a in range(x.ndim) if keepdims or a in kept]
    with np.errstate(all="ignore"):
        return np.array(values, np.float64 if dtype.kind in "fV" else dtype).astype(dtype).reshape(shape)


def extreme(pick: Callable[[list], float]) -> Callable[[list], float]:
    """The greatest or least, NaN if one is NaN."""
    return lambda values: math.nan if any(v != v for v in values) else pick(values)


def position(pick: Callable[[list], float], last: bool) -> Callable[[list], int]:
    """The first or last place of NaN, or else of the extreme."""

    def of(values: list) -> int:
        nans = [i for i, v in enumerate(values) if v != v]
        places = nans or [i for i, v in enumerate(values) if v == pick(values)]
        return places[-1 if last else 0]

    return of


def mean(values: list) -> float:
    return math.fsum(values) / len(values) if values else math.nan


NUMERIC: dict[str, Callable[[list], float]] = {
    "sum": sum,
    "prod": math.prod,
    "max": extreme(max),
    "min": extreme(min),
}


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("name", NUMERIC)
def test_numeric(name: str, axes: dict, dtype: str) -> None:
    x = data(dtype)
    (got,) = OPERATORS[name](**axes).evaluate([x])
    function = NUMERIC[name]
    if dtype in INTEGERS:
        assert_close(got, reduced(lambda v: wrap(function(v), x.dtype), x, **axes))
    else:
        assert_close(got, reduced(function, x, **axes))
        assert_close(*OPERATORS[name](**axes).evaluate([with_nan(x)]), reduced(function, with_nan(x), **axes))


@pytest.mark.parametrize("axes", AXES)
def test_bools(axes: dict) -> None:
    x = np.arange(24).reshape(2, 3, 4) % 5 > 1
    for name, function in {"all": all, "any": any, "max": any, "min": all}.items():
        (got,) = OPERATORS[name](**axes).evaluate([x])
        assert_close(got, reduced(function, x, **axes))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("axes", AXES)
def test_mean_and_variance(axes: dict, dtype: str) -> None:
    x = data(dtype)
    (got,) = OPERATORS["mean"](**axes).evaluate([x])
    assert_close(got, reduced(mean, x, **axes), ulps=2)
    (center,) = OPERATORS["mean"](**{**axes, "keepdims": True}).evaluate([x])
    (variance,) = OPERATORS["variance"](**axes).evaluate([x, center])

    def spread(values: list) -> float:
        center = float(np.array(mean(values)).astype(x.dtype))
        return math.fsum((v - center) ** 2 for v in values) / len(values)

    assert_close(variance, reduced(spread, x, **axes), ulps=4)


def test_unbiased_variance() -> None:
    x, center = np.array([1.0, 2.0, 6.0]), np.array([3.0])
    assert OPERATORS["variance"](unbiased=True).evaluate([x, center])[0] == 7.0
    assert np.isnan(OPERATORS["variance"](unbiased=True).evaluate([x[:1], x[:1]])[0])


def test_mean_of_integers_rounds_towards_zero() -> None:
    assert OPERATORS["mean"]().evaluate([np.array([-1, -2, -2], np.int32)])[0] == -1
    with pytest.raises(VerifyException, match=r"insert relay\.cast"):
        OPERATORS["mean"]().infer([tensor([3], ELEMENT_TYPES["int8"])])


def test_f16_accumulates_in_f32() -> None:
    x = np.full(4096, 32.0, np.float16)  # the sum is out of range, partial means are not
    assert OPERATORS["mean"]().evaluate([x])[0] == 32.0
    ones = np.ones(5000, np.float16)  # f16 counts to 2048 only
    assert OPERATORS["sum"]().evaluate([ones])[0] == 5000.0


@pytest.mark.parametrize("dtype", ANY)
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("axes", AXES)
def test_positions(axes: dict, last: bool, dtype: str) -> None:
    x = data(dtype) if dtype != "bool" else np.arange(24).reshape(2, 3, 4) % 5 > 1
    cases = [x, with_nan(x)] if dtype in FLOATS else [x]
    for case in cases:
        for name, pick in {"argmax": max, "argmin": min}.items():
            (got,) = OPERATORS[name](**axes, select_last_index=last).evaluate([case])
            assert_close(got, reduced(position(pick, last), case, **axes, dtype=np.dtype(np.int64)))


def test_position_type() -> None:
    x = np.array([[1.0, 5.0], [7.0, 2.0]], np.float32)
    (got,) = OPERATORS["argmax"](axis=(1,), dtype=ELEMENT_TYPES["int32"]).evaluate([x])
    assert got.dtype == np.int32


EMPTY = {"sum": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf, "mean": np.nan}


@pytest.mark.parametrize("name", EMPTY)
def test_reduction_of_nothing(name: str) -> None:
    x = np.zeros((2, 0, 3), np.float32)
    (got,) = OPERATORS[name](axis=(1,)).evaluate([x])
    assert_close(got, np.full((2, 3), EMPTY[name], np.float32))
    (none,) = OPERATORS[name](axis=(0,)).evaluate([x])
    assert none.shape == (0, 3)
    (scalar,) = OPERATORS[name]().evaluate([np.array(3.0, np.float32)])
    assert_close(scalar, np.array(3.0, np.float32))


def test_position_among_nothing() -> None:
    with pytest.raises(VerifyException, match="no position"):
        OPERATORS["argmax"](axis=(1,)).infer([tensor([2, 0], ELEMENT_TYPES["float32"])])
    (got,) = OPERATORS["argmax"](axis=(1,)).evaluate([np.zeros((0, 3), np.float32)])
    assert got.shape == (0,)


def test_types() -> None:
    f32 = ELEMENT_TYPES["float32"]
    assert OPERATORS["sum"](axis=(-1,)).infer([tensor([2, UNKNOWN], f32)]) == [tensor([2], f32)]
    assert OPERATORS["sum"](axis=(0,)).infer([tensor([2, UNKNOWN], f32)]) == [tensor([UNKNOWN], f32)]
    for attributes, message in (
        ({"axis": (2,)}, "out of range for rank 2"),
        ({"axis": (0, -2)}, "occurs twice"),
        ({"exclude": True}, "exclude = true needs axis"),
    ):
        with pytest.raises(VerifyException, match=message):
            OPERATORS["sum"](**attributes).infer([tensor([2, 3], f32)])
    with pytest.raises(VerifyException, match="must be bool"):
        OPERATORS["all"]().infer([tensor([2, 3], f32)])
    with pytest.raises(VerifyException, match="mean must be"):
        OPERATORS["variance"](axis=(1,)).infer([tensor([2, 3], f32), tensor([2], f32)])


def lowered_cases() -> list[tuple]:
    cases: list[tuple] = []
    for axes in AXES:
        x = data("float32")
        cases += [(OPERATORS[n](**axes), [v]) for n in (*NUMERIC, "mean", "argmax", "argmin") for v in (x, with_nan(x))]
        center = OPERATORS["mean"](**{**axes, "keepdims": True}).evaluate([x])[0]
        cases += [(OPERATORS["variance"](**axes), [x, center])]
        cases += [(OPERATORS[n](**axes), [data("uint8")]) for n in (*NUMERIC, "argmax", "argmin")]
        cases += [(OPERATORS[n](**axes), [data("int64")]) for n in ("prod", "min", "mean")]
        cases += [(OPERATORS[n](**axes), [data("int32") > 1]) for n in ("all", "any", "max", "min", "argmin")]
    half = with_nan(data("float16"))
    cases += [(OPERATORS[n](axis=(2,)), [half]) for n in (*NUMERIC, "mean", "argmax", "argmin")]
    cases += [(OPERATORS["sum"](), [np.ones(5000, np.float16)]), (OPERATORS["mean"](), [np.full(4096, 32, np.float16)])]
    cases += [(OPERATORS["variance"](axis=(2,), unbiased=True), [half[1:], half[1:, :, :1].copy()])]
    for last in (False, True):
        for x in (data("int8"), with_nan(data("float32"))):
            cases += [(OPERATORS[n](axis=(2,), select_last_index=last), [x]) for n in ("argmax", "argmin")]
    empty, scalar = np.zeros((2, 0, 3), np.float32), np.array(3.0, np.float32)
    cases += [(OPERATORS[n](axis=(1,)), [empty]) for n in EMPTY]
    cases += [(OPERATORS[n](axis=(0,)), [empty]) for n in EMPTY]
    cases += [(OPERATORS[n](), [scalar]) for n in (*EMPTY, "argmax")]
    return cases


@pytest.mark.skipif(not AVAILABLE, reason="mlir-opt-22 is not installed")
def test_lower_agrees_with_evaluate() -> None:
    cases = lowered_cases()
    for (op, args), (got,) in zip(cases, run_lowered_together(cases), strict=True):
        (want,) = op.evaluate(args)
        assert type_of(got) == op.infer([type_of(arg) for arg in args])[0]
        try:
            assert_close(got, want, ulps=2 if op.name in ("mean", "variance") else 0)
        except AssertionError as e:
            raise AssertionError(f"{op} on {args[0].dtype}: {e}") from e
