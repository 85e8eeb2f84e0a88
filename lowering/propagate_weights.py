"""propagate-weights: a parameter that is one weight or constant at every call is read inside the function instead.

Cells of recurrent networks take their weights as arguments, and pass them on when they call themselves. Known inside,
they can be folded and packed. Only private functions that are never values lose parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from relay_mlir.dialects.relay.core import CallOp, ConstantOp, FuncOp, WeightOp
from relay_mlir.dialects.relay.language import GlobalOp

Source = WeightOp | ConstantOp


@dataclass
class _Parameter:
    """What is known of a parameter: the operation that gives its value at all calls seen so far."""

    source: Source | None = None
    varies: bool = False


class _Propagation:
    """The parameters of the functions of a module, and the calls that give them values."""

    def __init__(self, module: ModuleOp):
        functions = {f.sym_name.data: f for f in module.ops if isinstance(f, FuncOp)}
        self._calls: dict[str, list[CallOp]] = {}
        values: set[str] = set()
        for op in module.walk():
            if isinstance(op, CallOp):
                self._calls.setdefault(op.callee.string_value(), []).append(op)
            elif isinstance(op, GlobalOp):
                values.add(op.function.string_value())
        self._functions = [
            f for name, f in functions.items() if f.sym_visibility and name not in values and name in self._calls
        ]
        self._known = {argument: _Parameter() for f in self._functions for argument in f.args}

    def run(self) -> None:
        changed = True
        while changed:
            changed = False
            for function in self._functions:
                for call in self._calls[function.sym_name.data]:
                    for argument, value in zip(function.args, call.arguments, strict=True):
                        changed |= self._meet(argument, value)
        for function in self._functions:
            self._specialize(function)

    def _meet(self, argument: BlockArgument, value: SSAValue) -> bool:
        """Adds the value of one call; says whether that was new."""
        known = self._known[argument]
        if known.varies or value is argument:
            return False
        found: Source | None = None
        if isinstance(value, BlockArgument) and value in self._known:
            other = self._known[value]
            found = other.source
            if found is None and not other.varies:
                return False
        elif isinstance(value, OpResult) and isinstance(value.op, WeightOp | ConstantOp):
            found = value.op
        if found is None or found.results[0].type != argument.type:
            known.varies = True
            return True
        if known.source is None:
            known.source = found
            return True
        if _content(known.source) != _content(found):
            known.varies = True
            return True
        return False

    def _specialize(self, function: FuncOp) -> None:
        """Takes the parameters that are known away from the function and its calls."""
        for argument in reversed(function.args):
            known = self._known[argument]
            if known.source is None or known.varies:
                continue
            made: Operation = known.source.clone()
            Rewriter.insert_op(made, InsertPoint.at_start(function.block))
            made.results[0].name_hint = argument.name_hint
            argument.replace_all_uses_with(made.results[0])
            for call in self._calls[function.sym_name.data]:
                call.operands = [v for i, v in enumerate(call.operands) if i != argument.index]
            function.block.erase_arg(argument)
        function.update_function_type()


def _content(source: Source) -> Attribute:
    return source.key if isinstance(source, WeightOp) else source.value


@dataclass(frozen=True)
class PropagateWeightsPass(ModulePass):
    """Reads weights and constants in the functions that always get the same ones as arguments."""

    name = "propagate-weights"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _Propagation(op).run()
