"""A tensor of a model while it is imported: an SSA value, or elements known at import, or both."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import Attribute, SSAValue

from relay_mlir.dialects.relay.types import ANY, Shape, Tensor, is_static, show_shape
from relay_mlir.frontends.common.problem import Problem

MAX_KNOWN = 1 << 26
"""The number of elements up to which a tensor may be computed while importing."""


class Value:
    """A tensor: its type; its SSA value once an operation uses it; its elements where they are known at import.

    `load` reads or computes the elements (none: they are known at run time only). `name` is the name a weight gets.
    `dims` holds what is known of a vector that is computed from shapes: its elements, ANY for those not known.
    `shape`, where given, says what the open dimensions of the type depend on.
    """

    def __init__(
        self,
        type_: Tensor,
        *,
        ssa: SSAValue | None = None,
        load: Callable[[], np.ndarray] | None = None,
        name: str = "",
        dims: tuple[int, ...] | None = None,
        shape: Shape | None = None,
    ):
        self.type = type_
        self._shape = shape
        self.ssa = ssa
        self.load = load
        self.name = name
        self.dims = dims

    @property
    def shape(self) -> Shape:
        """The shape; open dimensions are Dims where it is known what they depend on."""
        return self.type.get_shape() if self._shape is None else self._shape

    @property
    def rank(self) -> int:
        return self.type.get_num_dims()

    @property
    def element(self) -> Attribute:
        """The element type."""
        return self.type.element_type

    @property
    def known(self) -> bool:
        """Whether the elements are known at import."""
        return self.load is not None and is_static(self.shape) and self.size <= MAX_KNOWN

    @property
    def size(self) -> int:
        """The number of elements of a tensor with a static shape."""
        return int(np.prod(self.shape, dtype=object)) if self.shape else 1

    def array(self) -> np.ndarray:
        """The elements; only for a value that is `known`."""
        if self.load is None:
            raise ValueError("the elements of this value are not known at import")
        return self.load()

    def static_shape(self, why: str, axes: Sequence[int] | None = None) -> Shape:
        """The shape, whose dimensions (on `axes` or all) must be known; raises Problem that says why they must."""
        shown = self.shape if axes is None else [self.shape[axis] for axis in axes]
        if ANY in shown:
            raise Problem(f"{why}, but the shape is {show_shape(self.shape)}: bind the model's inputs with --shape")
        return self.shape
