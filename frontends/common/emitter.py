"""Appends relay operations to the function that is imported; computes at once what only depends on constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, NameLoc, NoneAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay import OPERATORS
from relay_mlir.dialects.relay.core import ConstantOp, FuncOp, WeightOp
from relay_mlir.dialects.relay.op import Operator, checked_types
from relay_mlir.dialects.relay.types import ANY, Shape, Tensor, is_static, numpy_dtype, show_shape, tensor, type_of
from relay_mlir.dialects.relay.weights import WeightStore
from relay_mlir.frontends.common.dims_arithmetic import computed
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.shapes import is_symbolic, reshape_codes
from relay_mlir.frontends.common.value import Value

INLINE = 16
"""The number of elements up to which a constant is written out in the program."""

FOLDED = 4096
"""The number of elements up to which constant expressions are computed at import; larger ones stay in the program."""


class Emitter:
    """Builds the body of `@main`: `c.op("add", x, y)` applies a relay operator and gives its result."""

    def __init__(self, entry: Block, weights: WeightStore):
        self.entry = entry
        self.block = entry
        self.weights = weights
        self.added: set[str] = set()
        """The keys that this import put into the store."""
        self.functions: list[FuncOp] = []
        """Functions beside `@main` that it calls."""
        self.location = NameLoc(StringAttr(""), NoneAttr())
        self._open: list[Value] = []

    @contextmanager
    def at(self, name: str):
        """Gives the operations made inside the location of this name."""
        outer, self.location = self.location, NameLoc(StringAttr(name), NoneAttr())
        try:
            yield
        finally:
            self.location = outer

    @contextmanager
    def into(self, block: Block):
        """Appends to another block (a branch of `relay.if`)."""
        outer, self.block = self.block, block
        try:
            yield
        finally:
            self.block = outer

    @contextmanager
    def function(self, block: Block):
        """Appends to the body of another function, where its constants go too."""
        outer, self.entry, self.block = (self.entry, self.block), block, block
        try:
            yield
        finally:
            self.entry, self.block = outer

    def append(self, op: Operation, block: Block | None = None) -> Operation:
        """Appends an operation to the current block, at the current location."""
        op.location = self.location
        (block or self.block).add_op(op)
        return op

    # Operators.

    def op(self, name: str, *operands: Value, **attributes: Any) -> Value:
        """The only result of a relay operator; raises Problem where its type relation refuses the operands."""
        (result,) = self.ops(name, *operands, **attributes)
        return result

    def ops(self, name: str, *operands: Value, **attributes: Any) -> list[Value]:
        """The results of a relay operator; raises Problem where its type relation refuses the operands."""
        if name not in OPERATORS:
            raise Problem(f"it needs the relay operator {name}, which does not exist")
        operator = OPERATORS[name](**attributes)
        try:
            given = checked_types(operator, [tensor(operand.shape, operand.element) for operand in operands])
            types = list(operator.infer(given))
            if len(types) == 1 and any(operand.dims is not None for operand in operands):
                known = computed(name, operands, types[0].element_type, types[0].get_shape())
                if known is not None:
                    return [known]
            load = _loader(operator, operands) if all(operand.known for operand in operands) else None
            if load is not None and _is_small([*(operand.type for operand in operands), *types]):
                return [self.constant(array) for array in load()]
            op = self.append(operator.on(*map(self.ssa, operands)))
        except VerifyException as e:
            raise Problem(str(e)) from e
        results = [
            Value(
                cast(Tensor, result.type),
                ssa=result,
                load=None if load is None else _item(load, position),
                shape=type_.get_shape(),
            )
            for position, (result, type_) in enumerate(zip(op.results, types, strict=True))
        ]
        self.remember(*results)
        return results

    def remember(self, *values: Value) -> None:
        """Keeps values whose open dimensions say what they depend on, to give their shapes to others."""
        if self.block is self.entry:
            self._open += [value for value in values if ANY in value.shape and is_symbolic(value.shape)]

    def like(self, fits: Callable[[Shape], bool]) -> Value | None:
        """The first tensor of `@main` with open dimensions whose shape is wanted, or None."""
        return next((value for value in self._open if _block_of(value) is self.entry and fits(value.shape)), None)

    # Constants.

    def constant(self, array: np.ndarray, name: str = "") -> Value:
        """A tensor known at import; it enters the program when an operation uses it."""
        return Value(type_of(array), load=lambda: array, name=name)

    def weight(self, type_: Tensor, load: Callable[[], np.ndarray], name: str) -> Value:
        """A tensor known at import that is read when it is needed."""
        return Value(type_, load=load, name=name)

    def scalar(self, number: float | int | bool, like: Value | Attribute) -> Value:
        """A 0-d constant of the element type of a value; raises Problem where the type cannot hold it."""
        dtype = numpy_dtype(like.element if isinstance(like, Value) else like)
        try:
            return self.constant(np.asarray(number, dtype))
        except (OverflowError, ValueError) as e:
            raise Problem(f"{number} is not a value of {dtype.name}") from e

    def ssa(self, value: Value) -> SSAValue:
        """The SSA value of a tensor; one known at import becomes a constant or a weight when first used."""
        if value.ssa is None and value.load is None:
            raise Problem("it computes with dimensions that are not known: bind the model's inputs with --shape")
        if value.ssa is None:
            value.ssa = self.append(self._constant_op(value), self.entry).results[0]
        return value.ssa

    def _constant_op(self, value: Value) -> Operation:
        if value.size <= INLINE:
            data = np.ascontiguousarray(value.array()).tobytes()
            return ConstantOp(DenseIntOrFPElementsAttr(cast(Any, value.type), BytesAttr(data)))
        if not value.name:
            key = self.weights.add_derived("constant", value.array())
        else:
            key = self._free_key(value.name)
            self.weights.add(key, cast(Callable[[], np.ndarray], value.load))
        self.added.add(key)
        return WeightOp(key, value.type)

    def _free_key(self, name: str) -> str:
        """A key of the weight store made from the name; a number is added where the name is taken."""
        key, number = name, 1
        while key in self.weights:
            key, number = f"{name}.{number}", number + 1
        return key

    # What nearly every family needs.

    def cast(self, value: Value, element: Attribute) -> Value:
        """The tensor converted to another element type."""
        return value if value.element == element else self.op("cast", value, dtype=element)

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        """The tensor with another shape, where one -1 may stand for what is left; as it is where nothing changes."""
        if tuple(shape) == value.shape:
            return value
        if ANY in shape:
            return self._open_reshape(value, tuple(shape))
        return self.op("reshape", value, newshape=tuple(shape), allowzero=True)

    def _open_reshape(self, value: Value, shape: Shape) -> Value:
        """`reshape` to a shape with open dimensions, in the codes of the operator."""
        codes = reshape_codes(value.shape, shape) if is_symbolic((*value.shape, *shape)) else None
        if codes is None:
            shapes = f"{show_shape(value.shape)} to {show_shape(shape)}"
            raise Problem(
                f"the reshape of {shapes} needs sizes that are not known: bind the model's inputs with --shape"
            )
        return self.op("reshape", value, newshape=codes)

    def transpose(self, value: Value, axes: Sequence[int]) -> Value:
        """The tensor with permuted axes; the same one where nothing changes."""
        if list(axes) == list(range(value.rank)):
            return value
        return self.op("transpose", value, axes=tuple(axes))

    def broadcast_to(self, value: Value, shape: Sequence[int]) -> Value:
        """The tensor stretched to a shape."""
        if tuple(shape) == value.shape:
            return value
        if ANY in shape:
            other = self.like(lambda found: found == tuple(shape))
            if other is None or not is_symbolic(shape):
                raise Problem(
                    f"no tensor has the shape {show_shape(shape)} that this one is to be stretched to: bind the "
                    "model's inputs with --shape"
                )
            return self.op("broadcast_to_like", value, other)
        return self.op("broadcast_to", value, shape=tuple(shape))


def _block_of(value: Value) -> Block | None:
    """The block that the SSA value of a tensor is defined in."""
    owner = value.ssa.owner if value.ssa is not None else None
    return owner.parent if isinstance(owner, Operation) else owner


def _loader(operator: Operator, operands: Sequence[Value]) -> Callable[[], Sequence[np.ndarray]]:
    """A function that computes the results of an operator on values known at import."""
    held = list(operands)

    def compute() -> Sequence[np.ndarray]:
        with np.errstate(all="ignore"):
            return operator.evaluate([operand.array() for operand in held])

    return compute


def _item(load: Callable[[], Sequence[np.ndarray]], position: int) -> Callable[[], np.ndarray]:
    return lambda: load()[position]


def _is_small(types: Sequence[Tensor]) -> bool:
    """Whether tensors of these types together have few elements."""
    if not all(is_static(type_.get_shape()) for type_ in types):
        return False
    return sum(int(np.prod(type_.get_shape(), dtype=object)) for type_ in types) <= FOLDED
