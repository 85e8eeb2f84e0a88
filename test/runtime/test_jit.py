"""Machine code from LLVM IR text: several objects that find each other, given symbols, other targets, refusals."""

import ctypes
import dataclasses

import pytest

from relay_mlir.dialects.errors import CompileError
from relay_mlir.runtime.jit import LIGHT, assembly, compile_llvm, host, load

TWICE = "define i64 @twice(i64 %x) {\n  %y = add i64 %x, %x\n  ret i64 %y\n}\n"
CALLS = """declare i64 @twice(i64)
declare double @erf(double)
define i64 @four_times(i64 %x) {
  %y = call i64 @twice(i64 %x)
  %z = call i64 @twice(i64 %y)
  ret i64 %z
}
define double @library(double %x) {
  %y = call double @erf(double %x)
  ret double %y
}
"""


def function(address: int, result: type = ctypes.c_int64, argument: type = ctypes.c_int64):
    return ctypes.CFUNCTYPE(result, argument)(address)


@pytest.mark.parametrize(("opt", "passes"), [(0, ()), (2, ()), (2, LIGHT)])
def test_objects_find_each_other_and_the_process(opt: int, passes: tuple[str, ...]):
    loaded = load([compile_llvm(text, opt=opt, passes=passes) for text in (TWICE, CALLS)])
    assert function(loaded.address("four_times"))(5) == 20
    assert abs(function(loaded.address("library"), ctypes.c_double, ctypes.c_double)(1.0) - 0.8427007929497149) < 1e-15


def test_given_symbols():
    @ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    def thrice(x: int) -> int:
        return 3 * x

    address = ctypes.cast(thrice, ctypes.c_void_p).value
    assert address is not None
    loaded = load([compile_llvm(CALLS)], {"twice": address})
    assert function(loaded.address("four_times"))(5) == 45


def test_same_names_in_two_libraries():
    first = load([compile_llvm(TWICE)])
    second = load([compile_llvm(TWICE.replace("add", "mul"))])
    assert function(first.address("twice"))(5) == 10
    assert function(second.address("twice"))(5) == 25


def test_same_text_gives_the_same_object():
    assert compile_llvm(CALLS) == compile_llvm(CALLS)


def test_other_target():
    vector = "define <8 x float> @f(<8 x float> %x) {\n  %y = fadd <8 x float> %x, %x\n  ret <8 x float> %y\n}\n"
    target = dataclasses.replace(host(), cpu="x86-64-v3", features="")
    assert "ymm" in assembly(vector, target)
    assert "ymm" not in assembly(vector, dataclasses.replace(target, cpu="x86-64"))


def test_refusals():
    with pytest.raises(CompileError, match="LLVM rejects the module"):
        compile_llvm("define i64 @f() { ret i32 0 }")
    with pytest.raises(CompileError, match="IR pass nonsense is not one of"):
        compile_llvm(TWICE, passes=("nonsense",))
    with pytest.raises(KeyError):
        load([compile_llvm(TWICE)]).address("absent")


def test_missing_symbols_are_told():
    text = "declare void @nowhere()\ndefine void @f() {\n  call void @nowhere()\n  ret void\n}\n"
    loaded = load([compile_llvm(text)])
    with pytest.raises(CompileError, match="does not link"):
        loaded.address("f")
