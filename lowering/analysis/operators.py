"""How much a program computes: how often each operator occurs, and the multiply-accumulates of its contractions."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

from xdsl.ir import Operation

from relay_mlir.dialects.relay.op import RelayOp
from relay_mlir.dialects.relay.types import is_static, num_elements
from relay_mlir.lowering.diagnostics import OpError


def operator_frequency(op: Operation) -> Counter[str]:
    """How often each operator occurs in an operation and all in it, by name."""
    return Counter(inner.OPERATOR.name for inner in op.walk() if isinstance(inner, RelayOp))


def mac_count(op: Operation) -> int:
    """The multiply-accumulates of convolutions and matrix products, each operation counted once.

    How often a function, a branch or a closure runs is not known here. Padding counts as data. Raises OpError for a
    contraction with an open dimension.
    """
    return sum(_macs(inner) for inner in op.walk() if isinstance(inner, RelayOp))


def _macs(op: RelayOp) -> int:
    name = op.OPERATOR.name
    if not name.startswith("nn.conv") and name not in ("nn.dense", "nn.matmul", "nn.batch_matmul"):
        return 0
    shapes: list[tuple[int, ...]] = [tuple(type_.get_shape()) for type_ in (*op.operand_types, *op.result_tensors)]
    if not all(map(is_static, shapes)):
        raise OpError(op, "has open dimensions: its multiply-accumulates are not known")
    data, weight, result = shapes[0], shapes[1], shapes[-1]
    if name.startswith("nn.conv"):
        layout = cast(str, cast(Any, op.operator).kernel_layout)
        transposed = name.endswith("_transpose")
        channels = weight[layout.index("I" if transposed else "O")]
        each = num_elements(weight) // channels if channels else 0
        return num_elements(data if transposed else result) * each
    swap = bool(getattr(op.operator, "transpose_a", False))
    return num_elements(result) * data[-2 if swap else -1]
