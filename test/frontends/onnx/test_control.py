"""Loop and Scan, written out and as functions that call themselves, against onnxruntime."""

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import relay_mlir
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


def loop_body(nodes: list[onnx.NodeProto], rows: list[str], shape: list[int | str]) -> onnx.GraphProto:
    """A body of a loop that carries s and gives s1, and go."""
    return helper.make_graph(
        nodes,
        "body",
        [info("i", [], TensorProto.INT64), info("c", [], TensorProto.BOOL), info("s", shape)],
        [info("go", [], TensorProto.BOOL), info("s1", shape), *(info(row, None) for row in rows)],
    )


DOUBLING = [
    helper.make_node("Add", ["s", "s"], ["s1"]),
    helper.make_node("ReduceSum", ["s1"], ["t"], keepdims=0),
    helper.make_node("Less", ["t", "big"], ["go"]),
]
COUNTING = [
    helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
    helper.make_node("Mul", ["f", "w"], ["g"]),
    helper.make_node("Add", ["s", "g"], ["s1"]),
    helper.make_node("Identity", ["c"], ["go"]),
    helper.make_node("Mul", ["s1", "s1"], ["row"]),
]


def compiled(proto: onnx.ModelProto, *args: np.ndarray) -> list[np.ndarray]:
    names = [value.name for value in proto.graph.input]
    return list(relay_mlir.compile(proto)(**dict(zip(names, args, strict=True))).values())


@pytest.mark.parametrize("execute", [run, compiled])
@pytest.mark.parametrize("limit", [3, None])
def test_a_loop_that_depends_on_its_data(execute: Callable[..., list[np.ndarray]], limit: int | None):
    """How often it runs is known at run time only; a limit may end it earlier."""
    node = helper.make_node(
        "Loop", ["" if limit is None else "n", "yes", "x"], ["y"], name="loop", body=loop_body(DOUBLING, [], [2])
    )
    weights = {"yes": np.array(True), "big": np.float32(100), "n": np.array(limit or 0)}
    proto = model([node], [info("x", [2])], [info("y", [2])], weights)
    for x in (np.float32([1, 2]), np.float32([200, 2])):
        np.testing.assert_array_equal(execute(proto, x), onnxruntime_run(proto, x))


@pytest.mark.parametrize("execute", [run, compiled])
def test_a_loop_with_rows_that_is_too_long_to_be_written_out(execute: Callable[..., list[np.ndarray]]):
    node = helper.make_node("Loop", ["n", "", "x"], ["y", "rows"], name="loop", body=loop_body(COUNTING, ["row"], [2]))
    proto = model(
        [node],
        [info("x", [2])],
        [info("y", [2]), info("rows", None)],
        {"n": np.array([300]), "w": np.float32([0.5, 2])},
    )
    x = np.float32([1, -3])
    for expected, found in zip(onnxruntime_run(proto, x), execute(proto, x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("execute", [run, compiled])
def test_a_limit_and_a_condition_that_are_inputs(execute: Callable[..., list[np.ndarray]]):
    node = helper.make_node("Loop", ["n", "go0", "x"], ["y"], name="loop", body=loop_body(COUNTING[:4], [], [2]))
    inputs = [info("n", [], TensorProto.INT64), info("go0", [], TensorProto.BOOL), info("x", [2])]
    proto = model([node], inputs, [info("y", [2])], {"w": np.float32([0.5, 2])})
    for n, go in ((5, True), (5, False), (0, True), (1000, True)):
        args = np.array(n), np.array(go), np.float32([1, 2])
        np.testing.assert_allclose(execute(proto, *args), onnxruntime_run(proto, *args), rtol=1e-6)


def test_rows_of_an_unknown_number_of_iterations():
    nodes = [*DOUBLING, helper.make_node("Neg", ["s1"], ["row"])]
    node = helper.make_node("Loop", ["", "yes", "x"], ["y", "rows"], name="loop", body=loop_body(nodes, ["row"], [2]))
    weights = {"yes": np.array(True), "big": np.float32(100)}
    proto = model([node], [info("x", [2])], [info("y", [2]), info("rows", None)], weights)
    for x in (np.float32([1, 2]), np.float32([200, 2])):
        for expected, found in zip(onnxruntime_run(proto, x), run(proto, x), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_a_carried_value_that_grows():
    nodes = [
        helper.make_node("Concat", ["s", "w"], ["s1"], axis=0),
        helper.make_node("Identity", ["c"], ["go"]),
    ]
    node = helper.make_node("Loop", ["n", "", "x"], ["y"], name="loop", body=loop_body(nodes, [], ["k"]))
    proto = model([node], [info("n", [], TensorProto.INT64), info("x", [2])], [info("y", None)], {"w": np.float32([5])})
    for n in (0, 1, 4):
        args = np.array(n), np.float32([1, 2])
        np.testing.assert_array_equal(run(proto, *args)[0], onnxruntime_run(proto, *args)[0])


@pytest.mark.parametrize("execute", [run, compiled])
def test_a_scan_that_is_too_long_to_be_written_out(execute: Callable[..., list[np.ndarray]]):
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "a"], ["s1"]), helper.make_node("Mul", ["s1", "w"], ["row"])],
        "body",
        [info("s", [3]), info("a", [3])],
        [info("s1", [3]), info("row", [3])],
    )
    directions = {"scan_input_directions": [1], "scan_output_directions": [1]}
    axes = {"scan_input_axes": [1], "scan_output_axes": [-1]}
    for attributes in ({}, directions, axes, axes | directions):
        node = helper.make_node(
            "Scan", ["x", "p"], ["last", "all"], name="scan", body=body, num_scan_inputs=1, **attributes
        )
        inputs = [info("x", [3]), info("p", [3, 150] if "scan_input_axes" in attributes else [150, 3])]
        proto = model([node], inputs, [info("last", [3]), info("all", None)], {"w": np.float32([0.5, 2, -1])})
        shapes = [[dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in proto.graph.input]
        args = [RANDOM.standard_normal(shape).astype(np.float32) for shape in shapes]
        for expected, found in zip(onnxruntime_run(proto, *args), execute(proto, *args), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_an_endless_loop_is_refused():
    body = loop_body([helper.make_node("Identity", ["c"], ["go"]), helper.make_node("Neg", ["s"], ["s1"])], [], [2])
    node = helper.make_node("Loop", ["", "", "x"], ["y"], name="loop", body=body)
    assert "it would never end" in problems(model([node], [info("x", [2])]))[0]


def test_a_carried_value_that_changes_its_rank_is_refused():
    nodes = [helper.make_node("Unsqueeze", ["s", "zero"], ["s1"]), helper.make_node("Identity", ["c"], ["go"])]
    node = helper.make_node("Loop", ["n", "", "x"], ["y"], name="loop", body=loop_body(nodes, [], [2]))
    inputs = [info("n", [], TensorProto.INT64), info("x", [2])]
    (problem,) = problems(model([node], inputs, ["y"], {"zero": np.array([0])}))
    assert "value 0 carried by the loop is f32 [2] or f32 [1, 2]: no type stands for both" in problem
