"""Products of matrices: dense layers, a matrix applied to the rows of a tensor, and batches of matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.contraction import contract, contraction_element, finished, same_dim, working_dtype
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, constant_expr, dims
from relay_mlir.dialects.relay.op import Operator, Pattern, operator
from relay_mlir.dialects.relay.types import Tensor, broadcast_dims, element_type, show_shape, tensor

if TYPE_CHECKING:
    import numpy as np


def _check_rank(type_: Tensor, rank: int, what: str, at_least: bool = False) -> tuple[int, ...]:
    """The shape; raises VerifyException unless it has `rank` dimensions (or more)."""
    shape = type_.get_shape()
    if len(shape) < rank or (len(shape) > rank and not at_least):
        least = "at least " if at_least else ""
        raise VerifyException(f"{what} must have {least}{rank} dimensions, but has shape {show_shape(shape)}")
    return shape


def _product(args: Sequence[np.ndarray], transposed: tuple[bool, bool], out: Attribute) -> list[np.ndarray]:
    """numpy's matmul of operands whose last two dimensions may be swapped, in the accumulator's type."""
    import numpy as np

    work = working_dtype(args[0], args[1], out)
    left, right = (
        (arg.swapaxes(-1, -2) if swap else arg).astype(work, copy=False)
        for arg, swap in zip(args, transposed, strict=True)
    )
    with np.errstate(invalid="ignore", over="ignore"):
        return [finished(left @ right, out)]


@dataclass(frozen=True)
class MatrixProduct(Operator):
    """A tensor (..., M, K) times a matrix (K, N), each possibly stored with its last two dimensions swapped."""

    pattern = Pattern.OUT_FUSABLE

    units: int | None = None
    """N, where given it must agree with the second operand."""
    out_dtype: Attribute | None = None

    @property
    def transposed(self) -> tuple[bool, bool]:
        """Whether the first and the second operand are stored with their last two dimensions swapped."""
        raise NotImplementedError

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        swap_left, swap_right = self.transposed
        left = _check_rank(types[0], 2 if swap_left else 1, self.operands[0], at_least=True)
        right = _check_rank(types[1], 2, self.operands[1])
        depth, units = (right[1], right[0]) if swap_right else right
        same_dim(left[-2] if swap_left else left[-1], depth, "the reduced dimensions of the operands")
        if self.units is not None:
            units = same_dim(units, self.units, f"the output dimension of {self.operands[1]} and units")
        rows = (*left[:-2], left[-1]) if swap_left else left[:-1]
        return [tensor((*rows, units), contraction_element(types[0], types[1], self.out_dtype))]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        return _product(args, self.transposed, self.out_dtype or element_type(args[0].dtype))

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        shape, out = results[0].get_shape(), results[0].element_type
        swap_left, swap_right = self.transposed
        left, right = args
        if swap_left:
            rows = shape[:-1]
        else:  # every leading dimension is one of rows
            rows = (prod(shape[:-1]),)
            left = build.reshape(left, (*rows, build.shape(left)[-1]))
        n, k, rank = len(rows), len(rows) + 1, len(rows) + 2
        left_map = dims(*range(n - 1), *((k, n - 1) if swap_left else (n - 1, k)), rank=rank)
        right_map = dims(*((n, k) if swap_right else (k, n)), rank=rank)
        result = contract(build, [left, right], [left_map, right_map], (*rows, shape[-1]), 1, out)
        return [build.reshape(result, shape)]


@operator
class Dense(MatrixProduct):
    """A fully connected layer: data (..., K) times the transpose of weight (units, K), to (..., units).

    Relay `nn.dense`, ONNX `Gemm` with transB.
    """

    name = "nn.dense"
    operands = ("data", "weight")

    @property
    def transposed(self) -> tuple[bool, bool]:
        return False, True


@operator
class Matmul(MatrixProduct):
    """A tensor (..., M, K) times a matrix (K, N), to (..., M, N).

    With `transpose_a` the tensor is (..., K, M), with `transpose_b` the matrix is (N, K). Relay `nn.matmul`, ONNX
    `MatMul` and `Gemm`.
    """

    name = "nn.matmul"
    operands = ("tensor_a", "tensor_b")
    transpose_a: bool = False
    transpose_b: bool = False

    @property
    def transposed(self) -> tuple[bool, bool]:
        return self.transpose_a, self.transpose_b


@operator
class BatchMatmul(Operator):
    """Matrix products side by side: (B, M, K) times (B, K, N), to (B, M, N). A batch of 1 serves every product.

    With `transpose_a` the first operand is (B, K, M), with `transpose_b` the second is (B, N, K). Both are off by
    default, as where Relay's text leaves them out; Relay's Python function sets `transpose_b`. Relay
    `nn.batch_matmul`, ONNX `MatMul`.
    """

    name = "nn.batch_matmul"
    operands = ("tensor_a", "tensor_b")
    pattern = Pattern.OUT_FUSABLE
    out_dtype: Attribute | None = None
    transpose_a: bool = False
    transpose_b: bool = False

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        left, right = (_check_rank(type_, 3, what) for type_, what in zip(types, self.operands, strict=True))
        rows, depth = (left[2], left[1]) if self.transpose_a else left[1:]
        right_depth, columns = (right[2], right[1]) if self.transpose_b else right[1:]
        same_dim(depth, right_depth, "the reduced dimensions of the operands")
        batch = broadcast_dims((left[0], right[0]))
        return [tensor((batch, rows, columns), contraction_element(types[0], types[1], self.out_dtype))]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        out = self.out_dtype or element_type(args[0].dtype)
        return _product(args, (self.transpose_a, self.transpose_b), out)

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        shape = results[0].get_shape()
        batch, rows, columns, depth = range(4)
        orders = (
            (depth, rows) if self.transpose_a else (rows, depth),
            (columns, depth) if self.transpose_b else (depth, columns),
        )
        maps = [
            dims(constant_expr(0) if build.shape(arg)[0] == 1 != shape[0] else batch, *order, rank=4)
            for arg, order in zip(args, orders, strict=True)
        ]
        return [contract(build, args, maps, shape, 1, results[0].element_type)]


__all__ = ["BatchMatmul", "Dense", "Matmul", "MatrixProduct"]
