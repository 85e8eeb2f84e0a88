"""Runs functions on memrefs that are given as text of the loops level: compiled by this project, and by stock MLIR.

Stock MLIR comes in twice: as an oracle of the conversion (it lowers the loops level itself) and of the text (it
translates this project's llvm dialect to LLVM IR).
"""

import ctypes
import shutil
from collections.abc import Callable, Sequence

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from relay_mlir.dialects.upstream import all_dialects
from relay_mlir.lowering.expand_math import ExpandMathPass
from relay_mlir.lowering.llvm_text import llvm_text
from relay_mlir.lowering.loops_to_llvm import LoopsToLlvmPass
from relay_mlir.runtime.jit import Loaded, compile_llvm, load
from test.support.mlir_oracle import descriptor, run_tool

MLIR_OPT, MLIR_TRANSLATE = shutil.which("mlir-opt-22"), shutil.which("mlir-translate-22")
AVAILABLE = MLIR_OPT is not None and MLIR_TRANSLATE is not None

_PASSES = [
    "--expand-strided-metadata",
    "--lower-affine",
    "--convert-scf-to-cf",
    "--arith-expand=include-bf16=true",
    "--convert-math-to-llvm",
    "--convert-math-to-libm",
    "--convert-vector-to-llvm=force-32bit-vector-indices=0",
    "--convert-arith-to-llvm",
    "--finalize-memref-to-llvm",
    "--convert-func-to-llvm",
    "--convert-cf-to-llvm",
    "--reconcile-unrealized-casts",
]


def parse(text: str) -> ModuleOp:
    """A module of upstream dialects, verified."""
    context = Context()
    for name, factory in all_dialects().items():
        context.register_dialect(name, factory)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def lowered(text: str) -> ModuleOp:
    """The llvm dialect of a module of the loops level, verified."""
    # The wrapper for C that stock MLIR makes: this project's functions take pointers anyway.
    module = parse(text.replace("attributes {llvm.emit_c_interface}", ""))
    for pass_ in (ExpandMathPass(), LoopsToLlvmPass()):
        pass_.apply(Context(), module)
        module.verify()
    return module


def compiled(text: str) -> Loaded:
    """This project's machine code."""
    return load([compile_llvm(llvm_text(lowered(text)))])


def call(address: int, arrays: Sequence[np.ndarray]) -> None:
    """Calls a function of memrefs with static layouts."""
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))(address)
    function(*(array.ctypes.data for array in arrays))


def run(text: str, arrays: Sequence[np.ndarray], name: str = "f") -> None:
    """Calls a function as this project compiles it; results are left in the arrays."""
    code = compiled(text)
    call(code.address(name), arrays)


def run_translated(text: str, arrays: Sequence[np.ndarray], name: str = "f") -> None:
    """Calls a function of which stock mlir-translate made LLVM IR, from this project's llvm dialect."""
    assert MLIR_OPT
    assert MLIR_TRANSLATE
    checked = run_tool([MLIR_OPT], str(lowered(text)))
    code = load([compile_llvm(run_tool([MLIR_TRANSLATE, "--mlir-to-llvmir"], checked))])
    call(code.address(name), arrays)


def run_stock(text: str, arrays: Sequence[np.ndarray], name: str = "f") -> None:
    """Calls a function that stock MLIR lowered from the loops level; it has `llvm.emit_c_interface`."""
    assert MLIR_OPT
    assert MLIR_TRANSLATE
    dialect = run_tool([MLIR_OPT, *_PASSES], text)
    code = load([compile_llvm(run_tool([MLIR_TRANSLATE, "--mlir-to-llvmir"], dialect))])
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))(code.address(f"_mlir_ciface_{name}"))
    descriptors = [descriptor(array) for array in arrays]
    function(*(ctypes.addressof(descriptor) for descriptor in descriptors))


def agree(text: str, arrays: Sequence[np.ndarray], runners: Sequence[Callable[..., None]] | None = None) -> None:
    """Asserts that all ways to run a function leave the same bytes in its arrays."""
    first, *others = runners or ((run_stock, run, run_translated) if AVAILABLE else (run,))
    want = [array.copy() for array in arrays]
    first(text, want)
    for runner in others:
        got = [array.copy() for array in arrays]
        runner(text, got)
        for i, (a, b) in enumerate(zip(want, got, strict=True)):
            np.testing.assert_array_equal(a, b, err_msg=f"{runner.__name__}: argument {i}")
    for array, result in zip(arrays, want, strict=True):
        array[...] = result
