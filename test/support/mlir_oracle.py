"""Runs a function on tensors through stock MLIR (mlir-opt, mlir-translate, LLVM): an oracle for the linalg level.

Nothing of this project's passes is involved: only the lower form under test.
"""

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import ModuleOp, UnitAttr, UnknownLoc
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region
from xdsl.rewriter import InsertPoint

from relay_mlir.dialects.relay.linalg_builder import LinalgBuilder, lowered_type
from relay_mlir.dialects.relay.op import Operator
from relay_mlir.dialects.relay.types import numpy_dtype, type_of

MLIR_OPT, MLIR_TRANSLATE = shutil.which("mlir-opt-22"), shutil.which("mlir-translate-22")
AVAILABLE = MLIR_OPT is not None and MLIR_TRANSLATE is not None

_PASSES = [
    "--one-shot-bufferize=bufferize-function-boundaries allow-return-allocs-from-loops "
    "function-boundary-type-conversion=identity-layout-map",
    "--buffer-results-to-out-params=modify-public-functions=true hoist-static-allocs=true",
    "--convert-linalg-to-loops",
    "--convert-vector-to-scf",
    "--expand-strided-metadata",
    "--lower-affine",
    "--convert-scf-to-cf",
    "--arith-expand=include-bf16=true",
    "--convert-vector-to-llvm",
    "--convert-math-to-llvm",
    "--convert-math-to-libm",
    "--convert-arith-to-llvm",
    "--finalize-memref-to-llvm",
    "--convert-func-to-llvm",
    "--convert-cf-to-llvm",
    "--reconcile-unrealized-casts",
]


def lowered_module(op: Operator, args: Sequence[np.ndarray]) -> tuple[ModuleOp, list[np.ndarray]]:
    """A module whose `@f` is the lower form of the operator on arguments of these types, and empty result arrays."""
    types = [type_of(arg) for arg in args]
    results = list(op.infer(types))
    block = Block(arg_types=[lowered_type(t) for t in types])
    build = LinalgBuilder(Builder(InsertPoint.at_end(block)), UnknownLoc(), types)
    values = op.lower(build, list(block.args), results)
    assert [v.type for v in values] == [lowered_type(t) for t in results], "lower gives other types than infer"
    block.add_op(ReturnOp(*values))
    func = FuncOp("f", ([a.type for a in block.args], [v.type for v in values]), Region(block))
    func.attributes["llvm.emit_c_interface"] = UnitAttr()
    module = ModuleOp([func])
    module.verify()
    return module, [np.empty(t.get_shape(), numpy_dtype(t.element_type)) for t in results]


def run_lowered(op: Operator, args: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of the operator's lower form, computed by stock MLIR and LLVM."""
    module, results = lowered_module(op, args)
    run_text(str(module), args, results)
    return results


def run_text(text: str, args: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
    """Runs `@f` of a module, on tensors or on buffers with results as trailing arguments; fills in the results.

    `@f` has the attribute `llvm.emit_c_interface`.
    """
    assert MLIR_OPT is not None
    assert MLIR_TRANSLATE is not None
    lowered = run_tool([MLIR_OPT, *_PASSES], text)
    text = run_tool([MLIR_TRANSLATE, "--mlir-to-llvmir"], lowered)
    _load_runtime(MLIR_OPT)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, jit=True)
    with llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine) as engine:
        engine.finalize_object()
        entry = ctypes.CFUNCTYPE(None)(engine.get_function_address("_mlir_ciface_f"))
        arrays = [*(np.ascontiguousarray(a) for a in args), *results]
        descriptors = [descriptor(a) for a in arrays]
        entry.argtypes = [ctypes.c_void_p] * len(arrays)
        entry(*(ctypes.addressof(d) for d in descriptors))


@cache
def _load_runtime(mlir_opt: str) -> None:
    """Loads MLIR's runtime library, beside its tools, for the calls of `memrefCopy` that memref.copy lowers to."""
    libraries = Path(mlir_opt).resolve().parent.parent / "lib"
    found = sorted(libraries.glob("libmlir_c_runner_utils.so*"))
    assert found, f"no libmlir_c_runner_utils.so in {libraries}: it belongs to the package of {mlir_opt}"
    llvm.load_library_permanently(str(found[0]))


def run_tool(command: list[str], text: str) -> str:
    """What a command prints when it is given a text."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + text
    return done.stdout


def descriptor(array: np.ndarray) -> ctypes.Array[ctypes.c_int64]:
    """A ranked memref descriptor: allocated and aligned pointer, offset, sizes, strides in elements."""
    strides = [s // array.itemsize for s in array.strides] if array.size else [1] * array.ndim
    words = [array.ctypes.data, array.ctypes.data, 0, *array.shape, *strides]
    return (ctypes.c_int64 * len(words))(*words)
