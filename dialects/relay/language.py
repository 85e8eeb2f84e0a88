"""The forms of the relay language beyond first-order programs: closures, data types, matching, references.

`let` has no operation: a program is flat SSA, which is A-normal form, and a value used twice is shared. Evaluation is
strict and in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    FlatSymbolRefAttrConstr,
    FunctionType,
    ModuleOp,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    NoTerminator,
    Pure,
    RecursiveMemoryEffect,
    SymbolOpInterface,
    SymbolTable,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.language_types import (
    UNIT,
    ADTType,
    IncompleteType,
    PolyType,
    RefType,
    TypeVarType,
    substitute,
)
from relay_mlir.dialects.relay.patterns import MatchPattern, parse_pattern, print_pattern
from relay_mlir.dialects.relay.types import compatible


def instantiate(general: Attribute, found: Attribute, free: Sequence[str], bound: dict[str, Attribute]) -> bool:
    """Whether `found` is `general` with the type variables `free` replaced; records what they stand for.

    A hole agrees with everything, a `?` dimension with every dimension.
    """
    if isinstance(general, IncompleteType) or isinstance(found, IncompleteType):
        return True
    if isinstance(found, PolyType) and isinstance(general, FunctionType):
        # A polymorphic function stands for each of its instances.
        return instantiate(found.body, general, found.type_parameters, {})
    match general, found:
        case TypeVarType(), _ if general.var.data in free:
            return compatible(bound.setdefault(general.var.data, found), found)
        case TensorType(), TensorType():
            return compatible(general, found)
        case ADTType(), ADTType():
            same = general.symbol == found.symbol and len(general.arguments) == len(found.arguments)
            pairs = zip(general.arguments, found.arguments, strict=False)
        case RefType(), RefType():
            same, pairs = True, [(general.content, found.content)]
        case FunctionType(), FunctionType():
            left, right = [*general.inputs, *general.outputs], [*found.inputs, *found.outputs]
            same = len(general.inputs) == len(found.inputs) and len(left) == len(right)
            pairs = zip(left, right, strict=False)
        case _, _:
            from xdsl.dialects.builtin import TupleType

            if not isinstance(general, TupleType) or not isinstance(found, TupleType):
                return general == found
            same = len(general.types) == len(found.types)
            pairs = zip(general.types, found.types, strict=False)
    return same and all(instantiate(a, b, free, bound) for a, b in pairs)


def agree(found: Sequence[Attribute], expected: Sequence[Attribute]) -> bool:
    """Whether values of the one types may stand for the others: equal but for holes and `?` dimensions."""
    return len(found) == len(expected) and all(instantiate(e, f, (), {}) for f, e in zip(found, expected, strict=True))


def declaration(op: Operation, name: str) -> AdtOp | None:
    """The declaration of a data type, from any operation of the module."""
    found = SymbolTable.lookup_symbol(_module(op), name)
    return found if isinstance(found, AdtOp) else None


def _module(op: Operation) -> Operation:
    while (parent := op.parent_op()) is not None and not isinstance(op, ModuleOp):
        op = parent
    return op


def constructor(op: Operation, name: str) -> ConstructorOp | None:
    """The declaration of a constructor, from any operation of the module."""
    module = _module(op)
    if isinstance(module, ModuleOp):
        for declared in module.body.block.ops:
            if isinstance(declared, AdtOp):
                for made in declared.constructors:
                    if made.sym_name.data == name:
                        return made
    return None


@irdl_op_definition
class ConstructorOp(IRDLOperation):
    """`relay.constructor @Cons(!relay.type_var<A>, ...)`: makes a value of the data type around it."""

    name = "relay.constructor"
    sym_name = prop_def(SymbolNameConstraint())
    fields = prop_def(ArrayAttr[Attribute])
    traits = lazy_traits_def(lambda: (HasParent(AdtOp),))

    def __init__(self, name: str, fields: Sequence[Attribute]):
        super().__init__(properties={"sym_name": StringAttr(name), "fields": ArrayAttr(fields)})

    @property
    def adt(self) -> AdtOp:
        """The declaration it belongs to."""
        return cast(AdtOp, self.parent_op())

    @property
    def tag(self) -> int:
        """Its position in the declaration."""
        return self.adt.constructors.index(self)

    @property
    def signature(self) -> FunctionType:
        """From its fields to the declared type, with the declaration's type variables."""
        variables = [TypeVarType(name) for name in self.adt.type_parameters]
        return FunctionType.from_lists(list(self.fields), [ADTType(self.adt.sym_name.data, variables)])

    @classmethod
    def parse(cls, parser: Parser) -> ConstructorOp:
        name = parser.parse_symbol_name().data
        fields = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        op = cls(name, fields or [])
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        if self.fields.data:
            with printer.in_parens():
                printer.print_list(self.fields, printer.print_attribute)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class AdtOp(IRDLOperation):
    """`relay.adt @List<A> { relay.constructor @Nil ... }`: declares a data type.

    `relay.adt extern @Storage` declares an opaque one.
    """

    name = "relay.adt"
    sym_name = prop_def(SymbolNameConstraint())
    type_params = prop_def(ArrayAttr[StringAttr])
    extern = opt_prop_def(UnitAttr)
    body = region_def("single_block")
    traits = traits_def(SymbolOpInterface(), NoTerminator())

    def __init__(self, name: str, type_parameters: Sequence[str], body: Region, *, extern: bool = False):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "type_params": ArrayAttr([StringAttr(p) for p in type_parameters]),
                "extern": UnitAttr() if extern else None,
            },
            regions=[body],
        )

    @property
    def type_parameters(self) -> tuple[str, ...]:
        return tuple(name.data for name in self.type_params)

    @property
    def constructors(self) -> list[ConstructorOp]:
        return [op for op in self.body.block.ops if isinstance(op, ConstructorOp)]

    def verify_(self) -> None:
        names = [made.sym_name.data for made in self.constructors]
        if len(names) != len(list(self.body.block.ops)) or len(set(names)) != len(names):
            raise VerifyException(f"the body of @{self.sym_name.data} must be constructors, each of a name of its own")
        if len(set(self.type_parameters)) != len(self.type_parameters):
            raise VerifyException(f"a type parameter of @{self.sym_name.data} occurs twice")
        if self.extern is not None and names:
            raise VerifyException(f"the extern type @{self.sym_name.data} can have no constructors")

    @classmethod
    def parse(cls, parser: Parser) -> AdtOp:
        extern = parser.parse_optional_keyword("extern") is not None
        name = parser.parse_symbol_name().data
        names = parser.parse_optional_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_identifier)
        body = parser.parse_optional_region() or Region(Block())
        if not body.blocks:
            body.add_block(Block())
        op = cls(name, names or [], body, extern=extern)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" extern " if self.extern is not None else " ")
        printer.print_symbol_name(self.sym_name.data)
        if self.type_parameters:
            with printer.in_angle_brackets():
                printer.print_list(self.type_parameters, printer.print_string)
        if self.extern is None:
            printer.print_string(" ")
            printer.print_region(self.body)
        printer.print_op_attributes(self.attributes)


class _ConstructorExists(SymbolUserOpInterface):
    """Checks a construction against the declaration of the constructor."""

    def verify(self, op: Operation) -> None:
        made = cast("ConstructOp | ConstructorValueOp", op)
        name = made.constructor.string_value()
        declared = constructor(op, name)
        if declared is None:
            raise VerifyException(f"no data type of this module has a constructor @{name}")
        if isinstance(made, ConstructOp):
            found: Attribute = FunctionType.from_lists([v.type for v in made.fields], [made.result.type])
        else:
            found = made.result.type.body if isinstance(made.result.type, PolyType) else made.result.type
        free = () if isinstance(made.results[0].type, PolyType) else declared.adt.type_parameters
        if isinstance(found, FunctionType) and len(found.inputs) != len(declared.fields):
            raise VerifyException(f"@{name} has {len(declared.fields)} fields, but is given {len(found.inputs)}")
        if not instantiate(declared.signature, found, free, {}):
            raise VerifyException(f"@{name} has type {declared.signature}, but is used as {found}")


@irdl_op_definition
class ConstructOp(IRDLOperation):
    """`%l = relay.construct @Cons(%x, %xs) : (T, U) -> !relay.adt<@List<T>>`: a value of a data type."""

    name = "relay.construct"
    constructor = prop_def(FlatSymbolRefAttrConstr)
    fields = var_operand_def()
    result = result_def()
    traits = traits_def(_ConstructorExists(), Pure())
    assembly_format = "$constructor `(` $fields `)` attr-dict `:` functional-type($fields, $result)"

    def __init__(self, constructor: str, fields: Sequence[SSAValue], result_type: Attribute):
        super().__init__(
            operands=[fields], properties={"constructor": SymbolRefAttr(constructor)}, result_types=[result_type]
        )


@irdl_op_definition
class ConstructorValueOp(IRDLOperation):
    """`%f = relay.constructor_value @Cons : (T, U) -> V`: a constructor as a function."""

    name = "relay.constructor_value"
    constructor = prop_def(FlatSymbolRefAttrConstr)
    result = result_def()
    traits = traits_def(_ConstructorExists(), Pure())
    assembly_format = "$constructor attr-dict `:` type($result)"

    def __init__(self, constructor: str, type_: Attribute):
        super().__init__(properties={"constructor": SymbolRefAttr(constructor)}, result_types=[type_])


@irdl_op_definition
class FnOp(IRDLOperation):
    """`%f = relay.fn (%x: T) -> U { ... relay.yield %y : U }`: a closure; it sees the values around it.

    `relay.fn rec %self, (%x: T) -> U { ... }` is recursive: `%self` is the closure itself.
    `relay.fn <A> (...)` is polymorphic.
    """

    name = "relay.fn"
    recursive = opt_prop_def(UnitAttr)
    body = region_def("single_block")
    result = result_def()
    traits = traits_def(Pure())

    def __init__(
        self,
        body: Region,
        outputs: Sequence[Attribute],
        *,
        recursive: bool = False,
        type_parameters: Sequence[str] = (),
    ):
        inputs = [arg.type for arg in body.block.args]
        plain = FunctionType.from_lists(inputs[1:] if recursive else inputs, outputs)
        super().__init__(
            properties={"recursive": UnitAttr() if recursive else None},
            regions=[body],
            result_types=[PolyType(type_parameters, plain) if type_parameters else plain],
        )

    @property
    def function_type(self) -> FunctionType:
        """The type without type parameters."""
        type_ = self.result.type
        return type_.body if isinstance(type_, PolyType) else cast(FunctionType, type_)

    @property
    def type_parameters(self) -> tuple[str, ...]:
        return self.result.type.type_parameters if isinstance(self.result.type, PolyType) else ()

    @property
    def self_argument(self) -> BlockArgument | None:
        """The block argument that is the closure itself, of a recursive one."""
        return self.body.block.args[0] if self.recursive is not None else None

    @property
    def parameters(self) -> tuple[BlockArgument, ...]:
        return tuple(self.body.block.args[1 if self.recursive is not None else 0 :])

    def verify_(self) -> None:
        if not isinstance(self.result.type, FunctionType | PolyType):
            raise VerifyException(f"a closure has a function type, not {self.result.type}")
        found = [parameter.type for parameter in self.parameters]
        if found != list(self.function_type.inputs):
            raise VerifyException(f"the parameters do not have the types of {self.function_type}")
        _check_yield(self.body, list(self.function_type.outputs), "the body")

    @classmethod
    def parse(cls, parser: Parser) -> FnOp:
        names = parser.parse_optional_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_identifier) or []
        arguments: list[Parser.Argument] = []
        recursive = parser.parse_optional_keyword("rec") is not None
        if recursive:
            arguments.append(parser.parse_argument())
            parser.parse_punctuation(",")
        arguments += parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
        parser.parse_punctuation("->")
        output = parser.parse_type()
        extra = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region(arguments)
        op = cls(body, [output], recursive=recursive, type_parameters=names)
        if extra is not None:
            op.attributes |= extra.data
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        if self.type_parameters:
            with printer.in_angle_brackets():
                printer.print_list(self.type_parameters, printer.print_string)
            printer.print_string(" ")
        if (self_argument := self.self_argument) is not None:
            printer.print_string("rec ")
            printer.print_block_argument(self_argument)
            printer.print_string(", ")
        with printer.in_parens():
            printer.print_list(self.parameters, printer.print_block_argument)
        printer.print_string(" -> ")
        printer.print_list(self.function_type.outputs, printer.print_attribute)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


def _check_yield(region: Region, expected: Sequence[Attribute], what: str) -> None:
    last = region.block.last_op
    if last is None or last.name != "relay.yield":
        raise VerifyException(f"{what} must end in relay.yield")
    found = [value.type for value in last.operands]
    if not agree(found, expected):
        raise VerifyException(
            f"{what} yields ({', '.join(map(str, found))}), but ({', '.join(map(str, expected))}) is declared"
        )


@irdl_op_definition
class GlobalOp(IRDLOperation):
    """`%f = relay.global @f : (T) -> U`: a function of the module as a value."""

    name = "relay.global"
    function = prop_def(FlatSymbolRefAttrConstr)
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$function attr-dict `:` type($result)"

    def __init__(self, function: str, type_: Attribute):
        super().__init__(properties={"function": SymbolRefAttr(function)}, result_types=[type_])


@irdl_op_definition
class ApplyOp(IRDLOperation):
    """`%y = relay.apply %f(%x) : T -> ...`: calls a function that is a value; its type and the call's are given."""

    name = "relay.apply"
    callee = operand_def()
    arguments = var_operand_def()
    result = result_def()
    assembly_format = "$callee `(` $arguments `)` attr-dict `:` type($callee) `,` functional-type($arguments, $result)"

    def __init__(self, callee: SSAValue, arguments: Sequence[SSAValue], result_type: Attribute):
        super().__init__(operands=[callee, arguments], result_types=[result_type])

    def verify_(self) -> None:
        callee: Attribute = self.callee.type
        free: Sequence[str] = ()
        if isinstance(callee, PolyType):
            free, callee = callee.type_parameters, callee.body
        if isinstance(callee, IncompleteType):
            return
        if not isinstance(callee, FunctionType):
            raise VerifyException(f"only a function can be called, but this is {self.callee.type}")
        found = FunctionType.from_lists([v.type for v in self.arguments], [self.result.type])
        if len(found.inputs) != len(callee.inputs):
            wanted = len(callee.inputs)
            raise VerifyException(f"the function takes {wanted} arguments, but is given {len(found.inputs)}")
        if not instantiate(callee, found, free, {}):
            raise VerifyException(f"the function is {self.callee.type}, but is called as {found}")


@irdl_op_definition
class MatchOp(IRDLOperation):
    """`%r = relay.match %xs : T -> U { case @Nil { ... } case @Cons(%x: V, _) { ... } }`: the first case that matches.

    A complete match covers every value of its type (type inference checks it); `relay.match partial` need not, and
    fails at run time where no case matches.
    """

    name = "relay.match"
    scrutinee = operand_def()
    patterns = prop_def(ArrayAttr[MatchPattern])
    partial = opt_prop_def(UnitAttr)
    cases = var_region_def("single_block")
    result = result_def()
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        scrutinee: SSAValue,
        patterns: Sequence[MatchPattern],
        cases: Sequence[Region],
        result_type: Attribute,
        *,
        partial: bool = False,
    ):
        super().__init__(
            operands=[scrutinee],
            properties={"patterns": ArrayAttr(patterns), "partial": UnitAttr() if partial else None},
            regions=[list(cases)],
            result_types=[result_type],
        )

    def verify_(self) -> None:
        if len(self.patterns) != len(self.cases):
            raise VerifyException(f"{len(self.patterns)} patterns, but {len(self.cases)} cases")
        for number, (pattern, case) in enumerate(zip(self.patterns, self.cases, strict=True)):
            if pattern.variables() != len(case.block.args):
                raise VerifyException(
                    f"the pattern of case {number} binds {pattern.variables()} variables, "
                    f"but its block takes {len(case.block.args)}"
                )
            _check_yield(case, [self.result.type], f"case {number}")

    @classmethod
    def parse(cls, parser: Parser) -> MatchOp:
        partial = parser.parse_optional_keyword("partial") is not None
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        scrutinee = parser.resolve_operand(operand, parser.parse_type())
        parser.parse_punctuation("->")
        result_type = parser.parse_type()
        patterns: list[MatchPattern] = []
        cases: list[Region] = []
        parser.parse_punctuation("{")
        while parser.parse_optional_keyword("case"):
            arguments: list[Parser.Argument] = []
            patterns.append(parse_pattern(parser, arguments))
            cases.append(parser.parse_region(arguments))
        parser.parse_punctuation("}")
        op = cls(scrutinee, patterns, cases, result_type, partial=partial)
        op.attributes |= parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" partial " if self.partial is not None else " ")
        printer.print_ssa_value(self.scrutinee)
        printer.print_string(" : ")
        printer.print_attribute(self.scrutinee.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)
        printer.print_string(" {")
        for pattern, case in zip(self.patterns, self.cases, strict=True):
            printer.print_string("\n")
            printer.print_string("case ")
            print_pattern(printer, pattern, list(case.block.args))
            printer.print_string(" ")
            printer.print_region(case, print_entry_block_args=False)
        printer.print_string("\n")
        printer.print_string("}")
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class RefCreateOp(IRDLOperation):
    """`%r = relay.ref_create %x : T`: a new cell that holds a value."""

    name = "relay.ref_create"
    value = operand_def(AnyAttr())
    result = result_def(RefType)
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value], result_types=[RefType(value.type)])

    def verify_(self) -> None:
        _check_content(self.result.type, self.value.type)


@irdl_op_definition
class RefReadOp(IRDLOperation):
    """`%x = relay.ref_read %r : !relay.ref<T> -> T`: what a cell holds."""

    name = "relay.ref_read"
    ref = operand_def()
    result = result_def()
    assembly_format = "$ref attr-dict `:` type($ref) `->` type($result)"

    def __init__(self, ref: SSAValue, result_type: Attribute | None = None):
        content = ref.type.content if isinstance(ref.type, RefType) else IncompleteType()
        super().__init__(operands=[ref], result_types=[content if result_type is None else result_type])

    def verify_(self) -> None:
        _check_content(self.ref.type, self.result.type)


@irdl_op_definition
class RefWriteOp(IRDLOperation):
    """`%u = relay.ref_write %r, %x : !relay.ref<T>, T -> tuple<>`: puts a value into a cell."""

    name = "relay.ref_write"
    ref = operand_def()
    value = operand_def()
    result = result_def()
    assembly_format = "$ref `,` $value attr-dict `:` type($ref) `,` type($value) `->` type($result)"

    def __init__(self, ref: SSAValue, value: SSAValue):
        super().__init__(operands=[ref, value], result_types=[UNIT])

    def verify_(self) -> None:
        _check_content(self.ref.type, self.value.type)


def _check_content(ref: Attribute, content: Attribute) -> None:
    if isinstance(ref, IncompleteType):
        return
    if not isinstance(ref, RefType) or not instantiate(ref.content, content, (), {}):
        raise VerifyException(f"a {ref} does not hold a {content}")


def constructor_fields(declared: ConstructorOp, type_: ADTType) -> list[Attribute]:
    """The field types of a constructor in a value of this type."""
    values: Mapping[str, Attribute] = dict(zip(declared.adt.type_parameters, type_.arguments, strict=True))
    return [substitute(field, values) for field in declared.fields]


LANGUAGE_OPS: list[type[Operation]] = [
    AdtOp,
    ConstructorOp,
    ConstructOp,
    ConstructorValueOp,
    FnOp,
    GlobalOp,
    ApplyOp,
    MatchOp,
    RefCreateOp,
    RefReadOp,
    RefWriteOp,
]
