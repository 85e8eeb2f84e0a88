"""Operators whose meaning changed between opsets, each against onnxruntime at that opset, or numpy."""

from typing import Any

import numpy as np
import pytest
from onnx import helper

from test.support.onnx_graphs import info, model, one, onnxruntime_run, run

RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((2, 3, 4)).astype(np.float32)
IMAGE = RANDOM.standard_normal((1, 2, 5, 6)).astype(np.float32)
EDGES = np.float32([-np.inf, -2, -0.5, -0.0, 0.0, 0.5, 1.5, 2.5, np.inf, np.nan])


@pytest.mark.parametrize(
    ("op", "opset", "inputs", "attributes"),
    [
        # Up to opset 12 the input is flattened to a matrix at the axis, which is 1 by default; then it is one axis, -1.
        *[(op, opset, [X], {}) for op in ("Softmax", "LogSoftmax", "Hardmax") for opset in (7, 11, 13)],
        *[(op, 11, [X], {"axis": axis}) for op in ("Softmax", "Hardmax") for axis in (0, 2, -1)],
        *[("Softmax", 13, [X], {"axis": axis}) for axis in (0, 1, -2)],
        ("Slice", 9, [X], {"starts": [1, -3], "ends": [99, -1], "axes": [1, 2]}),
        ("Slice", 9, [X], {"starts": [0, 1], "ends": [1, 3]}),
        ("Slice", 13, [X, np.array([3]), np.array([-99]), np.array([-1]), np.array([-2])], {}),
        ("Slice", 13, [X, np.array([9]), np.array([20]), np.array([2])], {}),
        ("Split", 11, [X], {"axis": 2, "split": [1, 3]}),
        ("Split", 13, [X, np.array([1, 2])], {"axis": 1}),
        ("Split", 18, [X], {"axis": 1, "num_outputs": 2}),
        ("Clip", 6, [EDGES], {"min": -1.0}),
        ("Clip", 6, [EDGES], {"min": -1.0, "max": 2.0}),
        ("Clip", 11, [EDGES, np.float32(-1), np.float32(2)], {}),
        ("Clip", 13, [EDGES, np.float32(2), np.float32(-1)], {}),  # limits that cross: the upper one wins
        ("Clip", 13, [np.array([-5, 0, 5]), np.array(-2), np.array(3)], {}),
        ("Pad", 2, [X], {"pads": [0, 1, 2, 1, 0, 0], "mode": "edge"}),
        ("Pad", 11, [X, np.array([0, 1, -1, 1, 0, -1]), np.float32(7)], {}),
        ("Pad", 18, [X, np.array([2, 1]), np.float32(7), np.array([-1])], {}),
        ("Pad", 19, [X, np.array([0, 2, 0, 0, 3, 1])], {"mode": "wrap"}),
        ("Upsample", 7, [IMAGE], {"scales": [1.0, 1.0, 2.0, 1.5]}),
        ("Upsample", 9, [IMAGE, np.float32([1, 1, 2, 3])], {"mode": "linear"}),
        ("Resize", 10, [IMAGE, np.float32([1, 1, 0.6, 0.5])], {}),
        ("Resize", 10, [IMAGE, np.float32([1, 1, 2, 0.5])], {"mode": "linear"}),
        ("Unsqueeze", 11, [X], {"axes": [0, -1]}),
        ("Unsqueeze", 13, [X, np.array([-1, 1])], {}),
        ("Squeeze", 11, [X[:1]], {}),
        ("Squeeze", 13, [X[:1, :1], np.array([-3])], {}),
        ("ReduceSum", 11, [X], {"axes": [0, -1]}),
        ("ReduceSum", 13, [X, np.array([-1])], {"keepdims": 0}),
        ("ReduceSum", 13, [X], {"noop_with_empty_axes": 1}),
        ("ReduceMax", 13, [X], {}),
        ("ReduceMean", 18, [X, np.array([1])], {}),
        ("ReduceLogSumExp", 13, [X * 100], {"axes": [1]}),
        ("BatchNormalization", 7, [IMAGE, *np.float32([[1, 2], [3, 4], [5, 6], [7, 8]])], {"epsilon": 0.1}),
        ("BatchNormalization", 15, [IMAGE, *np.float32([[1, 2], [3, 4], [5, 6], [7, 8]])], {"momentum": 0.5}),
        ("Dropout", 7, [X], {"ratio": 0.9}),
        ("Dropout", 12, [X, np.float32(0.9)], {}),
        ("TopK", 11, [X, np.array([2])], {"axis": 1, "largest": 0}),
        ("ArgMax", 12, [np.float32([[1, 3, 3], [2, 2, 0]])], {"axis": 1, "select_last_index": 1}),
        ("Gather", 13, [X, np.array([[-1, 0], [1, -3]])], {"axis": 1}),
        ("GatherND", 12, [X, np.array([[[-1]], [[1]]])], {"batch_dims": 1}),
        ("GatherElements", 13, [X, np.array([[[-1, 0, 1, 2]]] * 2)], {"axis": 1}),
        ("ScatterElements", 16, [X, np.array([[[-1, 0, 1, 1]]]), X[:1, :1] * 2], {"axis": 1, "reduction": "add"}),
        ("ScatterND", 16, [X, np.array([[0], [-1]]), X * 3], {"reduction": "mul"}),
        ("OneHot", 11, [np.array([0, -1, 5]), np.array(3), np.float32([2, 9])], {"axis": 0}),
        ("CumSum", 14, [X, np.array(-1)], {"exclusive": 1, "reverse": 1}),
        ("Trilu", 14, [X, np.array(-1)], {"upper": 0}),
        ("Mod", 13, [np.array([-7, 7, -7]), np.array([3, -3, -3])], {}),
        ("Mod", 13, [np.float32([-7.5, 7.5]), np.float32([3, -3])], {"fmod": 1}),
        ("Div", 14, [np.array([-7, 7, -7]), np.array([2, -2, -2])], {}),
        ("Pow", 15, [np.int32([2, 3]), np.float32([3, 2])], {}),
        ("PRelu", 9, [IMAGE, np.float32([[[0.1]], [[0.2]]])], {}),
        ("Flatten", 13, [X], {"axis": -1}),
        ("DepthToSpace", 11, [RANDOM.random((1, 8, 2, 3), np.float32)], {"blocksize": 2, "mode": "CRD"}),
        ("LpNormalization", 1, [X], {"axis": 1, "p": 1}),
        ("LRN", 13, [IMAGE], {"size": 3, "alpha": 0.3, "bias": 1.5}),
        ("Gemm", 13, [X[0], X[1], X[0, :, :3]], {"transB": 1, "alpha": 0.5, "beta": 2.0}),
        ("Gemm", 11, [X[0], X[1], X[0, 0]], {"transA": 1}),
        ("InstanceNormalization", 6, [IMAGE, np.float32([1, 2]), np.float32([3, 4])], {"epsilon": 0.1}),
        ("LayerNormalization", 17, [X, X[0, 0], X[1, 1]], {}),
        ("LayerNormalization", 17, [X, X[0]], {"axis": 1}),
        ("AveragePool", 11, [IMAGE], {"kernel_shape": [3, 2], "ceil_mode": 1, "strides": [2, 2]}),
        ("AveragePool", 11, [IMAGE], {"kernel_shape": [3, 3], "auto_pad": "SAME_LOWER", "count_include_pad": 1}),
        ("MaxPool", 12, [IMAGE], {"kernel_shape": [2, 2], "pads": [0, 1, 1, 0], "dilations": [2, 2]}),
        ("Conv", 11, [IMAGE, RANDOM.random((3, 2, 3, 2), np.float32)], {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
        ("Conv", 11, [IMAGE, RANDOM.random((4, 1, 2, 2), np.float32), np.ones(4, np.float32)], {"group": 2}),
        (
            "ConvTranspose",
            11,
            [IMAGE, RANDOM.random((2, 3, 3, 3), np.float32)],
            {"strides": [2, 2], "output_padding": [1, 0], "pads": [1, 0, 0, 1]},
        ),
        (
            "ConvTranspose",
            11,
            [IMAGE, RANDOM.random((2, 3, 3, 3), np.float32)],
            {"strides": [2, 2], "output_shape": [10, 13]},
        ),
    ],
)
def test_against_onnxruntime(op: str, opset: int, inputs: list[Any], attributes: dict[str, Any]):
    outputs = 2 if op in ("Split", "TopK") else 1
    floats = [at for at, array in enumerate(inputs) if array.dtype.kind == "f" and array.ndim > 1]
    known = max(floats, default=0) + 1 if op not in ("Upsample", "Resize") else 1
    known = (
        len(inputs)
        if op in ("Div", "Mod", "Pow", "GatherElements", "GatherND", "ScatterElements", "ScatterND")
        else known
    )
    proto = one(op, inputs, opset, outputs, known, **attributes)
    expected = onnxruntime_run(proto, *inputs[:known])
    found = run(proto, *inputs[:known])
    for a, b in zip(expected, found, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(b, a, rtol=2e-5, atol=1e-6)


# Forms that onnxruntime does not have: the broadcasting of opsets 1 to 6, and the first opsets of some operators.


@pytest.mark.parametrize(
    ("shape", "axis", "as_shape"),
    [((4,), None, (4,)), ((3, 4), None, (3, 4)), ((3,), 1, (3, 1)), ((2, 3), 0, (2, 3, 1)), ((2,), -3, (2, 1, 1))],
)
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div"])
def test_broadcasting_before_opset_7(op: str, shape: tuple[int, ...], axis: int | None, as_shape: tuple[int, ...]):
    b = RANDOM.random(shape, np.float32) + 0.5
    attributes = {"broadcast": 1} | ({} if axis is None else {"axis": axis})
    function = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}[op]
    np.testing.assert_allclose(run(one(op, [X, b], 6, **attributes), X, b)[0], function(X, b.reshape(as_shape)), 1e-6)


@pytest.mark.parametrize(
    ("op", "opset", "inputs", "attributes", "expected"),
    [
        ("Reshape", 1, [X], {"shape": [0, -1]}, X.reshape(2, 12)),
        ("Concat", 1, [X, X], {}, np.concatenate([X, X], 1)),
        ("Cast", 1, [X], {"to": "INT32"}, X.astype(np.int32)),
        ("Pad", 1, [X[0]], {"paddings": [1, 0, 0, 2], "value": 3.0}, np.pad(X[0], ((1, 0), (0, 2)), constant_values=3)),
        ("Dropout", 1, [X], {"is_test": 1}, X),
        ("Upsample", 1, [IMAGE], {"height_scale": 2.0, "width_scale": 1.0}, IMAGE.repeat(2, axis=2)),
        ("Split", 2, [X], {"axis": 1}, X),
        ("Sum", 6, [X, X, X], {}, X * 3),
        ("Mean", 8, [X, X[0], np.float32(1)], {}, (X + X[0] + 1) / 3),
        ("Relu", 1, [X], {"consumed_inputs": [0]}, np.maximum(X, 0)),
        ("TopK", 1, [X], {"k": 1, "axis": 2}, X.max(2, keepdims=True)),
    ],
)
def test_first_opsets(op: str, opset: int, inputs: list[Any], attributes: dict[str, Any], expected: np.ndarray):
    (found, *_) = run(one(op, inputs, opset, 2 if op == "TopK" else 1, **attributes), *inputs)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(("opset", "count"), [(18, 2), (21, 4)])
def test_group_normalization_scales_groups_then_channels(opset: int, count: int):
    x = RANDOM.random((1, 4, 3), np.float32)
    scale, bias = RANDOM.random(count, np.float32), RANDOM.random(count, np.float32)
    grouped = x.reshape(1, 2, 6)
    normal = (grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + 1e-5)
    scale_, bias_ = (v.repeat(4 // count).reshape(1, 4, 1) for v in (scale, bias))
    found = run(one("GroupNormalization", [x, scale, bias], opset, num_groups=2), x, scale, bias)[0]
    np.testing.assert_allclose(found, normal.reshape(1, 4, 3) * scale_ + bias_, rtol=1e-4, atol=1e-5)


def test_average_of_nothing_and_extrema_with_nan():
    """NaN where onnxruntime gives 0 or drops it, as IEEE arithmetic and numpy have it."""
    x = np.zeros((2, 0), np.float32)
    assert np.isnan(run(one("ReduceMean", [x], 13, axes=[1]), x)[0]).all()
    y = np.float32([[1, np.nan, 3], [np.nan, 2, 1]])
    assert np.isnan(run(one("ReduceMax", [y], 13, axes=[1]), y)[0]).all()
    np.testing.assert_array_equal(run(one("ArgMax", [y], 13, axis=1, keepdims=0), y)[0], [1, 0])


@pytest.mark.parametrize(
    ("shapes", "equation"),
    [
        ([(2, 3), (3, 4)], "ij,jk->ik"),
        ([(2, 3), (3, 4)], "ij,jk"),
        ([(5, 2, 3), (5, 3, 4)], "bij,bjk->bik"),
        ([(5, 2, 3), (5, 3, 4)], "...ij,...jk->...ik"),
        ([(2, 3), (2, 3)], "ij,ij->"),
        ([(2,), (3,)], "i,j->ij"),
        ([(3, 3)], "ii->i"),
        ([(3, 3)], "ii"),
        ([(2, 3, 4)], "ijk->ki"),
        ([(2, 3), (3, 4), (4, 5)], "ij,jk,kl->il"),
        ([(2, 1, 3), (4, 3)], "abc,bc->ab"),
        ([(2, 3, 4, 5), (2, 3, 5, 6)], "bhqd,bhdk->bhqk"),
    ],
)
def test_einsum(shapes: list[tuple[int, ...]], equation: str):
    inputs = [RANDOM.standard_normal(shape).astype(np.float32) for shape in shapes]
    if equation == "abc,bc->ab":  # a dimension of 1 stretches
        inputs[0] = inputs[0].repeat(1, 1)
    expected = np.einsum(equation, *inputs)
    found = run(one("Einsum", inputs, 12, equation=equation), *inputs)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("a", "b"),
    [((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((1, 2, 3), (5, 3, 4)),
     ((2, 3), (5, 3, 4)), ((6, 1, 2, 3), (5, 3, 4)), ((3,), (5, 3, 4)), ((6, 5, 2, 3), (3,)), ((0, 3), (3, 4))],
)  # fmt: skip
def test_matmul_of_all_ranks(a: tuple[int, ...], b: tuple[int, ...]):
    x, y = (RANDOM.standard_normal(shape).astype(np.float32) for shape in (a, b))
    np.testing.assert_allclose(run(one("MatMul", [x, y], 13), x, y)[0], np.matmul(x, y), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "attributes",
    [
        {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
        {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
        {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"},
        {"mode": "cubic", "exclude_outside": 1, "cubic_coeff_a": -0.5},
        {"mode": "linear", "antialias": 1},
    ],
)
@pytest.mark.parametrize("sizes", [[1, 2, 10, 9], [1, 2, 3, 4]])
def test_resize(attributes: dict[str, Any], sizes: list[int]):
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **attributes)
    proto = model([node], [info("x", IMAGE.shape)], ["y"], {"sizes": np.array(sizes)}, opset=18)
    (expected,) = onnxruntime_run(proto, IMAGE)
    np.testing.assert_allclose(run(proto, IMAGE)[0], expected, rtol=1e-4, atol=1e-5)
