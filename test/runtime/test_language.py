"""The interpreter on the whole language: closures, data types, matching, references, recursion, located failures."""

import pickle
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import relay_mlir
from relay_mlir import ADT, ExecutionError, InputError, Ref, interpret
from relay_mlir.lowering.diagnostics import DiagnosticError
from relay_mlir.runtime.values import elements, list_of, same, show

LIST = """
relay.adt @List<A> {
  relay.constructor @Nil
  relay.constructor @Cons(!relay.type_var<A>, !relay.adt<@List<!relay.type_var<A>>>)
}
"""
MAP = """
relay.func @map(%f: (!relay.type_var<A>) -> !relay.type_var<B>, %xs: !relay.adt<@List<!relay.type_var<A>>>)
    -> !relay.adt<@List<!relay.type_var<B>>> attributes {type_params = ["A", "B"]} {
  %r = relay.match %xs : !relay.adt<@List<!relay.type_var<A>>> -> !relay.adt<@List<!relay.type_var<B>>> {
  case @Cons(%x: !relay.type_var<A>, %rest: !relay.adt<@List<!relay.type_var<A>>>) {
    %y = relay.apply %f(%x) : (!relay.type_var<A>) -> !relay.type_var<B>, (!relay.type_var<A>) -> !relay.type_var<B>
    %t = relay.call @map(%f, %rest)
      : ((!relay.type_var<A>) -> !relay.type_var<B>, !relay.adt<@List<!relay.type_var<A>>>)
      -> !relay.adt<@List<!relay.type_var<B>>>
    %c = relay.construct @Cons(%y, %t)
      : (!relay.type_var<B>, !relay.adt<@List<!relay.type_var<B>>>) -> !relay.adt<@List<!relay.type_var<B>>>
    relay.yield %c : !relay.adt<@List<!relay.type_var<B>>>
  }
  case @Nil {
    %n = relay.construct @Nil() : () -> !relay.adt<@List<!relay.type_var<B>>>
    relay.yield %n : !relay.adt<@List<!relay.type_var<B>>>
  }
  }
  relay.return %r : !relay.adt<@List<!relay.type_var<B>>>
}
"""
FOLDR = """
relay.func @foldr(%f: (!relay.type_var<A>, !relay.type_var<B>) -> !relay.type_var<B>, %e: !relay.type_var<B>,
    %xs: !relay.adt<@List<!relay.type_var<A>>>) -> !relay.type_var<B> attributes {type_params = ["A", "B"]} {
  %r = relay.match %xs : !relay.adt<@List<!relay.type_var<A>>> -> !relay.type_var<B> {
  case @Cons(%x: !relay.type_var<A>, %rest: !relay.adt<@List<!relay.type_var<A>>>) {
    %t = relay.call @foldr(%f, %e, %rest)
      : ((!relay.type_var<A>, !relay.type_var<B>) -> !relay.type_var<B>, !relay.type_var<B>,
         !relay.adt<@List<!relay.type_var<A>>>) -> !relay.type_var<B>
    %y = relay.apply %f(%x, %t) : (!relay.type_var<A>, !relay.type_var<B>) -> !relay.type_var<B>,
      (!relay.type_var<A>, !relay.type_var<B>) -> !relay.type_var<B>
    relay.yield %y : !relay.type_var<B>
  }
  case _ {
    relay.yield %e : !relay.type_var<B>
  }
  }
  relay.return %r : !relay.type_var<B>
}
"""
FOLD_OF_MAP = """
relay.func @main(%xs: !relay.adt<@List<tensor<i32>>>, %k: tensor<i32>) -> tensor<i32> {
  %f = relay.fn (%x: tensor<i32>) -> tensor<i32> {
    %y = relay.multiply %x, %k : (tensor<i32>, tensor<i32>) -> tensor<i32>
    relay.yield %y : tensor<i32>
  }
  %g = relay.fn (%x: tensor<i32>, %y: tensor<i32>) -> tensor<i32> {
    %z = relay.subtract %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i32>
    relay.yield %z : tensor<i32>
  }
  %ys = relay.call @map(%f, %xs)
    : ((tensor<i32>) -> tensor<i32>, !relay.adt<@List<tensor<i32>>>) -> !relay.adt<@List<tensor<i32>>>
  %zero = relay.constant dense<0> : tensor<i32>
  %s = relay.call @foldr(%g, %zero, %ys)
    : ((tensor<i32>, tensor<i32>) -> tensor<i32>, tensor<i32>, !relay.adt<@List<tensor<i32>>>) -> tensor<i32>
  relay.return %s : tensor<i32>
}
"""


def i32(value: int) -> np.ndarray:
    return np.array(value, np.int32)


def fold_of_map(values: list[int], k: int) -> int:
    result = 0
    for value in reversed(values):
        result = value * k - result
    return result


@pytest.mark.parametrize("count", [0, 1, 2, 7, 50_000])
def test_map_and_foldr(count: int):
    values = [i % 11 - 3 for i in range(count)]
    found = interpret(LIST + MAP + FOLDR + FOLD_OF_MAP)(list_of(map(i32, values)), i32(3))
    assert found.dtype == np.int32
    assert found == fold_of_map(values, 3)


LOOP = """
relay.func @loop(%n: tensor<i32>, %acc: tensor<i32>) -> tensor<i32> {
  %zero = relay.constant dense<0> : tensor<i32>
  %one = relay.constant dense<1> : tensor<i32>
  %done = relay.equal %n, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %r = relay.if %done : tensor<i1> -> (tensor<i32>) {
    relay.yield %acc : tensor<i32>
  } else {
    %m = relay.subtract %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %s = relay.add %acc, %n : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %f = relay.global @loop : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %t = relay.apply %f(%m, %s) : (tensor<i32>, tensor<i32>) -> tensor<i32>, (tensor<i32>, tensor<i32>) -> tensor<i32>
    relay.yield %t : tensor<i32>
  }
  relay.return %r : tensor<i32>
}
"""


def test_tail_calls_need_no_frames(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("relay_mlir.runtime.interpreter.MAX_DEPTH", 10)
    assert interpret(LOOP, "loop")(i32(5000), i32(0)) == 5000 * 5001 // 2


def test_endless_recursion_is_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("relay_mlir.runtime.interpreter.MAX_DEPTH", 1000)
    endless = interpret("""
relay.func @main(%x: tensor<f32>) -> tensor<f32> {
  %y = relay.call @main(%x) : (tensor<f32>) -> tensor<f32>
  %z = relay.negative %y : tensor<f32>
  relay.return %z : tensor<f32>
}
""")
    with pytest.raises(ExecutionError, match=r"<text>:3:\d+: error: 'relay.call' op more than 1000 calls are open"):
        endless(np.float32(0))


CLOSURES = """
relay.func @main(%x: tensor<f32>, %n: tensor<i32>) -> tuple<tensor<f32>, tensor<f32>, tensor<f32>> {
  %adder = relay.fn (%a: tensor<f32>) -> (tensor<f32>) -> tensor<f32> {
    %inner = relay.fn (%b: tensor<f32>) -> tensor<f32> {
      %s = relay.add %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %t = relay.multiply %s, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
      relay.yield %t : tensor<f32>
    }
    relay.yield %inner : (tensor<f32>) -> tensor<f32>
  }
  %one = relay.constant dense<1> : tensor<i32>
  %zero = relay.constant dense<0> : tensor<i32>
  %power = relay.fn rec %self: (tensor<i32>) -> tensor<f32>, (%k: tensor<i32>) -> tensor<f32> {
    %last = relay.equal %k, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %r = relay.if %last : tensor<i1> -> (tensor<f32>) {
      %unit = relay.constant dense<1.0> : tensor<f32>
      relay.yield %unit : tensor<f32>
    } else {
      %less = relay.subtract %k, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %p = relay.apply %self(%less) : (tensor<i32>) -> tensor<f32>, (tensor<i32>) -> tensor<f32>
      %q = relay.multiply %p, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
      relay.yield %q : tensor<f32>
    }
    relay.yield %r : tensor<f32>
  }
  %id = relay.fn <A> (%a: !relay.type_var<A>) -> !relay.type_var<A> {
    relay.yield %a : !relay.type_var<A>
  }
  %c = relay.constant dense<10.0> : tensor<f32>
  %f = relay.apply %adder(%c)
    : (tensor<f32>) -> ((tensor<f32>) -> tensor<f32>), (tensor<f32>) -> ((tensor<f32>) -> tensor<f32>)
  %g = relay.apply %id(%f)
    : !relay.poly<[A], (!relay.type_var<A>) -> !relay.type_var<A>>,
      ((tensor<f32>) -> tensor<f32>) -> ((tensor<f32>) -> tensor<f32>)
  %u = relay.apply %g(%x) : (tensor<f32>) -> tensor<f32>, (tensor<f32>) -> tensor<f32>
  %v = relay.apply %power(%n) : (tensor<i32>) -> tensor<f32>, (tensor<i32>) -> tensor<f32>
  %w = relay.apply %id(%x) : !relay.poly<[A], (!relay.type_var<A>) -> !relay.type_var<A>>, (tensor<f32>) -> tensor<f32>
  %t = relay.tuple %u, %v, %w : tuple<tensor<f32>, tensor<f32>, tensor<f32>>
  relay.return %t : tuple<tensor<f32>, tensor<f32>, tensor<f32>>
}
"""


def test_closures_capture_recurse_and_are_polymorphic():
    assert interpret(CLOSURES)(np.float32(3), i32(4)) == ((10 + 3) * 3, 81, 3)


NESTED = f"""{LIST}
relay.func @main(%p: tuple<!relay.adt<@List<tensor<i32>>>, tensor<i32>>) -> tensor<i32> {{
  %r = relay.match partial %p : tuple<!relay.adt<@List<tensor<i32>>>, tensor<i32>> -> tensor<i32> {{
  case (@Cons(%a: tensor<i32>, @Cons(%b: tensor<i32>, @Nil)), %k: tensor<i32>) {{
    %s = relay.subtract %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %t = relay.multiply %s, %k : (tensor<i32>, tensor<i32>) -> tensor<i32>
    relay.yield %t : tensor<i32>
  }}
  case (@Cons(_, @Cons(_, @Cons(%c: tensor<i32>, _))), _) {{
    relay.yield %c : tensor<i32>
  }}
  case (@Nil, %k: tensor<i32>) {{
    relay.yield %k : tensor<i32>
  }}
  }}
  relay.return %r : tensor<i32>
}}
"""


def test_the_first_case_that_matches_is_taken():
    run = interpret(NESTED)
    assert run((list_of([i32(7), i32(2)]), i32(10))) == 50
    assert run((list_of(map(i32, range(6))), i32(10))) == 2
    assert run((list_of([]), i32(10))) == 10


def test_a_partial_match_without_a_case_fails_at_its_place():
    message = r"<text>:8:\d+: error: 'relay.match' op no case matches \(Cons\(7, Nil\), 10\)"
    with pytest.raises(ExecutionError, match=message):
        interpret(NESTED)((list_of([i32(7)]), i32(10)))


REFERENCES = """
relay.func @bump(%r: !relay.ref<tensor<i32>>) -> tensor<i32> {
  %one = relay.constant dense<1> : tensor<i32>
  %old = relay.ref_read %r : !relay.ref<tensor<i32>> -> tensor<i32>
  %new = relay.add %old, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %u = relay.ref_write %r, %new : !relay.ref<tensor<i32>>, tensor<i32> -> tuple<>
  relay.return %old : tensor<i32>
}
relay.func @main(%x: tensor<i32>) -> tuple<tensor<i32>, tensor<i32>, !relay.ref<tensor<i32>>> {
  %r = relay.ref_create %x : tensor<i32> -> !relay.ref<tensor<i32>>
  %alias = relay.tuple %r : tuple<!relay.ref<tensor<i32>>>
  %a = relay.call @bump(%r) : (!relay.ref<tensor<i32>>) -> tensor<i32>
  %same = relay.tuple_get_item %alias[0] : tuple<!relay.ref<tensor<i32>>> -> !relay.ref<tensor<i32>>
  %b = relay.call @bump(%same) : (!relay.ref<tensor<i32>>) -> tensor<i32>
  %t = relay.tuple %a, %b, %r : tuple<tensor<i32>, tensor<i32>, !relay.ref<tensor<i32>>>
  relay.return %t : tuple<tensor<i32>, tensor<i32>, !relay.ref<tensor<i32>>>
}
"""


def test_references_are_shared_cells():
    a, b, cell = interpret(REFERENCES)(i32(5))
    assert (a, b, cell.value) == (5, 6, 7)
    cell = Ref(i32(1))
    assert interpret(REFERENCES, "bump")(cell) == 1
    assert cell.value == 2


def test_constructors_are_functions():
    run = interpret(f"""{LIST}{FOLDR}
relay.func @main(%xs: !relay.adt<@List<tensor<f32>>>) -> !relay.adt<@List<tensor<f32>>> {{
  %cons = relay.constructor_value @Cons
    : (tensor<f32>, !relay.adt<@List<tensor<f32>>>) -> !relay.adt<@List<tensor<f32>>>
  %nil = relay.construct @Nil() : () -> !relay.adt<@List<tensor<f32>>>
  %copy = relay.call @foldr(%cons, %nil, %xs)
    : ((tensor<f32>, !relay.adt<@List<tensor<f32>>>) -> !relay.adt<@List<tensor<f32>>>,
       !relay.adt<@List<tensor<f32>>>, !relay.adt<@List<tensor<f32>>>) -> !relay.adt<@List<tensor<f32>>>
  relay.return %copy : !relay.adt<@List<tensor<f32>>>
}}
""")
    values = list_of(np.array(v, np.float32) for v in (1, np.nan, -0.0))
    assert run(values) == values
    assert run(values) is not values


def test_functions_are_results_that_python_can_call():
    compose = interpret("""
relay.func @main(%x: tensor<f32>) -> ((tensor<f32>) -> tensor<f32>) {
  %f = relay.fn (%y: tensor<f32>) -> tensor<f32> {
    %z = relay.add %x, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>
    relay.yield %z : tensor<f32>
  }
  relay.return %f : (tensor<f32>) -> tensor<f32>
}
""")
    add_three = compose(np.float32(3))
    assert add_three(np.float32(4)) == 7
    with pytest.raises(InputError, match="argument 0 of a closure: expected dtype float32"):
        add_three(np.float64(4))


def test_opaque_values_pass_through():
    run = interpret("""
relay.adt extern @Storage
relay.func @main(%s: !relay.adt<@Storage>) -> !relay.adt<@Storage> {
  relay.return %s : !relay.adt<@Storage>
}
""")
    token = object()
    assert run(token) is token


def test_arguments_are_taken_by_name():
    run = interpret("""
relay.func @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> attributes {input_names = ["a", "b"]} {
  %c = relay.subtract %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
  relay.return %c : tensor<f32>
}
""")
    assert run(np.float32(5), b=np.float32(3)) == 2
    with pytest.raises(InputError, match="@main lacks the argument 'b'"):
        run(np.float32(5))
    with pytest.raises(InputError, match="@main has no argument 'c' left"):
        run(np.float32(5), np.float32(5), c=np.float32(5))


SHAPES = """
relay.func @widen(%x: tensor<?xf32>) -> tensor<?xf32> {
  relay.return %x : tensor<?xf32>
}
relay.func @three(%x: tensor<3xf32>) -> tensor<3xf32> {
  relay.return %x : tensor<3xf32>
}
relay.func @argument(%x: tensor<?xf32>) -> tensor<3xf32> {
  %y = relay.call @three(%x) : (tensor<?xf32>) -> tensor<3xf32>
  relay.return %y : tensor<3xf32>
}
relay.func @result(%x: tensor<?xf32>) -> tensor<3xf32> {
  %y = relay.call @widen(%x) : (tensor<?xf32>) -> tensor<3xf32>
  relay.return %y : tensor<3xf32>
}
relay.func @returned(%x: tensor<?xf32>) -> tensor<3xf32> {
  relay.return %x : tensor<?xf32>
}
relay.func @closure(%x: tensor<?xf32>) -> tensor<3xf32> {
  %f = relay.fn (%y: tensor<3xf32>) -> tensor<3xf32> {
    relay.yield %y : tensor<3xf32>
  }
  %z = relay.apply %f(%x) : (tensor<3xf32>) -> tensor<3xf32>, (tensor<?xf32>) -> tensor<3xf32>
  relay.return %z : tensor<3xf32>
}
relay.func @branch(%x: tensor<?xf32>, %c: tensor<i1>) -> tensor<3xf32> {
  %z = relay.if %c : tensor<i1> -> (tensor<3xf32>) {
    relay.yield %x : tensor<?xf32>
  } else {
    relay.yield %x : tensor<?xf32>
  }
  relay.return %z : tensor<3xf32>
}
"""


@pytest.mark.parametrize(
    ("entry", "op"),
    [
        ("argument", "'relay.call' op an argument of @three: "),
        ("result", "'relay.call' op the result: "),
        ("returned", "'relay.return' op the result: "),
        ("closure", "'relay.apply' op argument 0: "),
        ("branch", "'relay.yield' op the value: "),
    ],
)
def test_open_dimensions_are_checked_where_they_meet_known_ones(entry: str, op: str):
    run = interpret(SHAPES, entry)
    more = (np.bool_(True),) if entry == "branch" else ()
    assert run(np.ones(3, np.float32), *more).shape == (3,)
    with pytest.raises(ExecutionError, match=op + r"expected shape \[3\], but found \[2\]"):
        run(np.ones(2, np.float32), *more)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (ADT("Rose", ()), "@List has no constructor Rose; it has Nil, Cons"),
        (ADT("Cons", (i32(1),)), "Cons has 2 fields, but found 1"),
        (ADT("Cons", (np.float32(1), ADT("Nil"))), "expected dtype int32, but found float32"),
        (i32(1), "expected a relay_mlir.ADT of @List, but found a ndarray"),
        (list_of([i32(1), np.ones(1, np.int32)]), r"expected shape \[\], but found \[1\]"),
    ],
)
def test_data_types_of_arguments_are_checked(value: object, message: str):
    with pytest.raises(InputError, match=message):
        interpret(NESTED)((value, i32(1)))


def test_holes_are_filled_first():
    run = interpret(
        """
relay.func @main(%x: tensor<2xf32>) -> !relay.incomplete {
  %f = relay.fn (%y: !relay.incomplete) -> !relay.incomplete {
    %z = relay.add %y, %x : (!relay.incomplete, tensor<2xf32>) -> !relay.incomplete
    relay.yield %z : !relay.incomplete
  }
  %r = relay.apply %f(%x) : (!relay.incomplete) -> !relay.incomplete, (tensor<2xf32>) -> !relay.incomplete
  relay.return %r : !relay.incomplete
}
"""
    )
    np.testing.assert_array_equal(run(np.array([1, 2], np.float32)), [2, 4])


def test_texts_that_cannot_be_typed_are_refused_at_their_place():
    with pytest.raises(DiagnosticError, match=r"<text>:3:\d+: error: 'relay.match' op the match does not cover Cons"):
        interpret(f"""{LIST.replace(chr(10), " ")}
relay.func @main(%x: !relay.adt<@List<tensor<f32>>>) -> !relay.incomplete {{
  %r = relay.match %x : !relay.adt<@List<tensor<f32>>> -> !relay.incomplete {{
  case @Nil {{
    %c = relay.constant dense<0.0> : tensor<f32>
    relay.yield %c : tensor<f32>
  }}
  }}
  relay.return %r : !relay.incomplete
}}
""")


def test_values_print_compare_and_pickle():
    values = list_of([np.array([1, 2], np.int64), np.float32(0.5)])
    assert repr(values) == "Cons(int64[2] [1, 2], Cons(0.5, Nil))"
    assert show((ADT("Nil"),)) == "(Nil,)"
    assert show(Ref(())) == "ref(())"
    assert len(repr(list_of([i32(0)] * 100_000))) == 2003
    assert values == list_of(elements(values))
    assert values != list_of([np.array([1, 2], np.int64), np.float32(0.25)])
    assert values != list_of([np.array([1, 2], np.int32), np.float32(0.5)])
    assert pickle.loads(pickle.dumps(values)) == values
    assert not same((values, i32(1)), (values, i32(2)))
    assert same((np.array([np.nan, 1], np.float32),), (np.array([np.nan, 1], np.float32),))
    with pytest.raises(AttributeError, match="cannot be changed"):
        values.constructor = "Nil"


def test_the_package_exports_what_programs_exchange():
    names = ["ADT", "ExecutionError", "Ref", "interpret"]
    assert all(name in relay_mlir.__all__ for name in names)
    assert all(a <= b for a, b in pairwise(sorted(relay_mlir.__all__)))


RELAY = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil, }
def @length[A](%xs: List[A]) -> int32 {
  match (%xs) { Cons(_, %rest) => 1 + @length(%rest), Nil => 0, }
}
def @main(%xs: List[float32]) -> int32 {
  let %ys = %xs;
  match? (%ys) { Cons(_, _) => @length(%ys), }
}
"""


def test_relay_text_runs_and_fails_at_its_lines(tmp_path: Path):
    path = tmp_path / "length.relay"
    path.write_text(RELAY)
    for program, name in ((RELAY, "<text>"), (path, str(path)), (str(path), str(path))):
        run = interpret(program)
        assert run(list_of([np.float32(0)] * 3)) == 3
        with pytest.raises(ExecutionError, match=f"{re.escape(name)}:8:3: error: 'relay.match' op no case matches Nil"):
            run(ADT("Nil"))
