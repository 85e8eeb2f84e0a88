"""Damaged model files end in a ModelError, never in another exception, a hang or a crash."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.loader import DATA_DIR

from relay_mlir.dialects.errors import ModelError
from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.frontends.onnx import import_onnx
from relay_mlir.frontends.onnx.importer import IMPORTER_FAILED


def branching() -> bytes:
    """A model with a branch, a large weight, a Constant node and shape arithmetic."""
    random = np.random.default_rng(0)
    weight = numpy_helper.from_array(random.standard_normal((8, 64)).astype(np.float32), "w")
    out = helper.make_tensor_value_info("r", TensorProto.FLOAT, None)
    then = helper.make_graph([helper.make_node("Relu", ["m"], ["r"])], "then", [], [out])
    other = helper.make_graph([helper.make_node("Neg", ["m"], ["r"])], "else", [], [out])
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"], name="product"),
        helper.make_node("Shape", ["m"], ["s"]),
        helper.make_node("Constant", [], ["one"], value=helper.make_tensor("v", TensorProto.INT64, [1], [-1])),
        helper.make_node("If", ["c"], ["b"], then_branch=then, else_branch=other),
        helper.make_node("Reshape", ["b", "one"], ["flat"]),
        helper.make_node("Reshape", ["flat", "s"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "branching",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8]),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 64])],
        [weight],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString()


def shipped(name: str) -> bytes:
    return (Path(DATA_DIR) / name / "model.onnx").read_bytes()


MODELS = {
    "branching": branching,
    "conv": lambda: shipped("pytorch-converted/test_Conv2d_groups"),
    "batch_norm": lambda: shipped("pytorch-converted/test_BatchNorm2d_eval"),
    "pad": lambda: shipped("pytorch-operator/test_operator_pad"),
    "relu": lambda: shipped("simple/test_single_relu_model"),
}


def damaged(data: bytes, random: np.random.Generator) -> bytes:
    """The bytes with one to three flipped, cut off, or with a piece repeated or left out."""
    changed = bytearray(data)
    match random.integers(4):
        case 0:
            return bytes(changed[: random.integers(len(data))])
        case 1:
            start = int(random.integers(len(data)))
            del changed[start : start + int(random.integers(1, 16))]
        case 2:
            start = int(random.integers(len(data)))
            changed[start:start] = changed[start : start + int(random.integers(1, 16))]
        case _:
            # Half of the damage goes to the end, where the structure is: weights fill the rest.
            for _ in range(random.integers(1, 4)):
                at = int(random.integers(len(data)))
                changed[at] = int(random.integers(256)) if random.integers(2) else changed[at] ^ 1 << random.integers(8)
    return bytes(changed)


def imported(path: Path) -> str:
    """What became of an import: fine, or refused for reasons that are not mistakes of ours."""
    problems: list[str] = []
    try:
        import_onnx(path, RelayContext())
    except ModelError as e:
        problems = e.problems
        if not problems:
            return "refused without a reason"
    mistakes = [problem for problem in problems if IMPORTER_FAILED in problem or not problem]
    return f"failed: {mistakes}" if mistakes else "refused" if problems else "imported"


@pytest.mark.parametrize("name", MODELS)
def test_damaged_files(name: str, tmp_path: Path):
    data = MODELS[name]()
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    assert imported(path) == "imported"
    random = np.random.default_rng(1)
    outcomes: list[str] = []
    for _ in range(80):
        path.unlink()  # a mapped file must not be changed in place
        path.write_bytes(damaged(data, random))
        outcomes.append(imported(path))
    assert set(outcomes) <= {"imported", "refused"}
    assert outcomes.count("refused") > 10


def test_every_truncation_is_refused(tmp_path: Path):
    data = branching()
    for length in range(0, len(data), 41):
        path = tmp_path / f"{length}.onnx"
        path.write_bytes(data[:length])
        assert imported(path) == "refused"


@pytest.mark.parametrize("data", [b"", b"\n", b"\x00" * 64, b"\xff" * 64, b"not a model", b"\x3a\xff\xff\xff\xff\x7f"])
def test_what_is_not_a_model(data: bytes, tmp_path: Path):
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    with pytest.raises(ModelError, match=r"model\.onnx"):
        import_onnx(path, RelayContext())


def test_absent_file(tmp_path: Path):
    with pytest.raises(ModelError, match="cannot be read"):
        import_onnx(tmp_path / "absent.onnx", RelayContext())


def test_deep_nesting():
    """Branches in branches, hundreds deep, in a message that protobuf itself still reads."""
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["r"])], "g", [], [helper.make_tensor_value_info("r", TensorProto.FLOAT, None)]
    )
    for depth in range(30):
        node = helper.make_node("If", ["c"], ["r"], then_branch=graph, else_branch=graph if depth < 3 else _leaf())
        graph = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("r", TensorProto.FLOAT, None)])
    graph.input.extend(
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        ]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    assert import_onnx(model, RelayContext()) is not None


def _leaf() -> onnx.GraphProto:
    return helper.make_graph(
        [helper.make_node("Neg", ["x"], ["r"])],
        "leaf",
        [],
        [helper.make_tensor_value_info("r", TensorProto.FLOAT, None)],
    )
