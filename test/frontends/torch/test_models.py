"""Whole PyTorch models, exported, compiled to native code and compared with torch itself."""

from __future__ import annotations

from itertools import pairwise

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from test.support.torch_models import check, seeded  # noqa: E402

TOLERANCE = 1e-4


class Residual(nn.Module):
    """The basic block of ResNet."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        y += x if self.downsample is None else self.downsample(x)
        return F.relu(y, inplace=True)


class ResNet18(nn.Module):
    """ResNet-18's structure: a stem and four stages of two blocks."""

    def __init__(self, width: int = 16, classes: int = 10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        widths = [width, width, width * 2, width * 4, width * 8]
        stages = [nn.Sequential(Residual(a, b, 1 if a == b else 2), Residual(b, b, 1)) for a, b in pairwise(widths)]
        self.layers = nn.Sequential(*stages)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(width * 8, classes)

    def forward(self, x):
        x = self.maxpool(F.relu(self.bn1(self.conv1(x))))
        return self.fc(torch.flatten(self.avgpool(self.layers(x)), 1))


class Inverted(nn.Module):
    """The block of MobileNetV2, with EfficientNet's squeeze and excitation where asked for."""

    def __init__(self, inputs: int, outputs: int, stride: int, expand: int, excite: bool = False):
        super().__init__()
        hidden = inputs * expand
        self.expand = nn.Sequential(nn.Conv2d(inputs, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(True))
        self.depthwise = nn.Sequential(
            nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False), nn.BatchNorm2d(hidden), nn.Hardswish()
        )
        self.squeeze = nn.Sequential(nn.Conv2d(hidden, 4, 1), nn.SiLU(), nn.Conv2d(4, hidden, 1)) if excite else None
        self.project = nn.Sequential(nn.Conv2d(hidden, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.shortcut = stride == 1 and inputs == outputs

    def forward(self, x):
        y = self.depthwise(self.expand(x))
        if self.squeeze is not None:
            y = y * torch.sigmoid(self.squeeze(y.mean((2, 3), keepdim=True)))
        y = self.project(y)
        return x + y if self.shortcut else y


class MobileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU6(inplace=True),
            Inverted(8, 12, 2, 4),
            Inverted(12, 12, 1, 4, excite=True),
            Inverted(12, 16, 2, 4, excite=True),
            nn.Conv2d(16, 32, 1),
            nn.Hardswish(inplace=True),
        )
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(32, 10))

    def forward(self, x):
        return self.classifier(self.features(x).mean([2, 3])).log_softmax(-1)


class Encoder(nn.Module):
    """Embedding, learned positions, two layers of a transformer, the mean over the words."""

    def __init__(self, width: int = 32):
        super().__init__()
        self.embedding = nn.Embedding(50, width)
        self.position = nn.Parameter(torch.randn(1, 16, width))
        layer = nn.TransformerEncoderLayer(width, 4, 64, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, 5)

    def forward(self, words):
        x = self.embedding(words) + self.position[:, : words.shape[1]]
        return self.head(self.encoder(x).mean(1))


class Attention(nn.Module):
    """Causal self-attention of several heads."""

    def __init__(self, width: int = 24, heads: int = 3):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        b, t, width = x.shape
        parts = self.qkv(self.norm(x)).reshape(b, t, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).reshape(b, t, width))


class Recurrent(nn.Module):
    def __init__(self, layer: nn.Module, units: int):
        super().__init__()
        self.layer = layer
        self.fc = nn.Linear(units, 4)

    def forward(self, x):
        rows, state = self.layer(x)
        return self.fc(rows[:, -1]), rows, state


def test_resnet18():
    check(seeded(ResNet18), torch.randn(1, 3, 64, 64), tolerance=TOLERANCE)


def test_mobilenet():
    check(seeded(MobileNet), torch.randn(2, 3, 32, 32), tolerance=TOLERANCE)


def test_encoder():
    check(seeded(Encoder), torch.randint(0, 50, (2, 7)), tolerance=TOLERANCE)


def test_causal_attention():
    check(seeded(Attention), torch.randn(2, 6, 24), tolerance=TOLERANCE)


LAYERS = {
    "lstm": (lambda: nn.LSTM(6, 8, 2, batch_first=True), 8),
    "lstm_both_ways": (lambda: nn.LSTM(6, 8, 2, bidirectional=True, bias=False, batch_first=True), 16),
    "gru": (lambda: nn.GRU(6, 8, batch_first=True), 8),
    "gru_both_ways": (lambda: nn.GRU(6, 8, 2, bidirectional=True, batch_first=True), 16),
    "rnn": (lambda: nn.RNN(6, 8, 2, nonlinearity="relu", batch_first=True), 8),
}


@pytest.mark.parametrize("name", LAYERS)
def test_recurrent_layers(name: str):
    make, units = LAYERS[name]
    check(seeded(lambda: Recurrent(make(), units)), torch.randn(3, 5, 6), tolerance=TOLERANCE)


def test_recurrent_layer_from_given_states():
    layer = seeded(lambda: nn.LSTM(4, 6, 2))
    states = tuple(torch.randn(2, 3, 6) for _ in range(2))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x, h, c):
            return self.layer(x, (h, c))

    check(Model(), torch.randn(5, 3, 4), *states, tolerance=TOLERANCE)
