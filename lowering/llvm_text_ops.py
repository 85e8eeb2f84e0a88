"""The table of llvm_text.py: for each operation of the llvm dialect what prints its line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from relay_mlir.dialects.errors import CompileError
from relay_mlir.dialects.upstream import llvm as more
from relay_mlir.dialects.upstream.attributes import integer, integers
from relay_mlir.lowering.llvm_text_types import (
    OVERFLOW,
    flags_text,
    known_properties,
    mangled,
    symbol_text,
    type_text,
)


class FunctionPrinter(Protocol):
    """What the table needs of llvm_text.FunctionPrinter."""

    lines: list[str]

    def value(self, value: SSAValue) -> str: ...
    def typed(self, value: SSAValue) -> str: ...
    def line(self, op: Operation, text: str) -> None: ...
    def call(self, op: Operation, name: str, args: Sequence[str], types: Sequence[str], flags: str = "") -> None: ...
    def edge(self, block: Block, values: Sequence[SSAValue]) -> str: ...
    def split_edge(self, block: Block, values: Sequence[SSAValue]) -> str: ...


Emitter = Callable[[FunctionPrinter, Operation], None]


def _nothing(text: FunctionPrinter, op: Operation) -> None:
    """A constant: it stands where it is used."""


def _binary(name: str) -> Emitter:
    def emit(text: FunctionPrinter, op: Operation) -> None:
        known_properties(op, ("overflowFlags", "isExact", "isDisjoint", "fastmathFlags"))
        left, right = op.operands
        flags = flags_text(op.properties.get("fastmathFlags"))
        overflow = op.properties.get("overflowFlags")
        if isinstance(overflow, IntegerAttr):
            flags += OVERFLOW[overflow.value.data]
        flags += "exact " if "isExact" in op.properties else ""
        flags += "disjoint " if "isDisjoint" in op.properties else ""
        text.line(op, f"{name} {flags}{type_text(left.type)} {text.value(left)}, {text.value(right)}")

    return emit


def _unary(name: str) -> Emitter:
    def emit(text: FunctionPrinter, op: Operation) -> None:
        known_properties(op, ("fastmathFlags",))
        text.line(op, f"{name} {flags_text(op.properties.get('fastmathFlags'))}{text.typed(op.operands[0])}")

    return emit


def _cast(name: str) -> Emitter:
    def emit(text: FunctionPrinter, op: Operation) -> None:
        known_properties(op, ("nonNeg", "overflowFlags"))
        flags = "nneg " if "nonNeg" in op.properties else ""
        overflow = op.properties.get("overflowFlags")
        if isinstance(overflow, llvm.OverflowAttr):
            flags += OVERFLOW[overflow.to_int()]
        text.line(op, f"{name} {flags}{text.typed(op.operands[0])} to {type_text(op.results[0].type)}")

    return emit


def _icmp(text: FunctionPrinter, op: Operation) -> None:
    known_properties(op, ("predicate",))
    left, right = op.operands
    predicate = llvm.ICmpPredicateFlag.from_int(integer(op.properties["predicate"]))
    text.line(op, f"icmp {predicate.value} {text.typed(left)}, {text.value(right)}")


def _fcmp(text: FunctionPrinter, op: Operation) -> None:
    known_properties(op, ("predicate", "fastmathFlags"))
    left, right = op.operands
    predicate = llvm.FCmpPredicateFlag.from_int(integer(op.properties["predicate"]))
    # Upstream spells the two constant predicates with an underscore.
    name = predicate.value.lstrip("_")
    flags = flags_text(op.properties.get("fastmathFlags"))
    text.line(op, f"fcmp {flags}{name} {text.typed(left)}, {text.value(right)}")


def _select(text: FunctionPrinter, op: Operation) -> None:
    known_properties(op, ("fastmathFlags",))
    flags = flags_text(op.properties.get("fastmathFlags"))
    text.line(op, f"select {flags}" + ", ".join(text.typed(operand) for operand in op.operands))


# Memory.


def _align(op: Operation) -> str:
    alignment = op.properties.get("alignment")
    return f", align {alignment.value.data}" if isinstance(alignment, IntegerAttr) else ""


def _plain(op: Operation) -> None:
    ordering = op.properties.get("ordering")
    if isinstance(ordering, IntegerAttr) and ordering.value.data:
        raise CompileError(f"llvm-text: {op.name} at {op.location}: an atomic access has no line yet")


def _load(text: FunctionPrinter, op: Operation) -> None:
    known_properties(op, ("alignment", "ordering"))
    _plain(op)
    text.line(op, f"load {type_text(op.results[0].type)}, {text.typed(op.operands[0])}{_align(op)}")


def _store(text: FunctionPrinter, op: Operation) -> None:
    known_properties(op, ("alignment", "ordering", "volatile_"))
    _plain(op)
    volatile = "volatile " if "volatile_" in op.properties else ""
    value, pointer = op.operands
    text.lines.append(f"  store {volatile}{text.typed(value)}, {text.typed(pointer)}{_align(op)}")


def _gep(text: FunctionPrinter, op: Operation) -> None:
    known_properties(op, ("rawConstantIndices", "elem_type", "noWrapFlags", "inbounds"))
    pointer, *values = op.operands
    raw = integers(op.properties["rawConstantIndices"])
    rest = iter(values)
    indices = ", ".join(text.typed(next(rest)) if n == llvm.GEP_USE_SSA_VAL else f"i32 {n}" for n in raw)
    wrap = integer(op.properties["noWrapFlags"])
    flags = "inbounds " if "inbounds" in op.properties or wrap & 1 else ""
    flags += "nusw " if wrap & 2 and not wrap & 1 else ""
    flags += "nuw " if wrap & 4 else ""
    text.line(op, f"getelementptr {flags}{type_text(op.properties['elem_type'])}, {text.typed(pointer)}, {indices}")


def _alloca(text: FunctionPrinter, op: Operation) -> None:
    known_properties(op, ("alignment", "elem_type"))
    text.line(op, f"alloca {type_text(op.properties['elem_type'])}, {text.typed(op.operands[0])}{_align(op)}")


def _memory_intrinsic(name: str, mangle: tuple[int, ...]) -> Emitter:
    def emit(text: FunctionPrinter, op: Operation) -> None:
        known_properties(op, ("isVolatile",))
        suffix = ".".join(mangled(op.operands[i].type) for i in mangle)
        volatile = integer(op.properties["isVolatile"])
        args = [*(text.typed(operand) for operand in op.operands), f"i1 {'true' if volatile else 'false'}"]
        types = [*(type_text(operand.type) for operand in op.operands), "i1"]
        text.call(op, f"{name}.{suffix}", args, types)

    return emit


def _masked_load(text: FunctionPrinter, op: Operation) -> None:
    known_properties(op, ("alignment",))
    pointer, mask, rest = op.operands
    alignment = integer(op.properties["alignment"])
    args = [f"{type_text(pointer.type)} align {alignment} {text.value(pointer)}", text.typed(mask), text.typed(rest)]
    name = f"llvm.masked.load.{mangled(rest.type)}.{mangled(pointer.type)}"
    text.call(op, name, args, [type_text(operand.type) for operand in op.operands])


def _masked_store(text: FunctionPrinter, op: Operation) -> None:
    known_properties(op, ("alignment",))
    value, pointer, mask = op.operands
    alignment = integer(op.properties["alignment"])
    args = [text.typed(value), f"{type_text(pointer.type)} align {alignment} {text.value(pointer)}", text.typed(mask)]
    name = f"llvm.masked.store.{mangled(value.type)}.{mangled(pointer.type)}"
    text.call(op, name, args, [type_text(operand.type) for operand in op.operands])


def _masked_gather(text: FunctionPrinter, op: Operation) -> None:
    known_properties(op, ("alignment",))
    pointers, mask, rest = op.operands
    alignment = integer(op.properties["alignment"])
    args = [f"{type_text(pointers.type)} align {alignment} {text.value(pointers)}", text.typed(mask), text.typed(rest)]
    name = f"llvm.masked.gather.{mangled(rest.type)}.{mangled(pointers.type)}"
    text.call(op, name, args, [type_text(operand.type) for operand in op.operands])


def _prefetch(text: FunctionPrinter, op: Operation) -> None:
    known_properties(op, ("rw", "hint", "cache"))
    numbers = [integer(op.properties[name]) for name in ("rw", "hint", "cache")]
    args = [text.typed(op.operands[0]), *(f"i32 {n}" for n in numbers)]
    text.call(op, f"llvm.prefetch.{mangled(op.operands[0].type)}", args, [type_text(op.operands[0].type), *["i32"] * 3])


# Intrinsics on values.


def _intrinsic(op_name: str) -> Emitter:
    """One that is named by the type of its first operand, as `llvm.intr.NAME` is `@llvm.NAME.TYPE`."""
    name = "llvm." + op_name.removeprefix("llvm.intr.")

    def emit(text: FunctionPrinter, op: Operation) -> None:
        known_properties(op, ("fastmathFlags",))
        flags = flags_text(op.properties.get("fastmathFlags"))
        types = [type_text(operand.type) for operand in op.operands]
        args = [text.typed(operand) for operand in op.operands]
        text.call(op, f"{name}.{mangled(op.operands[-1].type)}", args, types, flags)

    return emit


def _with_flag(op_name: str, flag: str) -> Emitter:
    """One with a trailing i1 that is a property."""
    name = "llvm." + op_name.removeprefix("llvm.intr.")

    def emit(text: FunctionPrinter, op: Operation) -> None:
        known_properties(op, (flag,))
        value = "true" if integer(op.properties[flag]) else "false"
        operand = op.operands[0]
        args, types = [text.typed(operand), f"i1 {value}"], [type_text(operand.type), "i1"]
        text.call(op, f"{name}.{mangled(operand.type)}", args, types)

    return emit


def _call_intrinsic(text: FunctionPrinter, op: Operation) -> None:
    known_properties(op, ("intrin", "fastmathFlags", "op_bundle_sizes", "operandSegmentSizes"))
    assert isinstance(op, llvm.CallIntrinsicOp)
    if op.op_bundle_operands:
        raise CompileError(f"llvm-text: {op.name} at {op.location}: operand bundles have no line yet")
    name = cast(StringAttr, op.properties["intrin"]).data
    args, types = [text.typed(arg) for arg in op.args], [type_text(arg.type) for arg in op.args]
    text.call(op, name, args, types, flags_text(op.properties.get("fastmathFlags")))


# Vectors and aggregates.


def _extractelement(text: FunctionPrinter, op: Operation) -> None:
    text.line(op, "extractelement " + ", ".join(text.typed(operand) for operand in op.operands))


def _insertelement(text: FunctionPrinter, op: Operation) -> None:
    text.line(op, "insertelement " + ", ".join(text.typed(operand) for operand in op.operands))


def _shufflevector(text: FunctionPrinter, op: Operation) -> None:
    known_properties(op, ("mask",))
    mask = integers(op.properties["mask"])
    if any(mask):
        lanes = ", ".join("i32 poison" if lane < 0 else f"i32 {lane}" for lane in mask)
        spelled = f"<{len(mask)} x i32> <{lanes}>"
    else:
        spelled = f"<{len(mask)} x i32> zeroinitializer"
    text.line(op, f"shufflevector {text.typed(op.operands[0])}, {text.typed(op.operands[1])}, {spelled}")


def _indices(op: Operation) -> str:
    return ", ".join(str(n) for n in integers(op.properties["position"]))


def _extractvalue(text: FunctionPrinter, op: Operation) -> None:
    known_properties(op, ("position",))
    text.line(op, f"extractvalue {text.typed(op.operands[0])}, {_indices(op)}")


def _insertvalue(text: FunctionPrinter, op: Operation) -> None:
    known_properties(op, ("position",))
    text.line(op, f"insertvalue {text.typed(op.operands[0])}, {text.typed(op.operands[1])}, {_indices(op)}")


# Control flow.


def _br(text: FunctionPrinter, op: Operation) -> None:
    text.lines.append(f"  br label %{text.edge(op.successors[0], op.operands)}")


def _cond_br(text: FunctionPrinter, op: Operation) -> None:
    known_properties(op, ("operandSegmentSizes",))
    assert isinstance(op, llvm.CondBrOp)
    then = text.edge(op.then_block, op.then_arguments)
    # One block may not reach another twice with different values: the second edge gets a block of its own.
    edge = text.split_edge if op.then_block is op.else_block else text.edge
    orelse = edge(op.else_block, op.else_arguments)
    text.lines.append(f"  br {text.typed(op.cond)}, label %{then}, label %{orelse}")


def _switch(text: FunctionPrinter, op: Operation) -> None:
    known_properties(op, ("case_values", "case_operand_segments", "operandSegmentSizes"))
    assert isinstance(op, more.SwitchOp)
    seen = {op.default_block}
    default = text.edge(op.default_block, op.default_operands)
    type_ = type_text(op.value.type)
    cases: list[str] = []
    for value, block, args in op.cases():
        label = (text.split_edge if block in seen else text.edge)(block, args)
        seen.add(block)
        cases.append(f"{type_} {value}, label %{label}")
    text.lines.append(f"  switch {text.typed(op.value)}, label %{default} [ {' '.join(cases)} ]")


def _return(text: FunctionPrinter, op: Operation) -> None:
    text.lines.append(f"  ret {text.typed(op.operands[0])}" if op.operands else "  ret void")


def _unreachable(text: FunctionPrinter, op: Operation) -> None:
    text.lines.append("  unreachable")


def _call(text: FunctionPrinter, op: Operation) -> None:
    assert isinstance(op, llvm.CallOp)
    known_properties(
        op,
        (
            "callee",
            "var_callee_type",
            "fastmathFlags",
            "CConv",
            "op_bundle_sizes",
            "operandSegmentSizes",
            "TailCallKind",
        ),
    )
    if op.op_bundle_operands:
        raise CompileError(f"llvm-text: {op.name} at {op.location}: operand bundles have no line yet")
    args = list(op.args)
    if op.callee is not None:
        callee = symbol_text(op.callee.root_reference.data)
    else:
        callee = text.value(args.pop(0))
    kind = op.TailCallKind.data.value
    start = f"{kind} " if kind != "none" else ""
    convention = "" if op.CConv.convention.data == "ccc" else f"{op.CConv.convention.data} "
    variadic = op.var_callee_type
    if variadic is not None and variadic.is_variadic:
        fixed = ", ".join([*(type_text(t) for t in variadic.inputs), "..."])
        returned = f"{type_text(variadic.output)} ({fixed})"
    else:
        returned = type_text(op.results[0].type) if op.results else "void"
    flags = flags_text(op.properties.get("fastmathFlags"))
    spelled = f"{start}call {flags}{convention}{returned} {callee}({', '.join(text.typed(arg) for arg in args)})"
    if op.results:
        text.line(op, spelled)
    else:
        text.lines.append(f"  {spelled}")


_BINARY = (
    "add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "and", "or", "xor", "shl", "lshr", "ashr",
    "fadd", "fsub", "fmul", "fdiv", "frem",
)  # fmt: skip
_CASTS = (
    "trunc", "zext", "sext", "ptrtoint", "inttoptr", "bitcast", "fpext", "fptrunc", "sitofp", "uitofp", "fptosi",
    "fptoui", "addrspacecast",
)  # fmt: skip
_INTRINSICS = (
    "fabs", "ceil", "floor", "sqrt", "round", "roundeven", "trunc", "copysign", "fma", "maxnum", "minnum", "maximum",
    "minimum", "exp", "exp2", "log", "log2", "sin", "cos", "pow", "smax", "smin", "umax", "umin", "ctpop",
    *(f"vector.reduce.{kind}" for kind in (
        "add", "mul", "and", "or", "xor", "smax", "smin", "umax", "umin", "fmax", "fmin", "fmaximum", "fminimum",
        "fadd", "fmul",
    )),
)  # fmt: skip

TABLE: dict[str, Emitter] = {
    **{f"llvm.{name}": _binary(name) for name in _BINARY},
    **{f"llvm.{name}": _cast(name) for name in _CASTS},
    **{f"llvm.intr.{name}": _intrinsic(f"llvm.intr.{name}") for name in _INTRINSICS},
    "llvm.mlir.constant": _nothing,
    "llvm.mlir.zero": _nothing,
    "llvm.mlir.undef": _nothing,
    "llvm.mlir.poison": _nothing,
    "llvm.mlir.addressof": _nothing,
    "llvm.fneg": _unary("fneg"),
    "llvm.freeze": _unary("freeze"),
    "llvm.icmp": _icmp,
    "llvm.fcmp": _fcmp,
    "llvm.select": _select,
    "llvm.load": _load,
    "llvm.store": _store,
    "llvm.getelementptr": _gep,
    "llvm.alloca": _alloca,
    "llvm.intr.memcpy": _memory_intrinsic("llvm.memcpy", (0, 1, 2)),
    "llvm.intr.memset": _memory_intrinsic("llvm.memset", (0, 2)),
    "llvm.intr.masked.load": _masked_load,
    "llvm.intr.masked.store": _masked_store,
    "llvm.intr.masked.gather": _masked_gather,
    "llvm.intr.prefetch": _prefetch,
    "llvm.intr.abs": _with_flag("llvm.intr.abs", "is_int_min_poison"),
    "llvm.intr.ctlz": _with_flag("llvm.intr.ctlz", "is_zero_poison"),
    "llvm.intr.cttz": _with_flag("llvm.intr.cttz", "is_zero_poison"),
    "llvm.call_intrinsic": _call_intrinsic,
    "llvm.extractelement": _extractelement,
    "llvm.insertelement": _insertelement,
    "llvm.shufflevector": _shufflevector,
    "llvm.extractvalue": _extractvalue,
    "llvm.insertvalue": _insertvalue,
    "llvm.br": _br,
    "llvm.cond_br": _cond_br,
    "llvm.switch": _switch,
    "llvm.return": _return,
    "llvm.unreachable": _unreachable,
    "llvm.call": _call,
}
"""By operation name."""
