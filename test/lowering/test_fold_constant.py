"""fold-constant: what it refuses, what it costs, and that it names and drops weights as promised."""

import numpy as np
import pytest

from relay_mlir.dialects.errors import CompileError
from test.support.relay_programs import context, ops_of, parse, run


def fails(module_text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The error of folding where evaluating `negative` fails."""
    from relay_mlir.dialects.relay.elementwise_unary import Negative

    def evaluate(self: object, args: object) -> list[np.ndarray]:
        raise IndexError("index 9 is out of range")

    monkeypatch.setattr(Negative, "evaluate", evaluate)
    with pytest.raises(CompileError) as caught:
        run(parse(module_text), context(), "fold-constant")
    return str(caught.value)


def test_an_operator_that_cannot_be_evaluated_is_located(monkeypatch: pytest.MonkeyPatch):
    text = """
relay.func @main() -> tensor<f32> {
  %a = relay.constant dense<1.0> : tensor<f32>
  %0 = relay.negative %a : tensor<f32> loc("the/node")
  relay.return %0 : tensor<f32>
}"""
    message = fails(text, monkeypatch)
    assert "relay.negative" in message
    assert "the/node" in message
    assert "index 9 is out of range" in message


def test_a_branch_that_may_not_run_may_fail(monkeypatch: pytest.MonkeyPatch):
    text = """
relay.func @main(%c: tensor<i1>) -> tensor<f32> {
  %a = relay.constant dense<1.0> : tensor<f32>
  %r = relay.if %c : tensor<i1> -> (tensor<f32>) {
    %0 = relay.negative %a : tensor<f32>
    relay.yield %0 : tensor<f32>
  } else {
    relay.yield %a : tensor<f32>
  }
  relay.return %r : tensor<f32>
}"""
    from relay_mlir.dialects.relay.elementwise_unary import Negative

    def evaluate(self: object, args: object) -> list[np.ndarray]:
        raise IndexError

    monkeypatch.setattr(Negative, "evaluate", evaluate)
    module = run(parse(text), context(), "fold-constant")
    assert "relay.negative" in str(module)


def test_intermediate_results_do_not_reach_the_store():
    ctx = context({"w": np.arange(64, dtype=np.float32)})
    module = parse(
        """
relay.func @main() -> (tensor<64xf32>, tensor<64xf32>) {
  %w = relay.weight "w" : tensor<64xf32>
  %0 = relay.exp %w : tensor<64xf32>
  %1 = relay.sqrt %0 : tensor<64xf32>
  %2 = relay.add %1, %1 : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  relay.return %2, %w : tensor<64xf32>, tensor<64xf32>
}""",
        ctx,
    )
    run(module, ctx, "fold-constant")
    assert ops_of(module) == []
    keys = list(ctx.weights)
    assert keys[0] == "w"
    assert len(keys) == 2


def test_names_do_not_grow_with_each_folding():
    ctx = context({"w": np.arange(64, dtype=np.float32)})
    text = """
relay.func @main() -> tensor<64xf32> {
  %w = relay.weight "KEY" : tensor<64xf32>
  %0 = relay.sqrt %w : tensor<64xf32>
  relay.return %0 : tensor<64xf32>
}"""
    for _ in range(3):
        (key,) = ctx.weights
        run(parse(text.replace("KEY", key), ctx), ctx, "fold-constant")
    (key,) = ctx.weights
    assert len(key) == len("w.") + 12


def test_equal_results_share_a_weight_and_bool_and_f16_survive():
    ctx = context({"w": np.array([np.nan, -0.0, np.inf] * 8, np.float32)})
    module = parse(
        """
relay.func @main() -> (tensor<24xi1>, tensor<24xi1>, tensor<24xf16>) {
  %w = relay.weight "w" : tensor<24xf32>
  %0 = relay.isnan %w : (tensor<24xf32>) -> tensor<24xi1>
  %1 = relay.not_equal %w, %w : (tensor<24xf32>, tensor<24xf32>) -> tensor<24xi1>
  %2 = relay.cast %w {dtype = f16} : (tensor<24xf32>) -> tensor<24xf16>
  relay.return %0, %1, %2 : tensor<24xi1>, tensor<24xi1>, tensor<24xf16>
}""",
        ctx,
    )
    run(module, ctx, "fold-constant")
    halves, bits = (ctx.weights[key] for key in ctx.weights)
    np.testing.assert_array_equal(bits, [True, False, False] * 8)
    np.testing.assert_array_equal(halves.view(np.uint16), np.array([0x7E00, 0x8000, 0x7C00] * 8))
