"""Kernels of which one part can lose its loops of one iteration and another cannot."""

import numpy as np
import onnx

import relay_mlir
from test.support.onnx_graphs import info, model, onnxruntime_run


def test_a_reduction_that_counts_its_loops_and_what_follows_it():
    """Samples of an antialiased image are read at computed positions; a batch and a channel of one."""
    node = onnx.helper.make_node("Resize", ["x", "", "s"], ["y"], mode="cubic", antialias=1)
    proto = model([node], [info("x", [1, 1, 4, 4])], [info("y", None)], {"s": np.float32([1, 1, 0.6, 0.6])}, opset=18)
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    (expected,) = onnxruntime_run(proto, x)
    np.testing.assert_allclose(relay_mlir.compile(proto)(x=x)["y"], expected, rtol=1e-5)
