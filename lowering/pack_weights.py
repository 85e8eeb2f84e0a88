"""pack-weights: lay out the vector operand of each scheduled contraction so that the kernel reads it front to back.

A weight becomes another weight, `[batch loops..., panels, reductions..., panel]` with zeros after the last column,
made when the weight blob is written. An operand that is computed at run time and is not contiguous along the lane loop
is transposed before the contraction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    ModuleOp,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import BlockArgument, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder
from relay_mlir.dialects.relay.weights import weights_of
from relay_mlir.lowering.structured import Access, Structured, contraction, element_of, shape_of, structured
from relay_mlir.lowering.tile_contractions import Schedule, schedule_of
from relay_mlir.lowering.weight_arguments import WeightArguments

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Packing:
    """How a weight is laid out: its old shape and map, the loops in the new order, and the panel."""

    shape: tuple[int, ...]
    map: AffineMap
    extents: tuple[int, ...]
    batches: tuple[int, ...]
    reductions: tuple[int, ...]
    lane_loop: int
    panel: int

    @property
    def packed_shape(self) -> tuple[int, ...]:
        panels = -(-self.extents[self.lane_loop] // self.panel)
        batches, reductions = ([self.extents[loop] for loop in loops] for loops in (self.batches, self.reductions))
        return (*batches, panels, *reductions, self.panel)

    @property
    def packed_map(self) -> AffineMap:
        lane = AffineExpr.dimension(self.lane_loop)
        batches, reductions = ([AffineExpr.dimension(p) for p in loops] for loops in (self.batches, self.reductions))
        return AffineMap(self.map.num_dims, 0, (*batches, lane // self.panel, *reductions, lane % self.panel))

    @property
    def digest(self) -> str:
        """Names the layout, so that equal packings of one weight are one weight."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:8]

    def apply(self, weight: np.ndarray) -> np.ndarray:
        """The packed array of a weight of the old shape; made one panel at a time, so that only it takes memory."""
        import numpy as np

        packed = np.zeros(self.packed_shape, weight.dtype)
        axis = len(self.batches)
        extent = self.extents[self.lane_loop]
        for number, start in enumerate(range(0, extent, self.panel)):
            lanes = np.arange(start, min(start + self.panel, extent))
            into = packed[(slice(None),) * axis + (number, Ellipsis, slice(0, len(lanes)))]
            into[...] = np.moveaxis(self._lanes(weight, lanes), axis, -1)
        return packed

    def _lanes(self, weight: np.ndarray, lanes: np.ndarray) -> np.ndarray:
        """`weight[batches..., lanes, reductions...]`; a view where the map only permutes loops."""
        import numpy as np

        order = (*self.batches, self.lane_loop, *self.reductions)
        axes = [expr.position for expr in self.map.results if isinstance(expr, AffineDimExpr)]
        if len(axes) == len(self.map.results) and sorted(axes) == sorted(order):
            view = weight.transpose([axes.index(loop) for loop in order])
            return view[(slice(None),) * len(self.batches) + (slice(int(lanes[0]), int(lanes[-1]) + 1),)]
        ranges = [lanes if loop == self.lane_loop else np.arange(self.extents[loop]) for loop in order]
        positions: list[Any] = [0] * self.map.num_dims
        for loop, grid in zip(order, np.ix_(*ranges), strict=True):
            positions[loop] = grid
        return weight[tuple(np.asarray(evaluate(expr, positions)) for expr in self.map.results)]


def evaluate(expr: AffineExpr, positions: Sequence[Any]) -> Any:
    """The value of an affine expression at positions, which may be numpy arrays."""
    from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr

    match expr:
        case AffineDimExpr():
            return positions[expr.position]
        case AffineConstantExpr():
            return expr.value
        case AffineBinaryOpExpr(kind, lhs, rhs):
            left, right = evaluate(lhs, positions), evaluate(rhs, positions)
            match kind:
                case AffineBinaryOpKind.Add:
                    return left + right
                case AffineBinaryOpKind.Mul:
                    return left * right
                case AffineBinaryOpKind.FloorDiv:
                    return left // right
                case AffineBinaryOpKind.CeilDiv:
                    return -(-left // right)
                case _:
                    return left % right
        case _:
            raise ValueError(f"affine expression {expr} has symbols")


class _Packer:
    def __init__(self, weights: WeightArguments):
        self.weights = weights

    def function(self, function: func.FuncOp) -> None:
        for op in list(function.walk()):
            if not isinstance(op, linalg.GenericOp) or (schedule := schedule_of(op)) is None:
                continue
            view = structured(op)
            vectors = [access for access in view.inputs if access.uses(schedule.lane_loop)]
            if contraction(view) is None:
                continue
            if len(vectors) == 1 and self.weights.is_weight(vectors[0].value, function):
                self._pack(function, view, vectors[0], schedule)
                continue
            for access in vectors:
                if not access.contiguous(schedule.lane_loop):
                    self._transpose(view, access, schedule)
                    view = structured(op)

    @staticmethod
    def _packing(view: Structured, access: Access, schedule: Schedule) -> Packing:
        used = [loop for loop in range(len(view.extents)) if access.uses(loop)]
        return Packing(
            shape_of(access.value),
            access.map,
            view.extents,
            tuple(loop for loop in used if loop not in view.reductions and loop != schedule.lane_loop),
            tuple(loop for loop in used if loop in view.reductions),
            schedule.lane_loop,
            schedule.panel,
        )

    def _pack(self, function: func.FuncOp, view: Structured, access: Access, schedule: Schedule) -> None:
        packing = self._packing(view, access, schedule)
        suffix = f"packed.{packing.digest}"
        argument = cast(BlockArgument, access.value)
        fresh = self.weights.replace(function, argument, suffix, packing.packed_shape, packing.apply)
        _set_map(view.op, [*view.op.operands].index(fresh), packing.packed_map)

    def _transpose(self, view: Structured, access: Access, schedule: Schedule) -> None:
        """Copies an operand into `[batch loops..., reductions..., lanes]` before the contraction."""
        packing = self._packing(view, access, schedule)
        order = (*packing.batches, *packing.reductions, packing.lane_loop)
        rank = len(order)
        source = AffineMap(
            rank,
            0,
            tuple(
                expr.replace_dims_and_symbols(
                    [
                        AffineExpr.dimension(order.index(loop)) if loop in order else AffineExpr.constant(0)
                        for loop in range(access.map.num_dims)
                    ],
                    [],
                )
                for expr in access.map.results
            ),
        )
        build = LinalgBuilder(Builder(InsertPoint.before(view.op)), view.op.location)
        extents = view.sizes(build.sizes)
        into = build.empty([extents[loop] for loop in order], element_of(access.value))
        parallel = ["parallel"] * rank
        (copy,) = build.generic([access.value], [source], [into], [AffineMap.identity(rank)], parallel, _first)
        position = view.inputs.index(access)
        view.op.operands[position] = copy
        results = tuple(AffineExpr.dimension(loop) for loop in order)
        _set_map(view.op, position, AffineMap(access.map.num_dims, 0, results))


def _first(_: ScalarBuilder, value: SSAValue, out: SSAValue) -> SSAValue:
    return value


def _set_map(op: linalg.GenericOp, position: int, map_: AffineMap) -> None:
    maps = list(op.indexing_maps.data)
    maps[position] = AffineMapAttr(map_)
    op.properties["indexing_maps"] = ArrayAttr(maps)


class PackWeightsPass(ModulePass):
    """Lay out the vector operand of each scheduled contraction so that the kernel reads it front to back."""

    name = "pack-weights"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        weights = WeightArguments(op, weights_of(ctx))
        packer = _Packer(weights)
        for function in list(op.body.block.ops):
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                packer.function(function)
        weights.erase_unread()
