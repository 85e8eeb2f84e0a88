"""Normalizations and bias_add: evaluate against float64 formulas and onnxruntime, the lower form against evaluate."""

import math

import numpy as np
import pytest
from xdsl.dialects.builtin import f16, f32, i32
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.channelwise import BatchNorm, BiasAdd
from relay_mlir.dialects.relay.l2_normalize import L2Normalize
from relay_mlir.dialects.relay.lrn import LRN
from relay_mlir.dialects.relay.norm import GroupNorm, InstanceNorm, LayerNorm
from relay_mlir.dialects.relay.op import Operator
from relay_mlir.dialects.relay.types import ANY, tensor
from test.support.mlir_oracle import AVAILABLE
from test.support.onnx_oracle import onnx_op
from test.support.operator_check import assert_close, dtype_of, run_lowered_together

NARROW = ["float16", "bfloat16"]


def normal(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [(rng.standard_normal(shape) * 2 + 1).astype(np.float32) for shape in shapes]


def operands(op: Operator, data: tuple[int, ...], parameter: tuple[int, ...]) -> list[np.ndarray]:
    """The data and as many parameters as the operator takes; a variance is positive."""
    args = normal(data, *[parameter] * (len(op.operands) - 1))
    return [np.abs(arg) if name == "moving_var" else arg for name, arg in zip(op.operands, args, strict=True)]


# operator, shape of the data, shape of each parameter
CASES: dict[str, tuple[Operator, tuple[int, ...], tuple[int, ...]]] = {
    "bias_add": (BiasAdd(), (2, 3, 4, 5), (3,)),
    "bias_add, last axis": (BiasAdd(axis=-1), (2, 3, 4), (4,)),
    "batch_norm": (BatchNorm(), (2, 3, 4, 5), (3,)),
    "batch_norm, last axis": (BatchNorm(axis=-1, epsilon=0.1), (2, 4, 3), (3,)),
    "batch_norm, no scale": (BatchNorm(scale=False), (2, 3), (3,)),
    "batch_norm, no center": (BatchNorm(center=False), (2, 3), (3,)),
    "batch_norm of no batch": (BatchNorm(), (0, 3, 4), (3,)),
    "layer_norm": (LayerNorm(), (2, 3, 8), (8,)),
    "layer_norm of two axes": (LayerNorm(axis=1, epsilon=0.01), (2, 3, 8), (3, 8)),
    "layer_norm of everything": (LayerNorm(axis=0), (2, 3), (2, 3)),
    "layer_norm of a middle axis": (LayerNorm(axis=1), (2, 5, 3), (5,)),
    "layer_norm, no scale, no center": (LayerNorm(scale=False, center=False), (2, 8), (8,)),
    "layer_norm of no rows": (LayerNorm(), (0, 8), (8,)),
    "instance_norm": (InstanceNorm(epsilon=0.01), (2, 3, 4, 5), (3,)),
    "instance_norm, last axis": (InstanceNorm(axis=-1), (2, 6, 3), (3,)),
    "instance_norm of one channel": (InstanceNorm(), (2, 1, 6), (1,)),
    "group_norm": (GroupNorm(num_groups=2), (2, 6, 4, 3), (6,)),
    "group_norm, last axis": (GroupNorm(num_groups=3, axis=-1), (2, 4, 6), (6,)),
    "group_norm of one group": (GroupNorm(num_groups=1), (2, 4, 3), (4,)),
    "group_norm of single channels": (GroupNorm(num_groups=4), (2, 4, 3), (4,)),
    "lrn": (LRN(size=3, alpha=0.5, beta=0.6, bias=1.5), (2, 7, 3, 2), ()),
    "lrn, even size": (LRN(size=4, alpha=0.5), (2, 7, 3), ()),
    "lrn beyond the channels": (LRN(size=9, alpha=0.5), (2, 3, 2), ()),
    "lrn, another axis": (LRN(size=3, alpha=0.5, axis=-1), (2, 3, 5), ()),
    "l2_normalize": (L2Normalize(eps=1e-10, axis=(1,)), (2, 3, 4), ()),
    "l2_normalize over two axes": (L2Normalize(eps=30.0, axis=(-1, 0)), (2, 3, 4), ()),
}


def spread(parameter: np.ndarray, axis: int, rank: int) -> np.ndarray:
    """A vector of channels as an array with all the data's dimensions."""
    shape = [1] * rank
    shape[axis] = -1
    return parameter.reshape(shape)


def standardized(x: np.ndarray, axes: tuple[int, ...], epsilon: float) -> np.ndarray:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


def by_formula(op: Operator, x: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
    """The definition, in double precision."""
    x, *rest = (np.asarray(a, np.float64) for a in (x, *parameters))
    axis = op.axis % x.ndim if isinstance(op.axis, int) else op.axis
    others = tuple(a for a in range(1, x.ndim) if a != axis)
    if isinstance(op, LayerNorm):
        gamma, beta = (p.reshape(p.shape + (1,) * (x.ndim - axis - p.ndim)) for p in rest)
        y = standardized(x, tuple(range(axis, axis + rest[0].ndim)), op.epsilon)
    elif not isinstance(op, LRN | L2Normalize):
        rest = [spread(p, axis, x.ndim) for p in rest]
        gamma, beta = rest[0], rest[-1] if isinstance(op, BiasAdd) else rest[1]
    match op:
        case BiasAdd():
            return x + beta
        case BatchNorm():
            y = (x - rest[2]) / np.sqrt(rest[3] + op.epsilon)
        case InstanceNorm():
            y = standardized(x, others, op.epsilon)
        case GroupNorm():
            parts = np.split(x, op.num_groups, axis)
            y = np.concatenate([standardized(p, tuple(range(1, x.ndim)), op.epsilon) for p in parts], axis)
        case L2Normalize():
            return x / np.sqrt(np.maximum((x * x).sum(op.axis, keepdims=True), op.eps))
        case LRN():
            channels = np.moveaxis(x, axis, 0)
            low = (op.size - 1) // 2
            sums = [
                sum(channels[j] ** 2 for j in range(max(0, c - low), min(len(channels), c - low + op.size)))
                for c in range(len(channels))
            ]
            return x / (op.bias + op.alpha / op.size * np.moveaxis(np.array(sums), 0, axis)) ** op.beta
        case _:
            assert isinstance(op, LayerNorm)
    y = y * gamma if op.scale else y
    return y + beta if op.center else y


@pytest.mark.parametrize("name", CASES)
def test_evaluate_matches_the_formula(name: str):
    op, *shapes = CASES[name]
    args = operands(op, *shapes)
    (got,) = op.evaluate(args)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, by_formula(op, *args), rtol=1e-4, atol=1e-5)


ONNX = [
    ("batch_norm", "BatchNormalization", {"epsilon": 1e-5}),
    ("layer_norm", "LayerNormalization", {"epsilon": 1e-5}),
    ("layer_norm of two axes", "LayerNormalization", {"epsilon": 0.01, "axis": 1}),
    ("instance_norm", "InstanceNormalization", {"epsilon": 0.01}),
    ("group_norm", "GroupNormalization", {"epsilon": 1e-5, "num_groups": 2}),
    ("lrn", "LRN", {"size": 3, "alpha": 0.5, "beta": 0.6, "bias": 1.5}),
]


@pytest.mark.parametrize(("name", "op_type", "attributes"), ONNX)
def test_evaluate_matches_onnxruntime(name: str, op_type: str, attributes: dict[str, object]):
    op, *shapes = CASES[name]
    args = operands(op, *shapes)
    np.testing.assert_allclose(op.evaluate(args)[0], onnx_op(op_type, args, **attributes)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(not AVAILABLE, reason="mlir-opt-22 is not installed")
def test_lower_form_matches_evaluate():
    cases = [(op, operands(op, *shapes)) for op, *shapes in CASES.values()]
    for (op, args), (got,) in zip(cases, run_lowered_together(cases), strict=True):
        np.testing.assert_allclose(got, op.evaluate(args)[0], rtol=1e-5, atol=1e-5, err_msg=str(op))


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_floats_are_rounded_once(dtype: str):
    """No intermediate value is rounded to the narrow type."""
    cases = []
    for op, *shapes in CASES.values():
        cases.append((op, [arg.astype(dtype_of(dtype)) for arg in operands(op, *shapes)]))
    lowered = run_lowered_together(cases) if AVAILABLE else [[] for _ in cases]
    for (op, args), results in zip(cases, lowered, strict=True):
        want = by_formula(op, *args).astype(dtype_of(dtype))
        for got in [*op.evaluate(args), *results]:
            assert_close(got, want, ulps=1)


def test_parameters_of_another_float_type():
    for op, *shapes in (CASES["batch_norm"], CASES["layer_norm"], CASES["group_norm"]):
        data, *parameters = operands(op, *shapes)
        args = [data.astype(np.float16), *parameters]
        want = by_formula(op, *args).astype(np.float16)
        results = run_lowered_together([(op, args)])[0] if AVAILABLE else []
        for got in [*op.evaluate(args), *results]:
            assert_close(got, want, ulps=1)


def test_variance_is_taken_in_two_passes():
    """A large common offset does not drown the variance."""
    data = (np.arange(8) + 1e4).astype(np.float32).reshape(1, 8)
    ones, zeros = np.ones(8, np.float32), np.zeros(8, np.float32)
    want = (np.arange(8) - 3.5) / math.sqrt(5.25 + 1e-5)
    results = run_lowered_together([(LayerNorm(), [data, ones, zeros])])[0] if AVAILABLE else []
    for got in [*LayerNorm().evaluate([data, ones, zeros]), *results]:
        np.testing.assert_allclose(got[0], want, rtol=1e-5)


def test_bias_of_integers_wraps():
    data, bias = np.array([[100, 5]], np.int8), np.array([100, -6], np.int8)
    results = run_lowered_together([(BiasAdd(), [data, bias])])[0] if AVAILABLE else []
    for got in [*BiasAdd().evaluate([data, bias]), *results]:
        assert got.tolist() == [[-56, -1]]
        assert got.dtype == np.int8


def test_nan_stays_in_its_own_row():
    data = np.array([[1, math.nan, 2], [1, 2, 3]], np.float32)
    ones, zeros = np.ones(3, np.float32), np.zeros(3, np.float32)
    results = run_lowered_together([(LayerNorm(), [data, ones, zeros])])[0] if AVAILABLE else []
    for got in [*LayerNorm().evaluate([data, ones, zeros]), *results]:
        assert np.isnan(got).tolist() == [[True] * 3, [False] * 3]


@pytest.mark.parametrize(
    ("op", "shapes", "result"),
    [
        (BiasAdd(), [(1, ANY, 4), (3,)], (1, 3, 4)),
        (BatchNorm(), [(ANY, 3), (3,), (ANY,), (3,), (3,)], (ANY, 3)),
        (LayerNorm(axis=1), [(ANY, ANY, 4), (3, 4), (3, ANY)], (ANY, 3, 4)),
        (GroupNorm(num_groups=2), [(1, ANY, 4), (ANY,), (ANY,)], (1, ANY, 4)),
    ],
)
def test_infer_with_unknown_dimensions(op: Operator, shapes: list, result: tuple):
    assert op.infer([tensor(shape, f32) for shape in shapes]) == [tensor(result, f32)]


@pytest.mark.parametrize(
    ("op", "shapes", "message"),
    [
        (BiasAdd(), [(1, 3), (4,)], "dimension 1 of the data and the length of bias must agree, but are 3 and 4"),
        (BiasAdd(), [(1, 3), (1, 3)], "bias must have one dimension"),
        (BiasAdd(axis=2), [(1, 3), (3,)], "axis 2 is out of range"),
        (BatchNorm(), [(1, 3), (3,), (3,), (4,), (3,)], "the length of moving_mean must agree"),
        (LayerNorm(), [(1, 3), (1, 3), (1, 3)], "gamma must have 1 to 1 dimensions, for axes from 1 on; it has 2"),
        (LayerNorm(axis=0), [(2, 3), (2, 3), (2,)], r"must have one shape, but beta has shape \[2\]"),
        (LayerNorm(), [(1, 3), (4,), (4,)], "dimension 1 of the data and that of gamma must agree"),
        (InstanceNorm(axis=0), [(2, 3), (2,), (2,)], "axis must not be 0, the batch axis"),
        (GroupNorm(num_groups=2), [(2, 3, 4), (3,), (3,)], r"num_groups \(2\) must divide the 3 channels"),
        (LRN(size=0), [(2, 3)], "size must be at least 1"),
        (L2Normalize(eps=0.0, axis=(1, -1)), [(2, 3)], "an axis occurs twice"),
    ],
)
def test_rejections(op: Operator, shapes: list, message: str):
    with pytest.raises(VerifyException, match=message):
        op.infer([tensor(shape, f32) for shape in shapes])


def test_element_types_are_checked():
    with pytest.raises(VerifyException, match="data and bias must have one element type"):
        BiasAdd().infer([tensor((1, 3), f32), tensor((3,), f16)])
    with pytest.raises(VerifyException, match="moving_var must be a tensor of floats"):
        BatchNorm().infer([tensor((1, 3), f32), *[tensor((3,), f32)] * 3, tensor((3,), i32)])
