"""Emits scf loops, index arithmetic, loads and stores at a point in a function; indices are kept in affine form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.builder import Builder
from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)
from xdsl.rewriter import InsertPoint

from relay_mlir.dialects.relay.dims import Dim
from relay_mlir.dialects.relay.sizes import Sizes
from relay_mlir.dialects.relay.types import is_float
from relay_mlir.lowering.structured import Structured, element_of

INDEX = IndexType()


@dataclass(frozen=True)
class Index:
    """A position: a sum of SSA index values times coefficients, and a constant."""

    terms: tuple[tuple[SSAValue, int], ...] = ()
    constant: int = 0

    def __add__(self, other: Index | int) -> Index:
        other = Index((), other) if isinstance(other, int) else other
        total = dict(self.terms)
        for value, factor in other.terms:
            total[value] = total.get(value, 0) + factor
        terms = tuple((value, factor) for value, factor in total.items() if factor)
        return Index(terms, self.constant + other.constant)

    def __mul__(self, factor: int) -> Index:
        return Index(tuple((value, f * factor) for value, f in self.terms) if factor else (), self.constant * factor)

    def divide(self, divisor: int) -> tuple[Index, Index] | None:
        """Quotient and remainder, where every term divides; None otherwise."""
        if any(factor % divisor for _, factor in self.terms):
            return None
        quotient, remainder = divmod(self.constant, divisor)
        return Index(tuple((value, factor // divisor) for value, factor in self.terms), quotient), Index((), remainder)


@dataclass(frozen=True)
class Lanes:
    """A vector's worth of positions: how many lanes it has, and how many of them are inside the tensor.

    That number may be an index value: below 0 it stands for 0, beyond the lanes for all of them.
    """

    count: int
    valid: int | SSAValue

    @property
    def masked(self) -> bool:
        return isinstance(self.valid, SSAValue) or self.valid < self.count


class Emitter:
    """Emits operations at the innermost open scope; constants go to the outermost one, once each."""

    def __init__(self, builder: Builder, location: LocationAttr, *, strict: bool):
        self.location = location
        self.strict = strict
        """Whether IEEE semantics hold to the letter: no contraction into fma, no reassociated sums."""
        self._top = builder
        self._scopes: list[tuple[Builder, dict[Index, SSAValue]]] = [(builder, {})]
        self._constants: dict[Attribute, SSAValue] = {}
        self._sizes = Sizes()
        self._extents: dict[frozenset[Any], SSAValue] = {}
        self._masks: list[dict[Lanes, SSAValue]] = [{}]

    # Operations

    def op(self, op: Operation) -> SSAValue | None:
        """Inserts an operation; returns its first result, if it has any."""
        op.location = self.location
        self._scopes[-1][0].insert(op)
        return op.results[0] if op.results else None

    def value(self, op: Operation) -> SSAValue:
        """Inserts an operation that has a result and returns it."""
        return cast(SSAValue, self.op(op))

    def constant(self, attribute: Any) -> SSAValue:
        """A constant, made once, before all loops."""
        if attribute not in self._constants:
            op = arith.ConstantOp(attribute)
            op.location = self.location
            self._top.insert(op)
            self._constants[attribute] = op.result
        return self._constants[attribute]

    def splat(self, value: SSAValue | float | int, type_: VectorType[Attribute]) -> SSAValue:
        """A vector of one value, which is a scalar SSA value or a number."""
        if isinstance(value, SSAValue):
            return self.value(vector.BroadcastOp(value, type_))
        element = cast(Any, type_.element_type)
        attribute = FloatAttr(float(value), element) if is_float(element) else IntegerAttr(int(value), element)
        return self.constant(DenseIntOrFPElementsAttr.from_list(cast(Any, type_), [attribute.value.data]))

    def mask(self, lanes: Lanes) -> SSAValue:
        """The lanes that are inside the tensor, as a vector of i1."""
        if isinstance(lanes.valid, SSAValue):
            for known in reversed(self._masks):
                if lanes in known:
                    return known[lanes]
            made = self.value(vector.CreateMaskOp([lanes.valid], VectorType(i1, [lanes.count])))
            self._masks[-1][lanes] = made
            return made
        bits = [1] * lanes.valid + [0] * (lanes.count - lanes.valid)
        return self.constant(DenseIntOrFPElementsAttr.from_list(cast(Any, VectorType(i1, [lanes.count])), bits))

    # Indices

    def index(self, position: Index) -> SSAValue:
        """The SSA value of a position, computed once in each scope."""
        for _, known in reversed(self._scopes):
            if position in known:
                return known[position]
        total: SSAValue | None = None
        for value, factor in position.terms:
            term = value
            if factor != 1:
                term = self.value(arith.MuliOp(value, self.constant(IntegerAttr(factor, INDEX))))
            total = term if total is None else self.value(arith.AddiOp(total, term))
        if total is None:
            return self.constant(IntegerAttr(position.constant, INDEX))
        if position.constant:
            total = self.value(arith.AddiOp(total, self.constant(IntegerAttr(position.constant, INDEX))))
        self._scopes[-1][1][position] = total
        return total

    def evaluate(self, expr: AffineExpr, positions: Sequence[Index]) -> Index:
        """An affine expression at loop positions."""
        match expr:
            case AffineDimExpr():
                return positions[expr.position]
            case AffineConstantExpr():
                return Index((), expr.value)
            case AffineBinaryOpExpr(kind, lhs, rhs):
                left, right = self.evaluate(lhs, positions), self.evaluate(rhs, positions)
                if kind is AffineBinaryOpKind.Add:
                    return left + right
                if kind is AffineBinaryOpKind.Mul:
                    return left * right.constant if not right.terms else right * left.constant
                return self._divide(kind, left, right.constant)
            case _:
                raise ValueError(f"affine expression {expr} has symbols")

    def _divide(self, kind: AffineBinaryOpKind, left: Index, divisor: int) -> Index:
        exact = left.divide(divisor)
        if exact is not None and kind is not AffineBinaryOpKind.CeilDiv:
            return exact[0] if kind is AffineBinaryOpKind.FloorDiv else exact[1]
        dividend = self.index(left)
        by = self.constant(IntegerAttr(divisor, INDEX))
        makers: dict[AffineBinaryOpKind, Any] = {
            AffineBinaryOpKind.FloorDiv: arith.FloorDivSIOp,
            AffineBinaryOpKind.CeilDiv: arith.CeilDivSIOp,
        }
        if kind in makers:
            return Index(((self.value(makers[kind](dividend, by)), 1),))
        quotient = Index(((self.value(arith.FloorDivSIOp(dividend, by)), -divisor),))
        return left + quotient

    # Sizes

    def extent(self, view: Structured, loop: int) -> int | SSAValue:
        """The iterations of a loop; those known at run time only as an index value, made before all loops."""
        if view.extents[loop] != DYNAMIC_INDEX:
            return view.extents[loop]
        size = view.sizes(self._sizes)[loop]
        if not isinstance(size, Dim):
            return size
        key = frozenset(size.terms.items())
        if key not in self._extents:
            self._extents[key] = self._sizes.index(cast(int, size), self._top, self.location)
        return self._extents[key]

    def whole(self, extent: SSAValue, step: int, start: SSAValue | None = None) -> SSAValue:
        """Where the last whole step from `start` (or 0) on below `extent` ends."""
        if step == 1:
            return extent
        by = self.constant(IntegerAttr(step, INDEX))
        span = extent if start is None else self.value(arith.SubiOp(extent, start))
        rounded = self.value(arith.SubiOp(span, self.value(arith.RemUIOp(span, by))))
        return rounded if start is None else self.value(arith.AddiOp(start, rounded))

    def rest(self, extent: SSAValue, position: Index) -> SSAValue:
        """How many positions there are from this one on."""
        return self.value(arith.SubiOp(extent, self.index(position)))

    # Loops

    def loop(
        self,
        count: int | SSAValue,
        body: Callable[[Index, Sequence[SSAValue]], Sequence[SSAValue]],
        carried: Sequence[SSAValue] = (),
        *,
        step: int = 1,
        parallel: bool = False,
        start: SSAValue | None = None,
    ) -> Sequence[SSAValue]:
        """Runs `body(position, carried)` for positions 0, step, ... below count; returns what the last one gave.

        One iteration needs no loop. `parallel` marks iterations as independent (scf.parallel), without carried values.
        Where `count` is an index value, positions may begin at `start`.
        """
        if not isinstance(count, SSAValue):
            if count <= 0:
                return carried
            if count <= step:
                return body(Index(), carried)
        low = self.constant(IntegerAttr(0, INDEX)) if start is None else start
        high = count if isinstance(count, SSAValue) else self.constant(IntegerAttr(count, INDEX))
        by = self.constant(IntegerAttr(step, INDEX))
        block = Block(arg_types=[INDEX, *(value.type for value in carried)])
        self._scopes.append((Builder(InsertPoint.at_end(block)), {}))
        self._masks.append({})
        results = body(Index(((block.args[0], 1),)), block.args[1:])
        self.op(scf.ReduceOp() if parallel else scf.YieldOp(*results))
        self._scopes.pop()
        self._masks.pop()
        if parallel:
            self.op(scf.ParallelOp([low], [high], [by], Region(block)))
            return ()
        made = scf.ForOp(low, high, by, list(carried), Region(block))
        self.op(made)
        return made.results

    # Memory

    def load(self, source: SSAValue, at: Sequence[Index]) -> SSAValue:
        """One element."""
        return self.value(
            memref.LoadOp.build(operands=[source, [self.index(i) for i in at]], result_types=[element_of(source)])
        )

    def store(self, value: SSAValue, into: SSAValue, at: Sequence[Index]) -> None:
        self.op(memref.StoreOp.build(operands=[value, into, [self.index(i) for i in at]]))

    def load_vector(self, source: SSAValue, at: Sequence[Index], lanes: Lanes) -> SSAValue:
        """Contiguous elements; lanes outside the tensor are zero and not touched."""
        type_ = VectorType(element_of(source), [lanes.count])
        indices = [self.index(i) for i in at]
        if not lanes.masked:
            return self.value(vector.LoadOp(source, indices, type_))
        return self.value(vector.MaskedLoadOp(source, indices, self.mask(lanes), self.splat(0, type_)))

    def store_vector(self, value: SSAValue, into: SSAValue, at: Sequence[Index], lanes: Lanes) -> None:
        """Contiguous elements; lanes outside the tensor are not touched."""
        indices = [self.index(i) for i in at]
        if lanes.masked:
            self.op(vector.MaskedStoreOp(into, indices, self.mask(lanes), value))
        else:
            self.op(vector.StoreOp(value, into, indices))

    def gather_vector(self, source: SSAValue, at: Callable[[int], Sequence[Index]], lanes: Lanes) -> SSAValue:
        """Elements that are not contiguous, one load a lane; lanes outside the tensor are zero."""
        type_ = VectorType(element_of(source), [lanes.count])
        result = self.splat(0, type_)
        if isinstance(lanes.valid, SSAValue):
            raise ValueError(
                "elements that are not contiguous are not gathered for a number of lanes that is not known"
            )
        for lane in range(lanes.valid):
            result = self.value(vector.InsertOp(self.load(source, at(lane)), result, [lane]))
        return result

    def vectorized(self, op: Operation, operands: Sequence[SSAValue], lanes: int | None) -> Sequence[SSAValue]:
        """An element-wise operation on new operands; where one of them is a vector, all are made vectors."""
        wide = lanes is not None and any(isinstance(value.type, VectorType) for value in operands)
        types = [result.type for result in op.results]
        values = list(operands)
        if wide:
            count = cast(int, lanes)
            values = [
                value if isinstance(value.type, VectorType) else self.splat(value, VectorType(value.type, [count]))
                for value in operands
            ]
            types = [VectorType(type_, [count]) for type_ in types]
        made = type(op).create(
            operands=values, result_types=types, properties=dict(op.properties), attributes=dict(op.attributes)
        )
        self.op(made)
        return made.results


def lane_width(type_: Attribute) -> int:
    """The bits that a scalar takes in a vector lane."""
    return 64 if isinstance(type_, IndexType) else 1 if type_ == IntegerType(1) else cast(Any, type_).bitwidth
