"""DeformConv, interpreted and compiled, against onnxruntime and against a plain convolution."""

from typing import Any

import numpy as np
import pytest

import relay_mlir
from test.support.onnx_graphs import one, onnxruntime_run, problems, run

RANDOM = np.random.default_rng(6)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def outcomes(args: list[np.ndarray], **attributes: Any) -> tuple[list[np.ndarray], Any]:
    proto = one("DeformConv", args, 19, **attributes)
    names = [value.name for value in proto.graph.input]
    compiled = relay_mlir.compile(proto)(**dict(zip(names, args, strict=True)))
    return [run(proto, *args)[0], next(iter(compiled.values()))], proto


@pytest.mark.parametrize("parts", [1, 2])
def test_strides_dilations_groups_mask_and_bias(parts: int):
    args = [
        normal(2, 4, 7, 6),
        normal(6, 2, 3, 2),
        normal(2, parts * 12, 3, 5) * 2,
        normal(6),
        normal(2, parts * 6, 3, 5),
    ]
    more = {"strides": [2, 1], "dilations": [2, 1], "pads": [1, 0, 1, 0], "group": 2, "offset_group": parts}
    found, proto = outcomes(args, **more)
    (expected,) = onnxruntime_run(proto, *args)
    for result in found:
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_without_offsets_it_is_a_convolution():
    x, weight = normal(1, 3, 5, 5), normal(4, 3, 3, 3)
    (expected,) = onnxruntime_run(one("Conv", [x, weight], 19, pads=[1, 1, 1, 1]), x, weight)
    for result in outcomes([x, weight, np.zeros((1, 18, 5, 5), np.float32)], pads=[1, 1, 1, 1])[0]:
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_other_than_images_is_refused():
    args = [normal(1, 3, 5), normal(4, 3, 3), np.zeros((1, 6, 3), np.float32)]
    assert "only images are supported, but the data has shape [1, 3, 5]" in problems(one("DeformConv", args, 19))[0]
