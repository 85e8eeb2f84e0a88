"""`compile`: from a model to a program that runs in this process or is written to a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute, Block
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from relay_mlir.dialects.errors import CompileError, InputError, ModelError
from relay_mlir.dialects.relay.core import FuncOp
from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.lowering.diagnostics import Diagnostic, DiagnosticError, op_of
from relay_mlir.lowering.ir_files import load_weights, main_function
from relay_mlir.lowering.ir_text import SourceText, parse_ir
from relay_mlir.lowering.needs_heap import has_holes, needs_heap
from relay_mlir.lowering.pass_manager import PassRun, run_passes
from relay_mlir.lowering.pipeline import PIPELINES, pass_class
from relay_mlir.lowering.verifier import verify_module
from relay_mlir.runtime.c_abi import abi_text, check_prefix, entry_symbol
from relay_mlir.runtime.executable import Executable
from relay_mlir.runtime.jit import host
from relay_mlir.runtime.open_shapes import OpenShapes
from relay_mlir.runtime.program import Program
from relay_mlir.runtime.signature import Signature, signature_of
from relay_mlir.runtime.thread_pool import launch_text
from relay_mlir.runtime.weights_blob import WeightsBlob, parse_layout

if TYPE_CHECKING:
    import numpy as np
    import onnx

    from relay_mlir.runtime.value_images import ValueTypes

ExportedProgram: TypeAlias = Any
"""A torch.export.ExportedProgram; the package torch need not be installed."""

MAX_THREADS = 1024
PREFIX = "relay_model"
NUMERICS = ("relaxed", "strict")
VERIFIED = ("relay-infer-type", "fuse-ops", "pack-weights", "bufferize", "relay-to-heap")
"""Passes after which a program is verified while it is compiled: the last ones before it grows to its loops.

LLVM verifies what comes out at the end; relay-opt verifies after every pass.
"""
OnPass = Callable[[PassRun, ModuleOp], None]


@dataclasses.dataclass(frozen=True)
class Options:
    """How to compile. `numerics` is `relaxed` (FMA, denormal numbers are zero, ...) or `strict` (IEEE)."""

    target: str = "cpu"
    threads: int = 1
    numerics: str = "relaxed"
    prefix: str = PREFIX

    def check(self) -> None:
        """Raises CompileError for a value that is not one of those possible."""
        targets = [name for name in PIPELINES if name != "relay" and not name.endswith("-language")]
        if self.target not in targets:
            raise CompileError(f"target '{self.target}' is not one of {', '.join(targets)}")
        if self.numerics not in NUMERICS:
            raise CompileError(f"numerics '{self.numerics}' is not one of {', '.join(NUMERICS)}")
        if isinstance(self.threads, bool) or not 1 <= self.threads <= MAX_THREADS:
            raise CompileError(f"threads is {self.threads}; expected 1 to {MAX_THREADS}")
        check_prefix(self.prefix)


def compile(
    model: str | Path | onnx.ModelProto | ExportedProgram,
    target: str = "cpu",
    shapes: Mapping[str, Sequence[int] | int] | None = None,
    threads: int = 1,
    numerics: str = "relaxed",
    values: Mapping[str, np.ndarray] | None = None,
) -> Executable:
    """Compiles a model and loads it into this process.

    `model` is the path of an `.onnx`, `.pt2` (torch.export) or (relay) `.mlir` file, an `onnx.ModelProto`, or a
    `torch.export.ExportedProgram`. `shapes` gives dimensions that the model leaves open their sizes: the name of an
    input its shape, or the name of a dimension (of a symbol of torch, such as `s77`) its size. `values`
    makes inputs part of the program. `threads` is the largest number of threads of a run. `numerics` is `relaxed` or
    `strict`. Raises ModelError for a model that cannot be imported and CompileError for one that cannot be compiled.
    """
    ctx = make_context()
    module = import_model(model, ctx, shapes, values)
    return executable(compile_module(module, ctx, Options(target, threads, numerics)))


def executable(program: Program) -> Executable:
    """The program, to be called with arrays, or with values of its data types where it takes or gives such."""
    if program.values is None:
        return Executable(program)
    from relay_mlir.runtime.value_executable import ValueExecutable

    return ValueExecutable(program)


def make_context() -> RelayContext:
    """A context with every dialect, each imported when first used, and an empty weight store."""
    from relay_mlir.dialects.upstream import all_dialects

    def relay():
        from relay_mlir.dialects.relay import Relay

        return Relay

    def heap():
        from relay_mlir.dialects.heap import Heap

        return Heap

    ctx = RelayContext()
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    ctx.register_dialect("relay", relay)
    ctx.register_dialect("heap", heap)
    return ctx


def import_model(
    model: str | Path | onnx.ModelProto | ExportedProgram,
    ctx: RelayContext,
    shapes: Mapping[str, Sequence[int] | int] | None = None,
    values: Mapping[str, np.ndarray] | None = None,
) -> ModuleOp:
    """The relay module of a model, its weights in the store of the context. Raises ModelError."""
    if isinstance(model, str | Path):
        path = Path(model)
        if not path.is_file():
            raise ModelError(f"'{path}' is not a file" if path.exists() else f"'{path}' does not exist")
        if path.suffix == ".mlir":
            if shapes or values:
                raise ModelError("shapes and values bind the inputs of ONNX models; edit the types of the .mlir file")
            return _read_mlir(path, ctx)
        if path.suffix == ".relay":
            from relay_mlir.frontends.relay_text.reader import read_relay

            if shapes or values:
                raise ModelError("shapes and values bind the inputs of ONNX models; edit the types of the .relay file")
            return read_relay(path, ctx)
        if path.suffix == ".pt2":
            return _import_torch(path, ctx, shapes, values)
        if path.suffix != ".onnx":
            expected = ".onnx, .pt2, .relay or .mlir"
            raise ModelError(f"'{path}': expected a name that ends in {expected}, but found '{path.suffix}'")
    elif type(model).__name__ == "ExportedProgram":
        return _import_torch(model, ctx, shapes, values)
    elif type(model).__name__ != "ModelProto":
        found = type(model).__name__
        raise InputError(f"a model is a path, an onnx.ModelProto or a torch ExportedProgram, but this is a {found}")
    try:
        from relay_mlir.frontends.onnx.importer import import_onnx
    except ModuleNotFoundError as error:
        raise ModelError(f"reading ONNX needs the package '{error.name}': pip install relay-mlir[onnx]") from error
    return import_onnx(model, ctx, shapes, values)


def _import_torch(
    model: Path | ExportedProgram,
    ctx: RelayContext,
    shapes: Mapping[str, Sequence[int] | int] | None,
    values: Mapping[str, np.ndarray] | None,
) -> ModuleOp:
    from relay_mlir.frontends.torch import import_torch

    return import_torch(model, ctx, shapes, values)


def _read_mlir(path: Path, ctx: RelayContext) -> ModuleOp:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ModelError(f"cannot read '{path}': {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ModelError(f"'{path}' is not text: byte {error.start} is not UTF-8") from error
    source = SourceText(text, str(path))
    module = parse_ir(ctx, source)
    try:
        verify_module(module)
        load_weights(ctx, module, path.parent)
    except DiagnosticException as error:
        op = op_of(error)
        place = source.place_of(op) if op is not None else None
        message = f"'{op.name}' op {error}" if op is not None else str(error)
        raise DiagnosticError(Diagnostic("error", message, place, str(path))) from error
    return module


def pipeline(options: Options, module: ModuleOp | None = None) -> list[ModulePass]:
    """The passes of the target, with the options that they have a field for. Raises CompileError; see Options.

    A module that needs the heap (see `needs_heap`) takes the passes of the target's language pipeline.
    """
    options.check()
    vector_bits, registers = host().vectors
    passes: list[ModulePass] = []
    heap = module is not None and needs_heap(module)
    names = PIPELINES[f"{options.target}-language" if heap else options.target]
    if module is not None and has_holes(module):
        names = ("relay-infer-type", *names)
    for name in names:
        cls = pass_class(name)
        known = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set[str]()
        given = {
            "threads": options.threads,
            "numerics": options.numerics,
            "vector_bits": vector_bits,
            "registers": registers,
        }
        passes.append(cls(**cast(Any, {key: value for key, value in given.items() if key in known})))
    return passes


def compile_module(
    module: ModuleOp,
    ctx: RelayContext,
    options: Options,
    *,
    passes: Sequence[ModulePass] | None = None,
    dump: Path | None = None,
    on_pass: OnPass | None = None,
    on_code: Callable[[], None] | None = None,
) -> Program:
    """Compiles a relay module, which is changed; its weights are those of the context.

    `passes` are what is left to run, by default the whole pipeline of the target. `dump` is a folder for the program
    after each pass; `on_pass` is called after each and `on_code` before machine code is made. Raises CompileError.
    """
    options.check()
    main = main_function(module)
    if not isinstance(main, FuncOp):
        found = "has no function @main" if main is None else f"has a {main.name} @main"
        raise CompileError(f"the program {found}; expected a relay.func")
    values = _value_types(main, module)
    signature = Signature((), ()) if values is not None else signature_of(main)
    if passes is None:
        passes = pipeline(options, module)
    run_passes(ctx, module, passes, verify=VERIFIED, dump=dump, on_pass=on_pass)
    if on_code is not None:
        on_code()
    return dataclasses.replace(_finish(module, ctx, options, signature, values is not None), values=values)


def _value_types(main: FuncOp, module: ModuleOp) -> ValueTypes | None:
    """What `@main` takes and gives, where that is more than tensors."""
    types = main.function_type.inputs.data, main.function_type.outputs.data
    if all(isinstance(type_, TensorType) for type_ in (*types[0], *types[1])) or not needs_heap(module):
        return None
    from relay_mlir.runtime.value_images import value_types

    return value_types((main.names("input_names"), main.names("output_names")), types, module)


def _finish(module: ModuleOp, ctx: RelayContext, options: Options, signature: Signature, values: bool) -> Program:
    """Machine code from the llvm dialect."""
    from relay_mlir.lowering.llvm_text import llvm_text
    from relay_mlir.runtime.jit import HEAP, compile_llvm, host

    main = main_function(module)
    assert isinstance(main, llvm.FuncOp), "the pipeline ends in the llvm dialect"
    weights = WeightsBlob(
        parse_layout(main.attributes.get("weight_layout")), _integer(main, "weight_bytes"), ctx.weights
    )
    arena = _integer(main, "arena_bytes")
    main.properties["sym_name"] = StringAttr(entry_symbol(options.prefix))
    main.properties["linkage"] = llvm.LinkageAttr("internal")
    launches = "".join(_take_launches(module))
    text = llvm_text(module) + launches
    flush = options.numerics != "strict"
    threads, prefix = options.threads, options.prefix
    failures, shapes = _failures(main), _open_shapes(module)
    if shapes is None and signature.is_open:
        raise CompileError("the program has open dimensions, and no function @main.shapes: run relay-to-linalg")
    triple, size = host().triple, weights.size
    text += abi_text(signature, prefix, triple, size, arena, threads, flush, text, failures, shapes, values)
    code = compile_llvm(text, passes=HEAP if failures is not None else ())
    known = None if shapes is not None and shapes.sized_arena else arena
    return Program(signature, prefix, code, weights, known, threads, failures, shapes)


def _open_shapes(module: ModuleOp) -> OpenShapes | None:
    """What a program with open dimensions has beside its signature."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, llvm.FuncOp)}
    if "main.shapes" not in functions:
        return None
    checks = cast("ArrayAttr[StringAttr]", functions["main.shapes"].attributes["checks"])
    return OpenShapes(tuple(text.data for text in checks), "main.arena" in functions)


def _failures(main: llvm.FuncOp) -> tuple[str, ...] | None:
    """What may fail at run time, of a program on heap objects."""
    found = main.attributes.get("failures")
    if not isinstance(found, ArrayAttr):
        return None
    return tuple(text.data for text in cast("ArrayAttr[StringAttr]", found))


def _integer(main: llvm.FuncOp, name: str) -> int:
    attribute = main.attributes.get(name)
    if not isinstance(attribute, IntegerAttr):
        raise CompileError(f"@main has no attribute '{name}': run plan-memory")
    return cast(int, cast(Any, attribute).value.data)


def _take_launches(module: ModuleOp) -> list[str]:
    """Removes the declarations of the runtime's functions; gives the text that defines those of outline-parallel."""
    texts: list[str] = []
    for op in list(module.ops):
        if isinstance(op, llvm.FuncOp) and not op.body.blocks and op.sym_name.data.startswith("relay.heap."):
            cast(Block, op.parent).erase_op(op, safe_erase=False)
            continue
        if isinstance(op, llvm.FuncOp) and not op.body.blocks and op.sym_name.data.endswith(".launch"):
            # The last two parameters are the pool and the number of tiles.
            types = [_type_text(type_) for type_ in list(op.function_type.inputs)[:-2]]
            texts.append(launch_text(op.sym_name.data.removesuffix(".launch"), types))
            cast(Block, op.parent).erase_op(op, safe_erase=False)
    return texts


def _type_text(type_: Attribute) -> str:
    from relay_mlir.lowering.llvm_text_types import type_text

    return type_text(type_)
