"""Transposes and changes of layout: against onnxruntime and index formulas, the lower form against evaluate."""

import numpy as np
import pytest
from xdsl.dialects.builtin import f32
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.transpose import LayoutTransform, Transpose
from relay_mlir.dialects.relay.types import ANY as UNKNOWN
from relay_mlir.dialects.relay.types import tensor
from test.support.mlir_oracle import AVAILABLE
from test.support.movement_check import any_bits, assert_lowered_as_evaluated, assert_same_bits, numbered
from test.support.onnx_oracle import onnx_op
from test.support.operator_check import ANY

AXES = [(1, 0, 2), (2, 1, 0), (0, 1, 2), (-1, 0, 1), (1, -1, 0)]
LAYOUTS = [
    ("NCHW", "NHWC"),
    ("NHWC", "NCHW"),
    ("NCHW", "NCHW4c"),
    ("NCHW4c", "NCHW"),
    ("NCHW4c", "NHWC"),
    ("NHWC", "NCHW2c"),
    ("NCHW4c", "NCHW2c"),
    ("NCHW4c", "NHWC8c"),
    ("NCHW", "NCHW2n4c"),
]
DATA = {"NCHW": (2, 8, 3, 5), "NHWC": (2, 3, 5, 8), "NCHW4c": (2, 2, 3, 5, 4)}


@pytest.mark.parametrize("axes", AXES)
def test_onnxruntime(axes: tuple[int, ...]) -> None:
    x = numbered(2, 3, 4)
    (want,) = onnx_op("Transpose", [x], perm=[axis % 3 for axis in axes])
    assert_same_bits(Transpose(axes).evaluate([x])[0], want)
    unknown = Transpose(axes).infer([tensor((2, UNKNOWN, 4), f32)])
    assert unknown == [tensor([(2, UNKNOWN, 4)[axis] for axis in axes], f32)]


def element(data: np.ndarray, layout: str, where: dict[str, int]) -> float:
    """The element at these whole positions, read by the meaning of the layout."""
    place: list[int] = []
    number = ""
    blocks: dict[str, int] = {}
    for letter in layout:
        if letter.isdigit():
            number += letter
        elif letter.islower():
            blocks[letter.upper()] = int(number)
            number = ""
    number = ""
    for letter in layout:
        if letter.isupper():
            place.append(where[letter] // blocks.get(letter, 1))
        elif letter.islower():
            place.append(where[letter.upper()] % blocks[letter.upper()])
    return data[tuple(place)]


@pytest.mark.parametrize(("source", "target"), LAYOUTS)
def test_layout(source: str, target: str) -> None:
    x = numbered(*DATA[source])
    (got,) = LayoutTransform(source, target).evaluate([x])
    assert got.size == x.size
    sizes = {"N": 2, "C": 8, "H": 3, "W": 5}
    for place in np.ndindex(*sizes.values()):
        where = dict(zip(sizes, place, strict=True))
        assert element(got, target, where) == element(x, source, where)


def test_layout_of_unknown_dimensions() -> None:
    op = LayoutTransform("NCHW", "NHWC4c")
    assert op.infer([tensor((UNKNOWN, 8, 3, UNKNOWN), f32)]) == [tensor((UNKNOWN, 3, UNKNOWN, 2, 4), f32)]


@pytest.mark.parametrize(
    ("source", "target", "shape"),
    [
        ("NCHW", "NHW", (1, 1, 1, 1)),
        ("NCHW", "NHWC", (1, 1, 1)),
        ("NCHW", "NCHW3c", (1, 4, 1, 1)),
        ("NCHW4c", "NCHW", (1, 4, 1, 1, 3)),
        ("NCHWc", "NCHW", (1, 4, 1, 1, 3)),
        ("NCHWN", "NCHW", (1, 4, 1, 1, 3)),
        ("NHW4c", "NHW4c", (1, 4, 1, 1)),
        ("N-CHW", "NCHW", (1, 4, 1, 1)),
    ],
)
def test_refused_layout(source: str, target: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(VerifyException):
        LayoutTransform(source, target).infer([tensor(shape, f32)])


@pytest.mark.parametrize("axes", [(0,), (0, 0), (0, 2), (0, 1, 2)])
def test_refused_axes(axes: tuple[int, ...]) -> None:
    with pytest.raises(VerifyException):
        Transpose(axes).infer([tensor((2, 3), f32)])


@pytest.mark.skipif(not AVAILABLE, reason="needs mlir-opt-22")
def test_lowered() -> None:
    cases = [(Transpose(axes), [any_bits((2, 3, 4), "float32")]) for axes in AXES]
    cases += [(Transpose(), [any_bits(shape, dtype)]) for dtype in ANY for shape in ((3, 2), (1, 3), (0, 3), ())]
    cases += [(LayoutTransform(a, b), [any_bits(DATA[a], "float16")]) for a, b in LAYOUTS]
    cases += [(LayoutTransform("NC", "NC4c"), [any_bits((2, 0), "int8")])]
    assert_lowered_as_evaluated(cases)
