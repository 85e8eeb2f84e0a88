"""The analyses as functions: multiply-accumulates against counts by hand, features, call graphs, variables."""

import pytest

from relay_mlir.lowering.analysis.call_graph import CallGraph
from relay_mlir.lowering.analysis.features import Feature, features, text
from relay_mlir.lowering.analysis.operators import mac_count, operator_frequency
from relay_mlir.lowering.analysis.variables import bound_type_variables, free_type_variables, free_values
from relay_mlir.lowering.analysis.well_formed import basic_block_normal_form_problems, well_formed_problems
from relay_mlir.lowering.diagnostics import OpError
from relay_mlir.lowering.pass_manager import run_passes
from relay_mlir.lowering.pipeline import pass_class
from relay_mlir.runtime.compiler import make_context
from test.support.random_programs import random_program
from test.support.relay_programs import parse


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("relay.nn.dense %a, %b : (tensor<4x512xf32>, tensor<1000x512xf32>) -> tensor<4x1000xf32>", 4 * 512 * 1000),
        ("relay.nn.batch_matmul %a, %b : (tensor<2x3x5xf32>, tensor<2x5x7xf32>) -> tensor<2x3x7xf32>", 2 * 3 * 5 * 7),
        (
            "relay.nn.batch_matmul %a, %b {transpose_a = true} : "
            "(tensor<2x5x3xf32>, tensor<2x5x7xf32>) -> tensor<2x3x7xf32>",
            2 * 3 * 5 * 7,
        ),
        (
            "relay.nn.conv2d %a, %b {padding = [1, 1, 1, 1]} : "
            "(tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>",
            115_605_504,
        ),
        (
            "relay.nn.conv2d %a, %b {groups = 32} : "
            "(tensor<1x32x10x10xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x8x8xf32>",
            32 * 8 * 8 * 9,
        ),
        (
            "relay.nn.conv2d_transpose %a, %b {strides = [2, 2]} : "
            "(tensor<1x3x4x4xf32>, tensor<3x5x2x2xf32>) -> tensor<1x5x8x8xf32>",
            3 * 16 * 5 * 4,
        ),
        ("relay.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>", 0),
    ],
)
def test_multiply_accumulates(operation: str, expected: int):
    types, result = operation.partition(" : ")[2].strip("(").split(") -> ")
    first, second = types.split(", ")
    module = parse(f"""
relay.func @main(%a: {first}, %b: {second}) -> {result} {{
  %c = {operation}
  relay.return %c : {result}
}}
""")
    assert mac_count(module) == expected


def test_multiply_accumulates_of_open_dimensions_are_not_known():
    module = parse("""
relay.func @main(%a: tensor<?x4xf32>, %b: tensor<3x4xf32>) -> tensor<?x3xf32> {
  %c = relay.nn.dense %a, %b : (tensor<?x4xf32>, tensor<3x4xf32>) -> tensor<?x3xf32>
  relay.return %c : tensor<?x3xf32>
}
""")
    with pytest.raises(OpError, match="open dimensions"):
        mac_count(module)


CLOSURE = """
relay.func @f(%x: !relay.type_var<A>, %n: tensor<f32>) -> (() -> !relay.type_var<A>) attributes {type_params = ["A"]} {
  %m = relay.negative %n : tensor<f32>
  %c = relay.fn () -> !relay.type_var<A> {
    %p = relay.fn <B> (%y: !relay.type_var<B>) -> !relay.type_var<B> {
      %k = relay.add %m, %m : (tensor<f32>, tensor<f32>) -> tensor<f32>
      relay.yield %y : !relay.type_var<B>
    }
    %r = relay.apply %p(%x)
      : !relay.poly<[B], (!relay.type_var<B>) -> !relay.type_var<B>>, (!relay.type_var<A>) -> !relay.type_var<A>
    relay.yield %r : !relay.type_var<A>
  }
  relay.return %c : () -> !relay.type_var<A>
}
"""


def test_variables():
    (function,) = parse(CLOSURE).ops
    closure = list(function.body.block.ops)[1]
    assert [value.name_hint for value in free_values(closure.body)] == ["m", "x"]
    assert free_type_variables(function) == []
    assert free_type_variables(closure) == ["A"]
    assert bound_type_variables(function) == ["A", "B"]


def test_features():
    (function,) = parse(CLOSURE).ops
    assert text(features(function)) == "fVar, fFunction, fOp, fCall, fLet, fGraph"
    seen: set[Feature] = set()
    for seed in range(15):
        seen |= features(random_program(seed).module)
    assert seen == set(Feature)


def test_call_graph():
    body = "%r = relay.call @{}(%x) : (tensor<f32>) -> tensor<f32>\n relay.return %r : tensor<f32>"
    functions = {"main": "even", "even": "odd", "odd": "even", "alone": "main"}
    module = parse(
        "\n".join(
            f"relay.func @{name}(%x: tensor<f32>) -> tensor<f32> {{\n {body.format(callee)}\n}}"
            for name, callee in functions.items()
        )
    )
    graph = CallGraph(module)
    assert graph.reachable(["main"]) == {"main", "even", "odd"}
    assert [name for name in functions if graph.is_recursive(name)] == ["even", "odd"]
    assert graph.callers("even") == ["main", "odd"]
    order = graph.order()
    assert sorted(order) == sorted(functions)
    assert order.index("even") < order.index("main") < order.index("alone")


def test_operators_are_counted():
    (function,) = parse(CLOSURE).ops
    assert operator_frequency(function) == {"negative": 1, "add": 1}


def test_normal_forms_are_recognized():
    found = 0
    for seed in range(30):
        module = random_program(seed).module
        assert well_formed_problems(module) == []
        found += len(basic_block_normal_form_problems(module))
        run_passes(make_context(), module, [pass_class("to-basic-block-normal-form")()])
        assert basic_block_normal_form_problems(module) == []
    assert found > 0
