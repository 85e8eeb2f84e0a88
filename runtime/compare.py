"""Whether two arrays are the same result: equal shapes, NaN and Inf in the same places, errors small for the scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

TOLERANCE = 1e-4
"""The largest error of a float result, relative to the largest magnitude in it."""


@dataclass(frozen=True)
class Difference:
    """How a result differs: `text` says it in full, `error` is the largest error (inf where it has no number)."""

    text: str
    error: float


def compare(found: np.ndarray, expected: np.ndarray, tolerance: float = TOLERANCE) -> Difference | None:
    """The difference between two results, or None where they agree.

    Floats agree where NaN and Inf are at the same positions and no error is above `tolerance` of the largest finite
    magnitude expected (or two units in the last place of a shorter type); integers and bools where they are equal.
    """
    import numpy as np

    if found.shape != expected.shape or found.dtype != expected.dtype:
        return Difference(
            f"is {found.dtype}{list(found.shape)}, but {expected.dtype}{list(expected.shape)} is expected", np.inf
        )
    if found.size == 0:
        return None
    if expected.dtype.kind in "iub":
        wrong = found != expected
        if not wrong.any():
            return None
        error = float(np.abs(found.astype(np.float64) - expected.astype(np.float64)).max())
        return Difference(f"{_count(wrong)} differ by up to {error:g}{_first(wrong, found, expected)}", error)
    return _compare_floats(found, expected, tolerance)


def _compare_floats(found: np.ndarray, expected: np.ndarray, tolerance: float) -> Difference | None:
    import ml_dtypes
    import numpy as np

    limit = max(tolerance, 2 * float(cast(Any, ml_dtypes.finfo(expected.dtype)).eps))
    a, b = found.astype(np.float64), expected.astype(np.float64)
    strange = ~np.isfinite(a) | ~np.isfinite(b)
    wrong = strange & ~((a == b) | (np.isnan(a) & np.isnan(b)))
    if wrong.any():
        return Difference(f"{_count(wrong)} differ in NaN or Inf{_first(wrong, found, expected)}", np.inf)
    regular = ~strange
    if not regular.any():
        return None
    errors = np.where(regular, np.abs(np.where(regular, a, 0) - np.where(regular, b, 0)), 0)
    scale = float(np.abs(b[regular]).max())
    error = float(errors.max())
    if error <= limit * scale:
        return None
    wrong = errors > limit * scale
    text = f"{_count(wrong)} differ by up to {error:.3g}, at a scale of {scale:.3g}{_first(wrong, found, expected)}"
    return Difference(text, error)


def _count(wrong: npt.NDArray[Any]) -> str:
    return f"{int(wrong.sum())} of {wrong.size} elements"


def _first(wrong: npt.NDArray[Any], found: np.ndarray, expected: np.ndarray) -> str:
    import numpy as np

    index = tuple(int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))
    a, b = (array[index].item() for array in (found, expected))
    return f"; first at {list(index)}: {a:.7g}, expected {b:.7g}"
