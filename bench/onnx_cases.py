"""The test cases of the onnx package's backend suite: models with inputs and expected outputs, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted", "light")


@dataclass
class Case:
    """A model and what it computes. `model` is a path where the suite keeps a file."""

    name: str
    kind: str
    model: onnx.ModelProto | Path
    data: Sequence[tuple[Sequence[Any], Sequence[Any]]]
    rtol: float
    atol: float

    def proto(self) -> onnx.ModelProto:
        """The model without its external files."""
        return onnx.load(str(self.model)) if isinstance(self.model, Path) else self.model

    @property
    def operator(self) -> str:
        """The operator that a node test is about; the kind of the others."""
        if self.kind != "node" or not isinstance(self.model, onnx.ModelProto):
            return self.kind
        nodes = self.model.graph.node
        return nodes[-1].op_type if nodes else self.kind


def input_names(model: onnx.ModelProto) -> list[str]:
    """The inputs that a caller gives: initializers may be listed among the graph's inputs, before or after them."""
    weights = {tensor.name for tensor in model.graph.initializer}
    return [value.name for value in model.graph.input if value.name not in weights]


def node_cases(expanded: bool = False) -> Iterator[Case]:
    """The node tests, generated in memory; `expanded` ones have the operator replaced by its function body."""
    from onnx.backend.test.loader import load_node_model_tests

    for case in load_node_model_tests():
        if ("_expanded" in case.name) == expanded:
            assert case.model is not None
            assert case.data_sets is not None
            yield Case(case.name, "node", case.model, case.data_sets, case.rtol, case.atol)


def file_cases(kind: str) -> Iterator[Case]:
    """The tests that are shipped as files."""
    from onnx.backend.test.loader import load_model_tests

    if kind == "light":
        yield from _light_cases()
        return
    for case in sorted(load_model_tests(kind=kind), key=lambda case: case.name):
        folder = Path(case.model_dir or "")
        model = onnx.load(str(folder / "model.onnx"), load_external_data=False)
        data = [_data_set(set_, model) for set_ in sorted(folder.glob("test_data_set_*"))]
        yield Case(case.name, kind, folder / "model.onnx", data, case.rtol, case.atol)


def _data_set(folder: Path, model: onnx.ModelProto) -> tuple[list[Any], list[Any]]:
    names = input_names(model)
    types = {value.name: value.type for value in [*model.graph.input, *model.graph.output]}
    inputs = [_read(folder / f"input_{at}.pb", types[name]) for at, name in enumerate(names)]
    outputs = [_read(folder / f"output_{at}.pb", value.type) for at, value in enumerate(model.graph.output)]
    return inputs, outputs


def _read(path: Path, type_: onnx.TypeProto) -> Any:
    from onnx import numpy_helper

    data = path.read_bytes()
    if type_.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if type_.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def _light_cases() -> Iterator[Case]:
    """Real topologies with one weight value; the input is the ramp that the suite's expected outputs were made with."""
    from onnx import numpy_helper
    from onnx.backend.test.loader import DATA_DIR, load_model_tests

    settings = {Path(case.url or "").stem: case for case in load_model_tests(kind="real")}
    for path in sorted((Path(DATA_DIR) / "light").glob("*.onnx")):
        case = settings[path.stem]
        expected = path.with_name(f"{path.stem}_output_0.pb")
        model = onnx.load(str(path), load_external_data=False)
        name = input_names(model)[0]
        declared = next(value for value in model.graph.input if value.name == name)
        shape = [dim.dim_value for dim in declared.type.tensor_type.shape.dim]
        count = int(np.prod(shape))
        data = (np.arange(count).reshape(shape) / count).astype(np.float32)
        output = numpy_helper.to_array(onnx.TensorProto.FromString(expected.read_bytes()))
        yield Case(path.stem, "light", path, [([data], [output])], case.rtol, case.atol)


def cases(kinds: Sequence[str], expanded: bool = False) -> Iterator[Case]:
    """The cases of these kinds."""
    for kind in kinds:
        yield from node_cases(expanded) if kind == "node" else file_cases(kind)


def check_outputs(case: Case, expected: Sequence[Any], found: Sequence[np.ndarray]) -> None:
    """Compares as the onnx package's runner does; raises AssertionError."""
    assert len(expected) == len(found), f"{len(found)} outputs, expected {len(expected)}"
    for at, (reference, output) in enumerate(zip(expected, found, strict=True)):
        reference = np.asarray(reference)
        assert output.dtype == reference.dtype, f"output {at} is {output.dtype}, expected {reference.dtype}"
        assert output.shape == reference.shape, f"output {at} is {output.shape}, expected {reference.shape}"
        rtol = max(case.rtol, 2**-6) if output.dtype.name == "bfloat16" else case.rtol
        if output.dtype.name == "bfloat16":
            output, reference = output.astype(np.float32), reference.astype(np.float32)
        np.testing.assert_allclose(output, reference, rtol=rtol, atol=case.atol, err_msg=f"output {at}")
