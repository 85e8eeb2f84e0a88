"""depth_to_space and space_to_depth: against onnxruntime and each other, the lower form against evaluate."""

import numpy as np
import pytest
from xdsl.dialects.builtin import f32
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.op import Operator
from relay_mlir.dialects.relay.space import DepthToSpace, SpaceToDepth
from relay_mlir.dialects.relay.types import ANY as UNKNOWN
from relay_mlir.dialects.relay.types import tensor
from test.support.mlir_oracle import AVAILABLE
from test.support.movement_check import assert_lowered_as_evaluated, assert_same_bits, numbered
from test.support.onnx_oracle import onnx_op


def to_last(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(x, 1, 3))


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
@pytest.mark.parametrize("block", [1, 2, 3])
def test_depth_to_space(block: int, mode: str) -> None:
    x = numbered(2, 2 * block * block, 3, 5)
    (want,) = onnx_op("DepthToSpace", [x], blocksize=block, mode=mode)
    assert_same_bits(DepthToSpace(block, "NCHW", mode).evaluate([x])[0], want)
    assert_same_bits(DepthToSpace(block, "NHWC", mode).evaluate([to_last(x)])[0], to_last(want))
    assert_same_bits(SpaceToDepth(block, "NCHW", mode).evaluate([want])[0], x)
    assert_same_bits(SpaceToDepth(block, "NHWC", mode).evaluate([to_last(want)])[0], to_last(x))


def test_space_to_depth() -> None:
    x = numbered(2, 3, 4, 6)
    (want,) = onnx_op("SpaceToDepth", [x], blocksize=2)
    assert_same_bits(SpaceToDepth(2).evaluate([x])[0], want)


def test_unknown_dimensions() -> None:
    x = tensor((UNKNOWN, 8, 3, UNKNOWN), f32)
    assert DepthToSpace(2).infer([x]) == [tensor((UNKNOWN, 2, 6, UNKNOWN), f32)]
    assert SpaceToDepth(3).infer([x]) == [tensor((UNKNOWN, 72, 1, UNKNOWN), f32)]


@pytest.mark.parametrize(
    "op",
    [
        DepthToSpace(3),
        DepthToSpace(0),
        DepthToSpace(2, "NCWH"),
        DepthToSpace(2, mode="DRC"),
        SpaceToDepth(2),
        DepthToSpace(2, "NHWC"),
    ],
)
def test_refused(op: Operator) -> None:
    with pytest.raises(VerifyException):
        op.infer([tensor((1, 4, 3, 5), f32)])


@pytest.mark.skipif(not AVAILABLE, reason="needs mlir-opt-22")
def test_lowered() -> None:
    cases = []
    for mode in ("DCR", "CRD"):
        cases += [(DepthToSpace(2, "NCHW", mode), [numbered(2, 8, 3, 5)])]
        cases += [(DepthToSpace(2, "NHWC", mode), [numbered(2, 3, 5, 8, dtype="int8")])]
        cases += [(SpaceToDepth(2, "NCHW", mode), [numbered(2, 3, 4, 6, dtype="bfloat16")])]
        cases += [(SpaceToDepth(2, "NHWC", mode), [numbered(2, 4, 6, 3)])]
    cases += [(DepthToSpace(2), [numbered(0, 8, 3, 5)])]
    assert_lowered_as_evaluated(cases)
