"""Running sums and products: evaluate against loops in Python, the lower form against evaluate."""

import itertools
import operator

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.op import OPERATORS
from relay_mlir.dialects.relay.types import ANY as UNKNOWN
from relay_mlir.dialects.relay.types import ELEMENT_TYPES, tensor
from test.support.mlir_oracle import AVAILABLE
from test.support.operator_check import assert_close, run_lowered_together, wrap

FUNCTIONS = {"cumsum": (operator.add, 0), "cumprod": (operator.mul, 1)}
WAYS: list[dict] = [
    {"axis": axis, "exclusive": exclusive, "reverse": reverse}
    for axis in (None, 0, 1, -1)
    for exclusive in (False, True)
    for reverse in (False, True)
]


def scanned(name: str, x: np.ndarray, axis: int | None, exclusive: bool, reverse: bool) -> np.ndarray:
    function, nothing = FUNCTIONS[name]

    def row(values: np.ndarray) -> np.ndarray:
        items = values.tolist()[::-1] if reverse else values.tolist()
        sums = list(itertools.accumulate(items, function, initial=nothing))
        sums = sums[:-1] if exclusive else sums[1:]
        sums = sums[::-1] if reverse else sums
        return np.array([wrap(v, x.dtype) if x.dtype.kind in "iu" else v for v in sums], x.dtype)

    return row(x.reshape(-1)) if axis is None else np.apply_along_axis(row, axis, x)


def values(dtype: str) -> np.ndarray:
    return np.random.default_rng(3).choice([1, 2, 3], (2, 3, 4)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint16", "int64"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_scan(name: str, way: dict, dtype: str) -> None:
    x = values(dtype)
    if dtype == "float16" and name == "cumprod" and way["axis"] is None:
        x = np.minimum(x, 2)[:1]  # stays in range
    (got,) = OPERATORS[name](**way).evaluate([x])
    assert_close(got, scanned(name, x, **way))


def test_not_a_number_stays() -> None:
    x = np.array([1.0, np.nan, 2.0, np.inf], np.float32)
    assert np.isnan(OPERATORS["cumsum"](axis=0).evaluate([x])[0][1:]).all()
    (got,) = OPERATORS["cumsum"](axis=0, exclusive=True, reverse=True).evaluate([x])
    assert_close(got, np.array([np.nan, np.inf, np.inf, 0.0], np.float32))


def test_f16_accumulates_in_f32() -> None:
    (got,) = OPERATORS["cumsum"](axis=0).evaluate([np.ones(5000, np.float16)])
    assert got.dtype == np.float16
    assert got[-1] == 5000.0


def test_dtype_widens_first() -> None:
    x = np.array([100, 100, 100], np.int8)
    (got,) = OPERATORS["cumsum"](axis=0, dtype=ELEMENT_TYPES["int32"]).evaluate([x])
    assert_close(got, np.array([100, 200, 300], np.int32))
    (flags,) = OPERATORS["cumsum"](axis=0, dtype=ELEMENT_TYPES["int64"]).evaluate([np.array([True, False, True])])
    assert_close(flags, np.array([1, 1, 2]))


def test_types() -> None:
    f32, i1 = ELEMENT_TYPES["float32"], ELEMENT_TYPES["bool"]
    assert OPERATORS["cumsum"](axis=1).infer([tensor([2, UNKNOWN], f32)]) == [tensor([2, UNKNOWN], f32)]
    assert OPERATORS["cumsum"]().infer([tensor([2, 3], f32)]) == [tensor([6], f32)]
    assert OPERATORS["cumsum"]().infer([tensor([2, UNKNOWN], f32)]) == [tensor([UNKNOWN], f32)]
    with pytest.raises(VerifyException, match="out of range"):
        OPERATORS["cumsum"](axis=2).infer([tensor([2, 3], f32)])
    with pytest.raises(VerifyException, match="must be float or integer"):
        OPERATORS["cumsum"](axis=0).infer([tensor([2], i1)])


@pytest.mark.skipif(not AVAILABLE, reason="mlir-opt-22 is not installed")
def test_lower_agrees_with_evaluate() -> None:
    cases: list[tuple] = []
    for name in FUNCTIONS:
        cases += [(OPERATORS[name](**way), [values(d)]) for way in WAYS for d in ("float32", "uint16")]
    cases += [(OPERATORS["cumsum"](axis=0), [np.ones(5000, np.float16)])]
    cases += [(OPERATORS["cumsum"](axis=0, dtype=ELEMENT_TYPES["int32"]), [values("uint8") * np.uint8(100)])]
    cases += [(OPERATORS["cumsum"](axis=0, dtype=ELEMENT_TYPES["float32"]), [values("int32") > 1])]
    cases += [(OPERATORS["cumsum"](axis=1), [np.zeros(shape, np.float32)]) for shape in ((2, 0), (0, 2))]
    cases += [(OPERATORS["cumsum"](), [np.array(3.0, np.float32)])]
    for (op, args), (got,) in zip(cases, run_lowered_together(cases), strict=True):
        try:
            assert_close(got, *op.evaluate(args))
        except AssertionError as e:
            raise AssertionError(f"{op} on {args[0].dtype}: {e}") from e
