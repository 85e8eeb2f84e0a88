"""The inputs and outputs of a program as its users see them: names, element types, shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from relay_mlir.dialects.errors import CompileError
from relay_mlir.dialects.relay.core import FuncOp
from relay_mlir.dialects.relay.types import ELEMENT_TYPES, Shape, Tensor, dtype_name, is_static, numpy_dtype, show_shape

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class TensorSpec:
    """A named input or output; `dtype` is numpy's name of the element type."""

    name: str
    dtype: str
    shape: Shape

    @property
    def numpy_dtype(self) -> np.dtype[np.generic]:
        """The numpy dtype (of ml_dtypes for bfloat16)."""
        return numpy_dtype(ELEMENT_TYPES[self.dtype])

    @property
    def bytes(self) -> int:
        """The size of the tensor."""
        return math.prod(self.shape) * self.numpy_dtype.itemsize

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}{show_shape(self.shape)}"


@dataclass(frozen=True)
class Signature:
    """What a program takes and gives, in order."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


def signature_of(main: FuncOp) -> Signature:
    """The signature of a relay function; raises CompileError for what has no array form or no known size."""
    type_ = main.function_type
    return Signature(
        _specs(main.names("input_names"), type_.inputs.data, "input"),
        _specs(main.names("output_names"), type_.outputs.data, "output"),
    )


def _specs(names: Sequence[str], types: Sequence[Attribute], what: str) -> tuple[TensorSpec, ...]:
    specs: list[TensorSpec] = []
    open_: list[str] = []
    for name, type_ in zip(names, types, strict=True):
        if not isinstance(type_, TensorType):
            raise CompileError(f"{what} '{name}' is a {type_}; a compiled program takes and gives tensors")
        tensor = cast(Tensor, type_)
        shape: Shape = tensor.get_shape()
        if not is_static(shape):
            open_.append(f"{what} '{name}' has the shape {show_shape(shape)}")
            continue
        specs.append(TensorSpec(name, dtype_name(tensor.element_type), shape))
    if open_:
        raise CompileError("; ".join(open_) + ": give every dimension a size with --shape NAME=1x3x224x224")
    return tuple(specs)
