"""The arith dialect where xDSL's is narrower than upstream's: select, casts on vectors, remf, index_castui.

Importing this module widens xDSL's own classes in place, so that whoever builds `xdsl.dialects.arith.SelectOp` with a
vector of conditions gets an operation that verifies, prints and parses as upstream's does.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloatConstr,
    IndexType,
    IntegerType,
    SignlessIntegerConstraint,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    AttrConstraint,
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.irdl.operations import OperandDef, ResultDef
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.upstream.attributes import element_of

_INTEGERS = SignlessIntegerConstraint | VectorType.constr(SignlessIntegerConstraint)
_FLOATS = AnyFloatConstr | VectorType.constr(AnyFloatConstr)
_INDICES = base(IntegerType) | base(IndexType)
_ANY_INDICES = _INDICES | VectorType.constr(_INDICES)


@irdl_op_definition
class RemfOp(IRDLOperation):
    """The rest of the division of two floats, with the sign of the first (C's fmod)."""

    name = "arith.remf"

    T: ClassVar = VarConstraint("T", _FLOATS)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    fastmath = prop_def(arith.FastMathFlagsAttr, default_value=arith.FastMathFlagsAttr("none"))
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        super().__init__(
            operands=[lhs, rhs], result_types=[lhs.type], properties={"fastmath": arith.FastMathFlagsAttr("none")}
        )


RemFOp = RemfOp


@irdl_op_definition
class IndexCastUIOp(IRDLOperation):
    """Between index and an integer, both unsigned."""

    name = "arith.index_castui"

    input = operand_def(_ANY_INDICES)
    result = result_def(_ANY_INDICES)
    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"

    def __init__(self, value: SSAValue, target: Attribute):
        super().__init__(operands=[value], result_types=[target])


def _verify_shapes(op: Operation) -> None:
    source, result = op.operands[0].type, op.results[0].type
    shapes = [t.shape if isinstance(t, VectorType) else None for t in (source, result)]
    if shapes[0] != shapes[1]:
        raise VerifyException(f"{op.name} from {source} to {result}: the shapes differ")


def _verify_cast(op: Operation) -> None:
    _verify_shapes(op)


def _verify_narrowing(op: Operation) -> None:
    _verify_shapes(op)
    source, result = (cast(IntegerType, element_of(v.type)) for v in (op.operands[0], op.results[0]))
    if not result.width.data < source.width.data:
        raise VerifyException("Destination bit-width must be smaller than the input bit-width")


def _verify_widening(op: Operation) -> None:
    _verify_shapes(op)
    source, result = (cast(IntegerType, element_of(v.type)) for v in (op.operands[0], op.results[0]))
    if not result.width.data > source.width.data:
        raise VerifyException("Destination bit-width must be larger than the input bit-width")


def _verify_index_cast(op: Operation) -> None:
    _verify_shapes(op)
    source, result = (isinstance(element_of(v.type), IndexType) for v in (op.operands[0], op.results[0]))
    if source == result:
        raise VerifyException(f"{op.name} casts between index and an integer type")


def _verify_select(op: Operation) -> None:
    cond, result = op.operands[0].type, op.results[0].type
    if isinstance(cond, VectorType) and not (isinstance(result, VectorType) and result.shape == cond.shape):
        raise VerifyException(f"{op.name} of {result} needs a condition i1 or of its shape, not {cond}")


def _print_select(op: Operation, printer: Printer) -> None:
    printer.print_string(" ")
    printer.print_list(op.operands, printer.print_ssa_value)
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    if op.operands[0].type != i1:
        printer.print_attribute(op.operands[0].type)
        printer.print_string(", ")
    printer.print_attribute(op.results[0].type)


def _parse_select(cls: type[arith.SelectOp], parser: Parser) -> arith.SelectOp:
    names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    cond, result = types if len(types) == 2 else (i1, types[0])
    operands = parser.resolve_operands(names, [cond, result, result], parser.pos)
    return cls.create(operands=operands, result_types=[result], attributes=attributes)


def _widen(cls: type[IRDLOperation], operand: AttrConstraint, result: AttrConstraint | None, verify: object) -> None:
    """Lets the first operand and the result of an operation have more types than xDSL allows."""
    definition = cls.get_irdl_definition()
    name = definition.operands[0][0]
    definition.operands[0] = (name, OperandDef(operand))
    if result is not None:
        definition.results[0] = (definition.results[0][0], ResultDef(result))
    # Assigned by name: to the type checker the classes are closed.
    setattr(cls, "verify_", verify)  # noqa: B010


def _verify_compare(op: Operation) -> None:
    _verify_shapes(op)


def _compare_result(type_: Attribute) -> Attribute:
    """The type of a comparison of operands of this type: i1, or a vector of it."""
    return VectorType(i1, type_.shape) if isinstance(type_, VectorType) else i1


def _parse_compare(cls: type[IRDLOperation], parser: Parser) -> Operation:
    """As xDSL parses `arith.cmpi` and `arith.cmpf`, with the result type of the operands' shape."""
    made = _XDSL_PARSE[cls](parser)
    expected = _compare_result(made.operands[0].type)
    if made.results[0].type == expected:
        return made
    return cls.create(operands=list(made.operands), result_types=[expected], properties=made.properties)


_XDSL_PARSE: dict[type[IRDLOperation], Any] = {}


def _install_compare() -> None:
    for cls in (arith.CmpiOp, arith.CmpfOp):
        definition = cls.get_irdl_definition()
        result = base(IntegerType) | VectorType.constr(base(IntegerType))
        definition.results[0] = (definition.results[0][0], ResultDef(result))
        _XDSL_PARSE[cls] = cls.parse
        setattr(cls, "verify_", _verify_compare)  # noqa: B010
        setattr(cls, "parse", classmethod(_parse_compare))  # noqa: B010


def _install() -> None:
    _install_compare()
    _widen(arith.SelectOp, base(IntegerType) | VectorType.constr(base(IntegerType)), None, _verify_select)
    select: Any = arith.SelectOp
    select.print = _print_select
    select.parse = classmethod(_parse_select)
    for cls in (arith.SIToFPOp, arith.UIToFPOp):
        _widen(cls, _INTEGERS, AnyFloatConstr | VectorType.constr(AnyFloatConstr), _verify_cast)
    for cls in (arith.FPToSIOp, arith.FPToUIOp):
        _widen(cls, AnyFloatConstr | VectorType.constr(AnyFloatConstr), _INTEGERS, _verify_cast)
    _widen(arith.TruncIOp, _INTEGERS, _INTEGERS, _verify_narrowing)
    for cls in (arith.ExtSIOp, arith.ExtUIOp):
        _widen(cls, _INTEGERS, _INTEGERS, _verify_widening)
    _widen(arith.IndexCastOp, _ANY_INDICES, _ANY_INDICES, _verify_index_cast)


_install()

NEW_OPS: list[type[Operation]] = [RemfOp, IndexCastUIOp]

ARITH_EXTENDED = Dialect("arith", [*arith.Arith.operations, *NEW_OPS], list(arith.Arith.attributes))
"""The arith dialect with these operations."""
