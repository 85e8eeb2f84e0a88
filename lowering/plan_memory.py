"""plan-memory: one arena for every temporary and one blob for every weight.

`@main` gets two more arguments, `%weights: memref<Nxi8>` and `%arena: memref<Mxi8>`. Buffers that are never alive at
the same time share bytes of the arena; a call whose function reads and writes the same positions (the function
attribute `in_place` that bufferize computes) writes over its dying input. The temporaries of a called function lie in a
region that the caller hands to it as its last argument. The attribute `weight_layout` of `@main` says which weight of
the weight store lies at which offset of the blob; equal weights are stored once. N and M, the peak memory of a run, are
the attributes `weight_bytes` and `arena_bytes` too, which survive the levels below.

Where `@main` is a function on heap objects, whose functions call primitive ones in ways that only the run decides, each
primitive function gets the offsets of the weights it takes (`kernel_weights`), and the arena is scratch memory for one
of them at a time (`kernel_scratch`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i8,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.heap import ops as heap
from relay_mlir.dialects.relay.dims import Dim, all_atoms, plain, substitute
from relay_mlir.dialects.relay.sizes import SizeOf, Sizes
from relay_mlir.dialects.relay.types import numpy_dtype
from relay_mlir.dialects.relay.weights import RelayContext, WeightStore, weights_of
from relay_mlir.lowering.diagnostics import OpError
from relay_mlir.lowering.memory_layout import Interval, aligned, byte_size, constant_of, layout, lifetimes

ENTRY = "main"


@dataclass
class _Weights:
    """The blob: where each global of the module lies in it."""

    store: WeightStore | None
    globals: dict[str, memref.GlobalOp]
    offsets: dict[str, int] = field(default_factory=dict[str, int])
    entries: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    size: int = 0
    _contents: dict[tuple[Attribute, bytes], int] = field(default_factory=dict[tuple[Attribute, bytes], int])

    def offset(self, name: str) -> int:
        """The offset of a global, which is placed when first asked for."""
        if name not in self.offsets:
            self.offsets[name] = self._place(name)
        return self.offsets[name]

    def _place(self, name: str) -> int:
        type_ = self.globals[name].type
        key = self._key(name)
        digest = self._digest(key, type_)
        if digest is not None and (type_, digest) in self._contents:
            return self._contents[type_, digest]
        offset, size = self.size, byte_size(type_)
        self.entries.append((key, offset, size))
        self.size = aligned(offset + size)
        if digest is not None:
            self._contents[type_, digest] = offset
        return offset

    def _key(self, name: str) -> str:
        """The name in the weight store; a global with a value is put there."""
        value = self.globals[name].initial_value
        if not isinstance(value, DenseIntOrFPElementsAttr):
            return name
        if self.store is None:
            raise TypeError("this pass adds weights: run it with a RelayContext")
        import numpy as np

        type_ = value.type
        dtype = numpy_dtype(cast(Attribute, type_.get_element_type()))
        array = np.frombuffer(value.data.data, dtype)
        count = byte_size(self.globals[name].type) // dtype.itemsize
        return self.store.add_derived(name, np.broadcast_to(array, count).reshape(type_.get_shape()))

    def _digest(self, key: str, type_: Attribute) -> bytes | None:
        """A digest of the content, where another weight of this type may have the same; None where unknown."""
        if self.store is None or key not in self.store:
            return None
        if sum(1 for op in self.globals.values() if op.type == type_) < 2:
            return None
        import numpy as np

        content = np.ascontiguousarray(self.store[key]).reshape(-1).view(np.uint8)
        return hashlib.blake2b(content.data).digest()

    def attribute(self) -> ArrayAttr[Attribute]:
        """`weight_layout`."""
        return ArrayAttr(
            [
                ArrayAttr([StringAttr(key), IntegerAttr(offset, i64), IntegerAttr(size, i64)])
                for key, offset, size in self.entries
            ]
        )


@dataclass
class _Signature:
    """What a planned function wants beside its own arguments: these globals, then this many bytes.

    A number of bytes that depends on the arguments is a Dim of their sizes.
    """

    globals: list[str]
    scratch: int


class _Planner:
    """Plans the functions of a module, callees first."""

    def __init__(self, module: ModuleOp, weights: _Weights):
        self._weights = weights
        self._functions = {f.sym_name.data: f for f in module.ops if isinstance(f, func.FuncOp)}
        self._signatures: dict[str, _Signature] = {}
        self._active: list[str] = []
        self._heap_entry = next((op for op in module.ops if isinstance(op, heap.FuncOp) and _name(op) == ENTRY), None)
        self._module = module
        if ENTRY not in self._functions and self._heap_entry is None:
            raise VerifyException(f"plan-memory: the module has no function @{ENTRY}")

    def run(self) -> None:
        main: Operation
        if self._heap_entry is not None:
            main, arena = self._heap_entry, self._plan_kernels()
        else:
            main, arena = self._functions[ENTRY], self._plan(ENTRY).scratch
            if isinstance(arena, Dim):
                add_size_function(main, arena)
                arena = -1
        main.attributes["weight_layout"] = self._weights.attribute()
        main.attributes["weight_bytes"] = IntegerAttr(self._weights.size, i64)
        main.attributes["arena_bytes"] = IntegerAttr(arena, i64)

    def _plan_kernels(self) -> int:
        """Plans every function by itself; gives the largest scratch memory of one."""
        arena = 0
        for name, function in self._functions.items():
            planned = self._plan(name)
            offsets = [self._weights.offset(key) for key in planned.globals]
            function.attributes["kernel_weights"] = DenseArrayBase.from_list(i64, offsets)
            if planned.scratch:
                function.attributes["kernel_scratch"] = UnitAttr()
            arena = max(arena, planned.scratch)
        for op in self._module.walk():
            if isinstance(op, heap.WeightOp):
                op.properties["offset"] = IntegerAttr(self._weights.offset(op.key.string_value()), i64)
        return arena

    def _plan(self, name: str) -> _Signature:
        if name in self._active:
            raise OpError(
                self._functions[name], f"plan-memory: @{name} calls itself ({' -> '.join([*self._active, name])})"
            )
        if name not in self._signatures:
            self._active.append(name)
            function = self._functions[name]
            sizes = Sizes(function.body.block)
            for op in list(function.walk()):
                if isinstance(op, func.CallOp) and op.callee.string_value() in self._functions:
                    self._extend_call(op, self._plan(op.callee.string_value()), sizes)
            self._signatures[name] = self._plan_function(function, name == ENTRY)
            self._active.pop()
        return self._signatures[name]

    def _extend_call(self, call: func.CallOp, callee: _Signature, sizes: Sizes) -> None:
        """Hands the callee its weights and its scratch memory."""
        extra: list[SSAValue] = [
            _insert(memref.GetGlobalOp(name, self._weights.globals[name].type), call) for name in callee.globals
        ]
        if isinstance(callee.scratch, Dim):
            size = substitute(callee.scratch, sizes.argument_sizes(call.operands))
            indices = sizes.open_indices([size], Builder(InsertPoint.before(call)), call.location)
            extra.append(_insert(memref.AllocOp.get(i8, None, plain([size]), indices), call))
        elif callee.scratch:
            extra.append(_insert(memref.AllocOp.get(i8, shape=[callee.scratch]), call))
        call.operands = [*call.operands, *extra]

    def _plan_function(self, function: func.FuncOp, entry: bool) -> _Signature:
        block = function.body.block
        loads = [op for op in function.walk() if isinstance(op, memref.GetGlobalOp)]
        names = list(dict.fromkeys(op.name_.string_value() for op in loads))
        in_place = {name: _in_place_pairs(f) for name, f in self._functions.items()}
        sizes = Sizes(block)
        buffers, size = layout_by_unit(lifetimes(function, in_place, sizes))
        if entry:
            for name in names:
                self._weights.offset(name)
            weights = _argument(block, self._weights.size, "weights")
            arena = _argument(block, size, "arena")
            for op in loads:
                _replace(op, _view(weights, self._weights.offset(op.name_.string_value()), op.memref.type, op))
        else:
            values = {name: block.insert_arg(self._weights.globals[name].type, len(block.args)) for name in names}
            for op in loads:
                _replace(op, values[op.name_.string_value()])
            arena = _argument(block, size, "scratch") if size != 0 else None
        for interval, offset in buffers:
            self._place_buffer(interval, offset, arena, sizes)
        for op in list(function.walk()):
            if isinstance(op, memref.DeallocOp) or (isinstance(op, memref.AllocOp) and not _used(op.memref)):
                _erase(op)
        function.properties["function_type"] = FunctionType.from_lists(
            [arg.type for arg in block.args], list(function.function_type.outputs)
        )
        return _Signature(names, size)

    def _place_buffer(self, interval: Interval, offset: int, arena: SSAValue | None, sizes: Sizes) -> None:
        for alloc in interval.allocs:
            assert arena is not None
            shift = _shift(alloc, offset, sizes)
            _replace(alloc, _view(arena, shift, alloc.memref.type, alloc, alloc.dynamic_sizes))


def layout_by_unit(intervals: Sequence[Interval]) -> tuple[list[tuple[Interval, int]], int]:
    """An offset for each interval and the bytes of all: sizes that are counted in one unit have a region together.

    Static ones come first.
    """
    units = list(dict.fromkeys([1, *(interval.unit for interval in intervals if interval.unit != 1)]))
    placed: list[tuple[Interval, int]] = []
    start: int = 0
    for unit in units:
        found, size = layout([interval for interval in intervals if interval.unit == unit])
        placed += [(interval, start + offset * unit) for interval, offset in found]
        start = start + size * unit
    return placed, start


def add_size_function(main: func.FuncOp, arena: int) -> None:
    """Adds `@main.arena`: the bytes of the arena for the open sizes of the inputs, in order."""
    inputs = [
        SizeOf(argument, place)
        for argument in main.body.block.args
        if isinstance(argument.type, MemRefType)
        for place, size in enumerate(cast(MemRefType[Attribute], argument.type).get_shape())
        if size == DYNAMIC_INDEX
    ]
    shapes = next((op for op in main.parent.ops if _is_shape_function(op)), None) if main.parent else None
    # Without a shape function that says how many there are: as many as are asked for.
    asked = [place + 1 for place, size in enumerate(inputs) if size in all_atoms(arena)]
    used = inputs[: max(asked, default=0) if shapes is None else len(shapes.body.block.args)]
    block = Block(arg_types=[IndexType()] * len(used))
    places = dict(zip(used, block.args, strict=True))

    def of(atom: Hashable) -> int:
        if not isinstance(atom, SizeOf) or atom not in places:
            raise OpError(main, "plan-memory: the size of the arena depends on more than the sizes of the inputs")
        return Dim.atom(places[atom])

    builder = Builder(InsertPoint.at_end(block))
    size = Sizes().index(substitute(arena, of), builder, main.location)
    builder.insert(func.ReturnOp(size))
    made = func.FuncOp(f"{ENTRY}.arena", ([IndexType()] * len(used), [IndexType()]), Region(block), "private")
    made.location = main.location
    cast(Block, main.parent).insert_op_after(made, main)


def _is_shape_function(op: Operation) -> TypeGuard[func.FuncOp]:
    return isinstance(op, func.FuncOp) and op.sym_name.data == f"{ENTRY}.shapes"


def _shift(alloc: memref.AllocOp, offset: int, sizes: Sizes) -> int | SSAValue:
    """The offset of a buffer; of one made by iterations that run at the same time, that of its iteration."""
    if isinstance(offset, Dim):
        return sizes.index(offset, Builder(InsertPoint.before(alloc)), alloc.location)
    shift: SSAValue | None = None
    if DYNAMIC_INDEX in alloc.memref.type.get_shape():
        return offset
    size = aligned(byte_size(alloc.memref.type))
    for loop in parallel_loops(alloc):
        for low, high, step, position in zip(
            loop.lowerBound, loop.upperBound, loop.step, loop.body.block.args, strict=True
        ):
            trips = -(-(constant_of(high) - constant_of(low)) // constant_of(step))
            from_low = _insert(arith.SubiOp(position, low), alloc)
            iteration = _insert(arith.DivUIOp(from_low, step), alloc)
            if shift is None:
                shift = iteration
            else:
                scaled = _insert(arith.MuliOp(shift, _constant(trips, alloc)), alloc)
                shift = _insert(arith.AddiOp(scaled, iteration), alloc)
    if shift is None:
        return offset
    scaled = _insert(arith.MuliOp(shift, _constant(size, alloc)), alloc)
    return _insert(arith.AddiOp(scaled, _constant(offset, alloc)), alloc)


def parallel_loops(op: Operation) -> list[scf.ParallelOp]:
    """The scf.parallel operations around an operation, outermost first."""
    found: list[scf.ParallelOp] = []
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, scf.ParallelOp):
            found.insert(0, parent)
        parent = parent.parent_op()
    return found


def _in_place_pairs(function: func.FuncOp) -> list[tuple[int, int]]:
    """The (input, output) arguments of a function that may be one buffer."""
    attribute = function.attributes.get("in_place")
    if not isinstance(attribute, ArrayAttr):
        return []
    return [
        cast(tuple[int, int], tuple(cast(DenseArrayBase[IntegerType], pair).get_values()))
        for pair in cast(ArrayAttr[Attribute], attribute)
    ]


def _name(op: heap.FuncOp) -> str:
    return op.sym_name.data


def _used(value: SSAValue) -> bool:
    return any(True for _ in value.uses)


def _argument(block: Block, size: int, name: str) -> SSAValue:
    argument = block.insert_arg(MemRefType(i8, plain([size])), len(block.args))
    argument.name_hint = name
    return argument


def _insert(op: Operation, before: Operation) -> SSAValue:
    op.location = before.location
    Rewriter.insert_op(op, InsertPoint.before(before))
    return op.results[0]


def _constant(value: int, before: Operation) -> SSAValue:
    return _insert(arith.ConstantOp(IntegerAttr(value, IndexType())), before)


def _view(
    memory: SSAValue, offset: int | SSAValue, type_: Attribute, before: Operation, sizes: Sequence[SSAValue] = ()
) -> SSAValue:
    shift = _constant(offset, before) if isinstance(offset, int) else offset
    return _insert(memref.ViewOp(memory, shift, list(sizes), cast(MemRefType[Attribute], type_)), before)


def _replace(op: Operation, value: SSAValue) -> None:
    value.name_hint = value.name_hint or op.results[0].name_hint
    op.results[0].replace_all_uses_with(value)
    _erase(op)


def _erase(op: Operation) -> None:
    cast(Block, op.parent).erase_op(op)


@dataclass(frozen=True)
class PlanMemoryPass(ModulePass):
    """Places every temporary in one arena and every weight in one blob, both arguments of @main."""

    name = "plan-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = {g.sym_name.data: g for g in op.ops if isinstance(g, memref.GlobalOp)}
        store = weights_of(ctx) if isinstance(ctx, RelayContext) else None
        _Planner(op, _Weights(store, found)).run()
        used = {
            symbol.string_value()
            for nested in op.walk()
            for symbol in nested.properties.values()
            if isinstance(symbol, SymbolRefAttr)
        }
        for name, global_op in found.items():
            if name not in used:
                _erase(global_op)
