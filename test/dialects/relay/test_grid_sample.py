"""image.grid_sample: against onnxruntime, the lower form against evaluate."""

import itertools

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i64
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.grid_sample import METHODS, PADDING_MODES, GridSample
from relay_mlir.dialects.relay.types import ANY as UNKNOWN
from relay_mlir.dialects.relay.types import Tensor, tensor
from test.support.mlir_oracle import AVAILABLE
from test.support.movement_check import assert_lowered_as_evaluated
from test.support.onnx_oracle import onnx_op

ONNX = {"nearest": "nearest", "bilinear": "linear", "bicubic": "cubic"}
RNG = np.random.default_rng(0)
IMAGE, VOLUME = (RNG.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 5, 7), (2, 3, 3, 5, 4)))
# Beyond the borders more than once; ties of nearest; exactly on the borders.
IMAGE_GRID, VOLUME_GRID = (
    np.concatenate(
        [(RNG.standard_normal(shape) * 1.7).astype(np.float32), np.full_like(RNG.random(shape), 1, np.float32)]
    ).reshape(2, shape[1], -1, *shape[3:])
    for shape in ((2, 2, 4, 3), (2, 3, 2, 3, 2))
)
WAYS = list(itertools.product(METHODS, PADDING_MODES, (False, True)))


@pytest.mark.parametrize(("method", "padding_mode", "align_corners"), WAYS)
@pytest.mark.parametrize("layout", ["NCHW", "NCDHW"])
def test_onnxruntime(layout: str, method: str, padding_mode: str, align_corners: bool) -> None:
    if layout == "NCDHW" and method == "bicubic":
        pytest.skip("bicubic is for images")
    data, grid = (IMAGE, IMAGE_GRID) if layout == "NCHW" else (VOLUME, VOLUME_GRID)
    last = np.ascontiguousarray(np.moveaxis(grid, 1, -1))
    attributes = {"mode": ONNX[method], "padding_mode": padding_mode, "align_corners": int(align_corners)}
    (want,) = onnx_op("GridSample", [data, last], **attributes)
    (got,) = GridSample(method, layout, padding_mode, align_corners).evaluate([data, grid])
    np.testing.assert_allclose(got, want, rtol=0, atol=2e-6)


def far_away() -> np.ndarray:
    values = [np.nan, np.inf, -np.inf, 1e30, -1e30, 0]
    return np.array(values, np.float32).reshape(1, 1, 1, 6).repeat(2, 1)


@pytest.mark.parametrize(("method", "padding_mode", "align_corners"), WAYS)
def test_far_away(method: str, padding_mode: str, align_corners: bool) -> None:
    """No coordinate makes NaN of data without it, or reads outside of it; a single column has nothing to reflect."""
    x = np.array([1, 2, 3], np.float16).reshape(1, 1, 3, 1)
    (got,) = GridSample(method, "NCHW", padding_mode, align_corners).evaluate([x, far_away()])
    assert np.isfinite(got).all()
    if padding_mode == "zeros":
        assert (got[..., :5] == 0).all()
    if padding_mode == "border":
        np.testing.assert_array_equal(got[0, 0, 0, :5], [1, 3, 1, 3, 1])


def test_unknown_dimensions() -> None:
    types = [tensor((UNKNOWN, 3, UNKNOWN, 7), f32), tensor((2, 2, 4, UNKNOWN), f32)]
    assert GridSample().infer(types) == [tensor((2, 3, 4, UNKNOWN), f32)]


X, G = tensor((2, 3, 5, 7), f32), tensor((2, 2, 4, 4), f32)


@pytest.mark.parametrize(
    ("op", "types"),
    [
        (GridSample("linear"), [X, G]),
        (GridSample(padding_mode="wrap"), [X, G]),
        (GridSample(layout="NHWC"), [X, G]),
        (GridSample("bicubic", "NCDHW"), [tensor((2, 3, 4, 5, 6), f32), tensor((2, 3, 4, 5, 6), f32)]),
        (GridSample(), [X, tensor((2, 4, 4, 2), f32)]),
        (GridSample(), [X, tensor((3, 2, 4, 4), f32)]),
        (GridSample(), [X, tensor((2, 2, 4), f32)]),
        (GridSample(), [X, tensor((2, 2, 4, 4), i64)]),
        (GridSample(), [tensor((2, 3, 0, 7), f32), G]),
    ],
)
def test_refused(op: GridSample, types: list[Tensor]) -> None:
    with pytest.raises(VerifyException):
        op.infer(types)


@pytest.mark.skipif(not AVAILABLE, reason="needs mlir-opt-22")
def test_lowered() -> None:
    cases = []
    for method, padding_mode, align_corners in WAYS:
        op = GridSample(method, "NCHW", padding_mode, align_corners)
        cases += [(op, [IMAGE, IMAGE_GRID]), (op, [IMAGE[:1, :1, :, :1].astype(np.float16), far_away()])]
        if method != "bicubic":
            cases += [(GridSample(method, "NCDHW", padding_mode, align_corners), [VOLUME, VOLUME_GRID])]
    cases += [(GridSample(), [IMAGE.astype(np.float64), IMAGE_GRID]), (GridSample(), [IMAGE, IMAGE_GRID[:, :, :0]])]
    assert_lowered_as_evaluated(cases)
