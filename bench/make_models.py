"""Seeded models of known shapes, as ONNX: `make_models.py resnet18 vgg16 -o build/models`.

The topologies are those of the papers, the weights random with the variance that keeps activations in range, from a
seed made of the model's name: the same bytes every time.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 17, 8


class Network:
    """An ONNX graph under construction; methods append nodes and give the name of their output."""

    def __init__(self, name: str):
        self.name = name
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.channels: dict[str, int] = {}

    # Graph.

    def input(self, name: str, shape: Sequence[int]) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        self.channels[name] = shape[1] if len(shape) == 4 else shape[-1]
        return name

    def output(self, value: str, shape: Sequence[int], name: str) -> None:
        self.nodes.append(helper.make_node("Identity", [value], [name], name=f"{name}/Identity"))
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def weight(self, array: np.ndarray, stem: str = "weight") -> str:
        name = f"{stem}{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def normal(self, shape: Sequence[int], deviation: float, stem: str = "weight") -> str:
        return self.weight((self.random.standard_normal(shape) * deviation).astype(np.float32), stem)

    def node(self, op: str, *inputs: str, channels: int | None = None, **attributes: Any) -> str:
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=f"/{name}/{op}", **attributes))
        self.channels[name] = self.channels.get(inputs[0], 0) if channels is None else channels
        return name

    def model(self) -> onnx.ModelProto:
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
        onnx.checker.check_model(model)
        return model

    # Layers.

    def conv(
        self, x: str, out: int, kernel: int, stride: int = 1, pad: int = 0, groups: int = 1, bias: bool = False
    ) -> str:
        fan_in = self.channels[x] // groups * kernel * kernel
        inputs = [x, self.normal((out, self.channels[x] // groups, kernel, kernel), (2 / fan_in) ** 0.5, "conv.weight")]
        if bias:
            inputs.append(self.normal((out,), 0.05, "conv.bias"))
        sizes = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4}
        return self.node("Conv", *inputs, channels=out, group=groups, **sizes)

    def batch_norm(self, x: str, gain: float = 1.0) -> str:
        count = self.channels[x]
        scale = self.weight((self.random.uniform(0.8, 1.2, count) * gain).astype(np.float32), "bn.scale")
        shift, mean = (self.normal((count,), 0.1, f"bn.{what}") for what in ("bias", "mean"))
        variance = self.weight(self.random.uniform(0.8, 1.2, count).astype(np.float32), "bn.var")
        return self.node("BatchNormalization", x, scale, shift, mean, variance, epsilon=1e-5)

    def conv_bn_relu(self, x: str, out: int, kernel: int, stride: int = 1, pad: int = 0, groups: int = 1) -> str:
        return self.node("Relu", self.batch_norm(self.conv(x, out, kernel, stride, pad, groups)))

    def dense(self, x: str, out: int, gain: float = 2.0) -> str:
        """Gemm with a transposed weight, as torch exports a linear layer of a matrix."""
        fan_in = self.channels[x]
        weight = self.normal((out, fan_in), (gain / fan_in) ** 0.5, "fc.weight")
        return self.node("Gemm", x, weight, self.normal((out,), 0.05, "fc.bias"), channels=out, transB=1)

    def linear(self, x: str, out: int) -> str:
        """MatMul and Add, as torch exports a linear layer of a tensor of more dimensions."""
        fan_in = self.channels[x]
        product = self.node("MatMul", x, self.normal((fan_in, out), fan_in**-0.5, "linear.weight"), channels=out)
        return self.node("Add", product, self.normal((out,), 0.02, "linear.bias"), channels=out)

    def layer_norm(self, x: str) -> str:
        count = self.channels[x]
        scale = self.weight(self.random.uniform(0.9, 1.1, count).astype(np.float32), "ln.scale")
        return self.node("LayerNormalization", x, scale, self.normal((count,), 0.02, "ln.bias"), axis=-1, epsilon=1e-5)

    def scalar(self, value: float) -> str:
        return self.weight(np.asarray(value, np.float32), "scalar")

    def ints(self, *values: int) -> str:
        return self.weight(np.asarray(values, np.int64), "shape")

    def gelu(self, x: str) -> str:
        inner = self.node("Add", self.node("Erf", self.node("Div", x, self.scalar(2**0.5))), self.scalar(1.0))
        return self.node("Mul", self.node("Mul", x, inner), self.scalar(0.5))

    def classified(self, x: str, classes: int = 1000) -> Network:
        """Global average, a linear layer, the output."""
        flat = self.node("Flatten", self.node("GlobalAveragePool", x), axis=1)
        self.output(self.dense(flat, classes, 1.0), [1, classes], "logits")
        return self


def mlp(name: str = "mlp") -> Network:
    net = Network(name)
    x = net.input("x", [1, 784])
    for width in (512, 512):
        x = net.node("Relu", net.dense(x, width))
    net.output(net.dense(x, 10, 1.0), [1, 10], "logits")
    return net


def resnet(name: str, counts: Sequence[int], bottleneck: bool) -> Network:
    """He et al., arXiv 1512.03385, with the stride in the 3x3 convolution."""
    net = Network(name)
    x = net.conv_bn_relu(net.input("data", [1, 3, 224, 224]), 64, 7, 2, 3)
    x = net.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for stage, count in enumerate(counts):
        width, out = 64 << stage, (256 if bottleneck else 64) << stage
        for block in range(count):
            stride = 2 if stage and not block else 1
            if bottleneck:
                y = net.conv_bn_relu(net.conv_bn_relu(x, width, 1), width, 3, stride, 1)
                y = net.batch_norm(net.conv(y, out, 1), 0.5)
            else:
                y = net.batch_norm(net.conv(net.conv_bn_relu(x, width, 3, stride, 1), out, 3, 1, 1), 0.5)
            if stride > 1 or net.channels[x] != out:
                x = net.batch_norm(net.conv(x, out, 1, stride))
            x = net.node("Relu", net.node("Add", y, x))
    return net.classified(x)


def vgg16(name: str = "vgg16") -> Network:
    """Simonyan and Zisserman, arXiv 1409.1556, configuration D."""
    net = Network(name)
    x = net.input("data", [1, 3, 224, 224])
    for count, width in ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)):
        for _ in range(count):
            x = net.node("Relu", net.conv(x, width, 3, 1, 1, bias=True))
        x = net.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net.node("Flatten", x, axis=1, channels=512 * 7 * 7)
    for width in (4096, 4096):
        x = net.node("Relu", net.dense(x, width))
    net.output(net.dense(x, 1000, 1.0), [1, 1000], "logits")
    return net


def mobilenet_v1(name: str = "mobilenet_v1") -> Network:
    """Howard et al., arXiv 1704.04861."""
    net = Network(name)
    x = net.conv_bn_relu(net.input("data", [1, 3, 224, 224]), 32, 3, 2, 1)
    layers = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]
    for out, stride in layers:
        x = net.conv_bn_relu(net.conv_bn_relu(x, net.channels[x], 3, stride, 1, net.channels[x]), out, 1)
    return net.classified(x)


def mobilenet_v2(name: str = "mobilenet_v2") -> Network:
    """Sandler et al., arXiv 1801.04381."""
    net = Network(name)

    def bounded(x: str) -> str:
        return net.node("Clip", net.batch_norm(x), net.scalar(0.0), net.scalar(6.0))

    x = bounded(net.conv(net.input("data", [1, 3, 224, 224]), 32, 3, 2, 1))
    rows = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for expand, out, count, first in rows:
        for block in range(count):
            stride, width = first if not block else 1, net.channels[x] * expand
            y = x if expand == 1 else bounded(net.conv(x, width, 1))
            y = net.batch_norm(net.conv(bounded(net.conv(y, width, 3, stride, 1, width)), out, 1), 0.5)
            x = net.node("Add", x, y) if stride == 1 and net.channels[x] == out else y
    return net.classified(bounded(net.conv(x, 1280, 1)))


def dcgan(name: str = "dcgan") -> Network:
    """The generator of Radford et al., arXiv 1511.06434."""
    net = Network(name)
    x = net.input("noise", [1, 100, 1, 1])
    for out, stride, pad in ((512, 1, 0), (256, 2, 1), (128, 2, 1), (64, 2, 1), (3, 2, 1)):
        deviation = (2 * stride * stride / (net.channels[x] * 16)) ** 0.5
        weight = net.normal((net.channels[x], out, 4, 4), deviation, "deconv.weight")
        sizes = {"kernel_shape": [4, 4], "strides": [stride] * 2, "pads": [pad] * 4}
        x = net.node("ConvTranspose", x, weight, channels=out, **sizes)
        x = net.node("Tanh", x) if out == 3 else net.node("Relu", net.batch_norm(x))
    net.output(x, [1, 3, 64, 64], "image")
    return net


def _attention(net: Network, x: str, length: int, heads: int, mask: str | None = None) -> str:
    width = net.channels[x]
    size = width // heads

    def split(axes: Sequence[int]) -> str:
        parts = net.node("Reshape", net.linear(x, width), net.ints(1, length, heads, size))
        return net.node("Transpose", parts, perm=list(axes))

    scores = net.node("MatMul", split((0, 2, 1, 3)), split((0, 2, 3, 1)))
    scores = net.node("Mul", scores, net.scalar(size**-0.5))
    if mask is not None:
        scores = net.node("Add", scores, mask)
    mixed = net.node("MatMul", net.node("Softmax", scores, axis=-1), split((0, 2, 1, 3)))
    joined = net.node("Transpose", mixed, perm=[0, 2, 1, 3])
    return net.linear(net.node("Reshape", joined, net.ints(1, length, width), channels=width), width)


def bert(name: str, layers: int = 12, width: int = 768, heads: int = 12, length: int = 128) -> Network:
    """The encoder of Devlin et al., arXiv 1810.04805, from embeddings on."""
    net = Network(name)
    x = net.layer_norm(net.input("x", [1, length, width]))
    for _ in range(layers):
        x = net.layer_norm(net.node("Add", x, _attention(net, x, length, heads)))
        inner = net.linear(net.gelu(net.linear(x, 4 * width)), width)
        x = net.layer_norm(net.node("Add", x, inner))
    net.output(x, [1, length, width], "y")
    return net


def gpt2(name: str, layers: int = 2, width: int = 768, heads: int = 12, length: int = 128) -> Network:
    """Blocks of Radford et al. 2019: normalization first, a causal mask."""
    net = Network(name)
    x = net.input("x", [1, length, width])
    mask = net.weight(np.triu(np.full((1, 1, length, length), -1e9, np.float32), 1), "mask")
    for _ in range(layers):
        x = net.node("Add", x, _attention(net, net.layer_norm(x), length, heads, mask))
        x = net.node("Add", x, net.linear(net.gelu(net.linear(net.layer_norm(x), 4 * width)), width))
    net.output(net.layer_norm(x), [1, length, width], "y")
    return net


MODELS: dict[str, Callable[[], Network]] = {
    "mlp": mlp,
    "resnet18": lambda: resnet("resnet18", (2, 2, 2, 2), bottleneck=False),
    "resnet50": lambda: resnet("resnet50", (3, 4, 6, 3), bottleneck=True),
    "vgg16": vgg16,
    "mobilenet_v1": mobilenet_v1,
    "mobilenet_v2": mobilenet_v2,
    "dcgan": dcgan,
    "bert_base": lambda: bert("bert_base"),
    "bert_tiny": lambda: bert("bert_tiny", layers=2, width=128, heads=2, length=32),
    "gpt2_block": lambda: gpt2("gpt2_block"),
}
"""The models by name."""


def reseeded(path: Path) -> onnx.ModelProto:
    """A model of the onnx package's `light` suite with random weights in place of its constant fills.

    Fills of four dimensions and matrices get the variance that keeps activations in range, scales and variances of
    normalizations stay near one. A softmax at the end is left out: it would saturate and hide what is before it.
    """
    model = onnx.load(str(path))
    graph = model.graph
    random = np.random.default_rng(zlib.crc32(path.stem.encode()))
    shapes = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    norms = {
        name: position
        for node in graph.node
        if node.op_type == "BatchNormalization"
        for position, name in enumerate(node.input)
    }
    kept: list[onnx.NodeProto] = []
    filled: set[str] = set()
    for node in graph.node:
        if node.op_type != "ConstantOfShape" or node.input[0] not in shapes:
            kept.append(node)
            continue
        shape = tuple(int(v) for v in shapes[node.input[0]])
        filled.add(node.input[0])
        array = _filling(random, shape, norms.get(node.output[0]))
        graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), node.output[0]))
    del graph.node[:]
    graph.node.extend(kept)
    used = {name for node in kept for name in node.input}
    for entries in (graph.initializer, graph.input):
        stale = [entry for entry in entries if entry.name in filled - used]
        for entry in stale:
            entries.remove(entry)  # pyright: ignore[reportArgumentType]
    last = kept[-1]
    if last.op_type == "Softmax" and last.output[0] == graph.output[0].name:
        graph.node.remove(last)
        graph.output[0].name = last.input[0]
    model.ir_version = max(model.ir_version, 4)  # from then on initializers need not be inputs
    return model


def _filling(random: np.random.Generator, shape: tuple[int, ...], norm_input: int | None) -> np.ndarray:
    if norm_input in (1, 4):
        return random.uniform(0.8, 1.2, shape)
    if norm_input in (2, 3) or len(shape) < 2:
        return random.standard_normal(shape) * 0.05
    return random.standard_normal(shape) * (2 / np.prod(shape[1:])) ** 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"models to make: {', '.join(MODELS)}; all where absent")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/models"))
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    for name in args.names or MODELS:
        onnx.save(MODELS[name]().model(), str(args.output / f"{name}.onnx"))


if __name__ == "__main__":
    main()
