"""The reference interpreter: calls, tuples, branches, and the errors it raises."""

import sys
import weakref

import numpy as np
import pytest

from relay_mlir.dialects.errors import InputError
from relay_mlir.dialects.relay.op import OPERATORS, Operator
from relay_mlir.runtime.interpreter import ExecutionError, Interpreter, evaluate
from test.support.relay_programs import parse

COUNTDOWN = """
relay.func @main(%n: tensor<i32>, %acc: tensor<i32>) -> tensor<i32> {
  %zero = relay.constant dense<0> : tensor<i32>
  %one = relay.constant dense<1> : tensor<i32>
  %done = relay.equal %n, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %r = relay.if %done : tensor<i1> -> (tensor<i32>) {
    relay.yield %acc : tensor<i32>
  } else {
    %m = relay.subtract %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %s = relay.add %acc, %n : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %t = relay.call @main(%m, %s) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    relay.yield %t : tensor<i32>
  }
  relay.return %r : tensor<i32>
}
"""


def test_recursion_is_not_bounded_by_pythons_stack():
    depth = sys.getrecursionlimit() + 1000
    (total,) = evaluate(parse(COUNTDOWN), args=[np.int32(depth), np.int32(0)])
    assert total == depth * (depth + 1) // 2


def test_tuples_calls_and_several_results():
    module = parse("""
relay.func @main(%x: tensor<2xf32>, %t: tuple<tensor<2xf32>, tensor<f32>>) -> (tuple<tensor<2xf32>>, tensor<f32>) {
  %a = relay.tuple_get_item %t[0] : tuple<tensor<2xf32>, tensor<f32>> -> tensor<2xf32>
  %b, %c = relay.call @pair(%x, %t) : (tensor<2xf32>, tuple<tensor<2xf32>, tensor<f32>>) -> (tensor<2xf32>, tensor<f32>)
  %s = relay.add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %u = relay.tuple %s : tuple<tensor<2xf32>>
  relay.return %u, %c : tuple<tensor<2xf32>>, tensor<f32>
}
relay.func private @pair(%x: tensor<2xf32>, %t: tuple<tensor<2xf32>, tensor<f32>>) -> (tensor<2xf32>, tensor<f32>) {
  %c = relay.tuple_get_item %t[1] : tuple<tensor<2xf32>, tensor<f32>> -> tensor<f32>
  %n = relay.negative %x : tensor<2xf32>
  relay.return %n, %c : tensor<2xf32>, tensor<f32>
}
""")
    x = np.array([1, 2], np.float32)
    pair, c = evaluate(module, args=[x, (np.array([5, 5], np.float32), np.float32(7))])
    np.testing.assert_array_equal(pair[0], [4, 3])
    assert c == 7


def test_only_the_taken_branch_is_evaluated():
    module = parse("""
relay.func @main(%c: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %r = relay.if %c : tensor<i1> -> (tensor<f32>) {
    %w = relay.weight "missing" : tensor<f32>
    relay.yield %w : tensor<f32>
  } else {
    relay.yield %x : tensor<f32>
  }
  relay.return %r : tensor<f32>
}
""")
    assert evaluate(module, {}, [np.bool_(False), np.float32(3)]) == [3]
    with pytest.raises(ExecutionError, match="weight 'missing' is not in the store"):
        evaluate(module, {}, [np.bool_(True), np.float32(3)])


IDENTITY = "relay.func @main(%x: tensor<2x?xf32>) -> tensor<2x?xf32> {\n relay.return %x : tensor<2x?xf32>\n}"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "takes 1 arguments, but 0"),
        ([np.zeros((2, 3), np.float64)], "expected dtype float32, but found float64"),
        ([np.zeros((3, 3), np.float32)], r"expected shape \[2, \?\], but found \[3, 3\]"),
        ([np.zeros(2, np.float32)], r"expected shape \[2, \?\], but found \[2\]"),
        ([(np.zeros(2, np.float32),)], "expected an array"),
    ],
)
def test_arguments_are_checked(args: list[np.ndarray], message: str):
    with pytest.raises(InputError, match=message):
        evaluate(parse(IDENTITY), args=args)


def test_an_unknown_entry_is_named():
    with pytest.raises(InputError, match="no function @f; the module has main"):
        Interpreter(parse(IDENTITY)).run(entry="f")


def test_dimensions_known_at_run_time_are_accepted():
    (y,) = evaluate(parse(IDENTITY), args=[np.ones((2, 5), np.float32)])
    assert y.shape == (2, 5)


def test_a_weight_of_another_type_is_refused():
    module = parse("""
relay.func @main() -> tensor<2xf32> {
  %w = relay.weight "w" : tensor<2xf32>
  relay.return %w : tensor<2xf32>
}
""")
    with pytest.raises(ExecutionError, match=r"weight 'w' .*expected shape \[2\], but found \[3\]"):
        evaluate(module, {"w": np.zeros(3, np.float32)})


def test_a_failing_operator_is_located():
    module = parse("""
relay.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = relay.add %x, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32> loc("the/node")
  relay.return %0 : tensor<?xf32>
}
""")
    with pytest.raises(ExecutionError, match=r"relay\.add. op fails: .*the/node"):
        evaluate(module, args=[np.zeros(2, np.float32), np.zeros(3, np.float32)])


def test_values_are_freed_after_their_last_use(monkeypatch: pytest.MonkeyPatch):
    module = parse("""
relay.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.negative %x : tensor<4xf32>
  %1 = relay.negative %0 : tensor<4xf32>
  %2 = relay.add %1, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relay.return %2 : tensor<4xf32>
}
""")
    made: list[weakref.ref[np.ndarray]] = []
    alive: list[list[bool]] = []
    negative, add = OPERATORS["negative"].evaluate, OPERATORS["add"].evaluate

    def watched_negative(self: Operator, args: list[np.ndarray]):
        (value,) = negative(self, args)
        made.append(weakref.ref(value))
        return [value]

    def watched_add(self: Operator, args: list[np.ndarray]):
        alive.append([ref() is not None for ref in made])
        return add(self, args)

    monkeypatch.setattr(OPERATORS["negative"], "evaluate", watched_negative)
    monkeypatch.setattr(OPERATORS["add"], "evaluate", watched_add)
    Interpreter(module).run(np.ones(4, np.float32))
    assert alive == [[False, True]]
