"""Moves groups of operators into primitive functions, one function for all groups of the same structure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from relay_mlir.dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from relay_mlir.dialects.relay.op import RelayOp
from relay_mlir.lowering.rewriting import INLINE_ELEMENTS, SymbolNames, attributes_key, erase_op, fuse_locations

NAMED_OPERATORS = 6
"""The name of a function tells this many of its operators."""


@dataclass
class _Group:
    """Operators of one block in program order, and what they exchange with the rest of it."""

    members: Sequence[RelayOp]
    inputs: list[SSAValue] = field(default_factory=list[SSAValue])
    constants: list[ConstantOp] = field(default_factory=list[ConstantOp])
    outputs: list[OpResult] = field(default_factory=list[OpResult])

    def __post_init__(self) -> None:
        inside: set[Operation] = set(self.members)
        seen: set[SSAValue] = set()
        for operand in (operand for op in self.members for operand in op.operands):
            if operand in seen or operand.owner in inside:
                continue
            seen.add(operand)
            if isinstance(operand.owner, ConstantOp) and len(operand.owner.value) <= INLINE_ELEMENTS:
                self.constants.append(operand.owner)
            else:
                self.inputs.append(operand)
        results = [result for op in self.members for result in op.results]
        used = [result for result in results if any(use.operation not in inside for use in result.uses)]
        self.outputs = used or list(self.members[-1].results)

    def structure(self) -> Hashable:
        """What two groups have in common exactly if one function can stand for both."""
        numbers: dict[SSAValue, int] = {}
        for value in (*self.inputs, *(constant.result for constant in self.constants)):
            numbers[value] = len(numbers)
        steps: list[Hashable] = []
        for op in self.members:
            for result in op.results:
                numbers[result] = len(numbers)
            steps.append(
                (
                    op.name,
                    attributes_key(op),
                    tuple(numbers[operand] for operand in op.operands),
                    tuple(result.type for result in op.results),
                )
            )
        return (
            tuple(value.type for value in self.inputs),
            tuple(constant.value for constant in self.constants),
            tuple(steps),
            tuple(numbers[result] for result in self.outputs),
        )

    def name(self) -> str:
        """The operators one after the other: `conv2d_add_relu`."""
        words = [op.OPERATOR.name.rsplit(".", 1)[-1] for op in self.members]
        more = len(words) - NAMED_OPERATORS
        return "_".join(words if more <= 0 else [*words[:NAMED_OPERATORS], f"and_{more}_more"])


class Outliner:
    """Makes the primitive functions of a module."""

    def __init__(self, module: ModuleOp):
        self._module = module
        self._names = SymbolNames(module)
        self._functions: dict[Hashable, str] = {}

    def outline(self, members: Sequence[RelayOp]) -> CallOp:
        """Replaces operators of one block by a call, in the place of the last, and returns it.

        Nothing outside may use a value of a member other than the last, and depend on which it is used.
        Constants of up to INLINE_ELEMENTS elements move along; the other outer values become arguments. The location
        of the call names those of all members.
        """
        group = _Group(members)
        last = members[-1]
        call = CallOp(self._function(group), group.inputs, [result.type for result in group.outputs])
        call.location = fuse_locations(op.location for op in members)
        block = last.parent
        assert block is not None
        block.insert_op_before(call, last)
        for result, new in zip(group.outputs, call.results, strict=True):
            new.name_hint = result.name_hint
            result.replace_all_uses_with(new)
        for op in reversed(members):
            erase_op(op)
        for constant in group.constants:
            if not constant.result.uses:
                erase_op(constant)
        return call

    def _function(self, group: _Group) -> str:
        structure = group.structure()
        if structure not in self._functions:
            name = self._names.fresh(group.name())
            self._module.body.block.add_op(_build(name, group))
            self._functions[structure] = name
        return self._functions[structure]


def _build(name: str, group: _Group) -> FuncOp:
    """The function of a group."""
    type_ = FunctionType.from_lists([v.type for v in group.inputs], [v.type for v in group.outputs])
    func = FuncOp(name, type_, private=True, primitive=True)
    func.location = fuse_locations(op.location for op in group.members)
    mapping: dict[SSAValue, SSAValue] = dict(zip(group.inputs, func.args, strict=True))
    for value, arg in zip(group.inputs, func.args, strict=True):
        arg.name_hint = value.name_hint
    for op in (*group.constants, *group.members):
        func.block.add_op(op.clone(mapping))
    ending = ReturnOp(*(mapping[result] for result in group.outputs))
    ending.location = func.location
    func.block.add_op(ending)
    return func
