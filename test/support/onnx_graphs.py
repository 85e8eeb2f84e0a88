"""Small ONNX models for tests, and what the importer and the interpreter make of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from relay_mlir.dialects.errors import ModelError
from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.frontends.onnx import import_onnx
from relay_mlir.runtime.interpreter import evaluate

Shape = Sequence[int | str | None] | None


def info(name: str, shape: Shape = None, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    """The declaration of a value."""
    return helper.make_tensor_value_info(name, dtype, shape)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[str | onnx.ValueInfoProto] = ("y",),
    weights: Mapping[str, Any] | None = None,
    opset: int = 17,
    **more: Any,
) -> onnx.ModelProto:
    """A model of these nodes; outputs may be given without their types."""
    declared = [onnx.ValueInfoProto(name=out) if isinstance(out, str) else out for out in outputs]
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(list(nodes), "test", list(inputs), declared, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8, **more)


def one(op: str, inputs: Sequence[np.ndarray], opset: int, outputs: int = 1, known: int = 99, **attributes: Any):
    """A model of one node and its inputs; those from the position `known` on are initializers."""
    names = [f"x{at}" for at in range(len(inputs))]
    results = [f"y{at}" for at in range(outputs)]
    node = helper.make_node(op, names, results, name="node", **attributes)
    declared = [
        info(name, array.shape, helper.np_dtype_to_tensor_dtype(array.dtype))
        for name, array in zip(names[:known], inputs, strict=False)
    ]
    return model([node], declared, results, dict(zip(names[known:], inputs[known:], strict=True)), opset)


def run(proto: onnx.ModelProto, *args: np.ndarray, **options: Any) -> list[np.ndarray]:
    """Imports a model and interprets it."""
    ctx = RelayContext()
    module = import_onnx(proto, ctx, **options)
    return [np.asarray(value) for value in evaluate(module, ctx.weights, args)]


def onnxruntime_run(proto: onnx.ModelProto, *args: np.ndarray) -> list[np.ndarray]:
    """What onnxruntime gives, without its optimizations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    return session.run(None, dict(zip(names, map(np.asarray, args), strict=True)))


def problems(proto: onnx.ModelProto, **options: Any) -> list[str]:
    """The problems that the importer lists."""
    try:
        import_onnx(proto, RelayContext(), **options)
    except ModelError as e:
        return e.problems
    return []
