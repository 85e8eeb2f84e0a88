"""What element-wise operators share: element types, broadcasting, evaluation in the compute type, identities that fold.

An element-wise operator says which element types it takes (`accepts`), its meaning on numpy arrays of the compute
type (`compute`) and the same on scalars (`body`). f16 and bf16 compute in f32 and are rounded once, in both.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from enum import IntFlag
from typing import TYPE_CHECKING, Any, ClassVar, cast

from xdsl.dialects.builtin import FixedBitwidthType, IntegerType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.core import ConstantOp
from relay_mlir.dialects.relay.op import Operator, Pattern, RelayOp
from relay_mlir.dialects.relay.types import (
    Tensor,
    broadcast_shapes,
    dtype_name,
    element_type,
    is_bool,
    is_float,
    is_unsigned,
    numpy_dtype,
    tensor,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder

    Array = npt.NDArray[Any]


class Kind(IntFlag):
    """Kinds of element types that an operator takes."""

    FLOAT = 1
    """f16, bf16, f32, f64."""
    INTEGER = 2
    """i8 to i64 and ui8 to ui64."""
    BOOL = 4
    """i1."""
    NUMBER = FLOAT | INTEGER
    BITS = INTEGER | BOOL
    ANY = NUMBER | BOOL

    def __str__(self) -> str:
        """As a person reads it: `float or integer`."""
        kinds = [kind for kind in (Kind.FLOAT, Kind.INTEGER, Kind.BOOL) if kind & self]
        return " or ".join(cast(str, kind.name).lower() for kind in kinds)


def kind_of(element: Attribute) -> Kind:
    """The kind of an element type; raises VerifyException for one that relay lacks."""
    dtype_name(element)
    return Kind.FLOAT if is_float(element) else Kind.BOOL if is_bool(element) else Kind.INTEGER


def check_kind(element: Attribute, accepts: Kind, what: str = "element type") -> None:
    """Raises VerifyException where the element type is not of an accepted kind."""
    if not kind_of(element) & accepts:
        raise VerifyException(f"{what} must be {accepts}, but is {element}")


def common_element(types: Sequence[Tensor]) -> Attribute:
    """The one element type of all operands; raises VerifyException where they differ."""
    first = types[0].element_type
    if any(type_.element_type != first for type_ in types):
        found = " and ".join(str(type_.element_type) for type_ in types)
        raise VerifyException(f"operands must have the same element type, but have {found}; insert relay.cast")
    return first


def widened(array: Array) -> Array:
    """The array in its compute type: f16 and bf16 as f32, others as they are."""
    import numpy as np

    if array.dtype.itemsize != 2 or array.dtype.kind in "iu":
        return array  # the name of a dtype takes long to make
    return array.astype(np.float32) if array.dtype.name in ("float16", "bfloat16") else array


def rounded(value: Array, element: Attribute) -> Array:
    """A computed array (or numpy scalar) as an array of the element type."""
    import numpy as np

    with np.errstate(all="ignore"):
        return np.asarray(value).astype(numpy_dtype(element), copy=False)


def operand_element(build: LinalgBuilder, args: Sequence[SSAValue], position: int = 0) -> Attribute:
    """The relay element type of an operand that is being lowered: integers have lost their sign in `args`."""
    lowered = build.element(args[position])
    return lowered if is_float(lowered) or is_bool(lowered) else build.operand_types[position].element_type


def integer_width(element: Attribute) -> int:
    """The number of bits of an integer type."""
    return cast(IntegerType, element).width.data


def lowest(element: Attribute) -> float | int:
    """The least value of an element type: -inf, or the least integer (False for bool)."""
    if is_float(element):
        return -math.inf
    return 0 if is_unsigned(element) else -(1 << (integer_width(element) - 1))


def highest(element: Attribute) -> float | int:
    """The greatest value of an element type: inf, or the greatest integer (True for bool)."""
    if is_float(element):
        return math.inf
    return (1 << (integer_width(element) - (not is_unsigned(element)))) - 1


class Elementwise(Operator):
    """An operator whose result element i depends on element i of each operand, broadcast by numpy's rules."""

    pattern = Pattern.BROADCAST
    accepts: ClassVar[Kind]
    """The element types that the operands may have."""
    widens: ClassVar[bool] = True
    """Whether `body` sees f16 and bf16 as f32; False for operators that only move values."""

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        element = common_element(types)
        check_kind(element, self.accepts)
        return [tensor(broadcast_shapes(*(type_.get_shape() for type_ in types)), self.result_element(element))]

    def result_element(self, element: Attribute) -> Attribute:
        """The element type of the result from that of the operands."""
        return element

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        import numpy as np

        element = element_type(args[0].dtype)
        with np.errstate(all="ignore"):
            value = self.compute(*(widened(arg) for arg in args))
        return [rounded(value, self.result_element(element))]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        element = operand_element(build, args)

        def body(s: ScalarBuilder, *values: SSAValue) -> SSAValue:
            return self.body(s, element, *values)

        return [build.elementwise(args, results[0], body, self.widens)]

    @abstractmethod
    def compute(self, *args: Array) -> Array:
        """The result on arrays of the compute type, without warnings (they are off) or side effects."""

    @abstractmethod
    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        """The result on scalars of the compute type of `element`, the operands' relay element type."""


class Ufunc(Elementwise):
    """An element-wise operator that numpy and the math dialect both have."""

    ufunc: ClassVar[str]
    """The name of numpy's function."""
    math_op: ClassVar[str]
    """The name of the math dialect's class, without `Op`."""

    def compute(self, *args: Array) -> Array:
        import numpy as np

        return getattr(np, self.ufunc)(*args)

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        return s.math(self.math_op, *args)


class Unary(Elementwise):
    """An element-wise operator on one tensor."""

    operands = ("data",)
    pattern = Pattern.ELEMWISE
    idempotent: ClassVar[bool] = False
    """Whether applying it to its own result changes nothing."""
    involution: ClassVar[bool] = False
    """Whether applying it to its own result undoes it."""

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        owner = op.operands[0].owner
        if isinstance(owner, RelayOp) and owner.operator == self:
            if self.idempotent:
                return [op.operands[0]]
            if self.involution:
                return [owner.operands[0]]
        return None


class Binary(Elementwise):
    """An element-wise operator on two tensors, broadcast by numpy's rules."""

    operands = ("lhs", "rhs")
    left_identity: ClassVar[float | None] = None
    """The value e with e op x = x for every x, NaN and -0.0 among them."""
    right_identity: ClassVar[float | None] = None
    """The value e with x op e = x for every x."""
    same: ClassVar[bool] = False
    """Whether x op x = x."""

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        lhs, rhs = op.operands
        result = op.results[0].type
        if self.same and lhs == rhs:
            return [lhs]
        if self.right_identity is not None and lhs.type == result and is_splat(rhs, self.right_identity):
            return [lhs]
        if self.left_identity is not None and rhs.type == result and is_splat(lhs, self.left_identity):
            return [rhs]
        return None


def splat_value(value: SSAValue) -> float | int | None:
    """The value of every element of a tensor, where the operation that makes it shows that they are all one."""
    owner = value.owner
    if isinstance(owner, ConstantOp):
        data = owner.value.data.data
        element = cast(FixedBitwidthType, owner.value.get_element_type())
        first = data[: element.compile_time_size]
        if not data or data != first * (len(data) // len(first)):
            return None
        return cast(Any, element).unpack(first, 1)[0]
    if isinstance(owner, RelayOp):
        match owner.OPERATOR.name:
            case "zeros" | "zeros_like":
                return 0
            case "ones" | "ones_like":
                return 1
            case "full" if _element(owner.operands[0]) == _element(value):
                return splat_value(owner.operands[0])
            case _:
                return None
    return None


def is_splat(value: SSAValue, expected: float) -> bool:
    """Whether every element of a tensor is this value; 0.0 and -0.0 differ, integers compare modulo their width."""
    found = splat_value(value)
    if found is None:
        return False
    element = cast(Tensor, value.type).element_type
    if not is_float(element):
        mask = (1 << integer_width(element)) - 1
        return math.isfinite(expected) and int(found) & mask == int(expected) & mask
    return found == expected and math.copysign(1.0, found) == math.copysign(1.0, expected)


class ToBool(Elementwise):
    """An element-wise operator with a bool result."""

    def result_element(self, element: Attribute) -> Attribute:
        return i1


def _element(value: SSAValue) -> Attribute:
    return cast(Tensor, value.type).element_type
