"""Every relay pass leaves what a program computes, its locations and its determinism alone."""

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from relay_mlir.dialects.relay.core import FuncOp
from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.lowering.pipeline import RELAY
from test.support.random_networks import random_network
from test.support.relay_programs import assert_same_meaning, check, context, ops_of, parse, run, unlocated

EACH = tuple(dict.fromkeys(RELAY))


def network(seed: int) -> tuple[ModuleOp, RelayContext]:
    ctx = context()
    return random_network(ctx.weights, seed), ctx


@pytest.mark.parametrize("seed", range(6))
def test_pipeline_keeps_the_meaning_of_random_networks(seed: int):
    module, ctx = network(seed)
    assert_same_meaning(module, ctx, *RELAY, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize("seed", [20, 21])
def test_each_pass_keeps_the_meaning(name: str, seed: int):
    module, ctx = network(seed)
    assert_same_meaning(module, ctx, "simplify-inference", "fold-constant", name, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", EACH)
def test_each_pass_keeps_locations(name: str):
    module, ctx = network(30)
    before = unlocated(list(module.ops))
    assert set(before) == {"relay.func", "relay.return"}
    run(module, ctx, "simplify-inference", "fold-constant", name)
    assert set(unlocated(list(module.ops))) <= {"relay.func", "relay.return"}


def test_the_pipeline_is_deterministic():
    texts = []
    for _ in range(2):
        module, ctx = network(40)
        texts.append(str(run(module, ctx, *RELAY)))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("name", EACH)
def test_passes_change_nothing_the_second_time(name: str):
    module, ctx = network(50)
    run(module, ctx, "simplify-inference", "fold-constant", name, "fold-constant", "dead-code-elimination")
    once = str(module)
    run(module, ctx, name, "fold-constant", "dead-code-elimination")
    assert str(module) == once


def test_fused_programs_consist_of_calls():
    module, ctx = network(60)
    run(module, ctx, *RELAY)
    assert set(ops_of(module)) == {"call"}
    for func in module.ops:
        assert isinstance(func, FuncOp)
        assert func.primitive == (func.sym_name.data != "main")


def chain(length: int) -> ModuleOp:
    lines = [f"%{i + 1} = relay.nn.relu %{i} : tensor<4xf32>" for i in range(length)]
    body = "\n".join(lines).replace("%0 ", "%x ")
    return parse(f"""
relay.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
{body}
relay.return %{length} : tensor<4xf32>
}}""")


def test_groups_are_bounded():
    module = chain(600)
    run(module, context(), "fuse-ops")
    sizes = [len(list(func.walk())) - 2 for func in module.ops if isinstance(func, FuncOp) and func.primitive]
    assert len(ops_of(module)) >= 3
    assert max(sizes) <= 256


def test_weights_that_are_no_longer_named_are_dropped():
    ctx = context({"w": np.arange(32, dtype=np.float32), "other": np.zeros(3, np.float32)})
    module = parse(
        """
relay.func @main(%x: tensor<32xf32>) -> tensor<32xf32> {
  %w = relay.weight "w" : tensor<32xf32>
  %n = relay.negative %w : tensor<32xf32>
  %y = relay.add %x, %n : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  relay.return %y : tensor<32xf32>
}""",
        ctx,
    )
    run(module, ctx, "fold-constant")
    (key,) = ctx.weights
    assert key.startswith("w.")
    np.testing.assert_array_equal(ctx.weights[key], -np.arange(32, dtype=np.float32))


def test_dominance_is_checked():
    module = parse("""
relay.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.nn.relu %x : tensor<4xf32>
  %1 = relay.negative %0 : tensor<4xf32>
  relay.return %1 : tensor<4xf32>
}""")
    (func,) = module.ops
    assert isinstance(func, FuncOp)
    first = func.block.first_op
    second = first.next_op
    first.detach()
    func.block.insert_op_after(first, second)
    with pytest.raises(AssertionError, match="before it is defined"):
        check(module)


@pytest.mark.parametrize("seed", range(6))
def test_networks_are_transposed_at_entry_and_exit_only(seed: int):
    module, ctx = network(seed)
    run(module, ctx, *RELAY)
    transposes = [op for op in module.walk() if op.name == "relay.transpose"]
    assert len(transposes) <= 2
    others = {op.name for op in module.walk() if op.name in ("relay.nn.batch_norm", "relay.expand_dims")}
    assert others == set()
