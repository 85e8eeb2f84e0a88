"""Expressions of Relay text.

Nested expressions do not use Python's stack: each method that reads one is a generator (see trampoline.py).
"""

from __future__ import annotations

from typing import cast

from relay_mlir.dialects.relay.patterns import MatchPattern
from relay_mlir.frontends.relay_text.lexer import Kind, Token, meta_parts
from relay_mlir.frontends.relay_text.literals import Scalar
from relay_mlir.frontends.relay_text.syntax import (
    Attr,
    AttrValue,
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
    Shared,
    TupleExpr,
    Var,
)
from relay_mlir.frontends.relay_text.trampoline import Steps
from relay_mlir.frontends.relay_text.type_parser import TypeParser

INFIX = {
    "*": ("multiply", 12),
    "/": ("divide", 12),
    "+": ("add", 10),
    "-": ("subtract", 10),
    "<": ("less", 8),
    "<=": ("less_equal", 8),
    ">": ("greater", 8),
    ">=": ("greater_equal", 8),
    "==": ("equal", 7),
    "!=": ("not_equal", 7),
}
"""The operators between operands, the Relay operators they stand for and how closely they bind; all to the left."""

_REFERENCES = {"ref": 1, "ref_read": 1, "ref_write": 2}


class ExprParser(TypeParser):
    """Reads expressions."""

    def is_attribute_object(self, key: str, index: int) -> bool:
        """Whether an entry of the metadata is the attributes of a call."""
        raise NotImplementedError

    def expression(self) -> Steps[Expr]:
        """Bindings and sequences, then an expression."""
        start, mark = self.token.position, self.enter()
        bindings: list[Let | Shared] = []
        while True:
            if self.at("let"):
                bindings.append(cast(Let, (yield self._let())))
            elif self.token.kind is Kind.GRAPH and self.at("=", 1):
                bindings.append(cast(Shared, (yield self._graph_binding())))
            elif self.at("free_var"):
                self._free_variable()
            else:
                position = self.token.position
                value = cast(Expr, (yield (self._block() if self.at("{") else self._infix())))
                if not self.accept(";"):
                    break
                bindings.append(Let(None, value, position))
        self.leave(mark)
        if not bindings:
            return value
        pure = value.pure and all(b.value.pure for b in bindings if isinstance(b, Let))
        return Body(start, pure, bindings, value)

    def _block(self) -> Steps[Expr]:
        self.expect("{")
        value = cast(Expr, (yield self.expression()))
        self.expect("}")
        return value

    def _let(self) -> Steps[Let]:
        start = self.take()
        token = self.expect_kind(Kind.LOCAL)
        var = Var(token.text, self.parse_type() if self.accept(":") else None, token.position)
        self.expect("=")
        recursive = self._function_follows()
        if recursive:
            self.bind(var)
        value = cast(Expr, (yield self._infix()))
        if not recursive:
            self.bind(var)
        self.expect(";")
        return Let(var, value, start.position)

    def _function_follows(self) -> bool:
        count = 0
        while self.at("(", count):
            count += 1
        return self.at("fn", count)

    def _graph_binding(self) -> Steps[Shared]:
        token = self.take()
        self.expect("=")
        value = cast(Expr, (yield self._infix()))
        self.expect(";")
        self.graph[token.text] = shared = Shared(token.text, value, token.position, self.index)
        return shared

    def _free_variable(self) -> None:
        self.take()
        token = self.expect_kind(Kind.LOCAL)
        var = Var(token.text, self.parse_type() if self.accept(":") else None, token.position)
        self.free.append(var)
        self.bind(var)
        self.accept(";")

    def _infix(self) -> Steps[Expr]:
        """Operands with operators between them."""
        operands = [cast(Expr, (yield self._call()))]
        operators: list[tuple[Token, int]] = []
        while self.token.kind is Kind.PUNCTUATION and self.token.text in INFIX:
            token = self.take()
            binding = INFIX[token.text][1]
            while operators and operators[-1][1] >= binding:
                self._reduce(operands, operators)
            operators.append((token, binding))
            operands.append(cast(Expr, (yield self._call())))
        while operators:
            self._reduce(operands, operators)
        return operands[0]

    def _reduce(self, operands: list[Expr], operators: list[tuple[Token, int]]) -> None:
        token, _ = operators.pop()
        right, left = operands.pop(), operands.pop()
        op = OpRef(token.position, True, INFIX[token.text][0])
        operands.append(Call(left.position, left.pure and right.pure, op, [left, right], []))

    def _call(self) -> Steps[Expr]:
        """An atom, then any number of argument lists and projections."""
        expr = cast(Expr, (yield self._atom()))
        while True:
            if self.at("("):
                expr = cast(Expr, (yield self._arguments(expr)))
            elif self.at(".") and self.ahead(1).kind is Kind.NUMBER:
                self.take()
                token = self.take()
                if not token.text.isdigit():
                    self.error(f"the index of a tuple must be a number, but is {token.text}", token)
                expr = Projection(expr.position, expr.pure, expr, int(token.text))
            else:
                return expr

    def _arguments(self, callee: Expr) -> Steps[Expr]:
        self.expect("(")
        arguments: list[Expr] = []
        attrs: list[Attr] | MetaRef = []
        while not self.accept(")"):
            if self._attribute_follows():
                attrs = cast("list[Attr]", (yield self.attributes()))
                self.expect(")")
                break
            if self.token.kind is Kind.META and self.at(")", 1):
                reference = self._meta()
                if self.is_attribute_object(reference.key, reference.index):
                    attrs = reference
                else:
                    arguments.append(reference)
                continue
            arguments.append(cast(Expr, (yield self.expression())))
            if not self.accept(",") and not self.at(")"):
                self.refuse("`,` or `)`")
        pure = isinstance(callee, OpRef | ConstructorRef) and all(argument.pure for argument in arguments)
        return Call(callee.position, pure, callee, arguments, attrs)

    def _attribute_follows(self) -> bool:
        """Whether `name=` or `a.b=` is next."""
        count = 0
        while self.ahead(count).kind is Kind.NAME:
            if self.at("=", count + 1):
                return True
            if not self.at(".", count + 1):
                return False
            count += 2
        return False

    def attributes(self) -> Steps[list[Attr]]:
        """`name=value` pairs."""
        found: dict[str, Attr] = {}
        while self._attribute_follows():
            position, token = self.token.position, self.token
            name = self._dotted_name()
            if name in found:
                self.error(f"attribute `{name}` is given twice", token)
            self.expect("=")
            found[name] = Attr(name, cast(AttrValue, (yield self._attribute_value())), position)
            if not self.accept(","):
                break
        return list(found.values())

    def _dotted_name(self) -> str:
        parts = [self.expect_kind(Kind.NAME).text]
        while self.at(".") and self.ahead(1).kind is Kind.NAME:
            self.take()
            parts.append(self.take().text)
        return ".".join(parts)

    def _attribute_value(self) -> Steps[AttrValue]:
        token = self.token
        if token.kind is Kind.STRING:
            return self.take().text
        if token.kind is Kind.NUMBER:
            return self.number(self.take())
        if token.kind is Kind.META:
            return self._meta()
        if token.kind is Kind.NAME and token.text in ("None", "nullptr", "True", "False"):
            self.take()
            return Scalar(token.text == "True", "bool") if token.text in ("True", "False") else None
        if self.accept("["):
            values: list[AttrValue] = []
            while not self.accept("]"):
                values.append(cast(AttrValue, (yield self._attribute_value())))
                if not self.accept(",") and not self.at("]"):
                    self.refuse("`,` or `]`")
            return values
        if self.accept("("):
            value = cast(AttrValue, (yield self._attribute_value()))
            self.expect(")")
            return value
        return cast(Expr, (yield self._atom()))

    def _meta(self) -> MetaRef:
        token = self.take()
        key, index = meta_parts(token)
        if not index.isdigit():
            self.error(f"the index of a metadata reference must be a number, but is `{index}`", token)
        return MetaRef(token.position, True, key, int(index))

    def _atom(self) -> Steps[Expr]:
        token = self.token
        match token.kind:
            case Kind.LOCAL:
                return Local(token.position, True, self.variable(self.take()))
            case Kind.GRAPH:
                return self._graph_reference(self.take())
            case Kind.NUMBER:
                return Literal(token.position, True, self.number(self.take()))
            case Kind.GLOBAL:
                if token.text not in self.names.globals:
                    self.unknown("undefined function", token.text, self.names.globals, token, "@")
                return GlobalRef(self.take().position, True, token.text)
            case Kind.META:
                return self._meta()
            case Kind.NAME:
                return self._named(token)
            case Kind.KEYWORD:
                return cast(Expr, (yield self._keyword(token)))
            case _ if self.at("("):
                return cast(Expr, (yield self._parenthesized()))
            case _:
                self.refuse("an expression")

    def _graph_reference(self, token: Token) -> Expr:
        shared = self.graph.get(token.text)
        if shared is None:
            self.error(f"undefined graph variable `%{token.text}`", token)
        return GraphRef(token.position, shared.expr.pure, shared)

    def _named(self, token: Token) -> Expr:
        if token.text in ("True", "False"):
            self.take()
            return Literal(token.position, True, Scalar(token.text == "True", "bool"))
        if token.text in self.names.constructors:
            return ConstructorRef(self.take().position, True, token.text)
        return OpRef(token.position, True, self._dotted_name())

    def _keyword(self, token: Token) -> Steps[Expr]:
        self.take()
        match token.text:
            case "fn":
                return cast(Function, (yield self.function(token.position)))
            case "if":
                return cast(Expr, (yield self._if(token)))
            case "match":
                return cast(Expr, (yield self._match(token)))
            case "ref" | "ref_read" | "ref_write":
                return cast(Expr, (yield self._reference(token)))
            case _:
                self.index -= 1
                self.refuse("an expression")

    def _reference(self, token: Token) -> Steps[Expr]:
        self.expect("(")
        arguments = [cast(Expr, (yield self.expression()))]
        if _REFERENCES[token.text] == 2:
            self.expect(",")
            arguments.append(cast(Expr, (yield self.expression())))
        self.accept(",")
        self.expect(")")
        return RefCall(token.position, False, token.text, arguments)

    def _parenthesized(self) -> Steps[Expr]:
        opening = self.expect("(")
        fields: list[Expr] = []
        comma = True
        while not self.accept(")"):
            fields.append(cast(Expr, (yield self.expression())))
            comma = self.accept(",")
            if not comma and not self.at(")"):
                self.refuse("`,` or `)`")
        if len(fields) == 1 and not comma:
            return fields[0]
        return TupleExpr(opening.position, all(f.pure for f in fields), fields)

    def _part(self, parameters: list[Var] | None = None) -> Steps[Part]:
        """`{ body }`, which becomes a block."""
        self.deeper()
        body = cast(Expr, (yield self._block()))
        self.less_deep()
        return Part(body, parameters or [])

    def _if(self, token: Token) -> Steps[Expr]:
        self.expect("(")
        condition = cast(Expr, (yield self.expression()))
        self.expect(")")
        then = cast(Part, (yield self._part()))
        self.expect("else")
        otherwise = cast(Part, (yield self._part()))
        pure = condition.pure and then.body.pure and otherwise.body.pure
        return If(token.position, pure, condition, (then, otherwise))

    def _match(self, token: Token) -> Steps[Expr]:
        complete = not (self.at("?") and self.token.position == token.position + len("match"))
        if not complete:
            self.take()
        scrutinee = cast(Expr, (yield self._atom()))
        self.expect("{")
        cases: list[tuple[MatchPattern, Part]] = []
        while not self.accept("}"):
            mark, variables = self.enter(), list[Var]()
            pattern = self.parse_pattern(variables)
            self.expect("=>")
            self.deeper()
            cases.append((pattern, Part(cast(Expr, (yield self.expression())), variables)))
            self.less_deep()
            self.leave(mark)
            if not self.accept(",") and not self.at("}"):
                self.refuse("`,` or `}`")
        pure = complete and scrutinee.pure and all(part.body.pure for _, part in cases)
        return Match(token.position, pure, scrutinee, cases, complete)

    def function(self, position: int) -> Steps[Function]:
        """What follows `fn` or `def @name`."""
        mark = self.enter()
        type_parameters = self.type_parameters()
        parameters: list[Var] = []
        attrs: list[Attr] = []
        self.expect("(")
        while not self.accept(")"):
            if self._attribute_follows():
                attrs = cast("list[Attr]", (yield self.attributes()))
                self.expect(")")
                break
            parameters.append(cast(Var, (yield self._parameter())))
            if not self.accept(",") and not self.at(")"):
                self.refuse("`,` or `)`")
        result = self.parse_type() if self.accept("->") else None
        part = cast(Part, (yield self._part(parameters)))
        self.type_variables.pop()
        self.leave(mark)
        return Function(position, True, type_parameters, part, result, attrs)

    def _parameter(self) -> Steps[Var]:
        token = self.expect_kind(Kind.LOCAL)
        if self.accept("{"):  # `{virtual_device=...}` says where the parameter lies, which has no meaning here
            yield self.attributes()
            self.expect("}")
        var = Var(token.text, self.parse_type() if self.accept(":") else None, token.position)
        self.bind(var)
        return var
