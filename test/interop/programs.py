"""Small models with the structures of real ones, and programs of the llvm level as functions on arrays."""

import ctypes
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper
from xdsl.dialects.builtin import ModuleOp

from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.lowering.ir_files import main_function
from relay_mlir.runtime.jit import compile_llvm, load
from relay_mlir.runtime.weights_blob import WeightsBlob, parse_layout

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from make_models import Network


def residual() -> onnx.ModelProto:
    """As ResNet-18: a stem, a max pool, a block with a strided shortcut, a global pool, a classifier; odd sizes."""
    net = Network("residual")
    x = net.conv_bn_relu(net.input("data", [1, 3, 19, 23]), 10, 7, 2, 3)
    x = net.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    y = net.batch_norm(net.conv(net.conv_bn_relu(x, 20, 3, 2, 1), 20, 3, 1, 1), 0.5)
    x = net.node("Relu", net.node("Add", y, net.batch_norm(net.conv(x, 20, 1, 2))))
    x = net.conv_bn_relu(x, 20, 3, 1, 1, groups=20)
    return net.classified(x, 11).model()


def encoder() -> onnx.ModelProto:
    """As MiniLM: token ids and a mask, embeddings, a layer of attention and GELU, the mean over the tokens."""
    net = Network("encoder")
    length, width, heads = 6, 24, 2
    ids = net.input("ids", [1, length])
    mask = net.input("mask", [1, length])
    for value in net.inputs:
        value.type.tensor_type.elem_type = TensorProto.INT64
    x = net.node("Gather", net.normal((50, width), 1.0, "embedding"), ids, channels=width)
    x = net.layer_norm(net.node("Add", x, net.normal((1, length, width), 0.1, "position")))
    seen = net.node("Cast", mask, to=TensorProto.FLOAT)
    hidden = net.node("Mul", net.node("Sub", net.scalar(1.0), seen), net.scalar(-1e9))
    hidden = net.node("Reshape", hidden, net.ints(1, 1, 1, length))

    def split(axes: list[int]) -> str:
        parts = net.node("Reshape", net.linear(x, width), net.ints(1, length, heads, width // heads))
        return net.node("Transpose", parts, perm=axes)

    scores = net.node("MatMul", split([0, 2, 1, 3]), split([0, 2, 3, 1]))
    scores = net.node("Add", net.node("Mul", scores, net.scalar((width // heads) ** -0.5)), hidden)
    mixed = net.node("MatMul", net.node("Softmax", scores, axis=-1), split([0, 2, 1, 3]))
    mixed = net.node("Reshape", net.node("Transpose", mixed, perm=[0, 2, 1, 3]), net.ints(1, length, width))
    net.channels[mixed] = width
    x = net.layer_norm(net.node("Add", x, net.linear(mixed, width)))
    x = net.layer_norm(net.node("Add", x, net.linear(net.gelu(net.linear(x, 2 * width)), width)))
    weights = net.node("Reshape", seen, net.ints(1, length, 1))
    total = net.node("ReduceSum", net.node("Mul", x, weights), net.ints(1), keepdims=0)
    mean = net.node("Div", total, net.node("ReduceSum", weights, net.ints(1), keepdims=0))
    net.output(mean, [1, width], "mean")
    net.nodes.append(helper.make_node("ArgMax", [mean], ["greatest"], name="/greatest/ArgMax", axis=1))
    net.outputs.append(helper.make_tensor_value_info("greatest", TensorProto.INT64, [1, 1]))
    return net.model()


def inputs_of(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """Seeded inputs; a mask whose end is hidden."""
    random = np.random.default_rng(3)
    given: dict[str, np.ndarray] = {}
    for value in model.graph.input:
        shape = tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            given[value.name] = random.standard_normal(shape).astype(np.float32)
        else:
            given[value.name] = random.integers(0, 50, shape)
    if "mask" in given:
        given["mask"] = (np.arange(given["mask"].shape[1]) < 4).astype(np.int64)[None]
    return given


def expected_of(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """What onnxruntime gives, without its optimizations."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return [np.asarray(array) for array in session.run(None, dict(inputs))]


def run_llvm(
    text: str,
    module: ModuleOp,
    ctx: RelayContext,
    inputs: Mapping[str, np.ndarray],
    outputs: list[np.ndarray],
) -> list[np.ndarray]:
    """Calls `@main` of LLVM IR text; the module it was made from says what the weights and the arena are.

    `outputs` gives the types of the results.
    """
    main: Any = main_function(module)
    layout, size = parse_layout(main.attributes["weight_layout"]), main.attributes["weight_bytes"].value.data
    weights = WeightsBlob(layout, size, ctx.weights).in_memory()
    arena = np.zeros(main.attributes["arena_bytes"].value.data + 64, np.uint8)
    arena = arena[-arena.ctypes.data % 64 :]
    made = [np.zeros_like(array) for array in outputs]
    arrays = [*inputs.values(), *made, weights, arena]
    loaded = load([compile_llvm(text)])
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))(loaded.address("main"))
    function(*[array.ctypes.data for array in arrays])
    return made


def stock(command: str, path: Path, *options: str) -> str:
    """What a tool of stock MLIR prints for a file; its messages where it fails."""
    run = subprocess.run([command, *options, str(path)], capture_output=True, text=True)
    assert run.returncode == 0, f"{command} {path.name}: {run.stderr[:2000]}"
    return run.stdout
