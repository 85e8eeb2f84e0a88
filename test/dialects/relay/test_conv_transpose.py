"""Transposed convolutions: evaluate against onnxruntime and by adjointness, the lower form against evaluate."""

from dataclasses import replace

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i32
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.conv import Conv2D
from relay_mlir.dialects.relay.conv_transpose import (
    Conv1DTranspose,
    Conv2DTranspose,
    Conv3DTranspose,
    ConvTranspose,
)
from relay_mlir.dialects.relay.types import ANY, tensor
from test.support.mlir_oracle import AVAILABLE
from test.support.onnx_oracle import onnx_op
from test.support.operator_check import assert_close, dtype_of, run_lowered_together

# operator, shape of the data (N C spatial), shape of the weight (I O spatial)
CASES = {
    "plain": (Conv2DTranspose(), (2, 3, 4, 5), (3, 4, 3, 2)),
    "strides": (Conv2DTranspose(strides=(2, 3)), (2, 3, 4, 5), (3, 4, 3, 2)),
    "strides beyond the window": (Conv2DTranspose(strides=(3, 3)), (1, 2, 3, 3), (2, 2, 2, 1)),
    "everything": (
        Conv2DTranspose(strides=(2, 3), padding=(1, 0, 2, 1), dilation=(1, 2), output_padding=(1, 2)),
        (2, 3, 4, 5),
        (3, 4, 3, 2),
    ),
    "padding that cuts into the data": (Conv2DTranspose(padding=(2, 0, 0, 1)), (1, 2, 5, 4), (2, 3, 1, 1)),
    "output padding with a window of one": (
        Conv2DTranspose(strides=(2, 2), output_padding=(1, 1)),
        (1, 2, 3, 3),
        (2, 3, 1, 1),
    ),
    "groups": (Conv2DTranspose(strides=(2, 1), groups=2), (2, 4, 4, 5), (4, 3, 3, 2)),
    "depthwise": (Conv2DTranspose(strides=(2, 2), padding=(1, 1, 1, 1), groups=3), (2, 3, 4, 5), (3, 1, 4, 4)),
    "one input, two outputs a group": (Conv2DTranspose(groups=3), (2, 3, 4, 5), (3, 2, 2, 2)),
    "sequence": (Conv1DTranspose(strides=(4,), padding=(2, 2)), (2, 3, 6), (3, 2, 8)),
    "volume": (Conv3DTranspose(strides=(1, 2, 2), padding=(1, 0, 0, 0, 1, 1)), (1, 2, 3, 3, 2), (2, 2, 2, 3, 2)),
    "empty batch": (Conv2DTranspose(), (0, 3, 4, 4), (3, 2, 2, 2)),
}
LAYOUTS = {1: ("NWC", "WIO"), 2: ("NHWC", "HWOI"), 3: ("NDHWC", "DHWIO")}


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def channels_last(op: ConvTranspose, data: np.ndarray, weight: np.ndarray) -> tuple[ConvTranspose, list[np.ndarray]]:
    """The operator and its operands in another layout."""
    data_layout, kernel_layout = LAYOUTS[op.RANK]
    moved = [
        np.ascontiguousarray(value.transpose([have.index(letter) for letter in want]))
        for value, have, want in ((data, op.data_layout, data_layout), (weight, op.kernel_layout, kernel_layout))
    ]
    return replace(op, data_layout=data_layout, kernel_layout=kernel_layout), moved


@pytest.mark.parametrize("name", CASES)
def test_evaluate_matches_onnxruntime(name: str):
    op, *shapes = CASES[name]
    args = arrays(*shapes)
    (want,) = onnx_op(
        "ConvTranspose",
        args,
        strides=op.strides,
        pads=op.padding,
        dilations=op.dilation,
        group=op.groups,
        output_padding=op.output_padding,
    )
    np.testing.assert_allclose(op.evaluate(args)[0], want, rtol=1e-5, atol=1e-5)
    other, moved = channels_last(op, *args)
    back = other.evaluate(moved)[0].transpose([other.data_layout.index(letter) for letter in op.data_layout])
    np.testing.assert_allclose(back, want, rtol=1e-5, atol=1e-5)


@pytest.mark.skipif(not AVAILABLE, reason="mlir-opt-22 is not installed")
def test_lower_form_matches_evaluate():
    cases = [(op, arrays(*shapes)) for op, *shapes in CASES.values()]
    cases += [channels_last(op, *args) for op, args in cases]
    for (op, args), (got,) in zip(cases, run_lowered_together(cases), strict=True):
        np.testing.assert_allclose(got, op.evaluate(args)[0], rtol=1e-5, atol=1e-5, err_msg=str(op))


@pytest.mark.parametrize("groups", [1, 2])
def test_it_is_the_adjoint_of_convolution(groups: int):
    """`<conv(x), y> = <x, transposed(y)>` for the same weight, in exact integers."""
    rng = np.random.default_rng(2)
    attributes = {"strides": (2, 1), "padding": (1, 0, 0, 1), "dilation": (1, 2), "groups": groups}
    x = rng.integers(-9, 9, (1, 4, 7, 7)).astype(np.int64)
    weight = rng.integers(-9, 9, (6, 4 // groups, 3, 2)).astype(np.int64)
    (there,) = Conv2D(**attributes).evaluate([x, weight])
    y = rng.integers(-9, 9, there.shape).astype(np.int64)
    # 6 or 7 rows give 3 with a stride of 2: output_padding picks 7.
    (back,) = Conv2DTranspose(**attributes, output_padding=(1, 0)).evaluate([y, weight])
    assert back.shape == x.shape
    assert (there * y).sum() == (x * back).sum()


def test_small_integers_accumulate_in_the_result_type():
    rng = np.random.default_rng(3)
    data, weight = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((1, 4, 3, 3), (4, 2, 3, 3)))
    op = Conv2DTranspose(strides=(2, 2), out_dtype=i32)
    (want,) = replace(op, out_dtype=None).evaluate([data.astype(np.int64), weight.astype(np.int64)])
    np.testing.assert_array_equal(op.evaluate([data, weight])[0], want)
    if AVAILABLE:
        np.testing.assert_array_equal(run_lowered_together([(op, [data, weight])])[0][0], want)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_are_rounded_once(dtype: str):
    data, weight = (v.astype(dtype_of(dtype)) for v in arrays((1, 32, 3, 3), (32, 2, 3, 3)))
    op = Conv2DTranspose(strides=(2, 2))
    (want,) = op.evaluate([data.astype(np.float64), weight.astype(np.float64)])
    cases = [op.evaluate([data, weight])[0]]
    cases += run_lowered_together([(op, [data, weight])])[0] if AVAILABLE else []
    for got in cases:
        assert_close(got, want.astype(got.dtype), ulps=1)


@pytest.mark.parametrize(
    ("op", "data", "weight", "result"),
    [
        (Conv2DTranspose(strides=(2, 2)), (ANY, 3, ANY, 4), (3, 2, 3, 3), (ANY, 2, ANY, 9)),
        (Conv2DTranspose(groups=3), (1, ANY, 4, 4), (3, 2, 1, 1), (1, 6, 4, 4)),
        (Conv2DTranspose(channels=6, groups=3), (1, 3, 4, 4), (3, ANY, 1, ANY), (1, 6, 4, ANY)),
    ],
)
def test_infer_with_unknown_dimensions(op: ConvTranspose, data: tuple, weight: tuple, result: tuple):
    assert op.infer([tensor(data, f32), tensor(weight, f32)]) == [tensor(result, f32)]


@pytest.mark.parametrize(
    ("op", "data", "weight", "message"),
    [
        (Conv2DTranspose(), (1, 3, 4, 4), (4, 2, 3, 3), "the data's and the weight's input channels must agree"),
        (Conv2DTranspose(groups=2), (1, 3, 4, 4), (3, 2, 3, 3), "must be a multiple of groups"),
        (Conv2DTranspose(channels=3), (1, 3, 4, 4), (3, 2, 3, 3), "must agree, but are 2 and 3"),
        (Conv2DTranspose(output_padding=(1,)), (1, 3, 4, 4), (3, 2, 3, 3), "output_padding must be 2 integers"),
        (Conv2DTranspose(padding=(3, 0, 3, 0)), (1, 3, 4, 4), (3, 2, 3, 3), "with padding 6 the result has none"),
        (Conv2DTranspose(), (1, 3, 0, 4), (3, 2, 3, 3), "spatial dimension 0 of the data has 0 elements"),
    ],
)
def test_rejections(op: ConvTranspose, data: tuple, weight: tuple, message: str):
    with pytest.raises(VerifyException, match=message):
        op.infer([tensor(data, f32), tensor(weight, f32)])
