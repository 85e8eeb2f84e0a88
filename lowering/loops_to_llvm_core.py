"""The state of the loops-to-llvm conversion of one function: a walk over its operations that writes it anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, NoneAttr, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.lowering.diagnostics import OpError
from relay_mlir.lowering.loops_to_llvm_address import Addresses
from relay_mlir.lowering.loops_to_llvm_types import SLT, MemRef, passed_strides, static_strides


class Lowering(Addresses):
    """One function on its way to the llvm dialect."""

    def __init__(self, region: Region, handlers: Mapping[type[Operation], Callable[[Lowering, Operation], None]]):
        super().__init__(region)
        self.handlers = handlers
        self.memrefs: dict[SSAValue, MemRef] = {}
        self.blocks: dict[Block, Block] = {}
        """For functions of several blocks: the written block of each."""
        self.externals: dict[str, llvm.LLVMFunctionType] = {}
        """Functions of the C library that are called."""

    def fail(self, op: Operation, found: str, hint: str = "") -> OpError:
        """The error for an operation that cannot be converted."""
        return OpError(op, f"{op.name}: {found}; {hint}" if hint else f"{op.name}: {found}")

    # Values.

    def get(self, value: SSAValue) -> SSAValue:
        """The written value of a scalar or vector."""
        return self.written[value]

    def memref(self, value: SSAValue) -> MemRef:
        """The written memref."""
        return self.memrefs[value]

    def set(self, value: SSAValue, to: SSAValue) -> None:
        """Binds a scalar or vector to its written value."""
        self.written[value] = to
        if value.name_hint and to.name_hint is None:
            to.name_hint = value.name_hint

    def flatten(self, value: SSAValue) -> list[SSAValue]:
        """The values that stand for one across calls and branches; see `flat_types`."""
        written = self.memrefs.get(value)
        if written is None:
            return [self.written[value]]
        type_ = cast("MemRefType[Attribute]", value.type)
        sizes = [s for s, static in zip(written.shape, type_.get_shape(), strict=True) if static == DYNAMIC_INDEX]
        strides = [s for s, passed in zip(written.strides, passed_strides(type_), strict=True) if passed]
        return [self.materialize(written), *(self.as_value(s) for s in (*sizes, *strides))]

    def unflatten(self, value: SSAValue, flat: Iterable[SSAValue]) -> None:
        """Binds a value to those that stand for it; takes as many from `flat` as it needs."""
        flat = iter(flat)
        if not isinstance(value.type, MemRefType):
            self.set(value, next(flat))
            return
        type_ = cast("MemRefType[Attribute]", value.type)
        ptr = next(flat)
        if value.name_hint and ptr.name_hint is None:
            ptr.name_hint = value.name_hint
        shape = tuple(next(flat) if n == DYNAMIC_INDEX else n for n in type_.get_shape())
        passed = passed_strides(type_)
        strides = self.strides(type_, shape, [next(flat) for each in passed if each])
        self.memrefs[value] = MemRef(ptr, self.level, type_.element_type, shape, strides)

    def strides(
        self, type_: MemRefType[Attribute], shape: Sequence[int | SSAValue], passed: Sequence[int | SSAValue]
    ) -> tuple[int | SSAValue, ...]:
        """The strides of a memref of this type: stated, passed as values, or the product of the sizes behind."""
        if isinstance(type_.layout, NoneAttr):
            return self.row_major(shape)
        given = iter(passed)
        return tuple(next(given) if stride is None else stride for stride in static_strides(type_))

    # Control flow.

    def lower_block(self, block: Block) -> Operation:
        """Converts the operations of a block up to its terminator, which is returned."""
        self.block_level[block] = self.level
        handlers = self.handlers
        last = block.last_op
        assert last is not None, "blocks end with a terminator"
        for op in block.ops:
            if op is last:
                break
            handler = handlers.get(type(op))
            if handler is None:
                raise self.fail(op, "no conversion of this operation", "it is not part of the loops level")
            self.location = op.location
            try:
                handler(self, op)
            except OpError:
                raise
            except VerifyException as error:
                raise OpError(op, f"{op.name}: {error}") from error
        self.location = last.location
        return last

    def loop(
        self,
        bounds: tuple[SSAValue, SSAValue, SSAValue],
        inits: Sequence[SSAValue],
        body: Callable[[SSAValue, Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """A counted loop `for i = lower to upper step step` with carried values; gives their last ones.

        The test stands at the end; one in front guards loops that may run zero times. A loop that runs once is its
        body alone.
        """
        lower, upper, step = bounds
        first, end, by = (self.known(bound) for bound in bounds)
        trips = None
        if first is not None and end is not None and by is not None and by > 0:
            trips = max(0, -(-(end - first) // by))
        if trips == 0:
            return inits
        if trips == 1:
            return body(lower, inits)
        types = [value.type for value in inits]
        header, done = Block(arg_types=[lower.type, *types]), Block(arg_types=types if trips is None else [])
        counter = header.args[0]
        if first is not None and first >= 0:
            self.is_non_negative(counter)
        if trips is None:
            enters = self.create(llvm.ICmpOp, (lower, upper), i1, {"predicate": SLT})
            self.cond_branch(enters, (header, [lower, *inits]), (done, inits))
        else:
            self.branch(header, [lower, *inits])
        self.enter(header, is_loop=True)
        carried = list(body(counter, header.args[1:]))
        flags = IntegerAttr(3 if trips is not None and first is not None and first >= 0 else 0, 32)
        following = self.create(llvm.AddOp, (counter, step), counter.type, {"overflowFlags": flags})
        again = self.create(llvm.ICmpOp, (following, upper), i1, {"predicate": SLT})
        self.cond_branch(again, (header, [following, *carried]), (done, carried if trips is None else ()))
        self.leave()
        self.go_on(done)
        return done.args if trips is None else carried
