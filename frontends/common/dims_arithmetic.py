"""Arithmetic on vectors of dimensions of which some are open: what shape computations of models consist of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.dims import Dim
from relay_mlir.dialects.relay.types import ANY, Shape, numpy_dtype, tensor
from relay_mlir.frontends.common.value import Value


def _equal(left: Any, right: Any) -> bool:
    """Whether two sizes are equal, where no run can tell otherwise; raises VerifyException where one can."""
    if not isinstance(left, Dim) and not isinstance(right, Dim):
        return bool(left == right)
    if left == right:
        return True
    rest = left - right
    if not isinstance(rest, Dim) or rest > 0 or rest < 0:
        return False
    raise VerifyException("whether the sizes are equal depends on the run")


def _divide(left: Any, right: Any) -> Any:
    """The quotient of sizes; raises VerifyException for numbers below zero, which operators round differently."""
    if left < 0 or right <= 0:
        raise VerifyException("a size is not negative")
    return left // right


def _choose(chosen: Any, left: Any, right: Any) -> Any:
    return left if chosen else right


_TWO: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": lambda left, right: left + right,
    "subtract": lambda left, right: left - right,
    "multiply": lambda left, right: left * right,
    "trunc_divide": _divide,
    "floor_divide": _divide,
    "equal": _equal,
    "maximum": max,
    "minimum": min,
}
_FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    **{name: (2, function) for name, function in _TWO.items()},
    "where": (3, _choose),
}
"""Relay operators on numbers by name: how many operands, and what they compute for sizes, which are not negative."""


def computed(name: str, operands: Sequence[Value], element: Attribute, shape: Shape) -> Value | None:
    """The result of a relay operator on vectors of dimensions; None where it is not told by what is known.

    `element` and `shape` are those of the result.
    """
    if name not in (*_FUNCTIONS, "reshape") or all(value.dims is None for value in operands) or ANY in shape:
        return None
    arrays = [array for array in map(_elements, operands) if array is not None]
    if len(arrays) < len(operands):
        return None
    if name == "reshape":
        result = np.asarray(arrays[0], object)
    else:
        count, function = _FUNCTIONS[name]
        try:
            result = np.asarray(np.frompyfunc(function, count, 1)(*arrays), object)
        except (VerifyException, ArithmeticError):
            return None
    sizes = list(result.reshape(-1))
    if not any(isinstance(size, Dim) for size in sizes):
        array = np.array(sizes, numpy_dtype(element)).reshape(shape)
        return Value(tensor(shape, element), load=lambda: array)
    return Value(tensor(shape, element), dims=tuple(sizes))


def _elements(value: Value) -> np.ndarray | None:
    """The elements as numbers and Dims; None where one is not known."""
    if value.known:
        return value.array().astype(object)
    if value.dims is None or any(size == ANY and not isinstance(size, Dim) for size in value.dims):
        return None
    array = np.empty(len(value.dims), object)
    array[:] = value.dims
    return array.reshape(value.shape)
