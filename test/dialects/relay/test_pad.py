"""nn.pad: against numpy.pad and onnxruntime, the lower form against evaluate."""

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i8
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.op import Operator
from relay_mlir.dialects.relay.pad import MODES, Pad
from relay_mlir.dialects.relay.types import ANY as UNKNOWN
from relay_mlir.dialects.relay.types import Tensor, tensor
from test.support.mlir_oracle import AVAILABLE
from test.support.movement_check import any_bits, assert_lowered_as_evaluated, assert_same_bits, numbered
from test.support.onnx_oracle import onnx_op
from test.support.operator_check import ANY, dtype_of

WIDTHS = [((1, 2), (3, 0)), ((0, 0), (0, 0)), ((2, 2), (1, 3)), ((-1, 1), (1, -2)), ((0, -2), (-3, 0))]
SEVEN = np.float32(7)


@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("mode", MODES)
def test_onnxruntime(mode: str, widths: tuple[tuple[int, int], ...]) -> None:
    x = numbered(3, 4)
    pads = np.array(widths).T.reshape(-1)
    (want,) = onnx_op("Pad", [x, pads, np.asarray(SEVEN)], mode=mode)
    (got,) = Pad(widths, mode).evaluate([x, np.asarray(SEVEN)])
    assert_same_bits(got, want)
    assert list(Pad(widths, mode).infer([tensor((3, 4), f32), tensor((), f32)])) == [tensor(want.shape, f32)]


@pytest.mark.parametrize("mode", MODES[1:])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_beyond_a_period(size: int, mode: str) -> None:
    x = numbered(size)
    (got,) = Pad(((8, 9),), mode).evaluate([x, np.asarray(SEVEN)])
    assert_same_bits(got, np.pad(x, (8, 9), mode=mode))


def test_value_of_constant() -> None:
    for value in (np.nan, -np.inf, -0.0):
        (got,) = Pad(((1, 0),)).evaluate([np.ones(1, np.float32), np.asarray(value, np.float32)])
        assert_same_bits(got, np.array([value, 1], np.float32))


def test_unknown_dimensions() -> None:
    (got,) = Pad(((1, 1), (1, 1))).infer([tensor((UNKNOWN, 2), f32), tensor((), f32)])
    assert got == tensor((UNKNOWN, 4), f32)


X, V = tensor((3, 4), f32), tensor((), f32)


@pytest.mark.parametrize(
    ("op", "types"),
    [
        (Pad(((1, 1),)), [X, V]),
        (Pad(((1,), (1,))), [X, V]),
        (Pad(((0, 0), (0, 0)), "symmetric"), [X, V]),
        (Pad(((0, 0), (0, 0))), [X, tensor((1,), f32)]),
        (Pad(((0, 0), (0, 0))), [X, tensor((), i8)]),
        (Pad(((-2, -2), (0, 0))), [X, V]),
        (Pad(((-4, 4), (0, 0))), [X, V]),
        (Pad(((0, 1), (0, 0)), "edge"), [tensor((0, 4), f32), V]),
    ],
)
def test_refused(op: Operator, types: list[Tensor]) -> None:
    with pytest.raises(VerifyException):
        op.infer(types)


@pytest.mark.skipif(not AVAILABLE, reason="needs mlir-opt-22")
@pytest.mark.parametrize("mode", MODES)
def test_lowered(mode: str) -> None:
    cases = [(Pad(widths, mode), [any_bits((3, 4), "float32"), np.asarray(SEVEN)]) for widths in WIDTHS]
    cases += [(Pad(((1, 2), (9, 9)), mode), [any_bits((3, 2), d), np.zeros((), dtype_of(d))]) for d in ANY]
    cases += [(Pad((), mode), [numbered(), np.asarray(SEVEN)])]
    cases += [(Pad(((3, 4),), mode), [numbered(1), np.asarray(SEVEN)])]
    cases += [(Pad(((0, 0), (1, 1)), mode), [numbered(0, 2), np.asarray(SEVEN)])]
    if mode == "constant":
        cases += [(Pad(((1, 0), (0, 0))), [numbered(0, 2), np.asarray(SEVEN)])]
    assert_lowered_as_evaluated(cases)
