"""An ONNX model as a PyTorch function, for the operators of make_models.py: the peer that eager PyTorch is.

PyTorch imports no ONNX itself. Each node becomes the call that a PyTorch program would make for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import onnx
import torch
import torch.nn.functional as F
from onnx import helper, numpy_helper

Attributes = dict[str, Any]
Node = Callable[[Sequence[Any], Attributes], Any]


def _padding(attributes: Attributes) -> list[int]:
    """The padding of both ends, which must be equal."""
    pads = attributes.get("pads", [0, 0, 0, 0])
    low, high = pads[: len(pads) // 2], pads[len(pads) // 2 :]
    if low != high:
        raise NotImplementedError(f"pads {pads} differ at the two ends")
    return low


def _conv(args: Sequence[Any], a: Attributes) -> Any:
    return F.conv2d(*args, stride=a.get("strides", 1), padding=_padding(a), groups=a.get("group", 1))


def _conv_transpose(args: Sequence[Any], a: Attributes) -> Any:
    return F.conv_transpose2d(*args, stride=a.get("strides", 1), padding=_padding(a), groups=a.get("group", 1))


def _max_pool(args: Sequence[Any], a: Attributes) -> Any:
    return F.max_pool2d(args[0], a["kernel_shape"], a.get("strides", 1), _padding(a))


def _batch_norm(args: Sequence[Any], a: Attributes) -> Any:
    x, scale, shift, mean, variance = args
    return F.batch_norm(x, mean, variance, scale, shift, eps=a.get("epsilon", 1e-5))


def _layer_norm(args: Sequence[Any], a: Attributes) -> Any:
    x, scale, shift = args
    return F.layer_norm(x, scale.shape, scale, shift, a.get("epsilon", 1e-5))


def _gemm(args: Sequence[Any], a: Attributes) -> Any:
    if not a.get("transB") or a.get("transA") or a.get("alpha", 1) != 1 or a.get("beta", 1) != 1:
        raise NotImplementedError(f"Gemm with {a}")
    return F.linear(*args)


NODES: dict[str, Node] = {
    "Add": lambda args, _: args[0] + args[1],
    "BatchNormalization": _batch_norm,
    "Clip": lambda args, _: torch.clamp(args[0], args[1], args[2]),
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Div": lambda args, _: args[0] / args[1],
    "Erf": lambda args, _: torch.erf(args[0]),
    "Flatten": lambda args, a: args[0].flatten(a.get("axis", 1)),
    "Gemm": _gemm,
    "GlobalAveragePool": lambda args, _: args[0].mean((2, 3), keepdim=True),
    "Identity": lambda args, _: args[0],
    "LayerNormalization": _layer_norm,
    "MatMul": lambda args, _: args[0] @ args[1],
    "MaxPool": _max_pool,
    "Mul": lambda args, _: args[0] * args[1],
    "Relu": lambda args, _: F.relu(args[0]),
    "Reshape": lambda args, _: args[0].reshape(args[1].tolist()),
    "Softmax": lambda args, a: F.softmax(args[0], a.get("axis", -1)),
    "Tanh": lambda args, _: torch.tanh(args[0]),
    "Transpose": lambda args, a: args[0].permute(a["perm"]),
}
"""What each operator is in PyTorch, for the attributes that the models use."""


def load(path: Path, inputs: Sequence[Any]) -> Callable[..., Any]:
    """The model as a traced function of tensors like `inputs`; raises NotImplementedError for another operator."""
    graph = onnx.load(str(path)).graph
    if unknown := {node.op_type for node in graph.node} - set(NODES):
        raise NotImplementedError(f"no PyTorch form of {', '.join(sorted(unknown))}")
    weights = {tensor.name: torch.from_numpy(numpy_helper.to_array(tensor).copy()) for tensor in graph.initializer}
    names = [value.name for value in graph.input if value.name not in weights]
    attributes = [{a.name: helper.get_attribute_value(a) for a in node.attribute} for node in graph.node]

    def run(*tensors: Any) -> Any:
        values = {**weights, **dict(zip(names, tensors, strict=True))}
        for node, given in zip(graph.node, attributes, strict=True):
            values[node.output[0]] = NODES[node.op_type]([values[name] for name in node.input], given)
        return tuple(values[value.name] for value in graph.output)

    with torch.inference_mode():
        return torch.jit.trace(run, tuple(inputs), check_trace=False)
