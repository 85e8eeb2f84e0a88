"""image.resize: every mode of ONNX Resize against its reference and onnxruntime, the lower form against evaluate."""

import itertools

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from xdsl.dialects.builtin import f32, i1
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.image import Resize1D, Resize2D, Resize3D
from relay_mlir.dialects.relay.op import Operator
from relay_mlir.dialects.relay.resize_table import COORDINATE_MODES, ROUNDING_METHODS
from relay_mlir.dialects.relay.types import ANY as UNKNOWN
from relay_mlir.dialects.relay.types import Tensor, tensor
from test.support.mlir_oracle import AVAILABLE
from test.support.movement_check import assert_lowered_as_evaluated, assert_same_bits, numbered
from test.support.onnx_oracle import onnx_op
from test.support.operator_check import ANY, dtype_of

X = np.random.default_rng(0).standard_normal((1, 2, 5, 7)).astype(np.float32)
MODES = {"nearest_neighbor": "nearest", "linear": "linear", "cubic": "cubic"}
ONNX_COORDINATES = [mode for mode in COORDINATE_MODES if mode != "tf_half_pixel_for_nn"]
SIZES = [(8, 3), (1, 14), (10, 14), (5, 7), (3, 2)]
SCALES = [(1.7, 0.6), (0.3, 2.0)]
ROI = (0.2, -0.1, 0.8, 1.3)


def single(values: tuple[float, ...]) -> tuple[float, ...]:
    """The values as f32 holds them, which is what ONNX models hold."""
    return tuple(float(np.float32(v)) for v in values)


def reference(x: np.ndarray, op: Resize2D) -> np.ndarray:
    """ONNX's own reference implementation of the operator."""
    attributes = {
        "mode": MODES[op.method],
        "coordinate_transformation_mode": op.coordinate_transformation_mode,
        "nearest_mode": op.rounding_method,
        "cubic_coeff_a": op.cubic_alpha,
        "exclude_outside": op.cubic_exclude,
        "extrapolation_value": op.extrapolation_value,
        "antialias": int(op.antialias),
        "axes": [2, 3],
    }
    given = {"x": x, "roi": np.array(op.roi, np.float32)}
    given |= {"scales": np.array(op.scales, np.float32)} if op.scales else {"sizes": np.array(op.size)}
    names = [name if name in given else "" for name in ("x", "roi", "scales", "sizes")]
    node = onnx.helper.make_node("Resize", names, ["y"], **attributes)
    infos = [
        onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in given.items()
    ]
    graph = onnx.helper.make_graph([node], "one", infos, [onnx.ValueInfoProto(name="y")])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 19)])
    return ReferenceEvaluator(model).run(None, given)[0]


def resizes(method: str, coordinates: str) -> list[Resize2D]:
    """The operators of one method and coordinate mode, with sizes and with scales."""
    roi = single(ROI) if coordinates == "tf_crop_and_resize" else ()
    common = {"method": method, "coordinate_transformation_mode": coordinates, "roi": roi, "extrapolation_value": 9.0}
    result: list[Resize2D] = []
    for values, scaled in [(size, False) for size in SIZES] + [(single(scales), True) for scales in SCALES]:
        size = (
            tuple(int(np.floor(np.float32(s * n))) for s, n in zip(values, (5, 7), strict=True)) if scaled else values
        )
        common |= {"size": size, "scales": values if scaled else ()}
        if method == "nearest_neighbor":
            result += [Resize2D(**common, rounding_method=rounding) for rounding in ROUNDING_METHODS[1:]]
            continue
        for exclude, antialias in itertools.product((0, 1), (False, True)):
            result.append(Resize2D(**common, cubic_alpha=-0.75, cubic_exclude=exclude, antialias=antialias))
    return result


@pytest.mark.parametrize("coordinates", ONNX_COORDINATES)
@pytest.mark.parametrize("method", MODES)
def test_reference(method: str, coordinates: str) -> None:
    for op in resizes(method, coordinates):
        if coordinates == "pytorch_half_pixel" and 1 in op.size and not op.scales:
            continue  # the text of the standard puts a single element at 0, its reference at -0.5
        (got,) = op.evaluate([X])
        # The reference computes the coefficients of the cubic kernel in f32.
        atol = 1e-5 if method == "cubic" else 2e-6
        np.testing.assert_allclose(got, reference(X, op), rtol=0, atol=atol, err_msg=str(op))


@pytest.mark.parametrize("coordinates", ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"])
@pytest.mark.parametrize("method", MODES)
def test_onnxruntime(method: str, coordinates: str) -> None:
    for size in SIZES:
        op = Resize2D(size, method=method, coordinate_transformation_mode=coordinates, cubic_alpha=-0.75)
        inputs = [X, None, None, np.array([1, 2, *size])]
        attributes = {"nearest_mode": "round_prefer_ceil", "coordinate_transformation_mode": coordinates}
        (want,) = onnx_op("Resize", inputs, opset=19, mode=MODES[method], **attributes)
        # onnxruntime computes coordinates in f32.
        np.testing.assert_allclose(op.evaluate([X])[0], want, rtol=0, atol=1e-5, err_msg=str(op))


def test_nearest_of_tensorflow() -> None:
    """tf_half_pixel_for_nn was in opsets 11 and 12: (x + 0.5) / scale."""
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 4)
    nothing = np.zeros(0, np.float32)
    op = Resize1D((3,), method="nearest_neighbor", coordinate_transformation_mode="tf_half_pixel_for_nn")
    (want,) = onnx_op(
        "Resize",
        [x, nothing, nothing, np.array([1, 1, 3])],
        11,
        mode="nearest",
        coordinate_transformation_mode="tf_half_pixel_for_nn",
        nearest_mode="round_prefer_ceil",
    )
    assert_same_bits(op.evaluate([x])[0], want)


def test_layouts_and_ranks() -> None:
    (want,) = Resize2D((8, 3)).evaluate([X])
    last = np.ascontiguousarray(np.moveaxis(X, 1, 3))
    np.testing.assert_array_equal(np.moveaxis(Resize2D((8, 3), layout="NHWC").evaluate([last])[0], 3, 1), want)
    (volume,) = Resize3D((3, 8, 3)).evaluate([np.repeat(X[:, :, None], 3, axis=2)])
    np.testing.assert_array_equal(volume, np.repeat(want[:, :, None], 3, axis=2))


def test_integers_are_rounded_and_saturated() -> None:
    x = np.array([[[0, 255, 0, 255, 255]]], np.uint8)
    (got,) = Resize1D((11,), method="cubic", cubic_alpha=-0.75).evaluate([x])
    (real,) = Resize1D((11,), method="cubic", cubic_alpha=-0.75).evaluate([x.astype(np.float64)])
    assert real.min() < 0
    assert real.max() > 255
    assert_same_bits(got, np.rint(real).clip(0, 255).astype(np.uint8))
    constant = np.full((1, 1, 7), 2**50 + 1, np.int64)
    assert (Resize1D((5,)).evaluate([constant])[0] == 2**50 + 1).all()


def test_unknown_dimensions() -> None:
    x = tensor((UNKNOWN, 3, UNKNOWN, 7), f32)
    assert Resize2D((8, 3)).infer([x]) == [tensor((UNKNOWN, 3, 8, 3), f32)]


IMAGE = tensor((1, 2, 5, 7), f32)


@pytest.mark.parametrize(
    ("op", "type_"),
    [
        (Resize2D((3,)), IMAGE),
        (Resize2D((3, 3), scales=(1.0,)), IMAGE),
        (Resize2D((3, 3), scales=(1.0, 0.0)), IMAGE),
        (Resize2D((3, -1)), IMAGE),
        (Resize2D((3, 3), method="bilinear"), IMAGE),
        (Resize2D((3, 3), coordinate_transformation_mode="corners"), IMAGE),
        (Resize2D((3, 3), rounding_method="up"), IMAGE),
        (Resize2D((3, 3), coordinate_transformation_mode="tf_crop_and_resize"), IMAGE),
        (Resize2D((3, 3), method="nearest_neighbor", antialias=True), IMAGE),
        (Resize2D((3, 3), layout="NCW"), IMAGE),
        (Resize2D((3, 3), layout="NCH2h"), IMAGE),
        (Resize1D((3,)), IMAGE),
        (Resize3D((3, 3, 3)), IMAGE),
        (Resize2D((3, 3)), tensor((1, 2, 5, 7), i1)),
        (Resize2D((3, 3)), tensor((1, 2, 0, 7), f32)),
    ],
)
def test_refused(op: Operator, type_: Tensor) -> None:
    with pytest.raises(VerifyException):
        op.infer([type_])


@pytest.mark.skipif(not AVAILABLE, reason="needs mlir-opt-22")
def test_lowered() -> None:
    crop = {"coordinate_transformation_mode": "tf_crop_and_resize", "roi": ROI, "extrapolation_value": 3.0}
    nearest = {"method": "nearest_neighbor"}
    operators = [Resize2D((8, 3), **nearest), Resize2D((6, 3), **nearest, **crop), Resize2D((5, 7), **nearest)]
    operators += [Resize2D((10, 21), **nearest, coordinate_transformation_mode="asymmetric", rounding_method="floor")]
    smooth = [Resize2D((8, 3)), Resize2D((8, 2), method="cubic", antialias=True), Resize2D((6, 3), **crop)]
    cases = []
    for dtype in ANY:
        x = (X * 100).clip(0 if dtype.startswith("u") else -100, 100).astype(dtype_of(dtype))
        cases += [(op, [x]) for op in operators + (smooth if dtype != "bool" else [])]
    cases += [(Resize1D((5,), method="cubic"), [X[0, :, :, :]]), (Resize3D((2, 4, 8)), [X[None]])]
    cases += [
        (Resize2D((0, 3)), [X]),
        (Resize2D((3, 3)), [X[:0]]),
        (Resize2D((8, 3), layout="NHWC"), [numbered(1, 5, 7, 2)]),
    ]
    assert_lowered_as_evaluated(cases)
