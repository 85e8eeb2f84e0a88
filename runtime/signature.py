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
from relay_mlir.dialects.relay.types import ANY, ELEMENT_TYPES, Tensor, dtype_name, numpy_dtype, show_shape

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class TensorSpec:
    """A named input or output; `dtype` is numpy's name of the element type.

    A dimension is None where any size will do, as far as it fits to the others.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...]

    @property
    def numpy_dtype(self) -> np.dtype[np.generic]:
        """The numpy dtype (of ml_dtypes for bfloat16)."""
        return numpy_dtype(ELEMENT_TYPES[self.dtype])

    @property
    def is_open(self) -> bool:
        """Whether a dimension is not known before run time."""
        return None in self.shape

    @property
    def bytes(self) -> int:
        """The size of the tensor; -1 where a dimension is open."""
        return -1 if self.is_open else math.prod(self.sizes) * self.numpy_dtype.itemsize

    @property
    def sizes(self) -> tuple[int, ...]:
        """The shape, with -1 for an open dimension."""
        return tuple(-1 if size is None else size for size in self.shape)

    @property
    def shape_text(self) -> str:
        """The shape as a person reads it: `[1, ?, 3]`."""
        return show_shape([ANY if size is None else size for size in self.shape])

    def fits(self, shape: Sequence[int]) -> bool:
        """Whether an array of this shape may be it."""
        pairs = zip(shape, self.shape, strict=False)
        return len(shape) == len(self.shape) and all(wanted in (None, size) for size, wanted in pairs)

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}{self.shape_text}"


@dataclass(frozen=True)
class Signature:
    """What a program takes and gives, in order."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]

    @property
    def is_open(self) -> bool:
        """Whether a dimension of an input or output is not known before run time."""
        return any(spec.is_open for spec in (*self.inputs, *self.outputs))


def signature_of(main: FuncOp) -> Signature:
    """The signature of a relay function; raises CompileError for what has no array form."""
    type_ = main.function_type
    return Signature(
        _specs(main.names("input_names"), type_.inputs.data, "input"),
        _specs(main.names("output_names"), type_.outputs.data, "output"),
    )


def _specs(names: Sequence[str], types: Sequence[Attribute], what: str) -> tuple[TensorSpec, ...]:
    specs: list[TensorSpec] = []
    for name, type_ in zip(names, types, strict=True):
        if not isinstance(type_, TensorType):
            raise CompileError(f"{what} '{name}' is a {type_}; a compiled program takes and gives tensors")
        tensor = cast(Tensor, type_)
        shape = tuple(None if size == ANY else size for size in tensor.get_shape())
        specs.append(TensorSpec(name, dtype_name(tensor.element_type), shape))
    return tuple(specs)
