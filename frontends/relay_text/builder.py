"""The tree of a Relay program to the relay dialect: `let` and graph variables become flat SSA, in evaluation order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import FunctionType, TupleType, i1
from xdsl.ir import Attribute, Block, Region, SSAValue, TypeAttribute

from relay_mlir.dialects.relay.core import CallOp, FuncOp, IfOp, TupleGetItemOp, TupleOp, YieldOp
from relay_mlir.dialects.relay.language import (
    AdtOp,
    ApplyOp,
    ConstructOp,
    ConstructorValueOp,
    FnOp,
    GlobalOp,
    MatchOp,
    RefCreateOp,
    RefReadOp,
    RefWriteOp,
    constructor_fields,
    instantiate,
)
from relay_mlir.dialects.relay.language_types import ADTType, PolyType, RefType, is_complete, substitute
from relay_mlir.dialects.relay.patterns import ConstructorPattern, MatchPattern, TuplePattern, VarPattern
from relay_mlir.dialects.relay.types import tensor
from relay_mlir.dialects.relay.weights import WeightStore
from relay_mlir.frontends.relay_text.emitter import HOLE, Emitter, merge, set_type
from relay_mlir.frontends.relay_text.function_attrs import attributes_of, call_attributes
from relay_mlir.frontends.relay_text.metadata import Metadata
from relay_mlir.frontends.relay_text.op_calls import OpCalls
from relay_mlir.frontends.relay_text.syntax import (
    Body,
    Call,
    ConstructorRef,
    Expr,
    Function,
    GlobalRef,
    GraphRef,
    If,
    Let,
    Literal,
    Local,
    Match,
    MetaRef,
    OpRef,
    Part,
    Projection,
    RefCall,
    Scope,
    Shared,
    TupleExpr,
    Var,
)
from relay_mlir.frontends.relay_text.trampoline import Steps
from relay_mlir.lowering.ir_text import SourceText


class Builder(Emitter):
    """Builds the bodies of the functions of a module."""

    def __init__(
        self,
        source: SourceText,
        weights: WeightStore,
        metadata: Metadata,
        functions: dict[str, FuncOp],
        types: dict[str, AdtOp],
    ):
        super().__init__(source, weights, metadata, types.values())
        self.functions = functions
        self.values: dict[Var, tuple[SSAValue, Scope]] = {}
        self.shared: dict[Shared, SSAValue] = {}
        self.calls = OpCalls(self)

    # Expressions

    def expr(self, node: Expr, scope: Scope) -> Steps[SSAValue]:
        """The value of an expression, evaluated at the end of the scope's block."""
        match node:
            case Local():
                return self.local(node, scope)
            case Literal():
                return self.constant(node.scalar.array, scope, node.position)
            case GraphRef():
                return cast(SSAValue, (yield self.graph(node.shared)))
            case Body():
                return cast(SSAValue, (yield self.body(node, scope)))
            case Call():
                return cast(SSAValue, (yield self.call(node, scope)))
            case TupleExpr():
                fields = cast("list[SSAValue]", (yield self.all(node.fields, scope)))
                return self.emit(TupleOp(*fields), scope, node.position)
            case Projection():
                value = cast(SSAValue, (yield self.expr(node.value, scope)))
                return self.project(value, node.index, scope, node.position)
            case Function():
                return cast(SSAValue, (yield self.closure(node, scope, None)))
            case If():
                return cast(SSAValue, (yield self.branch(node, scope)))
            case Match():
                return cast(SSAValue, (yield self.match(node, scope)))
            case RefCall():
                return cast(SSAValue, (yield self.reference(node, scope)))
            case GlobalRef():
                type_ = self.function(node).function_type
                return self.emit(GlobalOp(node.name, self._generic(self.function(node), type_)), scope, node.position)
            case ConstructorRef():
                return self.constructor_value(node, scope)
            case MetaRef():
                return self.constant(self.metadata.constant(node), scope, node.position)
            case OpRef():
                return self.calls.as_closure(node, scope)

    def all(self, nodes: Sequence[Expr], scope: Scope) -> Steps[list[SSAValue]]:
        """The values of expressions, evaluated from left to right."""
        values: list[SSAValue] = []
        for node in nodes:
            values.append(cast(SSAValue, (yield self.expr(node, scope))))
        return values

    def local(self, node: Local, scope: Scope) -> SSAValue:
        found = self.values.get(node.var)
        inside: Scope | None = scope
        while found is not None and inside is not None and inside is not found[1]:
            inside = inside.parent
        if found is None or inside is None:
            self.error(f"variable `%{node.var.name}` is used outside its scope", node.position)
        return found[0]

    def graph(self, shared: Shared) -> Steps[SSAValue]:
        """The value of a graph variable, evaluated in its scope when it is first used."""
        if shared not in self.shared:
            assert shared.scope is not None
            self.shared[shared] = cast(SSAValue, (yield self.expr(shared.expr, shared.scope)))
        return self.shared[shared]

    def body(self, node: Body, scope: Scope) -> Steps[SSAValue]:
        for binding in node.bindings:
            if isinstance(binding, Shared):
                # Nothing tells when a pure expression is evaluated: then the order of the text is kept.
                if binding.scope is scope and binding.expr.pure:
                    yield self.graph(binding)
            else:
                yield self.let(binding, scope)
        return cast(SSAValue, (yield self.expr(node.result, scope)))

    def let(self, binding: Let, scope: Scope) -> Steps[None]:
        var = binding.var
        if isinstance(binding.value, Function):
            value = cast(SSAValue, (yield self.closure(binding.value, scope, var)))
        else:
            value = cast(SSAValue, (yield self.expr(binding.value, scope)))
        if var is None:
            return
        if var.type is not None:
            self.annotate(value, var)
        if value.name_hint is None and not isinstance(binding.value, Local):
            name_value(value, var.name)
        self.values[var] = (value, scope)

    def annotate(self, value: SSAValue, var: Var) -> None:
        """Fills the holes in the type of a value from the declared type of a variable."""
        assert var.type is not None
        merged = merge(value.type, var.type)
        if merged is None:
            self.error(f"%{var.name} is declared {var.type}, but its value is {value.type}", var.position)
        if merged != value.type:
            set_type(value, merged)
        if isinstance(value.owner, FnOp) and isinstance(merged, FunctionType):
            for parameter, type_ in zip(value.owner.parameters, merged.inputs, strict=True):
                set_type(parameter, type_)

    def project(self, value: SSAValue, index: int, scope: Scope, position: int) -> SSAValue:
        type_ = value.type
        if isinstance(type_, TupleType):
            if index >= len(type_.types):
                self.error(f"field {index} of a tuple that has {len(type_.types)} fields", position)
            if value in self.implicit:
                return self.implicit[value][index]
            return self.emit(TupleGetItemOp(value, index), scope, position)
        if type_ != HOLE:
            self.error(f"only a tuple has fields, but this is {type_}", position)
        return self.emit(TupleGetItemOp(value, index, HOLE), scope, position)

    # Functions

    def closure(self, node: Function, scope: Scope, itself: Var | None) -> Steps[SSAValue]:
        """A function as a value; `itself` is the variable of a `let` that binds it, which its body may use."""
        part = node.part
        assert part.scope is not None
        parameters = [HOLE if p.type is None else p.type for p in node.parameters]
        part.scope.block = block = Block(arg_types=[HOLE, *parameters] if itself else parameters)
        if itself is not None:
            signature = FunctionType.from_lists(parameters, [node.result or HOLE])
            whole = PolyType(node.type_parameters, signature) if node.type_parameters else signature
            set_type(block.args[0], whole)
            name_value(block.args[0], itself.name)
            self.values[itself] = (block.args[0], part.scope)
        arguments = block.args[1:] if itself else block.args
        self.bind(node.parameters, list(arguments), part.scope)
        result = cast(SSAValue, (yield self.expr(part.body, part.scope)))
        self.emit_yield(result, part.scope, node.position)
        recursive = itself is not None and bool(block.args[0].uses)
        if itself is not None and not recursive:
            block.erase_arg(block.args[0])
        output = self.result_type(node, result)
        op = FnOp(Region(block), [output], recursive=recursive, type_parameters=node.type_parameters)
        if recursive:
            set_type(block.args[0], op.result.type)
        op.attributes |= attributes_of(self, node)
        return self.emit(op, scope, node.position)

    def result_type(self, node: Function, result: SSAValue) -> Attribute:
        """The type of what a function returns: the declared one, with its holes filled from the body."""
        if node.result is None:
            return result.type
        merged = merge(node.result, result.type)
        if merged is None:
            self.error(f"the function returns {result.type}, but {node.result} is declared", node.part.body.position)
        return merged

    def bind(self, variables: Sequence[Var], values: Sequence[SSAValue], scope: Scope) -> None:
        for var, value in zip(variables, values, strict=True):
            name_value(value, var.name)
            self.values[var] = (value, scope)

    def emit_yield(self, value: SSAValue, scope: Scope, position: int) -> None:
        op = YieldOp(value)
        assert scope.block is not None
        op.location = self.source.location(position)
        scope.block.add_op(op)

    # Calls

    def call(self, node: Call, scope: Scope) -> Steps[SSAValue]:
        callee = node.callee
        if isinstance(callee, OpRef):
            self.calls.definition(callee)  # an unknown operator is reported before its operands are looked at
            operands = cast("list[SSAValue]", (yield self.all(node.arguments, scope)))
            return self.calls.call(node, callee, operands, scope)
        function: SSAValue | None = None
        if not isinstance(callee, GlobalRef | ConstructorRef):
            function = cast(SSAValue, (yield self.expr(callee, scope)))
        values = cast("list[SSAValue]", (yield self.all(node.arguments, scope)))
        if isinstance(callee, ConstructorRef):
            return self.construct(callee, values, scope)
        attributes = call_attributes(self, node)
        if isinstance(callee, GlobalRef):
            func = self.function(callee)
            result = self.applied(func.function_type, func.type_parameters, values, f"@{callee.name}", node)
            op: CallOp | ApplyOp = CallOp(callee.name, values, [result])
        else:
            assert function is not None
            type_, free = function.type, ()
            if isinstance(type_, PolyType):
                free, type_ = type_.type_parameters, type_.body
            if not isinstance(type_, FunctionType) and type_ != HOLE:
                self.error(f"only a function can be called, but this is {function.type}", node.position)
            result = HOLE if type_ == HOLE else self.applied(type_, free, values, "the function", node)
            op = ApplyOp(function, values, result)
        op.attributes |= attributes
        return self.emit(op, scope, node.position)

    def applied(
        self, type_: Attribute, free: Sequence[str], values: Sequence[SSAValue], what: str, node: Call
    ) -> Attribute:
        """The result type of a call, as far as the types of the arguments tell."""
        assert isinstance(type_, FunctionType)
        if len(values) != len(type_.inputs):
            expected = len(type_.inputs)
            plural = "" if expected == 1 else "s"
            self.error(f"{what} takes {expected} argument{plural}, but is given {len(values)}", node.position)
        return self.instance(type_, free, values)

    def instance(self, type_: FunctionType, free: Sequence[str], values: Sequence[SSAValue]) -> Attribute:
        """The result type of a function applied to values; type variables that they do not determine are holes."""
        bound: dict[str, Attribute] = {}
        for general, value in zip(type_.inputs, values, strict=True):
            if is_complete(value.type):
                instantiate(general, value.type, free, bound)
        outputs = type_.outputs.data
        result = outputs[0] if len(outputs) == 1 else TupleType(cast(tuple[TypeAttribute, ...], outputs))
        return substitute(result, {name: bound.get(name, HOLE) for name in free})

    def function(self, node: GlobalRef) -> FuncOp:
        return self.functions[node.name]

    def _generic(self, func: FuncOp, type_: FunctionType) -> Attribute:
        return HOLE if func.type_parameters else type_

    def construct(self, callee: ConstructorRef, values: Sequence[SSAValue], scope: Scope) -> SSAValue:
        declared = self.constructors[callee.name]
        if len(values) != len(declared.fields):
            plural = "" if len(declared.fields) == 1 else "s"
            self.error(
                f"constructor `{callee.name}` has {len(declared.fields)} field{plural}, but is given {len(values)}",
                callee.position,
            )
        result = self.instance(declared.signature, declared.adt.type_parameters, values)
        return self.emit(ConstructOp(callee.name, values, result), scope, callee.position)

    def constructor_value(self, node: ConstructorRef, scope: Scope) -> SSAValue:
        declared = self.constructors[node.name]
        if not declared.fields.data:
            return self.construct(node, [], scope)
        holes: dict[str, Attribute] = dict.fromkeys(declared.adt.type_parameters, HOLE)
        type_ = substitute(declared.signature, holes)
        return self.emit(ConstructorValueOp(node.name, type_), scope, node.position)

    # Control

    def part(self, part: Part, types: Sequence[Attribute]) -> Steps[tuple[Region, Attribute]]:
        """The block of a branch or case, and the type of its value."""
        assert part.scope is not None
        part.scope.block = Block(arg_types=types)
        self.bind(part.parameters, list(part.scope.block.args), part.scope)
        value = cast(SSAValue, (yield self.expr(part.body, part.scope)))
        self.emit_yield(value, part.scope, part.body.position)
        return Region(part.scope.block), value.type

    def branch(self, node: If, scope: Scope) -> Steps[SSAValue]:
        condition = cast(SSAValue, (yield self.expr(node.condition, scope)))
        if condition.type not in (tensor([], i1), HOLE):
            self.error(f"the condition must be bool, but is {condition.type}", node.condition.position)
        then, left = cast("tuple[Region, Attribute]", (yield self.part(node.branches[0], [])))
        otherwise, right = cast("tuple[Region, Attribute]", (yield self.part(node.branches[1], [])))
        type_ = merge(left, right)
        if type_ is None:
            self.error(f"the branches are {left} and {right}, but must have one type", node.position)
        return self.emit(IfOp(condition, [type_], then, otherwise), scope, node.position)

    def match(self, node: Match, scope: Scope) -> Steps[SSAValue]:
        scrutinee = cast(SSAValue, (yield self.expr(node.scrutinee, scope)))
        regions: list[Region] = []
        result: Attribute = HOLE
        for pattern, part in node.cases:
            variables: list[Attribute] = []
            self.pattern_types(pattern, scrutinee.type, variables)
            types = [self.declared(var, type_) for var, type_ in zip(part.parameters, variables, strict=True)]
            region, type_ = cast("tuple[Region, Attribute]", (yield self.part(part, types)))
            regions.append(region)
            merged = merge(result, type_)
            if merged is None:
                self.error(f"this case is {type_}, but one before is {result}", part.body.position)
            result = merged
        patterns = [pattern for pattern, _ in node.cases]
        op = MatchOp(scrutinee, patterns, regions, result, partial=not node.complete)
        return self.emit(op, scope, node.position)

    def declared(self, var: Var, type_: Attribute) -> Attribute:
        """The type of a variable of a pattern, from its annotation and from the matched value."""
        merged = type_ if var.type is None else merge(var.type, type_)
        if merged is None:
            self.error(f"%{var.name} is declared {var.type}, but the matched value is {type_}", var.position)
        return merged

    def pattern_types(self, pattern: MatchPattern, type_: Attribute, found: list[Attribute]) -> None:
        """The types of the variables of a pattern, as far as the type of the matched value tells."""
        match pattern:
            case VarPattern():
                found.append(type_)
            case ConstructorPattern():
                declared = self.constructors[pattern.constructor.string_value()]
                arity = len(declared.adt.type_parameters)
                if not isinstance(type_, ADTType) or type_.adt_name != declared.adt.sym_name.data:
                    type_ = ADTType(declared.adt.sym_name.data, [HOLE] * arity)
                for field, part in zip(pattern.fields, constructor_fields(declared, type_), strict=True):
                    self.pattern_types(field, part, found)
            case TuplePattern():
                known = type_.types.data if isinstance(type_, TupleType) else ()
                for position, field in enumerate(pattern.fields):
                    self.pattern_types(field, known[position] if position < len(known) else HOLE, found)
            case _:
                pass

    def reference(self, node: RefCall, scope: Scope) -> Steps[SSAValue]:
        values = cast("list[SSAValue]", (yield self.all(node.arguments, scope)))
        if node.name == "ref":
            return self.emit(RefCreateOp(values[0]), scope, node.position)
        if not isinstance(values[0].type, RefType) and values[0].type != HOLE:
            self.error(f"expected a reference, but found {values[0].type}", node.arguments[0].position)
        op = RefReadOp(values[0]) if node.name == "ref_read" else RefWriteOp(*values)
        return self.emit(op, scope, node.position)


def name_value(value: SSAValue, name: str) -> None:
    """Gives a value a name, as far as MLIR can write it."""
    # xDSL drops a number behind a last underscore; dropping all of them at once gives names that stay the same.
    hint = re.sub(r"(_\d+)+$", "", name.replace("/", "_"))
    if hint and value.is_valid_name(hint):
        value.name_hint = hint
