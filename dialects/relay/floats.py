"""What operators on floats share: f16 and bf16 are computed as f32, from the first step to the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.linalg_builder import ScalarBuilder, compute_element
from relay_mlir.dialects.relay.types import Tensor, element_type, is_float, numpy_dtype

if TYPE_CHECKING:
    import numpy as np


def check_float(types: Sequence[Tensor], names: Sequence[str]) -> None:
    """Raises VerifyException unless every tensor holds floats."""
    for type_, name in zip(types, names, strict=True):
        if not is_float(type_.element_type):
            raise VerifyException(f"{name} must be a tensor of floats, but is {type_}")


def wide_array(array: np.ndarray, element: Attribute | None = None) -> np.ndarray:
    """The array in the type that bodies compute in for `element`, by default its own element type."""
    wide = compute_element(element_type(array.dtype) if element is None else element)
    return array.astype(numpy_dtype(wide), copy=False)


def add(s: ScalarBuilder, value: SSAValue, total: SSAValue) -> SSAValue:
    """The body of a sum."""
    return s.add(total, value)


def maximum(s: ScalarBuilder, value: SSAValue, best: SSAValue) -> SSAValue:
    """The body of a maximum, which is NaN where a value is."""
    return s.maximum(best, value)


def subtract(s: ScalarBuilder, left: SSAValue, right: SSAValue) -> SSAValue:
    """The body of a difference."""
    return s.sub(left, right)


def divide(s: ScalarBuilder, dividend: SSAValue, divisor: SSAValue) -> SSAValue:
    """The body of a quotient."""
    return s.div(dividend, divisor)


__all__ = ["add", "check_float", "divide", "maximum", "subtract", "wide_array"]
