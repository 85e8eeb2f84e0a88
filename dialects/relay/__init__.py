"""The relay dialect: whole-tensor operators, one module a family; op.py says what an operator defines."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relay_mlir.dialects.relay.dialect import Relay
    from relay_mlir.dialects.relay.op import OPERATORS

__all__ = ["OPERATORS", "Relay"]


def __getattr__(name: str) -> Any:
    """Imports a name of `__all__` when it is first used: a module of this package does not need the whole dialect."""
    match name:
        case "Relay":
            from relay_mlir.dialects.relay.dialect import Relay

            return Relay
        case "OPERATORS":
            from relay_mlir.dialects.relay.op import OPERATORS

            return OPERATORS
        case _:
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
