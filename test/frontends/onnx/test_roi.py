"""RoiAlign and MaxUnpool, interpreted and compiled, against onnxruntime."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import relay_mlir
from test.support.onnx_graphs import info, model, one, onnxruntime_run, problems, run

RANDOM = np.random.default_rng(4)
BOXES = np.float32([[0, 0, 6, 6], [-9, 2, 3, 30], [4.3, 1.7, 4.4, 1.8], [7, 5, 2, 3], [2.5, 2.5, 7.25, 9]])
BATCHES = np.array([0, 1, 1, 0, 1])


def check(proto: onnx.ModelProto, *args: np.ndarray) -> None:
    names = [value.name for value in proto.graph.input]
    (expected,) = onnxruntime_run(proto, *args)
    compiled = relay_mlir.compile(proto)(**dict(zip(names, args, strict=True)))
    for found in (run(proto, *args)[0], next(iter(compiled.values()))):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("transformation", ["half_pixel", "output_half_pixel"])
@pytest.mark.parametrize(
    "more", [{"sampling_ratio": 2}, {"sampling_ratio": 3, "spatial_scale": 0.5, "output_width": 4}]
)
def test_roi_align(mode: str, transformation: str, more: dict[str, Any]):
    image = RANDOM.standard_normal((2, 3, 9, 8)).astype(np.float32)
    more = {"output_height": 3, "output_width": 2} | more
    args = [image, BOXES, BATCHES]
    check(one("RoiAlign", args, 16, mode=mode, coordinate_transformation_mode=transformation, **more), *args)


def test_roi_align_of_opset_10():
    args = [RANDOM.standard_normal((2, 1, 5, 5)).astype(np.float32), BOXES, BATCHES]
    check(one("RoiAlign", args, 10, sampling_ratio=1, output_height=2, output_width=2), *args)


def test_samples_that_depend_on_the_boxes_are_refused():
    args = [np.zeros((2, 1, 5, 5), np.float32), BOXES, BATCHES]
    (problem,) = problems(one("RoiAlign", args, 16))
    assert "sampling_ratio is 0: how many samples a box has would depend on its size" in problem


def test_max_unpool():
    """What MaxPool took goes back to where it was."""
    nodes = [
        helper.make_node("MaxPool", ["x"], ["m", "i"], kernel_shape=[2, 3], strides=[2, 3]),
        helper.make_node("MaxUnpool", ["m", "i"], ["y"], kernel_shape=[2, 3], strides=[2, 3]),
    ]
    proto = model(nodes, [info("x", [2, 3, 4, 9])], [info("y", None)])
    check(proto, RANDOM.standard_normal((2, 3, 4, 9)).astype(np.float32))


def test_max_unpool_to_a_shape_that_is_too_small():
    args = [np.ones((1, 1, 2, 2), np.float32), np.zeros((1, 1, 2, 2), np.int64), np.array([1, 1, 3, 4])]
    (problem,) = problems(one("MaxUnpool", args, 11, known=2, kernel_shape=[2, 2], strides=[2, 2]))
    assert "the output shape [1, 1, 3, 4] is smaller than [1, 1, 4, 4]" in problem
