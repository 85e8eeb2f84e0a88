"""relay-to-linalg: each operator becomes the linalg form it defines, each relay.func a func.func on tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, bufferization, func, memref, scf
from xdsl.dialects.builtin import (
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
from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, lowered_type
from relay_mlir.dialects.relay.op import RelayOp
from relay_mlir.dialects.relay.types import Tensor, is_static
from relay_mlir.lowering.diagnostics import OpError

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
    tensor = cast(Tensor, type_)
    if not is_static(tensor.get_shape()):
        raise OpError(
            where,
            f"{tensor} has a dimension that is not known at compile time; bind the model's dynamic input dimensions "
            "with --shape NAME=1x3x224x224",
        )
    return [lowered_type(tensor)]


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

    def __init__(self, weights: _Globals):
        self.weights = weights
        self.values: dict[SSAValue, Values] = {}

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
                types = [flat for result in op.results for flat in flat_types(result.type, op)]
                call = func.CallOp(op.callee.string_value(), self.operands(op), types)
                self.define(op, self.insert(builder, call, op.location).results)
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

    def operator(self, op: RelayOp, builder: Builder) -> None:
        build = LinalgBuilder(builder, op.location, op.operand_types)
        for type_ in (*op.operand_types, *op.result_tensors):
            flat_types(type_, op)
        try:
            results = op.operator.lower(build, self.operands(op), op.result_tensors)
        except VerifyException as e:
            raise OpError(op, str(e)) from e
        expected = [lowered_type(type_) for type_ in op.result_tensors]
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

    def function(self, op: FuncOp) -> func.FuncOp:
        target = Block()
        for argument in op.args:
            flat = [target.insert_arg(type_, len(target.args)) for type_ in flat_types(argument.type, op)]
            if len(flat) == 1:
                flat[0].name_hint = argument.name_hint
            self.values[argument] = tuple(flat)
        self.block(op.block, target, func.ReturnOp)
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


class RelayToLinalgPass(ModulePass):
    """Replace each relay operator by the linalg form that it defines and each relay.func by a func.func on tensors."""

    name = "relay-to-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        upstream.load("arith", "memref")
        functions = [f for f in op.body.block.ops if isinstance(f, FuncOp)]
        weights = _Globals(op.body.block, {})
        for function in functions:
            lowering = _Lowering(weights)
            made = lowering.function(function)
            op.body.block.insert_op_before(made, function)
        for function in functions:
            function.detach()
            function.erase()
        weights.insert()
