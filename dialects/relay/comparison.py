"""Comparisons, which give bool, and the choice between two tensors by a bool tensor.

Shapes broadcast by numpy's rules; what is compared or chosen from has one element type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.elementwise import (
    Binary,
    Elementwise,
    Kind,
    ToBool,
    check_kind,
    common_element,
    splat_value,
)
from relay_mlir.dialects.relay.op import RelayOp, operator
from relay_mlir.dialects.relay.types import Tensor, broadcast_shapes, is_unsigned, tensor

if TYPE_CHECKING:
    import numpy as np

    from relay_mlir.dialects.relay.elementwise import Array
    from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, ScalarBuilder


class Comparison(ToBool, Binary):
    """A comparison: with NaN every one is false but not_equal. False is less than True."""

    accepts = Kind.ANY
    predicate: ClassVar[str]
    """The predicate of ScalarBuilder.compare."""

    def compute(self, *args: Array) -> Array:
        import numpy as np

        return getattr(np, self.name)(*args)

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        return s.compare(self.predicate, *args, unsigned=is_unsigned(element))


@operator
class Equal(Comparison):
    """Whether two elements are equal. ONNX Equal, Relay equal."""

    name = "equal"
    predicate = "eq"


@operator
class NotEqual(Comparison):
    """Whether two elements differ; true where either is NaN. Relay not_equal."""

    name = "not_equal"
    predicate = "ne"


@operator
class Less(Comparison):
    """Whether lhs < rhs. ONNX Less, Relay less."""

    name = "less"
    predicate = "lt"


@operator
class LessEqual(Comparison):
    """Whether lhs <= rhs. ONNX LessOrEqual, Relay less_equal."""

    name = "less_equal"
    predicate = "le"


@operator
class Greater(Comparison):
    """Whether lhs > rhs. ONNX Greater, Relay greater."""

    name = "greater"
    predicate = "gt"


@operator
class GreaterEqual(Comparison):
    """Whether lhs >= rhs. ONNX GreaterOrEqual, Relay greater_equal."""

    name = "greater_equal"
    predicate = "ge"


@operator
class Where(Elementwise):
    """`x if condition else y`, all three broadcast by numpy's rules. ONNX Where, Relay where.

    condition: bool. x, y: of one element type, the result's; their bits are kept.
    """

    name = "where"
    operands = ("condition", "x", "y")
    accepts = Kind.ANY
    widens = False

    def infer(self, types: Sequence[Tensor]) -> Sequence[Tensor]:
        if types[0].element_type != i1:
            raise VerifyException(f"condition must be bool, but is {types[0]}; insert relay.cast")
        element = common_element(types[1:])
        check_kind(element, self.accepts)
        return [tensor(broadcast_shapes(*(type_.get_shape() for type_ in types)), element)]

    def evaluate(self, args: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        return [self.compute(*args)]

    def lower(self, build: LinalgBuilder, args: Sequence[SSAValue], results: Sequence[Tensor]) -> Sequence[SSAValue]:
        element = results[0].element_type

        def body(s: ScalarBuilder, *values: SSAValue) -> SSAValue:
            return self.body(s, element, *values)

        return [build.elementwise(args, results[0], body, self.widens)]

    def compute(self, *args: Array) -> Array:
        import numpy as np

        condition, x, y = args
        return np.where(condition, x, y)

    def body(self, s: ScalarBuilder, element: Attribute, *args: SSAValue) -> SSAValue:
        return s.select(*args)

    def fold(self, op: RelayOp) -> Sequence[SSAValue] | None:
        condition, x, y = op.operands
        chosen = splat_value(condition)
        if chosen is None and x != y:
            return None
        value = y if chosen == 0 else x
        return [value] if value.type == op.results[0].type else None
