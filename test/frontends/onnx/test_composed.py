"""Operators that are written out in others: quantized ones, Fourier transforms, those defined by ONNX functions."""

from typing import Any

import numpy as np
import pytest

from test.support.onnx_graphs import one, onnxruntime_run, problems, run

RANDOM = np.random.default_rng(7)
X = RANDOM.standard_normal((2, 3, 8)).astype(np.float32)


def bytes_(*shape: int, dtype: str = "uint8") -> np.ndarray:
    info = np.iinfo(dtype)
    return RANDOM.integers(info.min, info.max, shape, endpoint=True).astype(dtype)


@pytest.mark.parametrize(
    ("op", "opset", "inputs", "attributes"),
    [
        ("QuantizeLinear", 10, [X * 50, np.float32(0.5), np.uint8(128)], {}),
        ("QuantizeLinear", 13, [X * 50, np.float32([0.5, 1, 2]), np.int8([0, 3, -7])], {"axis": 1}),
        ("QuantizeLinear", 13, [np.float32([0.5, 1.5, 2.5, -0.5, 1e30, -1e30]), np.float32(1)], {}),
        ("DequantizeLinear", 13, [bytes_(2, 3, 4), np.float32([0.5, 1, 2]), np.uint8([0, 3, 200])], {"axis": 1}),
        ("DequantizeLinear", 10, [RANDOM.integers(-99, 99, (2, 3)).astype(np.int32), np.float32(0.1)], {}),
        ("DynamicQuantizeLinear", 11, [X * 3 - 1], {}),
        ("MatMulInteger", 10, [bytes_(4, 5), bytes_(5, 3), np.uint8(7), np.uint8(200)], {}),
        (
            "QLinearMatMul",
            10,
            [
                bytes_(4, 5), np.float32(0.1), np.uint8(100), bytes_(5, 3), np.float32(0.02), np.uint8(3),
                np.float32(0.5), np.uint8(120),
            ],
            {},
        ),
        ("ConvInteger", 10, [bytes_(1, 2, 5, 6), bytes_(3, 2, 3, 3), np.uint8(100)], {"pads": [1, 1, 1, 1]}),
        (
            "QLinearConv",
            10,
            [
                bytes_(1, 2, 5, 6), np.float32(0.1), np.uint8(100), bytes_(3, 2, 3, 3), np.float32([0.1, 0.2, 0.05]),
                np.uint8([120, 120, 120]), np.float32(9), np.uint8(100), np.int32([10, -500, 3000]),
            ],
            {"strides": [2, 1]},
        ),
    ],
)  # fmt: skip
def test_quantized(op: str, opset: int, inputs: list[Any], attributes: dict[str, Any]):
    proto = one(op, inputs, opset, 3 if op == "DynamicQuantizeLinear" else 1, **attributes)
    for a, b in zip(onnxruntime_run(proto, *inputs), run(proto, *inputs), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(b, a, rtol=1e-6)


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("length", [None, 5, 8, 11])
def test_dft(onesided: int, length: int | None):
    x = X[..., None]
    inputs = [x] if length is None else [x, np.array(length)]
    found = run(one("DFT", inputs, 17, known=1, axis=2, onesided=onesided), x)[0]
    expected = (np.fft.rfft if onesided else np.fft.fft)(X, length, axis=2)
    np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("length", [4, 7])
def test_inverse_dft(length: int):
    signal = RANDOM.standard_normal((2, length))
    half = np.fft.rfft(signal)
    x = np.stack([half.real, half.imag], -1).astype(np.float32)
    found = run(one("DFT", [x, np.array(length)], 20, known=1, inverse=1, onesided=1), x)[0]
    np.testing.assert_allclose(found[..., 0], signal, rtol=1e-4, atol=1e-5)
    full = np.fft.fft(signal)
    x = np.stack([full.real, full.imag], -1).astype(np.float32)
    found = run(one("DFT", [x], 20, inverse=1), x)[0]
    np.testing.assert_allclose(found, np.stack([signal, 0 * signal], -1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("op", "opset", "inputs", "attributes"),
    [
        ("Celu", 12, [X], {"alpha": 0.7}),
        ("Selu", 6, [X], {"alpha": 1.5, "gamma": 0.9}),
        ("Elu", 6, [X], {"alpha": 2.0}),
        ("HardSwish", 14, [X * 4], {}),
        ("Mish", 18, [X * 20], {}),
        ("Softplus", 1, [X * 50], {}),
        ("Shrink", 9, [X], {"bias": 0.3, "lambd": 0.4}),
        ("ThresholdedRelu", 10, [X], {"alpha": 0.2}),
        ("MeanVarianceNormalization", 13, [X[..., None]], {}),
        ("NegativeLogLikelihoodLoss", 13, [X, RANDOM.integers(0, 3, (2, 8))], {"reduction": "mean"}),
        (
            "NegativeLogLikelihoodLoss",
            13,
            [X, RANDOM.integers(0, 3, (2, 8)), np.float32([1, 2, 3])],
            {"ignore_index": 1},
        ),
        ("SoftmaxCrossEntropyLoss", 13, [X, RANDOM.integers(0, 3, (2, 8))], {"reduction": "none"}),
        ("GreaterOrEqual", 16, [X, X[0]], {}),
        ("CenterCropPad", 18, [X, np.array([5, 3])], {"axes": [2, 1]}),
        ("RotaryEmbedding", 23, [X.reshape(1, 2, 3, 8), X[:1, :, :4], X[1:, :, :4]], {}),
    ],
)
def test_functions_and_compositions(op: str, opset: int, inputs: list[Any], attributes: dict[str, Any]):
    known = 1 if op == "CenterCropPad" else 9
    proto = one(op, inputs, opset, known=known, **attributes)
    (expected,) = onnxruntime_run(proto, *inputs[:known])
    found = run(proto, *inputs[:known])[0]
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-5)


def test_what_is_wrong_inside_of_a_function_names_both_operators():
    (problem,) = problems(one("Bernoulli", [X], 15))
    assert problem.startswith(
        "node 'node' Bernoulli (opset 15): in the operators that define it: node RandomUniformLike"
    )
    assert problem.endswith("the operator is not supported")
