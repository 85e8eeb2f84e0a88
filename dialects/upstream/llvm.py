"""Operations of the llvm dialect that xDSL lacks, or that it defines more narrowly than upstream does.

Names, operands, attributes and syntax are those of MLIR 22 (https://mlir.llvm.org/docs/Dialects/LLVM/). `Select`,
`FCmp`, the masked store and the float reductions (llvm_intrinsics.py) stand in for xDSL's classes of the same name,
which refuse vector conditions, vector comparisons, integer vectors and upstream's syntax.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    I1,
    AnyFloatConstr,
    DenseArrayBase,
    DenseIntElementsAttr,
    IntegerAttr,
    IntegerType,
    SignlessIntegerConstraint,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.dialects.llvm import (
    LLVM,
    FastMathAttr,
    FCmpPredicateFlag,
    GEPOp,
    LLVMPointerType,
)
from xdsl.ir import Attribute, Block, Dialect, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    successor_def,
    traits_def,
    var_operand_def,
    var_successor_def,
)
from xdsl.irdl.operations import ResultDef, VarOperandDef
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.upstream.attributes import dense, integers, numbers
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    AbsOp as AbsOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    CtLzOp as CtLzOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    CtPopOp as CtPopOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    CtTzOp as CtTzOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    FTruncOp as FTruncOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    MaskedGatherOp as MaskedGatherOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    MaskedLoadOp as MaskedLoadOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    MaskedStoreOp as MaskedStoreOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    MaximumOp as MaximumOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    MemcpyOp as MemcpyOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    MemsetOp as MemsetOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    MinimumOp as MinimumOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    PrefetchOp as PrefetchOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    ReduceAddOp as ReduceAddOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    ReduceAndOp as ReduceAndOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    ReduceFAddOp as ReduceFAddOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    ReduceFMaximumOp as ReduceFMaximumOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    ReduceFMaxOp as ReduceFMaxOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    ReduceFMinimumOp as ReduceFMinimumOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    ReduceFMinOp as ReduceFMinOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    ReduceFMulOp as ReduceFMulOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    ReduceMulOp as ReduceMulOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    ReduceOrOp as ReduceOrOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    ReduceSMaxOp as ReduceSMaxOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    ReduceSMinOp as ReduceSMinOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    ReduceUMaxOp as ReduceUMaxOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    ReduceUMinOp as ReduceUMinOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    ReduceXorOp as ReduceXorOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    RoundEvenOp as RoundEvenOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    RoundOp as RoundOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    SMaxOp as SMaxOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    SMinOp as SMinOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    UMaxOp as UMaxOp,
)
from relay_mlir.dialects.upstream.llvm_intrinsics import (
    UMinOp as UMinOp,
)

_INTEGERS = SignlessIntegerConstraint | VectorType.constr(SignlessIntegerConstraint)
_FLOATS = AnyFloatConstr | VectorType.constr(AnyFloatConstr)
_CALL_FORMAT = "`(` operands `)` attr-dict `:` functional-type(operands, results)"

# Values.


@irdl_op_definition
class PoisonOp(IRDLOperation):
    """A value that must not be looked at: `llvm.mlir.poison`."""

    name = "llvm.mlir.poison"

    res = result_def()
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($res)"


@irdl_op_definition
class FreezeOp(IRDLOperation):
    """The operand, or some fixed value where it is poison."""

    name = "llvm.freeze"

    T: ClassVar = VarConstraint("T", AnyAttr())
    val = operand_def(T)
    res = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$val attr-dict `:` type($val)"


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """One element of a vector: `llvm.extractelement %v[%i : i64] : vector<4xf32>`."""

    name = "llvm.extractelement"

    ELEMENT: ClassVar = VarConstraint("ELEMENT", AnyAttr())
    vector = operand_def(VectorType.constr(ELEMENT))
    position = operand_def(SignlessIntegerConstraint)
    res = result_def(ELEMENT)
    traits = traits_def(Pure())
    assembly_format = "$vector `[` $position `:` type($position) `]` attr-dict `:` type($vector)"


@irdl_op_definition
class SelectOp(IRDLOperation):
    """One of two values, chosen by an i1 or lane by lane by a vector of i1."""

    name = "llvm.select"

    T: ClassVar = VarConstraint("T", AnyAttr())
    cond = operand_def(I1 | VectorType[I1])
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = "$cond `,` $lhs `,` $rhs attr-dict `:` type($cond) `,` type($res)"


@irdl_op_definition
class FCmpOp(IRDLOperation):
    """A comparison of floats or of vectors of floats: `llvm.fcmp "olt" %a, %b : f32`."""

    name = "llvm.fcmp"

    T: ClassVar = VarConstraint("T", _FLOATS)
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(I1 | VectorType[I1])
    predicate = prop_def(IntegerAttr[i64])
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))
    traits = traits_def(Pure())

    def verify_(self) -> None:
        if self.res.type != mask_type(self.lhs.type):
            raise VerifyException(f"comparing {self.lhs.type} gives {mask_type(self.lhs.type)}, not {self.res.type}")

    @classmethod
    def parse(cls, parser: Parser) -> FCmpOp:
        predicate = IntegerAttr(FCmpPredicateFlag(parser.parse_str_literal()).to_int(), i64)
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        flags = attributes.pop("fastmathFlags", FastMathAttr(None))
        return cls.create(
            operands=parser.resolve_operands([lhs, rhs], [type_, type_], parser.pos),
            result_types=[mask_type(type_)],
            properties={"predicate": predicate, "fastmathFlags": flags},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{FCmpPredicateFlag.from_int(self.predicate.value.data)}" ')
        printer.print_list(self.operands, printer.print_ssa_value)
        attributes = dict(self.attributes)
        if self.fastmathFlags.data:
            attributes["fastmathFlags"] = self.fastmathFlags
        printer.print_op_attributes(attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)


def mask_type(operand: Attribute) -> Attribute:
    """i1, or the vector of i1 with the operand's shape: what a comparison of it gives."""
    return VectorType(i1, operand.shape) if isinstance(operand, VectorType) else i1


class _Cast(IRDLOperation, ABC):
    """A conversion between a float and an integer, or vectors of them."""

    traits = traits_def(Pure())
    assembly_format = "$arg attr-dict `:` type($arg) `to` type($res)"


@irdl_op_definition
class FPToSIOp(_Cast):
    """To a signed integer, towards zero; poison where it does not fit."""

    name = "llvm.fptosi"
    arg = operand_def(_FLOATS)
    res = result_def(_INTEGERS)


@irdl_op_definition
class FPToUIOp(_Cast):
    """To an unsigned integer, towards zero; poison where it does not fit."""

    name = "llvm.fptoui"
    arg = operand_def(_FLOATS)
    res = result_def(_INTEGERS)


@irdl_op_definition
class UIToFPOp(_Cast):
    """From an unsigned integer."""

    name = "llvm.uitofp"
    arg = operand_def(_INTEGERS)
    res = result_def(_FLOATS)


@irdl_op_definition
class AddrSpaceCastOp(_Cast):
    """The same pointer in another address space."""

    name = "llvm.addrspacecast"
    arg = operand_def(LLVMPointerType)
    res = result_def(LLVMPointerType)


# Control flow.


@irdl_op_definition
class SwitchOp(IRDLOperation):
    """A branch on an integer: `llvm.switch %v : i32, ^default [0: ^bb1, 1: ^bb2(%x : f32)]`."""

    name = "llvm.switch"

    value = operand_def(IntegerType)
    default_operands = var_operand_def()
    case_operands = var_operand_def()
    case_values = opt_prop_def(DenseIntElementsAttr)
    case_operand_segments = prop_def()
    default_block = successor_def()
    case_blocks = var_successor_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsTerminator())

    @classmethod
    def of(
        cls,
        value: SSAValue,
        default: tuple[Block, Sequence[SSAValue]],
        cases: dict[int, tuple[Block, Sequence[SSAValue]]],
    ) -> SwitchOp:
        """A switch to blocks with their arguments."""
        flat = [v for _, args in cases.values() for v in args]
        segments = DenseArrayBase.from_list(i32, [1, len(default[1]), len(flat)])
        properties: dict[str, Attribute] = {
            "case_operand_segments": DenseArrayBase.from_list(i32, [len(args) for _, args in cases.values()]),
            "operandSegmentSizes": segments,
        }
        if cases:
            properties["case_values"] = dense(VectorType(value.type, [len(cases)]), list(cases))
        return cls.create(
            operands=[value, *default[1], *flat],
            properties=properties,
            successors=[default[0], *(block for block, _ in cases.values())],
        )

    def cases(self) -> list[tuple[int, Block, Sequence[SSAValue]]]:
        """The value, the block and the block's arguments of every case."""
        values = numbers(self.case_values) if self.case_values is not None else ()
        result: list[tuple[int, Block, Sequence[SSAValue]]] = []
        start = 0
        for value, block, count in zip(values, self.case_blocks, integers(self.case_operand_segments), strict=True):
            result.append((int(value), block, self.case_operands[start : start + int(count)]))
            start += int(count)
        return result

    @classmethod
    def parse(cls, parser: Parser) -> SwitchOp:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(value, parser.parse_type())
        parser.parse_punctuation(",")
        default = _parse_successor(parser)
        cases: dict[int, tuple[Block, Sequence[SSAValue]]] = {}

        def case() -> None:
            key = parser.parse_integer()
            parser.parse_punctuation(":")
            cases[key] = _parse_successor(parser)

        parser.parse_comma_separated_list(parser.Delimiter.SQUARE, case)
        op = cls.of(operand, default, cases)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(", ")
        _print_successor(printer, self.default_block, self.default_operands)
        printer.print_string(" [")
        for i, (value, block, args) in enumerate(self.cases()):
            printer.print_string(f"{', ' if i else ''}{value}: ")
            _print_successor(printer, block, args)
        printer.print_string("]")
        printer.print_op_attributes(self.attributes)


def _parse_successor(parser: Parser) -> tuple[Block, Sequence[SSAValue]]:
    block = parser.parse_successor()
    if not parser.parse_optional_punctuation("("):
        return block, ()
    names: list[UnresolvedOperand] = parser.parse_comma_separated_list(
        parser.Delimiter.NONE, parser.parse_unresolved_operand
    )
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    return block, parser.resolve_operands(names, types, parser.pos)


def _print_successor(printer: Printer, block: Block, args: Sequence[SSAValue]) -> None:
    printer.print_block_name(block)
    if args:
        printer.print_string("(")
        printer.print_list(args, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_list((arg.type for arg in args), printer.print_attribute)
        printer.print_string(")")


NEW_OPS: list[type[Operation]] = [
    op
    for op in list(globals().values())
    if isinstance(op, type)
    and issubclass(op, IRDLOperation)
    and op.__module__.startswith(__name__)
    and "name" in vars(op)
]
"""Every operation that is defined here or in llvm_intrinsics.py."""


def _widen_gep() -> None:
    """Lets getelementptr give a vector of pointers, from a vector of indices."""
    definition = GEPOp.get_irdl_definition()
    name = definition.operands[1][0]
    definition.operands[1] = (name, VarOperandDef(_INTEGERS))
    pointers = base(LLVMPointerType) | VectorType.constr(base(LLVMPointerType))
    definition.results[0] = (definition.results[0][0], ResultDef(pointers))


_widen_gep()

_names = {op.name for op in NEW_OPS}
LLVM_EXTENDED = Dialect(
    "llvm", [*(op for op in LLVM.operations if op.name not in _names), *NEW_OPS], list(LLVM.attributes)
)
"""The llvm dialect with these operations."""
