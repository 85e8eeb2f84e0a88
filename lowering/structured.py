"""A view of linalg.generic that passes share: loops, extents, how operands are indexed, contractions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr, TensorType
from xdsl.dialects.linalg import attrs as linalg_attrs
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from relay_mlir.dialects.relay.dims import product
from relay_mlir.dialects.relay.sizes import Sizes

LIKELY = 128
"""What heuristics take a size for that is known at run time only."""


def likely(size: int) -> int:
    """The size, or a guess where it is known at run time only; for decisions about speed alone."""
    return LIKELY if size == DYNAMIC_INDEX else size


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The shape of a tensor or memref."""
    return cast("TensorType[Attribute] | MemRefType[Attribute]", value.type).get_shape()


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor or memref."""
    return cast("TensorType[Attribute] | MemRefType[Attribute]", value.type).element_type


def strides_of(value: SSAValue) -> tuple[int, ...] | None:
    """The distance in elements between neighbours along each dimension, DYNAMIC_INDEX where it is not static."""
    if isinstance(value.type, MemRefType) and not isinstance(value.type.layout, NoneAttr):  # type: ignore
        found = cast(MemRefType[Attribute], value.type).get_strides()
        return None if found is None else tuple(DYNAMIC_INDEX if stride is None else stride for stride in found)
    shape = shape_of(value)
    return tuple(product(shape[position + 1 :]) for position in range(len(shape)))


def is_row_major(value: SSAValue) -> bool:
    """Whether the type says that elements lie in row-major order without gaps, whatever the sizes are."""
    return not isinstance(value.type, MemRefType) or isinstance(value.type.layout, NoneAttr)  # type: ignore


def linear(expr: AffineExpr) -> dict[int, int] | None:
    """The coefficient of each dimension in an affine expression (the constant under -1); None for floordiv and mod."""
    match expr:
        case AffineDimExpr():
            return {expr.position: 1}
        case AffineConstantExpr():
            return {-1: expr.value}
        case AffineBinaryOpExpr(AffineBinaryOpKind.Add, lhs, rhs):
            left, right = linear(lhs), linear(rhs)
            if left is None or right is None:
                return None
            return {key: left.get(key, 0) + right.get(key, 0) for key in left | right}
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mul, lhs, rhs):
            left, right = linear(lhs), linear(rhs)
            if left is None or right is None:
                return None
            if set(left) <= {-1}:
                left, right = right, left
            factor = right.get(-1, 0)
            return {key: value * factor for key, value in left.items()} if set(right) <= {-1} else None
        case _:
            return None


@dataclass(frozen=True)
class Access:
    """How one operand of a structured operation is indexed by the loops."""

    value: SSAValue
    map: AffineMap

    def uses(self, loop: int) -> bool:
        """Whether the position read depends on this loop."""
        return any(loop in expr.used_dims() for expr in self.map.results)

    def stride(self, loop: int) -> int | None:
        """The distance in elements between accesses of neighbouring iterations of a loop; None where it varies."""
        strides = strides_of(self.value)
        if strides is None:
            return None
        total = 0
        for expr, stride in zip(self.map.results, strides, strict=True):
            if loop not in expr.used_dims():
                continue
            coefficients = linear(expr)
            if coefficients is None or stride == DYNAMIC_INDEX:
                return None
            total += coefficients.get(loop, 0) * stride
        return total

    def contiguous(self, loop: int) -> bool:
        """Whether the loop walks the last dimension, and nothing else, one element at a time."""
        if not self.map.results:
            return False
        last = linear(self.map.results[-1])
        strides = strides_of(self.value)
        return (
            strides is not None
            and strides[-1] == 1
            and last is not None
            and last.get(loop, 0) == 1
            and not any(loop in expr.used_dims() for expr in self.map.results[:-1])
        )

    @property
    def is_identity(self) -> bool:
        return self.map == AffineMap.identity(self.map.num_dims)


@dataclass(frozen=True)
class Structured:
    """A linalg.generic, taken apart."""

    op: linalg.GenericOp
    inputs: tuple[Access, ...]
    outputs: tuple[Access, ...]
    extents: tuple[int, ...]
    """The iterations of each loop, DYNAMIC_INDEX where they are known at run time only."""
    reductions: frozenset[int]

    @property
    def body(self) -> Block:
        return self.op.body.block

    def sizes(self, sizes: Sizes) -> tuple[int, ...]:
        """The iterations of each loop, those known at run time only as what they depend on."""
        return tuple(
            self._size(loop, sizes) if extent == DYNAMIC_INDEX else extent for loop, extent in enumerate(self.extents)
        )

    def _size(self, loop: int, sizes: Sizes) -> int:
        for access in (*self.outputs, *self.inputs):
            for place, expr in enumerate(access.map.results):
                if isinstance(expr, AffineDimExpr) and expr.position == loop:
                    return sizes.shape(access.value)[place]
        raise ValueError(f"loop {loop} is no dimension of an operand")

    @property
    def parallels(self) -> tuple[int, ...]:
        """The parallel loops, outermost first."""
        return tuple(loop for loop in range(len(self.extents)) if loop not in self.reductions)

    @property
    def ordered_reductions(self) -> tuple[int, ...]:
        """The reduction loops, outermost first."""
        return tuple(sorted(self.reductions))

    @property
    def yielded(self) -> tuple[SSAValue, ...]:
        """The values that the body yields."""
        return tuple(cast(Operation, self.body.last_op).operands)


def structured(op: linalg.GenericOp) -> Structured:
    """Takes a linalg.generic apart. Each loop is a dimension of some operand, as upstream's verifier demands."""
    maps = [attribute.data for attribute in op.get_indexing_maps()]
    operands = [*op.inputs, *op.outputs]
    accesses = [Access(value, map_) for value, map_ in zip(operands, maps, strict=True)]
    iterators = [attribute.data for attribute in op.get_iterator_types()]
    extents: dict[int, int] = {}
    for access in accesses:
        for expr, size in zip(access.map.results, shape_of(access.value), strict=True):
            if isinstance(expr, AffineDimExpr) and extents.get(expr.position, DYNAMIC_INDEX) == DYNAMIC_INDEX:
                extents[expr.position] = size
    inputs = len(op.inputs)
    return Structured(
        op,
        tuple(accesses[:inputs]),
        tuple(accesses[inputs:]),
        tuple(extents[loop] for loop in range(len(iterators))),
        frozenset(loop for loop, kind in enumerate(iterators) if kind != linalg_attrs.IteratorType.PARALLEL),
    )


_CASTS = (arith.ExtFOp, arith.ExtSIOp, arith.ExtUIOp, arith.SIToFPOp, arith.UIToFPOp)


def _factor(value: SSAValue) -> tuple[BlockArgument, list[Operation]] | None:
    """The block argument that a factor of the product is, and the widening casts on it, first one first."""
    casts: list[Operation] = []
    while isinstance(value, OpResult) and isinstance(value.op, _CASTS):
        casts.append(value.op)
        value = value.op.operands[0]
    return (value, casts[::-1]) if isinstance(value, BlockArgument) else None


@dataclass(frozen=True)
class Contraction:
    """A generic that sums products of two inputs: `out += widen(a) * widen(b)`."""

    view: Structured
    casts: tuple[list[Operation], list[Operation]]
    """The widening casts on either input."""

    @property
    def out(self) -> Access:
        return self.view.outputs[0]


def contraction(view: Structured) -> Contraction | None:
    """The generic as a contraction, or None where it is not one."""
    if len(view.inputs) != 2 or len(view.outputs) != 1 or not view.reductions:
        return None
    total = view.yielded[0]
    accumulator = view.body.args[2]
    if not isinstance(total, OpResult) or not isinstance(total.op, arith.AddfOp | arith.AddiOp):
        return None
    terms = [value for value in total.op.operands if value is not accumulator]
    if len(terms) != 1 or not isinstance(terms[0], OpResult):
        return None
    product = terms[0].op
    if not isinstance(product, arith.MulfOp | arith.MuliOp):
        return None
    factors = [_factor(operand) for operand in product.operands]
    if None in factors:
        return None
    by_argument = {factor[0].index: factor[1] for factor in factors if factor is not None}
    if set(by_argument) != {0, 1}:
        return None
    # Nothing else in the body: each operation is one of those just seen.
    if len(view.body.ops) != 3 + len(by_argument[0]) + len(by_argument[1]):
        return None
    return Contraction(view, (by_argument[0], by_argument[1]))
