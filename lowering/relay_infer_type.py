"""relay-infer-type: fill every hole in the types of a program, or say what could not be inferred, where and why.

Hindley-Milner unification over the whole module, with the operators' type relations (`Operator.infer`) solved from a
queue: a relation waits until its operand types are known and is tried again when one of them is. Polymorphic functions
and constructors are instantiated at each use. Complete matches are checked for cases that are missing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, FunctionType, ModuleOp, i1
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.core import (
    CallOp,
    FuncOp,
    IfOp,
    ReturnOp,
    TupleGetItemOp,
    TupleOp,
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
from relay_mlir.dialects.relay.language_types import UNIT, PolyType, is_complete
from relay_mlir.dialects.relay.op import RelayOp, checked_types
from relay_mlir.dialects.relay.patterns import ConstructorPattern, MatchPattern, TuplePattern, VarPattern
from relay_mlir.lowering.diagnostics import OpError
from relay_mlir.lowering.locations import describe_origin
from relay_mlir.lowering.typing.coverage import missing
from relay_mlir.lowering.typing.terms import (
    Con,
    Hole,
    MismatchError,
    Scheme,
    TensorTerm,
    Term,
    Unifier,
    holes,
    instance,
    origin,
    prune,
    term_of,
    type_of,
)


def _place(op: Operation) -> str | None:
    """Where an operation is, for a message about another one."""
    location = op.location
    if isinstance(location, FileLineColLoc):
        return f"line {location.line.data}, column {location.column.data}"
    return describe_origin(op)


class _Inference:
    """The constraints of one module and their solution."""

    def __init__(self, module: ModuleOp):
        self.module = module
        self.unifier = Unifier()
        self.terms: dict[SSAValue, Term] = {}
        self.queue: deque[Callable[[], None]] = deque()
        self.pending: dict[Operation, str] = {}
        """Relations not solved yet, with what they wait for."""
        self.functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
        self.constructors: dict[str, ConstructorOp] = {}
        for declared in module.ops:
            if isinstance(declared, AdtOp):
                self.constructors |= {made.sym_name.data: made for made in declared.constructors}
        self.signatures = {name: self.signature(op) for name, op in self.functions.items()}

    # Terms

    def term(self, value: SSAValue) -> Term:
        """The type of a value as a term, the same one each time."""
        if value not in self.terms:
            owner = value.owner
            place = owner if isinstance(owner, Operation) else cast(Operation, owner.parent_op())
            self.terms[value] = self.term_of_type(value.type, place)
        return self.terms[value]

    def term_of_type(self, type_: Attribute, place: Operation) -> Term:
        return term_of(type_, lambda: Hole("a value", place))

    def signature(self, function: FuncOp) -> Term:
        """The type of a function, made of the terms of its arguments, so that its body refines it."""
        result = self.term_of_type(FunctionType.from_lists([], list(function.function_type.outputs)), function)
        fn = Con("fn", [*(self.term(argument) for argument in function.args), cast(Con, result).args[-1]])
        return Scheme(function.type_parameters, fn) if function.type_parameters else fn

    def instantiate(self, term: Term, place: Operation) -> Term:
        """A function type with fresh holes for its type parameters."""
        known = prune(term)
        return (
            instance(known, lambda name: Hole(f"type parameter {name}", place)) if isinstance(known, Scheme) else known
        )

    # Constraints

    def equal(self, found: Term, expected: Term, op: Operation, what: str) -> None:
        """Makes two terms one; raises OpError that names both types, what differs, and where they come from."""
        try:
            self.unifier.unify(found, expected, op)
        except MismatchError as e:
            message = f"{what} is {type_of(found)}, but {type_of(expected)} is expected"
            if e.why:
                message += f": {e.why}"
            for term in (found, expected, e.found, e.expected):
                if (by := origin(term)) is not None and by is not op and (place := _place(by)):
                    message += f" ({type_of(term)} comes from {place})"
                    break
            raise OpError(op, message) from e
        woken, self.unifier.woken = self.unifier.woken, []
        self.queue.extend(woken)

    def when_known(self, term: Term, then: Callable[[], None]) -> bool:
        """Runs a function once a term is no longer a hole; False if it has to wait."""
        known = prune(term)
        if isinstance(known, Hole):
            known.waiting.append(then)
            return False
        return True

    def run(self) -> None:
        """Collects all constraints, solves them, and writes the types back."""
        for function in self.functions.values():
            self.region(function.body)
        while self.queue:
            self.queue.popleft()()
        self.write_back()

    def region(self, region: Region) -> None:
        """The constraints of every operation of a region, and of the regions in it, without recursion."""
        pending: list[Iterable[Operation]] = [region.block.ops]
        stack = [iter(pending[0])]
        while stack:
            op = next(stack[-1], None)
            if op is None:
                stack.pop()
                continue
            self.operation(op)
            stack.extend(iter(inner.block.ops) for inner in reversed(op.regions))

    def operation(self, op: Operation) -> None:
        match op:
            case RelayOp():
                self.relation(op)
            case CallOp():
                self.call(op, op.callee.string_value())
            case ApplyOp():
                callee = self.instantiate(self.term(op.callee), op)
                self.equal(self.arguments(op.arguments, op.result), callee, op, "the function, as called,")
            case ConstructOp():
                self.construct(op)
            case ConstructorValueOp():
                self.equal(self.term(op.result), self.constructor(op, op.constructor.string_value()), op, "the value")
            case GlobalOp():
                self.global_value(op)
            case FnOp():
                self.closure(op)
            case TupleOp():
                fields = Con("tuple", [self.term(field) for field in op.fields])
                self.equal(self.term(op.result), fields, op, "the tuple")
            case TupleGetItemOp():
                self.projection(op)
            case IfOp():
                self.equal(self.term(op.condition), TensorTerm(i1, []), op, "the condition")
            case MatchOp():
                for pattern, case in zip(op.patterns, op.cases, strict=True):
                    self.pattern(op, pattern, self.term(op.scrutinee), list(case.block.args))
            case RefCreateOp():
                self.equal(self.term(op.result), Con("ref", [self.term(op.value)]), op, "the reference")
            case RefReadOp():
                self.equal(self.term(op.ref), Con("ref", [self.term(op.result)]), op, "the reference")
            case RefWriteOp():
                self.equal(self.term(op.ref), Con("ref", [self.term(op.value)]), op, "the reference")
                self.equal(self.term(op.result), self.term_of_type(UNIT, op), op, "the result")
            case YieldOp() | ReturnOp():
                self.terminator(op)
            case _:
                for result in op.results:
                    self.term(result)

    def arguments(self, operands: Sequence[SSAValue], result: SSAValue) -> Con:
        return Con("fn", [*(self.term(operand) for operand in operands), self.term(result)])

    def call(self, op: CallOp, name: str) -> None:
        if name not in self.functions:
            raise OpError(op, f"@{name} is not a relay.func of this module")
        callee = self.instantiate(self.signatures[name], op)
        results = list(op.outputs)
        result = self.term(results[0]) if len(results) == 1 else Con("tuple", [self.term(r) for r in results])
        found = Con("fn", [*(self.term(argument) for argument in op.arguments), result])
        self.equal(found, callee, op, f"@{name}, as called,")

    def constructor(self, op: Operation, name: str) -> Con:
        """The type of a constructor, with fresh holes for the parameters of its data type."""
        if name not in self.constructors:
            raise OpError(op, f"no data type of this module has a constructor @{name}")
        made = self.constructors[name]
        fresh = {parameter: Hole(f"type parameter {parameter}", op) for parameter in made.adt.type_parameters}
        return cast(Con, term_of(made.signature, lambda: Hole("a field", made), fresh))

    def construct(self, op: ConstructOp) -> None:
        name = op.constructor.string_value()
        self.equal(self.arguments(op.fields, op.result), self.constructor(op, name), op, f"@{name}, as used,")

    def global_value(self, op: GlobalOp) -> None:
        name = op.function.string_value()
        if name not in self.functions:
            raise OpError(op, f"@{name} is not a relay.func of this module")
        general = self.signatures[name]
        declared = isinstance(op.result.type, PolyType)
        self.equal(self.term(op.result), general if declared else self.instantiate(general, op), op, f"@{name}")

    def closure(self, op: FnOp) -> None:
        outputs = self.term_of_type(FunctionType.from_lists([], list(op.function_type.outputs)), op)
        result = cast(Con, outputs).args[-1]
        fn = Con("fn", [*(self.term(parameter) for parameter in op.parameters), result])
        self.terms[op.result] = Scheme(op.type_parameters, fn) if op.type_parameters else fn
        if (itself := op.self_argument) is not None:
            self.equal(self.term(itself), self.terms[op.result], op, "the recursive function")

    def projection(self, op: TupleGetItemOp) -> None:
        self.pending[op] = "the type of the tuple"
        term, index = self.term(op.tuple_value), op.index.value.data

        def solve() -> None:
            if not self.when_known(term, solve):
                return
            known = prune(term)
            if not isinstance(known, Con) or known.head != "tuple":
                raise OpError(op, f"only a tuple has fields, but this is {type_of(known)}")
            if not 0 <= index < len(known.args):
                raise OpError(op, f"field {index} of a tuple of {len(known.args)} fields")
            del self.pending[op]
            self.equal(self.term(op.result), known.args[index], op, f"field {index}")

        solve()

    def pattern(self, op: MatchOp, pattern: MatchPattern, term: Term, variables: list[Any]) -> None:
        """Constrains the type a pattern is matched with; takes the variables it binds from the front of the list."""
        match pattern:
            case VarPattern():
                self.equal(self.term(variables.pop(0)), term, op, "the variable of a pattern")
            case ConstructorPattern():
                name = pattern.constructor.string_value()
                signature = self.constructor(op, name)
                given, wanted = len(pattern.fields), len(signature.args) - 1
                if given != wanted:
                    raise OpError(op, f"the pattern @{name} has {given} fields, but the constructor has {wanted}")
                self.equal(term, signature.args[-1], op, "the matched value")
                for field, part in zip(pattern.fields, signature.args[:-1], strict=True):
                    self.pattern(op, field, part, variables)
            case TuplePattern():
                parts: list[Term] = [Hole("a field", op) for _ in pattern.fields]
                self.equal(term, Con("tuple", parts), op, "the matched value")
                for field, part in zip(pattern.fields, parts, strict=True):
                    self.pattern(op, field, part, variables)
            case _:
                pass

    def terminator(self, op: Operation) -> None:
        parent = cast(Operation, op.parent_op())
        values = [self.term(operand) for operand in op.operands]
        match parent:
            case FuncOp():
                known = self.signatures[parent.sym_name.data]
                result = (known.body if isinstance(known, Scheme) else cast(Con, known)).args[-1]
                value = values[0] if len(values) == 1 else Con("tuple", values)
                self.equal(value, result, op, f"the result of @{parent.sym_name.data}")
            case FnOp():
                known = prune(self.terms[parent.result])
                fn = known.body if isinstance(known, Scheme) else cast(Con, known)
                self.equal(values[0], fn.args[-1], op, "the result of the function")
            case _:
                which = "branch" if isinstance(parent, IfOp) else "case"
                if len(values) != len(parent.results):
                    raise OpError(
                        op, f"the {which} yields {len(values)} values, but {len(parent.results)} are expected"
                    )
                for value, result in zip(values, parent.results, strict=True):
                    self.equal(value, self.term(result), op, f"the value of this {which}")

    # Type relations

    def relation(self, op: RelayOp) -> None:
        """The type relation of an operator: tried when its operand types are known, and again while they are not."""
        for result in op.results:
            self.term(result)
        self.pending[op] = "the types of its operands"

        def solve() -> None:
            if op not in self.pending:
                return
            for operand in op.operands:
                unknown = holes(self.term(operand))
                if unknown:
                    unknown[0].waiting.append(solve)
                    return
            types = [type_of(self.term(operand)) for operand in op.operands]
            try:
                results = op.operator.infer(checked_types(op.OPERATOR, types))
            except VerifyException as e:
                raise OpError(op, str(e)) from e
            del self.pending[op]
            if len(results) != len(op.results):
                raise OpError(op, f"it has {len(op.results)} results, but the operator gives {len(results)}")
            for result, type_ in zip(op.results, results, strict=True):
                self.equal(self.term(result), self.term_of_type(type_, op), op, "the result")

        solve()

    # Results

    def write_back(self) -> None:
        """Puts the inferred types into the program; raises OpError for what is not known."""
        for op, what in self.pending.items():
            raise OpError(op, f"its type cannot be inferred: {what} are not known; annotate an operand")
        for value, term in self.terms.items():
            new = type_of(term)
            if not is_complete(new):
                unknown = holes(term)[0]
                place = value.owner if isinstance(value.owner, Operation) else unknown.place
                name = f" %{value.name_hint}" if value.name_hint else ""
                raise OpError(place, f"the type of{name} cannot be inferred: {new} has a hole; annotate it")
            if value.type != new:
                value._type = new  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        for name, function in self.functions.items():
            known = self.signatures[name]
            fn = known.body if isinstance(known, Scheme) else cast(Con, known)
            inputs = [argument.type for argument in function.args]
            outputs = list(function.function_type.outputs)
            result = type_of(fn.args[-1])
            if not is_complete(result):
                raise OpError(function, f"the result type of @{name} cannot be inferred; annotate it")
            refined = [result] if len(outputs) == 1 else list(cast(Any, result).types)
            function.properties["function_type"] = FunctionType.from_lists(inputs, refined)
        for op in self.module.walk():
            if isinstance(op, MatchOp) and op.partial is None:
                lacking = missing(op, op.scrutinee.type, list(op.patterns))
                if lacking:
                    raise OpError(
                        op, f"the match does not cover {', '.join(lacking)}; add a case, or make it a partial match"
                    )


class RelayInferTypePass(ModulePass):
    """Fill every hole in the types of a program, or say what could not be inferred, where and why."""

    name = "relay-infer-type"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _Inference(op).run()
