"""Random expressions of the relay language, of any type; `random_programs` makes programs of them."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    FunctionType,
    ModuleOp,
    NameLoc,
    StringAttr,
    TensorType,
    TupleType,
    UnknownLoc,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from relay_mlir.dialects.relay.bitwise import LogicalAnd, LogicalNot, LogicalOr
from relay_mlir.dialects.relay.comparison import Equal, Less
from relay_mlir.dialects.relay.core import (
    CallOp,
    ConstantOp,
    FuncOp,
    IfOp,
    TupleGetItemOp,
    TupleOp,
    YieldOp,
)
from relay_mlir.dialects.relay.elementwise_binary import Add, Maximum, Minimum, Multiply, Subtract
from relay_mlir.dialects.relay.elementwise_unary import Negative, Tanh
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
    constructor_fields,
)
from relay_mlir.dialects.relay.language_types import ADTType, PolyType, RefType, TypeVarType
from relay_mlir.dialects.relay.op import Operator
from relay_mlir.dialects.relay.patterns import (
    ConstructorPattern,
    MatchPattern,
    TuplePattern,
    VarPattern,
    WildcardPattern,
)
from relay_mlir.dialects.relay.reduce import Sum
from relay_mlir.dialects.relay.types import f32, i1, i32, numpy_dtype, tensor
from relay_mlir.lowering.rewriting import dense_literal
from relay_mlir.runtime.values import ADT

INT, FLOAT, BOOL = tensor((), i32), tensor((), f32), tensor((), i1)
VECTOR, MATRIX = tensor((3,), f32), tensor((2, 3), f32)
A, B = TypeVarType("A"), TypeVarType("B")


def list_type(element: Attribute) -> ADTType:
    return ADTType("List", [element])


def function(*types: Attribute) -> FunctionType:
    """A function type; the last of the types is the result."""
    return FunctionType.from_lists(types[:-1], types[-1:])


DATA_TYPES: dict[str, tuple[Sequence[str], dict[str, Sequence[Attribute]]]] = {
    "List": (["A"], {"Nil": [], "Cons": [A, list_type(A)]}),
    "Option": (["A"], {"None": [], "Some": [A]}),
    "Tree": (["A"], {"Rose": [A, list_type(ADTType("Tree", [A]))]}),
    "Either": (["A", "B"], {"Left": [A], "Right": [B], "Both": [A, B]}),
    "Shape": ([], {"Dot": [], "Circle": [FLOAT], "Box": [FLOAT, INT]}),
}
"""The data types that programs use: type parameters, and the fields of each constructor."""


@dataclass(frozen=True)
class Options:
    """What programs may hold. `size` bounds the operations of `@main` and of each function, roughly."""

    size: int = 40
    functions: int = 3
    """Functions of the module besides `@main` and the polymorphic ones."""
    references: bool = True
    closures_in_data: bool = True
    """Whether tuples and data types may hold functions."""
    max_calls: int = 3000
    """Calls that a run makes at most."""
    partial: bool = True
    """Whether there are matches marked partial. They have a case for each value even so."""


@dataclass
class Scope:
    """Where an expression is built: the block that grows, and the values that it sees."""

    block: Block
    values: list[SSAValue]

    def inner(self, types: Sequence[Attribute] = ()) -> "Scope":
        """A new block with these arguments that sees the values so far."""
        block = Block(arg_types=types)
        return Scope(block, [*self.values, *block.args])


class ExpressionGenerator:
    """Builds expressions of a given type, top down, from one stream of random numbers."""

    def __init__(self, seed: str, options: Options):
        self.random = random.Random(seed)
        self.options = options
        self.module = ModuleOp([])
        self.functions: list[FuncOp] = []
        """What an expression may call, with function types that have no type variables."""
        self.budget = 0
        self.count = 0
        for name, (parameters, constructors) in DATA_TYPES.items():
            made = [ConstructorOp(constructor, fields) for constructor, fields in constructors.items()]
            self.module.body.block.add_op(AdtOp(name, parameters, Region(Block(made))))
        self.constructors = {
            op.sym_name.data: op for adt in self.module.ops if isinstance(adt, AdtOp) for op in adt.constructors
        }

    # Types

    def data_type(self, depth: int) -> Attribute:
        """A type whose values can be compared."""
        tensors: list[Attribute] = [INT, INT, FLOAT, FLOAT, BOOL, VECTOR, MATRIX]
        if depth == 0 or self.chance(0.4):
            return self.random.choice(tensors)
        match self.random.randrange(6):
            case 0:
                fields = [self.data_type(depth - 1) for _ in range(self.random.randrange(4))]
                return TupleType(tuple(cast(Any, fields)))
            case 1:
                return ADTType("Shape")
            case 2:
                return ADTType("Either", [self.data_type(depth - 1), self.data_type(depth - 1)])
            case _:
                return ADTType(self.random.choice(["List", "List", "Option", "Tree"]), [self.data_type(depth - 1)])

    def any_type(self, depth: int) -> Attribute:
        """A type of any form."""
        if depth > 0 and self.chance(0.25):
            inputs = [self.data_type(depth - 1) for _ in range(self.random.randrange(1, 3))]
            return function(*inputs, self.any_type(depth - 1))
        if depth > 0 and self.options.references and self.chance(0.15):
            return RefType(self.data_type(depth - 1))
        if depth > 0 and self.options.closures_in_data and self.chance(0.15):
            field = self.any_type(depth - 1)
            return self.random.choice([TupleType(cast(Any, (field, INT))), ADTType("Option", [field])])
        return self.data_type(depth)

    # Arguments

    def argument(self, type_: Attribute, depth: int) -> Any:
        """A value of a data type as Python sees it."""
        match type_:
            case TensorType():
                return self.array(type_)
            case TupleType():
                return tuple(self.argument(field, depth) for field in type_.types)
            case _:
                assert isinstance(type_, ADTType)
                made = self.random.choice(self.constructors_of(type_)) if depth > 0 else self.smallest(type_)
                fields = constructor_fields(made, type_)
                return ADT(made.sym_name.data, [self.argument(field, depth - 1) for field in fields])

    def array(self, type_: Any) -> np.ndarray:
        shape, dtype = type_.get_shape(), numpy_dtype(type_.element_type)
        count = int(np.prod(shape))
        if dtype == np.bool_:
            values: list[Any] = [self.chance(0.5) for _ in range(count)]
        elif dtype == np.int32:
            values = [self.random.randrange(-5, 6) for _ in range(count)]
        else:
            values = [self.random.randrange(-8, 9) / 4 for _ in range(count)]
        return np.array(values, dtype).reshape(shape)

    def constructors_of(self, type_: ADTType) -> list[ConstructorOp]:
        return [self.constructors[name] for name in DATA_TYPES[type_.adt_name][1]]

    def smallest(self, type_: ADTType) -> ConstructorOp:
        return self.constructors_of(type_)[0]

    # Expressions

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def shuffled(self, items: Any) -> list[Any]:
        return self.random.sample(list(items), len(items))

    def emit(self, scope: Scope, op: Operation) -> SSAValue:
        """Appends an operation, with a location of its own; returns its result, which the scope sees from now on."""
        op.location = NameLoc(StringAttr(f"n{self.count}"), UnknownLoc())
        self.count += 1
        self.budget -= 1
        scope.block.add_op(op)
        if not op.results:
            return cast(SSAValue, None)
        scope.values.append(op.results[0])
        return op.results[0]

    def value(self, scope: Scope, type_: Attribute, depth: int) -> SSAValue:
        """An expression of this type; `depth` bounds how deep it nests."""
        present = [value for value in scope.values if value.type == type_]
        if present and (depth <= 0 or self.budget <= 0 or self.chance(0.4)):
            return self.random.choice(present[-4:] if self.chance(0.5) else present)
        if present and self.budget > 0 and type_ in (INT, FLOAT, VECTOR, MATRIX) and self.chance(0.5):
            operands = [self.random.choice(present), self.random.choice(present)]
            return self.apply_operator(scope, self.arithmetic(), *operands)
        if depth <= 0 or self.budget <= 0:
            return self.leaf(scope, type_)
        if self.chance(0.3):
            self.value(scope, self.any_type(1), depth - 1)  # bound before it is needed, or never needed
        ways = [self.branch, self.matched, self.applied, self.applied, self.through_tuple, self.identity]
        if self.functions:
            ways += [self.called, self.called]
        if self.options.references:
            ways += [self.through_reference]
        own = self.introduction(type_)
        way = self.random.choice([*ways, *[own] * 6])
        return way(scope, type_, depth - 1)

    def leaf(self, scope: Scope, type_: Attribute) -> SSAValue:
        """A small expression of this type."""
        match type_:
            case TensorType():
                return self.emit(scope, ConstantOp(dense_literal(self.array(type_))))
            case TupleType():
                return self.emit(scope, TupleOp(*(self.leaf(scope, field) for field in type_.types)))
            case ADTType():
                made = self.smallest(type_)
                fields = [self.leaf(scope, field) for field in constructor_fields(made, type_)]
                return self.emit(scope, ConstructOp(made.sym_name.data, fields, type_))
            case RefType():
                return self.emit(scope, RefCreateOp(self.leaf(scope, type_.content)))
            case FunctionType():
                inner = scope.inner(type_.inputs.data)
                self.emit(inner, YieldOp(self.value(inner, type_.outputs.data[0], 0)))
                return self.emit(scope, FnOp(Region(inner.block), type_.outputs.data))
            case _:
                raise NotImplementedError(str(type_))

    def introduction(self, type_: Attribute) -> Callable[[Scope, Any, int], SSAValue]:
        """How values of this type are made."""
        match type_:
            case TensorType():
                return self.tensor
            case TupleType():
                return self.pair
            case ADTType():
                return self.data
            case RefType():
                return self.reference
            case _:
                return self.closure

    def tensor(self, scope: Scope, type_: Any, depth: int) -> SSAValue:
        if self.chance(0.15):
            return self.leaf(scope, type_)
        if type_ == BOOL:
            if self.chance(0.6):
                operands = [self.value(scope, INT, depth), self.value(scope, INT, depth)]
                return self.apply_operator(scope, self.random.choice([Equal(), Less()]), *operands)
            if self.chance(0.3):
                return self.apply_operator(scope, LogicalNot(), self.value(scope, BOOL, depth))
            operands = [self.value(scope, BOOL, depth), self.value(scope, BOOL, depth)]
            return self.apply_operator(scope, self.random.choice([LogicalAnd(), LogicalOr()]), *operands)
        if self.chance(0.2):
            unary = [Negative(), Tanh()] if type_ != INT else [Negative()]
            return self.apply_operator(scope, self.random.choice(unary), self.value(scope, type_, depth))
        if type_ == FLOAT and self.chance(0.2):
            return self.apply_operator(scope, Sum(), self.value(scope, VECTOR, depth))
        other: Attribute = type_
        if type_ in (VECTOR, MATRIX) and self.chance(0.4):
            other = self.random.choice([FLOAT, VECTOR])
        operands = self.shuffled([self.value(scope, type_, depth), self.value(scope, other, depth)])
        return self.apply_operator(scope, self.arithmetic(), *operands)

    def arithmetic(self) -> Operator:
        return self.random.choice([Add(), Subtract(), Multiply(), Maximum(), Minimum()])

    def apply_operator(self, scope: Scope, operator: Operator, *operands: SSAValue) -> SSAValue:
        return self.emit(scope, operator.on(*operands))

    def pair(self, scope: Scope, type_: TupleType, depth: int) -> SSAValue:
        return self.emit(scope, TupleOp(*(self.value(scope, field, depth) for field in type_.types)))

    def data(self, scope: Scope, type_: ADTType, depth: int) -> SSAValue:
        if type_.adt_name == "List" and self.chance(0.3):
            return self.mapped(scope, type_, depth)
        made = self.random.choice(self.constructors_of(type_))
        name, types = made.sym_name.data, constructor_fields(made, type_)
        fields = [self.value(scope, field, depth) for field in types]
        if self.chance(0.2):
            value = self.emit(scope, ConstructorValueOp(name, function(*types, type_)))
            return self.emit(scope, ApplyOp(value, fields, type_))
        return self.emit(scope, ConstructOp(name, fields, type_))

    def reference(self, scope: Scope, type_: RefType, depth: int) -> SSAValue:
        return self.emit(scope, RefCreateOp(self.value(scope, type_.content, depth)))

    def closure(self, scope: Scope, type_: FunctionType, depth: int) -> SSAValue:
        """A closure; one on a list may recurse on its rest."""
        inputs, output = list(type_.inputs), type_.outputs.data[0]
        named = [func for func in self.functions if func.function_type == type_]
        if named and self.chance(0.5):
            return self.emit(scope, GlobalOp(self.random.choice(named).sym_name.data, type_))
        first = inputs[0] if len(inputs) == 2 else None
        if isinstance(first, ADTType) and first.adt_name == "List" and inputs[1] == output and self.chance(0.8):
            return self.recursive(scope, first.arguments.data[0], output)
        inner = scope.inner(inputs)
        self.emit(inner, YieldOp(self.value(inner, output, depth)))
        return self.emit(scope, FnOp(Region(inner.block), [output]))

    def recursive(self, scope: Scope, element: Attribute, state: Attribute) -> SSAValue:
        """`fn rec`: a closure that recurses on the rest of a list."""
        type_ = function(list_type(element), state, state)
        inner = scope.inner([type_, list_type(element), state])
        itself = inner.block.args[0]
        inner.values.remove(itself)

        def recurse(s: Scope, rest: SSAValue, new: SSAValue) -> SSAValue:
            return self.emit(s, ApplyOp(itself, [rest, new], state))

        self.emit(inner, YieldOp(self.recursion(inner, element, state, recurse)))
        return self.emit(scope, FnOp(Region(inner.block), [state], recursive=True))

    def recursion(
        self,
        scope: Scope,
        element: Attribute,
        state: Attribute,
        recurse: Callable[[Scope, SSAValue, SSAValue], SSAValue],
    ) -> SSAValue:
        """A match on a list, the first value of the block, that recurses on its rest with a new state."""
        values, old = cast(Any, scope.block.args[-2:])
        empty, full = scope.inner(), scope.inner([element, list_type(element)])
        self.emit(empty, YieldOp(self.value(empty, state, 2)))
        rest = full.block.args[1]
        full.values.remove(rest)
        if self.chance(0.4):
            found = recurse(full, rest, self.value(full, state, 2))
        else:
            below = recurse(full, rest, old)
            full.values.append(below)
            found = self.value(full, state, 3)
        self.emit(full, YieldOp(found))
        cases = {"Nil": (ConstructorPattern("Nil"), empty)}
        cases["Cons"] = (ConstructorPattern("Cons", [VarPattern(), VarPattern()]), full)
        return self.match(scope, values, [cases[name] for name in self.shuffled(cases)], state)

    # Eliminations: a value of any type by way of another one

    def branch(self, scope: Scope, type_: Attribute, depth: int) -> SSAValue:
        condition = self.value(scope, BOOL, depth)
        regions: list[Region] = []
        for _ in range(2):
            inner = scope.inner()
            self.emit(inner, YieldOp(self.value(inner, type_, depth)))
            regions.append(Region(inner.block))
        return self.emit(scope, IfOp(condition, [type_], *regions))

    def matched(self, scope: Scope, type_: Attribute, depth: int) -> SSAValue:
        present = [value.type for value in scope.values if isinstance(value.type, ADTType | TupleType)]
        scrutinee = self.value(scope, self.random.choice(present or [self.data_type(2)]), depth)
        cases: list[tuple[MatchPattern, Scope]] = []
        for pattern, types in self.patterns(scrutinee.type, 2):
            inner = scope.inner(types)
            self.emit(inner, YieldOp(self.value(inner, type_, depth)))
            cases.append((pattern, inner))
        return self.match(scope, scrutinee, cases, type_)

    def match(
        self, scope: Scope, scrutinee: SSAValue, cases: Sequence[tuple[MatchPattern, Scope]], type_: Attribute
    ) -> SSAValue:
        partial = self.options.partial and self.chance(0.15)
        patterns, regions = [pattern for pattern, _ in cases], [Region(inner.block) for _, inner in cases]
        return self.emit(scope, MatchOp(scrutinee, patterns, regions, type_, partial=partial))

    def patterns(self, type_: Attribute, depth: int) -> list[tuple[MatchPattern, list[Attribute]]]:
        """Patterns that together cover a type, each with the types of its variables."""
        simple: tuple[MatchPattern, list[Attribute]] = (
            (VarPattern(), [type_]) if self.chance(0.7) else (WildcardPattern(), [])
        )
        if depth == 0 or not isinstance(type_, ADTType | TupleType) or self.chance(0.1):
            return [simple]
        found: list[tuple[MatchPattern, list[Attribute]]] = []
        if isinstance(type_, TupleType):
            found += self.expand(list(type_.types), depth, TuplePattern)
        else:
            for made in self.shuffled(self.constructors_of(type_)):
                name = made.sym_name.data
                found += self.expand(
                    constructor_fields(made, type_), depth, lambda fields, name=name: ConstructorPattern(name, fields)
                )
        if len(found) > 1 and self.chance(0.3):
            found[self.random.randrange(1, len(found)) :] = [simple]
        return found

    def expand(
        self, types: Sequence[Attribute], depth: int, make: Callable[[list[MatchPattern]], MatchPattern]
    ) -> list[tuple[MatchPattern, list[Attribute]]]:
        """Patterns for fields: one of them is taken apart, the others are variables or wildcards."""
        if not types:
            return [(make([]), [])]
        chosen = self.random.randrange(len(types))
        found: list[tuple[MatchPattern, list[Attribute]]] = []
        for inner, variables in self.patterns(types[chosen], depth - 1):
            fields, bound = list[MatchPattern](), list[Attribute]()
            for position, type_ in enumerate(types):
                if position == chosen:
                    fields.append(inner)
                    bound += variables
                elif self.chance(0.7):
                    fields.append(VarPattern())
                    bound.append(type_)
                else:
                    fields.append(WildcardPattern())
            found.append((make(fields), bound))
        return found

    def applied(self, scope: Scope, type_: Attribute, depth: int) -> SSAValue:
        """A function applied: one that is there, or a new closure."""
        present = [v for v in scope.values if isinstance(v.type, FunctionType) and v.type.outputs.data == (type_,)]
        if present and self.chance(0.7):
            callee = self.random.choice(present)
        else:
            inputs = [self.data_type(1) for _ in range(self.random.randrange(1, 3))]
            if self.chance(0.3):
                inputs = [list_type(self.data_type(1)), type_]
            callee = self.value(scope, function(*inputs, type_), depth)
        arguments = [self.value(scope, t, depth) for t in cast(FunctionType, callee.type).inputs]
        return self.emit(scope, ApplyOp(callee, arguments, type_))

    def called(self, scope: Scope, type_: Attribute, depth: int) -> SSAValue:
        """A function of the module called; a fold where none gives this type."""
        fitting = [func for func in self.functions if func.function_type.outputs.data == (type_,)]
        if not fitting:
            return self.folded(scope, type_, depth)
        func = self.random.choice(fitting)
        arguments = [self.value(scope, t, depth) for t in func.function_type.inputs]
        return self.call(scope, func.sym_name.data, arguments, type_)

    def call(self, scope: Scope, name: str, arguments: Sequence[SSAValue], type_: Attribute) -> SSAValue:
        return self.emit(scope, CallOp(name, arguments, [type_]))

    def mapped(self, scope: Scope, type_: ADTType, depth: int) -> SSAValue:
        element = self.data_type(1)
        transform = self.value(scope, function(element, type_.arguments.data[0]), depth)
        values = self.value(scope, list_type(element), depth)
        return self.call(scope, "map", [transform, values], type_)

    def folded(self, scope: Scope, type_: Attribute, depth: int) -> SSAValue:
        element = self.data_type(1)
        left = self.chance(0.5)
        step = function(*((type_, element) if left else (element, type_)), type_)
        arguments = [self.value(scope, t, depth) for t in (step, type_, list_type(element))]
        return self.call(scope, "foldl" if left else "foldr", arguments, type_)

    def through_tuple(self, scope: Scope, type_: Attribute, depth: int) -> SSAValue:
        present = [v for v in scope.values if isinstance(v.type, TupleType) and type_ in v.type.types.data]
        chosen = self.random.choice(present) if present and self.chance(0.7) else None
        if chosen is None:
            fields = self.shuffled([type_, self.data_type(1)])
            chosen = self.value(scope, TupleType(tuple(fields)), depth)
        index = cast(TupleType, chosen.type).types.data.index(cast(Any, type_))
        return self.emit(scope, TupleGetItemOp(chosen, index))

    def through_reference(self, scope: Scope, type_: Attribute, depth: int) -> SSAValue:
        """What a cell holds, perhaps after it is written. A cell of functions could make a program that never ends."""
        if "->" in str(type_):
            return self.value(scope, type_, depth)
        ref = self.value(scope, RefType(type_), depth)
        if self.chance(0.6):
            self.emit(scope, RefWriteOp(ref, self.value(scope, type_, depth)))
        return self.emit(scope, RefReadOp(ref))

    def identity(self, scope: Scope, type_: Attribute, depth: int) -> SSAValue:
        """A polymorphic closure, or a composition of functions, applied."""
        if self.chance(0.4):
            middle = self.data_type(1)
            source = self.data_type(1)
            outer, inner = function(middle, type_), function(source, middle)
            functions = [self.value(scope, outer, depth), self.value(scope, inner, depth)]
            composed = self.call(scope, "compose", functions, function(source, type_))
            return self.emit(scope, ApplyOp(composed, [self.value(scope, source, depth)], type_))
        if self.chance(0.5):
            (present,) = [v for v in scope.values if isinstance(v.type, PolyType)][-1:] or [None]
        else:
            present = None
        if present is None:
            block = Block(arg_types=[A])
            self.emit(Scope(block, []), YieldOp(block.args[0]))
            present = self.emit(scope, FnOp(Region(block), [A], type_parameters=["A"]))
        return self.emit(scope, ApplyOp(present, [self.value(scope, type_, depth)], type_))
