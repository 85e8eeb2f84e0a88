"""to-a-normal-form: what needs no evaluation stands where it is used; everything else has a name already."""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from relay_mlir.dialects.relay.core import ConstantOp, WeightOp
from relay_mlir.dialects.relay.language import ConstructorValueOp, GlobalOp
from relay_mlir.lowering.rewriting import erase_op

ATOMS = (ConstantOp, WeightOp, GlobalOp, ConstructorValueOp)
"""Operations that name a value that is there already."""


class ToANormalFormPass(ModulePass):
    """Gives each user of a constant, a weight, a function or a constructor an operation of its own for it.

    Flat SSA is A-normal form: each intermediate value has a name, and operands are names. What remains are Relay's
    other atoms, which need no `let`: they stand just before each operation that uses them, in its scope. (Those that
    are equal become one again by eliminate-common-subexpr.)
    """

    name = "to-a-normal-form"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for atom in [inner for inner in op.walk() if isinstance(inner, ATOMS)]:
            _place(atom)


def _place(atom: Operation) -> None:
    """One copy of an atom before each of its users."""
    (result,) = atom.results
    users = list(dict.fromkeys(use.operation for use in result.uses))
    for user in users:
        copied = atom.clone()
        copied.results[0].name_hint = result.name_hint
        cast(Block, user.parent).insert_op_before(copied, user)
        for position, operand in enumerate(user.operands):
            if operand is result:
                user.operands[position] = copied.results[0]
    if users:
        erase_op(atom)
