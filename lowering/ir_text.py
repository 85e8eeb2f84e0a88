"""Reads IR text into a module: positions become locations, and every mistake becomes one located error."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NoReturn, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    UnknownLoc,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Position, Span, Token
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral

from relay_mlir.dialects.literals import literal_bytes
from relay_mlir.lowering.diagnostics import Diagnostic, DiagnosticError, Place, did_you_mean

_PROBLEMS = (VerifyException, ValueError, ArithmeticError, LookupError, AssertionError, NotImplementedError)
"""What attributes and operations raise when the text gives them what they cannot take."""
_BUGS = (TypeError, AttributeError)
"""What xDSL's parsers raise on some malformed operations."""


class SourceText:
    """A text that was parsed, and where in it each operation stands."""

    def __init__(self, text: str, name: str):
        self.text = text
        self.name = name
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._ops: dict[Operation, int] = {}
        self._locations: dict[Attribute, int] = {}

    def record(self, op: Operation, position: Position) -> None:
        """Remembers where an operation was read."""
        self._ops[op] = position
        self._locations.setdefault(op.location, position)

    def place(self, position: Position, width: int = 1) -> Place:
        """The line and column of a position of the text."""
        line = bisect_right(self._starts, position)
        start = self._starts[line - 1]
        end = self._starts[line] - 1 if line < len(self._starts) else len(self.text)
        return Place(self.name, line, position - start + 1, self.text[start:end].rstrip("\r"), width)

    def place_of(self, op: Operation) -> Place | None:
        """Where an operation, or the one whose location it has, was read."""
        position = self._ops.get(op)
        if position is None:
            position = self._locations.get(op.location)
        if position is not None:
            return self.place(position)
        return None

    def place_at(self, line: int, column: int) -> Place:
        """The place of a line and column, with the text of that line."""
        if not 1 <= line <= len(self._starts):
            return Place(self.name, line, column)
        return self.place(self._starts[line - 1] + column - 1)

    def location(self, position: Position) -> FileLineColLoc:
        """The location attribute of a position."""
        place = self.place(position)
        return FileLineColLoc(StringAttr(self.name), IntAttr(place.line), IntAttr(place.column))

    def error(self, message: str, position: Position, end: Position | None = None) -> DiagnosticError:
        """An error about a range of the text."""
        return DiagnosticError(Diagnostic("error", message, self.place(position, (end or position) - position)))


class _Lexer(MLIRLexer):
    """xDSL's lexer, which also takes `1e-5` for a float, and escaped UTF-8 for a string."""

    _exponent = re.compile(r"[0-9]+[eE][-+]?[0-9]+(?![0-9a-zA-Z_.])")
    # xDSL's pattern without the possessive `+` takes exponential time for a string that does not end.
    _string = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def _lex_number(self, start_pos: Position) -> MLIRToken:
        if match := self._exponent.match(self.input.content, start_pos):
            self.pos = match.end()
            return self._form_token(MLIRTokenKind.FLOAT_LIT, start_pos)
        return super()._lex_number(start_pos)

    def _lex_string_literal(self, start_pos: Position) -> MLIRToken:
        match = self._string.match(self.input.content, start_pos)
        if match is None:
            end = self.input.get_end_of_line(start_pos)
            raise ParseError(Span(start_pos, end, self.input), "the string does not end, or has an invalid escape")
        self.pos = match.end()
        literal = StringLiteral(start_pos, self.pos, self.input)
        try:
            literal.bytes_contents.decode()
        except UnicodeDecodeError:
            return Token(MLIRTokenKind.BYTES_LIT, literal)
        return Token(MLIRTokenKind.STRING_LIT, literal)


class RelayParser(Parser):
    """xDSL's parser with exact float literals, located operations and errors at the place of the mistake."""

    def __init__(self, ctx: Context, source: SourceText):
        super().__init__(ctx, " ", source.name)
        self.source = source
        self._parser_state.lexer = _Lexer(Input(source.text, source.name))
        self._parser_state.current_token = self._parser_state.lexer.lex()
        self._forward_spans: dict[tuple[str, int], Span] = {}
        self._names: set[str] = set()

    # Operations

    def parse_operation(self) -> Operation:
        start = self.pos
        try:
            op = super().parse_operation()
        except _PROBLEMS as error:
            self.raise_error(str(error) or f"not a valid operation ({type(error).__name__})", start)
        except _BUGS as error:
            self.raise_error(f"not a valid operation ({error})", start)
        if isinstance(op.location, UnknownLoc):
            op.location = self.source.location(start)
        self.source.record(op, start)
        return op

    def _get_op_by_name(self, name: str) -> type[Operation]:
        op_type = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if op_type is not None:
            return op_type
        start = self.source.text.rfind(name, 0, self.pos)
        dialect = name.split(".")[0]
        if "." in name and dialect not in self.ctx.registered_dialect_names:
            message = f"unknown dialect '{dialect}' of operation '{name}'"
            hint = did_you_mean(dialect, self.ctx.registered_dialect_names)
        else:
            known = [op.name for op in self.ctx.loaded_ops]
            message, hint = f"unknown operation '{name}'", did_you_mean(name, known)
        self.raise_error(message + hint, start, start + len(name))

    # Values

    def resolve_operand(self, operand: UnresolvedOperand, type: Any) -> SSAValue[Any]:
        if operand.operand_name not in self.ssa_values:
            self._forward_spans.setdefault((operand.operand_name, operand.index), operand.span)
        return super().resolve_operand(operand, type)

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        self._names.add(name)
        super()._register_ssa_definition(name, values, span)

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        try:
            return super().parse_module(allow_implicit_module)
        except ParseError:
            if self.forward_ssa_references and self._current_token.kind == MLIRTokenKind.EOF:
                self._raise_undefined()
            raise

    def _raise_undefined(self) -> NoReturn:
        undefined = [(name, index) for name, uses in self.forward_ssa_references.items() for index in uses]
        first = min(undefined, key=lambda use: self._forward_spans[use].start)
        name, span = first[0], self._forward_spans[first]
        if name in self._names:
            hint = "; a value of this name is defined in another scope"
        else:
            hint = did_you_mean(f"%{name}", [f"%{known}" for known in self._names])
        self.raise_error(f"use of undefined value %{name}{hint}", span)

    # Attributes

    def parse_optional_attribute(self) -> Attribute | None:
        start = self.pos
        try:
            return super().parse_optional_attribute()
        except _PROBLEMS as error:
            self.raise_error(str(error), start, max(self.pos, start + 1))

    def parse_optional_type(self) -> TypeAttribute | None:
        start = self.pos
        try:
            return super().parse_optional_type()
        except _PROBLEMS as error:
            self.raise_error(str(error), start, max(self.pos, start + 1))

    def parse_shape_dimension(self, allow_dynamic: bool = True) -> int:
        start = self.pos
        dim = super().parse_shape_dimension(allow_dynamic)
        if dim >= 1 << 63:
            self.raise_error("a dimension must fit 64 bits", start)
        return dim

    def _parse_dialect_type_or_attribute_body(
        self, attr_name: str, is_type: bool, is_opaque: bool, starting_opaque_pos: Position | None
    ) -> Any:
        if "." in attr_name:
            get = self.ctx.get_optional_type if is_type else self.ctx.get_optional_attr
            if get(attr_name) is None:
                kind, known = ("type", self.ctx.loaded_types) if is_type else ("attribute", self.ctx.loaded_attrs)
                start = self.source.text.rfind(attr_name, 0, self.pos)
                hint = did_you_mean(attr_name, [attribute.name for attribute in known])
                self.raise_error(f"unknown {kind} '{attr_name}'{hint}", max(start, 0), max(start, 0) + len(attr_name))
        return super()._parse_dialect_type_or_attribute_body(attr_name, is_type, is_opaque, starting_opaque_pos)

    def parse_optional_builtin_int_or_float_attr(self) -> IntegerAttr[Any] | FloatAttr[Any] | None:
        start = self.pos
        result = super().parse_optional_builtin_int_or_float_attr()
        if isinstance(result, FloatAttr) and math.isinf(result.value.data):
            text = self.source.text[start : self.pos].split(":")[0].strip()
            if text[:2].lower() != "0x":
                self.raise_error(f"{text} is out of the range of {result.type}", start, start + len(text))
        return result

    # Dense literals: elements keep their text until the element type is known.

    def parse_dense_int_or_fp_elements_attr(self, type: Any) -> DenseIntOrFPElementsAttr[Any]:
        start = self.pos
        self.parse_punctuation("<", " in dense attribute")
        if self._current_token.kind == MLIRTokenKind.L_PAREN or self._is_complex(start):
            self._resume_from(start)
            return super().parse_dense_int_or_fp_elements_attr(type)
        digits = self.parse_optional_str_literal()
        elements: list[Span] = []
        shape: list[int] | None = None
        if digits is None and self._current_token.kind != MLIRTokenKind.GREATER:
            shape = self._parse_elements(elements)
        end = self.pos
        self.parse_punctuation(">", " in dense attribute")
        if type is None:
            self.parse_punctuation(":", " in dense attribute")
            type = self._parse_dense_literal_type()
        if digits is not None:
            return DenseIntOrFPElementsAttr(type, BytesAttr(self._bytes_of_digits(digits, type, start + 1, end)))
        found, expected = shape, list(type.get_shape())
        count = _product(expected)
        if found is None:
            if count:
                self.raise_error(f"the literal has no element, but {type} has {count}", start, end + 1)
        elif found and found != expected:
            self.raise_error(f"the literal has shape {found}, but {type} has shape {expected}", start, end + 1)
        raw = b"".join(self._literal(span.text, type.element_type, span.start) for span in elements)
        return DenseIntOrFPElementsAttr(type, BytesAttr(raw * count if found == [] else raw))

    def _is_complex(self, start: Position) -> bool:
        return re.compile(r"<[\[\s]*\(").match(self.source.text, start) is not None

    def _parse_elements(self, elements: list[Span]) -> list[int]:
        """Parses one element or a nested list; returns its shape."""
        start = self.pos
        shapes = self.parse_optional_comma_separated_list(self.Delimiter.SQUARE, lambda: self._parse_elements(elements))
        if shapes is None:
            elements.append(self._parse_element())
            return []
        if any(shape != shapes[0] for shape in shapes):
            self.raise_error("the rows of the literal have different lengths", start, self.pos)
        return [len(shapes), *(shapes[0] if shapes else [])]

    def _parse_element(self) -> Span:
        start = self.pos
        minus = self._parse_optional_token(MLIRTokenKind.MINUS) is not None
        token = self._current_token
        number = token.kind in (MLIRTokenKind.INTEGER_LIT, MLIRTokenKind.FLOAT_LIT)
        if not number and (minus or token.text not in ("true", "false")):
            self.raise_error("expected an integer, a float, true or false")
        self._consume_token()
        return Span(start, token.span.end, self.lexer.input)

    def _literal(self, text: str, type_: Any, position: Position) -> bytes:
        try:
            return literal_bytes(re.sub(r"\s", "", text), type_)
        except VerifyException as error:
            self.raise_error(str(error), position, position + len(text))

    def _bytes_of_digits(self, digits: str, type_: Any, start: Position, end: Position) -> bytes:
        """The elements of `"0x..."`; those of i1 are a byte each (xDSL) or a bit each (MLIR)."""
        element, count = type_.element_type, _product(type_.get_shape())
        try:
            if not digits.startswith("0x"):
                raise ValueError
            raw = bytes.fromhex(digits[2:])
        except ValueError:
            self.raise_error("expected hexadecimal digits after 0x, two a byte", start, end)
        if element == i1 and len(raw) == (count + 7) // 8 and len(raw) != count:
            bits = int.from_bytes(raw, "little")
            raw = b"".join(b"\xff" if bits >> at & 1 else b"\x00" for at in range(count))
        size = element.compile_time_size
        if len(raw) == size:
            return raw * count
        if len(raw) != size * count:
            self.raise_error(f"the literal has {len(raw)} bytes, but {type_} has {size * count}", start, end)
        return raw

    def _parse_builtin_densearray_attr(self) -> DenseArrayBase[Any]:
        self.parse_characters("<", " in dense array")
        start = self.pos
        type_: Any = self.parse_type()
        if not isinstance(cast(object, type_), IntegerType | AnyFloat):
            self.raise_error("the element type of an array must be an integer or a float", start, self.pos)
        spans: list[Span] = []
        if self.parse_optional_punctuation(">") is None:
            self.parse_characters(":", " in dense array")
            spans = self.parse_comma_separated_list(self.Delimiter.NONE, self._parse_element)
            self.parse_characters(">", " in dense array")
        raw = b"".join(self._literal(span.text, type_, span.start) for span in spans)
        return DenseArrayBase(type_, BytesAttr(raw))


def _product(shape: Sequence[int]) -> int:
    count = 1
    for dim in shape:
        count *= dim
    return count


def parse_ir(ctx: Context, source: SourceText) -> ModuleOp:
    """Parses a module; every operation without a location gets its line and column.

    Raises DiagnosticError, located, for a text that is not a module. The module is not verified.
    """
    end = len(source.text)
    try:
        return RelayParser(ctx, source).parse_module()
    except ParseError as error:
        message = error.msg.strip().rstrip("!.") or "syntax error"
        if message == "Could not parse entire input":
            message = "expected an operation" if error.span.start < end else "the text holds no operation"
        raise source.error(message, min(error.span.start, end), max(error.span.end, error.span.start)) from error
    except RecursionError as error:
        message = "the program is nested too deeply"
        raise DiagnosticError(Diagnostic("error", message, file=source.name)) from error


def parse_text(ctx: Context, text: str, name: str = "<text>") -> ModuleOp:
    """Parses and verifies a module; raises DiagnosticError for a text that is not one, VerifyException otherwise."""
    from relay_mlir.lowering.verifier import verify_module

    module = parse_ir(ctx, SourceText(text, name))
    verify_module(module)
    return module
