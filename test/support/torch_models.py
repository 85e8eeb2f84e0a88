"""PyTorch models for tests, with weights from a seed, and their comparison with what is compiled from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

import relay_mlir


def export(module: nn.Module, *inputs: Any, seed: int = 1, dynamic: Any = None) -> torch.export.ExportedProgram:
    """The program of a module in eval mode, whose weights and statistics are random numbers of moderate size."""
    randomize(module, seed)
    with torch.no_grad():
        return torch.export.export(module.eval(), inputs, dynamic_shapes=dynamic)


def randomize(module: nn.Module, seed: int) -> None:
    """Gives statistics and scales of normalizations values that matter; torch's own are 0 and 1."""
    generator = torch.Generator().manual_seed(seed)
    for part in module.modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm) and part.running_mean is not None:
            part.running_mean.copy_(torch.randn(part.running_mean.shape, generator=generator) * 0.1)
            part.running_var.copy_(torch.rand(part.running_var.shape, generator=generator) + 0.5)
        if isinstance(part, nn.modules.batchnorm._BatchNorm | nn.LayerNorm | nn.GroupNorm) and part.weight is not None:
            with torch.no_grad():
                part.weight.copy_(torch.rand(part.weight.shape, generator=generator) + 0.5)
                part.bias.copy_(torch.randn(part.bias.shape, generator=generator) * 0.1)


def seeded(make: Callable[[], nn.Module], seed: int = 0) -> nn.Module:
    """A module made after torch's generator was set."""
    torch.manual_seed(seed)
    return make()


def array(tensor: torch.Tensor) -> np.ndarray:
    """A tensor as a numpy array."""
    if tensor.dtype == torch.bfloat16:
        import ml_dtypes

        return tensor.detach().contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.detach().contiguous().numpy()


def tensors(results: Any) -> list[np.ndarray]:
    """The tensors of a (nested) result, in order."""
    if isinstance(results, torch.Tensor):
        return [array(results)]
    return [found for result in results if result is not None for found in tensors(result)]


def outputs(program: torch.export.ExportedProgram, inputs: Sequence[torch.Tensor], **how: Any) -> list[np.ndarray]:
    """What the compiled program gives."""
    executable = relay_mlir.compile(program, **how)
    named = zip((spec.name for spec in executable.inputs), inputs, strict=True)
    return list(executable.run({name: array(value) for name, value in named}).values())


def interpreted(program: torch.export.ExportedProgram, inputs: Sequence[torch.Tensor]) -> list[np.ndarray]:
    """What the interpreter gives."""
    found = relay_mlir.interpret(program)(*map(array, inputs))
    return list(found) if isinstance(found, tuple) else [found]


def assert_agree(found: Sequence[np.ndarray], expected: Sequence[np.ndarray], tolerance: float = 1e-5) -> None:
    """The same dtypes and shapes, and elements that differ by at most `tolerance` of the largest finite one."""
    assert [(a.dtype, a.shape) for a in found] == [(b.dtype, b.shape) for b in expected]
    for a, b in zip(found, expected, strict=True):
        if b.dtype.kind in "iub":
            np.testing.assert_array_equal(a, b)
            continue
        wide = b.astype(np.float64)
        finite = np.abs(wide[np.isfinite(wide)])
        scale = max(float(finite.max()) if finite.size else 0.0, 1e-30)
        np.testing.assert_allclose(a.astype(np.float64), wide, rtol=0, atol=tolerance * scale)


def check(module: nn.Module, *inputs: torch.Tensor, tolerance: float = 1e-5, seed: int = 1, **how: Any) -> None:
    """Exports, compiles, runs and compares with the module itself."""
    program = export(module, *inputs, seed=seed)
    with torch.no_grad():
        expected = tensors(module(*inputs))
    assert_agree(outputs(program, inputs, **how), expected, tolerance)


class Functions(nn.Module):
    """Applies every function to the same inputs."""

    def __init__(self, functions: Sequence[Callable[..., Any]]):
        super().__init__()
        self.functions = functions

    def forward(self, *inputs: torch.Tensor):
        return [function(*inputs) for function in self.functions]


def agree(functions: Sequence[Callable[..., Any]], *inputs: torch.Tensor, tolerance: float = 1e-5) -> None:
    """Every function gives what torch gives."""
    program = export(Functions(functions), *inputs)
    found = interpreted(program, inputs)
    for function in functions:
        expected = tensors(function(*inputs))
        part, found = found[: len(expected)], found[len(expected) :]
        assert_agree(part, expected, tolerance)
    assert not found


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
