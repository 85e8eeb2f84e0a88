"""Random well-typed programs of the whole relay language, for tests that compare two ways to run them.

    program = random_program(seed)
    expected = interpret(program.module)(*program.args)

Every form occurs: closures (capturing, recursive, polymorphic), functions as arguments and results, data types with
nested patterns, references, tuples, branches, and functions of the module that call each other. Programs end: what
recurses does so on a part of its argument, and calls no function defined after it. `@main` takes and gives data only
(tensors, tuples, data types), so that results can be compared; `values.same` compares them exactly, `close` with a
tolerance. Conditions depend on integers only, so that rounding never decides a branch.

`program_changes` takes away types, and makes programs ill-typed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    ModuleOp,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

from relay_mlir.dialects.relay.core import (
    FuncOp,
    ReturnOp,
    YieldOp,
)
from relay_mlir.dialects.relay.language import (
    ApplyOp,
    ConstructOp,
    FnOp,
    GlobalOp,
    MatchOp,
)
from relay_mlir.dialects.relay.language_types import ADTType, TypeVarType
from relay_mlir.dialects.relay.patterns import (
    ConstructorPattern,
    VarPattern,
)
from relay_mlir.runtime.interpreter import ExecutionError, Interpreter
from relay_mlir.runtime.values import ADT
from test.support.random_expressions import (
    FLOAT,
    INT,
    VECTOR,
    A,
    B,
    ExpressionGenerator,
    Options,
    Scope,
    function,
    list_type,
)


@dataclass
class RandomProgram:
    """A module and arguments for its `@main`."""

    module: ModuleOp
    args: list[Any]
    seed: int


_DEFAULT = Options()


def random_program(seed: int, options: Options = _DEFAULT) -> RandomProgram:
    """The program of a seed: the same one each time. One that makes many calls is replaced by another one."""
    for attempt in range(100):
        program = _Generator(f"{seed}.{attempt}", options).program(seed)
        try:
            Interpreter(program.module, max_calls=options.max_calls).run(*program.args)
        except ExecutionError as error:
            if "calls were made" in str(error):
                continue
            raise
        return program
    raise AssertionError(f"seed {seed} gives no program that ends soon")


def close(found: object, expected: object, tolerance: float = 1e-4) -> bool:
    """Whether two results are equal but for rounding: floats within `tolerance`, relative or absolute."""
    pending: list[tuple[Any, Any]] = [(found, expected)]
    while pending:
        a, b = pending.pop()
        if isinstance(a, ADT) and isinstance(b, ADT) and a.constructor == b.constructor:
            a, b = a.fields, b.fields
        if isinstance(a, tuple) and isinstance(b, tuple) and len(cast(Any, a)) == len(cast(Any, b)):
            pending += zip(cast(Any, a), cast(Any, b), strict=True)
            continue
        if isinstance(a, ADT | tuple) or isinstance(b, ADT | tuple):
            return False
        x, y = np.asarray(a), np.asarray(b)
        if x.dtype != y.dtype or x.shape != y.shape:
            return False
        if not np.allclose(x, y, tolerance if x.dtype.kind == "f" else 0, tolerance, equal_nan=True):
            return False
    return True


class _Generator(ExpressionGenerator):
    """Makes the functions of a program."""

    def program(self, seed: int) -> RandomProgram:
        for make in (_map, _foldl, _foldr, _compose):
            self.module.body.block.add_op(make(self))
        for number in range(self.options.functions):
            self.random.choice([self.plain, self.over_list, self.over_list, self.over_tree, self.mutual])(f"f{number}")
        inputs = [INT, FLOAT, VECTOR, *(self.data_type(2) for _ in range(self.random.randrange(1, 4)))]
        scope = self.entry(inputs)
        outputs = [INT, *(self.data_type(2) for _ in range(self.random.randrange(1, 4)))]
        results = [self.value(scope, type_, 5) for type_ in outputs]
        self.add_function("main", scope, results)
        self.module.verify()
        return RandomProgram(self.module, [self.argument(type_, 4) for type_ in inputs], seed)

    def entry(self, inputs: Sequence[Attribute]) -> Scope:
        self.budget = self.options.size
        block = Block(arg_types=inputs)
        return Scope(block, list(block.args))

    def add_function(self, name: str, scope: Scope, results: Sequence[SSAValue]) -> FuncOp:
        self.emit(scope, ReturnOp(*results))
        types = [argument.type for argument in scope.block.args], [result.type for result in results]
        func = FuncOp(name, FunctionType.from_lists(*types), Region(scope.block))
        self.module.body.block.add_op(func)
        return func

    def plain(self, name: str) -> None:
        """A function without recursion."""
        scope = self.entry([self.any_type(2) for _ in range(self.random.randrange(3))])
        result = self.value(scope, self.any_type(2), 4)
        self.functions.append(self.add_function(name, scope, [result]))

    def over_list(self, name: str) -> None:
        """A function that recurses on the rest of a list, in tail position or not."""
        element, state = self.data_type(1), self.data_type(1)
        scope = self.entry([list_type(element), state])
        result = self.recursion(scope, element, state, lambda s, rest, new: self.call(s, name, [rest, new], state))
        self.functions.append(self.add_function(name, scope, [result]))

    def mutual(self, name: str) -> None:
        """Two functions that call each other on the rest of a list."""
        element, state = self.data_type(1), self.data_type(1)
        for own, other in ((name, f"{name}_twin"), (f"{name}_twin", name)):
            scope = self.entry([list_type(element), state])
            result = self.recursion(
                scope, element, state, lambda s, rest, new, other=other: self.call(s, other, [rest, new], state)
            )
            func = self.add_function(own, scope, [result])
        self.functions.append(func)

    def over_tree(self, name: str) -> None:
        """A function that recurses on the children of a tree through @map."""
        element, state = self.data_type(1), self.data_type(1)
        tree = ADTType("Tree", [element])
        scope = self.entry([tree])
        inner = scope.inner([element, list_type(tree)])
        children = inner.block.args[1]
        inner.values.remove(children)
        recursive = self.emit(inner, GlobalOp(name, function(tree, state)))
        below = self.call(inner, "map", [recursive, children], list_type(state))
        inner.values.append(below)
        self.emit(inner, YieldOp(self.value(inner, state, 3)))
        pattern = ConstructorPattern("Rose", [VarPattern(), VarPattern()])
        result = self.match(scope, scope.block.args[0], [(pattern, inner)], state)
        self.functions.append(self.add_function(name, scope, [result]))


# Polymorphic functions that programs call


def _polymorphic(name: str, block: Block, result: SSAValue) -> FuncOp:
    block.add_op(ReturnOp(result))
    type_ = FunctionType.from_lists([argument.type for argument in block.args], [result.type])
    func = FuncOp(name, type_, Region(block))
    used = [var for var in (A, B, TypeVarType("C")) if f"<{var.var.data}>" in str(type_)]
    func.attributes["type_params"] = ArrayAttr([var.var for var in used])
    return func


def _over_list(self: _Generator, block: Block, values: SSAValue, result: Attribute, empty: Any, full: Any) -> SSAValue:
    """A match on a list with the values that functions of the scope give for an empty and a full one."""
    scope = Scope(block, [])
    none, some = scope.inner(), scope.inner([A, list_type(A)])
    self.emit(none, YieldOp(empty(none)))
    self.emit(some, YieldOp(full(some, *some.block.args)))
    patterns = [ConstructorPattern("Nil"), ConstructorPattern("Cons", [VarPattern(), VarPattern()])]
    return self.emit(scope, MatchOp(values, patterns, [Region(none.block), Region(some.block)], result))


def _map(self: _Generator) -> FuncOp:
    block = Block(arg_types=[function(A, B), list_type(A)])
    f, values = block.args

    def full(scope: Scope, head: SSAValue, rest: SSAValue) -> SSAValue:
        new = self.emit(scope, ApplyOp(f, [head], B))
        tail = self.call(scope, "map", [f, rest], list_type(B))
        return self.emit(scope, ConstructOp("Cons", [new, tail], list_type(B)))

    empty: Any = lambda scope: self.emit(scope, ConstructOp("Nil", [], list_type(B)))  # noqa: E731
    return _polymorphic("map", block, _over_list(self, block, values, list_type(B), empty, full))


def _foldl(self: _Generator) -> FuncOp:
    block = Block(arg_types=[function(B, A, B), B, list_type(A)])
    f, start, values = block.args

    def full(scope: Scope, head: SSAValue, rest: SSAValue) -> SSAValue:
        return self.call(scope, "foldl", [f, self.emit(scope, ApplyOp(f, [start, head], B)), rest], B)

    return _polymorphic("foldl", block, _over_list(self, block, values, B, lambda _: start, full))


def _foldr(self: _Generator) -> FuncOp:
    block = Block(arg_types=[function(A, B, B), B, list_type(A)])
    f, start, values = block.args

    def full(scope: Scope, head: SSAValue, rest: SSAValue) -> SSAValue:
        return self.emit(scope, ApplyOp(f, [head, self.call(scope, "foldr", [f, start, rest], B)], B))

    return _polymorphic("foldr", block, _over_list(self, block, values, B, lambda _: start, full))


def _compose(self: _Generator) -> FuncOp:
    c = TypeVarType("C")
    block = Block(arg_types=[function(B, c), function(A, B)])
    outer, inner = block.args
    body = Scope(Block(arg_types=[A]), [])
    middle = self.emit(body, ApplyOp(inner, [body.block.args[0]], B))
    self.emit(body, YieldOp(self.emit(body, ApplyOp(outer, [middle], c))))
    return _polymorphic("compose", block, self.emit(Scope(block, []), FnOp(Region(body.block), [c])))
