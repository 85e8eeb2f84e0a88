"""What the tests of operators that move elements share: values of all bit patterns, exact comparison."""

from collections.abc import Sequence

import numpy as np

from relay_mlir.dialects.relay.op import Operator
from test.support.operator_check import dtype_of, run_lowered_together

Case = tuple[Operator, Sequence[np.ndarray]]


def any_bits(shape: Sequence[int], dtype: str, seed: int = 0) -> np.ndarray:
    """Random bit patterns, NaN payloads among them; bools are 0 and 1."""
    kind = dtype_of(dtype)
    rng = np.random.default_rng(seed)
    if kind == np.bool_:
        return rng.integers(0, 2, tuple(shape)).astype(np.bool_)
    count = int(np.prod(shape)) * kind.itemsize
    return np.frombuffer(rng.bytes(count), kind).reshape(tuple(shape)).copy()


def numbered(*shape: int, dtype: str = "float32") -> np.ndarray:
    """0, 1, 2, ... in this shape."""
    return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype_of(dtype))


def assert_same_bits(got: np.ndarray, want: np.ndarray, what: object = "") -> None:
    """Equal dtype, shape and bytes."""
    assert got.dtype == want.dtype, what
    assert got.shape == want.shape, what
    assert got.tobytes() == want.tobytes(), f"{what}: got {got}, want {want}"


def assert_lowered_as_evaluated(cases: Sequence[Case]) -> None:
    """The lower forms of all cases, run by stock MLIR, give the bytes that evaluate gives."""
    for (op, args), got in zip(cases, run_lowered_together(cases), strict=True):
        for lowered, evaluated in zip(got, op.evaluate(args), strict=True):
            assert_same_bits(lowered, evaluated, op)
