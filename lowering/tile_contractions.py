"""tile-contractions: choose the register tile of each contraction and write it down as the attribute `schedule`.

The kernel keeps a tile of the output in registers: `rows` positions of one parallel loop (and `outer_rows` of a second
one where the first is short), times `vectors` vectors along the loop that walks the output's last dimension. It reads
one vector operand (contiguous along that loop) and one operand that is broadcast, or, where both walk that loop as in
a depthwise convolution, two vector operands.

    schedule = {lane_loop = 3, rows_loop = 2, outer_rows_loop = -1, lanes = 16, vectors = 2, rows = 14, outer_rows = 1}

28 accumulators, 2 vectors of weights and 1 broadcast fill the 32 vector registers of AVX-512.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from relay_mlir.lowering.structured import Contraction, Structured, contraction, element_of, likely, structured

CACHE_LINE = 64
CACHE_SETS = 64
"""Sets of the first-level cache: those of x86 processors have 4096 bytes a way."""


@dataclass(frozen=True)
class Schedule:
    """The register tile of a contraction; loops are positions in its iteration space, -1 where there is none."""

    lane_loop: int
    rows_loop: int
    outer_rows_loop: int
    lanes: int
    vectors: int
    rows: int
    outer_rows: int

    @property
    def panel(self) -> int:
        """Output elements along the lane loop that one tile covers."""
        return self.lanes * self.vectors

    def attribute(self) -> DictionaryAttr:
        return DictionaryAttr({name: IntegerAttr(value, i64) for name, value in vars(self).items()})


def schedule_of(op: Operation) -> Schedule | None:
    """The schedule written on a contraction, or None."""
    found = op.attributes.get("schedule")
    if not isinstance(found, DictionaryAttr):
        return None
    return Schedule(**{name: cast("IntegerAttr[Any]", value).value.data for name, value in found.data.items()})


def _cost(size: int, tile: int, vectors: int) -> float:
    """Relative time of `size` rows in tiles of `tile`: issue slots a reduction step, and a floor set by latency."""

    def step(rows: int) -> float:
        return max(rows * vectors, 8) + 0.5 * (rows + vectors)

    full, rest = divmod(size, tile)
    return full * step(tile) + (step(rest) if rest else 0)


def _unaliased(view: Structured, rows_loop: int, lane_loop: int) -> int:
    """How many rows of the broadcast operand may be read side by side without evicting each other.

    Rows a multiple of 4096 bytes apart fall into one set of the first-level cache, which has 8 ways or more; three
    quarters of the ways are for them.
    """
    allowed = 1 << 30
    for access in view.inputs:
        stride = access.stride(rows_loop) if rows_loop >= 0 and not access.uses(lane_loop) else None
        if stride is None:
            continue
        lines = stride * cast(Any, element_of(access.value)).size // CACHE_LINE
        sets = CACHE_SETS // math.gcd(lines, CACHE_SETS) if stride else CACHE_SETS
        allowed = min(allowed, max(1, sets * 8 * 3 // 4))
    return allowed


def choose(found: Contraction, vector_bits: int, registers: int) -> Schedule | None:
    """The register tile for a contraction, or None where no loop walks the output's last dimension contiguously."""
    view = found.view
    lane_loops = [loop for loop in view.parallels if found.out.contiguous(loop)]
    if not lane_loops or likely(view.extents[lane_loops[0]]) < 2:
        return None
    lane = lane_loops[0]
    width = max(cast(Any, element_of(access.value)).bitwidth for access in (*view.inputs, found.out))
    lanes = vector_bits // width
    users = [access for access in view.inputs if access.uses(lane)]
    # Rows reuse the vectors of one operand: their loop must not move it.
    vector = min(users, key=lambda access: sum(access.uses(loop) for loop in view.parallels))
    candidates = [
        loop for loop in view.parallels if loop != lane and not vector.uses(loop) and likely(view.extents[loop]) > 1
    ]
    rows_loop = candidates[-1] if candidates else -1
    # Rows of two loops are for short rows of known number.
    both_known = len(candidates) > 1 and DYNAMIC_INDEX not in (view.extents[loop] for loop in candidates[-2:])
    outer_loop = candidates[-2] if both_known else -1
    size = likely(view.extents[rows_loop]) if candidates else 1
    outer_size = view.extents[outer_loop] if outer_loop >= 0 else 1
    wanted = -(-likely(view.extents[lane]) // lanes)
    budget = registers - 4  # accumulators; the rest holds vectors of the operands
    allowed = _unaliased(view, rows_loop, lane)
    vectors = min(wanted, 2 if min(size * outer_size, allowed) > 6 else 4 if size * outer_size > 3 else 8)
    largest = max(1, min(budget // vectors, allowed))
    rows = min(range(1, min(largest, size) + 1), key=lambda tile: (_cost(size, tile, vectors), -tile))
    if candidates and view.extents[rows_loop] == DYNAMIC_INDEX:
        rows = largest
    outer_rows = max(1, min(largest // rows, outer_size)) if rows == size else 1
    return Schedule(lane, rows_loop, outer_loop if outer_rows > 1 else -1, lanes, vectors, rows, outer_rows)


@dataclass(frozen=True)
class TileContractionsPass(ModulePass):
    """Choose the register tile of each contraction and write it down as its attribute `schedule`."""

    name = "tile-contractions"

    vector_bits: int = 512
    """Width of the target's vector registers."""
    registers: int = 32
    """Number of the target's vector registers."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if isinstance(inner, linalg.GenericOp) and (found := contraction(structured(inner))):
                schedule = choose(found, self.vector_bits, self.registers)
                if schedule is not None:
                    inner.attributes["schedule"] = schedule.attribute()
