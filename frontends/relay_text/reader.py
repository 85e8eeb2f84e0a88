"""Reads Relay text into a module of the relay dialect, with all types inferred."""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path

from xdsl.dialects.builtin import ArrayAttr, FileLineColLoc, FunctionType, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.errors import ModelError
from relay_mlir.dialects.relay.core import FuncOp, ReturnOp
from relay_mlir.dialects.relay.language import AdtOp, ConstructorOp
from relay_mlir.dialects.relay.types import ANY
from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.frontends.relay_text.builder import Builder
from relay_mlir.frontends.relay_text.cursor import Names
from relay_mlir.frontends.relay_text.emitter import HOLE
from relay_mlir.frontends.relay_text.function_attrs import PRIVATE, attributes_of
from relay_mlir.frontends.relay_text.lexer import Token, meta_parts, tokenize
from relay_mlir.frontends.relay_text.metadata import Metadata, MetadataError, MetaValue
from relay_mlir.frontends.relay_text.module_parser import ModuleParser
from relay_mlir.frontends.relay_text.names import unique_names
from relay_mlir.frontends.relay_text.sharing import place
from relay_mlir.frontends.relay_text.std import std_path
from relay_mlir.frontends.relay_text.syntax import Definition, Program, TypeDecl
from relay_mlir.frontends.relay_text.trampoline import run
from relay_mlir.lowering.diagnostics import Diagnostic, DiagnosticError, op_of
from relay_mlir.lowering.ir_text import SourceText
from relay_mlir.lowering.relay_infer_type import RelayInferTypePass
from relay_mlir.lowering.verifier import verify_module


def parse_relay(
    source: SourceText,
    ctx: RelayContext,
    *,
    into: ModuleOp | None = None,
    std: Iterable[str] = (),
    metadata: Mapping[str, list[MetaValue]] | None = None,
    infer: bool = True,
) -> ModuleOp:
    """The module of a text; tensors of its metadata that are not small go to `ctx.weights`.

    `into` is a module that gets the declarations and functions of the text, which may use its own; `std` names
    standard libraries to read first; `metadata` has further entries for `meta[key][index]`, counted after the text's.
    With `infer` all types are inferred and the module is verified. Raises DiagnosticError.
    """
    module = ModuleOp([]) if into is None else into
    with _no_collection():
        for name in std:
            path = std_path(name)
            _read(SourceText(path.read_text(encoding="utf-8"), path.name), ctx, module, {})
        _read(source, ctx, module, dict(metadata or {}))
    if infer:
        _infer(source, ctx, module)
    return module


@contextmanager
def _no_collection() -> Generator[None]:
    """Keeps Python from looking for garbage: it would visit every open expression of a deeply nested text each time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def read_relay(path: Path, ctx: RelayContext, std: Iterable[str] = ()) -> ModuleOp:
    """The module of a .relay file; raises ModelError."""
    try:
        text = path.read_bytes().decode()
    except OSError as e:
        raise ModelError(f"{path}: cannot be read: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise ModelError(f"{path}: byte 0x{e.object[e.start]:02x} at offset {e.start} is not UTF-8") from e
    try:
        return parse_relay(SourceText(text, str(path)), ctx, std=std)
    except DiagnosticError as e:
        raise ModelError(str(e)) from e


def _infer(source: SourceText, ctx: RelayContext, module: ModuleOp) -> None:
    """Infers all types and verifies; raises DiagnosticError at the place of the text."""
    try:
        RelayInferTypePass().apply(ctx, module)
        verify_module(module)
    except VerifyException as e:
        raise _located(source, str(e), op_of(e)) from e
    except RecursionError as e:
        raise DiagnosticError(Diagnostic("error", "the program is nested too deeply", file=source.name)) from e


def _located(source: SourceText, message: str, op: Operation | None) -> DiagnosticError:
    location = None if op is None else op.location
    if not isinstance(location, FileLineColLoc):
        return DiagnosticError(Diagnostic("error", message, file=source.name))
    place = source.place_at(location.line.data, location.column.data)
    return DiagnosticError(Diagnostic("error", message, place))


def _read(source: SourceText, ctx: RelayContext, module: ModuleOp, given: dict[str, list[MetaValue]]) -> None:
    """Adds the declarations and functions of a text to a module."""
    tokens = tokenize(source)
    metadata = Metadata(source, given=given)
    if tokens.metadata is not None:
        try:
            metadata.read(tokens.metadata)
        except MetadataError as e:
            raise source.error(str(e), tokens.metadata_position) from e
    names = Names()
    for op in module.ops:
        if isinstance(op, AdtOp):
            names.types[op.sym_name.data] = len(op.type_parameters)
            names.constructors |= {made.sym_name.data: len(made.fields) for made in op.constructors}
        elif isinstance(op, FuncOp):
            names.globals.add(op.sym_name.data)

    def dimension(token: Token) -> int:
        key, index = meta_parts(token)
        try:
            value = metadata.entry(key, int(index))
        except (MetadataError, ValueError) as e:
            raise source.error(str(e), token.position, token.position + token.width) from e
        return value if isinstance(value, int) and value >= 0 else ANY

    parser = ModuleParser(source, tokens, names, is_attribute_object=metadata.is_attribute_object, dimension=dimension)
    program = parser.parse()
    _Module(source, ctx, module, metadata).add(program)


class _Module:
    """Builds what a text declares and defines."""

    def __init__(self, source: SourceText, ctx: RelayContext, module: ModuleOp, metadata: Metadata):
        self.source = source
        self.ctx = ctx
        self.module = module
        self.metadata = metadata

    def add(self, program: Program) -> None:
        first = next((op for op in self.module.ops if isinstance(op, FuncOp)), None)
        for declared in program.types:
            self._append(self.declare(declared), declared.position, first)
        for definition in program.functions:
            self._append(self.signature(definition), definition.position)
        functions = {op.sym_name.data: op for op in self.module.ops if isinstance(op, FuncOp)}
        types = {op.sym_name.data: op for op in self.module.ops if isinstance(op, AdtOp)}
        builder = Builder(self.source, self.ctx.weights, self.metadata, functions, types)
        for definition in program.functions:
            self.define(builder, definition, functions[definition.name])

    def _append(self, op: Operation, position: int, before: Operation | None = None) -> None:
        for inner in op.walk():
            inner.location = self.source.location(position)
        if before is None:
            self.module.body.block.add_op(op)
        else:
            self.module.body.block.insert_op_before(op, before)

    def declare(self, declared: TypeDecl) -> AdtOp:
        body = Region(Block([ConstructorOp(made.name, made.fields) for made in declared.constructors]))
        return AdtOp(declared.name, declared.parameters, body, extern=declared.extern)

    def signature(self, definition: Definition) -> FuncOp:
        """A function without a body yet, its undeclared types holes."""
        function = definition.function
        inputs = [HOLE if var.type is None else var.type for var in function.parameters]
        result = HOLE if function.result is None else function.result
        private = any(attr.name == PRIVATE for attr in function.attrs)
        op = FuncOp(definition.name, FunctionType.from_lists(inputs, [result]), private=private)
        if function.type_parameters:
            op.attributes["type_params"] = ArrayAttr([StringAttr(name) for name in function.type_parameters])
        return op

    def define(self, builder: Builder, definition: Definition, op: FuncOp) -> None:
        function = definition.function
        place(function)
        part = function.part
        assert part.scope is not None
        part.scope.block = op.block
        builder.bind(function.parameters, list(op.args), part.scope)
        value = run(builder.expr(part.body, part.scope))
        end = ReturnOp(value)
        end.location = self.source.location(part.body.position)
        op.block.add_op(end)
        result = builder.result_type(function, value)
        op.properties["function_type"] = FunctionType.from_lists([arg.type for arg in op.args], [result])
        op.attributes |= attributes_of(builder, function)
        names = unique_names(var.name for var in function.parameters)
        if definition.name == "main" and "input_names" not in op.attributes and names:
            op.attributes["input_names"] = ArrayAttr([StringAttr(name) for name in names])
        builder.drop_unused()
