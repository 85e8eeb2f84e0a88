"""How operators write their lower form: `LinalgBuilder` for tensors, `ScalarBuilder` for the bodies of linalg.generic.

Conventions of the linalg level, which every pass below relies on:
- unsigned tensors become signless ones of the same width; bool stays i1. The operator knows which meaning it wants.
- f16 and bf16 values are widened to f32 in bodies and rounded once at the end of each body.
- every tensor that an operator returns was made by an operation of its own: inputs are never written to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    BFloat16Type,
    DenseArrayBase,
    Float16Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    TensorType,
    f32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from relay_mlir.dialects import upstream
from relay_mlir.dialects.lazy import arith, linalg, linalg_attrs, math, scf, tensor, upstream_arith
from relay_mlir.dialects.relay.dims import Dim, plain, product
from relay_mlir.dialects.relay.sizes import Sizes
from relay_mlir.dialects.relay.types import ANY, Tensor, is_float, is_unsigned
from relay_mlir.dialects.relay.types import tensor as tensor_type

Body = Callable[..., "SSAValue | Sequence[SSAValue]"]
"""Makes the yielded value(s) of a generic from a ScalarBuilder and the block arguments."""


def lowered_element(element: Attribute) -> Attribute:
    """The element type that stands for a relay element type below the relay level."""
    return IntegerType(cast(IntegerType, element).width.data) if isinstance(element, IntegerType) else element


def lowered_type(type_: Tensor) -> Tensor:
    """The tensor type that stands for a relay tensor type below the relay level; open dimensions are `?`."""
    return tensor_type(plain(type_.get_shape()), lowered_element(type_.element_type))


def compute_element(element: Attribute) -> Attribute:
    """The type in which bodies compute: f32 for f16 and bf16, else the lowered element type itself."""
    return f32 if isinstance(element, Float16Type | BFloat16Type) else lowered_element(element)


class ScalarBuilder:
    """Arithmetic on scalars; picks the float or integer operation by the type of the operands.

    `unsigned=True` picks the unsigned integer operation. Comparisons give i1.
    """

    def __init__(self, builder: Builder, location: LocationAttr, sizes: Sizes | None = None):
        self._builder = builder
        self._location = location
        self._sizes = sizes or Sizes()

    def insert(self, op: Operation) -> SSAValue:
        """Inserts an operation with one result and returns the result."""
        op.location = self._location
        return self._builder.insert(op).results[0]

    def const(self, value: float | int | bool, type_: Attribute) -> SSAValue:
        """A constant of a float, integer or index type; integers wrap into the type's range.

        A size that is known at run time only is computed in front of the body.
        """
        attribute: Attribute
        if isinstance(value, Dim):
            return self.size(cast(int, value), type_)
        if is_float(type_):
            attribute = FloatAttr(float(value), cast(Any, type_))
        elif isinstance(type_, IntegerType):
            integer = cast(IntegerType, type_)
            width = integer.width.data
            wrapped = int(value) & ((1 << width) - 1)
            if width > 1 and wrapped >> (width - 1):
                wrapped -= 1 << width
            attribute = IntegerAttr(wrapped, integer)
        else:
            attribute = IntegerAttr(int(value), IndexType())
        return self.insert(arith.ConstantOp(cast(Any, attribute)))

    def size(self, dim: int, type_: Attribute) -> SSAValue:
        """A size that is known at run time only, as a float, integer or index."""
        index = self._sizes.index(dim, self._builder, self._location)
        return index if isinstance(type_, IndexType) else self.from_index(index, type_)

    def like(self, value: float | int | bool, other: SSAValue) -> SSAValue:
        """A constant of the type of `other`."""
        return self.const(value, other.type)

    def index(self, dim: int) -> SSAValue:
        """The position of the iteration along a loop of the enclosing generic, of index type."""
        return self.insert(linalg.IndexOp(dim))

    def _pick(self, a: SSAValue, b: SSAValue, float_op: Any, int_op: Any) -> SSAValue:
        return self.insert((float_op if is_float(a.type) else int_op)(a, b))

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._pick(a, b, arith.AddfOp, arith.AddiOp)

    def sub(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._pick(a, b, arith.SubfOp, arith.SubiOp)

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._pick(a, b, arith.MulfOp, arith.MuliOp)

    def div(self, a: SSAValue, b: SSAValue, unsigned: bool = False) -> SSAValue:
        """Division; for integers truncating. x / 0 is 0 and INT_MIN / -1 is INT_MIN, as in numpy, never a trap."""
        if is_float(a.type):
            return self.insert(arith.DivfOp(a, b))
        return self._guarded(a, b, unsigned, lambda x, y: (arith.DivUIOp if unsigned else arith.DivSIOp)(x, y), True)

    def rem(self, a: SSAValue, b: SSAValue, unsigned: bool = False) -> SSAValue:
        """Remainder with the sign of the dividend (C's fmod and %); x rem 0 is 0 for integers."""
        if is_float(a.type):
            return self.insert(upstream_arith.RemFOp(a, b))
        return self._guarded(a, b, unsigned, lambda x, y: (arith.RemUIOp if unsigned else arith.RemSIOp)(x, y), False)

    def _guarded(
        self,
        a: SSAValue,
        b: SSAValue,
        unsigned: bool,
        make: Callable[[SSAValue, SSAValue], Operation],
        quotient: bool,
    ) -> SSAValue:
        """Integer division that replaces the divisors 0 and -1, which trap, by 1 and mends the result."""
        zero, one = self.like(0, b), self.like(1, b)
        by_zero = self.compare("eq", b, zero)
        trap = by_zero
        if not unsigned:
            by_minus_one = self.compare("eq", b, self.like(-1, b))
            trap = self.insert(arith.OrIOp(by_zero, by_minus_one))
        safe = self.insert(make(a, self.select(trap, one, b)))
        if unsigned:
            return self.select(by_zero, zero, safe)
        mended = self.sub(zero, a) if quotient else zero
        return self.select(by_zero, zero, self.select(trap, mended, safe))

    def maximum(self, a: SSAValue, b: SSAValue, unsigned: bool = False) -> SSAValue:
        """The greater; NaN if either is NaN."""
        return self._pick(a, b, arith.MaximumfOp, arith.MaxUIOp if unsigned else arith.MaxSIOp)

    def minimum(self, a: SSAValue, b: SSAValue, unsigned: bool = False) -> SSAValue:
        """The lesser; NaN if either is NaN."""
        return self._pick(a, b, arith.MinimumfOp, arith.MinUIOp if unsigned else arith.MinSIOp)

    def neg(self, a: SSAValue) -> SSAValue:
        return self.insert(arith.NegfOp(a)) if is_float(a.type) else self.sub(self.like(0, a), a)

    def compare(self, predicate: str, a: SSAValue, b: SSAValue, unsigned: bool = False) -> SSAValue:
        """`eq ne lt le gt ge`; with NaN every one is false but `ne`, which is true."""
        if is_float(a.type):
            return self.insert(arith.CmpfOp(a, b, ("une" if predicate == "ne" else "o" + predicate)))
        mnemonic = predicate if predicate in ("eq", "ne") else ("u" if unsigned else "s") + predicate
        return self.insert(arith.CmpiOp(a, b, mnemonic))

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(arith.SelectOp(condition, a, b))

    def math(self, name: str, *args: SSAValue) -> SSAValue:
        """An operation of the math dialect by its class name without `Op`: `Exp`, `Erf`, `Tanh`, `PowF`, `Fma`, ..."""
        return self.insert(getattr(math, name + "Op")(*args))

    def cast(self, value: SSAValue, source: Attribute, target: Attribute) -> SSAValue:
        """Converts between relay element types, by value; `value` is of the compute type of `source`.

        To bool: nonzero. Float to integer: towards zero, saturating, NaN to 0. Between integers: modulo 2^width.
        f16 and bf16 targets stay in f32, unrounded: rounding happens where the body ends.
        """
        to, have = compute_element(target), value.type
        if to == i1_type and source != i1_type:
            return self.compare("ne", value, self.like(0, value))
        if is_float(have) and is_float(to):
            if have == to:
                return value
            wider = cast(Any, to).bitwidth > cast(Any, have).bitwidth
            return self.insert(arith.ExtFOp(value, cast(Any, to)) if wider else arith.TruncFOp(value, cast(Any, to)))
        if is_float(have):
            return self._float_to_int(value, cast(IntegerType, to), is_unsigned(target))
        if is_float(to):
            return self.insert((arith.UIToFPOp if is_unsigned(source) else arith.SIToFPOp)(value, cast(Any, to)))
        have_width, to_width = cast(IntegerType, have).width.data, cast(IntegerType, to).width.data
        if have_width == to_width:
            return value
        if have_width > to_width:
            return self.insert(arith.TruncIOp(value, cast(IntegerType, to)))
        return self.insert((arith.ExtUIOp if is_unsigned(source) else arith.ExtSIOp)(value, cast(IntegerType, to)))

    def _float_to_int(self, value: SSAValue, to: IntegerType, unsigned: bool) -> SSAValue:
        width = to.width.data
        low, high = (0, (1 << width) - 1) if unsigned else (-(1 << (width - 1)), (1 << (width - 1)) - 1)
        convert: Any = arith.FPToUIOp if unsigned else arith.FPToSIOp
        # Out of range is poison: convert a value known to be in range, then put the bounds in.
        limit = float(high) + 1.0 if width > 24 else float(high + 1)
        below = self.compare("le", value, self.like(float(low), value))
        above = self.compare("ge", value, self.like(limit, value))
        ordered = self.insert(arith.CmpfOp(value, value, "ord"))
        outside = self.insert(arith.OrIOp(below, above))
        bad = self.insert(arith.OrIOp(outside, self.compare("eq", ordered, self.const(0, i1_type))))
        inside = self.insert(convert(self.select(bad, self.like(0, value), value), to))
        result = self.select(below, self.const(low, to), inside)
        result = self.select(above, self.const(high, to), result)
        return self.select(ordered, result, self.const(0, to))

    def to_index(self, value: SSAValue, unsigned: bool = False) -> SSAValue:
        """An integer as an index (a position)."""
        return self.insert((upstream_arith.IndexCastUIOp if unsigned else arith.IndexCastOp)(value, IndexType()))

    def from_index(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """An index as an integer or float of this compute type."""
        if is_float(type_):
            wide = self.insert(arith.IndexCastOp(value, i64))
            return self.insert(arith.SIToFPOp(wide, cast(Any, type_)))
        return self.insert(arith.IndexCastOp(value, cast(Any, type_)))

    def extract(self, source: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        """The element of a tensor at these positions, of the tensor's own element type (not widened)."""
        element = cast(Tensor, source.type).element_type
        return self.insert(tensor.ExtractOp(source, list(indices), element))

    def widen(self, value: SSAValue) -> SSAValue:
        """A value of the compute type from one of a tensor's element type."""
        to = compute_element(value.type)
        return value if to == value.type else self.insert(arith.ExtFOp(value, cast(Any, to)))

    def narrow(self, value: SSAValue, element: Attribute) -> SSAValue:
        """A value of a tensor's element type from one of the compute type, rounded."""
        to = lowered_element(element)
        return value if to == value.type else self.insert(arith.TruncFOp(value, cast(Any, to)))


i1_type = IntegerType(1)


def identity(rank: int) -> AffineMap:
    """The identity map of this many dimensions."""
    return AffineMap.identity(rank)


def dims(*positions: int | AffineExpr, rank: int) -> AffineMap:
    """An affine map of `rank` dimensions: an int stands for that dimension, an expression for itself."""
    return AffineMap(rank, 0, tuple(AffineExpr.dimension(p) if isinstance(p, int) else p for p in positions))


def dim(position: int) -> AffineExpr:
    """The expression of one dimension, to be combined with `*` and `+`."""
    return AffineExpr.dimension(position)


def constant_expr(value: int) -> AffineExpr:
    return AffineExpr.constant(value)


class LinalgBuilder:
    """Inserts operations on tensors at the insertion point of a builder, all with one location.

    `operand_types` are the relay types of the operands of the operator being lowered: the lowered values no longer
    say whether they are unsigned.
    """

    def __init__(
        self,
        builder: Builder,
        location: LocationAttr,
        operand_types: Sequence[Tensor] = (),
        sizes: Sizes | None = None,
    ):
        self._builder = builder
        self._location = location
        self.operand_types = tuple(operand_types)
        upstream.load("arith")
        self.sizes = sizes or Sizes()

    def insert(self, op: Operation) -> SSAValue:
        """Inserts an operation and returns its first result."""
        op.location = self._location
        return self._builder.insert(op).results[0]

    @property
    def scalars(self) -> ScalarBuilder:
        """A builder of scalar operations outside any generic."""
        return ScalarBuilder(self._builder, self._location, self.sizes)

    def shape(self, value: SSAValue) -> tuple[int, ...]:
        """The shape of a tensor; an open dimension is a `Dim`, which says what it depends on."""
        return self.sizes.shape(value)

    def indices(self, shape: Sequence[int]) -> list[SSAValue]:
        """The index values of the open dimensions of a shape."""
        return self.sizes.open_indices(shape, self._builder, self._location) if ANY in shape else []

    def require(self, left: int, right: int, at_most: bool = False) -> None:
        """Has two sizes checked at run time to be equal, or with `at_most` the left one not to exceed the right one.

        Raises VerifyException where that never holds.
        """
        self.sizes.require(left, right, self._location, at_most)

    def element(self, value: SSAValue) -> Attribute:
        """The element type of a (lowered) tensor."""
        return cast(Tensor, value.type).element_type

    def empty(self, shape: Sequence[int], element: Attribute) -> SSAValue:
        """An uninitialized tensor."""
        return self.insert(tensor.EmptyOp(self.indices(shape), tensor_type(plain(shape), lowered_element(element))))

    def fill(self, value: float | int | bool, shape: Sequence[int], element: Attribute) -> SSAValue:
        """A tensor of one value."""
        scalar = self.scalars.const(value, lowered_element(element))
        into = self.empty(shape, element)
        return self.insert(linalg.FillOp([scalar], [into], [into.type]))

    def generic(
        self,
        inputs: Sequence[SSAValue],
        maps: Sequence[AffineMap],
        into: Sequence[SSAValue],
        out_maps: Sequence[AffineMap],
        iterators: Sequence[str],
        body: Body,
        widen: bool = True,
    ) -> tuple[SSAValue, ...]:
        """`linalg.generic`: `body(scalars, *inputs, *outputs)` yields one value per output, in the compute type.

        `iterators` are `parallel` or `reduction`, one a loop. `into` are the tensors that the results start from.
        With `widen=False`, for bodies that only move values, arguments and results have the tensors' element types.
        """
        elements = [self.element(value) for value in (*inputs, *into)]
        block = Block(arg_types=elements)
        inner = ScalarBuilder(Builder(InsertPoint.at_end(block)), self._location, self.sizes)
        arguments = [inner.widen(arg) if widen else arg for arg in block.args]
        yielded = body(inner, *arguments)
        values = [yielded] if isinstance(yielded, SSAValue) else list(yielded)
        outs = elements[len(inputs) :]
        narrowed = [inner.narrow(value, element) for value, element in zip(values, outs, strict=True)]
        for arg, wide in zip(block.args, arguments, strict=True):
            if wide is not arg and wide.first_use is None and wide not in narrowed:
                block.erase_op(cast(Operation, wide.owner))  # an output that is not read should not look read
        terminator = linalg.YieldOp(*narrowed)
        terminator.location = self._location
        block.add_op(terminator)
        op = linalg.GenericOp(
            list(inputs),
            list(into),
            Region(block),
            ArrayAttr([AffineMapAttr(m) for m in (*maps, *out_maps)]),
            ArrayAttr([linalg_attrs.IteratorTypeAttr(linalg_attrs.IteratorType(name)) for name in iterators]),
            [value.type for value in into],
        )
        op.location = self._location
        self._require_extents([*inputs, *into], [*maps, *out_maps])
        return tuple(self._builder.insert(op).results)

    def _require_extents(self, operands: Sequence[SSAValue], maps: Sequence[AffineMap]) -> None:
        """Has the operands of a generic checked to agree in the loops that are dimensions of them."""
        if not any(ANY in cast(Tensor, operand.type).get_shape() for operand in operands):
            return
        extents: dict[int, int] = {}
        for operand, map_ in zip(reversed(operands), reversed(maps), strict=True):
            for expr, size in zip(map_.results, self.shape(operand), strict=True):
                if isinstance(expr, AffineDimExpr):
                    self.require(size, extents.setdefault(expr.position, size))

    def elementwise(self, inputs: Sequence[SSAValue], result: Tensor, body: Body, widen: bool = True) -> SSAValue:
        """One parallel loop nest over `result`'s shape; inputs are broadcast to it by numpy's rules."""
        shape = result.get_shape()
        rank = len(shape)
        maps = [self.broadcast_map(self.shape(value), rank, shape) for value in inputs]
        into = self.empty(shape, result.element_type)
        iterators = ["parallel"] * rank
        return self.generic(inputs, maps, [into], [identity(rank)], iterators, _without_outputs(body, 1), widen)[0]

    def broadcast_map(self, shape: Sequence[int], rank: int, target: Sequence[int]) -> AffineMap:
        """The map by which a tensor of this shape is read where it is broadcast to `target`, of `rank` dimensions."""
        offset = rank - len(shape)
        return dims(
            *(
                constant_expr(0) if size == 1 and target[offset + position] != 1 else offset + position
                for position, size in enumerate(shape)
            ),
            rank=rank,
        )

    def reduce(
        self,
        value: SSAValue,
        axes: Sequence[int],
        initial: float | int | bool,
        body: Body,
        element: Attribute | None = None,
        keepdims: bool = False,
    ) -> SSAValue:
        """Folds `body(scalars, element, accumulator)` over the axes, from `initial`; `element` is the result's type.

        The accumulator of f16 and bf16 tensors is f32, rounded once at the end.
        """
        shape = self.shape(value)
        out = lowered_element(element if element is not None else self.element(value))
        wide = compute_element(out)
        kept = [axis for axis in range(len(shape)) if axis not in axes]
        start = self.fill(initial, [shape[axis] for axis in kept], wide)
        rank = len(shape)
        iterators = ["reduction" if axis in axes else "parallel" for axis in range(rank)]
        (result,) = self.generic([value], [identity(rank)], [start], [dims(*kept, rank=rank)], iterators, body)
        if wide != out:
            result = self.elementwise([result], tensor_type([shape[axis] for axis in kept], out), _same)
        if keepdims:
            result = self.reshape(result, [1 if axis in axes else size for axis, size in enumerate(shape)])
        return result

    def transpose(self, value: SSAValue, axes: Sequence[int]) -> SSAValue:
        """Result dimension i is dimension axes[i] of the value."""
        shape = self.shape(value)
        rank = len(shape)
        into = self.empty([shape[axis] for axis in axes], self.element(value))
        source = dims(*(list(axes).index(axis) for axis in range(rank)), rank=rank)
        parallel = ["parallel"] * rank
        return self.generic([value], [source], [into], [identity(rank)], parallel, _same, widen=False)[0]

    def broadcast_to(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The value broadcast to a shape by numpy's rules."""
        return self.elementwise([value], tensor_type(shape, self.element(value)), _same, widen=False)

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The same elements in row-major order, in another shape: collapsed to one dimension, then expanded."""
        have, want = self.shape(value), tuple(shape)
        if have == want:
            return value
        element = self.element(value)
        flat = value
        count = product(have)
        self.require(count, product(want))
        if len(have) != 1:
            groups = [list(range(len(have)))] if have else []
            flat_type = tensor_type(plain([count]), element)
            if have:
                flat = self._collapse(value, groups, flat_type)
            else:  # xDSL's tensor.expand_shape refuses a source of rank 0
                scalars = self.scalars
                flat = self.store(scalars.extract(value, []), self.empty([1], element), [scalars.const(0, IndexType())])
        if len(want) == 1:
            return flat
        if not want:
            return self._collapse(flat, [], tensor_type([], element))
        return self._expand(flat, [list(range(len(want)))], want, element)

    def _collapse(self, value: SSAValue, groups: list[list[int]], result: Tensor) -> SSAValue:
        op = tensor.CollapseShapeOp.build(
            operands=[value], result_types=[result], properties={"reassociation": _reassociation(groups)}
        )
        return self.insert(op)

    def _expand(self, value: SSAValue, groups: list[list[int]], shape: Sequence[int], element: Attribute) -> SSAValue:
        op = tensor.ExpandShapeOp.build(
            operands=[value, self.indices(shape)],
            result_types=[tensor_type(plain(shape), element)],
            properties={
                "reassociation": _reassociation(groups),
                "static_output_shape": DenseArrayBase.from_list(i64, plain(shape)),
            },
        )
        return self.insert(op)

    def pad(self, value: SSAValue, low: Sequence[int], high: Sequence[int], fill: float | int | bool) -> SSAValue:
        """The value with `low` and `high` elements of `fill` before and after it in each dimension (none negative)."""
        shape = self.shape(value)
        if not any(low) and not any(high):
            return value
        element = self.element(value)
        padded = [size + a + b for size, a, b in zip(shape, low, high, strict=True)]
        return self.insert_slice(value, self.fill(fill, padded, element), low)

    def slice(
        self, value: SSAValue, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int] | None = None
    ) -> SSAValue:
        """A rectangle of the value; strides are positive."""
        if 0 in sizes:  # MLIR refuses every offset into a dimension of size 0
            return self.empty(sizes, self.element(value))
        steps = list(strides) if strides is not None else [1] * len(sizes)
        result = tensor_type(plain(sizes), self.element(value))
        op = tensor.ExtractSliceOp.build(
            operands=[value, self.indices(offsets), self.indices(sizes), []],
            result_types=[result],
            properties=_static_slice(plain(offsets), plain(sizes), steps),
        )
        return self.insert(op)

    def insert_slice(
        self, value: SSAValue, into: SSAValue, offsets: Sequence[int], strides: Sequence[int] | None = None
    ) -> SSAValue:
        """`into` with a rectangle of it replaced by the value."""
        sizes = self.shape(value)
        if 0 in sizes:
            return into
        steps = list(strides) if strides is not None else [1] * len(sizes)
        op = tensor.InsertSliceOp.build(
            operands=[value, into, self.indices(offsets), self.indices(sizes), []],
            result_types=[into.type],
            properties=_static_slice(plain(offsets), plain(sizes), steps),
        )
        return self.insert(op)

    def row(self, value: SSAValue, at: SSAValue) -> SSAValue:
        """The part of a tensor at a position of its first dimension, without that dimension; `at` is an index."""
        _, *sizes = self.shape(value)
        op = tensor.ExtractSliceOp.build(
            operands=[value, [at], [], []],
            result_types=[tensor_type(sizes, self.element(value))],
            properties=_static_slice([ANY, *[0] * len(sizes)], [1, *sizes], [1] * (len(sizes) + 1)),
        )
        return self.insert(op)

    def put_row(self, value: SSAValue, into: SSAValue, at: SSAValue) -> SSAValue:
        """`into` with the part at a position of its first dimension replaced by the value; `at` is an index."""
        sizes = self.shape(value)
        op = tensor.InsertSliceOp.build(
            operands=[value, into, [at], [], []],
            result_types=[into.type],
            properties=_static_slice([ANY, *[0] * len(sizes)], [1, *sizes], [1] * (len(sizes) + 1)),
        )
        return self.insert(op)

    def typed(self, operands: Sequence[SSAValue]) -> LinalgBuilder:
        """A builder at the same place for operands whose lowered types say all there is to know (floats)."""
        return LinalgBuilder(self._builder, self._location, [cast(Tensor, operand.type) for operand in operands])

    def loop(
        self,
        count: int,
        carried: Sequence[SSAValue],
        body: Callable[[LinalgBuilder, SSAValue, Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> tuple[SSAValue, ...]:
        """`scf.for` from 0 to count: `body(build, index, carried)` gives the carried values of the next round."""
        scalars = self.scalars
        low, high, step = (scalars.const(v, IndexType()) for v in (0, count, 1))
        block = Block(arg_types=[IndexType(), *(value.type for value in carried)])
        inner = LinalgBuilder(Builder(InsertPoint.at_end(block)), self._location, self.operand_types, self.sizes)
        yielded = body(inner, block.args[0], block.args[1:])
        terminator = scf.YieldOp(*yielded)
        terminator.location = self._location
        block.add_op(terminator)
        op = scf.ForOp(low, high, step, list(carried), Region(block))
        op.location = self._location
        return tuple(self._builder.insert(op).results)

    def condition(
        self,
        condition: SSAValue,
        then: Callable[[LinalgBuilder], Sequence[SSAValue]],
        otherwise: Callable[[LinalgBuilder], Sequence[SSAValue]],
    ) -> tuple[SSAValue, ...]:
        """`scf.if` with the values of one of two branches."""
        regions: list[Region] = []
        types: list[Attribute] = []
        for branch in (then, otherwise):
            block = Block()
            values = branch(
                LinalgBuilder(Builder(InsertPoint.at_end(block)), self._location, self.operand_types, self.sizes)
            )
            types = [value.type for value in values]
            terminator = scf.YieldOp(*values)
            terminator.location = self._location
            block.add_op(terminator)
            regions.append(Region(block))
        op = scf.IfOp(condition, types, regions[0], regions[1])
        op.location = self._location
        return tuple(self._builder.insert(op).results)

    def store(self, value: SSAValue, into: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        """`into` with one element replaced (`tensor.insert`); the value is of the tensor's element type."""
        return self.insert(tensor.InsertOp(value, into, list(indices)))


def _without_outputs(body: Body, outputs: int) -> Body:
    """A body that does not see the output arguments."""

    def inputs_only(scalars: ScalarBuilder, *args: SSAValue) -> SSAValue | Sequence[SSAValue]:
        return body(scalars, *args[: len(args) - outputs])

    return inputs_only


def _same(_: ScalarBuilder, value: SSAValue, *_outputs: SSAValue) -> SSAValue:
    """The body that yields its input."""
    return value


def _reassociation(groups: Sequence[Sequence[int]]) -> ArrayAttr[Any]:
    return ArrayAttr([ArrayAttr([IntegerAttr(axis, i64) for axis in group]) for group in groups])


def _static_slice(offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]) -> dict[str, Attribute]:
    return {
        "static_offsets": DenseArrayBase.from_list(i64, list(offsets)),
        "static_sizes": DenseArrayBase.from_list(i64, list(sizes)),
        "static_strides": DenseArrayBase.from_list(i64, list(strides)),
    }


__all__ = [
    "Body",
    "LinalgBuilder",
    "ScalarBuilder",
    "TensorType",
    "compute_element",
    "constant_expr",
    "dim",
    "dims",
    "identity",
    "lowered_element",
    "lowered_type",
]
