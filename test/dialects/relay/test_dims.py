"""Dimensions as expressions: arithmetic, equality, what only run time can answer, reshape codes."""

import pytest
from xdsl.dialects.builtin import f32
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.relay.dims import Dim, plain, product, substitute
from relay_mlir.dialects.relay.reshape import Reshape
from relay_mlir.dialects.relay.types import ANY, broadcast_shapes, show_shape, tensor
from relay_mlir.frontends.common.shapes import completed, reshape_codes

B, S = Dim.atom("B"), Dim.atom("S")


def test_arithmetic_is_exact():
    assert (B + S) * (B - S) == B * B - S * S
    assert B * S * 12 // (S * 4) == B * 3
    assert (B * 12) % 4 == 0
    assert B + 1 - B == 1
    assert isinstance(B - B, int)
    assert product([B, 0, ANY]) == 0
    assert product([B, ANY]) == ANY


def test_a_quotient_is_rounded_at_run_time():
    tiles = (S + 3) // 4
    assert tiles == (S + 3) // 4
    assert tiles != S // 4
    assert substitute(tiles, lambda _: 9) == 3
    assert substitute(tiles * B, {"B": 2, "S": 5}.__getitem__) == 4


def test_equal_to_any_and_to_the_same_size_only():
    assert B == ANY
    assert ANY in (3, B)
    assert B != S
    assert B != 5
    assert plain((B, 3, S * 2)) == (ANY, 3, ANY)
    assert show_shape((B, 3)) == "[?, 3]"


def test_order_is_known_where_no_size_changes_it():
    assert B * 2 >= 0
    assert B + 3 > 2
    assert not B + 1 < 1
    with pytest.raises(VerifyException, match="not known before run time"):
        assert B > 7
    with pytest.raises(VerifyException, match="not known before run time"):
        assert B


def test_type_relations_keep_what_sizes_depend_on():
    assert broadcast_shapes((B, 1, S), (1, 4, S)) == (B, 4, S)
    (merged,) = Reshape(newshape=(-3, 0)).infer([tensor((B, S, 8), f32)])
    assert merged.get_shape() == (B * S, 8)
    (split,) = Reshape(newshape=(-4, -1, 12, 0)).infer([tensor((B * 12, S), f32)])
    assert split.get_shape() == (B, 12, S)


@pytest.mark.parametrize(
    ("data", "target", "codes"),
    [
        ((B, S, 768), (B, S, 12, 64), (0, 0, -4, 12, 64)),
        ((B, 12, S, 64), (B * 12, S, 64), (-3, 0, 0)),
        ((B * 12, S, 64), (B, 12, S, 64), (-4, -1, 12, 0, 0)),
        ((1, S, 8), (S, 8), (-1, 8)),
        ((B, 3, 4), (B, 12), (0, -3)),
        ((B * S,), (B, S), None),
    ],
)
def test_reshape_codes(data: tuple[int, ...], target: tuple[int, ...], codes: tuple[int, ...] | None):
    found = reshape_codes(data, target)
    if codes is None:
        assert found is None
        return
    assert found is not None
    (result,) = Reshape(newshape=found).infer([tensor(data, f32)])
    assert result.get_shape() == target
    assert len(found) == len(codes)


def test_the_shape_that_reshape_asks_for():
    assert completed((0, 0, -1, 64), (B, S, 768), allowzero=False) == (B, S, 12, 64)
    assert completed((B, -1), (B, 3, 4), allowzero=False) == (B, 12)
    assert completed((5, -1), (B, 3), allowzero=False) == (5, B * 3 // 5)
    assert completed((-1, -1), (B, 3), allowzero=False) is None
