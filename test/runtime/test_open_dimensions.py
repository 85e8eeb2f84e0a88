"""Programs with dimensions that are known at run time only: one artefact serves every size, as onnxruntime has it."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import relay_mlir
from relay_mlir.dialects.errors import CompileError, InputError
from relay_mlir.lowering.pass_manager import run_passes
from relay_mlir.runtime.compiler import Options, compile_module, import_model, make_context, pipeline
from relay_mlir.runtime.executable import Executable

MLIR_OPT = shutil.which("mlir-opt-22")


class Network:
    """Collects nodes and weights of a model."""

    def __init__(self, seed: int = 0):
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, *shape: int) -> str:
        name = f"w{len(self.weights)}"
        scale = 1 / np.sqrt(max(1, np.prod(shape[1:], dtype=int)))
        array = (self.rng.standard_normal(shape) * scale).astype(np.float32)
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def ints(self, *values: int) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def node(self, op: str, *inputs: str, **attributes: object) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"/{op}{len(self.nodes)}", **attributes))
        return name

    def model(self, inputs: dict[str, list[int | str]], output: str, rank: int) -> onnx.ModelProto:
        given = [helper.make_tensor_value_info(name, 1, shape) for name, shape in inputs.items()]
        result = helper.make_tensor_value_info(output, 1, [None] * rank)
        graph = helper.make_graph(self.nodes, "test", given, [result], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def convolutions() -> onnx.ModelProto:
    """Convolutions with stride, groups and padding, pools, a residual, a dense layer; the batch is open."""
    net = Network()

    def conv(x: str, inputs: int, outputs: int, size: int, **attributes: object) -> str:
        groups = attributes.get("group", 1)
        assert isinstance(groups, int)
        pads = [size // 2] * 4
        weight = net.weight(outputs, inputs // groups, size, size)
        return net.node("Relu", net.node("Conv", x, weight, net.weight(outputs), pads=pads, **attributes))

    x = conv("x", 3, 16, 7, strides=[2, 2])
    x = net.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    y = conv(conv(x, 16, 16, 3), 16, 16, 3)
    x = net.node("Add", x, y)
    x = conv(x, 16, 16, 3, group=16)
    x = conv(x, 16, 40, 1)
    x = net.node("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 1, 1])
    x = net.node("Flatten", net.node("GlobalAveragePool", x))
    x = net.node("Softmax", net.node("Gemm", x, net.weight(10, 40), net.weight(10), transB=1), axis=1)
    return net.model({"x": ["N", 3, 30, 30]}, x, 2)


def winograd() -> onnx.ModelProto:
    """A convolution that Winograd's products compute."""
    net = Network()
    x = net.node("Conv", "x", net.weight(32, 32, 3, 3), pads=[1] * 4)
    return net.model({"x": ["N", 32, 17, 18]}, net.node("Relu", x), 4)


def encoder(batch: int | str = "B") -> onnx.ModelProto:
    """Attention and a feed-forward layer; the sequence is open, and the batch where it is not given."""
    net, width, heads = Network(), 32, 4
    attention: list[str] = []
    for axes in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        y = net.node("Add", net.node("MatMul", "x", net.weight(width, width)), net.weight(width))
        y = net.node("Reshape", y, net.ints(0, 0, heads, width // heads))
        attention.append(net.node("Transpose", y, perm=axes))
    scores = net.node("Add", net.node("MatMul", *attention[:2]), "mask")
    mixed = net.node("MatMul", net.node("Softmax", scores, axis=-1), attention[2])
    mixed = net.node("Transpose", mixed, perm=[0, 2, 1, 3])
    shape = net.node("Shape", "x")
    parts = [net.node("Gather", shape, net.ints(at)) for at in (0, 1)]
    target = net.node("Concat", *parts, net.ints(width), axis=0)
    x = net.node("Add", "x", net.node("MatMul", net.node("Reshape", mixed, target), net.weight(width, width)))
    x = net.node("LayerNormalization", x, net.weight(width), net.weight(width), axis=-1)
    inner = net.node("Sigmoid", net.node("MatMul", x, net.weight(width, 72)))
    x = net.node("Add", x, net.node("MatMul", inner, net.weight(72, width)))
    return net.model({"x": [batch, "S", width], "mask": [batch, 1, 1, "S"]}, x, 3)


def embeddings() -> onnx.ModelProto:
    """Position embeddings as exporters write them: a table cut to the sequence and stretched to the batch."""
    net = Network()
    length = net.node("Gather", net.node("Shape", "x"), net.ints(1))
    positions = net.node("Slice", net.weight(1, 40), net.ints(0), length, net.ints(1))
    shape = net.node("Concat", net.node("Shape", "x"), net.ints(), axis=0)
    ones = net.node("ConstantOfShape", net.ints(2), value=numpy_helper.from_array(np.array([1], np.int64)))
    wanted = net.node("Equal", shape, net.node("Mul", ones, net.ints(-1)))
    target = net.node("Where", wanted, ones, shape)
    return net.model({"x": ["B", "S"]}, net.node("Add", "x", net.node("Expand", positions, target)), 2)


def compare(model: onnx.ModelProto, exe: Executable, arrays: dict[str, np.ndarray]) -> None:
    """Runs both; sizes of 0, which onnxruntime does not take everywhere, are compared in shape only."""
    (found,) = exe.run(arrays).values()
    if all(array.size for array in arrays.values()):
        session = onnxruntime.InferenceSession(model.SerializeToString())
        (expected,) = session.run(None, arrays)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("threads", [1, 2])
def test_batch(threads: int):
    model = convolutions()
    exe = relay_mlir.compile(model, threads=threads)
    assert exe.inputs[0].shape == (None, 3, 30, 30)
    assert exe.outputs[0].shape == (None, 10)
    for n in (1, 2, 3, 5, 7, 8, 13, 16, 17, 33):
        compare(model, exe, {"x": floats(n, 3, 30, 30)})
    assert exe.run({"x": floats(0, 3, 30, 30)})["v" + str(len(model.graph.node) - 1)].shape == (0, 10)


def test_batch_of_winograd_products():
    model = winograd()
    exe = relay_mlir.compile(model)
    for n in (1, 2, 5, 0):
        compare(model, exe, {"x": floats(n, 32, 17, 18)})


def test_sequence():
    model = encoder(1)
    exe = relay_mlir.compile(model)
    for s in (1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 64, 100):
        compare(model, exe, {"x": floats(1, s, 32), "mask": floats(1, 1, 1, s)})


def test_batch_and_sequence():
    model = encoder()
    exe = relay_mlir.compile(model)
    for b, s in ((1, 1), (1, 16), (2, 1), (2, 5), (3, 17), (4, 33), (5, 8), (7, 31), (1, 50), (2, 64), (0, 4)):
        compare(model, exe, {"x": floats(b, s, 32), "mask": floats(b, 1, 1, s)})


def test_a_table_cut_to_the_length():
    model = embeddings()
    exe = relay_mlir.compile(model)
    for b, s in ((1, 1), (3, 7), (2, 40), (0, 3)):
        compare(model, exe, {"x": floats(b, s)})
    with pytest.raises(InputError, match=r"/Slice\d: x.shape\[1\] must be at most 40, but they are 41 and 40"):
        exe.run({"x": floats(2, 41)})


def test_sizes_that_disagree_name_the_inputs():
    exe = relay_mlir.compile(encoder())
    with pytest.raises(InputError, match=r"mask.shape\[0\] and x.shape\[0\] must be equal, but they are 3 and 2"):
        exe.run({"x": floats(2, 5, 32), "mask": floats(3, 1, 1, 5)})
    with pytest.raises(InputError, match=r"mask.shape\[3\] and x.shape\[1\] must be equal, but they are 1 and 5"):
        exe.run({"x": floats(2, 5, 32), "mask": floats(2, 1, 1, 1)})
    with pytest.raises(InputError, match=r"input 'x' has the shape \[2, 5, 31\]; expected float32\[\?, \?, 32\]"):
        exe.run({"x": floats(2, 5, 31), "mask": floats(2, 1, 1, 5)})


RELAY = """
relay.func @main(%x: tensor<?x4xf32>, %y: tensor<?x?xf32>) -> tensor<?x4xf32>
    attributes {input_names = ["x", "y"], output_names = ["z"]} {
  %0 = relay.add %x, %y : (tensor<?x4xf32>, tensor<?x?xf32>) -> tensor<?x4xf32> loc("/block/100%/add")
  relay.return %0 : tensor<?x4xf32>
}
"""


def program(folder: Path, text: str, **options: object) -> Executable:
    (folder / "m.mlir").write_text(text)
    ctx = make_context()
    return Executable(compile_module(import_model(folder / "m.mlir", ctx), ctx, Options(**options)))


def test_sizes_that_disagree_name_the_operator(tmp_path: Path):
    exe = program(tmp_path, RELAY)
    x, y = floats(3, 4), floats(3, 4)
    np.testing.assert_array_equal(exe.run({"x": x, "y": y})["z"], x + y)
    with pytest.raises(InputError, match=r"^/block/100%/add: y.shape.1. and 4 must be equal, but they are 5 and 4$"):
        exe.run({"x": x, "y": floats(3, 5)})
    # An open dimension is equal to the other, and not 1 that is stretched.
    with pytest.raises(InputError, match=r"/block/100%/add: y.shape.0. and x.shape.0. must be equal, but they are 1"):
        exe.run({"x": x, "y": floats(1, 4)})


def test_a_size_that_depends_on_data_is_refused(tmp_path: Path):
    text = """relay.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = relay.strided_slice %x {begin = [1], end = [3]} : (tensor<?xf32>) -> tensor<?xf32>
  relay.return %0 : tensor<?xf32>
}"""
    with pytest.raises(CompileError, match="cannot be told from the sizes of the operands"):
        program(tmp_path, text)


def test_shared_library(tmp_path: Path):
    exe = program(tmp_path, RELAY, prefix="open")
    exe.save(tmp_path / "open.so")
    lib = ctypes.CDLL(str(tmp_path / "open.so"))
    assert "open_run_shaped(" in exe.header()
    assert "open_run(" not in exe.header()
    lib.open_input_shape.restype = ctypes.POINTER(ctypes.c_int64)
    assert lib.open_input_shape(0)[:2] == [-1, 4]
    model = ctypes.c_void_p()
    assert lib.open_create(ctypes.byref(model)) == 0

    def sizes(*shapes: tuple[int, ...]) -> ctypes.Array[ctypes.c_void_p]:
        lists = [(ctypes.c_int64 * 2)(*shape) for shape in shapes]
        made = (ctypes.c_void_p * len(lists))(*(ctypes.addressof(each) for each in lists))
        made.kept = lists  # type: ignore[attr-defined]
        return made

    for rows in (1, 6, 1000, 2):
        x, y, z = floats(rows, 4), floats(rows, 4), np.zeros((rows, 4), np.float32)
        given, shape = sizes(x.shape, y.shape), (ctypes.c_int64 * 2)()
        assert lib.open_output_shapes(given, (ctypes.c_void_p * 1)(ctypes.addressof(shape)), None, 0) == 0
        assert list(shape) == [rows, 4]
        inputs = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
        outputs = (ctypes.c_void_p * 1)(z.ctypes.data)
        assert lib.open_run_shaped(model, inputs, given, outputs) == 0
        np.testing.assert_array_equal(z, x + y)
        assert lib.open_run_shaped(model, inputs, sizes((rows, 4), (rows + 1, 4)), outputs) == 3
        assert lib.open_run_shaped(model, inputs, sizes((rows, 5), (rows, 4)), outputs) == 3
        assert lib.open_run_shaped(model, None, given, outputs) == 2
    message = ctypes.create_string_buffer(24)
    shapes = sizes((2, 4), (3, 4))
    assert lib.open_output_shapes(shapes, (ctypes.c_void_p * 1)(ctypes.addressof(shape)), message, 24) == 3
    assert message.value == b"/block/100%/add: y.shap"
    lib.open_error.restype = ctypes.c_char_p
    assert b"sizes of the inputs do not fit" in lib.open_error(3)
    lib.open_destroy(model)


@pytest.mark.skipif(MLIR_OPT is None, reason="needs mlir-opt-22")
@pytest.mark.parametrize("make", [convolutions, encoder, winograd])
def test_stock_mlir_takes_every_level(make: object, tmp_path: Path):
    ctx = make_context()
    assert callable(make)
    path = tmp_path / "m.onnx"
    onnx.save(make(), str(path))
    module = import_model(path, ctx)
    texts: list[str] = []
    passes = pipeline(Options())
    run_passes(ctx, module, passes, on_pass=lambda _, m: texts.append(str(m)))
    first = [p.name for p in passes].index("relay-to-linalg")
    for text in texts[first:]:
        assert MLIR_OPT is not None
        subprocess.run([MLIR_OPT, "-o", "/dev/null"], input=text, text=True, check=True)
