"""eta-expand: constructors and functions of the module that are values become closures that apply them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass

from relay_mlir.dialects.relay.core import CallOp, YieldOp
from relay_mlir.dialects.relay.language import ConstructOp, ConstructorValueOp, FnOp, GlobalOp
from relay_mlir.dialects.relay.language_types import PolyType
from relay_mlir.lowering.rewriting import replace_op


@dataclass(frozen=True)
class EtaExpandPass(ModulePass):
    """Wraps constructors (`relay.constructor_value @C` becomes `relay.fn (%x) { relay.construct @C(%x) }`) in closures.

    With `globals`, `relay.global @f` becomes `relay.fn (%x) { relay.call @f(%x) }` as well. What is applied by name
    (`relay.construct`, `relay.call`) stays.
    """

    name = "eta-expand"
    constructors: bool = True
    globals: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if (self.constructors and isinstance(inner, ConstructorValueOp)) or (
                self.globals and isinstance(inner, GlobalOp)
            ):
                expand(inner)


def expand(op: ConstructorValueOp | GlobalOp) -> FnOp:
    """Replaces a constructor or function that is a value by a closure that applies it; returns the closure."""
    type_ = op.result.type
    parameters = type_.type_parameters if isinstance(type_, PolyType) else ()
    plain = type_.body if isinstance(type_, PolyType) else cast(FunctionType, type_)
    block = Block(arg_types=plain.inputs.data)
    (output,) = plain.outputs
    applied: Operation
    if isinstance(op, ConstructorValueOp):
        applied = ConstructOp(op.constructor.string_value(), block.args, output)
    else:
        applied = CallOp(op.function.string_value(), block.args, [output])
    result = YieldOp(applied.results[0])
    applied.location = result.location = op.location
    block.add_ops([applied, result])
    closure = FnOp(Region(block), [output], type_parameters=parameters)
    closure.location = op.location
    cast(Block, op.parent).insert_op_before(closure, op)
    replace_op(op, [closure.result])
    return closure
