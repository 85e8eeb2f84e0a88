"""Prints a module of the llvm dialect as LLVM IR text: one table, operation -> line.

An operation, attribute or flag that the table does not know is an error, never dropped. Attributes of functions
without a dialect's prefix (input_names and the like) are notes of this compiler and have no counterpart in LLVM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from relay_mlir.dialects.errors import CompileError
from relay_mlir.dialects.upstream import llvm as more
from relay_mlir.lowering.llvm_text_ops import TABLE
from relay_mlir.lowering.llvm_text_types import constant_text, escaped, global_text, symbol_text, type_text


def llvm_text(module: ModuleOp) -> str:
    """LLVM IR text of a module of llvm functions and globals; raises CompileError for what has no counterpart."""
    printer = _ModulePrinter()
    for op in module.ops:
        match op:
            case llvm.FuncOp():
                printer.function(op)
            case llvm.GlobalOp():
                printer.globals.append(global_text(op))
            case _:
                raise CompileError(f"llvm-text: {op.name} at {op.location}: expected llvm functions and globals")
    return printer.text()


# Attributes.

_PARAMETER_ATTRIBUTES = {
    "llvm.noalias": "noalias",
    "llvm.readonly": "readonly",
    "llvm.readnone": "readnone",
    "llvm.writeonly": "writeonly",
    "llvm.nocapture": "captures(none)",
    "llvm.nonnull": "nonnull",
    "llvm.noundef": "noundef",
    "llvm.nofree": "nofree",
    "llvm.returned": "returned",
    "llvm.signext": "signext",
    "llvm.zeroext": "zeroext",
    "llvm.inreg": "inreg",
}
_PARAMETER_NUMBERS = {
    "llvm.align": "align {}",
    "llvm.dereferenceable": "dereferenceable({})",
    "llvm.dereferenceable_or_null": "dereferenceable_or_null({})",
}


def _parameter_attributes(attributes: DictionaryAttr | None) -> str:
    text = ""
    entries: Mapping[str, Attribute] = attributes.data if attributes is not None else {}
    for name, value in entries.items():
        if name in _PARAMETER_ATTRIBUTES and isinstance(value, UnitAttr):
            text += " " + _PARAMETER_ATTRIBUTES[name]
        elif name in _PARAMETER_NUMBERS and isinstance(value, IntegerAttr):
            text += " " + _PARAMETER_NUMBERS[name].format(value.value.data)
        elif "." in name and name.startswith("llvm."):
            raise CompileError(f"llvm-text: parameter attribute {name} = {value} has no counterpart")
    return text


_FUNCTION_UNITS = {
    "no_inline": "noinline",
    "no_unwind": "nounwind",
    "optimize_none": "optnone",
    "always_inline": "alwaysinline",
}
_FUNCTION_STRINGS = {"target_cpu": "target-cpu", "tune_cpu": "tune-cpu", "prefer_vector_width": "prefer-vector-width"}
_FUNCTION_KNOWN = (
    "sym_name", "function_type", "CConv", "linkage", "sym_visibility", "visibility_", "arg_attrs", "res_attrs",
    "unnamed_addr", "passthrough", "frame_pointer", "target_features",
)  # fmt: skip


def _function_attributes(op: llvm.FuncOp) -> str:
    texts: list[str] = []
    for name, value in {**op.properties, **op.attributes}.items():
        if name in _FUNCTION_UNITS:
            texts.append(_FUNCTION_UNITS[name])
        elif name in _FUNCTION_STRINGS and isinstance(value, StringAttr):
            texts.append(f'"{_FUNCTION_STRINGS[name]}"="{escaped(value.data.encode())}"')
        elif name == "passthrough":
            texts += [_passthrough(each) for each in cast("ArrayAttr[Attribute]", value)]
        elif name == "target_features" and isinstance(value, llvm.TargetFeaturesAttr):
            texts.append('"target-features"="' + ",".join(f.data for f in value.features) + '"')
        elif name == "frame_pointer" and isinstance(value, llvm.FramePointerKindAttr):
            texts.append(f'"frame-pointer"="{value.data.value}"')
        elif name not in _FUNCTION_KNOWN and (name in op.properties or name.startswith("llvm.")):
            raise CompileError(f"llvm-text: llvm.func @{op.sym_name.data}: attribute {name} has no counterpart")
    return "".join(f" {text}" for text in texts)


def _passthrough(value: Attribute) -> str:
    match value:
        case StringAttr():
            return value.data if value.data.isidentifier() else f'"{escaped(value.data.encode())}"'
        case ArrayAttr() if len(value) == 2 and all(isinstance(each, StringAttr) for each in value):
            key, text = (escaped(cast(StringAttr, each).data.encode()) for each in value)
            return f'"{key}"="{text}"'
        case _:
            raise CompileError(f"llvm-text: passthrough {value} has no counterpart")


# Functions.


class _ModulePrinter:
    """The text of a module so far, and the intrinsics that it calls."""

    def __init__(self) -> None:
        self.globals: list[str] = []
        self.functions: list[str] = []
        self.declared: set[str] = set()
        self.intrinsics: dict[str, str] = {}

    def text(self) -> str:
        declarations = [text for name, text in sorted(self.intrinsics.items()) if name not in self.declared]
        return "\n".join([*self.globals, *self.functions, *declarations]) + "\n"

    def function(self, op: llvm.FuncOp) -> None:
        name = symbol_text(op.sym_name.data)
        self.declared.add(name)
        type_ = op.function_type
        attributes = _function_attributes(op)
        arg_attrs = cast("Sequence[DictionaryAttr | None]", op.arg_attrs or [None] * len(type_.inputs))
        convention = op.CConv.convention.data
        start = "" if convention == "ccc" else f"{convention} "
        start += ("", "hidden ", "protected ")[op.visibility_.value.data]
        if op.unnamed_addr is not None and op.unnamed_addr.value.data:
            attributes = f" {llvm.UNNAMED_ADDR_KEYWORD_BY_KEY[op.unnamed_addr.value.data]}{attributes}"
        results = op.res_attrs.data[0] if op.res_attrs is not None and len(op.res_attrs) else None
        returned = f"{_parameter_attributes(results).strip()} {type_text(type_.output)}".strip()
        linkage = op.linkage.linkage.data
        if not op.body.blocks:
            parameters = [type_text(t) + _parameter_attributes(a) for t, a in zip(type_.inputs, arg_attrs, strict=True)]
            parameters += ["..."] if type_.is_variadic else []
            weak = "" if linkage in ("external", "internal", "private") else f"{linkage} "
            self.functions.append(f"declare {weak}{start}{returned} {name}({', '.join(parameters)}){attributes}")
            return
        body = FunctionPrinter(self)
        names = [body.define(arg) for arg in op.body.blocks[0].args]
        parameters = [
            f"{type_text(t)}{_parameter_attributes(a)} {name}"
            for t, a, name in zip(type_.inputs, arg_attrs, names, strict=True)
        ]
        parameters += ["..."] if type_.is_variadic else []
        prefix = "" if linkage == "external" else f"{linkage} "
        head = f"define {prefix}{start}{returned} {name}({', '.join(parameters)}){attributes} {{"
        self.functions.append("\n".join([head, *body.blocks(list(op.body.blocks)), "}"]))


class FunctionPrinter:
    """The lines of one function: names of values and blocks, phis of block arguments."""

    def __init__(self, module: _ModulePrinter):
        self.module = module
        self.names: dict[SSAValue, str] = {}
        self.labels: dict[Block, str] = {}
        self.lines: list[str] = []
        self.label = ""
        self.counter = 0
        self.incoming: dict[Block, list[tuple[str, Sequence[SSAValue]]]] = {}
        self.extra: list[str] = []

    def define(self, value: SSAValue) -> str:
        """A new name."""
        self.counter += 1
        hint = value.name_hint
        name = f"%{hint}.{self.counter}" if hint and hint.isascii() else f"%v{self.counter}"
        self.names[value] = name
        return name

    def value(self, value: SSAValue) -> str:
        """A value without its type; constants stand where they are used."""
        name = self.names.get(value)
        if name is not None:
            return name
        match value.owner:
            case llvm.ConstantOp() as op:
                name = constant_text(op.value, value.type)
            case llvm.ZeroOp():
                name = "null" if isinstance(value.type, llvm.LLVMPointerType) else "zeroinitializer"
            case llvm.UndefOp():
                name = "undef"
            case more.PoisonOp():
                name = "poison"
            case llvm.AddressOfOp() as op:
                name = symbol_text(op.global_name.root_reference.data)
            case _:
                return self.define(value)
        self.names[value] = name
        return name

    def typed(self, value: SSAValue) -> str:
        """A value with its type."""
        return f"{type_text(value.type)} {self.value(value)}"

    def blocks(self, blocks: list[Block]) -> list[str]:
        """The lines of all blocks."""
        for i, block in enumerate(blocks):
            self.labels[block] = f"bb{i}" if i else "entry"
        bodies: list[tuple[Block, list[str]]] = []
        for block in blocks:
            self.lines, self.label = [], self.labels[block]
            for op in block.ops:
                emit = TABLE.get(op.name)
                if emit is None:
                    raise CompileError(f"llvm-text: {op.name} at {op.location}: no line for this operation")
                if op.attributes:
                    _check_attributes(op)
                emit(self, op)
            bodies.append((block, self.lines))
        result: list[str] = []
        for i, (block, lines) in enumerate(bodies):
            result.append(f"{self.labels[block]}:")
            if i:
                result += self._phis(block)
            result += lines
        return result + self.extra

    def _phis(self, block: Block) -> list[str]:
        edges = self.incoming.get(block, [])
        lines: list[str] = []
        if not edges:
            if block.args and any(arg.first_use for arg in block.args):
                # LLVM has no phi without predecessors: nothing reaches the block, so any value will do.
                return [f"  {self.value(arg)} = freeze {type_text(arg.type)} poison" for arg in block.args]
            return []
        for i, arg in enumerate(block.args):
            pairs = ", ".join(f"[ {self.value(values[i])}, %{label} ]" for label, values in edges)
            lines.append(f"  {self.value(arg)} = phi {type_text(arg.type)} {pairs}")
        return lines

    def edge(self, block: Block, values: Sequence[SSAValue]) -> str:
        """The label to branch to; the block's arguments get these values on this edge."""
        label = self.labels[block]
        self.incoming.setdefault(block, []).append((self.label, values))
        return label

    def split_edge(self, block: Block, values: Sequence[SSAValue]) -> str:
        """Like `edge`, by way of a block of its own."""
        self.counter += 1
        label = f"edge{self.counter}"
        self.incoming.setdefault(block, []).append((label, values))
        self.extra += [f"{label}:", f"  br label %{self.labels[block]}"]
        return label

    def line(self, op: Operation, text: str) -> None:
        """A line that defines the operation's result."""
        result = op.results[0]
        name = self.names.get(result) or self.define(result)
        self.lines.append(f"  {name} = {text}")

    def call(self, op: Operation, name: str, args: Sequence[str], types: Sequence[str], flags: str = "") -> None:
        """A call of an intrinsic, which the module then declares."""
        result = type_text(op.results[0].type) if op.results else "void"
        symbol = f"@{name}"
        self.module.intrinsics.setdefault(symbol, f"declare {result} {symbol}({', '.join(types)})")
        text = f"call {flags}{result} {symbol}({', '.join(args)})"
        if op.results:
            self.line(op, text)
        else:
            self.lines.append(f"  {text}")


def _check_attributes(op: Operation) -> None:
    for name in op.attributes:
        if name.startswith("llvm.") or "." not in name:
            raise CompileError(f"llvm-text: {op.name} at {op.location}: attribute {name} has no counterpart")
