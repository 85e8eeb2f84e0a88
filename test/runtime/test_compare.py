"""What counts as the same result."""

import ml_dtypes
import numpy as np
import pytest

from relay_mlir.runtime.compare import compare

INF, NAN = np.inf, np.nan


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (floats(1.0, 100.0), floats(1.009, 100.0)),  # the scale is 100
        (floats(NAN, INF, -INF, 1.0), floats(NAN, INF, -INF, 1.0)),
        (floats(), floats()),
        (floats(0.0), floats(-0.0)),
        (np.array([1, -2], np.int8), np.array([1, -2], np.int8)),
        (np.array(True), np.array(True)),
        (np.array([1.0], ml_dtypes.bfloat16), np.array([1.0078125], ml_dtypes.bfloat16)),
        (floats(NAN, NAN), floats(NAN, NAN)),
    ],
)
def test_the_same(found: np.ndarray, expected: np.ndarray):
    assert compare(found, expected) is None


@pytest.mark.parametrize(
    ("found", "expected", "message"),
    [
        (floats(1.0, 100.0), floats(1.02, 100.0), r"1 of 2 elements differ by up to 0\.02, at a scale of 100; first"),
        (floats(NAN, 1.0), floats(1.0, 1.0), r"1 of 2 elements differ in NaN or Inf; first at \[0\]: nan, expected 1"),
        (floats(INF), floats(-INF), "differ in NaN or Inf"),
        (floats(1.0), floats(1.0, 2.0), r"is float32\[1\], but float32\[2\] is expected"),
        (floats(1.0), np.array([1.0]), r"is float32\[1\], but float64\[1\] is expected"),
        (np.array([1, 2], np.uint8), np.array([1, 255], np.uint8), "1 of 2 elements differ by up to 253"),
        (floats(1e-9), floats(0.0), "differ by up to 1e-09"),
    ],
)
def test_different(found: np.ndarray, expected: np.ndarray, message: str):
    difference = compare(found, expected)
    assert difference is not None
    import re

    assert re.search(message, difference.text)
