"""Operators that order elements along a dimension: sort, argsort, topk.

The order is stable: equal elements keep their order. -0.0 equals 0.0. NaN counts as greater than every number, as in
numpy: it comes last in ascending order and first in descending order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from xdsl.dialects.builtin import IndexType, i1, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.lazy import arith
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder
from relay_mlir.dialects.relay.moves import gathered
from relay_mlir.dialects.relay.op import Operator, operator
from relay_mlir.dialects.relay.transpose import permuted
from relay_mlir.dialects.relay.types import ANY, Tensor, is_float, is_unsigned, normalize_axis, tensor

if TYPE_CHECKING:
    import numpy as np

_T = TypeVar("_T")


def _ordered(data: np.ndarray, axis: int, ascending: bool) -> np.ndarray:
    """The positions of the elements in order along the axis."""
    import numpy as np

    keys = data.astype(np.float32) if data.dtype.name == "bfloat16" else data
    if ascending:
        return np.argsort(keys, axis=axis, kind="stable")
    backwards = np.argsort(np.flip(keys, axis), axis=axis, kind="stable")
    return np.flip(data.shape[axis] - 1 - backwards, axis)


@dataclass
class _Rows:
    """The data of an operator with the ordered dimension last, as rows: a matrix of the tensor's elements."""

    build: LinalgBuilder
    data: SSAValue
    axis: int
    ascending: bool
    unsigned: bool

    def __post_init__(self) -> None:
        shape = self.build.shape(self.data)
        others = [axis for axis in range(len(shape)) if axis != self.axis]
        self.axes = [*others, self.axis]
        self.outer = [shape[axis] for axis in others]
        self.count, self.size = math.prod(self.outer), shape[self.axis]
        turned = permuted(self.build, self.data, self.axes)
        self.matrix = self.build.reshape(turned, [self.count, self.size])

    def restored(self, matrix: SSAValue) -> SSAValue:
        """A matrix of rows (of any length) with the dimensions of the data in their order again."""
        build = self.build
        wide = build.reshape(matrix, [*self.outer, build.shape(matrix)[1]])
        return permuted(build, wide, [self.axes.index(axis) for axis in range(len(self.axes))])

    def order(self, k: int) -> SSAValue:
        """The positions of the first k elements of each row in order, a matrix of i64."""
        build = self.build
        if 0 in (self.count, k):
            return build.empty([self.count, k], i64)
        if k <= max(4, 2 * math.ceil(math.log2(max(self.size, 2)))):
            return self._each_row(
                build.fill(0, [self.count, k], i64), lambda b, row, order: self._select(b, row, order, k)
            )
        start = _positions(build, self.count, self.size)
        scratch = build.empty([self.size], i64)
        order = build.loop(self.count, [start, scratch], lambda b, row, carried: self._merge_sort(b, row, *carried))[0]
        return build.slice(order, [0, 0], [self.count, k])

    def _each_row(self, order: SSAValue, body: Callable[[LinalgBuilder, SSAValue, SSAValue], SSAValue]) -> SSAValue:
        return self.build.loop(self.count, [order], lambda b, row, carried: [body(b, row, carried[0])])[0]

    def _key(self, s: ScalarBuilder, row: SSAValue, position: SSAValue) -> SSAValue:
        return s.widen(s.extract(self.matrix, [row, s.to_index(position)]))

    def _before(self, s: ScalarBuilder, row: SSAValue, left: SSAValue, right: SSAValue) -> SSAValue:
        """Whether the element at one position must come before the one at another; false for equal ones."""
        a, b = self._key(s, row, left), self._key(s, row, right)
        if not self.ascending:
            a, b = b, a
        less = s.compare("lt", a, b, self.unsigned)
        if not is_float(a.type):
            return less
        nan_last = s.insert(arith.AndIOp(s.compare("ne", b, b), s.compare("eq", a, a)))
        return s.insert(arith.OrIOp(less, nan_last))

    def _select(self, build: LinalgBuilder, row: SSAValue, order: SSAValue, k: int) -> SSAValue:
        """Insertion into a list of the k first elements found so far: for small k."""

        def element(b: LinalgBuilder, position: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            def slot(inner: LinalgBuilder, place: SSAValue, state: Sequence[SSAValue]) -> Sequence[SSAValue]:
                # From the first slot that the element goes before, or that is free, every slot moves on by one.
                order, candidate, found = state
                s = inner.scalars
                held = s.extract(order, [row, place])
                free = s.compare("ge", place, position)
                here = s.insert(arith.OrIOp(s.insert(arith.OrIOp(found, free)), self._before(s, row, candidate, held)))
                order = inner.store(s.select(here, candidate, held), order, [row, place])
                return [order, s.select(here, held, candidate), here]

            s = b.scalars
            return b.loop(k, [carried[0], s.from_index(position, i64), s.const(False, i1)], slot)[:1]

        return build.loop(self.size, [order], element)[0]

    def _merge_sort(
        self, build: LinalgBuilder, row: SSAValue, order: SSAValue, scratch: SSAValue
    ) -> Sequence[SSAValue]:
        """Bottom-up: runs of 1, 2, 4, ... elements are merged in pairs."""
        levels = math.ceil(math.log2(self.size))

        def level(b: LinalgBuilder, _: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            order, scratch, width = carried
            zero = b.scalars.const(0, IndexType())
            merged, _left, _right = b.loop(
                self.size,
                [scratch, zero, zero],
                lambda inner, place, state: self._merge_one(inner, row, order, width, place, state),
            )

            def copy(inner: LinalgBuilder, place: SSAValue, target: Sequence[SSAValue]) -> Sequence[SSAValue]:
                return [inner.store(inner.scalars.extract(merged, [place]), target[0], [row, place])]

            order = b.loop(self.size, [order], copy)[0]
            return [order, merged, b.scalars.add(width, width)]

        return build.loop(levels, [order, scratch, build.scalars.const(1, IndexType())], level)[:2]

    def _merge_one(
        self,
        build: LinalgBuilder,
        row: SSAValue,
        order: SSAValue,
        width: SSAValue,
        place: SSAValue,
        state: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """Writes one position of the pair of runs that it lies in; the state is the output and both runs' heads."""
        merged, left, right = state
        s = build.scalars
        size, last = s.const(self.size, IndexType()), s.const(self.size - 1, IndexType())
        pair = s.add(width, width)
        start = s.sub(place, s.insert(arith.RemUIOp(place, pair)))
        middle, end = s.minimum(s.add(start, width), size), s.minimum(s.add(start, pair), size)
        opens = s.compare("eq", place, start)
        left, right = s.select(opens, start, left), s.select(opens, middle, right)
        low, high = (s.extract(order, [row, s.minimum(head, last)]) for head in (left, right))
        smaller = s.insert(arith.AndIOp(s.compare("lt", right, end), self._before(s, row, high, low)))
        from_right = s.insert(arith.OrIOp(s.compare("ge", left, middle), smaller))
        merged = build.store(s.select(from_right, high, low), merged, [place])
        one, zero = s.const(1, IndexType()), s.const(0, IndexType())
        return [
            merged,
            s.add(left, s.select(from_right, zero, one)),
            s.add(right, s.select(from_right, one, zero)),
        ]

    def values(self, order: SSAValue) -> SSAValue:
        """The elements at these positions of their rows."""
        build = self.build
        type_ = tensor(build.shape(order), build.element(self.data))
        return gathered(
            build, self.matrix, type_, lambda s: [s.index(0), s.to_index(s.extract(order, [s.index(0), s.index(1)]))]
        )

    def indices(self, order: SSAValue, dtype: Attribute) -> SSAValue:
        """The positions in the element type asked for."""
        build = self.build
        if build.element(order) == dtype:
            return order

        def narrowed(s: ScalarBuilder, value: SSAValue) -> SSAValue:
            return s.cast(value, i64, dtype)

        return build.elementwise([order], tensor(build.shape(order), dtype), narrowed)


def _positions(build: LinalgBuilder, rows: int, size: int) -> SSAValue:
    """A matrix of i64 whose every row is 0, 1, ... size - 1."""

    def column(s: ScalarBuilder) -> SSAValue:
        return s.from_index(s.index(1), i64)

    return build.elementwise([], tensor([rows, size], i64), column)


def _rows(build: LinalgBuilder, data: SSAValue, axis: int, ascending: bool) -> _Rows:
    unsigned = is_unsigned(build.operand_types[0].element_type)
    return _Rows(build, data, normalize_axis(axis, len(build.shape(data))), ascending, unsigned)


def _check_dtype(dtype: Attribute) -> None:
    if dtype not in (i32, i64):
        raise VerifyException(f"dtype is {dtype}; expected i32 or i64")


@operator
class Sort(Operator):
    """The elements in order along `axis`; descending where `is_ascend` is false. The module says how NaN is ordered."""

    name = "sort"
    operands = ("data",)
    axis: int = -1
    is_ascend: bool = True

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        normalize_axis(self.axis, types[0].get_num_dims())
        return [types[0]]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        return [np.take_along_axis(args[0], _ordered(args[0], self.axis, self.is_ascend), self.axis)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        rows = _rows(build, args[0], self.axis, self.is_ascend)
        return [rows.restored(rows.values(rows.order(rows.size)))]


@operator
class Argsort(Operator):
    """The positions of elements in order along `axis`, as `dtype` (i32, i64); the module says how NaN is ordered."""

    name = "argsort"
    operands = ("data",)
    axis: int = -1
    is_ascend: bool = True
    dtype: Attribute = i64

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        normalize_axis(self.axis, types[0].get_num_dims())
        _check_dtype(self.dtype)
        return [tensor(types[0].get_shape(), self.dtype)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        from relay_mlir.dialects.relay.types import numpy_dtype

        return [_ordered(args[0], self.axis, self.is_ascend).astype(numpy_dtype(self.dtype))]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        rows = _rows(build, args[0], self.axis, self.is_ascend)
        return [rows.restored(rows.indices(rows.order(rows.size), self.dtype))]


@operator
class Topk(Operator):
    """The k greatest elements along `axis` in descending order, or with `is_ascend` the k least in ascending order.

    `ret_type` is "both" (values and positions), "values" or "indices"; positions are of `dtype`, i32 or i64. k lies in
    [0, size of the axis]. The module says how NaN is ordered. ONNX TopK.
    """

    name = "topk"
    operands = ("data",)
    k: int
    axis: int = -1
    ret_type: str = "both"
    is_ascend: bool = False
    dtype: Attribute = i64

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        shape = list(types[0].get_shape())
        axis = normalize_axis(self.axis, len(shape))
        _check_dtype(self.dtype)
        if self.ret_type not in ("both", "values", "indices"):
            raise VerifyException(f'ret_type is "{self.ret_type}"; expected "both", "values" or "indices"')
        if self.k < 0 or (shape[axis] != ANY and self.k > shape[axis]):
            raise VerifyException(f"k is {self.k}; expected 0 to the size {shape[axis]} of dimension {axis}")
        shape[axis] = self.k
        return self._asked(tensor(shape, types[0].element_type), tensor(shape, self.dtype))

    def _asked(self, values: _T, indices: _T) -> list[_T]:
        """Those of the two results that `ret_type` asks for."""
        return {"both": [values, indices], "values": [values], "indices": [indices]}[self.ret_type]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        from relay_mlir.dialects.relay.types import numpy_dtype

        first = _ordered(args[0], self.axis, self.is_ascend).take(range(self.k), self.axis)
        return self._asked(np.take_along_axis(args[0], first, self.axis), first.astype(numpy_dtype(self.dtype)))

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        rows = _rows(build, args[0], self.axis, self.is_ascend)
        order = rows.order(self.k)
        if self.ret_type == "values":
            return [rows.restored(rows.values(order))]
        indices = rows.restored(rows.indices(order, self.dtype))
        return [indices] if self.ret_type == "indices" else [rows.restored(rows.values(order)), indices]
