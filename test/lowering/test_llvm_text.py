"""LLVM IR text: flags and attributes are all there, phis are right, and what is not known is refused."""

import ctypes
import math
import struct

import numpy as np
import pytest
from xdsl.dialects.builtin import UnitAttr, f16, f32, f64

from relay_mlir.dialects.errors import CompileError
from relay_mlir.lowering.llvm_text import llvm_text
from relay_mlir.lowering.llvm_text_types import float_text
from relay_mlir.runtime.jit import compile_llvm, load
from test.support.loops_run import parse


def text_of(body: str, head: str = "@f()") -> str:
    return llvm_text(parse(f"llvm.func {head} {{\n{body}\n}}"))


def test_flags_and_attributes():
    text = text_of(
        """
        %0 = llvm.fadd %x, %x {fastmathFlags = #llvm.fastmath<nnan, contract>} : f32
        %1 = llvm.intr.maximum(%0, %x) {fastmathFlags = #llvm.fastmath<nsz>} : (f32, f32) -> f32
        %2 = llvm.fcmp "olt" %1, %x {fastmathFlags = #llvm.fastmath<fast>} : f32
        %3 = llvm.add %i, %i overflow<nsw, nuw> : i32
        %4 = llvm.sdiv exact %3, %i : i32
        %5 = llvm.getelementptr inbounds %p[1, %i] : (!llvm.ptr, i32) -> !llvm.ptr, !llvm.array<4 x f32>
        llvm.store %1, %5 {alignment = 16 : i64} : f32, !llvm.ptr
        llvm.store volatile %4, %p {alignment = 4 : i64} : i32, !llvm.ptr
        llvm.return %2 : i1""",
        "internal @f(%x: f32, %i: i32, %p: !llvm.ptr {llvm.noalias, llvm.align = 64 : i64, llvm.nocapture}) -> i1 "
        'attributes {passthrough = ["nounwind", ["prefer-vector-width", "512"]], no_inline, input_names = ["a"]}',
    )
    for piece in (
        "define internal i1 @f(float %x.1, i32 %i.2, ptr noalias align 64 captures(none) %p.3)",
        ' nounwind "prefer-vector-width"="512"',
        "noinline",
        "fadd contract nnan float",
        "call nsz float @llvm.maximum.f32(float",
        "fcmp fast olt float",
        "add nuw nsw i32",
        "sdiv exact i32",
        "getelementptr inbounds [4 x float], ptr %p.3, i32 1, i32 %i.2",
        ", align 16",
        "store volatile i32",
        "declare float @llvm.maximum.f32(float, float)",
    ):
        assert piece in text
    assert "input_names" not in text
    compile_llvm(text)


def test_blocks_in_any_order_and_two_edges_to_one_block():
    """The value of a block argument is that of the edge which was taken."""
    text = text_of(
        """
        llvm.cond_br %c, ^last(%a : i64), ^last(%b : i64)
        ^middle(%m: i64):
          llvm.return %m : i64
        ^last(%x: i64):
          llvm.switch %x : i64, ^middle(%x : i64) [7: ^middle(%a : i64), 9: ^middle(%b : i64)]""",
        "@f(%c: i1, %a: i64, %b: i64) -> i64",
    )
    code = load([compile_llvm(text)])
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_bool, ctypes.c_int64, ctypes.c_int64)(code.address("f"))
    assert [function(c, 7, 9) for c in (True, False)] == [7, 9]
    assert [function(c, 9, 3) for c in (True, False)] == [3, 3]


@pytest.mark.parametrize("value", [0.1, -0.0, math.inf, -math.inf, math.nan, 1e-45, 3.4028235e38, 1e39, -1e39, 65504.0])
@pytest.mark.parametrize(("type_", "code", "name"), [(f16, "e", "half"), (f32, "f", "float"), (f64, "d", "double")])
def test_float_constants_are_exact(value: float, type_: object, code: str, name: str):
    if code == "e" and math.isfinite(value) and abs(value) > 65504:
        pytest.skip("an f16 attribute does not hold it")
    bits = {"e": "i16", "f": "i32", "d": "i64"}[code]
    text = f"define {bits} @f() {{\n  %x = bitcast {name} {float_text(value, type_)} to {bits}\n  ret {bits} %x\n}}\n"
    loaded = load([compile_llvm(text)])
    got = ctypes.CFUNCTYPE(ctypes.c_uint64)(loaded.address("f"))()
    size = struct.calcsize(code)
    with np.errstate(over="ignore"):
        want = np.array(value, {"e": np.float16, "f": np.float32, "d": np.float64}[code])
    if not math.isnan(value):
        assert got % 2 ** (8 * size) == int.from_bytes(want.tobytes(), "little")


def test_globals():
    text = llvm_text(
        parse("""
    llvm.mlir.global internal constant @a(dense<[[1, 2], [3, 258]]> : tensor<2x2xi16>)
        {addr_space = 0 : i32, alignment = 64 : i64} : !llvm.array<2 x array<2 x i16>>
    llvm.mlir.global internal @b(dense<0.0> : tensor<8xf32>) {addr_space = 0 : i32} : !llvm.array<8 x f32>
    llvm.mlir.global internal @c(dense<2.0> : tensor<3xf32>) {addr_space = 0 : i32} : !llvm.array<3 x f32>
    llvm.mlir.global external @d() {addr_space = 0 : i32} : !llvm.array<3 x f32>
    """)
    )
    assert '@a = internal constant [8 x i8] c"\\01\\00\\02\\00\\03\\00\\02\\01", align 64' in text
    assert "@b = internal global [32 x i8] zeroinitializer" in text
    assert '@c = internal global [12 x i8] c"\\00\\00\\00@\\00\\00\\00@\\00\\00\\00@"' in text
    assert "@d = external global [3 x float]" in text


def test_refusals():
    """Nothing is dropped: neither an operation nor a property, a flag or an attribute."""
    ordered = "%0 = llvm.load %p atomic acquire {alignment = 4 : i64} : !llvm.ptr -> i32"
    with pytest.raises(CompileError, match="an atomic access has no line yet"):
        text_of(f"{ordered}\nllvm.return", "@f(%p: !llvm.ptr)")
    with pytest.raises(CompileError, match="property nontemporal has no counterpart"):
        text_of("llvm.store %x, %p {nontemporal} : i32, !llvm.ptr\nllvm.return", "@f(%x: i32, %p: !llvm.ptr)")
    with pytest.raises(CompileError, match=r"parameter attribute llvm\.byval"):
        text_of("llvm.return", "@f(%p: !llvm.ptr {llvm.byval = i32})")
    with pytest.raises(CompileError, match=r"attribute llvm\.emit_c_interface has no counterpart"):
        text_of("llvm.return", "@f() attributes {llvm.emit_c_interface}")
    with pytest.raises(CompileError, match=r"llvm\.intr\.stacksave at .* no line for this operation"):
        text_of("%0 = llvm.intr.stacksave : !llvm.ptr\nllvm.return")
    with pytest.raises(CompileError, match="expected llvm functions and globals"):
        llvm_text(parse("func.func @f() {\n  return\n}"))
    module = parse("llvm.func @f(%x: i32) {\n  %0 = llvm.add %x, %x : i32\n  llvm.return\n}")
    next(op for op in module.walk() if op.name == "llvm.add").attributes["llvm.hint"] = UnitAttr()
    with pytest.raises(CompileError, match=r"attribute llvm\.hint has no counterpart"):
        llvm_text(module)
