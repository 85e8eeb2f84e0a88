"""simplify-expr: algebra on whole operators that saves work at run time.

- `(x + a) + b` with constants a and b is `x + (a + b)`; a bias_add counts as an addition. Sums of floats are
  reassociated, which may change the last bit; not for types narrower than f32, which keep their rounding.
- A layer normalization that is written out is `nn.layer_norm` (see layer_norm_pattern.py).
- A convolution of data padded with zeros pads by itself.
- A reshape of a reshape is one reshape, a transpose of a transpose one transpose.

A rule needs that nothing else reads what it removes, so no work is done twice. What is left is arithmetic on
constants, for fold-constant, and dead code.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import BFloat16Type, Float16Type, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from relay_mlir.dialects.relay.channelwise import BiasAdd
from relay_mlir.dialects.relay.conv import Conv
from relay_mlir.dialects.relay.elementwise_binary import Add
from relay_mlir.dialects.relay.op import Operator, RelayOp
from relay_mlir.dialects.relay.pad import Pad
from relay_mlir.dialects.relay.reshape import BatchFlatten, ExpandDims, Reshape, Squeeze
from relay_mlir.dialects.relay.transpose import Transpose
from relay_mlir.dialects.relay.types import is_static, normalize_axis
from relay_mlir.dialects.relay.weights import WeightStore, weights_of
from relay_mlir.lowering.layer_norm_pattern import raise_layer_norm
from relay_mlir.lowering.permutations import permuted
from relay_mlir.lowering.rewriting import (
    Emitter,
    constant_array,
    erase_op,
    functions,
    fuse_locations,
    is_constant,
    producer,
    replace_op,
)


@dataclass(frozen=True)
class SimplifyExprPass(ModulePass):
    """Merges additions of constants, paddings, reshapes and transposes into their neighbours."""

    name = "simplify-expr"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        simplifier = _Simplifier(weights_of(ctx))
        for func in functions(op):
            for inner in list(func.walk()):
                if isinstance(inner, RelayOp):
                    simplifier.simplify(inner)


@dataclass
class _Simplifier:
    """Simplifies operations one by one, each after what makes its operands."""

    store: WeightStore
    derived: set[SSAValue] = dataclasses.field(default_factory=set[SSAValue])
    """What is computed from constants."""

    def simplify(self, op: RelayOp) -> None:
        """Applies the rule for the operator, if there is one and it fits."""
        for cls in op.OPERATOR.__mro__:
            if (rule := _RULES.get(cls)) is not None:
                rule(self, op)
                return

    # Additions of constants

    def addition(self, op: RelayOp) -> None:
        """The end of a layer normalization to one operator; else `(x + a) + b` to `x + (a + b)`."""
        if op.OPERATOR is Add and raise_layer_norm(op, self.store):
            return
        outer = self._summand(op)
        if outer is None or isinstance(op.result_tensors[0].element_type, Float16Type | BFloat16Type):
            return
        data, _ = outer
        inner_op = producer(data, Add, BiasAdd)
        if inner_op is None or not data.has_one_use() or data.type != op.results[0].type:
            return
        inner = self._summand(inner_op)
        if inner is None or inner[0].type != data.type:
            return
        emit = Emitter(op, fuse_locations([inner_op.location, op.location]))
        constants = [self._shaped(emit, inner_op, inner[1]), self._shaped(emit, op, outer[1])]
        total = emit(Add(), *constants)
        self.derived.add(total)
        replace_op(op, [emit(Add(), inner[0], total)])
        erase_op(inner_op)

    def _summand(self, op: RelayOp) -> tuple[SSAValue, SSAValue] | None:
        """The data and the constant of an addition of a constant."""
        left, right = op.operands
        if self._known(right) and not self._known(left):
            return left, right
        if op.OPERATOR is Add and self._known(left) and not self._known(right):
            return right, left
        return None

    def _shaped(self, emit: Emitter, op: RelayOp, constant: SSAValue) -> SSAValue:
        """The constant of an addition in a shape that broadcasts by numpy's rules."""
        operator = op.operator
        if not isinstance(operator, BiasAdd):
            return constant
        rank = op.result_tensors[0].get_num_dims()
        trailing = rank - 1 - normalize_axis(operator.axis, rank)
        return emit(ExpandDims(axis=1, num_newaxis=trailing), constant) if trailing else constant

    def _known(self, value: SSAValue, depth: int = 4) -> bool:
        """Whether fold-constant will evaluate the value, as far as a few steps tell."""
        if value in self.derived or is_constant(value):
            return True
        op = producer(value)
        if op is None or not op.operands or depth == 0 or not all(self._known(v, depth - 1) for v in op.operands):
            return False
        self.derived.add(value)
        return True

    # Paddings

    def convolution(self, op: RelayOp) -> None:
        """A convolution of data padded with zeros along its spatial dimensions to one with that padding."""
        operator, pad_op = cast(Conv, op.operator), producer(op.operands[0], Pad)
        if pad_op is None or not op.operands[0].has_one_use():
            return
        pad = cast(Pad, pad_op.operator)
        fill = constant_array(pad_op.operands[1], self.store)
        if pad.pad_mode != "constant" or fill is None or fill != 0:
            return
        widths = list(pad.pad_width)
        spatial = [widths[axis] for axis in operator.data_spatial]
        if any(width != (0, 0) for axis, width in enumerate(widths) if axis not in operator.data_spatial):
            return
        if len(operator.padding) != 2 * len(spatial) or any(width < 0 for pair in spatial for width in pair):
            return
        lows, highs = zip(*spatial, strict=True)
        padding = tuple(have + more for have, more in zip(operator.padding, (*lows, *highs), strict=True))
        emit = Emitter(op, fuse_locations([pad_op.location, op.location]))
        replace_op(op, [emit(dataclasses.replace(operator, padding=padding), pad_op.operands[0], op.operands[1])])
        erase_op(pad_op)

    # Reshapes and transposes

    def reshape(self, op: RelayOp) -> None:
        """A reshape of a reshape to one."""
        before = producer(op.operands[0], *_RESHAPES)
        if before is not None and op.operands[0].has_one_use() and is_static(shape := op.result_tensors[0].get_shape()):
            self._merge(before, op, Reshape(newshape=shape, allowzero=0 in shape))

    def transpose(self, op: RelayOp) -> None:
        """A transpose of a transpose to one."""
        before = producer(op.operands[0], Transpose)
        if before is not None and op.operands[0].has_one_use():
            rank = op.result_tensors[0].get_num_dims()
            first, second = (cast(Transpose, each.operator).permutation(rank) for each in (before, op))
            self._merge(before, op, Transpose(axes=permuted(first, second)))

    def _merge(self, before: RelayOp, op: RelayOp, operator: Operator) -> None:
        """Puts one operator in place of two, each with one operand."""
        emit = Emitter(op, fuse_locations([before.location, op.location]))
        merged = operator.on(before.operands[0])
        if merged.results[0].type != op.results[0].type:
            return
        emit.insert(merged)
        replace_op(op, list(merged.results))
        erase_op(cast(Operation, before))


_RESHAPES = (Reshape, Squeeze, ExpandDims, BatchFlatten)

_RULES: dict[type, Callable[[_Simplifier, RelayOp], None]] = {
    Add: _Simplifier.addition,
    BiasAdd: _Simplifier.addition,
    Conv: _Simplifier.convolution,
    Transpose: _Simplifier.transpose,
    **{cls: _Simplifier.reshape for cls in _RESHAPES},
}
