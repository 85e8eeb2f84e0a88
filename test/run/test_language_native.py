"""Programs of the whole relay language as native code: values, sharing, deep recursion, failures, no leaks."""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from relay_mlir.dialects.errors import CompileError, InputError, RunError
from relay_mlir.dialects.relay.types import ELEMENT_TYPES, numpy_dtype
from relay_mlir.runtime.compiler import Options
from relay_mlir.runtime.values import ADT, Ref, elements, list_of
from test.support.language_programs import compile_text, run_text

I32, F32 = np.int32, np.float32


def i32(value: int) -> np.ndarray:
    return np.array(value, I32)


def f32(value: float) -> np.ndarray:
    return np.array(value, F32)


ADD = """
  %plus = relay.fn (%a: $int, %b: $int) -> $int {
    %s = relay.add %a, %b : ($int, $int) -> $int
    relay.yield %s : $int
  }
  %zero = relay.constant dense<0> : $int
  %nil = relay.construct @Nil() : () -> $Lint
"""


def test_folds_map_and_filter():
    program = (
        """
relay.func @main(%n: $int) -> ($int, $int, $int, $int) {
"""
        + ADD
        + """
  %xs = relay.call @range(%n, %nil) : ($int, $Lint) -> $Lint
  %three = relay.constant dense<3> : $int
  %small = relay.fn (%a: $int) -> $bool {
    %s = relay.less %a, %three : ($int, $int) -> $bool
    relay.yield %s : $bool
  }
  %times = relay.fn (%a: $int) -> $int {
    %s = relay.multiply %a, %n : ($int, $int) -> $int
    relay.yield %s : $int
  }
  %minus = relay.fn (%a: $int, %b: $int) -> $int {
    %s = relay.subtract %a, %b : ($int, $int) -> $int
    relay.yield %s : $int
  }
  %a = relay.call @foldl(%plus, %zero, %xs) : (($int, $int) -> $int, $int, $Lint) -> $int
  %ys = relay.call @map(%times, %xs) : (($int) -> $int, $Lint) -> $Lint
  %b = relay.call @foldr(%minus, %zero, %ys) : (($int, $int) -> $int, $int, $Lint) -> $int
  %c = relay.call @foldl(%minus, %zero, %ys) : (($int, $int) -> $int, $int, $Lint) -> $int
  %zs = relay.call @filter(%small, %xs) : (($int) -> $bool, $Lint) -> $Lint
  %d = relay.call @foldr(%plus, %zero, %zs) : (($int, $int) -> $int, $int, $Lint) -> $int
  relay.return %a, %b, %c, %d : $int, $int, $int, $int
}
"""
    )
    # foldr (-) 0 [0, 10, ..., 90] = 0 - (10 - (20 - ...)) = -50; foldl (-) = -450.
    assert [int(v) for v in run_text(program, i32(10))] == [45, -50, -450, 3]


def test_tensors_in_lists():
    program = """
relay.func @main(%x: $vec, %n: $int) -> $vec {
  %nil = relay.construct @Nil() : () -> $Lint
  %xs = relay.call @range(%n, %nil) : ($int, $Lint) -> $Lint
  %scale = relay.fn (%a: $int) -> $vec {
    %f = relay.cast %a {dtype = f32} : ($int) -> $float
    %y = relay.multiply %x, %f : ($vec, $float) -> $vec
    relay.yield %y : $vec
  }
  %ys = relay.call @map(%scale, %xs) : (($int) -> $vec, $Lint) -> $Lvec
  %plus = relay.fn (%a: $vec, %b: $vec) -> $vec {
    %s = relay.add %a, %b : ($vec, $vec) -> $vec
    relay.yield %s : $vec
  }
  %zero = relay.constant dense<0.0> : $vec
  %r = relay.call @foldr(%plus, %zero, %ys) : (($vec, $vec) -> $vec, $vec, $Lvec) -> $vec
  relay.return %r : $vec
}
"""
    x = np.array([1, -2, np.inf, 0.5], F32)
    (found,) = run_text(program, x, i32(5))
    np.testing.assert_array_equal(found, np.array([10, -20, np.nan, 5], F32))


def test_mutual_recursion_does_not_grow_the_stack():
    program = """
relay.func private @even(%n: $int) -> $bool {
  %zero = relay.constant dense<0> : $int
  %one = relay.constant dense<1> : $int
  %done = relay.equal %n, %zero : ($int, $int) -> $bool
  %r = relay.if %done : $bool -> ($bool) {
    %t = relay.constant dense<true> : $bool
    relay.yield %t : $bool
  } else {
    %m = relay.subtract %n, %one : ($int, $int) -> $int
    %o = relay.call @odd(%m) : ($int) -> $bool
    relay.yield %o : $bool
  }
  relay.return %r : $bool
}
relay.func private @odd(%n: $int) -> $bool {
  %zero = relay.constant dense<0> : $int
  %one = relay.constant dense<1> : $int
  %done = relay.equal %n, %zero : ($int, $int) -> $bool
  %r = relay.if %done : $bool -> ($bool) {
    %t = relay.constant dense<false> : $bool
    relay.yield %t : $bool
  } else {
    %m = relay.subtract %n, %one : ($int, $int) -> $int
    %o = relay.call @even(%m) : ($int) -> $bool
    relay.yield %o : $bool
  }
  relay.return %r : $bool
}
relay.func @main(%n: $int) -> $bool {
  %r = relay.call @even(%n) : ($int) -> $bool
  relay.return %r : $bool
}
"""
    executable = compile_text(program)
    assert [bool(executable(x0=i32(n))["y0"]) for n in (0, 1, 7, 100_000_000)] == [True, False, False, True]
    assert executable.live_objects() == 0


LOOP = """
relay.func @main(%n: $int, %x: $float) -> ($int, $float) {
  %zero = relay.constant dense<0> : $int
  %one = relay.constant dense<1> : $int
  %half = relay.constant dense<0.5> : $float
  %loop = relay.fn rec %self: ($int, $float) -> tuple<$int, $float>, (%i: $int, %a: $float) -> tuple<$int, $float> {
    %more = relay.less %i, %n : ($int, $int) -> $bool
    %r = relay.if %more : $bool -> (tuple<$int, $float>) {
      %j = relay.add %i, %one : ($int, $int) -> $int
      %b = relay.multiply %a, %half : ($float, $float) -> $float
      %c = relay.add %b, %x : ($float, $float) -> $float
      %t = relay.apply %self(%j, %c) : ($int, $float) -> tuple<$int, $float>, ($int, $float) -> tuple<$int, $float>
      relay.yield %t : tuple<$int, $float>
    } else {
      %t = relay.tuple %i, %a : tuple<$int, $float>
      relay.yield %t : tuple<$int, $float>
    }
    relay.yield %r : tuple<$int, $float>
  }
  %start = relay.constant dense<0.0> : $float
  %e = relay.apply %loop(%zero, %start) : ($int, $float) -> tuple<$int, $float>, ($int, $float) -> tuple<$int, $float>
  %i = relay.tuple_get_item %e[0] : tuple<$int, $float> -> $int
  %a = relay.tuple_get_item %e[1] : tuple<$int, $float> -> $float
  relay.return %i, %a : $int, $float
}
"""


def test_loops_by_tail_calls_do_not_grow_the_stack():
    executable = compile_text(LOOP)
    outputs = executable(x0=i32(10_000_000), x1=f32(3))
    assert int(outputs["y0"]) == 10_000_000
    assert float(outputs["y1"]) == 6
    assert executable.live_objects() == 0


DEEP = (
    """
relay.func @main(%n: $int) -> ($int, $int) {
"""
    + ADD
    + """
  %xs = relay.call @range(%n, %nil) : ($int, $Lint) -> $Lint
  %one = relay.constant dense<1> : $int
  %next = relay.fn (%a: $int) -> $int {
    %s = relay.add %a, %one : ($int, $int) -> $int
    relay.yield %s : $int
  }
  %ys = relay.call @map(%next, %xs) : (($int) -> $int, $Lint) -> $Lint
  %count = relay.fn (%a: $int, %b: $int) -> $int {
    %s = relay.add %b, %one : ($int, $int) -> $int
    relay.yield %s : $int
  }
  %r = relay.call @foldr(%plus, %zero, %ys) : (($int, $int) -> $int, $int, $Lint) -> $int
  %s = relay.call @foldr(%count, %zero, %xs) : (($int, $int) -> $int, $int, $Lint) -> $int
  relay.return %r, %s : $int, $int
}
"""
)


def test_recursion_is_a_million_deep():
    total, count = run_text(DEEP, i32(1_000_000))
    assert int(count) == 1_000_000
    assert int(total) == (1_000_000 * 1_000_001 // 2 + 2**31) % 2**32 - 2**31


def test_endless_recursion_is_an_error():
    program = """
relay.func private @forever(%x: $vec) -> $vec {
  %y = relay.call @forever(%x) : ($vec) -> $vec
  %z = relay.add %y, %x : ($vec, $vec) -> $vec
  relay.return %z : $vec
}
relay.func @main(%x: $vec, %go: $bool) -> $vec {
  %r = relay.if %go : $bool -> ($vec) {
    %y = relay.call @forever(%x) : ($vec) -> $vec
    relay.yield %y : $vec
  } else {
    relay.yield %x : $vec
  }
  relay.return %r : $vec
}
"""
    executable = compile_text(program)
    x = np.arange(4, dtype=F32)
    with pytest.raises(RunError, match="the stack is full in @forever"):
        executable(x0=x, x1=np.array(True))
    assert executable.live_objects() == 0
    np.testing.assert_array_equal(executable(x0=x, x1=np.array(False))["y0"], x)


def test_closures_capture_closures():
    program = """
relay.func private @compose(%f: ($B) -> $C, %g: ($A) -> $B) -> (($A) -> $C) attributes {type_params = ["A", "B", "C"]} {
  %h = relay.fn (%x: $A) -> $C {
    %y = relay.apply %g(%x) : ($A) -> $B, ($A) -> $B
    %z = relay.apply %f(%y) : ($B) -> $C, ($B) -> $C
    relay.yield %z : $C
  }
  relay.return %h : ($A) -> $C
}
relay.func @main(%x: $int, %k: $int) -> ($float, $int) {
  %adder = relay.fn (%a: $int) -> ($int) -> $int {
    %inner = relay.fn (%b: $int) -> $int {
      %s = relay.add %a, %b : ($int, $int) -> $int
      %t = relay.multiply %s, %k : ($int, $int) -> $int
      relay.yield %t : $int
    }
    relay.yield %inner : ($int) -> $int
  }
  %f = relay.apply %adder(%x) : ($int) -> (($int) -> $int), ($int) -> (($int) -> $int)
  %g = relay.fn (%a: $int) -> $float {
    %v = relay.apply %f(%a) : ($int) -> $int, ($int) -> $int
    %c = relay.cast %v {dtype = f32} : ($int) -> $float
    relay.yield %c : $float
  }
  %h = relay.call @compose(%g, %f) : (($int) -> $float, ($int) -> $int) -> (($int) -> $float)
  %r = relay.apply %h(%k) : ($int) -> $float, ($int) -> $float
  %s = relay.apply %f(%k) : ($int) -> $int, ($int) -> $int
  relay.return %r, %s : $float, $int
}
"""
    x, k = 5, 3
    r, s = run_text(program, i32(x), i32(k))
    assert int(s) == (x + k) * k
    assert float(r) == (x + (x + k) * k) * k


def test_a_polymorphic_function_at_two_types():
    program = """
relay.func @main(%x: $float, %v: $vec, %n: $long) -> ($float, $vec, $long) {
  %a = relay.call @id(%x) : ($float) -> $float
  %b = relay.call @id(%v) : ($vec) -> $vec
  %c = relay.call @id(%n) : ($long) -> $long
  %p = relay.fn <A> (%y: $A) -> tuple<$A, $A> {
    %t = relay.tuple %y, %y : tuple<$A, $A>
    relay.yield %t : tuple<$A, $A>
  }
  %t = relay.apply %p(%c) : !relay.poly<[A], ($A) -> tuple<$A, $A>>, ($long) -> tuple<$long, $long>
  %d = relay.tuple_get_item %t[1] : tuple<$long, $long> -> $long
  %e = relay.add %d, %d : ($long, $long) -> $long
  %g = relay.global @id : !relay.poly<[A], ($A) -> $A>
  %w = relay.apply %g(%b) : !relay.poly<[A], ($A) -> $A>, ($vec) -> $vec
  relay.return %a, %w, %e : $float, $vec, $long
}
"""
    v = np.array([1, np.nan, -0.0, 3], F32)
    a, b, c = run_text(program, f32(-0.0), v, np.array(-(2**40), np.int64))
    assert np.signbit(a)
    assert a == 0
    np.testing.assert_array_equal(b.view(I32), v.view(I32))
    assert int(c) == -(2**41)


def test_references_are_shared():
    program = """
relay.func private @bump(%r: !relay.ref<$vec>, %x: $vec) -> $vec {
  %old = relay.ref_read %r : !relay.ref<$vec> -> $vec
  %new = relay.add %old, %x : ($vec, $vec) -> $vec
  %u = relay.ref_write %r, %new : !relay.ref<$vec>, $vec -> tuple<>
  relay.return %old : $vec
}
relay.func @main(%x: $vec) -> ($vec, $vec, $vec, $int) {
  %r = relay.ref_create %x : $vec -> !relay.ref<$vec>
  %t = relay.tuple %r, %r : tuple<!relay.ref<$vec>, !relay.ref<$vec>>
  %a = relay.call @bump(%r, %x) : (!relay.ref<$vec>, $vec) -> $vec
  %s = relay.tuple_get_item %t[1] : tuple<!relay.ref<$vec>, !relay.ref<$vec>> -> !relay.ref<$vec>
  %b = relay.call @bump(%s, %x) : (!relay.ref<$vec>, $vec) -> $vec
  %c = relay.ref_read %r : !relay.ref<$vec> -> $vec
  %one = relay.constant dense<1> : $int
  %i = relay.ref_create %one : $int -> !relay.ref<$int>
  %j = relay.ref_read %i : !relay.ref<$int> -> $int
  %k = relay.add %j, %j : ($int, $int) -> $int
  %u = relay.ref_write %i, %k : !relay.ref<$int>, $int -> tuple<>
  %l = relay.ref_read %i : !relay.ref<$int> -> $int
  relay.return %a, %b, %c, %l : $vec, $vec, $vec, $int
}
"""
    x = np.array([1, 2, 3, 4], F32)
    a, b, c, n = run_text(program, x)
    np.testing.assert_array_equal([a, b, c], [x, 2 * x, 3 * x])
    assert int(n) == 2


def test_cycles_through_references_are_freed_at_the_end():
    program = """
relay.func @main(%n: $int) -> $int {
  %zero = relay.constant dense<0> : $int
  %one = relay.constant dense<1> : $int
  %stub = relay.fn (%i: $int) -> $int {
    relay.yield %i : $int
  }
  %r = relay.ref_create %stub : ($int) -> $int -> !relay.ref<($int) -> $int>
  %loop = relay.fn (%i: $int) -> $int {
    %done = relay.equal %i, %zero : ($int, $int) -> $bool
    %v = relay.if %done : $bool -> ($int) {
      relay.yield %zero : $int
    } else {
      %j = relay.subtract %i, %one : ($int, $int) -> $int
      %f = relay.ref_read %r : !relay.ref<($int) -> $int> -> ($int) -> $int
      %s = relay.apply %f(%j) : ($int) -> $int, ($int) -> $int
      %t = relay.add %s, %i : ($int, $int) -> $int
      relay.yield %t : $int
    }
    relay.yield %v : $int
  }
  %u = relay.ref_write %r, %loop : !relay.ref<($int) -> $int>, ($int) -> $int -> tuple<>
  %f = relay.ref_read %r : !relay.ref<($int) -> $int> -> ($int) -> $int
  %y = relay.apply %f(%n) : ($int) -> $int, ($int) -> $int
  relay.return %y : $int
}
"""
    executable = compile_text(program)
    assert int(executable(x0=i32(100))["y0"]) == 5050
    assert executable.live_objects() == 0
    assert executable.unreleased_objects() == 2
    assert int(executable(x0=i32(100))["y0"]) == 5050
    assert executable.unreleased_objects() == 4


def test_nested_patterns_take_the_first_case():
    list_ = "!relay.adt<@List<tuple<$int, $Lint>>>"
    program = f"""
relay.func private @classify(%t: tuple<{list_}, !relay.adt<@Option<$int>>>) -> $int {{
  %m = relay.match partial %t : tuple<{list_}, !relay.adt<@Option<$int>>> -> $int {{
  case (@Cons((%a: $int, @Cons(_, @Nil)), @Nil), @Some(%b: $int)) {{
    %s = relay.subtract %a, %b : ($int, $int) -> $int
    relay.yield %s : $int
  }}
  case (@Cons((_, @Nil), %rest: {list_}), %o: !relay.adt<@Option<$int>>) {{
    %p = relay.tuple %rest, %o : tuple<{list_}, !relay.adt<@Option<$int>>>
    %n = relay.call @classify(%p) : (tuple<{list_}, !relay.adt<@Option<$int>>>) -> $int
    %hundred = relay.constant dense<100> : $int
    %v = relay.add %n, %hundred : ($int, $int) -> $int
    relay.yield %v : $int
  }}
  case (@Nil, _) {{
    %v = relay.constant dense<-1> : $int
    relay.yield %v : $int
  }}
  case (_, @None) {{
    %v = relay.constant dense<-2> : $int
    relay.yield %v : $int
  }}
  }}
  relay.return %m : $int
}}
relay.func @main(%a: $int, %b: $int, %which: $int) -> $int {{
  %zero = relay.constant dense<0> : $int
  %one = relay.constant dense<1> : $int
  %two = relay.constant dense<2> : $int
  %nil = relay.construct @Nil() : () -> $Lint
  %some1 = relay.construct @Cons(%b, %nil) : ($int, $Lint) -> $Lint
  %some2 = relay.construct @Cons(%b, %some1) : ($int, $Lint) -> $Lint
  %end = relay.construct @Nil() : () -> {list_}
  %one_pair = relay.tuple %a, %some1 : tuple<$int, $Lint>
  %two_pair = relay.tuple %a, %some2 : tuple<$int, $Lint>
  %empty_pair = relay.tuple %a, %nil : tuple<$int, $Lint>
  %l1 = relay.construct @Cons(%one_pair, %end) : (tuple<$int, $Lint>, {list_}) -> {list_}
  %l2 = relay.construct @Cons(%two_pair, %end) : (tuple<$int, $Lint>, {list_}) -> {list_}
  %l3 = relay.construct @Cons(%empty_pair, %l1) : (tuple<$int, $Lint>, {list_}) -> {list_}
  %some = relay.construct @Some(%b) : ($int) -> !relay.adt<@Option<$int>>
  %none = relay.construct @None() : () -> !relay.adt<@Option<$int>>
  %is0 = relay.equal %which, %zero : ($int, $int) -> $bool
  %is1 = relay.equal %which, %one : ($int, $int) -> $bool
  %is2 = relay.equal %which, %two : ($int, $int) -> $bool
  %r = relay.if %is0 : $bool -> ($int) {{
    %t = relay.tuple %l3, %some : tuple<{list_}, !relay.adt<@Option<$int>>>
    %v = relay.call @classify(%t) : (tuple<{list_}, !relay.adt<@Option<$int>>>) -> $int
    relay.yield %v : $int
  }} else {{
    %q = relay.if %is1 : $bool -> ($int) {{
      %t = relay.tuple %l2, %none : tuple<{list_}, !relay.adt<@Option<$int>>>
      %v = relay.call @classify(%t) : (tuple<{list_}, !relay.adt<@Option<$int>>>) -> $int
      relay.yield %v : $int
    }} else {{
      %p = relay.if %is2 : $bool -> ($int) {{
        %t = relay.tuple %end, %some : tuple<{list_}, !relay.adt<@Option<$int>>>
        %v = relay.call @classify(%t) : (tuple<{list_}, !relay.adt<@Option<$int>>>) -> $int
        relay.yield %v : $int
      }} else {{
        %t = relay.tuple %l2, %some : tuple<{list_}, !relay.adt<@Option<$int>>>
        %v = relay.call @classify(%t) : (tuple<{list_}, !relay.adt<@Option<$int>>>) -> $int
        relay.yield %v : $int
      }}
      relay.yield %p : $int
    }}
    relay.yield %q : $int
  }}
  relay.return %r : $int
}}
"""
    executable = compile_text(program)
    found = [int(executable(x0=i32(7), x1=i32(3), x2=i32(which))["y0"]) for which in range(3)]
    assert found == [104, -2, -1]
    with pytest.raises(RunError, match="no case matches in @classify"):
        executable(x0=i32(7), x1=i32(3), x2=i32(3))
    assert executable.live_objects() == 0
    assert executable.unreleased_objects() == 0


def test_weights_and_constants_in_closures():
    program = """
relay.func @main(%x: $vec) -> ($vec, $float) {
  %w = relay.weight "w" : $vec
  %s = relay.weight "s" : $float
  %c = relay.constant dense<[1.0, 2.0, 3.0, 4.0]> : $vec
  %f = relay.fn (%a: $vec) -> tuple<$vec, $vec> {
    %y = relay.multiply %a, %w : ($vec, $vec) -> $vec
    %z = relay.multiply %y, %s : ($vec, $float) -> $vec
    %q = relay.add %z, %c : ($vec, $vec) -> $vec
    %t = relay.tuple %q, %w : tuple<$vec, $vec>
    relay.yield %t : tuple<$vec, $vec>
  }
  %t = relay.apply %f(%x) : ($vec) -> tuple<$vec, $vec>, ($vec) -> tuple<$vec, $vec>
  %a = relay.tuple_get_item %t[0] : tuple<$vec, $vec> -> $vec
  %b = relay.tuple_get_item %t[1] : tuple<$vec, $vec> -> $vec
  %d = relay.add %a, %b : ($vec, $vec) -> $vec
  relay.return %d, %s : $vec, $float
}
"""
    x, w, s = np.array([1, 2, 3, 4], F32), np.array([2, 3, 5, 7], F32), f32(0.5)
    found, scale = run_text(program, x, weights={"w": w, "s": s})
    np.testing.assert_array_equal(found, x * w * s + np.array([1, 2, 3, 4], F32) + w)
    assert scale == s


def test_constructors_and_functions_are_values():
    program = """
relay.func @main(%n: $int) -> $int {
  %zero = relay.constant dense<0> : $int
  %nil = relay.construct @Nil() : () -> $Lint
  %xs = relay.call @range(%n, %nil) : ($int, $Lint) -> $Lint
  %cons = relay.constructor_value @Cons : ($int, $Lint) -> $Lint
  %copy = relay.call @foldr(%cons, %nil, %xs) : (($int, $Lint) -> $Lint, $Lint, $Lint) -> $Lint
  %some = relay.constructor_value @Some : ($int) -> !relay.adt<@Option<$int>>
  %opts = relay.call @map(%some, %copy)
    : (($int) -> !relay.adt<@Option<$int>>, $Lint) -> !relay.adt<@List<!relay.adt<@Option<$int>>>>
  %add = relay.fn (%o: !relay.adt<@Option<$int>>, %acc: $int) -> $int {
    %v = relay.match %o : !relay.adt<@Option<$int>> -> $int {
    case @Some(%x: $int) {
      %s = relay.add %x, %acc : ($int, $int) -> $int
      relay.yield %s : $int
    }
    case @None {
      relay.yield %acc : $int
    }
    }
    relay.yield %v : $int
  }
  %fold = relay.global @foldr : !relay.poly<[A, B], (($A, $B) -> $B, $B, $LA) -> $B>
  %r = relay.apply %fold(%add, %zero, %opts) : !relay.poly<[A, B], (($A, $B) -> $B, $B, $LA) -> $B>,
    ((!relay.adt<@Option<$int>>, $int) -> $int, $int, !relay.adt<@List<!relay.adt<@Option<$int>>>>) -> $int
  relay.return %r : $int
}
"""
    assert [int(v) for v in run_text(program, i32(100))] == [4950]


def test_a_shared_library_counts_objects(tmp_path: Path):
    executable = compile_text(DEEP, prefix="deep")
    executable.save(tmp_path / "deep.so")
    assert "deep_live_objects" in executable.header()
    library = ctypes.CDLL(str(tmp_path / "deep.so"))
    library.deep_live_objects.restype = ctypes.c_int64
    model = ctypes.c_void_p()
    assert library.deep_create(ctypes.byref(model)) == 0
    n, total, count = i32(1000), i32(0), i32(0)
    inputs = (ctypes.c_void_p * 1)(n.ctypes.data)
    outputs = (ctypes.c_void_p * 2)(total.ctypes.data, count.ctypes.data)
    assert library.deep_run(model, inputs, outputs) == 0
    assert (int(total), int(count)) == (500_500, 1000)
    assert library.deep_live_objects(model) == 0
    library.deep_destroy(model)


def test_runs_may_overlap():
    executable = compile_text(DEEP)

    def total(n: int) -> int:
        return int(executable(x0=i32(n))["y0"])

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(total, [50_000 + n for n in range(8)]))
    assert found == [(n * (n + 1) // 2 + 2**31) % 2**32 - 2**31 for n in range(50_000, 50_008)]
    assert executable.live_objects() == 0


@pytest.mark.parametrize(("threads", "numerics"), [(2, "relaxed"), (1, "strict")])
def test_options(threads: int, numerics: str):
    executable = compile_text(LOOP, options=Options(threads=threads, numerics=numerics))
    outputs = executable(x0=i32(1000), x1=f32(3))
    assert float(outputs["y1"]) == 6


def test_values_of_data_types_go_in_and_out():
    tree = "!relay.adt<@Tree<$int>>"
    program = f"""
relay.adt @Tree<A> {{
  relay.constructor @Rose($A, !relay.adt<@List<!relay.adt<@Tree<$A>>>>)
}}
relay.func private @size(%t: {tree}) -> $int {{
  %r = relay.match %t : {tree} -> $int {{
  case @Rose(%x: $int, %children: !relay.adt<@List<{tree}>>) {{
    %step = relay.fn (%c: {tree}, %n: $int) -> $int {{
      %m = relay.call @size(%c) : ({tree}) -> $int
      %k = relay.add %m, %n : ($int, $int) -> $int
      relay.yield %k : $int
    }}
    %s = relay.call @foldr(%step, %x, %children) : (({tree}, $int) -> $int, $int, !relay.adt<@List<{tree}>>) -> $int
    relay.yield %s : $int
  }}
  }}
  relay.return %r : $int
}}
relay.func @main(%t: {tree}, %v: $vec, %r: !relay.ref<$long>) -> (tuple<$int, $vec>, {tree}, !relay.ref<$long>) {{
  %n = relay.call @size(%t) : ({tree}) -> $int
  %w = relay.add %v, %v : ($vec, $vec) -> $vec
  %p = relay.tuple %n, %w : tuple<$int, $vec>
  %old = relay.ref_read %r : !relay.ref<$long> -> $long
  %new = relay.add %old, %old : ($long, $long) -> $long
  %u = relay.ref_write %r, %new : !relay.ref<$long>, $long -> tuple<>
  relay.return %p, %t, %r : tuple<$int, $vec>, {tree}, !relay.ref<$long>
}}
"""
    executable = compile_text(program)
    value = ADT("Rose", (i32(1), list_of([ADT("Rose", (i32(n), ADT("Nil"))) for n in range(2, 5)])))
    v = np.array([1, 2, np.nan, -0.0], F32)
    outputs = executable.run({"x0": value, "x1": v, "x2": Ref(np.array(2**40))})
    total, doubled = outputs["y0"]
    assert int(total) == 10
    np.testing.assert_array_equal(doubled, v + v)
    assert outputs["y1"] == value
    assert int(outputs["y2"].value) == 2**41
    assert executable.live_objects() == executable.unreleased_objects() == 0
    with pytest.raises(InputError, match="@Tree has no constructor Cons"):
        executable.run({"x0": list_of([i32(1)]), "x1": v, "x2": Ref(np.array(0))})
    with pytest.raises(CompileError, match="which only this process can use"):
        executable.save("tree.so")


def test_a_long_list_goes_in_and_out():
    program = """
relay.func @main(%xs: $Lint) -> $Lint {
  %nil = relay.construct @Nil() : () -> $Lint
  %push = relay.fn (%acc: $Lint, %x: $int) -> $Lint {
    %c = relay.construct @Cons(%x, %acc) : ($int, $Lint) -> $Lint
    relay.yield %c : $Lint
  }
  %r = relay.call @foldl(%push, %nil, %xs) : (($Lint, $int) -> $Lint, $Lint, $Lint) -> $Lint
  relay.return %r : $Lint
}
"""
    executable = compile_text(program)
    count = 100_000
    found = elements(executable.run({"x0": list_of([i32(n) for n in range(count)])})["y0"])
    assert [int(x) for x in found] == list(range(count))[::-1]
    assert executable.live_objects() == executable.unreleased_objects() == 0


SCALARS = ["bool", "int8", "int16", "int64", "uint8", "uint64", "float16", "bfloat16", "float64"]


@pytest.mark.parametrize("dtype", SCALARS)
def test_scalars_of_every_type_are_boxed(dtype: str):
    element = ELEMENT_TYPES[dtype]
    t = f"tensor<{element}>"
    program = f"""
relay.func @main(%x: {t}) -> ({t}, {t}) {{
  %nil = relay.construct @Nil() : () -> !relay.adt<@List<{t}>>
  %l = relay.construct @Cons(%x, %nil) : ({t}, !relay.adt<@List<{t}>>) -> !relay.adt<@List<{t}>>
  %same = relay.fn (%a: {t}) -> {t} {{
    %m = relay.maximum %a, %x : ({t}, {t}) -> {t}
    relay.yield %m : {t}
  }}
  %ys = relay.call @map(%same, %l) : (({t}) -> {t}, !relay.adt<@List<{t}>>) -> !relay.adt<@List<{t}>>
  %y = relay.match partial %ys : !relay.adt<@List<{t}>> -> {t} {{
  case @Cons(%h: {t}, _) {{
    relay.yield %h : {t}
  }}
  }}
  %i = relay.call @id(%y) : ({t}) -> {t}
  %c = relay.constant dense<1> : {t}
  %d = relay.call @id(%c) : ({t}) -> {t}
  relay.return %i, %d : {t}, {t}
}}
"""
    if dtype == "bool":
        program = program.replace("dense<1>", "dense<true>").replace("relay.maximum", "relay.logical_and")
    elif "float" in dtype:
        program = program.replace("dense<1>", "dense<1.0>")
    special = {"bool": True, "uint8": 200, "uint64": 2**63 + 5, "int64": -(2**50)}
    value = special.get(dtype, -7 if dtype[0] == "i" else 1.5)
    x = np.array(value, numpy_dtype(element))
    found, one = run_text(program, x)
    assert found.dtype == x.dtype
    assert found == x
    assert one == np.array(1, x.dtype)


def test_tail_calls_with_many_arguments():
    names = [f"%a{i}" for i in range(12)]
    types = ", ".join(["$float", "$vec"] * 6)
    parameters = ", ".join(f"{name}: {'$vec' if i % 2 else '$float'}" for i, name in enumerate(names))
    given = ", ".join(["%k, %w", *["%x, %v"] * 5])
    function = f"($int, {types}) -> $float"
    turned = ", ".join([names[(i + 2) % 12] for i in range(12)])
    program = f"""
relay.func private @turn(%n: $int, %f: ($int, {types}) -> $float, {parameters}) -> $float {{
  %zero = relay.constant dense<0> : $int
  %one = relay.constant dense<1> : $int
  %done = relay.equal %n, %zero : ($int, $int) -> $bool
  %m = relay.subtract %n, %one : ($int, $int) -> $int
  %r = relay.if %done : $bool -> ($float) {{
    %v = relay.apply %f(%m, {", ".join(names)}) : ($int, {types}) -> $float, ($int, {types}) -> $float
    relay.yield %v : $float
  }} else {{
    %v = relay.call @turn(%m, %f, {turned}) : ($int, ($int, {types}) -> $float, {types}) -> $float
    relay.yield %v : $float
  }}
  relay.return %r : $float
}}
relay.func @main(%n: $int, %x: $float, %v: $vec) -> $float {{
  %k = relay.add %x, %x : ($float, $float) -> $float
  %w = relay.add %v, %v : ($vec, $vec) -> $vec
  %pick = relay.fn (%m: $int, {parameters}) -> $float {{
    %s = relay.sum %a1 {{keepdims = false}} : ($vec) -> $float
    %p = relay.add %a0, %s : ($float, $float) -> $float
    relay.yield %p : $float
  }}
  %r = relay.call @turn(%n, %pick, {given}) : ($int, {function}, {types}) -> $float
  relay.return %r : $float
}}
"""
    executable = compile_text(program)
    v = np.arange(4, dtype=F32)
    found = [float(executable(x0=i32(n), x1=f32(1), x2=v)["y0"]) for n in (0, 1, 5, 6, 600_000)]
    assert found == [14, 7, 7, 14, 14]
    assert executable.live_objects() == executable.unreleased_objects() == 0
