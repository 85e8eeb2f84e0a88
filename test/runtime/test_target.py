"""What is known of a processor from its feature names, and that programs for narrower vectors compute the same."""

import dataclasses

import numpy as np
import pytest

from relay_mlir.runtime import compiler
from relay_mlir.runtime.jit import Target, host


@pytest.mark.parametrize(
    ("triple", "features", "expected"),
    [
        ("x86_64-unknown-linux-gnu", "+sse2,+avx,+avx2,+avx512f", (512, 32)),
        ("x86_64-unknown-linux-gnu", "+sse2,+avx,+avx2,-avx512f", (256, 16)),
        ("x86_64-unknown-linux-gnu", "+sse2,-avx", (128, 16)),
        ("aarch64-unknown-linux-gnu", "+neon", (128, 32)),
    ],
)
def test_vectors(triple: str, features: str, expected: tuple[int, int]) -> None:
    assert Target(triple, "generic", features).vectors == expected


@pytest.mark.parametrize("wide", [512, 256, 128])
def test_narrower_vectors_give_the_same_numbers(wide: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every width runs on this machine: LLVM splits what is too wide for it."""
    from relay_mlir.lowering.ir_text import parse_text

    registers = 32 if wide == 512 else 16

    @dataclasses.dataclass(frozen=True)
    class Narrow(Target):
        @property
        def vectors(self) -> tuple[int, int]:
            return wide, registers

    monkeypatch.setattr(compiler, "host", lambda: Narrow(host().triple, host().cpu, host().features))
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((37, 45)).astype(np.float32)
    data = rng.standard_normal((19, 45)).astype(np.float32)
    ctx = compiler.make_context()
    ctx.weights.add("w", weight)
    module = parse_text(
        ctx,
        """
        relay.func @main(%x: tensor<19x45xf32>) -> tensor<19x37xf32> {
          %w = relay.weight "w" : tensor<37x45xf32>
          %0 = relay.nn.dense %x, %w : (tensor<19x45xf32>, tensor<37x45xf32>) -> tensor<19x37xf32>
          %1 = relay.nn.softmax %0 : tensor<19x37xf32>
          relay.return %1 : tensor<19x37xf32>
        }""",
        "test",
    )
    found = compiler.Executable(compiler.compile_module(module, ctx, compiler.Options()))(x0=data)["y0"]
    logits = data.astype(np.float64) @ weight.T.astype(np.float64)
    shifted = np.exp(logits - logits.max(1, keepdims=True))
    np.testing.assert_allclose(found, shifted / shifted.sum(1, keepdims=True), rtol=1e-5)
