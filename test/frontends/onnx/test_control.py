"""Loops that are written out: Scan, and Loop with a number of iterations known at import."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from test.support.onnx_graphs import info, model, onnxruntime_run, problems, run

RANDOM = np.random.default_rng(5)


def scanning(**attributes: object) -> onnx.ModelProto:
    """Running sums and products with the elements of two sequences; reads a weight from outside of the body."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["s", "a"], ["s1"]),
            helper.make_node("Mul", ["s1", "w"], ["s2"]),
            helper.make_node("Mul", ["s1", "b"], ["r"]),
        ],
        "body",
        [info("s", [3]), info("a", [3]), info("b", [3])],
        [info("s2", [3]), info("r", [3])],
    )
    node = helper.make_node(
        "Scan", ["x", "p", "q"], ["last", "all"], name="scan", body=body, num_scan_inputs=2, **attributes
    )
    shapes = [[4, 3], [4, 3]] if "scan_input_axes" not in attributes else [[3, 4], [4, 3]]
    inputs = [info("x", [3]), info("p", shapes[0]), info("q", shapes[1])]
    return model([node], inputs, [info("last", [3]), info("all", None)], {"w": np.float32([0.5, 2, -1])})


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"scan_input_directions": [1, 0], "scan_output_directions": [1]},
        {"scan_input_axes": [1, 0], "scan_output_axes": [1]},
    ],
)
def test_scan(attributes: dict[str, object]):
    proto = scanning(**attributes)
    shapes = [[dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in proto.graph.input]
    inputs = [RANDOM.standard_normal(shape).astype(np.float32) for shape in shapes]
    for expected, found in zip(onnxruntime_run(proto, *inputs), run(proto, *inputs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def looping(bound: bool = True) -> onnx.ModelProto:
    """Adds the iteration's number while the next one is below a limit; stacks the sums."""
    body = helper.make_graph(
        [
            helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
            helper.make_node("Add", ["s", "f"], ["s1"]),
            helper.make_node("Less", ["i", "limit"], ["go"]),
            helper.make_node("Identity", ["s1"], ["row"]),
        ],
        "body",
        [info("i", [], TensorProto.INT64), info("c", [], TensorProto.BOOL), info("s", [2])],
        [info("go", [], TensorProto.BOOL), info("s1", [2]), info("row", [2])],
    )
    node = helper.make_node("Loop", ["n" if bound else "", "yes", "x"], ["last", "rows"], name="loop", body=body)
    weights = {"yes": np.array(True), "n": np.array(9), "limit": np.array(4)}
    return model([node], [info("x", [2])], [info("last", [2]), info("rows", None)], weights)


@pytest.mark.parametrize("bound", [True, False])
def test_loop(bound: bool):
    x = np.float32([1, -2])
    expected = onnxruntime_run(looping(bound), x)
    assert expected[1].shape == (5, 2)
    for a, b in zip(expected, run(looping(bound), x), strict=True):
        np.testing.assert_array_equal(b, a)


def test_a_loop_that_depends_on_its_data_is_refused():
    body = helper.make_graph(
        [
            helper.make_node("Add", ["s", "s"], ["s1"]),
            helper.make_node("ReduceSum", ["s1"], ["t"], keepdims=0),
            helper.make_node("Less", ["t", "big"], ["go"]),
        ],
        "body",
        [info("i", [], TensorProto.INT64), info("c", [], TensorProto.BOOL), info("s", [2])],
        [info("go", [], TensorProto.BOOL), info("s1", [2])],
    )
    node = helper.make_node("Loop", ["", "yes", "x"], ["y"], name="loop", body=body)
    weights = {"yes": np.array(True), "big": np.float32(100)}
    (problem,) = problems(model([node], [info("x", [2])], ["y"], weights))
    assert problem.startswith("node 'loop' Loop (opset 17): whether a loop goes on must be known")


def test_an_endless_loop_is_refused():
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["go"]), helper.make_node("Neg", ["s"], ["s1"])],
        "body",
        [info("i", [], TensorProto.INT64), info("c", [], TensorProto.BOOL), info("s", [2])],
        [info("go", [], TensorProto.BOOL), info("s1", [2])],
    )
    node = helper.make_node("Loop", ["", "", "x"], ["y"], name="loop", body=body)
    assert "loops of at most 128 iterations are supported" in problems(model([node], [info("x", [2])]))[0]
