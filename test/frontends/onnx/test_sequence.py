"""Sequences and optionals, taken apart at import, against onnxruntime."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from test.support.onnx_graphs import info, model, onnxruntime_run, problems, run


def node(op: str, inputs: list[str], *outputs: str, **attributes: object) -> onnx.NodeProto:
    return helper.make_node(op, inputs, list(outputs), name=outputs[0], **attributes)


def check(
    nodes: list[onnx.NodeProto], outputs: list[onnx.ValueInfoProto], *args: np.ndarray, **weights: object
) -> None:
    declared = [info(name, array.shape) for name, array in zip("xyz", args, strict=False)]
    proto = model(nodes, declared, outputs, weights)
    for expected, found in zip(onnxruntime_run(proto, *args), run(proto, *args), strict=True):
        np.testing.assert_array_equal(found, expected)


X = np.arange(24, dtype=np.float32).reshape(4, 6)


@pytest.mark.parametrize(
    ("inputs", "attributes"),
    [
        (["x"], {}),
        (["x"], {"axis": 1, "keepdims": 0}),
        (["x", "three"], {"axis": -1}),
        (["x", "four"], {"axis": 1}),
        (["x", "sizes"], {"axis": 1, "keepdims": 0}),
    ],
)
def test_split_at_and_length(inputs: list[str], attributes: dict[str, int]):
    nodes = [
        node("SplitToSequence", inputs, "s", **attributes),
        node("SequenceAt", ["s", "one"], "first"),
        node("SequenceAt", ["s", "last"], "end"),
        node("SequenceLength", ["s"], "n"),
    ]
    weights = {"one": np.array(1), "last": np.array(-1), "three": np.array(3), "four": np.array(4)}
    outputs = [info("first"), info("end"), info("n", [], TensorProto.INT64)]
    check(nodes, outputs, X, **weights, sizes=np.array([1, 0, 5]))


@pytest.mark.parametrize("new_axis", [0, 1])
def test_construct_insert_erase_and_join(new_axis: int):
    nodes = [
        node("SequenceConstruct", ["x", "y"], "a"),
        node("SequenceInsert", ["a", "z", "place"], "b"),
        node("SequenceInsert", ["b", "x"], "c"),
        node("SequenceErase", ["c", "place"], "d"),
        node("SequenceErase", ["d"], "e"),
        node("ConcatFromSequence", ["b"], "r", axis=-1, new_axis=new_axis),
        node("ConcatFromSequence", ["e"], "t", axis=0, new_axis=new_axis),
    ]
    check(nodes, [info("r"), info("t")], X, X + 1, X * 2, place=np.array(-1))


def test_a_sequence_that_a_loop_builds():
    body = helper.make_graph(
        [
            node("Identity", ["c"], "go"),
            node("Cast", ["i"], "f", to=TensorProto.FLOAT),
            node("Mul", ["x", "f"], "m"),
            node("SequenceInsert", ["s", "m"], "s1"),
        ],
        "body",
        [
            info("i", [], TensorProto.INT64),
            info("c", [], TensorProto.BOOL),
            helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None),
        ],
        [info("go", [], TensorProto.BOOL), helper.make_tensor_sequence_value_info("s1", TensorProto.FLOAT, None)],
    )
    nodes = [
        node("SequenceEmpty", [], "empty"),
        node("Loop", ["n", "", "empty"], "s2", body=body),
        node("ConcatFromSequence", ["s2"], "r", axis=0),
    ]
    check(nodes, [info("r")], X, n=np.array(3))


def test_inputs_and_outputs_that_are_sequences():
    """Each tensor is an argument or a result of its own."""
    sequence = helper.make_tensor_sequence_value_info
    nodes = [node("SequenceInsert", ["s", "x"], "r")]
    proto = model(
        nodes, [sequence("s", TensorProto.FLOAT, None), info("x", [2])], [sequence("r", TensorProto.FLOAT, None)]
    )
    args = [np.float32([1]), np.float32([2, 3]), np.float32([4, 5])]
    found = run(proto, *args, shapes={"s": [(1,), (2,)]})
    assert [array.tolist() for array in found] == [[1], [2, 3], [4, 5]]
    (problem,) = problems(proto)
    assert problem == "input 's': it is a sequence: bind it to the list of the shapes of its tensors"


def test_optionals():
    type_ = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [2]))
    optional = helper.make_value_info("o", type_)
    branches = {
        f"{name}_branch": helper.make_graph([node(op, inputs, "out")], name, [], [info("out", [2])])
        for name, op, inputs in (("then", "OptionalGetElement", ["o"]), ("else", "Identity", ["x"]))
    }
    nodes = [node("OptionalHasElement", ["o"], "has"), node("If", ["has"], "r", **branches)]
    proto = model(nodes, [optional, info("x", [2])], [info("r", [2])], opset=18)
    x, other = np.float32([1, 2]), np.float32([3, 4])
    np.testing.assert_array_equal(run(proto, other, x, shapes={"o": (2,)})[0], other)
    np.testing.assert_array_equal(run(proto, x, values={"o": None})[0], x)
    assert "bind the shape of its content, or None as its value" in problems(proto)[0]


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node("SequenceConstruct", ["x"], "s"), node("SequenceAt", ["s", "k"], "y")], "must be known when the model"),
        ([node("SequenceConstruct", ["x"], "s"), node("SequenceAt", ["s", "two"], "y")], "position 2 is out of range"),
        (
            [node("SequenceConstruct", ["x"], "s"), node("Relu", ["s"], "y")],
            "is seq(tensor(float)), but must be one of",
        ),
        ([node("SequenceEmpty", [], "s"), node("ConcatFromSequence", ["s"], "y", axis=0)], "an empty sequence"),
        ([node("SplitToSequence", ["x", "two"], "s", axis=3), node("SequenceAt", ["s", "k"], "y")], "axis 3 is out of"),
    ],
)
def test_refused(nodes: list[onnx.NodeProto], message: str):
    proto = model(nodes, [info("x", [2]), info("k", [], TensorProto.INT64)], ["y"], {"two": np.array(2)})
    assert message in problems(proto)[0]
