"""Operations of the heap dialect: functions on heap objects, with explicit ownership.

A value of type `!heap.object` is owned: each use that consumes it (an argument of a call, a field of a new object, a
returned value, an argument of a branch) takes one count over. `Op.borrows(i)` says which operands are only looked at.
Until `insert-reference-counts` has run, values are used freely; from then on every object is consumed exactly once on
every path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    AnyFloatConstr,
    ArrayAttr,
    DenseArrayBase,
    FlatSymbolRefAttrConstr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i32,
    i64,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.dialects.utils import parse_func_op_like, print_func_op_like
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    BaseAttr,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.irdl import AttrSizedOperandSegments as Segments
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    SymbolOpInterface,
    SymbolTable,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.heap.types import IMMEDIATE, OBJECT, TOKEN, ImmediateType, ObjectType, TokenType
from relay_mlir.dialects.upstream.attributes import integers

POINTER = LLVMPointerType()
WORD = ObjectType | ImmediateType
SCALAR = BaseAttr(IntegerType) | AnyFloatConstr


class HeapOp(IRDLOperation):
    """An operation on heap objects; `BORROWED` are the operands that stay with their owner, None for all."""

    BORROWED: ClassVar[tuple[int, ...] | None] = ()

    def borrows(self, operand: int) -> bool:
        """Whether the operation only looks at an operand instead of taking it over."""
        return self.BORROWED is None or operand in self.BORROWED


@irdl_op_definition
class FuncOp(IRDLOperation):
    """`heap.func @f(%x: !heap.object, %n: i32) -> !heap.object { ... }`: a function; it owns its arguments."""

    name = "heap.func"
    body = region_def()
    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    sym_visibility = opt_prop_def(StringAttr)
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(self, name: str, function_type: FunctionType, region: Region | None = None, *, private: bool = True):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "function_type": function_type,
                "sym_visibility": StringAttr("private") if private else None,
            },
            regions=[Region(Block(arg_types=function_type.inputs.data)) if region is None else region],
        )

    def verify_(self) -> None:
        if tuple(arg.type for arg in self.body.blocks[0].args) != self.function_type.inputs.data:
            raise VerifyException(f"the arguments of @{self.sym_name.data} do not have the types of its signature")

    @classmethod
    def parse(cls, parser: Parser) -> FuncOp:
        visibility = parser.parse_optional_visibility_keyword()
        name, inputs, outputs, region, extra, _, _ = parse_func_op_like(
            parser, reserved_attr_names=("sym_name", "function_type", "sym_visibility")
        )
        made = cls(name, FunctionType.from_lists(inputs, outputs), region, private=visibility is not None)
        if extra is not None:
            made.attributes |= extra.data
        return made

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
class ReturnOp(HeapOp):
    """`heap.return %x : !heap.object`: ends a function; the caller owns the result."""

    name = "heap.return"
    arguments = var_operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict ($arguments^ `:` type($arguments))?"

    def __init__(self, *values: SSAValue):
        super().__init__(operands=[values])


@irdl_op_definition
class FailOp(HeapOp):
    """`heap.fail "no case matches"`: ends the run with an error that names the location of this operation."""

    name = "heap.fail"
    message = prop_def(StringAttr)
    traits = traits_def(IsTerminator())
    assembly_format = "$message attr-dict"

    def __init__(self, message: str):
        super().__init__(properties={"message": StringAttr(message)})


class _FunctionExists(SymbolUserOpInterface):
    """Checks a reference to a function of the module."""

    def verify(self, op: Operation) -> None:
        name = cast("CallOp | ClosureOp", op).callee
        found = SymbolTable.lookup_symbol(op, name)
        if found is None or found.name not in ("heap.func", "llvm.func"):
            raise VerifyException(f"{name} is not a heap.func of this module")
        if isinstance(op, CallOp) and isinstance(found, FuncOp):
            given, wanted = tuple(value.type for value in op.arguments), found.function_type.inputs.data
            if len(given) != len(wanted) or not all(map(_agree, given, wanted)):
                raise VerifyException(f"is given ({', '.join(map(str, given))}), but {name} is {found.function_type}")


def _agree(left: Attribute, right: Attribute) -> bool:
    """Whether a value of one type may stand where one of the other is expected."""
    return left == right or (isinstance(left, WORD) and isinstance(right, WORD))


@irdl_op_definition
class CallOp(HeapOp):
    """`%y = heap.call @f(%x) : (!heap.object) -> !heap.object`: calls a function; `tail` reuses the caller's frame."""

    name = "heap.call"
    callee = prop_def(FlatSymbolRefAttrConstr)
    arguments = var_operand_def()
    tail = opt_prop_def(UnitAttr)
    result = result_def(WORD)
    traits = traits_def(_FunctionExists())
    assembly_format = "(`tail` $tail^)? $callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $result)"

    def __init__(self, callee: str, arguments: Sequence[SSAValue], result_type: Attribute = OBJECT):
        super().__init__(operands=[arguments], properties={"callee": SymbolRefAttr(callee)}, result_types=[result_type])


@irdl_op_definition
class ApplyOp(HeapOp):
    """`%y = heap.apply %f(%x) : (!heap.object) -> !heap.object`: calls a closure, whose arguments are all words."""

    name = "heap.apply"
    closure = operand_def(OBJECT)
    arguments = var_operand_def(WORD)
    tail = opt_prop_def(UnitAttr)
    result = result_def(WORD)
    traits = traits_def()
    assembly_format = "(`tail` $tail^)? $closure `(` $arguments `)` attr-dict `:` functional-type($arguments, $result)"

    def __init__(self, closure: SSAValue, arguments: Sequence[SSAValue], result_type: Attribute = OBJECT):
        super().__init__(operands=[closure, arguments], result_types=[result_type])


@irdl_op_definition
class ClosureOp(HeapOp):
    """`%f = heap.closure @entry(%x) : (!heap.object) -> !heap.object`: the entry gets the closure and the arguments."""

    name = "heap.closure"
    callee = prop_def(FlatSymbolRefAttrConstr)
    captured = var_operand_def(WORD)
    result = result_def(WORD)
    traits = traits_def(_FunctionExists(), Pure())
    assembly_format = "$callee `(` $captured `)` attr-dict `:` functional-type($captured, $result)"

    def __init__(self, entry: str, captured: Sequence[SSAValue]):
        super().__init__(operands=[captured], properties={"callee": SymbolRefAttr(entry)}, result_types=[OBJECT])


@irdl_op_definition
class RecordOp(HeapOp):
    """`%l = heap.record 1(%x, %xs) : (...) -> !heap.object`: an object with a tag; without fields an immediate.

    `reuse %t` gives it the memory of a dead object of the same number of fields, if there is one.
    """

    name = "heap.record"
    tag = prop_def(IntegerAttr.constr(i64))
    fields = var_operand_def(WORD)
    token = opt_operand_def(TokenType)
    result = result_def(WORD)
    irdl_options = (Segments(as_property=True),)
    traits = traits_def(Pure())
    assembly_format = "$tag `(` $fields `)` (`reuse` $token^)? attr-dict `:` functional-type($fields, $result)"

    def __init__(self, tag: int, fields: Sequence[SSAValue], token: SSAValue | None = None):
        super().__init__(
            operands=[fields, [] if token is None else [token]],
            properties={"tag": IntegerAttr(tag, i64)},
            result_types=[OBJECT if fields else IMMEDIATE],
        )


@irdl_op_definition
class TagOp(HeapOp):
    """`%t = heap.tag %l : !heap.object`: the tag of a record or immediate, an i32."""

    name = "heap.tag"
    BORROWED: ClassVar[tuple[int, ...] | None] = None
    value = operand_def(WORD)
    result = result_def(i32)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value], result_types=[i32])


@irdl_op_definition
class FieldOp(HeapOp):
    """`%x = heap.field %l[0 of 2] : !heap.object -> !heap.object`: a field; it still belongs to the record."""

    name = "heap.field"
    BORROWED: ClassVar[tuple[int, ...] | None] = None
    value = operand_def(WORD)
    index = prop_def(IntegerAttr.constr(i64))
    count = prop_def(IntegerAttr.constr(i64))
    result = result_def(WORD)
    traits = traits_def(Pure())
    assembly_format = "$value `[` $index `of` $count `]` attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue, index: int, count: int, result_type: Attribute = OBJECT):
        properties = {"index": IntegerAttr(index, i64), "count": IntegerAttr(count, i64)}
        super().__init__(operands=[value], properties=properties, result_types=[result_type])

    def verify_(self) -> None:
        if not 0 <= self.index.value.data < self.count.value.data:
            raise VerifyException(f"there is no field {self.index.value.data} of {self.count.value.data}")


@irdl_op_definition
class TakeOp(HeapOp):
    """`%x, %t = heap.take %l[0] of 2 : ...`: ends a record; gives fields as owned values, and its memory if unique."""

    name = "heap.take"
    value = operand_def(WORD)
    indices = prop_def(DenseArrayBase.constr(i64))
    count = prop_def(IntegerAttr.constr(i64))
    taken = var_result_def(WORD)
    token = result_def(TokenType)

    def __init__(self, value: SSAValue, indices: Sequence[int], count: int, types: Sequence[Attribute]):
        super().__init__(
            operands=[value],
            properties={"indices": DenseArrayBase.from_list(i64, indices), "count": IntegerAttr(count, i64)},
            result_types=[types, TOKEN],
        )

    @classmethod
    def parse(cls, parser: Parser) -> TakeOp:
        value = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        parser.parse_keyword("of")
        count = parser.parse_integer()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        parser.parse_punctuation("->")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        op = cls(parser.resolve_operand(value, type_), indices, count, types)
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        with printer.in_square_brackets():
            printer.print_list(cast(Sequence[int], self.indices.get_values()), lambda i: printer.print_string(str(i)))
        printer.print_string(f" of {self.count.value.data}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(" -> ")
        with printer.in_parens():
            printer.print_list(self.taken.types, printer.print_attribute)


@irdl_op_definition
class FreeOp(HeapOp):
    """`heap.free %t`: the memory of a dead object is not needed for another."""

    name = "heap.free"
    token = operand_def(TokenType)
    assembly_format = "$token attr-dict"

    def __init__(self, token: SSAValue):
        super().__init__(operands=[token])


@irdl_op_definition
class RetainOp(HeapOp):
    """`heap.retain %x`: one more owner."""

    name = "heap.retain"
    BORROWED: ClassVar[tuple[int, ...] | None] = None
    value = operand_def(WORD)
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value])


@irdl_op_definition
class ReleaseOp(HeapOp):
    """`heap.release %x`: one owner less; the last one frees the object and releases what it holds."""

    name = "heap.release"
    value = operand_def(WORD)
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value])


@irdl_op_definition
class BoxOp(HeapOp):
    """`%o = heap.box %x : i32 -> !heap.immediate`: a scalar as a word; one of up to 32 bits is an immediate."""

    name = "heap.box"
    value = operand_def(SCALAR)
    result = result_def(WORD)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value], result_types=[word_type(value.type)])


@irdl_op_definition
class UnboxOp(HeapOp):
    """`%x = heap.unbox %o : !heap.object -> i32`: the scalar in a word."""

    name = "heap.unbox"
    BORROWED: ClassVar[tuple[int, ...] | None] = None
    value = operand_def(WORD)
    result = result_def(SCALAR)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue, type_: Attribute):
        super().__init__(operands=[value], result_types=[type_])


def word_type(scalar: Attribute) -> Attribute:
    """The type of a boxed scalar: an immediate for up to 32 bits."""
    width = cast("IntegerType", scalar).bitwidth
    return IMMEDIATE if width <= 32 else OBJECT


@irdl_op_definition
class KernelOp(HeapOp):
    """`%y = heap.kernel @f(%a, %b) as (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> : ...`: runs a primitive function.

    Operands are tensors in objects, scalars, or pointers to weights. `in_place` holds pairs (operand, result): the
    operand's object is taken over, and becomes the result where nothing else owns it.
    """

    name = "heap.kernel"
    callee = prop_def(FlatSymbolRefAttrConstr)
    tensors = prop_def(FunctionType)
    in_place = opt_prop_def(ArrayAttr[DenseArrayBase])
    arguments = var_operand_def()
    outputs = var_result_def()
    traits = traits_def(Pure())
    assembly_format = (
        "$callee `(` $arguments `)` `as` $tensors (`in_place` $in_place^)? attr-dict `:` "
        "functional-type($arguments, $outputs)"
    )

    def __init__(self, callee: str, arguments: Sequence[SSAValue], tensors: FunctionType, results: Sequence[Attribute]):
        super().__init__(
            operands=[arguments],
            properties={"callee": SymbolRefAttr(callee), "tensors": tensors},
            result_types=[results],
        )

    def pairs(self) -> dict[int, int]:
        """The operand that becomes each result, where there is one, by the operand."""
        found = self.in_place
        return {} if found is None else dict(cast("tuple[int, int]", tuple(integers(pair))) for pair in found)

    def borrows(self, operand: int) -> bool:
        return operand not in self.pairs()


@irdl_op_definition
class WeightOp(HeapOp):
    """`%p = heap.weight @"key" : !llvm.ptr`: where a weight or constant of the program lies."""

    name = "heap.weight"
    key = prop_def(FlatSymbolRefAttrConstr)
    offset = opt_prop_def(IntegerAttr.constr(i64))
    result = result_def(LLVMPointerType)
    traits = traits_def(Pure())
    assembly_format = "$key (`at` $offset^)? attr-dict `:` type($result)"

    def __init__(self, key: str):
        super().__init__(properties={"key": SymbolRefAttr(key)}, result_types=[POINTER])


@irdl_op_definition
class ArrayOp(HeapOp):
    """`%p = heap.array input 0 : !llvm.ptr`: the memory that the caller of the program gave for an input or output."""

    name = "heap.array"
    which = prop_def(StringAttr)
    index = prop_def(IntegerAttr.constr(i64))
    result = result_def(LLVMPointerType)
    traits = traits_def(Pure())
    assembly_format = "$which $index attr-dict `:` type($result)"

    def __init__(self, which: str, index: int):
        properties = {"which": StringAttr(which), "index": IntegerAttr(index, i64)}
        super().__init__(properties=properties, result_types=[POINTER])


@irdl_op_definition
class ViewOp(HeapOp):
    """`%o = heap.view %p : tensor<4xf32>`: a tensor object whose elements lie elsewhere."""

    name = "heap.view"
    pointer = operand_def(POINTER)
    tensor = prop_def(TensorType)
    result = result_def(ObjectType)
    traits = traits_def(Pure())
    assembly_format = "$pointer `:` $tensor attr-dict `->` type($result)"

    def __init__(self, pointer: SSAValue, tensor: Attribute):
        super().__init__(operands=[pointer], properties={"tensor": tensor}, result_types=[OBJECT])


@irdl_op_definition
class LoadOp(HeapOp):
    """`%x = heap.load %p : f32`: the scalar at an address, or the word, which the caller gives away."""

    name = "heap.load"
    pointer = operand_def(POINTER)
    result = result_def(AnyAttr())
    assembly_format = "$pointer attr-dict `:` type($result)"

    def __init__(self, pointer: SSAValue, type_: Attribute):
        super().__init__(operands=[pointer], result_types=[type_])


@irdl_op_definition
class StoreOp(HeapOp):
    """`heap.store %x, %p : tensor<4xf32>, !heap.object`: copies a tensor's elements, or a scalar, to an address."""

    name = "heap.store"
    BORROWED: ClassVar[tuple[int, ...] | None] = None
    value = operand_def(AnyAttr())
    pointer = operand_def(POINTER)
    tensor = prop_def(TensorType)
    assembly_format = "$value `,` $pointer `:` $tensor `,` type($value) attr-dict"

    def __init__(self, value: SSAValue, pointer: SSAValue, tensor: Attribute):
        super().__init__(operands=[value, pointer], properties={"tensor": tensor})


@irdl_op_definition
class GiveOp(HeapOp):
    """`heap.give %x, %p : !heap.object`: puts a word at an address, whose owner takes it over."""

    name = "heap.give"
    value = operand_def(WORD)
    pointer = operand_def(POINTER)
    assembly_format = "$value `,` $pointer `:` type($value) attr-dict"

    def __init__(self, value: SSAValue, pointer: SSAValue):
        super().__init__(operands=[value, pointer])


@irdl_op_definition
class RefReadOp(HeapOp):
    """`%x = heap.ref_read %r : !heap.object -> !heap.object`: the content of a cell, with one more owner."""

    name = "heap.ref_read"
    BORROWED: ClassVar[tuple[int, ...] | None] = None
    ref = operand_def(WORD)
    result = result_def(WORD)
    assembly_format = "$ref attr-dict `:` type($ref) `->` type($result)"

    def __init__(self, ref: SSAValue, result_type: Attribute = OBJECT):
        super().__init__(operands=[ref], result_types=[result_type])


@irdl_op_definition
class RefCreateOp(HeapOp):
    """`%r = heap.ref_create %x : !heap.object -> !heap.object`: a new cell."""

    name = "heap.ref_create"
    value = operand_def(WORD)
    result = result_def(WORD)
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value], result_types=[OBJECT])


@irdl_op_definition
class RefWriteOp(HeapOp):
    """`heap.ref_write %r, %x : ...`: puts a value into a cell, whose old content loses an owner."""

    name = "heap.ref_write"
    BORROWED: ClassVar[tuple[int, ...] | None] = (0,)
    ref = operand_def(WORD)
    value = operand_def(WORD)
    assembly_format = "$ref `,` $value attr-dict `:` type($ref) `,` type($value)"

    def __init__(self, ref: SSAValue, value: SSAValue):
        super().__init__(operands=[ref, value])


HEAP_OPS: list[type[Operation]] = [
    FuncOp,
    ReturnOp,
    FailOp,
    CallOp,
    ApplyOp,
    ClosureOp,
    RecordOp,
    TagOp,
    FieldOp,
    TakeOp,
    FreeOp,
    RetainOp,
    ReleaseOp,
    BoxOp,
    UnboxOp,
    KernelOp,
    WeightOp,
    ArrayOp,
    ViewOp,
    LoadOp,
    StoreOp,
    GiveOp,
    RefReadOp,
    RefCreateOp,
    RefWriteOp,
]
