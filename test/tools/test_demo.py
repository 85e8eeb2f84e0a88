"""Tests of the demo's parts: the picture, the text, the model that cannot be had."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from relay_mlir.dialects.errors import Error, ModelError
from relay_mlir.tools import demo


def test_picture_is_scaled_and_padded():
    pixels = demo.read_picture(demo.PICTURE)
    assert (pixels.shape, pixels.dtype) == ((1, 3, 48, 320), np.float32)
    assert -1 <= pixels.min() < -0.5
    assert 0.5 < pixels.max() <= 1
    assert (pixels[..., 319] == 0).all()  # 478x72 is 319 wide at this height


def test_picture_is_blue_first(tmp_path: Path):
    Image.new("RGB", (48, 48), (255, 127, 0)).save(tmp_path / "orange.png")
    pixels = demo.read_picture(tmp_path / "orange.png")
    np.testing.assert_allclose(pixels[0, :, 5, 5], [-1, 127 / 127.5 - 1, 1], atol=1e-6)


def test_picture_that_is_none(tmp_path: Path):
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(Error, match=r"cannot read the picture .*text\.png"):
        demo.read_picture(tmp_path / "text.png")


@pytest.mark.parametrize(
    ("classes", "text"), [([0, 1, 1, 0, 1, 2, 2], "aab"), ([1, 1, 1], "a"), ([0, 0], ""), ([3, 1, 3, 2, 3], "a b")]
)
def test_text_of_classes(classes: list[int], text: str):
    probabilities = np.eye(4, dtype=np.float32)[classes][None]
    assert demo.text_of(probabilities, ["", "a", "b", " "]) == text


def test_braille_shows_what_is_dark():
    gray = np.ones((8, 8))
    gray[0, 2] = gray[3, 3] = -1
    assert demo.braille(gray, 4) == "  ⢁"


def test_times_are_taken_in_turn():
    calls: list[str] = []

    def program(name: str) -> np.ndarray:
        calls.append(name)
        return np.array(len(calls))

    results = demo.interleaved([lambda: program("a"), lambda: program("b")])
    assert calls == ["a", "b"] * (demo.RUNS + 1)
    assert [int(result) for result, _ in results] == [1, 2]


def test_model_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def fail(command: list[str], **_: object) -> None:
        raise subprocess.CalledProcessError(1, command)

    source = (demo.ROOT / "bench" / "models.py").read_text()
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "models.py").write_text(source)
    monkeypatch.setattr(demo, "ROOT", tmp_path)
    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(ModelError, match=r"pip download --no-deps rapidocr-onnxruntime==1\.4\.4"):
        demo.fetch_model()


def test_model_outside_of_a_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(demo, "ROOT", tmp_path)
    with pytest.raises(ModelError, match="runs in a checkout"):
        demo.fetch_model()
