"""What becomes of the parts of an exported program: weights, names, sizes, state; and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import relay_mlir  # noqa: E402
from relay_mlir.dialects.errors import InputError, ModelError  # noqa: E402
from relay_mlir.dialects.relay.core import FuncOp  # noqa: E402
from relay_mlir.dialects.relay.weights import RelayContext  # noqa: E402
from relay_mlir.frontends.torch import import_torch  # noqa: E402
from relay_mlir.runtime.interpreter import evaluate  # noqa: E402
from test.support.torch_models import array, assert_agree, export, outputs, seeded, tensors  # noqa: E402


class Net(nn.Module):
    """A layer in a layer, two kinds of buffers, a constant, and a weight under two names."""

    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Linear(4, 20), nn.ReLU(), nn.Linear(20, 4))
        self.tied = nn.Linear(4, 20)
        self.tied.weight = self.block[0].weight
        self.register_buffer("scale", torch.linspace(1, 2, 4))
        self.register_buffer("shift", torch.linspace(3, 4, 20), persistent=False)

    def forward(self, first, second):
        x = self.block(first) * self.scale
        return self.tied(x + second) + self.shift, torch.tensor([1.0, 2.0]) + 1


def imported(program: Any, **how: Any) -> tuple[Any, RelayContext]:
    ctx = RelayContext()
    return import_torch(program, ctx, **how), ctx


def problems(program: Any, **how: Any) -> list[str]:
    with pytest.raises(ModelError) as caught:
        imported(program, **how)
    return caught.value.problems


def function(body: Any) -> nn.Module:
    class Function(nn.Module):
        def forward(self, *inputs):
            return body(*inputs)

    return Function()


def test_weights_are_named_and_not_copied():
    model = seeded(Net)
    module, ctx = imported(export(model, torch.ones(2, 4), torch.ones(2, 4)))
    main = next(op for op in module.ops if isinstance(op, FuncOp))
    assert len(main.args) == 2
    keys = re.findall(r'relay.weight "([^"]*)"', str(module))
    assert sorted(keys) == [
        "block.0.bias",
        "block.0.weight",
        "block.2.weight",
        "shift",
        "tied.bias",
    ]  # others are small
    assert ctx.weights["block.0.weight"].ctypes.data == model.tied.weight.data_ptr()
    assert_agree([ctx.weights["shift"]], [array(model.shift)], 0)


def test_names_and_locations():
    module, _ = imported(export(seeded(Net), torch.ones(2, 4), torch.ones(2, 4)))
    main = next(op for op in module.ops if isinstance(op, FuncOp))
    assert list(main.names("input_names")) == ["first", "second"]
    assert len(set(main.names("output_names"))) == 2
    locations = {str(op.location) for op in main.walk()}
    assert any("block.2/linear_1" in location for location in locations)


def test_results():
    model, x = seeded(Net), [torch.randn(2, 4), torch.randn(2, 4)]
    assert_agree(outputs(export(model, *x), x), tensors(model(*x)), 1e-5)


def test_inputs_in_dicts_and_lists_and_fixed_numbers():
    class Nested(nn.Module):
        def forward(self, pair, named, times):
            return {"sum": pair[0] + pair[1] * times, "named": named["z"]}

    pair, named = [torch.ones(2), torch.arange(2.0)], {"z": torch.zeros(3)}
    program = export(Nested(), pair, named, 3)
    executable = relay_mlir.compile(program)
    assert [spec.shape for spec in executable.inputs] == [(2,), (2,), (3,)]
    found = executable.run(dict(zip([s.name for s in executable.inputs], map(array, [*pair, named["z"]]), strict=True)))
    assert_agree(list(found.values()), tensors([pair[0] + pair[1] * 3, named["z"]]), 1e-6)


def test_values_become_part_of_the_program():
    program = export(function(lambda x, y: x * y), torch.ones(2), torch.ones(2))
    name = imported(program)[0].ops.first.names("input_names")[1]
    (found,) = outputs(program, [torch.tensor([3.0, 4.0])], values={name: np.array([2, 5], np.float32)})
    assert found.tolist() == [6.0, 20.0]
    assert "bound value is float64" in problems(program, values={name: np.array([2.0, 5.0])})[0]


def test_a_result_that_is_an_input_and_one_that_is_given_twice():
    x = torch.tensor([1.0, -2.0])
    program = export(function(lambda x: (x, x.abs(), x.abs(), None)), x)
    found = relay_mlir.compile(program).run({"inputs_0": array(x)})
    assert [value.tolist() for value in found.values()] == [[1, -2], [1, 2], [1, 2]]


def test_half_precision_weights():
    model = seeded(lambda: nn.Linear(3, 2)).to(torch.bfloat16)
    x = torch.randn(4, 3).to(torch.bfloat16)
    assert_agree(outputs(export(model, x), [x]), tensors(model(x)), 2e-2)


# Sizes.


class Words(nn.Module):
    """Sequences of any length."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 8)
        self.qkv = nn.Linear(8, 24)

    def forward(self, words):
        x = self.embedding(words)
        b, t, width = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v)
        return y.transpose(1, 2).reshape(b, t, width).mean(1)


def open_words() -> tuple[nn.Module, Any]:
    model = seeded(Words)
    dims = {"words": {0: torch.export.Dim("batch", min=2, max=8), 1: torch.export.Dim("length", min=2, max=30)}}
    return model, export(model, torch.ones(3, 5, dtype=torch.int64), dynamic=dims)


def test_open_sizes_are_bound():
    model, program = open_words()
    for shape in [(2, 7), (4, 3)]:
        words = torch.randint(0, 20, shape)
        assert_agree(outputs(program, [words], shapes={"words": shape}), tensors(model(words)), 1e-5)


def test_bound_sizes_are_checked():
    _, program = open_words()
    assert "was exported for 2 to 30" in problems(program, shapes={"words": (2, 31)})[0]
    assert "whose rank is 2" in problems(program, shapes={"words": (2,)})[0]
    assert "neither an input nor a size left open; there are 'words', 's" in problems(program, shapes={"x": 3})[0]
    fixed = export(function(lambda x: x + 1), torch.ones(2, 3))
    assert "whose dimension 1 is 3" in problems(fixed, shapes={"inputs_0": (2, 4)})[0]


def test_open_sizes_stay_open_where_nothing_needs_them():
    class Mlp(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(6, 3)

        def forward(self, x):
            return self.fc(torch.relu(x.flatten(1))).softmax(-1)

    program = export(Mlp(), torch.ones(4, 2, 3), dynamic={"x": {0: torch.export.Dim("batch", min=2)}})
    module, ctx = imported(program)
    assert "tensor<?x3xf32>" in str(module)
    x = torch.randn(5, 2, 3)
    (found,) = evaluate(module, ctx.weights, [array(x)])
    assert found.shape == (5, 3)


def test_open_batches_of_an_encoder():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

        def forward(self, x):
            return self.layer(x).mean(1)

    model = seeded(Model)
    program = export(model, torch.randn(3, 5, 8), dynamic={"x": {0: torch.export.Dim("batch", min=2)}})
    module, ctx = imported(program)
    assert "tensor<?x2x5x5xf32>" in str(module)
    for batch in (2, 4):
        x = torch.randn(batch, 5, 8)
        assert_agree(evaluate(module, ctx.weights, [array(x)]), tensors(model(x)), 1e-5)


# What is refused.


def test_changes_of_state_are_refused():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x):
            self.count.add_(1)
            return x + self.count

    (problem,) = problems(export(Counter(), torch.ones(1)))
    assert "changes its buffer 'count'" in problem
    (problem,) = problems(export(function(lambda x: x.add_(1)), torch.ones(1)))
    assert "changes its input 'inputs_0' in place" in problem


def test_training_is_refused():
    model = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2)).train()
    found = problems(torch.export.export(model, (torch.ones(2, 1, 4, 4),)))
    assert any("eval()" in problem for problem in found)


def test_all_problems_are_listed():
    def body(x):
        return torch.fft.rfft(x).abs(), torch.nonzero(x), F.avg_pool2d(x, 2, divisor_override=3)

    found = problems(export(function(body), torch.ones(1, 1, 4, 4)))
    assert any("aten._fft_r2c.default): the operator is not supported" in problem for problem in found)
    assert any("aten.nonzero.default): its result is a number, or has a size" in problem for problem in found)
    assert any("argument 'divisor_override'" in problem for problem in found)
    assert len(found) == 3


def test_dtypes_that_relay_lacks():
    found = problems(export(function(lambda x: x * 2), torch.ones(2, dtype=torch.complex64)))
    assert found[0].startswith("input 'inputs_0': dtype complex64 is not supported")


def test_only_exported_programs_are_taken():
    with pytest.raises(InputError, match=r"make one with torch\.export\.export"):
        import_torch(nn.Linear(2, 2), RelayContext())


# Files.


def test_pt2_files(tmp_path: Path):
    from relay_mlir.tools import relay_run, relay_translate

    model, x = seeded(Net), [torch.randn(2, 4), torch.randn(2, 4)]
    path = tmp_path / "net.pt2"
    torch.export.save(export(model, *x), path)
    executable = relay_mlir.compile(path)
    found = executable(first=array(x[0]), second=array(x[1]))
    assert_agree(list(found.values()), tensors(model(*x)), 1e-5)
    assert relay_translate.main([str(path), "-o", str(tmp_path / "net.mlir")]) == 0
    again = relay_mlir.compile(tmp_path / "net.mlir")(first=array(x[0]), second=array(x[1]))
    assert_agree(list(again.values()), list(found.values()), 0)
    assert relay_run.main([str(path), "--check", "reference"]) == 0


def test_damaged_files(tmp_path: Path):
    path = tmp_path / "net.pt2"
    path.write_bytes(b"not an archive")
    with pytest.raises(ModelError, match=r"net\.pt2: not an exported program"):
        relay_mlir.compile(path)
