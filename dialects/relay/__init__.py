"""The relay dialect: whole-tensor operators, one module a family; op.py says what an operator defines."""

from importlib import import_module
from pkgutil import iter_modules

from xdsl.ir import Dialect

from relay_mlir.dialects.relay.core import CORE_OPS
from relay_mlir.dialects.relay.language import LANGUAGE_OPS
from relay_mlir.dialects.relay.language_types import LANGUAGE_TYPES
from relay_mlir.dialects.relay.op import OPERATORS
from relay_mlir.dialects.relay.patterns import PATTERNS

for _module in iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)

Relay = Dialect(
    "relay",
    [*CORE_OPS, *LANGUAGE_OPS, *(definition.op_class for definition in OPERATORS.values())],
    [*LANGUAGE_TYPES, *PATTERNS],
)
