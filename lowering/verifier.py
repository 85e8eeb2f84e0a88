"""Verifies a module, and names the operation that is wrong."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from relay_mlir.lowering.diagnostics import OpError, attach
from relay_mlir.lowering.dominance import verify_dominance


def verify_module(module: ModuleOp) -> None:
    """Verifies dominance, then every operation, innermost first.

    Raises VerifyException with the operation attached (see `diagnostics.op_of`).
    """
    verify_dominance(module)
    for op in module.walk(region_first=True):
        _verify_blocks(op)
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException as error:
            attach(error, op)
            raise
        except ValueError as error:  # xDSL's word for an operand that was erased
            raise OpError(op, str(error)) from error


def _verify_blocks(op: Operation) -> None:
    """What xDSL checks while it goes through regions: parents agree, and a lone empty block needs a terminator."""
    for region in op.regions:
        for block in region.blocks:
            if block.parent is not region or any(inner.parent is not block for inner in block.ops):
                raise OpError(op, "has a region whose blocks or operations belong elsewhere")
            if block.is_empty and len(region.blocks) == 1 and not op.has_trait(NoTerminator):
                raise OpError(op, "has an empty block, which needs a terminator")
