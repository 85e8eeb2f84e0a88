"""The metadata section: TVM's JSON graph, tensors of every dtype bit for bit, malformed sections."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest

from relay_mlir.frontends.relay_text.metadata import Metadata, MetadataError, decode_array
from relay_mlir.frontends.relay_text.metadata_writer import Constants, encode_array
from relay_mlir.lowering.diagnostics import DiagnosticError
from relay_mlir.lowering.ir_text import SourceText
from relay_mlir.tools.driver import make_context
from test.frontends.relay_text.support import HEADER, read, round_trip

# A float32 tensor [[0, 1, 2], [3, 4, 5]] and the bool tensor [True, False], as TVM 0.19 writes them.
FLOATS = "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQACAAAAAAAAAAMAAAAAAAAAGAAAAAAAAAAAAAAAAACAPwAAAEAAAEBAAACAQAAAoEA="
BOOLEANS = "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAEBAQACAAAAAAAAAAIAAAAAAAAAAQA="
GRAPH = {
    "root": 1,
    "nodes": [
        {"type_key": ""},
        {"type_key": "Map", "keys": ["relay.Constant", "relay.attrs.ScanopAttrs", "runtime.BoxInt"], "data": [2, 5, 9]},
        {"type_key": "Array", "data": [3, 4]},
        {"type_key": "relay.Constant", "attrs": {"_checked_type_": "0", "data": "0", "span": "0"}},
        {"type_key": "relay.Constant", "attrs": {"_checked_type_": "0", "data": "1", "span": "0"}},
        {"type_key": "Array", "data": [6]},
        {"type_key": "relay.attrs.ScanopAttrs", "attrs": {"axis": "7", "dtype": "float32", "exclusive": "8"}},
        {"type_key": "IntImm", "attrs": {"dtype": "int32", "span": "0", "value": "1"}},
        {"type_key": "IntImm", "attrs": {"dtype": "bool", "span": "0", "value": "1"}},
        {"type_key": "Array", "data": [10]},
        {"type_key": "runtime.BoxInt", "repr_str": "3"},
    ],
    "b64ndarrays": [FLOATS, BOOLEANS],
    "attrs": {"tvm_version": "0.19.0"},
}
SECTION = f"#[metadata]\n{json.dumps(GRAPH)}\n"


def test_tensors_attributes_and_values():
    text = HEADER + (
        "def @main() { let %x = meta[relay.Constant][0]; let %y = cumsum(%x, meta[relay.attrs.ScanopAttrs][0]);\n"
        "  (split(%y, indices_or_sections=meta[runtime.BoxInt][0], axis=1), meta[relay.Constant][1]) }\n" + SECTION
    )
    shown = str(read(text))
    assert "dense<[[0.000000e+00, 1.000000e+00, 2.000000e+00], [3.0" in shown
    assert "dense<[true, false]>" in shown
    assert "relay.cumsum %x {axis = 1, dtype = f32, exclusive = true}" in shown
    assert "relay.split %y {indices_or_sections = [1, 2], axis = 1}" in shown
    assert '"b64ndarrays": [' in round_trip(text)


def test_what_is_not_small_goes_to_the_weights():
    ctx = make_context()
    large = np.arange(100, dtype="int8")
    module = read(HEADER + "def @main() { meta[relay.Constant][0] }", ctx, metadata={"relay.Constant": [large]})
    (key,) = ctx.weights
    assert f'relay.weight "{key}"' in str(module)
    assert np.array_equal(ctx.weights[key], large)


@pytest.mark.parametrize(
    "array",
    [
        np.float32([[np.nan, -np.inf], [-0.0, 1e-45]]),
        np.zeros((0, 3), "float64"),
        np.array(3, "int8"),
        np.array([1, 2**63], "uint64"),
        np.array([True, False]),
        np.array([1.5, -2.0], ml_dtypes.bfloat16),
        np.arange(6, dtype="float16").reshape(3, 2).T,
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_tensors_keep_their_bits(array: np.ndarray):
    again = decode_array(encode_array(array))
    assert (again.dtype, again.shape, again.tobytes()) == (array.dtype, array.shape, array.tobytes())
    constants = Constants()
    assert constants.reference(array) == constants.reference(array.copy()) == "meta[relay.Constant][0]"
    metadata = Metadata(SourceText("", "t"))
    metadata.read(constants.section().split("]", 1)[1])
    value = metadata.entry("relay.Constant", 0)
    assert isinstance(value, np.ndarray)
    assert value.tobytes() == array.tobytes()


def test_the_format_is_that_of_tvm():
    import base64

    assert base64.b64encode(encode_array(np.arange(6, dtype="float32").reshape(2, 3))).decode() == FLOATS
    assert base64.b64encode(encode_array(np.array([True, False]))).decode() == BOOLEANS


@pytest.mark.parametrize("cut", [0, 10, 30, 40, 60, -1])
def test_tensors_that_are_cut_off(cut: int):
    with pytest.raises(MetadataError):
        decode_array(encode_array(np.arange(6, dtype="float32"))[:cut])


@pytest.mark.parametrize(
    "section",
    [
        "{",
        "[]",
        "3",
        '{"root": 7, "nodes": []}',
        '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["relay.Constant"], "data": [9]}]}',
        '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["relay.Constant"], "data": []}]}',
        json.dumps({**GRAPH, "b64ndarrays": []}),
        json.dumps({**GRAPH, "b64ndarrays": ["!!!"]}),
    ],
)
def test_malformed_sections(section: str):
    with pytest.raises(DiagnosticError, match=r"t.relay:\d+:\d+: error: "):
        read(HEADER + f"def @main() {{ meta[relay.Constant][0] }}\n#[metadata]\n{section}")


def test_references_out_of_range():
    with pytest.raises(DiagnosticError, match=r"the metadata has 2 of `relay.Constant`, but number 2 is asked for"):
        read(HEADER + f"def @main() {{ meta[relay.Constant][2] }}\n{SECTION}")
    with pytest.raises(DiagnosticError, match="expected a tensor"):
        read(HEADER + f"def @main() {{ meta[runtime.BoxInt][0] }}\n{SECTION}")
