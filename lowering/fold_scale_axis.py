"""fold-scale-axis: moves the multiplication of each channel by a constant into the weights of a contraction.

Backward: a multiplication after a convolution or dense layer scales the output channels of the weights instead; the
additions of constants, activations and pools between them are passed. An earlier multiplication by a constant will do
in place of the contraction. Forward: a multiplication before one scales the input channels of the weights. An
activation or maximum is passed only where every scale is positive. What is left is arithmetic on weights, for
fold-constant. Values narrower than f32 keep their rounding: they are left alone.

After the Relay paper, section 4.4 (axis scale folding).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import Float32Type, Float64Type, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from relay_mlir.dialects.relay.activation import LeakyRelu, PRelu, Relu
from relay_mlir.dialects.relay.channelwise import BiasAdd
from relay_mlir.dialects.relay.conv import ConvBase
from relay_mlir.dialects.relay.conv_transpose import ConvTranspose
from relay_mlir.dialects.relay.elementwise_binary import Add, Multiply, Subtract
from relay_mlir.dialects.relay.global_pool import GlobalAvgPool, GlobalMaxPool
from relay_mlir.dialects.relay.matmul import MatrixProduct
from relay_mlir.dialects.relay.op import Operator, RelayOp
from relay_mlir.dialects.relay.pool import AvgPool, MaxPool
from relay_mlir.dialects.relay.types import Tensor, is_static, normalize_axis
from relay_mlir.dialects.relay.weights import WeightStore, weights_of
from relay_mlir.lowering.rewriting import (
    Emitter,
    constant_array,
    erase_op,
    functions,
    fuse_locations,
    is_constant,
    make_constant,
    producer,
)

if TYPE_CHECKING:
    import numpy as np

LONGEST_PATH = 32
"""How many operators a scale may pass."""

POSITIVE_ONLY = (Relu, LeakyRelu, PRelu, MaxPool, GlobalMaxPool)
"""Operators with f(s x) = s f(x) for positive s only."""

LINEAR = (AvgPool, GlobalAvgPool)
"""Operators with f(s x) = s f(x) for every s that does not vary along their windows."""


@dataclass(frozen=True)
class FoldScaleAxisPass(ModulePass):
    """Folds constant multiplications of channels into the weights of convolutions and dense layers."""

    name = "fold-scale-axis"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = weights_of(ctx)
        for func in functions(op):
            folder = _Folder(store)
            for inner in list(func.walk()):
                if isinstance(inner, RelayOp) and inner.OPERATOR is Multiply:
                    folder.fold(inner)


@dataclass(frozen=True)
class Scale:
    """A factor for each position of one axis of a tensor; for the whole tensor where `axis` is None."""

    factors: np.ndarray
    axis: int | None
    """The axis of the tensor that is scaled, from the front; then `factors` has its length, else one element."""

    @property
    def positive(self) -> bool:
        return bool((self.factors > 0).all())

    def shaped(self, rank: int) -> np.ndarray:
        """The factors in a shape that broadcasts to a tensor of this rank."""
        if self.axis is None:
            return self.factors.reshape(())
        return self.factors.reshape((-1,) + (1,) * (rank - 1 - self.axis))

    @staticmethod
    def of(factors: np.ndarray, type_: Tensor) -> Scale | None:
        """What multiplying a tensor of this type by a constant does; None where it varies along several axes."""
        import numpy as np

        shape = type_.get_shape()
        if not np.isfinite(factors).all() or factors.ndim > len(shape):
            return None
        padded = (1,) * (len(shape) - factors.ndim) + factors.shape
        axes = [axis for axis, size in enumerate(padded) if size != 1]
        if len(axes) > 1 or any(padded[axis] != shape[axis] for axis in axes):
            return None
        return Scale(factors.reshape(-1), axes[0] if axes else None)


Change = Callable[[], None]
"""One step of a folding, made once it is known that all of them can be."""


@dataclass
class _Folder:
    """Folds the multiplications of one function."""

    store: WeightStore
    derived: set[SSAValue] = field(default_factory=set[SSAValue])
    """What this pass has computed from constants."""

    def fold(self, op: RelayOp) -> None:
        """Folds one multiplication by a constant, backward or else forward."""
        constants = [is_constant(operand) for operand in op.operands]
        if constants not in ([False, True], [True, False]):
            return
        value, factor = op.operands[constants.index(False)], op.operands[constants.index(True)]
        type_ = op.result_tensors[0]
        if value.type != type_ or not isinstance(type_.element_type, Float32Type | Float64Type):
            return
        factors = constant_array(factor, self.store)
        scale = None if factors is None else Scale.of(factors, type_)
        if scale is None:
            return
        changes = self._backward(value, scale, op, LONGEST_PATH)
        if changes is None:
            changes = self._forward(op.results[0], scale, op)
        if changes is None:
            return
        for change in changes:
            change()
        if value.name_hint is None:
            value.name_hint = op.results[0].name_hint
        op.results[0].replace_all_uses_with(value)
        erase_op(op)

    # Backward: from the multiplication to what makes its operand

    def _backward(self, value: SSAValue, scale: Scale, origin: RelayOp, steps: int) -> list[Change] | None:
        """The changes that make `value` come out scaled, None where it cannot; nothing else may read it."""
        op = producer(value)
        if op is None or steps == 0 or not value.has_one_use() or op.parent is not origin.parent:
            return None
        operator = op.operator
        match operator:
            case ConvBase():
                fits = scale.axis in (None, operator.channel_axis)
                return self._weight(op, scale, _outputs_of(op, operator, scale), origin) if fits else None
            case MatrixProduct():
                fits = scale.axis in (None, op.result_tensors[0].get_num_dims() - 1)
                outputs = scale.factors.reshape((-1, 1) if operator.transposed[1] else (1, -1))
                return self._weight(op, scale, outputs, origin) if fits else None
            case BiasAdd():
                return self._bias_add(op, operator, scale, origin, steps)
            case Add() | Subtract():
                return self._addition(op, scale, origin, steps)
            case Multiply():
                return self._multiplication(op, scale, origin)
            case _ if _passes(operator, scale):
                return self._backward(op.operands[0], scale, origin, steps - 1)
            case _:
                return None

    def _bias_add(
        self, op: RelayOp, operator: BiasAdd, scale: Scale, origin: RelayOp, steps: int
    ) -> list[Change] | None:
        axis = normalize_axis(operator.axis, op.result_tensors[0].get_num_dims())
        if scale.axis not in (None, axis) or not self._known(op.operands[1]):
            return None
        before = self._backward(op.operands[0], scale, origin, steps - 1)
        if before is None:
            return None
        return [*before, lambda: self._multiply(op, 1, scale.factors if scale.axis is not None else scale.shaped(1))]

    def _addition(self, op: RelayOp, scale: Scale, origin: RelayOp, steps: int) -> list[Change] | None:
        """Scales both operands; a constant one by a multiplication of its own."""
        changes: list[Change] = []
        result = op.result_tensors[0]
        for position, operand in enumerate(op.operands):
            if self._known(operand):
                factor = scale.shaped(result.get_num_dims())

                def scale_constant(position: int = position, factor: np.ndarray = factor) -> None:
                    self._multiply(op, position, factor)

                changes.append(scale_constant)
                continue
            before = self._backward(operand, scale, origin, steps - 1) if operand.type == result else None
            if before is None:
                return None
            changes += before
        return changes

    def _multiplication(self, op: RelayOp, scale: Scale, origin: RelayOp) -> list[Change] | None:
        """Scales the constant of an earlier multiplication, if it has one; the value it multiplies is left alone."""
        import numpy as np

        result = op.result_tensors[0]
        factor = scale.shaped(result.get_num_dims())
        for position in (1, 0):
            constant = constant_array(op.operands[position], self.store)
            if constant is None or op.operands[1 - position].type != result:
                continue
            with np.errstate(over="ignore"):
                product = constant * factor
            if np.isfinite(product).all():

                def change(position: int = position) -> None:
                    op.location = fuse_locations([op.location, origin.location])
                    self._multiply(op, position, factor)

                return [change]
        return None

    # Forward: from the multiplication to what reads it

    def _forward(self, value: SSAValue, scale: Scale, origin: RelayOp) -> list[Change] | None:
        """The changes after which it does not matter that `value` is not scaled."""
        for _ in range(LONGEST_PATH):
            use = value.get_unique_use()
            if use is None or not isinstance(op := use.operation, RelayOp) or use.index != 0:
                return None
            operator = op.operator
            if isinstance(operator, ConvBase):
                fits = scale.axis in (None, operator.channel_axis)
                return self._weight(op, scale, _inputs_of(op, operator, scale), origin) if fits else None
            if isinstance(operator, MatrixProduct):
                depth = op.operand_types[0].get_num_dims() - (2 if operator.transposed[0] else 1)
                inputs = scale.factors.reshape((1, -1) if operator.transposed[1] else (-1, 1))
                return self._weight(op, scale, inputs, origin) if scale.axis in (None, depth) else None
            if not _passes(operator, scale):
                return None
            value = op.results[0]
        return None

    # Changes

    def _weight(self, op: RelayOp, scale: Scale, factor: np.ndarray, origin: RelayOp) -> list[Change] | None:
        """The multiplication of the weight of a contraction, if it is a constant."""
        weight, result = op.operand_types[1], op.result_tensors[0]
        if not self._known(op.operands[1]) or not is_static(weight.get_shape()):
            return None
        if any(type_.element_type != result.element_type for type_ in op.operand_types):
            return None

        def change() -> None:
            op.location = fuse_locations([op.location, origin.location])
            self._multiply(op, 1, factor.reshape(()) if scale.axis is None else factor)

        return [change]

    def _multiply(self, op: RelayOp, position: int, factor: np.ndarray) -> None:
        """Multiplies a constant operand of an operation."""
        emit = Emitter.at(op)
        constant = emit.insert(make_constant(factor, self.store, "scale"))
        product = emit(Multiply(), op.operands[position], constant)
        op.operands[position] = product
        self.derived.add(product)

    def _known(self, value: SSAValue) -> bool:
        return value in self.derived or is_constant(value)


def _passes(operator: Operator, scale: Scale) -> bool:
    """Whether scaling the operator's operand scales its result in the same way."""
    if isinstance(operator, POSITIVE_ONLY) and not scale.positive:
        return False
    if isinstance(operator, AvgPool | MaxPool | GlobalAvgPool | GlobalMaxPool):
        return scale.axis is None or scale.axis not in operator.axes
    return isinstance(operator, (*POSITIVE_ONLY, *LINEAR))


def _outputs_of(op: RelayOp, conv: ConvBase, scale: Scale) -> np.ndarray:
    """The factors of the result's channels in a shape that broadcasts to the weight of a convolution."""
    if isinstance(conv, ConvTranspose):  # O counts the outputs of one group, I all inputs.
        return _grouped(op, conv, scale, "I", "O")
    return _along(scale.factors.reshape(1, -1), conv.kernel_layout, "I", "O")


def _inputs_of(op: RelayOp, conv: ConvBase, scale: Scale) -> np.ndarray:
    """The factors of the data's channels in a shape that broadcasts to the weight of a convolution."""
    if isinstance(conv, ConvTranspose):
        return _along(scale.factors.reshape(1, -1), conv.kernel_layout, "O", "I")
    return _grouped(op, conv, scale, "O", "I")


def _grouped(op: RelayOp, conv: ConvBase, scale: Scale, outer: str, inner: str) -> np.ndarray:
    """Factors where `inner` counts the scaled channels of one group, and `outer` tells the group."""
    import numpy as np

    if scale.axis is None:
        return scale.factors
    count = op.operand_types[1].get_shape()[conv.kernel_layout.index(outer)]
    factors = scale.factors.reshape(conv.groups, -1)
    repeated = factors if conv.groups == 1 else np.repeat(factors, count // conv.groups, axis=0)
    return _along(repeated, conv.kernel_layout, outer, inner)


def _along(factors: np.ndarray, layout: str, rows: str, columns: str) -> np.ndarray:
    """A matrix as an array of the rank of `layout`, its rows and columns along these letters."""
    import numpy as np

    if layout.index(columns) < layout.index(rows):
        factors = np.ascontiguousarray(factors.T)
    sizes = iter(factors.shape)
    return factors.reshape([next(sizes) if letter in (rows, columns) else 1 for letter in layout])
