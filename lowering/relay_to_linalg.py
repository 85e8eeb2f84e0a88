"""relay-to-linalg: each operator becomes the linalg form it defines, each relay.func a func.func on tensors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, bufferization, func, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    FunctionType,
    LocationAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    TupleType,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects import upstream
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
from relay_mlir.dialects.relay.dims import Dim, substitute
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, lowered_type
from relay_mlir.dialects.relay.op import RelayOp
from relay_mlir.dialects.relay.sizes import Requirement, Sizes
from relay_mlir.dialects.relay.types import ANY, Tensor, is_static, tensor
from relay_mlir.lowering.diagnostics import OpError
from relay_mlir.lowering.shape_function import Summary, shape_function

Values = tuple[SSAValue, ...]
"""What stands for one relay value: one tensor, or the flattened fields of a tuple."""

KEPT_ATTRIBUTES = ("input_names", "output_names", "weights")
"""Function attributes that survive every level."""


def flat_types(type_: Attribute, where: Operation) -> list[Tensor]:
    """The lowered tensor types that stand for a relay type."""
    if isinstance(type_, TupleType):
        return [flat for field in type_.types.data for flat in flat_types(field, where)]
    if not isinstance(type_, TensorType):
        raise OpError(where, f"a value of type {type_} has no linalg form")
    return [lowered_type(cast(Tensor, type_))]


@dataclass
class _Globals:
    """The memref.global of each weight, made when first read."""

    module: Block
    made: dict[str, MemRefType]

    def type_of(self, op: WeightOp) -> MemRefType:
        key, tensor = op.key.data, lowered_type(op.result.type)
        type_ = MemRefType(tensor.element_type, tensor.get_shape())
        if self.made.setdefault(key, type_) != type_:
            raise OpError(op, f"weight '{key}' is read as {self.made[key]} and as {type_}")
        return type_

    def insert(self) -> None:
        """Puts the globals at the head of the module."""
        ops = [
            memref.GlobalOp.get(StringAttr(key), type_, UnitAttr(), constant=UnitAttr())
            for key, type_ in self.made.items()
        ]
        if ops:
            first = self.module.first_op
            assert first is not None
            self.module.insert_ops_before(ops, first)


class _Lowering:
    """Lowers the operations of one block after the other into a new block."""

    def __init__(self, weights: _Globals, summaries: dict[str, Summary], target: Block):
        self.weights = weights
        self.summaries = summaries
        self.values: dict[SSAValue, Values] = {}
        self.sizes = Sizes(target)

    def operands(self, op: Operation) -> list[SSAValue]:
        return [flat for operand in op.operands for flat in self.values[operand]]

    def define(self, op: Operation, flat: Sequence[SSAValue]) -> None:
        """Records the values that stand for the results of an operation."""
        rest = list(flat)
        for result in op.results:
            count = len(flat_types(result.type, op))
            self.values[result] = tuple(rest[:count])
            if count == 1 and result.name_hint:
                rest[0].name_hint = result.name_hint
            del rest[:count]

    def block(self, source: Block, target: Block, terminator: type[IRDLOperation]) -> None:
        builder = Builder(InsertPoint.at_end(target))
        for op in source.ops:
            self.operation(op, builder, terminator)

    def operation(self, op: Operation, builder: Builder, terminator: type[IRDLOperation]) -> None:
        match op:
            case RelayOp():
                self.operator(op, builder)
            case ConstantOp():
                self.define(op, [self.constant(op, builder)])
            case WeightOp():
                self.define(op, [self.weight(op, builder)])
            case CallOp():
                self.call(op, builder)
            case TupleOp():
                self.values[op.result] = tuple(self.operands(op))
            case TupleGetItemOp():
                fields = cast(TupleType, op.tuple_value.type).types.data
                index = op.index.value.data
                start = sum(len(flat_types(field, op)) for field in fields[:index])
                count = len(flat_types(fields[index], op))
                self.values[op.result] = self.values[op.tuple_value][start : start + count]
            case IfOp():
                self.conditional(op, builder)
            case ReturnOp() | YieldOp():
                self.insert(builder, terminator.build(operands=[self.operands(op)]), op.location)
            case _:
                raise OpError(op, "has no linalg form")

    @staticmethod
    def insert(builder: Builder, op: Operation, location: LocationAttr) -> Operation:
        op.location = location
        return builder.insert(op)

    def call(self, op: CallOp, builder: Builder) -> None:
        name, arguments = op.callee.string_value(), self.operands(op)
        types = [flat for result in op.results for flat in flat_types(result.type, op)]
        call = func.CallOp(name, arguments, types)
        results = self.insert(builder, call, op.location).results
        if name in self.summaries:
            summary = self.summaries[name]
            of = self.sizes.argument_sizes(arguments)
            for result, shape in zip(results, summary.results, strict=True):
                self.sizes.shapes[result] = tuple(substitute(size, of) for size in shape)
            for needed in summary.requirements:
                self.require(needed, of, op)
        self.define(op, results)

    def require(self, needed: Requirement, of: Callable[[Hashable], int], op: Operation) -> None:
        """What a called function demands, in terms of the sizes here."""
        left, right = substitute(needed.left, of), substitute(needed.right, of)
        try:
            self.sizes.require(left, right, needed.location, needed.at_most)
        except VerifyException as e:
            raise OpError(op, str(e)) from e

    def known_types(self, op: RelayOp) -> tuple[list[Tensor], list[Tensor]]:
        """The types of operands and results, open dimensions as what they depend on."""
        operands = [
            tensor(self.sizes.shape(self.values[operand][0]), type_.element_type)
            for operand, type_ in zip(op.operands, op.operand_types, strict=True)
        ]
        found: list[Tensor] = []
        for inferred, declared in zip(op.operator.infer(operands), op.result_tensors, strict=True):
            shape: list[int] = []
            for axis, (size, wanted) in enumerate(zip(inferred.get_shape(), declared.get_shape(), strict=True)):
                if size == ANY and wanted == ANY and not isinstance(size, Dim):
                    raise VerifyException(
                        f"dimension {axis} of the result, {declared}, cannot be told from the sizes of the operands; "
                        "bind the model's dynamic input dimensions with --shape NAME=1x3x224x224"
                    )
                if isinstance(size, Dim) and wanted != ANY:
                    self.sizes.require(size, wanted, op.location)
                shape.append(wanted if size == ANY and wanted != ANY else size)
            found.append(tensor(shape, declared.element_type))
        return operands, found

    def operator(self, op: RelayOp, builder: Builder) -> None:
        operand_types, result_types = op.operand_types, op.result_tensors
        for type_ in (*operand_types, *result_types):
            flat_types(type_, op)
        is_open = not all(is_static(type_.get_shape()) for type_ in (*operand_types, *result_types))
        try:
            if is_open:
                operand_types, result_types = self.known_types(op)
            build = LinalgBuilder(builder, op.location, operand_types, self.sizes)
            results = op.operator.lower(build, self.operands(op), result_types)
        except VerifyException as e:
            raise OpError(op, str(e)) from e
        except TypeError as e:
            if not is_open:
                raise
            raise OpError(op, f"has no lower form for dimensions that are not known at compile time ({e})") from e
        for value, type_ in zip(results, result_types, strict=False):
            if is_open and [isinstance(size, Dim) for size in self.sizes.shape(value)] == [
                isinstance(size, Dim) for size in type_.get_shape()
            ]:
                self.sizes.shapes[value] = type_.get_shape()
        expected = [lowered_type(type_) for type_ in result_types]
        if [value.type for value in results] != expected:
            found = ", ".join(str(value.type) for value in results)
            raise OpError(op, f"lowers to {found}, but its type is {', '.join(map(str, expected))}")
        self.define(op, results)

    def constant(self, op: ConstantOp, builder: Builder) -> SSAValue:
        type_ = lowered_type(op.result.type)
        value = DenseIntOrFPElementsAttr(cast(Any, type_), op.value.data)
        return self.insert(builder, arith.ConstantOp(value), op.location).results[0]

    def weight(self, op: WeightOp, builder: Builder) -> SSAValue:
        type_ = self.weights.type_of(op)
        buffer = self.insert(builder, memref.GetGlobalOp(op.key.data, type_), op.location).results[0]
        return self.insert(builder, bufferization.ToTensorOp(buffer, restrict=True), op.location).results[0]

    def conditional(self, op: IfOp, builder: Builder) -> None:
        (condition,) = self.values[op.condition]
        scalar = LinalgBuilder(builder, op.location).scalars.extract(condition, [])
        types = [flat for result in op.results for flat in flat_types(result.type, op)]
        regions: list[Region] = []
        for region in (op.then_region, op.else_region):
            target = Block()
            self.block(region.block, target, scf.YieldOp)
            regions.append(Region(target))
        made = self.insert(builder, scf.IfOp(scalar, types, regions[0], regions[1]), op.location)
        self.define(op, made.results)

    def name_dims(self, op: FuncOp) -> None:
        """Makes dimensions of arguments that have one name one size, which is checked.

        The function attribute `dim_names = [["N", "", ...], ...]` names the dimensions of each argument.
        """
        named = cast("ArrayAttr[ArrayAttr[StringAttr]]", op.attributes.get("dim_names", ArrayAttr([])))
        first: dict[str, int] = {}
        for argument, names in zip(op.args, named, strict=False):
            (value,) = self.values[argument]
            shape = list(self.sizes.shape(value))
            for place, name in enumerate(names):
                if name.data and isinstance(shape[place], Dim):
                    size = first.setdefault(name.data, shape[place])
                    self.sizes.require(shape[place], size, op.location)
                    shape[place] = size
            self.sizes.shapes[value] = tuple(shape)

    def function(self, op: FuncOp, target: Block) -> func.FuncOp:
        for argument in op.args:
            flat = [target.insert_arg(type_, len(target.args)) for type_ in flat_types(argument.type, op)]
            if len(flat) == 1:
                flat[0].name_hint = argument.name_hint
            self.values[argument] = tuple(flat)
        self.name_dims(op)
        self.block(op.block, target, func.ReturnOp)
        returned = cast(Operation, target.last_op).operands
        self.summaries[op.sym_name.data] = Summary(
            [self.sizes.shape(value) for value in returned], self.sizes.requirements
        )
        outputs = [flat for type_ in op.function_type.outputs.data for flat in flat_types(type_, op)]
        made = func.FuncOp(
            op.sym_name.data,
            FunctionType.from_lists([arg.type for arg in target.args], outputs),
            Region(target),
            "private" if op.sym_visibility else None,
        )
        made.attributes |= {name: op.attributes[name] for name in KEPT_ATTRIBUTES if name in op.attributes}
        made.location = op.location
        return made


def _callees_first(functions: Sequence[FuncOp]) -> list[FuncOp]:
    """The functions, each after those that it calls (but for itself and those that call it)."""
    by_name = {function.sym_name.data: function for function in functions}
    done: dict[str, FuncOp] = {}
    pending = [(name, False) for name in reversed(by_name)]
    seen: set[str] = set()
    while pending:
        name, visited = pending.pop()
        if visited:
            done.setdefault(name, by_name[name])
        elif name not in seen:
            seen.add(name)
            pending.append((name, True))
            callees = [op.callee.string_value() for op in by_name[name].walk() if isinstance(op, CallOp)]
            pending += [(callee, False) for callee in reversed(callees) if callee in by_name]
    return list(done.values())


class RelayToLinalgPass(ModulePass):
    """Replace each relay operator by the linalg form that it defines and each relay.func by a func.func on tensors."""

    name = "relay-to-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        upstream.load("arith", "memref")
        functions = [f for f in op.body.block.ops if isinstance(f, FuncOp)]
        weights = _Globals(op.body.block, {})
        summaries: dict[str, Summary] = {}
        for function in _callees_first(functions):
            target = Block()
            made = _Lowering(weights, summaries, target).function(function, target)
            op.body.block.insert_op_before(made, function)
        for function in functions:
            function.detach()
            function.erase()
        weights.insert()
        main = next((f for f in op.body.block.ops if isinstance(f, func.FuncOp) and f.sym_name.data == "main"), None)
        if main is not None and (made := shape_function(main, summaries["main"])) is not None:
            op.body.block.insert_op_after(made, main)
