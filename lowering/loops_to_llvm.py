"""The pass loops-to-llvm: functions on memrefs, with structured control flow, to the llvm dialect.

A memref argument becomes a pointer to its first element, followed by one i64 for each size and stride that its type
leaves open; a bf16 is its bits in an i16; index is i64. Private functions become internal ones; `@sin` becomes
`@sin.local`, which no symbol of a C library can be. Functions of the C library that are called (aligned_alloc, free,
f64 functions) are declared.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, llvm, memref
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, MemRefType, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import VerifyException

from relay_mlir.lowering import (
    loops_to_llvm_arith,
    loops_to_llvm_control,
    loops_to_llvm_math,
    loops_to_llvm_memref,
    loops_to_llvm_vector,
)
from relay_mlir.lowering.diagnostics import OpError
from relay_mlir.lowering.loops_to_llvm_control import result_type, terminate
from relay_mlir.lowering.loops_to_llvm_core import Lowering
from relay_mlir.lowering.loops_to_llvm_types import flat_types

HANDLERS = {
    **loops_to_llvm_arith.HANDLERS,
    **loops_to_llvm_control.HANDLERS,
    **loops_to_llvm_math.HANDLERS,
    **loops_to_llvm_memref.HANDLERS,
    **loops_to_llvm_vector.HANDLERS,
}

PASSTHROUGH = ArrayAttr[Attribute](
    [StringAttr("nounwind"), ArrayAttr([StringAttr("prefer-vector-width"), StringAttr("512")])]
)
"""Of every function: LLVM would split vectors of 16 floats in two without being asked not to."""


def convert_function(op: func.FuncOp, externals: dict[str, llvm.LLVMFunctionType]) -> llvm.FuncOp:
    """The llvm form of a function; adds the library functions that it calls to `externals`."""
    type_ = op.function_type
    inputs = [part for input_ in type_.inputs for part in flat_types(input_)]
    target = llvm.LLVMFunctionType(inputs, result_type(type_.outputs.data))
    is_private = op.sym_visibility is not None and op.sym_visibility.data == "private"
    properties: dict[str, Attribute | None] = {"passthrough": PASSTHROUGH, "arg_attrs": _argument_attributes(op)}
    region = Region()
    if not op.is_declaration:
        low = Lowering(region, HANDLERS)
        _convert_body(low, op)
        externals.update(low.externals)
    new = llvm.FuncOp(
        op.sym_name,
        target,
        llvm.LinkageAttr("internal" if is_private and not op.is_declaration else "external"),
        body=region,
        other_props={name: value for name, value in properties.items() if value is not None},
        extra_attrs=op.attributes,
    )
    new.location = op.location
    return new


def _argument_attributes(op: func.FuncOp) -> Attribute | None:
    """The attributes of the arguments; a memref's belong to its pointer."""
    if op.arg_attrs is None:
        return None
    result: list[DictionaryAttr] = []
    for type_, attributes in zip(op.function_type.inputs, op.arg_attrs, strict=True):
        parts = len(flat_types(type_))
        kept = attributes.data
        if not isinstance(type_, MemRefType):
            kept = {name: value for name, value in kept.items() if name not in ("llvm.noalias", "llvm.readonly")}
        result += [DictionaryAttr(kept), *([DictionaryAttr({})] * (parts - 1))]
    return ArrayAttr(result)


def _convert_body(low: Lowering, op: func.FuncOp) -> None:
    for block in op.body.blocks:
        types = [part for arg in block.args for part in flat_types(arg.type)]
        low.blocks[block] = Block(arg_types=types)
    for block in op.body.blocks:
        written = low.blocks[block]
        # Blocks that branches connect share no scope: each computes its own addresses.
        low.scopes = []
        low.enter(written, is_loop=False)
        parts = iter(written.args)
        low.location = op.location
        for arg in block.args:
            low.unflatten(arg, parts)
        terminate(low, low.lower_block(block))
    low.finish()
    _erase_unused(low.region)


def _erase_unused(region: Region) -> None:
    """Erases operations whose results nothing uses: index arithmetic that became part of addresses."""
    for block in reversed(list(region.blocks)):
        for op in reversed(list(block.ops)):
            unused = op.results and not any(result.first_use for result in op.results)
            if unused and (isinstance(op, llvm.LoadOp | llvm.GEPOp) or is_side_effect_free(op)):
                block.erase_op(op, safe_erase=False)


def _rename_private(module: ModuleOp) -> None:
    """Gives private symbols names with a dot.

    Otherwise a call of the C library, by this pass or by LLVM's code generator, could reach a function of the module.
    """
    symbols = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp | memref.GlobalOp)}
    renamed: dict[str, StringAttr] = {}
    for name, op in symbols.items():
        visibility = op.sym_visibility
        declared = isinstance(op, func.FuncOp) and op.is_declaration
        if visibility is None or visibility.data != "private" or declared or "." in name:
            continue
        new = f"{name}.local"
        while new in symbols:
            new += ".local"
        op.properties["sym_name"] = renamed[name] = StringAttr(new)
    if not renamed:
        return
    for op in module.walk():
        for references in (op.properties, op.attributes):
            for key, attribute in list(references.items()):
                if isinstance(attribute, SymbolRefAttr) and attribute.root_reference.data in renamed:
                    target = renamed[attribute.root_reference.data]
                    references[key] = SymbolRefAttr(target, attribute.nested_references)


def _declare(module: ModuleOp, externals: dict[str, llvm.LLVMFunctionType]) -> None:
    defined: dict[str, llvm.FuncOp] = {op.sym_name.data: op for op in module.ops if isinstance(op, llvm.FuncOp)}
    for name, type_ in sorted(externals.items()):
        if name not in defined:
            module.body.block.add_op(llvm.FuncOp(name, type_, llvm.LinkageAttr("external")))
        elif defined[name].function_type != type_:
            raise OpError(defined[name], f"@{name} is defined with another type than the C library's {type_}")


def _convert(op: func.FuncOp | memref.GlobalOp, externals: dict[str, llvm.LLVMFunctionType]) -> Operation:
    try:
        if isinstance(op, func.FuncOp):
            return convert_function(op, externals)
        return loops_to_llvm_memref.convert_global(op)
    except OpError:
        raise
    except VerifyException as error:
        raise OpError(op, str(error)) from error


@dataclass(frozen=True)
class LoopsToLlvmPass(ModulePass):
    """Converts every function and global of the module to the llvm dialect."""

    name = "loops-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _rename_private(op)
        externals: dict[str, llvm.LLVMFunctionType] = {}
        block = op.body.block
        for old in list(block.ops):
            new: Operation
            match old:
                case func.FuncOp() | memref.GlobalOp():
                    new = _convert(old, externals)
                case llvm.FuncOp() | llvm.GlobalOp():
                    continue
                case _ if old.name == "heap.func":
                    continue  # heap-to-llvm comes after
                case _:
                    raise OpError(old, f"{old.name}: expected functions and globals")
            block.insert_op_before(new, old)
            block.erase_op(old, safe_erase=False)
        _declare(op, externals)
