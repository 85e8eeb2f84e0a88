"""What the importer makes of models as a whole: names, weights, locations, shapes, scopes."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from relay_mlir.dialects.relay.core import FuncOp, IfOp, WeightOp
from relay_mlir.dialects.relay.op import RelayOp
from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.frontends.onnx import import_onnx
from test.support.onnx_graphs import info, model, onnxruntime_run, problems, run

RANDOM = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def main_of(module) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp))


def test_names_weights_and_locations():
    nodes = [
        helper.make_node("Gemm", ["input.1", "fc.weight", "fc.bias"], ["h"], name="/fc/Gemm", transB=1),
        helper.make_node("Relu", ["h"], ["out 1"]),
    ]
    weights = {"fc.weight": floats(32, 8), "fc.bias": floats(32), "unused": floats(99)}
    ctx = RelayContext()
    module = import_onnx(model(nodes, [info("input.1", [2, 8])], ["out 1"], weights), ctx)
    main = main_of(module)
    assert main.names("input_names") == ["input.1"]
    assert main.names("output_names") == ["out 1"]
    assert sorted(ctx.weights) == ["fc.bias", "fc.weight"]
    np.testing.assert_array_equal(ctx.weights["fc.weight"], weights["fc.weight"])
    operators = [(op.name, str(op.location)) for op in main.block.ops if isinstance(op, RelayOp)]
    assert operators == [
        ("relay.nn.dense", 'loc("/fc/Gemm")'),
        ("relay.nn.bias_add", 'loc("/fc/Gemm")'),
        ("relay.nn.relu", 'loc("Relu")'),
    ]


def test_small_constants_are_inline_and_large_ones_are_weights():
    weights = {"small": floats(16), "large": floats(17)}
    nodes = [helper.make_node("Add", ["x", "small"], ["y"]), helper.make_node("Add", ["z", "large"], ["w"])]
    ctx = RelayContext()
    module = import_onnx(model(nodes, [info("x", [16]), info("z", [17])], ["y", "w"], weights), ctx)
    assert [op.key.data for op in module.walk() if isinstance(op, WeightOp)] == ["large"]
    assert list(ctx.weights) == ["large"]


@pytest.mark.parametrize("first", [True, False])
def test_initializers_among_the_inputs(first: bool):
    """Files of IR version 3 list weights as inputs, before or after the real ones."""
    x, w = info("x", [2, 3]), info("w", [3, 20])
    proto = model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], [w, x] if first else [x, w], ["y"], {"w": floats(3, 20)}
    )
    proto.ir_version = 3
    data = floats(2, 3)
    np.testing.assert_allclose(run(proto, data)[0], onnxruntime_run(proto, data)[0], rtol=1e-5, atol=1e-6)


def test_weights_in_constant_nodes_keep_their_names():
    value = numpy_helper.from_array(floats(3, 20))
    nodes = [
        helper.make_node("Constant", [], ["conv.w"], value=value),
        helper.make_node("MatMul", ["x", "conv.w"], ["y"]),
    ]
    ctx = RelayContext()
    import_onnx(model(nodes, [info("x", [2, 3])]), ctx)
    assert list(ctx.weights) == ["conv.w"]


def test_a_refused_model_leaves_no_weights():
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("NoSuchOp", ["h"], ["y"])]
    ctx = RelayContext()
    with pytest.raises(Exception, match="NoSuchOp"):
        import_onnx(model(nodes, [info("x", [2, 3])], ["y"], {"w": floats(3, 20)}), ctx)
    assert not list(ctx.weights)


# Shapes.


def flattening(rest: int = 12) -> onnx.ModelProto:
    """Reshape(x, [Shape(x)[0], 12]), as exporters write a flatten with an open batch."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Cast", ["s"], ["s32"], to=TensorProto.INT32),
        helper.make_node("Slice", ["s32", "begin", "end"], ["front"]),
        helper.make_node("Cast", ["front"], ["front64"], to=TensorProto.INT64),
        helper.make_node("Gather", ["front64", "zero"], ["n"]),
        helper.make_node("Unsqueeze", ["n", "axes"], ["nv"]),
        helper.make_node("Concat", ["nv", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]
    weights = {
        "begin": np.array([0]),
        "end": np.array([-1]),
        "zero": np.int64(0),
        "axes": np.array([0]),
        "rest": np.array([rest]),
    }
    return model(nodes, [info("x", ["batch", 3, 4])], ["y"], weights)


def test_shape_arithmetic_on_open_dimensions():
    ctx = RelayContext()
    module = import_onnx(flattening(), ctx)
    main = main_of(module)
    assert [op.name for op in main.block.ops] == ["relay.reshape", "relay.return"]
    assert str(main.function_type) == "(tensor<?x3x4xf32>) -> tensor<?x12xf32>"


def test_an_inferred_size_beside_an_open_one():
    main = main_of(import_onnx(flattening(-1), RelayContext()))
    assert str(main.function_type) == "(tensor<?x3x4xf32>) -> tensor<?x12xf32>"
    assert '[["batch", "", ""]]' in str(main)


def test_open_sizes_that_no_reshape_can_tell_are_refused():
    nodes = [
        helper.make_node("Reshape", ["x", "flat"], ["f"]),
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Reshape", ["f", "s"], ["y"]),
    ]
    refused = model(nodes, [info("x", ["a", "b"])], ["y"], {"flat": np.array([-1])})
    assert "input 1 (shape) must be known" in problems(refused)[0]
    assert not problems(refused, shapes={"a": 2})


@pytest.mark.parametrize("shapes", [{"x": (5, 3, 4)}, {"batch": 5}])
def test_bound_dimensions(shapes: dict[str, object]):
    data = floats(5, 3, 4)
    module = import_onnx(flattening(), RelayContext(), shapes)
    assert str(main_of(module).function_type) == "(tensor<5x3x4xf32>) -> tensor<5x12xf32>"
    np.testing.assert_array_equal(run(flattening(), data, shapes=shapes)[0], data.reshape(5, 12))


def test_a_bound_input_binds_its_dimensions_everywhere():
    node = helper.make_node("Add", ["a", "b"], ["y"])
    proto = model([node], [info("a", ["n", 2]), info("b", ["n", 2])])
    module = import_onnx(proto, RelayContext(), {"a": (7, 2)})
    assert str(main_of(module).function_type) == "(tensor<7x2xf32>, tensor<7x2xf32>) -> tensor<7x2xf32>"


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"x": (5, 9, 4)}, "has 9 where the model has 3"),
        ({"x": (5, 3)}, "has rank 2, but the model declares 3"),
        ({"y": (5, 3, 4)}, "'y' is bound, but is not an input; the inputs are 'x'"),
        ({"n": 5}, "'n' is bound, but is not a dimension; the named dimensions are 'batch'"),
        ({"x": (5, 3, 4), "batch": 6}, "has 5 where dimension 'batch' has 6"),
        ({"x": (-1, 3, 4)}, "negative"),
    ],
)
def test_contradicting_bindings(shapes: dict[str, object], message: str):
    assert message in problems(flattening(), shapes=shapes)[0]


def test_open_dimensions_that_an_operator_needs():
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="c", auto_pad="SAME_UPPER")
    proto = model([node], [info("x", [1, 3, "h", 8])], ["y"], {"w": floats(4, 3, 3, 3)})
    (problem,) = problems(proto)
    assert problem.startswith("node 'c' Conv (opset 17): auto_pad = SAME_UPPER needs the spatial dimensions")
    assert "--shape" in problem
    assert not problems(proto, shapes={"h": 8})


def test_values_make_inputs_part_of_the_program():
    node = helper.make_node("Reshape", ["x", "s"], ["y"], name="r")
    proto = model([node], [info("x", [2, 3]), info("s", [2], TensorProto.INT64)])
    (problem,) = problems(proto)
    assert "input 1 (shape) must be known when the model is imported" in problem
    data = floats(2, 3)
    for target in (np.array([3, 2]), [3, 2]):
        np.testing.assert_array_equal(run(proto, data, values={"s": target})[0], data.reshape(3, 2))
    assert "bound value is int32[2]" in problems(proto, values={"s": np.array([3, 2], np.int32)})[0]


def test_constant_expressions_are_computed():
    nodes = [
        helper.make_node("Div", ["a", "b"], ["q"]),
        helper.make_node("Range", ["zero", "q", "one"], ["r"]),
        helper.make_node("Add", ["x", "r"], ["y"]),
    ]
    weights = {"a": np.int64(-7), "b": np.int64(-2), "zero": np.int64(0), "one": np.int64(1)}
    proto = model(nodes, [info("x", [3], TensorProto.INT64)], ["y"], weights)
    assert [op.name for op in main_of(import_onnx(proto, RelayContext())).block.ops] == [
        "relay.constant",
        "relay.add",
        "relay.return",
    ]
    np.testing.assert_array_equal(run(proto, np.array([1, 2, 3]))[0], [1, 3, 5])


# Branches and functions.


def branch(name: str, op: str, *inputs: str) -> onnx.GraphProto:
    return helper.make_graph([helper.make_node(op, list(inputs), [f"{name}.r"])], name, [], [info(f"{name}.r")])


def choosing() -> onnx.ModelProto:
    """Branches that read values of the graph around them, weights among them."""
    nodes = [
        helper.make_node("Neg", ["x"], ["n"]),
        helper.make_node(
            "If", ["c"], ["b"], then_branch=branch("t", "Add", "n", "w"), else_branch=branch("e", "Abs", "n")
        ),
        helper.make_node("Mul", ["b", "w"], ["y"]),
    ]
    return model(nodes, [info("c", [], TensorProto.BOOL), info("x", [20])], ["y"], {"w": floats(20)})


@pytest.mark.parametrize("condition", [True, False])
def test_if(condition: bool):
    proto = choosing()
    module = import_onnx(proto, RelayContext())
    assert sum(isinstance(op, IfOp) for op in module.walk()) == 1
    c, x = np.array(condition), floats(20)
    (expected,) = onnxruntime_run(proto, c, x)
    np.testing.assert_array_equal(run(proto, c, x)[0], expected)
    folded = import_onnx(proto, RelayContext(), values={"c": c})
    assert not any(isinstance(op, IfOp) for op in folded.walk())
    np.testing.assert_array_equal(run(proto, x, values={"c": c})[0], expected)


def of_two_shapes(*shape: int) -> onnx.ModelProto:
    """A choice between x and z, of shape [2] and of this shape."""
    node = helper.make_node(
        "If", ["c"], ["y"], name="i", then_branch=branch("t", "Relu", "x"), else_branch=branch("e", "Relu", "z")
    )
    return model([node], [info("c", [], TensorProto.BOOL), info("x", [2]), info("z", shape)], [info("y", None)])


@pytest.mark.parametrize("condition", [True, False])
def test_branches_of_different_sizes(condition: bool):
    args = np.array(condition), floats(2), floats(3)
    np.testing.assert_array_equal(run(of_two_shapes(3), *args)[0], onnxruntime_run(of_two_shapes(3), *args)[0])


def test_branches_of_different_ranks_are_refused():
    (problem,) = problems(of_two_shapes(3, 1))
    assert problem.endswith("output 0 of the branches is f32 [2] or f32 [3, 1]: no type stands for both")


def test_functions_of_the_model():
    body = [helper.make_node("Constant", [], ["k"]), helper.make_node("Mul", ["a", "k"], ["out"])]
    reference = body[0].attribute.add()
    reference.name, reference.ref_attr_name, reference.type = "value_float", "factor", onnx.AttributeProto.FLOAT
    function = helper.make_function(
        "own", "scaled", ["a"], ["out"], body, [helper.make_opsetid("", 17)], attributes=["factor"]
    )
    nodes = [
        helper.make_node("scaled", ["x"], ["h"], domain="own", factor=2.0),
        helper.make_node("scaled", ["h"], ["y"], domain="own", factor=3.0, name="second"),
    ]
    proto = model(nodes, [info("x", [2])], functions=[function])
    proto.opset_import.append(helper.make_opsetid("own", 1))
    np.testing.assert_array_equal(run(proto, np.float32([1, -2]))[0], [6, -12])
    nodes[1].attribute.append(helper.make_attribute("other", 1))
    proto = model(nodes, [info("x", [2])], functions=[function])
    proto.opset_import.append(helper.make_opsetid("own", 1))
    assert problems(proto) == ["node 'second' scaled (own 1): the function has no attribute 'other'"]


def test_functions_that_call_each_other_without_end():
    function = helper.make_function(
        "own", "f", ["a"], ["b"], [helper.make_node("f", ["a"], ["b"], domain="own")], [helper.make_opsetid("own", 1)]
    )
    proto = model([helper.make_node("f", ["x"], ["y"], domain="own")], [info("x", [2])], functions=[function])
    proto.opset_import.append(helper.make_opsetid("own", 1))
    assert "functions call each other without end" in problems(proto)[0]


# Order.


def test_nodes_out_of_order_are_sorted():
    nodes = [
        helper.make_node("Relu", ["h"], ["y"]),
        helper.make_node("If", ["c"], ["h"], then_branch=branch("t", "Neg", "g"), else_branch=branch("e", "Abs", "g")),
        helper.make_node("Neg", ["x"], ["g"]),
    ]
    proto = model(nodes, [info("x", [4]), info("c", [], TensorProto.BOOL)])
    data = floats(4)
    np.testing.assert_array_equal(run(proto, data, np.array(True))[0], np.maximum(data, 0))


def test_external_data(tmp_path: Path):
    weight = floats(3, 500)
    proto = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [info("x", [2, 3])], ["y"], {"w": weight})
    path = tmp_path / "model.onnx"
    onnx.save(proto, str(path), save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert (tmp_path / "weights.bin").stat().st_size >= weight.nbytes
    ctx = RelayContext()
    import_onnx(path, ctx)
    np.testing.assert_array_equal(ctx.weights["w"], weight)


@pytest.mark.parametrize("location", ["../secret", "/etc/passwd", ".", "", "absent.bin"])
def test_external_data_outside_of_the_folder(location: str, tmp_path: Path):
    (tmp_path / "secret").write_bytes(bytes(4096))
    folder = tmp_path / "model"
    folder.mkdir()
    proto = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [info("x", [2, 3])], ["y"], {"w": floats(3, 20)})
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    path = folder / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    with pytest.raises(Exception, match="initializer 'w': external data file"):
        import_onnx(path, RelayContext())


def test_external_data_beyond_the_end_of_the_file(tmp_path: Path):
    proto = model([helper.make_node("MatMul", ["x", "w"], ["y"])], [info("x", [2, 3])], ["y"], {"w": floats(3, 20)})
    path = tmp_path / "model.onnx"
    onnx.save(proto, str(path), save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path / "weights.bin").write_bytes(bytes(100))
    with pytest.raises(Exception, match=r"needs bytes 0 to 240 of a file of 100 bytes"):
        import_onnx(path, RelayContext())


def test_large_tensors_stay_in_the_file(tmp_path: Path):
    """The weights of a file are mapped, whatever lies before them; the arrays are aligned all the same."""
    weights = {f"w{at}" + "x" * at: floats(8, 40 + at) for at in range(4)}
    nodes = [helper.make_node("MatMul", ["x", name], [f"y{at}"]) for at, name in enumerate(weights)]
    proto = model(nodes, [info("x", [2, 8])], [f"y{at}" for at in range(4)], weights)
    path = tmp_path / "model.onnx"
    onnx.save(proto, str(path))
    ctx = RelayContext()
    import_onnx(path, ctx)
    for name, weight in weights.items():
        np.testing.assert_array_equal(ctx.weights[name], weight)
        assert ctx.weights[name].flags.aligned


def test_sparse_initializer():
    dense = np.zeros((4, 5), np.float32)
    dense[1, 2], dense[3, 4] = 3, 7
    values = numpy_helper.from_array(np.float32([3, 7]), "w")
    for indices in (np.array([7, 19]), np.array([[1, 2], [3, 4]])):
        sparse = helper.make_sparse_tensor(values, numpy_helper.from_array(indices), [4, 5])
        proto = model([helper.make_node("Add", ["x", "w"], ["y"])], [info("x", [4, 5])])
        proto.graph.sparse_initializer.append(sparse)
        np.testing.assert_array_equal(run(proto, np.zeros((4, 5), np.float32))[0], dense)
    proto.graph.sparse_initializer[0].indices.CopyFrom(numpy_helper.from_array(np.array([7, 20])))
    assert "an index is outside" in problems(proto)[0]


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint16", "uint64", "int64", "bool"])
def test_element_types_of_weights(dtype: str):
    weight = (RANDOM.standard_normal((3, 7)) * 9).astype(dtype)
    proto = model([helper.make_node("Identity", ["w"], ["y"])], [], ["y"], {"w": weight})
    np.testing.assert_array_equal(run(proto)[0], weight)
    assert run(proto)[0].dtype == weight.dtype


def test_bfloat16_weights():
    import ml_dtypes

    weight = np.float32([1.5, -2, np.inf, np.nan] * 5).astype(ml_dtypes.bfloat16)
    tensor = helper.make_tensor("w", TensorProto.BFLOAT16, [20], weight.view(np.uint16).tobytes(), raw=True)
    proto = model([helper.make_node("Identity", ["w"], ["y"])], [])
    proto.graph.initializer.append(tensor)
    found = run(proto)[0]
    assert found.dtype == weight.dtype
    np.testing.assert_array_equal(found.view(np.uint16), weight.view(np.uint16))


def test_a_branch_that_cannot_be_imported():
    """Its problems are told, and how to import the other one alone."""
    node = helper.make_node(
        "If", ["c"], ["y"], name="i", then_branch=branch("t", "Relu", "x"), else_branch=branch("e", "Einsum", "x")
    )
    proto = model([node], [info("c", [], TensorProto.BOOL), info("x", [2])], [info("y", [2])])
    inner, outer = problems(proto)
    assert "Einsum" in inner
    assert "its else_branch has problems of its own; where the other one is always taken" in outer
    assert not problems(proto, values={"c": np.array(True)})
