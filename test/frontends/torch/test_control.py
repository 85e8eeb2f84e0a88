"""Control flow of exported PyTorch programs, interpreted and compiled, against torch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch._higher_order_ops.scan import scan  # noqa: E402
from torch._higher_order_ops.while_loop import while_loop  # noqa: E402

from test.support.torch_models import (  # noqa: E402
    assert_agree,
    export,
    interpreted,
    outputs,
    seeded,
    tensors,
)


class Cond(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: torch.relu(self.a(x)), lambda x: torch.tanh(self.b(x)), (x,))


class While(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        count = torch.tensor(0)
        return while_loop(
            lambda i, x: i < 5,
            lambda i, x: (i + 1, torch.tanh(self.fc(x))),
            (count, x),
        )[1]


class WhileSum(nn.Module):
    """Runs until a value is large enough: the number of steps depends on the data."""

    def forward(self, x):
        return while_loop(lambda i, x: x.sum() < 100, lambda i, x: (i + 1, x * 2), (torch.tensor(0), x))


class Scan(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, xs):
        def step(state, x):
            new = torch.tanh(self.fc(torch.cat([state, x], -1)))
            return new, new.clone() * 2

        return scan(step, torch.zeros(2, 4), xs, dim=0)


class Nested(nn.Module):
    """A branch in a loop over steps, in a branch; a loop that goes backwards and stacks two results."""

    def forward(self, x):
        def step(state, row):
            new = torch.cond(row.sum() > 0, lambda s, r: s + r, lambda s, r: s * 0.5, (state, row))
            return new, (new * 2, row > 0)

        def run(x):
            last, (rows, signs) = scan(step, torch.zeros(3), x, dim=0, reverse=True)
            return last, rows, signs.to(torch.float32)

        return torch.cond(x.mean() > 0, run, lambda x: (x[0].clone(), x * 2, x + 1), (x,))


class WithoutGradients(nn.Module):
    """A part of the program in which gradients are off."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        y = self.fc(x)
        with torch.no_grad():
            z = self.fc(y).relu()
        return y + z


def test_parts_without_gradients():
    model, x = seeded(WithoutGradients).eval(), torch.ones(2, 4)
    program = torch.export.export(model, (x,))
    assert_agree(interpreted(program, [x]), tensors(model(x)), 1e-5)


CASES = {
    "cond": (Cond, [torch.ones(2, 4), -torch.ones(2, 4)]),
    "while": (While, [torch.ones(2, 4)]),
    "while_until": (WhileSum, [torch.full((2, 4), 0.7), torch.full((2, 4), 50.0)]),
    "nested": (Nested, [torch.linspace(-1, 2, 12).reshape(4, 3), -torch.ones(4, 3)]),
    "scan": (Scan, [torch.linspace(-1, 1, 40).reshape(5, 2, 4)]),
}


@pytest.mark.parametrize("name", CASES)
def test_control_flow(name: str):
    make, examples = CASES[name]
    model = seeded(make)
    program = export(model, examples[0])
    for x in examples:
        with torch.no_grad():
            expected = tensors(model(x))
        assert_agree(interpreted(program, [x]), expected, 1e-5)
        assert_agree(outputs(program, [x]), expected, 1e-4)
