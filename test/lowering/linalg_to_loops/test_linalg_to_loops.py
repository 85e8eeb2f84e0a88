"""The loops of linalg-to-loops compute what the operators mean; stock MLIR finishes them to machine code."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import i1

from relay_mlir.dialects.relay import OPERATORS
from relay_mlir.dialects.relay.op import Operator
from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.lowering.pass_manager import run_passes
from relay_mlir.lowering.pipeline import pass_class
from test.support.mlir_oracle import AVAILABLE, lowered_module, run_text

PASSES = ("fuse-elementwise", "tile-contractions", "pack-weights", "bufferize", "linalg-to-loops")

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="needs mlir-opt-22 and mlir-translate-22")


def op(name: str, **attributes: object) -> Operator:
    """An operator by name."""
    return OPERATORS[name](**attributes)


def run_loops(operator: Operator, args: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results of an operator through the passes of this project down to loops."""
    module, results = lowered_module(operator, args)
    run_passes(RelayContext(), module, [pass_class(name)() for name in PASSES])
    run_text(str(module), args, results)
    return results


def data(*shape: int, dtype: object = np.float32, seed: int = 0) -> np.ndarray:
    """Random values: normal for floats, small for integers."""
    rng = np.random.default_rng([seed, *shape])
    if np.dtype(dtype).kind in "iu":
        low = 0 if np.dtype(dtype).kind == "u" else -9
        return rng.integers(low, 10, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def nhwc(**attributes: object) -> dict[str, object]:
    return {"data_layout": "NHWC", "kernel_layout": "HWIO", **attributes}


CASES: list[tuple[str, Operator, list[np.ndarray]]] = [
    ("dense", op("nn.dense"), [data(5, 33), data(37, 33)]),
    ("dense of one row", op("nn.dense"), [data(1, 40), data(300, 40)]),
    ("dense of one column", op("nn.dense"), [data(9, 40), data(1, 40)]),
    ("dense, wide", op("nn.dense"), [data(30, 16), data(64, 16)]),
    ("dense of f64", op("nn.dense"), [data(5, 33, dtype=np.float64), data(37, 33, dtype=np.float64)]),
    ("dense of i32", op("nn.dense"), [data(5, 33, dtype=np.int32), data(37, 33, dtype=np.int32)]),
    ("dense of f16", op("nn.dense"), [data(5, 33, dtype=np.float16), data(37, 33, dtype=np.float16)]),
    ("dense of nothing", op("nn.dense"), [data(3, 0), data(17, 0)]),
    ("dense of no rows", op("nn.dense"), [data(0, 4), data(17, 4)]),
    ("sum of one element", op("sum", axis=(0,)), [data(1)]),
    ("sum of rows of one element", op("sum", axis=(1,)), [data(40, 1)]),
    ("maximum of rows of one element", op("max", axis=(1,)), [data(40, 1)]),
    ("matmul", op("nn.matmul"), [data(29, 7), data(7, 50)]),
    ("batch_matmul", op("nn.batch_matmul", transpose_b=True), [data(3, 17, 8), data(3, 20, 8)]),
    ("batch_matmul, plain", op("nn.batch_matmul"), [data(3, 17, 8), data(3, 8, 40)]),
    ("conv2d", op("nn.conv2d", **nhwc(padding=(1, 1, 1, 1))), [data(1, 9, 9, 5), data(3, 3, 5, 40)]),
    ("conv2d 7x7", op("nn.conv2d", **nhwc(padding=(1, 1, 1, 1))), [data(2, 7, 7, 16), data(3, 3, 16, 32)]),
    (
        "conv2d, strided, dilated",
        op("nn.conv2d", **nhwc(strides=(2, 1), dilation=(1, 2), padding=(0, 1, 2, 3))),
        [data(2, 11, 13, 3), data(3, 2, 3, 20)],
    ),
    ("conv2d, pointwise", op("nn.conv2d", **nhwc()), [data(1, 14, 14, 24), data(1, 1, 24, 96)]),
    ("conv2d, grouped", op("nn.conv2d", **nhwc(groups=2)), [data(1, 6, 6, 8), data(3, 3, 4, 34)]),
    ("conv2d, depthwise", op("nn.conv2d", **nhwc(groups=35)), [data(1, 9, 9, 35), data(3, 3, 1, 35)]),
    ("conv2d, channels first", op("nn.conv2d", padding=(1, 1, 1, 1)), [data(1, 3, 18, 18), data(6, 3, 3, 3)]),
    ("conv2d, one output", op("nn.conv2d", **nhwc(padding=(1, 1, 1, 1))), [data(1, 9, 9, 33), data(3, 3, 33, 1)]),
    ("conv2d, one in, one out", op("nn.conv2d", **nhwc(strides=(1, 2))), [data(1, 1, 90, 1), data(1, 40, 1, 1)]),
    ("conv1d", op("nn.conv1d", data_layout="NWC", kernel_layout="WIO"), [data(2, 40, 4), data(5, 4, 33)]),
    ("conv3d", op("nn.conv3d"), [data(1, 2, 5, 6, 7), data(3, 2, 2, 2, 2)]),
    ("conv2d_transpose", op("nn.conv2d_transpose", strides=(2, 2)), [data(1, 4, 5, 5), data(4, 6, 3, 3)]),
    ("max_pool2d", op("nn.max_pool2d", pool_size=(3, 3), strides=(2, 2), layout="NHWC"), [data(1, 9, 9, 21)]),
    ("max_pool2d, channels first", op("nn.max_pool2d", pool_size=(2, 2), padding=(1, 0, 1, 0)), [data(1, 3, 9, 9)]),
    ("avg_pool2d", op("nn.avg_pool2d", pool_size=(3, 3), padding=(1, 1, 1, 1), layout="NHWC"), [data(1, 9, 9, 17)]),
    ("global_avg_pool2d", op("nn.global_avg_pool2d", layout="NHWC"), [data(1, 7, 7, 40)]),
    ("softmax", op("nn.softmax"), [data(6, 37)]),
    ("softmax, short", op("nn.softmax"), [data(6, 3)]),
    ("softmax, first axis", op("nn.softmax", axis=0), [data(6, 37)]),
    ("layer_norm", op("nn.layer_norm"), [data(5, 100), data(100), data(100)]),
    ("sum", op("sum", axis=(1,)), [data(5, 133)]),
    ("sum of all", op("sum"), [data(5, 7, 11)]),
    ("sum of the first axis", op("sum", axis=(0,)), [data(9, 35)]),
    ("sum of i64", op("sum", axis=(1,)), [data(5, 133, dtype=np.int64)]),
    ("sum of nothing", op("sum", axis=(1,)), [data(5, 0)]),
    ("max", op("max", axis=(1,), keepdims=True), [data(5, 133)]),
    ("max of u8", op("max", axis=(1,)), [data(5, 133, dtype=np.uint8)]),
    ("min of i8", op("min"), [data(5, 133, dtype=np.int8)]),
    ("prod", op("prod", axis=(0, 2)), [data(3, 4, 5)]),
    ("argmax", op("argmax", axis=(1,)), [data(5, 133)]),
    ("any", op("any", axis=(1,)), [data(5, 133, dtype=np.int32) > 5]),
    ("add", op("add"), [data(3, 1, 37), data(5, 1)]),
    ("add, large", op("add"), [data(40000), data(40000)]),
    ("add of scalars", op("add"), [data(), data()]),
    ("add of nothing", op("add"), [data(0, 3), data(0, 3)]),
    ("add of bf16", op("add"), [data(3, 37, dtype=ml_dtypes.bfloat16), data(37, dtype=ml_dtypes.bfloat16)]),
    ("exp", op("exp"), [data(3, 37)]),
    ("less", op("less"), [data(3, 37), data(37)]),
    ("where", op("where"), [data(3, 37) > 0, data(3, 37), data(1, 37)]),
    ("cast to bool", op("cast", dtype=i1), [data(3, 37, dtype=np.int32)]),
    ("divide of i32", op("divide"), [data(3, 37, dtype=np.int32), data(37, dtype=np.int32)]),
    ("transpose", op("transpose", axes=(0, 2, 1)), [data(3, 20, 37)]),
    ("transpose, rows kept", op("transpose", axes=(1, 0, 2)), [data(3, 20, 37)]),
    ("concatenate", op("concatenate", axis=1), [data(3, 20, 7), data(3, 5, 7)]),
    ("strided_slice", op("strided_slice", begin=(1, 2), end=(6, 30), strides=(2, 3)), [data(7, 37)]),
    ("take of rows", op("take", axis=0), [data(50, 37), np.array([[3, 0], [49, 7]])]),
    ("cumsum", op("cumsum", axis=1), [data(3, 20)]),
]


@pytest.mark.parametrize(("operator", "args"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_loops_agree_with_the_meaning(operator: Operator, args: list[np.ndarray]) -> None:
    for found, expected in zip(run_loops(operator, args), operator.evaluate(args), strict=True):
        if found.dtype.kind in "iub":
            np.testing.assert_array_equal(found, expected)
        else:
            tolerance = {2: 1e-2, 4: 2e-5, 8: 1e-12}[found.dtype.itemsize]
            np.testing.assert_allclose(
                found.astype(np.float64), expected.astype(np.float64), rtol=tolerance, atol=tolerance * 4
            )
