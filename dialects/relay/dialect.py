"""The relay dialect as xDSL sees it; its operators are loaded one by one in a RelayContext, all at once in another."""

from collections.abc import Iterator

from xdsl.ir import Dialect, Operation

from relay_mlir.dialects.relay.core import CORE_OPS
from relay_mlir.dialects.relay.language import LANGUAGE_OPS
from relay_mlir.dialects.relay.language_types import LANGUAGE_TYPES
from relay_mlir.dialects.relay.op import OPERATORS
from relay_mlir.dialects.relay.patterns import PATTERNS


class RelayDialect(Dialect):
    """A dialect whose operators are imported when they are asked for."""

    @property
    def forms(self) -> Iterator[type[Operation]]:
        """The operations that are not operators."""
        return super().operations

    @property
    def operations(self) -> Iterator[type[Operation]]:
        yield from self.forms
        for definition in OPERATORS.values():
            yield definition.op_class


Relay = RelayDialect("relay", [*CORE_OPS, *LANGUAGE_OPS], [*LANGUAGE_TYPES, *PATTERNS])
