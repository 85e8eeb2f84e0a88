"""relay-to-heap: functions with closures, data types, matches and references become functions on heap objects.

Runs after fuse-ops. Primitive functions stay as they are, and are run by `heap.kernel`. Every other function, and every
closure, becomes a `heap.func` of blocks and branches. A closure's function takes what it captures in front of its
arguments; a call of a closure that is known goes to it directly, and no closure is made where it is only called.
`@main` becomes the entry of the program, which reads and writes the caller's arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, cf, memref
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    TupleType,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass

from relay_mlir.dialects import upstream
from relay_mlir.dialects.heap import ops as heap
from relay_mlir.dialects.heap.types import OBJECT
from relay_mlir.dialects.relay.core import (
    CallOp,
    ConstantOp,
    FuncOp,
    IfOp,
    ReturnOp,
    TupleGetItemOp,
    TupleOp,
    WeightOp,
    YieldOp,
)
from relay_mlir.dialects.relay.language import (
    AdtOp,
    ApplyOp,
    ConstructOp,
    ConstructorOp,
    ConstructorValueOp,
    FnOp,
    GlobalOp,
    MatchOp,
    RefCreateOp,
    RefReadOp,
    RefWriteOp,
)
from relay_mlir.dialects.relay.linalg_builder import lowered_type
from relay_mlir.dialects.relay.types import Tensor
from relay_mlir.lowering.compile_matches import MatchCompiler, Part
from relay_mlir.lowering.diagnostics import OpError
from relay_mlir.lowering.heap_blocks import erase_dead, join_blocks
from relay_mlir.lowering.heap_values import HeapBuilder, field_type, value_type
from relay_mlir.lowering.relay_to_linalg import KEPT_ATTRIBUTES
from relay_mlir.lowering.rewriting import SymbolNames

ENTRY = "main"


@dataclass
class _Lambda:
    """A closure that the program makes: its function, and the values it captures."""

    name: str
    captured: list[SSAValue]
    op: FnOp


@dataclass
class _Join:
    """Where a region goes on: with its values in the arguments of a block; None where it ends the function."""

    block: Block | None


@dataclass
class _Task:
    """A relay block to be written from an operation on, into a heap block."""

    next: Operation | None
    block: Block
    ending: _Join


@dataclass
class _Module:
    """What the functions share: declarations, names, entries of closures, weights."""

    op: ModuleOp
    names: SymbolNames
    functions: dict[str, FuncOp]
    constructors: dict[str, ConstructorOp]
    lambdas: dict[SSAValue, _Lambda] = field(default_factory=dict[SSAValue, _Lambda])
    pending: list[_Lambda] = field(default_factory=list[_Lambda])
    entries: dict[str, str] = field(default_factory=dict[str, str])
    globals: dict[str, memref.GlobalOp] = field(default_factory=dict[str, memref.GlobalOp])
    constants: dict[Attribute, str] = field(default_factory=dict[Attribute, str])
    pointers: dict[SSAValue, tuple[str, Tensor]] = field(default_factory=dict[SSAValue, tuple[str, Tensor]])
    """The global of each relay value that is a weight or constant: every function can read it."""
    scalars: dict[SSAValue, Attribute] = field(default_factory=dict[SSAValue, Attribute])
    """The value of each constant of rank 0."""
    made: list[heap.FuncOp] = field(default_factory=list[heap.FuncOp])

    def renamed(self, name: str) -> str:
        """The name of the function of `@main`, whose own is that of the entry."""
        return "main.body" if name == ENTRY else name

    def weight(self, key: str, type_: Tensor, value: DenseIntOrFPElementsAttr | None = None) -> None:
        """Makes the global of a weight or of a constant."""
        if key not in self.globals:
            lowered = lowered_type(type_)
            stored = MemRefType(lowered.element_type, lowered.get_shape())
            initial = UnitAttr() if value is None else value
            self.globals[key] = memref.GlobalOp.get(StringAttr(key), stored, initial, constant=UnitAttr())

    def constant(self, value: DenseIntOrFPElementsAttr, type_: Tensor) -> str:
        """The global of a dense constant."""
        if value not in self.constants:
            name = self.names.fresh("constant")
            self.constants[value] = name
            self.weight(name, type_, DenseIntOrFPElementsAttr(cast(Any, lowered_type(type_)), value.data))
        return self.constants[value]

    def entry(self, function: str, captured: Sequence[Attribute], types: Sequence[Attribute], at: Operation) -> str:
        """The entry of the closures of a heap function: takes the closure and words, calls the function."""
        if function not in self.entries:
            name = self.names.fresh(f"{function}.entry")
            self.entries[function] = name
            inputs = [OBJECT, *(field_type(type_, at) for type_ in types)]
            made = heap.FuncOp(name, FunctionType.from_lists(inputs, [OBJECT]))
            made.location = at.location
            build = HeapBuilder(made.body.block, at)
            closure, *arguments = made.body.block.args
            count = len(captured) + 1
            kept = [
                build.convert(
                    build.value(heap.FieldOp(closure, i + 1, count, field_type(type_, at))), value_type(type_, at)
                )
                for i, type_ in enumerate(captured)
            ]
            given = [build.convert(a, value_type(t, at)) for a, t in zip(arguments, types, strict=True)]
            build.add(heap.ReturnOp(build.value(heap.CallOp(function, [*kept, *given]))))
            self.made.append(made)
        return self.entries[function]

    def constructor_entry(self, name: str, at: Operation) -> str:
        """The entry of the closures of a constructor."""
        if name not in self.entries:
            declared = self.constructors[name]
            made_name = self.names.fresh(f"{name}.entry")
            self.entries[name] = made_name
            inputs = [OBJECT, *(field_type(type_, at) for type_ in declared.fields)]
            made = heap.FuncOp(made_name, FunctionType.from_lists(inputs, [OBJECT]))
            made.location = at.location
            build = HeapBuilder(made.body.block, at)
            build.add(heap.ReturnOp(build.value(heap.RecordOp(declared.tag, made.body.block.args[1:]))))
            self.made.append(made)
        return self.entries[name]


class _Function:
    """Writes one function: the body of a relay.func or of a relay.fn."""

    def __init__(self, module: _Module, region: Region):
        self.module = module
        self.region = region
        self.values: dict[SSAValue, SSAValue] = {}
        self.tuples: dict[SSAValue, list[SSAValue]] = {}
        """The fields of tuples that this function makes, and of calls of several results."""
        self.tasks: list[_Task] = []

    def write(self, block: Block, target: Block) -> None:
        """Writes a relay block and all within."""
        self.tasks.append(_Task(block.first_op, target, _Join(None)))
        while self.tasks:
            task = self.tasks.pop()
            self._block(task)

    def _new_block(self, types: Sequence[Attribute] = ()) -> Block:
        block = Block(arg_types=types)
        self.region.add_block(block)
        return block

    def _block(self, task: _Task) -> None:
        op, block = task.next, task.block
        while op is not None:
            match op:
                case IfOp() | MatchOp():
                    following = self._branches(op, block, task.ending)
                    if following is None:
                        return
                    block = following
                case ReturnOp() | YieldOp():
                    self._end(op, block, task.ending)
                    return
                case _:
                    self._operation(op, HeapBuilder(block, op))
            op = op.next_op

    # Values.

    def _value(self, value: SSAValue, build: HeapBuilder) -> SSAValue:
        """The heap value that stands for a relay value."""
        found = self.values.get(value)
        if found is not None:
            return found
        if value in self.module.scalars:
            return build.value(arith.ConstantOp(cast(Any, self.module.scalars[value])))
        if value in self.module.pointers:
            key, tensor = self.module.pointers[value]
            pointer = build.value(heap.WeightOp(key))
            if not tensor.get_shape():
                return build.value(heap.LoadOp(pointer, lowered_type(tensor).element_type))
            return build.value(heap.ViewOp(pointer, lowered_type(tensor)))
        if value in self.module.lambdas:
            return self._closure(self.module.lambdas[value], build)
        raise OpError(build.source, "uses a value that this function does not have")

    def _word(self, value: SSAValue, build: HeapBuilder) -> SSAValue:
        return build.word(self._value(value, build))

    def _define(self, result: SSAValue, word: SSAValue, build: HeapBuilder) -> None:
        """Records what stands for a result, given as a word."""
        made = build.convert(word, value_type(result.type, build.source))
        made.name_hint = made.name_hint or result.name_hint
        self.values[result] = made

    def _closure(self, made: _Lambda, build: HeapBuilder) -> SSAValue:
        """A closure as an object."""
        captured = [self._word(value, build) for value in made.captured]
        types = [value.type for value in made.captured]
        entry = self.module.entry(made.name, types, list(made.op.function_type.inputs), made.op)
        return build.value(heap.ClosureOp(entry, captured))

    # Control.

    def _is_tail(self, op: Operation) -> bool:
        """Whether the results of an operation are all that the block around it gives."""
        last = op.next_op
        return isinstance(last, ReturnOp | YieldOp) and list(last.operands) == list(op.results)

    def _branches(self, op: IfOp | MatchOp, block: Block, ending: _Join) -> Block | None:
        """Writes a conditional; gives the block after it, None where nothing comes after."""
        build = HeapBuilder(block, op)
        following: Block | None = None
        if not self._is_tail(op):
            following = self._new_block([value_type(result.type, op) for result in op.results])
            self.values.update(zip(op.results, following.args, strict=True))
            ending = _Join(following)
        match op:
            case IfOp():
                then, orelse = self._new_block(), self._new_block()
                build.add(cf.ConditionalBranchOp(self._value(op.condition, build), then, [], orelse, []))
                targets = [then, orelse]
                sources = [op.then_region.block, op.else_region.block]
            case MatchOp():
                sources = [region.block for region in op.cases]
                targets = [self._new_block([value_type(arg.type, op) for arg in source.args]) for source in sources]
                scrutinee = Part(self._value(op.scrutinee, build), op.scrutinee.type, self.tuples.get(op.scrutinee))
                MatchCompiler(op, self.module.constructors, targets, self._new_block).compile(block, scrutinee)
        for source, target in zip(sources, targets, strict=True):
            self.values.update(zip(source.args, target.args, strict=True))
            self.tasks.append(_Task(source.first_op, target, ending))
        return following

    def _end(self, op: ReturnOp | YieldOp, block: Block, ending: _Join) -> None:
        build = HeapBuilder(block, op)
        if ending.block is not None:
            values = [self._value(value, build) for value in op.operands]
            build.add(cf.BranchOp(ending.block, *values))
        elif len(op.operands) == 1:
            build.add(heap.ReturnOp(self._word(op.operands[0], build)))
        else:
            words = [self._word(value, build) for value in op.operands]
            build.add(heap.ReturnOp(build.value(heap.RecordOp(0, words))))

    # Operations.

    def _operation(self, op: Operation, build: HeapBuilder) -> None:
        match op:
            case ConstantOp():
                self._constant(op)
            case WeightOp():
                tensor = op.result.type
                self.module.weight(op.key.data, tensor)
                self.module.pointers[op.result] = op.key.data, tensor
            case CallOp():
                self._call(op, build)
            case TupleOp():
                fields = [self._value(value, build) for value in op.fields]
                self.tuples[op.result] = fields
                self._define(op.result, build.value(heap.RecordOp(0, [build.word(v) for v in fields])), build)
            case TupleGetItemOp():
                self._projection(op, build)
            case ConstructOp():
                tag = self._constructor(op, op.constructor.string_value()).tag
                words = [self._word(value, build) for value in op.fields]
                self._define(op.result, build.value(heap.RecordOp(tag, words)), build)
            case FnOp():
                self._lambda(op, build)
            case GlobalOp() | ConstructorValueOp():
                self.values[op.result] = self._function_value(op, build)
            case ApplyOp():
                self._apply(op, build)
            case RefCreateOp():
                self._define(op.result, build.value(heap.RefCreateOp(self._word(op.value, build))), build)
            case RefReadOp():
                ref = self._value(op.ref, build)
                word = build.value(heap.RefReadOp(ref, field_type(op.result.type, op)))
                self._define(op.result, word, build)
            case RefWriteOp():
                build.add(heap.RefWriteOp(self._value(op.ref, build), self._word(op.value, build)))
                self._define(op.result, build.value(heap.RecordOp(0, [])), build)
            case _:
                raise OpError(op, "has no heap form; run fuse-ops first")

    def _constructor(self, op: Operation, name: str) -> ConstructorOp:
        if name not in self.module.constructors:
            raise OpError(op, f"no data type of this module has a constructor @{name}")
        return self.module.constructors[name]

    def _constant(self, op: ConstantOp) -> None:
        tensor = op.result.type
        if tensor.get_shape():
            self.module.pointers[op.result] = self.module.constant(op.value, tensor), tensor
            return
        lowered = lowered_type(tensor)
        (number,) = DenseIntOrFPElementsAttr(cast(Any, lowered), op.value.data).get_values()
        element = lowered.element_type
        attribute: Attribute
        if isinstance(element, IntegerType):
            attribute = IntegerAttr(int(number), cast(IntegerType, element), truncate_bits=True)
        else:
            attribute = FloatAttr(float(cast(float, number)), cast(AnyFloat, element))
        self.module.scalars[op.result] = attribute

    def _projection(self, op: TupleGetItemOp, build: HeapBuilder) -> None:
        index = op.index.value.data
        known = self.tuples.get(op.tuple_value)
        if known is not None:
            self.values[op.result] = known[index]
            return
        types = list(cast(TupleType, op.tuple_value.type).types)
        word = heap.FieldOp(self._value(op.tuple_value, build), index, len(types), field_type(types[index], op))
        self._define(op.result, build.value(word), build)

    def _call(self, op: CallOp, build: HeapBuilder) -> None:
        callee = self.module.functions[op.callee.string_value()]
        if callee.primitive:
            self._kernel(op, callee, build)
            return
        arguments = [
            build.convert(self._value(value, build), value_type(type_, op))
            for value, type_ in zip(op.arguments, callee.function_type.inputs, strict=True)
        ]
        returned = field_type(op.results[0].type, op) if len(op.results) == 1 else OBJECT
        result = build.value(heap.CallOp(self.module.renamed(callee.sym_name.data), arguments, returned))
        if len(op.results) == 1:
            self._define(op.results[0], result, build)
            return
        for index, made in enumerate(op.results):
            word = heap.FieldOp(result, index, len(op.results), field_type(made.type, op))
            self._define(made, build.value(word), build)

    def _kernel(self, op: CallOp, callee: FuncOp, build: HeapBuilder) -> None:
        arguments: list[SSAValue] = []
        for value in op.arguments:
            if value in self.module.pointers:
                arguments.append(build.value(heap.WeightOp(self.module.pointers[value][0])))
            else:
                arguments.append(self._value(value, build))
        type_ = callee.function_type
        for each in (*type_.inputs, *type_.outputs):
            if not isinstance(each, TensorType):
                raise OpError(op, f"a primitive function takes and gives tensors, not {each}")
        tensors = FunctionType.from_lists(
            [lowered_type(cast(Tensor, each)) for each in type_.inputs],
            [lowered_type(cast(Tensor, each)) for each in type_.outputs],
        )
        results = [value_type(result.type, op) for result in op.results]
        made = build.add(heap.KernelOp(callee.sym_name.data, arguments, tensors, results))
        for result, value in zip(op.results, made.results, strict=True):
            value.name_hint = result.name_hint
            self.values[result] = value

    # Functions as values.

    def _lambda(self, op: FnOp, build: HeapBuilder) -> None:
        captured = [value for value in _free_values(op) if not self._is_closed(value)]
        made = _Lambda(self.module.names.fresh(f"{self._name()}.fn"), captured, op)
        self.module.lambdas[op.result] = made
        self.module.pending.append(made)
        if op.self_argument is not None:
            self.module.lambdas[op.self_argument] = made
        if captured:
            self.values[op.result] = self._closure(made, build)

    def _is_closed(self, value: SSAValue) -> bool:
        """Whether a value needs no capturing: a closure that captures nothing, a weight, a constant."""
        if value in self.module.pointers or value in self.module.scalars:
            return True
        made = self.module.lambdas.get(value)
        return made is not None and not made.captured and value not in self.values

    def _name(self) -> str:
        return cast(heap.FuncOp, self.region.parent).sym_name.data

    def _function_value(self, op: GlobalOp | ConstructorValueOp, build: HeapBuilder) -> SSAValue:
        if isinstance(op, ConstructorValueOp):
            name = op.constructor.string_value()
            declared = self._constructor(op, name)
            if not declared.fields.data:
                return build.value(heap.RecordOp(declared.tag, []))
            return build.value(heap.ClosureOp(self.module.constructor_entry(name, op), []))
        callee = self.module.functions[op.function.string_value()]
        name = self.module.renamed(callee.sym_name.data)
        if callee.primitive:
            raise OpError(op, f"@{name} is primitive, and cannot be a value")
        return build.value(heap.ClosureOp(self.module.entry(name, [], list(callee.function_type.inputs), callee), []))

    def _apply(self, op: ApplyOp, build: HeapBuilder) -> None:
        known = self.module.lambdas.get(op.callee)
        returned = field_type(op.result.type, op)
        if known is not None and all(value in self.values for value in known.captured):
            # The values that a closure captured are still there: they go along as arguments.
            given = [build.convert(self._value(value, build), value_type(value.type, op)) for value in known.captured]
            for value, type_ in zip(op.arguments, known.op.function_type.inputs, strict=True):
                given.append(build.convert(self._value(value, build), value_type(type_, op)))
            result = build.value(heap.CallOp(known.name, given, returned))
        elif isinstance(op.callee, OpResult) and isinstance(op.callee.op, GlobalOp):
            callee = self.module.functions[op.callee.op.function.string_value()]
            given = [
                build.convert(self._value(value, build), value_type(type_, op))
                for value, type_ in zip(op.arguments, callee.function_type.inputs, strict=True)
            ]
            result = build.value(heap.CallOp(self.module.renamed(callee.sym_name.data), given, returned))
        elif isinstance(op.callee, OpResult) and isinstance(op.callee.op, ConstructorValueOp):
            declared = self._constructor(op, op.callee.op.constructor.string_value())
            result = build.value(heap.RecordOp(declared.tag, [self._word(v, build) for v in op.arguments]))
        else:
            words = [self._word(value, build) for value in op.arguments]
            result = build.value(heap.ApplyOp(self._value(op.callee, build), words, returned))
        self._define(op.result, result, build)


def _free_values(op: FnOp) -> list[SSAValue]:
    """The values from outside that a closure uses, in order of use."""
    inside: set[Block] = {op.body.block}
    for inner in op.walk():
        inside.update(block for region in inner.regions for block in region.blocks)
    found: dict[SSAValue, None] = {}
    for inner in op.walk():
        if inner is not op:
            for operand in inner.operands:
                owner = operand.owner.parent if isinstance(operand.owner, Operation) else operand.owner
                if owner not in inside:
                    found[operand] = None
    return list(found)


def _write_function(module: _Module, op: FuncOp) -> None:
    inputs = [value_type(type_, op) for type_ in op.function_type.inputs]
    made = heap.FuncOp(module.renamed(op.sym_name.data), FunctionType.from_lists(inputs, [OBJECT]))
    made.location = op.location
    module.made.append(made)
    written = _Function(module, made.body)
    for source, argument in zip(op.args, made.body.block.args, strict=True):
        argument.name_hint = source.name_hint
        written.values[source] = argument
    written.write(op.block, made.body.block)


def _write_lambda(module: _Module, made: _Lambda) -> None:
    op = made.op
    types = [*(value.type for value in made.captured), *op.function_type.inputs]
    inputs = [value_type(type_, op) for type_ in types]
    function = heap.FuncOp(made.name, FunctionType.from_lists(inputs, [OBJECT]))
    function.location = op.location
    module.made.append(function)
    written = _Function(module, function.body)
    for source, argument in zip([*made.captured, *op.parameters], function.body.block.args, strict=True):
        argument.name_hint = source.name_hint
        written.values[source] = argument
    written.write(op.body.block, function.body.block)


def _write_entry(module: _Module, op: FuncOp) -> None:
    """The entry of the program: from the caller's arrays to `@main.body` and back.

    Where `@main` takes or gives more than tensors the caller's arrays hold a word each, and one word is the result.
    """
    entry = heap.FuncOp(ENTRY, FunctionType.from_lists([], []), private=False)
    entry.location = op.location
    entry.attributes |= {name: op.attributes[name] for name in KEPT_ATTRIBUTES if name in op.attributes}
    build = HeapBuilder(entry.body.block, op)
    types = [*op.function_type.inputs, *op.function_type.outputs]
    if all(isinstance(type_, TensorType) for type_ in types):
        arguments = [_array_value(build, i, cast(Tensor, t)) for i, t in enumerate(op.function_type.inputs)]
        result = build.value(heap.CallOp(module.renamed(ENTRY), arguments))
        _store_outputs(build, result, cast("list[Tensor]", list(op.function_type.outputs)))
    else:
        arguments: list[SSAValue] = []
        for index, type_ in enumerate(op.function_type.inputs):
            word = build.value(heap.LoadOp(build.value(heap.ArrayOp("input", index)), field_type(type_, op)))
            arguments.append(build.convert(word, value_type(type_, op)))
        result = build.value(heap.CallOp(module.renamed(ENTRY), arguments))
        build.add(heap.GiveOp(result, build.value(heap.ArrayOp("output", 0))))
    build.add(heap.ReturnOp())
    module.made.append(entry)


def _array_value(build: HeapBuilder, index: int, type_: Tensor) -> SSAValue:
    """The tensor in an array of the caller."""
    tensor = lowered_type(type_)
    pointer = build.value(heap.ArrayOp("input", index))
    if tensor.get_shape():
        return build.value(heap.ViewOp(pointer, tensor))
    return build.value(heap.LoadOp(pointer, tensor.element_type))


def _store_outputs(build: HeapBuilder, result: SSAValue, types: Sequence[Tensor]) -> None:
    """Copies the result of `@main.body` into the arrays of the caller."""
    for index, type_ in enumerate(types):
        word = result
        if len(types) != 1:
            word = build.value(heap.FieldOp(result, index, len(types), field_type(type_, build.source)))
        value = build.convert(word, value_type(type_, build.source))
        build.add(heap.StoreOp(value, build.value(heap.ArrayOp("output", index)), lowered_type(type_)))


def _reachable(made: Sequence[heap.FuncOp]) -> set[str]:
    """The functions that the entry needs."""
    functions = {function.sym_name.data: function for function in made}
    found: set[str] = set()
    pending = [ENTRY]
    while pending:
        name = pending.pop()
        if name in found:
            continue
        found.add(name)
        if name in functions:
            for op in functions[name].walk():
                if isinstance(op, heap.CallOp | heap.ClosureOp | heap.KernelOp):
                    pending.append(op.callee.string_value())
    return found


@dataclass(frozen=True)
class RelayToHeapPass(ModulePass):
    """Turns every function that is not primitive, and every closure, into functions on heap objects."""

    name = "relay-to-heap"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        upstream.load("arith", "memref")
        functions = {f.sym_name.data: f for f in op.ops if isinstance(f, FuncOp)}
        declared = [each for each in op.ops if isinstance(each, AdtOp)]
        constructors = {made.sym_name.data: made for adt in declared for made in adt.constructors}
        module = _Module(op, SymbolNames(op), functions, constructors)
        written = [f for f in functions.values() if not f.primitive]
        for function in written:
            _write_function(module, function)
        while module.pending:
            _write_lambda(module, module.pending.pop())
        if ENTRY in functions:
            _write_entry(module, functions[ENTRY])
        block = op.body.block
        for made in module.made:
            join_blocks(made)
            erase_dead(made)
        needed = _reachable(module.made) if ENTRY in functions else {m.sym_name.data for m in module.made}
        unused = [f for f in functions.values() if f.primitive and ENTRY in functions and f.sym_name.data not in needed]
        for old in [*written, *declared, *unused]:
            block.erase_op(old)
        block.add_ops([made for made in module.made if made.sym_name.data in needed])
        if module.globals and (first := block.first_op) is not None:
            block.insert_ops_before(list(module.globals.values()), first)
