"""What the importer refuses, and what it says: every problem of a model, with node, operator, opset and attribute."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from test.support.onnx_graphs import info, model, one, problems

X = np.ones((2, 3), np.float32)


def test_every_problem_is_listed():
    nodes = [
        helper.make_node("NoSuchOp", ["x"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="skipped"),
        helper.make_node("Relu", ["x"], ["c"], name="second", slope=1.0),
        helper.make_node("Transpose", ["x"], ["d"], name="third", perm=[0, 0]),
        helper.make_node("Multinomial", ["a"], ["e"], name="fourth"),
        helper.make_node("Add", ["x", "lost"], ["f"], name="fifth"),
    ]
    found = problems(model(nodes, [info("x", [2, 3]), info("s", [1], TensorProto.STRING)], list("bcdef")))
    assert [problem.split(":")[0] for problem in found] == [
        "input 's'",
        "node 'first' NoSuchOp (opset 17)",
        "node 'second' Relu (opset 17)",
        "node 'third' Transpose (opset 17)",
        "node 'fourth' Multinomial (opset 17)",
        "node 'fifth' Add (opset 17)",
    ]
    assert "attribute 'slope' is not supported" in found[2]
    assert "input 'lost' is given by no node, input or initializer" in found[5]


@pytest.mark.parametrize(
    ("op", "attributes", "opset", "message"),
    [
        ("Softmax", {"axis": 5}, 13, "axis 5 is out of range for rank 2"),
        ("Softmax", {"axis": 1.5}, 13, "attribute 'axis' is FLOAT, but must be INT"),
        ("Flatten", {"axis": 3}, 13, "attribute 'axis' is 3, but must be in -2 to 2"),
        ("LeakyRelu", {"alpha": "a"}, 13, "attribute 'alpha' is STRING, but must be FLOAT"),
        ("Cast", {"to": TensorProto.FLOAT8E4M3FN}, 19, "element type FLOAT8E4M3FN is not supported"),
        ("Cast", {"to": 99}, 19, "element type 99 is not supported"),
        ("Cast", {}, 19, "attribute 'to' is required"),
        ("Gelu", {"approximate": "sort of"}, 20, "attribute 'approximate' is 'sort of'; supported: none, tanh"),
        ("Gelu", {}, 19, "the operator does not exist at this opset"),
        ("Upsample", {}, 13, "the operator was removed from ONNX before this opset"),
        ("Dropout", {"is_test": 0}, 6, "training is not supported"),
        ("SpaceToDepth", {"blocksize": 2}, 13, "the input must have 4 dimensions"),
        ("Hardmax", {"axis": 1, "beta": 1.0, "gamma": 1.0}, 13, "attribute 'beta' is not supported; attribute 'gamma'"),
        ("DequantizeLinear", {}, 19, "it has 1 inputs, but takes 2 to 3"),
        ("And", {}, 13, "it has 1 inputs, but takes 2"),
        ("BitwiseNot", {}, 18, "input 0 (X) is tensor(float), but must be one of"),
        ("Reshape", {"shape": [4]}, 1, "cannot be reshaped to [4]"),
    ],
)
def test_refusals(op: str, attributes: dict[str, object], opset: int, message: str):
    (problem,) = problems(one(op, [X], opset, **attributes))
    assert problem.startswith(f"node 'node' {op} (opset {opset}): ")
    assert message in problem


@pytest.mark.parametrize(
    ("op", "inputs", "message"),
    [
        (
            "Add",
            [X, X.astype(np.int32)],
            "input 1 (B) is tensor(int32), but input 'A' is tensor(float): they must agree",
        ),
        ("Add", [X, np.ones(4, np.float32)], "shapes [2, 3] and [4] do not broadcast"),
        ("MatMul", [X, X], "must agree, but are 3 and 2"),
        ("Concat", [X, np.ones((1, 2), np.float32)], "attribute 'axis' is required"),
        ("Gather", [X, np.int64(7)], "an index is out of range for axis 0 of [2, 3]"),
        ("Reshape", [X, np.array([4, -1])], "cannot infer -1 in [4, -1]"),
        ("Reshape", [X, np.array([-1, -1])], "-1"),
        ("Reshape", [X, np.array([-2, 3])], "the shape [-2, 3] has a negative size"),
        ("Expand", [X, np.array([3, 3])], "shapes [2, 3] and [3, 3] do not broadcast"),
        ("Slice", [X, np.array([0]), np.array([1, 2])], "starts, ends, axes and steps have 1, 2, 1, 1 entries"),
        ("Slice", [X, np.array([0]), np.array([1]), np.array([0]), np.array([0])], "a step must not be 0"),
        ("Pad", [X, np.array([0, 1])], "pads must have 4 entries, but is [0, 1]"),
        ("Tile", [X, np.array([2])], "repeats must have 2 entries, but is [2]"),
        ("ConstantOfShape", [np.array([-1])], "the shape [-1] has a negative size"),
        ("TopK", [X, np.array([1, 2])], "input 1 (K) must have one element, but has 2"),
        ("Range", [np.int64(0), np.int64(1), np.int64(0)], "input 2 (delta) must not be 0"),
        ("Range", [np.int64(0), np.int64(1 << 40), np.int64(1)], "at most"),
        ("Clip", [X, np.ones(2, np.float32)], "a limit must be a scalar, but has shape [2]"),
        ("Unsqueeze", [X, np.array([0, 0])], "an axis occurs twice"),
        (
            "OneHot",
            [np.array([0]), np.array([3]), np.ones(3, np.float32)],
            "input 2 (values) must be [off, on], but has shape [3]",
        ),
    ],
)
def test_refused_inputs(op: str, inputs: list[np.ndarray], message: str):
    known = 1 if op not in ("ConstantOfShape", "Range") else 0
    (problem,) = problems(one(op, inputs, 17, known=known))
    assert message in problem


def test_reflection_beyond_the_border_is_refused():
    """numpy bounces to and fro, onnxruntime refuses: so do we."""
    assert (
        "must be less than its size 3 to reflect"
        in problems(one("Pad", [X, np.array([0, 3, 0, 0])], 17, known=1, mode="reflect"))[0]
    )


# Graphs.


def relu(x: str, y: str) -> onnx.NodeProto:
    return helper.make_node("Relu", [x], [y], name=f"{x}.{y}")


@pytest.mark.parametrize(
    ("nodes", "outputs", "message"),
    [
        ([relu("b", "a"), relu("a", "b")], ["b"], "the graph has a cycle through node 'b.a' Relu, node 'a.b' Relu"),
        ([relu("a", "a")], ["a"], "the graph has a cycle through node 'a.a' Relu"),
        ([relu("x", "y"), relu("x", "y")], ["y"], "node 'x.y' Relu (opset 17): the value 'y' is defined twice"),
        ([relu("x", "x")], ["x"], "the value 'x' is defined twice"),
        ([relu("x", "y")], ["z"], "output 'z': no node gives it"),
        ([relu("x", "y")], ["y", "y"], "two outputs have the same name"),
        ([relu("x", "y")], [], "the graph has no outputs"),
        ([relu("missing", "y")], ["y"], "input 'missing' is given by no node, input or initializer"),
        ([relu("x", "")], ["x"], "it has no outputs"),
        ([relu("", "y")], ["y"], "it has 0 inputs, but takes 1"),
    ],
)
def test_malformed_graphs(nodes: list[onnx.NodeProto], outputs: list[str], message: str):
    found = problems(model(nodes, [info("x", [2])], outputs))
    assert any(message in problem for problem in found), found


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (info("x", [2, -3]), "input 'x': it has the negative dimension -3"),
        (info("x", None), "input 'x': the model declares no shape; bind one with --shape x=..."),
        (info("x", [2], TensorProto.COMPLEX64), "element type COMPLEX64 is not supported"),
        (info("x", [2], TensorProto.INT4), "element type INT4 is not supported"),
        (
            helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, [2]),
            "it is a sequence: bind it to the list of the shapes",
        ),
        (onnx.ValueInfoProto(name="x"), "it has no type, but only tensors are supported"),
    ],
)
def test_refused_declarations(declared: onnx.ValueInfoProto, message: str):
    assert message in problems(model([relu("x", "y")], [declared]))[0]


def test_declared_outputs_are_compared():
    node = relu("x", "y")
    wrong = [
        (info("y", [2, 4]), "declares the shape [2, 4], but the nodes give [2, 3]"),
        (info("y", [6]), "declares the shape [6], but the nodes give [2, 3]"),
        (info("y", [2, 3], TensorProto.DOUBLE), "declares float64, but the nodes give float32"),
    ]
    for declared, message in wrong:
        assert message in problems(model([node], [info("x", [2, 3])], [declared]))[0]
    assert not problems(model([node], [info("x", [2, 3])], [info("y", ["n", 3])]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.ClearField("raw_data"), "float_data holds 0 elements, but the shape [2, 3] has 6"),
        (lambda t: t.dims.__setitem__(0, -2), "its shape [-2, 3] has a negative dimension"),
        (lambda t: t.dims.append(1 << 40), "it holds 24 bytes, but float32"),
        (lambda t: setattr(t, "data_type", 77), "element type 77 is not supported"),
        (lambda t: setattr(t, "data_type", TensorProto.STRING), "element type STRING is not supported"),
        (lambda t: setattr(t, "raw_data", bytes(23)), "it holds 23 bytes, but float32[2, 3] takes 24"),
    ],
)
def test_malformed_initializers(change, message: str):
    proto = model([helper.make_node("Add", ["x", "w"], ["y"])], [info("x", [2, 3])], ["y"], {"w": X})
    change(proto.graph.initializer[0])
    (problem,) = problems(proto)
    assert problem.startswith("initializer 'w': ")
    assert message in problem


def test_opset_that_is_newer_than_the_onnx_package():
    found = problems(model([relu("x", "y")], [info("x", [2])], opset=999))
    assert "the model needs opset 999, but the newest that the onnx package" in found[0]


def test_operators_of_unknown_domains():
    node = helper.make_node("FusedMatMul", ["x"], ["y"], name="f", domain="com.microsoft")
    proto = model([node], [info("x", [2])])
    proto.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    assert problems(proto) == ["node 'f' FusedMatMul (com.microsoft 1): the operator is not supported"]


def test_two_initializers_of_one_name():
    proto = model([helper.make_node("Add", ["x", "w"], ["y"])], [info("x", [2, 3])], ["y"], {"w": X})
    proto.graph.initializer.append(proto.graph.initializer[0])
    assert problems(proto) == ["initializer 'w': the value 'w' is defined twice"]
