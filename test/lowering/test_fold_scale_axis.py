"""fold-scale-axis on every kind of contraction, with groups and layouts: no multiplication is left, numbers agree."""

import numpy as np
import pytest

from test.support.relay_programs import assert_same_meaning, context, ops_of, parse


def fold(text: str, **weights: np.ndarray) -> list[str]:
    """The operators that are left after folding, which must not change what the program computes."""
    ctx = context(weights)
    after = assert_same_meaning(parse(text, ctx), ctx, "fold-scale-axis", "fold-constant", rtol=1e-4, atol=1e-4)
    return ops_of(after)


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


CONVOLUTIONS = {
    "plain": ("nn.conv2d", "", (1, 4, 5, 5), (6, 4, 3, 3), (1, 6, 3, 3)),
    "groups": ("nn.conv2d", "{groups = 2}", (1, 4, 5, 5), (6, 2, 3, 3), (1, 6, 3, 3)),
    "depthwise": ("nn.conv2d", "{groups = 4}", (1, 4, 5, 5), (4, 1, 3, 3), (1, 4, 3, 3)),
    "multiplier": ("nn.conv2d", "{groups = 4}", (1, 4, 5, 5), (8, 1, 3, 3), (1, 8, 3, 3)),
    "last": (
        "nn.conv2d",
        '{groups = 2, data_layout = "NHWC", kernel_layout = "HWIO"}',
        (1, 5, 5, 4),
        (3, 3, 2, 6),
        (1, 3, 3, 6),
    ),
    "one": ("nn.conv1d", "", (1, 4, 5), (6, 4, 3), (1, 6, 3)),
    "transposed": ("nn.conv2d_transpose", "", (1, 4, 3, 3), (4, 6, 3, 3), (1, 6, 5, 5)),
    "transposed groups": ("nn.conv2d_transpose", "{groups = 2}", (1, 4, 3, 3), (4, 3, 3, 3), (1, 6, 5, 5)),
    "dense": ("nn.dense", "", (2, 3, 4), (6, 4), (2, 3, 6)),
    "matmul": ("nn.matmul", "", (2, 3, 4), (4, 6), (2, 3, 6)),
    "matmul of a transposed tensor": ("nn.matmul", "{transpose_a = true}", (2, 4, 3), (4, 6), (2, 3, 6)),
}


def type_(shape: tuple[int, ...]) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def channel_shape(name: str, shape: tuple[int, ...], attributes: str, result: bool) -> tuple[int, ...]:
    if name.startswith("nn.conv") and "NHWC" not in attributes:
        return (shape[1], *(1,) * (len(shape) - 2))
    if "transpose_a" in attributes and not result:
        return (shape[-2], 1)
    return (shape[-1],)


@pytest.mark.parametrize("case", CONVOLUTIONS)
@pytest.mark.parametrize("scalar", [False, True])
def test_backward(case: str, scalar: bool):
    name, attributes, data, weight, result = CONVOLUTIONS[case]
    scale = (1, 1) if scalar else channel_shape(name, result, attributes, True)
    x, w, y, s = map(type_, (data, weight, result, scale))
    text = f"""
relay.func @main(%x: {x}) -> {y} {{
  %w = relay.weight "w" : {w}
  %s = relay.weight "s" : {s}
  %0 = relay.{name} %x, %w {attributes} : ({x}, {w}) -> {y}
  %1 = relay.subtract %s, %0 : ({s}, {y}) -> {y}
  %2 = relay.multiply %s, %1 : ({s}, {y}) -> {y}
  relay.return %2 : {y}
}}"""
    assert fold(text, w=random(*weight), s=random(*scale, seed=1)) == [name, "subtract"]


@pytest.mark.parametrize("case", CONVOLUTIONS)
@pytest.mark.parametrize("scalar", [False, True])
def test_forward(case: str, scalar: bool):
    name, attributes, data, weight, result = CONVOLUTIONS[case]
    scale = () if scalar else channel_shape(name, data, attributes, False)
    x, w, y = map(type_, (data, weight, result))
    s = "tensor<f32>" if scalar else type_(scale)
    text = f"""
relay.func @main(%x: {x}) -> {y} {{
  %w = relay.weight "w" : {w}
  %s = relay.weight "s" : {s}
  %0 = relay.multiply %x, %s : ({x}, {s}) -> {x}
  %1 = relay.nn.leaky_relu %0 : {x}
  %2 = relay.{name} %1, %w {attributes} : ({x}, {w}) -> {y}
  relay.return %2 : {y}
}}"""
    positive = np.asarray(np.abs(random(*scale, seed=1)) + np.float32(0.5), np.float32)
    assert fold(text, w=random(*weight), s=positive) == ["nn.leaky_relu", name]


def test_both_branches_of_an_addition_must_take_the_scale():
    text = """
relay.func @main(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %w = relay.weight "w" : tensor<4x3xf32>
  %s = relay.weight "s" : tensor<4xf32>
  %0 = relay.nn.dense %x, %w : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %1 = relay.nn.dense %x, %w : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %2 = relay.add %0, %1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = relay.multiply %2, %s : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %4 = relay.nn.dense %x, %w : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %5 = relay.add %4, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = relay.multiply %5, %s : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  relay.return %3, %6 : tensor<2x4xf32>, tensor<2x4xf32>
}"""
    left = fold(text, w=random(4, 3), s=random(4, seed=1))
    assert left == ["nn.dense", "nn.dense", "add", "nn.dense", "add", "multiply"]


def test_a_scale_goes_into_an_earlier_multiplication():
    text = """
relay.func @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %a = relay.weight "a" : tensor<4xf32>
  %b = relay.weight "b" : tensor<2x1xf32>
  %0 = relay.multiply %x, %b : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %1 = relay.add %0, %a : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = relay.multiply %1, %a : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  relay.return %2 : tensor<2x4xf32>
}"""
    assert fold(text, a=random(4), b=random(2, 1, seed=1)) == ["multiply", "add"]
    assert fold(text, a=np.full(4, 1e30, np.float32), b=np.full((2, 1), 1e30, np.float32)).count("multiply") == 2
