"""Operators as Relay writes them: attributes, tuples of operands and results, what differs from the dialect."""

from __future__ import annotations

import pytest

from relay_mlir.dialects.relay.op import RelayOp
from relay_mlir.lowering.diagnostics import DiagnosticError
from test.frontends.relay_text.support import HEADER, read, round_trip

X = "%x: Tensor[(2, 4), float32]"
IMAGE = "%x: Tensor[(1, 3, 8, 8), float32]"
KERNEL = "%w: Tensor[(4, 3, 3, 3), float32]"
VECTOR = "%v: Tensor[(3), float32]"


def _operators(text: str) -> list[RelayOp]:
    return [op for op in read(HEADER + text).walk() if isinstance(op, RelayOp)]


@pytest.mark.parametrize(
    ("call", "attribute", "value"),
    [
        ("nn.conv2d(%x, %w, padding=[1])", "padding", (1, 1, 1, 1)),
        ("nn.conv2d(%x, %w, padding=[1, 2])", "padding", (1, 2, 1, 2)),
        ("nn.conv2d(%x, %w, padding=[1, 2, 3, 4])", "padding", (1, 2, 3, 4)),
        ("nn.conv2d(%x, %w, strides=[2])", "strides", (2, 2)),
        ('nn.conv2d(%x, %w, kernel_size=[3, 3], channels=4, out_layout="")', "channels", 4),
        ('nn.conv2d(%x, %w, out_dtype="")', "out_dtype", None),
        ("nn.max_pool2d(%x, pool_size=[2, 2], padding=[0, 0])", "padding", (0, 0, 0, 0)),
        ("sum(%x, axis=[1, 2])", "axis", (1, 2)),
        ("sum(%x, axis=1)", "axis", (1,)),
        ("sum(%x, axis=None)", "axis", None),
        ("clip(%x, a_min=-inff, a_max=6f)", "a_min", float("-inf")),
        ("clip(%x, a_min=0, a_max=6f)", "a_min", 0.0),
        ("reshape(%x, newshape=[-1, 2i64])", "newshape", (-1, 2)),
        ("transpose(%x, axes=None)", "axes", None),
        ("split(%x, indices_or_sections=4, axis=-1)", "indices_or_sections", (2, 4, 6)),
        ("split(%x, indices_or_sections=[3, 5], axis=3)", "indices_or_sections", (3, 5)),
        ("trilu(%x, -1, upper=False)", "k", -1),
        ("argmax(%x, axis=[1])", "dtype", "i32"),
        ('topk(%x, k=2, dtype="int64")', "dtype", "i64"),
        ("topk(%x, k=2)", "dtype", "i32"),
        ('cumsum(%x, axis=1, attrs_type_key="relay.attrs.ScanopAttrs")', "axis", 1),
        ("nn.pad(%x, 0, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]])", "pad_width", ((0, 0), (0, 0), (1, 1), (1, 1))),
    ],
)
def test_attribute(call: str, attribute: str, value: object):
    text = f"def @main({IMAGE}, {KERNEL}) {{ {call} }}"
    found = getattr(_operators(text)[-1].operator, attribute)
    assert (str(found) if isinstance(value, str) else found) == value
    round_trip(HEADER + text)


def test_batch_norm_is_a_tuple():
    text = f"def @main({IMAGE}, {VECTOR}) {{ nn.batch_norm(%x, %v, %v, %v, %v) }}"
    (main,) = read(HEADER + text).ops
    assert str(main.properties["function_type"]).endswith("tuple<tensor<1x3x8x8xf32>, tensor<3xf32>, tensor<3xf32>>")
    text = f"def @main({IMAGE}, {VECTOR}) {{ nn.batch_norm(%x, %v, %v, %v, %v).0 }}"
    assert "= nn.batch_norm(%x, %v, %v, %v, %v);\n  %0.0\n" in round_trip(HEADER + text)


def test_arange_takes_constants():
    printed = round_trip(HEADER + 'def @main() { arange(0f, 5f, 1.5f, dtype="float32") }')
    assert "arange(0f, 5f, 1.5f, start=meta[relay.Constant][0]" in printed
    with pytest.raises(DiagnosticError, match="`stop` must be a constant"):
        read(HEADER + 'def @main(%n: int32) { arange(0, %n, 1, dtype="int32") }')


def test_only_attributes_that_differ_are_written():
    text = f"def @main({IMAGE}, {KERNEL}) {{ nn.conv2d(%x, %w, strides=[1, 1], padding=[1, 1], groups=1) }}"
    assert "  nn.conv2d(%x, %w, padding=[1, 1, 1, 1])\n" in round_trip(HEADER + text)
    assert "  nn.dense(%x, %x, units=None)\n" in round_trip(HEADER + f"def @main({X}) {{ nn.dense(%x, %x) }}")


def test_operands_that_are_tuples():
    text = f"def @f(%t: (float32, float32)) {{ stack(%t, axis=0) }} def @main({X}) {{ concatenate((%x, %x), axis=1) }}"
    printed = round_trip(HEADER + text)
    assert "stack((%0, %1))" in printed
    assert "concatenate((%x, %x), axis=1)" in printed
    with pytest.raises(DiagnosticError, match="expected a tuple of tensors"):
        read(HEADER + f"def @main({X}) {{ concatenate(%x) }}")


def test_operators_as_values():
    text = "def @main(%x: int32) { let %f: fn (int32, int32) -> int32 = add; %f(%x, 1) }"
    assert [op.name for op in _operators(text)] == ["relay.add"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('nn.conv2d(%x, %w, out_layout="NHWC")', "attribute `out_layout` of nn.conv2d is 'NHWC'"),
        ("split(%x, indices_or_sections=3, axis=3)", "cannot split a dimension of 8 into 3 equal sections"),
        ("clip(%x, a_min=0f)", "clip needs the attribute `a_max`"),
        ("sum(%x, axis=[1, 9])", "sum: axis 9 is out of range"),
        ("add(%x, %w)", "add: "),
    ],
)
def test_refused(call: str, message: str):
    with pytest.raises(DiagnosticError, match=message):
        read(HEADER + f"def @main({IMAGE}, {KERNEL}) {{ {call} }}")
