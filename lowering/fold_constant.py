"""fold-constant: evaluates what depends on constants and weights alone, through each operator's own `evaluate`.

One walk in program order; intermediate results never reach the program or the store. Also forwards what an operator's
`fold` says its results equal, fields of tuples, and the taken branch of a relay.if on a constant condition. Weights
that the program no longer names leave the store; what depends on weights that the store lacks is left as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.errors import CompileError
from relay_mlir.dialects.relay.core import FuncOp, IfOp, TupleGetItemOp, TupleOp
from relay_mlir.dialects.relay.op import RelayOp
from relay_mlir.dialects.relay.types import compatible, type_of
from relay_mlir.dialects.relay.weights import WeightStore, weights_of
from relay_mlir.lowering.rewriting import (
    Emitter,
    constant_array,
    erase_op,
    functions,
    is_constant,
    keep_used_weights,
    make_constant,
    nbytes,
    replace_op,
    weight_stem,
)

if TYPE_CHECKING:
    import numpy as np

SMALL_BYTES = 1 << 20
GROWTH = 4
"""A result above SMALL_BYTES that is more than GROWTH times its operands stays computed at run time: it would cost the
artefact more than it saves (a scalar broadcast to a feature map)."""


@dataclass(frozen=True)
class FoldConstantPass(ModulePass):
    """Replaces what depends on constants alone by its value."""

    name = "fold-constant"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store = weights_of(ctx)
        for func in functions(op):
            _Folder(store).run(func)
        keep_used_weights(op, store)


@dataclass
class _Folder:
    """Folds one function. `known` holds the values computed so far; the program gets those still used at the end."""

    store: WeightStore
    known: dict[SSAValue, np.ndarray] = field(default_factory=dict["SSAValue", "np.ndarray"])
    stems: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    folded: list[RelayOp] = field(default_factory=list[RelayOp])

    def run(self, func: FuncOp) -> None:
        self._block(func.block, conditional=False)
        for op in reversed(self.folded):
            self._materialize(op)

    def _block(self, block: Block, conditional: bool) -> None:
        """Folds the operations of a block; `conditional` says that it may never run."""
        op = block.first_op
        while op is not None:
            following = op.next_op
            match op:
                case RelayOp():
                    self._operator(op, conditional)
                case TupleGetItemOp():
                    if isinstance(source := op.tuple_value.owner, TupleOp):
                        replace_op(op, [source.fields[op.index.value.data]])
                case IfOp():
                    following = self._if(op, conditional) or following
                case _:
                    pass
            op = following

    def _if(self, op: IfOp, conditional: bool) -> Operation | None:
        """Puts the taken branch in place of a relay.if on a constant; returns the first of its operations."""
        condition = self._value(op.condition)
        if condition is None:
            for region in op.regions:
                self._block(region.block, conditional=True)
            return None
        branch = (op.then_region if bool(condition) else op.else_region).block
        first = branch.first_op
        terminator = cast(Operation, branch.last_op)
        block = cast(Block, op.parent)
        for inner in list(branch.ops):
            if inner is not terminator:
                inner.detach()
                block.insert_op_before(inner, op)
        values = list(terminator.operands)
        following = op.next_op if first is terminator else first
        for result, value in zip(op.results, values, strict=True):
            result.replace_all_uses_with(value)
        erase_op(op)
        return following

    def _operator(self, op: RelayOp, conditional: bool) -> None:
        operator = op.operator
        if (same := operator.fold(op)) is not None and _same_types(op, same):
            for result, value in zip(op.results, same, strict=True):
                result.replace_all_uses_with(value)
            erase_op(op)
            return
        if not any(result.uses for result in op.results) or not _worth_storing(op):
            return
        if (args := self._arguments(op)) is None:
            return
        try:
            values = self._evaluate(op, args)
        except (VerifyException, ValueError, IndexError) as e:
            if conditional:  # The program may rely on never coming here.
                return
            raise CompileError(f"{op.name} (at {op.location}) cannot be evaluated on its constants: {e}") from e
        if not _fits(op, values):
            return
        stem = next(filter(None, map(self._stem, op.operands)), op.OPERATOR.name.split(".")[-1])
        self.known.update(zip(op.results, values, strict=True))
        self.stems.update((result, stem) for result in op.results)
        self.folded.append(op)

    def _arguments(self, op: RelayOp) -> list[np.ndarray] | None:
        """The operands if all are known."""
        if not all(operand in self.known or is_constant(operand) for operand in op.operands):
            return None
        values = [self._value(operand) for operand in op.operands]
        return None if any(value is None for value in values) else cast("list[np.ndarray]", values)

    def _evaluate(self, op: RelayOp, args: list[np.ndarray]) -> list[np.ndarray]:
        import numpy as np

        with np.errstate(all="ignore"):
            return [np.asarray(value) for value in op.operator.evaluate(args)]

    def _value(self, value: SSAValue) -> np.ndarray | None:
        found = self.known.get(value)
        return constant_array(value, self.store) if found is None else found

    def _stem(self, value: SSAValue) -> str | None:
        return self.stems.get(value) or weight_stem(value)

    def _materialize(self, op: RelayOp) -> None:
        """Puts constants in place of the results that are still used; erases the operation, and what only it read."""
        emit = Emitter.at(op)
        for result in op.results:
            if result.uses:
                constant = emit.insert(make_constant(self.known[result], self.store, self.stems[result]))
                constant.name_hint = result.name_hint
                result.replace_all_uses_with(constant)
            del self.known[result]
        operands = set(op.operands)
        erase_op(op)
        for operand in operands:
            if is_constant(operand) and not operand.uses:
                erase_op(cast(Operation, operand.owner))


def _same_types(op: RelayOp, values: Sequence[SSAValue]) -> bool:
    return [result.type for result in op.results] == [value.type for value in values]


def _worth_storing(op: RelayOp) -> bool:
    """Whether the results are small, or not much larger than the operands. Unknown sizes count as small."""
    grown = sum(nbytes(type_) or 0 for type_ in op.result_tensors)
    given = sum(nbytes(type_) or 0 for type_ in op.operand_types)
    return grown <= SMALL_BYTES or grown <= GROWTH * given


def _fits(op: RelayOp, values: Sequence[np.ndarray]) -> bool:
    """Whether the values can replace the results: of the same types, or more precise ones for operators that refine.

    Raises CompileError where an operator contradicts its own type relation.
    """
    for value, result, type_ in zip(values, op.results, op.result_tensors, strict=True):
        found = type_of(value)
        if found == type_:
            continue
        if not compatible(found, type_):
            raise CompileError(f"{op.name} (at {op.location}) is declared as {type_}, but evaluates to {found}")
        if not all(isinstance(use.operation, RelayOp) for use in result.uses):
            return False
    return True
