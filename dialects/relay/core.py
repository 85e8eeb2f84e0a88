"""The forms of the relay dialect that are not operators: function, call, tuple, projection, if, weight, constant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    FlatSymbolRefAttrConstr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
    TupleType,
    UnitAttr,
    i1,
    i64,
)
from xdsl.dialects.utils import parse_func_op_like, print_func_op_like
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    MemoryEffect,
    Pure,
    RecursiveMemoryEffect,
    SingleBlockImplicitTerminator,
    SymbolOpInterface,
    SymbolTable,
    SymbolUserOpInterface,
    ensure_terminator,
)
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.language import agree, instantiate
from relay_mlir.dialects.relay.language_types import IncompleteType


@irdl_op_definition
class FuncOp(IRDLOperation):
    """`relay.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { ... }`: a function on tensors and tuples.

    The attribute `primitive` marks a fused group, which is lowered as one unit. `input_names` and `output_names`,
    arrays of strings, are the names that callers use for arguments and results.
    """

    name = "relay.func"

    body = region_def()
    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    sym_visibility = opt_prop_def(StringAttr)

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(
        self,
        name: str,
        function_type: FunctionType,
        region: Region | None = None,
        *,
        private: bool = False,
        primitive: bool = False,
    ):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "function_type": function_type,
                "sym_visibility": StringAttr("private") if private else None,
            },
            attributes={"primitive": UnitAttr()} if primitive else {},
            regions=[Region(Block(arg_types=function_type.inputs.data)) if region is None else region],
        )

    @property
    def primitive(self) -> bool:
        """Whether it is a fused group."""
        return "primitive" in self.attributes

    @property
    def type_parameters(self) -> tuple[str, ...]:
        """The type variables of a polymorphic function: its attribute `type_params`."""
        found = self.attributes.get("type_params")
        names = cast(ArrayAttr[StringAttr], found).data if isinstance(found, ArrayAttr) else ()
        return tuple(name.data for name in names)

    @property
    def block(self) -> Block:
        """The only block of the body."""
        return self.body.block

    @property
    def args(self) -> tuple[BlockArgument, ...]:
        return tuple(self.block.args)

    @property
    def return_op(self) -> ReturnOp:
        return cast(ReturnOp, self.block.last_op)

    def update_function_type(self) -> None:
        """Makes the function type agree with the block arguments and the returned values."""
        returned = [operand.type for operand in self.return_op.operands]
        self.properties["function_type"] = FunctionType.from_lists([arg.type for arg in self.args], returned)

    def names(self, which: str) -> list[str]:
        """`input_names` or `output_names`; where absent, `x0, x1, ...` or `y0, y1, ...`."""
        found = self.attributes.get(which)
        if isinstance(found, ArrayAttr):
            return [cast(StringAttr, name).data for name in cast(ArrayAttr[Attribute], found)]
        letter, types = (
            ("x", self.function_type.inputs) if which == "input_names" else ("y", self.function_type.outputs)
        )
        return [f"{letter}{position}" for position in range(len(types))]

    def verify_(self) -> None:
        if len(self.body.blocks) != 1:
            raise VerifyException(
                f"function @{self.sym_name.data} must have one block, but has {len(self.body.blocks)}"
            )
        if tuple(arg.type for arg in self.args) != self.function_type.inputs.data:
            raise VerifyException(f"the arguments of @{self.sym_name.data} do not have the types of its signature")
        if not isinstance(self.block.last_op, ReturnOp):
            raise VerifyException(f"function @{self.sym_name.data} must end in relay.return")
        for which, types in (("input_names", self.function_type.inputs), ("output_names", self.function_type.outputs)):
            names = self.names(which)
            if len(names) != len(types) or len(set(names)) != len(names):
                raise VerifyException(f"{which} of @{self.sym_name.data} must be {len(types)} different names")

    @classmethod
    def parse(cls, parser: Parser) -> FuncOp:
        visibility = parser.parse_optional_visibility_keyword()
        name, inputs, outputs, region, extra, arg_attrs, res_attrs = parse_func_op_like(
            parser, reserved_attr_names=("sym_name", "function_type", "sym_visibility")
        )
        if arg_attrs or res_attrs:
            parser.raise_error("relay.func takes no argument or result attributes")
        func = FuncOp(name, FunctionType.from_lists(inputs, outputs), region, private=visibility is not None)
        if extra is not None:
            func.attributes |= extra.data
        return func

    def print(self, printer: Printer) -> None:
        if self.sym_visibility:
            printer.print_string(f" {self.sym_visibility.data}")
        print_func_op_like(
            printer,
            self.sym_name,
            self.function_type,
            self.body,
            self.attributes,
            reserved_attr_names=("sym_name", "function_type", "sym_visibility"),
        )


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """`relay.return %y : tensor<2xf32>`: ends a function."""

    name = "relay.return"
    arguments = var_operand_def()
    traits = traits_def(IsTerminator(), HasParent(FuncOp))
    assembly_format = "attr-dict ($arguments^ `:` type($arguments))?"

    def __init__(self, *values: SSAValue):
        super().__init__(operands=[values])

    def verify_(self) -> None:
        func = cast(FuncOp, self.parent_op())
        found, expected = tuple(v.type for v in self.operands), func.function_type.outputs.data
        if not agree(found, expected):
            raise VerifyException(
                f"returns ({', '.join(map(str, found))}), but @{func.sym_name.data} declares "
                f"({', '.join(map(str, expected))})"
            )


def _may_have_effects(function: Operation, seen: set[Operation]) -> bool:
    """Whether running a function may do more than compute its result: write to a cell, call what is not known, fail."""
    seen.add(function)
    for op in function.walk():
        if op.name in ("relay.ref_create", "relay.ref_read", "relay.ref_write", "relay.apply"):
            return True
        if op.name == "relay.match" and "partial" in op.properties:
            return True
        if isinstance(op, CallOp):
            callee = SymbolTable.lookup_symbol(op, op.callee)
            if callee in seen:
                return True  # recursion need not end
            if callee is None or _may_have_effects(callee, seen | {function}):
                return True
    return False


class _CalleeEffects(MemoryEffect):
    """A call has the effects of the function it calls."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance] | None:
        callee = SymbolTable.lookup_symbol(op, cast(CallOp, op).callee)
        if isinstance(callee, FuncOp) and (callee.primitive or not _may_have_effects(callee, set())):
            return set()
        return None


class _CalleeExists(SymbolUserOpInterface):
    """Checks a call against the function it names."""

    def verify(self, op: Operation) -> None:
        call = cast(CallOp, op)
        callee = SymbolTable.lookup_symbol(op, call.callee)
        if not isinstance(callee, FuncOp):
            raise VerifyException(f"{call.callee} is not a relay.func of this module")
        found = FunctionType.from_lists([v.type for v in op.operands], [v.type for v in op.results])
        if found != callee.function_type and not instantiate(callee.function_type, found, callee.type_parameters, {}):
            raise VerifyException(f"call has type {found}, but {call.callee} has type {callee.function_type}")


@irdl_op_definition
class CallOp(IRDLOperation):
    """`%y = relay.call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>`: calls a function of the module."""

    name = "relay.call"
    arguments = var_operand_def()
    callee = prop_def(FlatSymbolRefAttrConstr)
    outputs = var_result_def()
    traits = traits_def(_CalleeExists(), _CalleeEffects())
    assembly_format = "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $outputs)"

    def __init__(self, callee: str, arguments: Sequence[SSAValue], result_types: Sequence[Attribute]):
        super().__init__(
            operands=[arguments], properties={"callee": SymbolRefAttr(callee)}, result_types=[result_types]
        )


@irdl_op_definition
class TupleOp(IRDLOperation):
    """`%t = relay.tuple %a, %b : tuple<tensor<2xf32>, tensor<i1>>`: a tuple of values."""

    name = "relay.tuple"
    fields = var_operand_def()
    result = result_def(TupleType)
    traits = traits_def(Pure())

    def __init__(self, *fields: SSAValue):
        types = tuple(cast(TypeAttribute, field.type) for field in fields)
        super().__init__(operands=[fields], result_types=[TupleType(types)])

    def verify_(self) -> None:
        found = tuple(field.type for field in self.fields)
        if self.result.type.types.data != found:
            raise VerifyException(f"fields of type ({', '.join(map(str, found))}) do not make a {self.result.type}")

    @classmethod
    def parse(cls, parser: Parser) -> TupleOp:
        fields = (
            parser.parse_optional_undelimited_comma_separated_list(
                parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
            )
            or []
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        type_ = parser.parse_type()
        if not isinstance(type_, TupleType):
            parser.raise_error(f"expected a tuple type, but found {type_}", position)
        values = parser.resolve_operands(fields, type_.types.data, position)
        return cls.create(operands=values, result_types=[type_], attributes=attributes)

    def print(self, printer: Printer) -> None:
        if self.fields:
            printer.print_string(" ")
            printer.print_list(self.fields, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


@irdl_op_definition
class TupleGetItemOp(IRDLOperation):
    """`%a = relay.tuple_get_item %t[0] : tuple<tensor<2xf32>> -> tensor<2xf32>`: a field of a tuple."""

    name = "relay.tuple_get_item"
    tuple_value = operand_def()
    index = prop_def(IntegerAttr.constr(i64))
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$tuple_value `[` $index `]` attr-dict `:` type($tuple_value) `->` type($result)"

    def __init__(self, tuple_value: SSAValue, index: int, result_type: Attribute | None = None):
        if result_type is None:
            result_type = cast(TupleType, tuple_value.type).types.data[index]
        super().__init__(
            operands=[tuple_value], properties={"index": IntegerAttr(index, i64)}, result_types=[result_type]
        )

    def verify_(self) -> None:
        type_ = self.tuple_value.type
        if isinstance(type_, IncompleteType):
            return
        if not isinstance(type_, TupleType):
            raise VerifyException(f"only a tuple has fields, but this is {type_}")
        types, index = type_.types.data, self.index.value.data
        if not 0 <= index < len(types):
            raise VerifyException(f"index {index} is out of range for a tuple of {len(types)} fields")
        if not agree([self.result.type], [types[index]]):
            raise VerifyException(f"field {index} is {types[index]}, but the result is {self.result.type}")


@irdl_op_definition
class YieldOp(IRDLOperation):
    """`relay.yield %a : tensor<2xf32>`: ends a branch of `relay.if` with its values."""

    name = "relay.yield"
    arguments = var_operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict ($arguments^ `:` type($arguments))?"

    def __init__(self, *values: SSAValue):
        super().__init__(operands=[values])


@irdl_op_definition
class IfOp(IRDLOperation):
    """`%y = relay.if %c : tensor<i1> -> (tensor<2xf32>) { ... } else { ... }`: evaluates one of two branches."""

    name = "relay.if"
    condition = operand_def()
    outputs = var_result_def()
    then_region = region_def("single_block")
    else_region = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect(), SingleBlockImplicitTerminator(YieldOp))

    def __init__(
        self, condition: SSAValue, result_types: Sequence[Attribute], then_region: Region, else_region: Region
    ):
        super().__init__(operands=[condition], result_types=[result_types], regions=[then_region, else_region])

    def verify_(self) -> None:
        if self.condition.type not in (TensorType(i1, []), IncompleteType()):
            raise VerifyException(f"the condition must be tensor<i1>, but is {self.condition.type}")
        expected = tuple(result.type for result in self.results)
        for which, region in (("then", self.then_region), ("else", self.else_region)):
            found = tuple(value.type for value in cast(YieldOp, region.block.last_op).operands)
            if not agree(found, expected):
                raise VerifyException(
                    f"the {which} branch yields ({', '.join(map(str, found))}), but the results are "
                    f"({', '.join(map(str, expected))})"
                )

    @classmethod
    def parse(cls, parser: Parser) -> IfOp:
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        condition = parser.resolve_operand(operand, parser.parse_type())
        result_types: Sequence[Attribute] = ()
        if parser.parse_optional_punctuation("->"):
            result_types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        then_region = parser.parse_region()
        parser.parse_keyword("else")
        else_region = parser.parse_region()
        op = cls(condition, result_types, then_region, else_region)
        op.attributes |= parser.parse_optional_attr_dict()
        for trait in op.get_traits_of_type(SingleBlockImplicitTerminator):
            ensure_terminator(op, trait)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.condition)
        printer.print_string(" : ")
        printer.print_attribute(self.condition.type)
        if self.results:
            printer.print_string(" -> (")
            printer.print_list(self.results, lambda result: printer.print_attribute(result.type))
            printer.print_string(")")
        printer.print_string(" ")
        printer.print_region(self.then_region, print_block_terminators=bool(self.results))
        printer.print_string(" else ")
        printer.print_region(self.else_region, print_block_terminators=bool(self.results))
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class WeightOp(IRDLOperation):
    """`%w = relay.weight "fc.weight" : tensor<128x256xf32>`: a named tensor of the weight store (see weights.py)."""

    name = "relay.weight"
    key = prop_def(StringAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$key attr-dict `:` type($result)"

    def __init__(self, key: str, type_: Attribute):
        super().__init__(properties={"key": StringAttr(key)}, result_types=[type_])


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """`%c = relay.constant dense<[1, 2]> : tensor<2xi64>`: a small tensor written out in the program."""

    name = "relay.constant"
    value = prop_def(DenseIntOrFPElementsAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def __init__(self, value: DenseIntOrFPElementsAttr):
        super().__init__(properties={"value": value}, result_types=[value.type])

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        attributes = parser.parse_optional_attr_dict()
        position = parser.pos
        value = parser.parse_attribute()
        if not isinstance(value, DenseIntOrFPElementsAttr):
            parser.raise_error(f"expected a dense tensor literal, but found {value}", position)
        op = cls(cast(DenseIntOrFPElementsAttr, value))
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        if _prints_exactly(self.value):
            printer.print_attribute(self.value)
        else:
            printer.print_string(f'dense<"0x{self.value.data.data.hex().upper()}"> : ')
            printer.print_attribute(self.value.type)

    def verify_(self) -> None:
        if self.value.type != self.result.type:
            raise VerifyException(f"the value is a {self.value.type}, but the result a {self.result.type}")


def _prints_exactly(value: DenseIntOrFPElementsAttr) -> bool:
    """Whether xDSL's literal syntax keeps the bits: it misreads NaN and Inf, and prints -0.0 beside 0.0 as a splat."""
    values = value.get_values()
    if not values or not isinstance(values[0], float):
        return True
    floats = cast(tuple[float, ...], values)
    return all(map(math.isfinite, floats)) and len({math.copysign(1.0, v) for v in floats if v == 0.0}) < 2


CORE_OPS: list[type[Operation]] = [
    FuncOp,
    ReturnOp,
    CallOp,
    TupleOp,
    TupleGetItemOp,
    IfOp,
    YieldOp,
    WeightOp,
    ConstantOp,
]

__all__ = [
    "CORE_OPS",
    "CallOp",
    "ConstantOp",
    "FuncOp",
    "IfOp",
    "ReturnOp",
    "TupleGetItemOp",
    "TupleOp",
    "WeightOp",
    "YieldOp",
]
