"""Runs one ONNX operator in onnxruntime, with its graph optimizations off: an oracle for the meaning of operators."""

from collections.abc import Sequence

import numpy as np
import onnx
import onnxruntime


def onnx_op(
    op_type: str, inputs: Sequence[np.ndarray | None], opset: int = 21, outputs: int = 1, **attributes: object
) -> list[np.ndarray]:
    """The outputs of a model of this one node; None stands for an optional input that is not given."""
    given = {f"x{position}": value for position, value in enumerate(inputs) if value is not None}
    names = ["" if value is None else f"x{position}" for position, value in enumerate(inputs)]
    results = [f"y{position}" for position in range(outputs)]
    node = onnx.helper.make_node(op_type, names, results, **attributes)
    infos = [
        onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in given.items()
    ]
    graph = onnx.helper.make_graph([node], "one", infos, [onnx.ValueInfoProto(name=name) for name in results])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(results, given)
