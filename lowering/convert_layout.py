"""convert-layout: puts channels last, for which the kernels are written, and keeps them there.

Every tensor may exist permuted. A convolution or pool asks for its data with channels last and gives its result so;
other operators compute on permuted data as layout_rules.py tells, in the layout that a convolution or pool after them
asks for, or else in the one that most of their data has; what has no rule gets its operands as they were. A transpose
is inserted only where a tensor is asked for in a layout that it does not exist in, so that pairs which undo each other
never come up, and transposes of the program itself are taken in the same way. Where only dimensions of 1 move it is a
reshape. Kernels and constants are permuted by operators on constants, for fold-constant.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from relay_mlir.dialects.relay.op import RelayOp
from relay_mlir.dialects.relay.reshape import Reshape
from relay_mlir.dialects.relay.transpose import LayoutTransform, Transpose
from relay_mlir.dialects.relay.types import Shape, Tensor, is_static, num_elements
from relay_mlir.lowering.layout_rules import Plan, channels_last, plan_for
from relay_mlir.lowering.permutations import Permutation, between, identity, moves_data, permuted
from relay_mlir.lowering.rewriting import Emitter, erase_op, functions, is_constant, producer


@dataclass(frozen=True)
class ConvertLayoutPass(ModulePass):
    """Converts convolutions, pools and what lies between them to channels-last layouts."""

    name = "convert-layout"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            _Converter(_wanted(func.block)).convert(func.block)


class Form(NamedTuple):
    """A tensor in the layout in which it is computed: `value` is the tensor permuted by `permutation`."""

    value: SSAValue
    permutation: Permutation


@dataclass
class _Converter:
    """Converts one function."""

    wanted: dict[SSAValue, Permutation]
    """The layout in which a convolution or pool will ask for a tensor, or for what is made of it."""
    forms: dict[SSAValue, Form] = field(default_factory=dict[SSAValue, Form])
    """The form of each tensor that is not computed as the program says."""
    made: dict[tuple[SSAValue, Permutation], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, Permutation], SSAValue]
    )
    """The permuted tensors made so far, by tensor and permutation."""
    replaced: list[Operation] = field(default_factory=list[Operation])

    def convert(self, block: Block) -> None:
        self._block(block)
        for op in reversed(self.replaced):
            erase_op(op)

    def _block(self, block: Block) -> None:
        for op in list(block.ops):
            if not isinstance(op, RelayOp) or not self._operator(op):
                self._restore_operands(op)
            for region in op.regions:
                self._block(region.block)

    def _restore_operands(self, op: Operation) -> None:
        """Gives an operation that is not converted its operands in the layout of the program."""
        for position, operand in enumerate(op.operands):
            if operand in self.forms:
                op.operands[position] = self._get(operand, identity(_rank(operand)), op)

    def _operator(self, op: RelayOp) -> bool:
        """Converts an operator; returns whether it has been replaced."""
        if (axes := _transposition(op)) is not None:
            source = self._form(op.operands[0])
            # The result permuted by this is the source as it is.
            self.forms[op.results[0]] = Form(source.value, between(axes, source.permutation))
            self.replaced.append(op)
            return True
        wanted = channels_last(op)
        p = wanted or self._wanted_now(op) or self._prevailing(op)
        if p is None:
            return False
        plan = plan_for(op, p)
        if plan is None or not self._applicable(op, plan):
            return False
        if all(q is None or q == identity(len(q)) for q in (*plan.operands, *plan.results)):
            return False
        self._replace(op, plan)
        return True

    def _replace(self, op: RelayOp, plan: Plan) -> None:
        operands = [
            self._get(operand, identity(_rank(operand)) if q is None else q, op)
            for operand, q in zip(op.operands, plan.operands, strict=False)
        ]
        if isinstance(plan.operator, Reshape):
            made_values = [_view(operands[0], plan.operator.newshape, op)]
        else:
            made_values = Emitter.at(op).insert_all(plan.operator.on(*operands))
        for result, made, q in zip(op.results, made_values, plan.results, strict=True):
            made.name_hint = result.name_hint
            self.forms[result] = Form(made, q)
        self.replaced.append(op)

    def _prevailing(self, op: RelayOp) -> Permutation | None:
        """The layout that most of the operands' data has; None where all of it is as the program says."""
        rank = max((_rank(operand) for operand in op.operands), default=0)
        weights: dict[Permutation, int] = {}
        for operand in op.operands:
            if _rank(operand) == rank and not is_constant(operand):
                p = self._form(operand).permutation
                weights[p] = weights.get(p, 0) + max(num_elements(_shape(operand)), 1)
        if not weights:
            return None
        # Of equal weights, one that differs from the program: it is there because an operator wants it.
        best = max(weights, key=lambda p: (weights[p], p != identity(rank), p))
        return best if best != identity(rank) else None

    def _wanted_now(self, op: RelayOp) -> Permutation | None:
        """The layout that is wanted of the result, if no more than one operand must be transposed for it now."""
        p = self.wanted.get(op.results[0])
        if p is None or len(p) != max(map(_rank, op.operands), default=0):
            return None
        full = {operand for operand in op.operands if _rank(operand) == len(p) and not is_constant(operand)}
        missing = [v for v in full if self._form(v).permutation != p and (v, p) not in self.made]
        return p if len(missing) <= 1 else None

    def _applicable(self, op: RelayOp, plan: Plan) -> bool:
        """Whether operands of lower rank can be brought into a shape that broadcasts in the new layout."""
        return all(
            q is None or _rank(operand) == len(q) or (_rank(operand) < len(q) and is_static(_shape(operand)))
            for operand, q in zip(op.operands, plan.operands, strict=False)
        )

    # Tensors in a layout

    def _form(self, value: SSAValue) -> Form:
        return self.forms.get(value) or Form(value, identity(_rank(value)))

    def _get(self, value: SSAValue, p: Permutation, user: Operation) -> SSAValue:
        """A tensor permuted by `p`, made if it does not exist; of lower rank, in a shape that broadcasts so."""
        form = self._form(value)
        if form.permutation == p:
            return form.value
        if (value, p) not in self.made:
            if _rank(value) == len(p):
                made = _transposed(form.value, between(form.permutation, p), _location_source(value, user))
            else:
                made = self._broadcasting(value, p, user)
            self.made[value, p] = made
        return self.made[value, p]

    def _broadcasting(self, value: SSAValue, p: Permutation, user: Operation) -> SSAValue:
        plain = self._get(value, identity(_rank(value)), user)
        shape = _shape(plain)
        padded = (1,) * (len(p) - len(shape)) + shape
        if all(size == 1 for size in shape):
            return plain
        wide = permuted(padded, p)
        origin = _location_source(value, user)
        if moves_data(padded, p):
            return _transposed(_view(plain, padded, origin), p, origin)
        leading = next(axis for axis, size in enumerate(wide) if size != 1)
        return _view(plain, wide[leading:], origin)


def _wanted(block: Block) -> dict[SSAValue, Permutation]:
    """For each tensor the layout in which convolutions and pools ask for it, directly or for what is made of it.

    Only operators that compute alike in every layout pass a wish on.
    """
    wanted: dict[SSAValue, Permutation] = {}
    for op in reversed([op for op in block.walk() if isinstance(op, RelayOp)]):
        p = channels_last(op)
        if p is not None:
            sources = [op.operands[0]]
        else:
            p = wanted.get(op.results[0])
            plan = None if p is None else plan_for(op, p)
            if p is None or plan is None or any(q != p for q in plan.results):
                continue
            sources = [operand for operand, q in zip(op.operands, plan.operands, strict=False) if q == p]
        for source in sources:
            if _rank(source) == len(p):
                wanted.setdefault(source, p)
    return wanted


def _transposition(op: RelayOp) -> Permutation | None:
    """The axes of an operation that only transposes, else None."""
    operator = op.operator
    if isinstance(operator, Transpose):
        return operator.permutation(op.operand_types[0].get_num_dims())
    if isinstance(operator, LayoutTransform) and sorted(operator.src_layout) == sorted(operator.dst_layout):
        if operator.src_layout.isalpha():
            return tuple(operator.src_layout.index(letter) for letter in operator.dst_layout)
    return None


def _location_source(value: SSAValue, user: Operation) -> Operation:
    """The operation whose location a new permutation of a tensor gets: what makes it, or else what reads it."""
    owner = value.owner
    return owner if isinstance(owner, Operation) and not isinstance(owner.location, UnknownLoc) else user


def _after(value: SSAValue, origin: Operation) -> Emitter:
    """An emitter right after the definition of a value, so that what it inserts can be used wherever the value can."""
    owner = value.owner
    following = owner.next_op if isinstance(owner, Operation) else owner.first_op
    assert following is not None
    return Emitter(following, origin.location)


def _transposed(value: SSAValue, axes: Permutation, origin: Operation) -> SSAValue:
    if axes == identity(len(axes)):
        return value
    shape = _shape(value)
    if is_static(shape) and not moves_data(shape, axes):
        return _view(value, permuted(shape, axes), origin)
    return _after(value, origin)(Transpose(axes=axes), value)


def _view(value: SSAValue, shape: Shape, origin: Operation) -> SSAValue:
    """The value in another shape, with a single reshape from where its elements come from."""
    while (reshape := producer(value, Reshape)) is not None:
        value = reshape.operands[0]
    if _shape(value) == shape:
        return value
    return _after(value, origin)(Reshape(newshape=shape, allowzero=0 in shape), value)


def _shape(value: SSAValue) -> Shape:
    return cast(Tensor, value.type).get_shape()


def _rank(value: SSAValue) -> int:
    return cast(Tensor, value.type).get_num_dims()
