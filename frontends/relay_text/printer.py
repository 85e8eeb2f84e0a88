"""Writes a module of the relay dialect as Relay text that TVM's reader and this package's own read.

Pure values are graph variables (`%0 = ...;`), which a reader evaluates in the innermost scope around their uses. Where
that would be elsewhere, and for everything with an effect, a `let` keeps the order. So reading what is printed gives
the same operations in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.core import (
    CallOp,
    ConstantOp,
    FuncOp,
    IfOp,
    ReturnOp,
    TupleGetItemOp,
    TupleOp,
    WeightOp,
    YieldOp,
)
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
)
from relay_mlir.dialects.relay.language_types import IncompleteType
from relay_mlir.dialects.relay.op import RelayOp
from relay_mlir.dialects.relay.types import numpy_dtype
from relay_mlir.dialects.relay.weights import WeightStore
from relay_mlir.frontends.relay_text.function_attrs import CALL_ATTRIBUTES, PRIVATE
from relay_mlir.frontends.relay_text.literals import scalar_text
from relay_mlir.frontends.relay_text.metadata_writer import Constants
from relay_mlir.frontends.relay_text.names import UniqueNames
from relay_mlir.frontends.relay_text.op_printer import attribute_text, call_text, dictionary_texts
from relay_mlir.frontends.relay_text.placement import Binding, binding_of, gives_tuple
from relay_mlir.frontends.relay_text.type_printer import pattern_text, type_text
from relay_mlir.lowering.diagnostics import OpError, attach

_STORAGE = frozenset(["type_params", "primitive", "weights"])
"""Attributes of functions that Relay text writes otherwise, or not at all."""


def print_relay(module: ModuleOp, weights: WeightStore, *, let: bool = False) -> str:
    """The text of a module, with its tensors in the metadata section.

    With `let` every value is bound by `let` instead of a graph variable. Raises OpError, which is a VerifyException,
    for an operation that is not of the relay dialect, and KeyError for a weight that the store lacks.
    """
    return _Printer(weights, let).module(module)


class _Printer:
    """One run over a module."""

    def __init__(self, weights: WeightStore, let: bool):
        self.weights = weights
        self.let = let
        self.constants = Constants()
        self.lines: list[str] = []
        self.indent = 0
        self.graph = 0
        self.names = UniqueNames()
        self.texts: dict[SSAValue, str] = {}

    def line(self, text: str) -> None:
        self.lines.append("  " * self.indent + text)

    # Modules

    def module(self, module: ModuleOp) -> str:
        self.line('#[version = "0.0.5"]')
        types = [op for op in module.ops if isinstance(op, AdtOp)]
        for declared in types:
            if declared.extern is None:
                self.declaration(declared)
        for op in module.ops:
            if isinstance(op, FuncOp):
                self.function(op)
            elif not isinstance(op, AdtOp):
                raise OpError(op, "only functions and data types can be written as Relay text")
        for declared in types:  # TVM reads no definition after one of these
            if declared.extern is not None:
                self.line(f"extern type {declared.sym_name.data}{_type_parameters(declared.type_parameters)}")
        return "\n".join(self.lines).rstrip("\n") + "\n" + self.constants.section()

    def declaration(self, op: AdtOp) -> None:
        self.line(f"type {op.sym_name.data}{_type_parameters(op.type_parameters)} {{")
        for made in op.constructors:
            fields = ", ".join(map(type_text, made.fields))
            self.line(f"  {made.sym_name.data}({fields})," if fields else f"  {made.sym_name.data},")
        self.line("}")
        self.line("")

    def function(self, op: FuncOp) -> None:
        self.names = UniqueNames()  # graph variables are counted on: TVM keeps the first of a number in a text
        wanted = op.names("input_names") if "input_names" in op.attributes else None
        parameters = self.parameters(op.args, wanted)
        printed = [self.texts[argument][1:] for argument in op.args]
        attributes = self.function_attributes(op, printed == wanted and op.sym_name.data == "main")
        outputs = op.function_type.outputs.data
        result = f" -> {_joined_type(outputs)}" if IncompleteType() not in outputs else ""
        head = f"def @{op.sym_name.data}{_type_parameters(op.type_parameters)}"
        self.line(f"{head}({', '.join([*parameters, *attributes])}){result} {{")
        self.block(op.block)
        self.line("}")
        self.line("")

    def parameters(self, arguments: Sequence[SSAValue], wanted: Sequence[str] | None = None) -> list[str]:
        """The parameters of a function with their types; names them."""
        texts: list[str] = []
        for number, argument in enumerate(arguments):
            name = wanted[number] if wanted is not None else argument.name_hint or "x"
            texts.append(self.variable(argument, name))
        return texts

    def variable(self, value: SSAValue, name: str) -> str:
        """A variable with its type; from here on it stands for the value."""
        self.texts[value] = text = f"%{self.names.take(name)}"
        return text if isinstance(value.type, IncompleteType) else f"{text}: {type_text(value.type)}"

    def function_attributes(self, op: FuncOp | FnOp, named: bool = False) -> list[str]:
        """The attributes of a function; `named` where its parameters have the names of `input_names`."""
        texts = ["Primitive=1"] if "primitive" in op.attributes else []
        if isinstance(op, FuncOp) and op.sym_visibility == StringAttr("private"):
            texts.append(f"{PRIVATE}=True")
        for name, attribute in op.attributes.items():
            if name in _STORAGE or (named and name == "input_names"):
                continue
            try:
                texts.append(f"{name}={'True' if isinstance(attribute, UnitAttr) else attribute_text(attribute)}")
            except VerifyException as e:
                raise OpError(op, f"attribute '{name}': {e}") from e
        return texts

    # Blocks

    def block(self, block: Block) -> None:
        """The operations of a block and its value, one level deeper."""
        self.indent += 1
        last = block.last_op
        assert last is not None
        for op in block.ops:
            if op is not last:
                try:
                    self.statement(op, last)
                except VerifyException as e:
                    attach(e, op)
                    raise
        if not isinstance(last, ReturnOp | YieldOp):
            raise OpError(last, "cannot be written as Relay text")
        values = [self.texts[value] for value in last.operands]
        if not (len(values) == 1 and values[0] == ""):  # the value is the expression before
            self.line(values[0] if len(values) == 1 else f"({', '.join(values)})")
        self.indent -= 1

    def statement(self, op: Operation, last: Operation) -> None:
        """One operation and how it is bound."""
        binding = binding_of(op, last, self.let)
        if binding is Binding.INLINE:
            self.texts[op.results[0]] = self.simple(op)
            return
        hint = next((result.name_hint for result in op.results if result.name_hint), None)
        prefix, suffix, name = "", "", ""
        if isinstance(op, FnOp) and op.self_argument is not None:
            binding = Binding.LET
        match binding:
            case Binding.GRAPH:
                name = f"%{self.graph}"
                self.graph += 1
                prefix, suffix = f"{name} = ", ";"
            case Binding.LET:
                name = f"%{self.names.take(hint or 'v')}"
                prefix, suffix = f"let {name} = ", ";"
            case Binding.SEQUENCE:
                suffix = ";"
            case _:
                pass
        if isinstance(op, FnOp) and op.self_argument is not None:
            self.texts[op.self_argument] = name
        parenthesized = isinstance(op, MatchOp) and bool(name)
        self.expression(op, prefix + ("(" if parenthesized else ""), (")" if parenthesized else "") + suffix)
        self.name_results(op, name)

    def name_results(self, op: Operation, name: str) -> None:
        """What the results of an operation are called."""
        for number, result in enumerate(op.results):
            self.texts[result] = f"{name}.{number}" if name and gives_tuple(op) else name

    # Expressions

    def expression(self, op: Operation, prefix: str, suffix: str) -> None:
        """An operation as an expression, between a prefix and a suffix."""
        match op:
            case FnOp():
                self.closure(op, prefix, suffix)
            case IfOp():
                self.line(f"{prefix}if ({self.texts[op.condition]}) {{")
                self.block(op.then_region.block)
                self.line("} else {")
                self.block(op.else_region.block)
                self.line("}" + suffix)
            case MatchOp():
                self.match(op, prefix, suffix)
            case _:
                self.line(prefix + self.simple(op) + suffix)

    def closure(self, op: FnOp, prefix: str, suffix: str) -> None:
        parameters = [*self.parameters(op.parameters), *self.function_attributes(op)]
        outputs = op.function_type.outputs.data
        result = f" -> {_joined_type(outputs)}" if IncompleteType() not in outputs else ""
        self.line(f"{prefix}fn {_type_parameters(op.type_parameters)}({', '.join(parameters)}){result} {{")
        self.block(op.body.block)
        self.line("}" + suffix)

    def match(self, op: MatchOp, prefix: str, suffix: str) -> None:
        mark = "?" if op.partial is not None else ""
        self.line(f"{prefix}match{mark} ({self.texts[op.scrutinee]}) {{")
        self.indent += 1
        for pattern, case in zip(op.patterns, op.cases, strict=True):
            arguments = iter(case.block.args)

            def variable(arguments: Iterator[SSAValue] = arguments) -> str:
                argument = next(arguments)
                return self.variable(argument, argument.name_hint or "x")

            self.line(f"{pattern_text(pattern, variable)} => {{")
            self.block(case.block)
            self.line("},")
        self.indent -= 1
        self.line("}" + suffix)

    def simple(self, op: Operation) -> str:
        """An operation without regions."""
        texts = [self.texts[operand] for operand in op.operands]
        match op:
            case RelayOp():
                return call_text(op, texts, self.constants)
            case ConstantOp() | WeightOp():
                return self.constant(op)
            case TupleOp():
                return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"
            case TupleGetItemOp():
                return f"{texts[0]}.{op.index.value.data}"
            case CallOp():
                return f"@{op.callee.string_value()}({', '.join([*texts, *self.call_attributes(op)])})"
            case ApplyOp():
                return f"{texts[0]}({', '.join([*texts[1:], *self.call_attributes(op)])})"
            case ConstructOp():
                name = op.constructor.string_value()
                return f"{name}({', '.join(texts)})" if texts else name
            case ConstructorValueOp():
                return op.constructor.string_value()
            case GlobalOp():
                return f"@{op.function.string_value()}"
            case RefCreateOp():
                return f"ref({texts[0]})"
            case RefReadOp():
                return f"ref_read({texts[0]})"
            case RefWriteOp():
                return f"ref_write({texts[0]}, {texts[1]})"
            case _:
                raise OpError(op, "cannot be written as Relay text")

    def call_attributes(self, op: CallOp | ApplyOp) -> list[str]:
        attributes = op.attributes.get(CALL_ATTRIBUTES)
        return [] if attributes is None else dictionary_texts(attributes)

    def constant(self, op: Operation) -> str:
        """A tensor: a literal, or a reference to the metadata."""
        if isinstance(op, WeightOp):
            return self.constants.reference(self.weights[op.key.data], op.key.data)
        assert isinstance(op, ConstantOp)
        value = op.value
        shape = value.get_shape()
        array = np.frombuffer(value.data.data, numpy_dtype(value.get_element_type())).reshape(shape)
        text = None if shape else scalar_text(array)
        return self.constants.reference(array) if text is None else text


def _type_parameters(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]" if names else ""


def _joined_type(types: Sequence[Attribute]) -> str:
    return type_text(types[0]) if len(types) == 1 else f"({', '.join(map(type_text, types))})"
