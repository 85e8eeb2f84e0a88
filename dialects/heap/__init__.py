"""The heap dialect: programs with closures, data types and references as functions on counted heap objects.

Between relay and the llvm dialect; docs/language_runtime.md has the layout of objects and who owns them.
"""

from xdsl.ir import Dialect

from relay_mlir.dialects.heap.ops import HEAP_OPS
from relay_mlir.dialects.heap.types import HEAP_TYPES

Heap = Dialect("heap", HEAP_OPS, HEAP_TYPES)
