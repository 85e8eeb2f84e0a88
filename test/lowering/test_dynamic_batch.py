"""The relay passes on a program with an open batch dimension: they apply as far as types tell, and keep the meaning."""

import numpy as np

from relay_mlir.lowering.pipeline import RELAY
from relay_mlir.runtime.interpreter import evaluate
from test.support.relay_programs import context, ops_of, parse, run

PROGRAM = """
relay.func @main(%x: tensor<?x3x8x8xf32>) -> tensor<?x4xf32> {
  %w = relay.weight "w" : tensor<20x3x3x3xf32>
  %g = relay.weight "g" : tensor<20xf32>
  %m = relay.weight "m" : tensor<20xf32>
  %f = relay.weight "f" : tensor<4x20xf32>
  %0 = relay.nn.conv2d %x, %w {padding = [1, 1, 1, 1]} : (tensor<?x3x8x8xf32>, tensor<20x3x3x3xf32>) -> tensor<?x20x8x8xf32>
  %1 = relay.nn.batch_norm %0, %g, %m, %m, %g : (tensor<?x20x8x8xf32>, tensor<20xf32>, tensor<20xf32>, tensor<20xf32>, tensor<20xf32>) -> tensor<?x20x8x8xf32>
  %2 = relay.nn.relu %1 : tensor<?x20x8x8xf32>
  %3 = relay.nn.global_avg_pool2d %2 : (tensor<?x20x8x8xf32>) -> tensor<?x20x1x1xf32>
  %4 = relay.nn.batch_flatten %3 : (tensor<?x20x1x1xf32>) -> tensor<?x20xf32>
  %5 = relay.nn.dense %4, %f : (tensor<?x20xf32>, tensor<4x20xf32>) -> tensor<?x4xf32>
  relay.return %5 : tensor<?x4xf32>
}
"""  # noqa: E501


def test_open_batch():
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.normal(size=(20, 3, 3, 3)).astype(np.float32),
        "g": rng.uniform(0.5, 1.5, 20).astype(np.float32),
        "m": rng.normal(size=20).astype(np.float32),
        "f": rng.normal(size=(4, 20)).astype(np.float32),
    }
    ctx = context(weights)
    module = parse(PROGRAM, ctx)
    x = rng.normal(size=(5, 3, 8, 8)).astype(np.float32)
    (expected,) = evaluate(module, weights, [x])
    run(module, ctx, *RELAY)
    (found,) = evaluate(module, ctx.weights, [x])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert set(ops_of(module)) == {"call"}
    assert "relay.nn.batch_norm" not in str(module)
    assert 'data_layout = "NHWC"' in str(module)
