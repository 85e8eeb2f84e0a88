"""Convolutions: evaluate against onnxruntime and sums in Python, the lower form against evaluate."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.conv import Conv, Conv1D, Conv2D, Conv3D
from relay_mlir.dialects.relay.types import ANY, tensor, ui8
from test.support.mlir_oracle import AVAILABLE, lowered_module
from test.support.onnx_oracle import onnx_op
from test.support.operator_check import assert_close, dtype_of, run_lowered_together

needs_mlir = pytest.mark.skipif(not AVAILABLE, reason="mlir-opt-22 is not installed")

# operator, shape of the data (N C spatial), shape of the weight (O I spatial)
CASES = {
    "plain": (Conv2D(), (2, 3, 6, 5), (4, 3, 3, 2)),
    "strides, asymmetric padding, dilation": (
        Conv2D(strides=(2, 1), padding=(1, 0, 2, 3), dilation=(1, 2)),
        (2, 3, 7, 8),
        (4, 3, 3, 2),
    ),
    "stride beyond the window": (Conv2D(strides=(3, 2)), (1, 2, 7, 7), (3, 2, 1, 1)),
    "groups": (Conv2D(groups=2, padding=(1, 1, 1, 1)), (2, 4, 5, 5), (6, 2, 3, 3)),
    "depthwise": (Conv2D(groups=4, padding=(1, 1, 1, 1)), (2, 4, 5, 5), (4, 1, 3, 3)),
    "depthwise, two outputs a channel": (Conv2D(groups=3), (2, 3, 4, 5), (6, 1, 2, 2)),
    "grouped to one output each": (Conv2D(groups=2), (1, 4, 4, 4), (2, 2, 3, 3)),
    "sequence": (Conv1D(strides=(2,), padding=(3, 1), dilation=(2,)), (2, 3, 9), (4, 3, 3)),
    "volume": (Conv3D(padding=(1, 0, 1, 0, 1, 0), strides=(1, 2, 1)), (1, 2, 4, 5, 3), (3, 2, 2, 3, 2)),
    "empty batch": (Conv2D(), (0, 3, 4, 4), (2, 3, 2, 2)),
    "whole window": (Conv2D(), (1, 2, 3, 3), (2, 2, 3, 3)),
}
LAYOUTS = {1: [("NWC", "WIO")], 2: [("NHWC", "HWIO"), ("NHWC", "OHWI"), ("NCHW", "HWIO")], 3: [("NDHWC", "DHWIO")]}


def arrays(seed: int, *shapes: tuple[int, ...], dtype: str = "float32") -> list[np.ndarray]:
    """Normally distributed numbers, or small integers."""
    rng = np.random.default_rng(seed)
    if "int" in dtype:
        low = 0 if dtype[0] == "u" else -9
        return [rng.integers(low, 10, shape).astype(dtype) for shape in shapes]
    return [rng.standard_normal(shape).astype(dtype_of(dtype)) for shape in shapes]


def by_onnxruntime(op: Conv, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The convolution of data and weight in the default layouts."""
    attributes = {"strides": op.strides, "pads": op.padding, "dilations": op.dilation, "group": op.groups}
    return onnx_op("Conv", [data, weight], **attributes)[0]


def by_sums(op: Conv, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The convolution as a sum of Python numbers, one element at a time."""
    rank, count = op.RANK, data.shape[0]
    number = int if data.dtype.kind in "iu" else float
    windows = [
        (data.shape[2 + a] + op.padding[a] + op.padding[a + rank] - (weight.shape[2 + a] - 1) * op.dilation[a] - 1)
        // op.strides[a]
        + 1
        for a in range(rank)
    ]
    out = np.zeros((count, weight.shape[0], *windows), object)
    group_inputs, group_outputs = weight.shape[1], weight.shape[0] // op.groups
    for index in np.ndindex(*out.shape):
        n, o, *place = index
        for i, *offset in itertools.product(*(range(size) for size in weight.shape[1:])):
            at = [place[a] * op.strides[a] + offset[a] * op.dilation[a] - op.padding[a] for a in range(rank)]
            if all(0 <= p < size for p, size in zip(at, data.shape[2:], strict=True)):
                channel = o // group_outputs * group_inputs + i
                out[index] += number(data[(n, channel, *at)]) * number(weight[(o, i, *offset)])
    return out


def in_layout(op: Conv, data_layout: str, kernel_layout: str, data: np.ndarray, weight: np.ndarray) -> tuple:
    """The operator and its operands in other layouts than the default ones."""
    moved = [
        np.ascontiguousarray(value.transpose([have.index(letter) for letter in want]))
        for value, have, want in ((data, op.data_layout, data_layout), (weight, op.kernel_layout, kernel_layout))
    ]
    return replace(op, data_layout=data_layout, kernel_layout=kernel_layout), moved


def variants(name: str) -> list[tuple[Conv, list[np.ndarray]]]:
    """A case in its default layouts and in others."""
    op, *shapes = CASES[name]
    data, weight = arrays(1, *shapes)
    return [(op, [data, weight]), *(in_layout(op, *layouts, data, weight) for layouts in LAYOUTS[op.RANK])]


@pytest.mark.parametrize("name", CASES)
def test_evaluate_matches_onnxruntime(name: str):
    (op, args), *others = variants(name)
    want = by_onnxruntime(op, *args)
    for variant, values in [(op, args), *others]:
        (got,) = variant.evaluate(values)
        back = got.transpose([variant.data_layout.index(letter) for letter in op.data_layout])
        assert back.dtype == np.float32
        np.testing.assert_allclose(back, want, rtol=1e-5, atol=1e-5)


@needs_mlir
def test_lower_form_matches_evaluate():
    cases = [variant for name in CASES for variant in variants(name)]
    for (op, args), (got,) in zip(cases, run_lowered_together(cases), strict=True):
        (want,) = op.evaluate(args)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5, err_msg=str(op))


INTEGERS = [
    ("int8", "int8", i32),
    ("uint8", "int8", i32),
    ("uint8", "uint8", i32),
    ("int32", "int32", None),
    ("int64", "int64", None),
    ("int8", "int8", None),
]


def integer_case(left: str, right: str, out: object, groups: int) -> tuple[Conv, list[np.ndarray]]:
    op = Conv2D(groups=groups, padding=(1, 0, 0, 1), out_dtype=out)
    (data,), (weight,) = arrays(2, (1, 4, 4, 3), dtype=left), arrays(3, (2, 4 // groups, 2, 2), dtype=right)
    data.flat[0] = weight.flat[0] = 255 if left[0] == "u" and right[0] == "u" else 127
    return op, [data, weight]


@pytest.mark.parametrize(("left", "right", "out"), INTEGERS)
@pytest.mark.parametrize("groups", [1, 2])
def test_integers_wrap_in_the_result_type(left: str, right: str, out: object, groups: int):
    op, args = integer_case(left, right, out, groups)
    (got,) = op.evaluate(args)
    assert got.dtype == (np.int32 if out else np.dtype(left))
    want = by_sums(op, *args)
    bits = got.dtype.itemsize * 8
    wrapped = [(int(v) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1)) for v in want.reshape(-1)]
    np.testing.assert_array_equal(got.reshape(-1), wrapped)


@needs_mlir
def test_lower_form_of_integers():
    cases = [integer_case(*types, groups) for types in INTEGERS for groups in (1, 2)]
    for (op, args), (got,) in zip(cases, run_lowered_together(cases), strict=True):
        np.testing.assert_array_equal(got, op.evaluate(args)[0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_floats(dtype: str):
    """Narrow floats are added up as f32 and rounded once."""
    op = Conv2D(padding=(1, 1, 1, 1))
    data, weight = arrays(4, (1, 64, 3, 4), (2, 64, 3, 3), dtype=dtype)
    want = by_sums(op, data, weight).astype(np.float64)
    cases = [op.evaluate([data, weight])[0]]
    cases += run_lowered_together([(op, [data, weight])])[0] if AVAILABLE else []
    for got in cases:
        assert got.dtype == dtype_of(dtype)
        assert_close(got, want.astype(got.dtype), ulps=4000 if dtype == "float64" else 1)


def test_out_dtype_widens():
    data, weight = arrays(5, (1, 3, 4, 4), (2, 3, 2, 2), dtype="float16")
    (got,) = Conv2D(out_dtype=f32).evaluate([data, weight])
    assert got.dtype == np.float32
    np.testing.assert_allclose(
        got, by_onnxruntime(Conv2D(), *(v.astype(np.float32) for v in (data, weight))), rtol=1e-5
    )


@pytest.mark.parametrize("groups", [1, 2])
def test_no_input_channels_sum_to_zero(groups: int):
    data, weight = np.ones((1, 0, 3, 3), np.float32), np.ones((2, 0, 2, 2), np.float32)
    (got,) = Conv2D(groups=groups).evaluate([data, weight])
    np.testing.assert_array_equal(got, np.zeros((1, 2, 2, 2), np.float32))


def test_nan_and_infinity_reach_only_their_windows():
    data, weight = np.ones((1, 1, 1, 5), np.float32), np.ones((1, 1, 1, 2), np.float32)
    data[..., 0], data[..., 4] = np.nan, np.inf
    (got,) = Conv2D().evaluate([data, weight])
    np.testing.assert_array_equal(got.reshape(-1), [np.nan, 2, 2, np.inf])


def loops_of(op: Conv, *shapes: tuple[int, ...]) -> tuple[list[str], list[str]]:
    """The iterators and the indexing maps of the contraction in the lower form."""
    module, _ = lowered_module(op, arrays(6, *shapes))
    (generic,) = (o for o in module.walk() if isinstance(o, GenericOp))
    maps = [str(attr.data).split("-> ")[1] for attr in generic.indexing_maps]
    return [iterator.data.value for iterator in generic.iterator_types], maps


@pytest.mark.parametrize(
    ("op", "shapes", "parallel", "maps"),
    [
        (
            Conv2D(strides=(2, 1), dilation=(1, 3), data_layout="NHWC", kernel_layout="HWIO"),
            [(1, 9, 9, 3), (3, 2, 3, 4)],
            4,
            ["(d0, ((d1 * 2) + d4), (d2 + (d5 * 3)), d6)", "(d4, d5, d6, d3)", "(d0, d1, d2, d3)"],
        ),
        (
            Conv2D(groups=2, data_layout="NHWC", kernel_layout="HWIO"),
            [(1, 9, 9, 4), (3, 2, 2, 6)],
            5,
            ["(d0, (d1 + d5), (d2 + d6), d3, d7)", "(d5, d6, d7, d3, d4)", "(d0, d1, d2, d3, d4)"],
        ),
        (
            Conv2D(groups=4, data_layout="NHWC", kernel_layout="HWIO"),
            [(1, 9, 9, 4), (3, 2, 1, 4)],
            4,
            ["(d0, (d1 + d4), (d2 + d5), d3)", "(d4, d5, d3)", "(d0, d1, d2, d3)"],
        ),
        (Conv1D(), [(1, 3, 9), (4, 3, 2)], 3, ["(d0, d4, (d2 + d3))", "(d1, d4, d3)", "(d0, d1, d2)"]),
    ],
)
def test_lower_form_is_one_contraction(op: Conv, shapes: list, parallel: int, maps: list[str]):
    """Parallel loops in the order of the result's dimensions, then the window, then the input channels."""
    iterators, found = loops_of(op, *shapes)
    assert iterators == ["parallel"] * parallel + ["reduction"] * (len(iterators) - parallel)
    assert found == maps


@pytest.mark.parametrize(
    ("op", "data", "weight", "result"),
    [
        (Conv2D(), (ANY, 3, ANY, 8), (4, 3, 3, 3), (ANY, 4, ANY, 6)),
        (Conv2D(), (1, ANY, 8, 8), (4, 3, 3, 3), (1, 4, 6, 6)),
        (Conv2D(kernel_size=(3, 3)), (1, 3, 8, 8), (4, 3, ANY, ANY), (1, 4, 6, 6)),
        (Conv2D(channels=4), (1, 3, 8, 8), (ANY, 3, ANY, 3), (1, 4, ANY, 6)),
        (Conv2D(groups=2), (1, ANY, 8, 8), (ANY, 3, 3, 3), (1, ANY, 6, 6)),
    ],
)
def test_infer_with_unknown_dimensions(op: Conv, data: tuple, weight: tuple, result: tuple):
    assert op.infer([tensor(data, f32), tensor(weight, f32)]) == [tensor(result, f32)]


REJECTED = [
    (Conv2D(), (1, 3, 8), (4, 3, 3, 3), r"data must have 4 dimensions \(NCHW\), but has shape \[1, 3, 8\]"),
    (Conv2D(), (1, 3, 8, 8), (4, 3, 3), "weight must have 4 dimensions"),
    (Conv2D(), (1, 4, 8, 8), (4, 3, 3, 3), "must agree, but are 4 and 3"),
    (Conv2D(), (1, 3, 2, 8), (4, 3, 3, 3), "spatial dimension 0 has 2 elements with its padding: fewer than the 3"),
    (Conv2D(dilation=(1, 4)), (1, 3, 8, 8), (4, 3, 3, 3), "fewer than the 9 that a window of size 3 and dilation 4"),
    (Conv2D(groups=2), (1, 3, 8, 8), (4, 3, 3, 3), r"the data's channels \(3\) must be a multiple of groups \(2\)"),
    (Conv2D(groups=2), (1, 6, 8, 8), (3, 3, 3, 3), r"output channels \(3\) must be a multiple"),
    (Conv2D(groups=0), (1, 6, 8, 8), (3, 3, 3, 3), "groups must be at least 1"),
    (Conv2D(strides=(0, 1)), (1, 3, 8, 8), (4, 3, 3, 3), "strides must be 2 integers of at least 1"),
    (Conv2D(padding=(1, 1)), (1, 3, 8, 8), (4, 3, 3, 3), "padding .* must be 4 integers of at least 0"),
    (Conv2D(padding=(-1, 0, 0, 0)), (1, 3, 8, 8), (4, 3, 3, 3), "padding .* must be 4 integers of at least 0"),
    (Conv2D(kernel_size=(3, 5)), (1, 3, 8, 8), (4, 3, 3, 3), "must agree, but are 3 and 5"),
    (Conv2D(channels=5), (1, 3, 8, 8), (4, 3, 3, 3), "must agree, but are 4 and 5"),
    (
        Conv2D(data_layout="NCWW"),
        (1, 3, 8, 8),
        (4, 3, 3, 3),
        "data_layout 'NCWW' must have each of the letters N C H W",
    ),
    (Conv2D(kernel_layout="OIH"), (1, 3, 8, 8), (4, 3, 3, 3), "kernel_layout 'OIH' must have each of the letters"),
    (Conv2D(out_dtype=i32), (1, 3, 8, 8), (4, 3, 3, 3), "element types f32 and f32 give no i32"),
]


@pytest.mark.parametrize(("op", "data", "weight", "message"), REJECTED)
def test_rejections(op: Conv, data: tuple, weight: tuple, message: str):
    with pytest.raises(VerifyException, match=message):
        op.infer([tensor(data, f32), tensor(weight, f32)])


def test_integers_of_two_types_need_a_result_type():
    types = [tensor((1, 3, 8, 8), ui8), tensor((4, 3, 3, 3), i8)]
    with pytest.raises(VerifyException, match="give the type of the result as out_dtype"):
        Conv2D().infer(types)
