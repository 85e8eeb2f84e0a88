"""Where the expression that a graph variable stands for is evaluated: in the innermost scope around all its uses.

`%0 = f(%x); if (%c) { %0 } else { %y }` evaluates `f(%x)` in the first branch only, and an expression that two
branches use is evaluated once before them, wherever in the text it was named.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from relay_mlir.frontends.relay_text.syntax import (
    AttrValue,
    Body,
    Call,
    Expr,
    Function,
    GraphRef,
    If,
    Let,
    Match,
    Node,
    Part,
    Projection,
    RefCall,
    Scope,
    Shared,
    TupleExpr,
)


def common(left: Scope, right: Scope) -> Scope:
    """The innermost scope around both."""
    while left is not right:
        if left.depth >= right.depth:
            assert left.parent is not None
            left = left.parent
        else:
            assert right.parent is not None
            right = right.parent
    return left


class _Placement:
    """One run over a function."""

    def __init__(self) -> None:
        self.waiting: list[tuple[int, Shared]] = []
        """The shared expressions with a use that are not yet visited, by their negated order."""

    def run(self, function: Function) -> None:
        function.part.scope = Scope(None, 0)
        self.visit(function.part.body, function.part.scope)
        # What a shared expression uses was named before it: from the last to the first, all uses are known.
        while self.waiting:
            _, shared = heapq.heappop(self.waiting)
            assert shared.scope is not None
            self.visit(shared.expr, shared.scope)

    def visit(self, root: Expr, scope: Scope) -> None:
        """Gives the parts of an expression their scopes; of shared expressions it visits only the uses."""
        stack: list[tuple[Expr, Scope]] = [(root, scope)]
        while stack:
            expr, scope = stack.pop()
            if isinstance(expr, GraphRef):
                self.use(expr.shared, scope)
                continue
            for part in _parts(expr):
                part.scope = Scope(scope, scope.depth + 1)
                stack.append((part.body, part.scope))
            stack += [(child, scope) for child in _children(expr)]

    def use(self, shared: Shared, scope: Scope) -> None:
        if shared.scope is None:
            shared.scope = scope
            heapq.heappush(self.waiting, (-shared.order, shared))
        else:
            shared.scope = common(shared.scope, scope)


def place(function: Function) -> None:
    """Gives every part of a function its scope, and every shared expression in it the scope of its evaluation."""
    _Placement().run(function)


def _parts(expr: Expr) -> list[Part]:
    match expr:
        case If():
            return list(expr.branches)
        case Match():
            return [part for _, part in expr.cases]
        case Function():
            return [expr.part]
        case _:
            return []


def _children(expr: Expr) -> list[Expr]:
    match expr:
        case Call():
            attributes = expr.attrs if isinstance(expr.attrs, list) else []
            in_attributes = [child for attr in attributes for child in _in_attribute(attr.value)]
            return [expr.callee, *expr.arguments, *in_attributes]
        case TupleExpr():
            return expr.fields
        case Projection():
            return [expr.value]
        case If():
            return [expr.condition]
        case Match():
            return [expr.scrutinee]
        case RefCall():
            return expr.arguments
        case Body():
            return [*(b.value for b in expr.bindings if isinstance(b, Let)), expr.result]
        case _:
            return []


def _in_attribute(value: AttrValue) -> Iterator[Expr]:
    if isinstance(value, list):
        for item in value:
            yield from _in_attribute(item)
    elif isinstance(value, Node):
        yield value
