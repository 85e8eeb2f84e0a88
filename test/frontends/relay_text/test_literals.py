"""Numbers of Relay text: their dtype and value, and values written so that every bit is read again."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from relay_mlir.frontends.relay_text.literals import parse_number, scalar_text
from test.frontends.relay_text.support import HEADER, read


@pytest.mark.parametrize(
    ("text", "value", "dtype"),
    [
        ("1", 1, "int32"),
        ("-05", -5, "int32"),
        ("--10", 10, "int32"),
        ("---10", -10, "int32"),
        ("2147483647", 2**31 - 1, "int32"),
        ("-2147483648", -(2**31), "int32"),
        ("2147483648", 2**31, "int64"),
        ("9223372036854775807", 2**63 - 1, "int64"),
        ("-42i", -42, "int32"),
        ("-42i16", -42, "int16"),
        ("1i64", 1, "int64"),
        ("1f", 1.0, "float32"),
        ("1.5f", 1.5, "float32"),
        ("1.f", 1.0, "float32"),
        ("1e-1f", 0.1, "float32"),
        ("1E+1f", 10.0, "float32"),
        ("1.0E-1f", 0.1, "float32"),
        ("3f16", 3.0, "float16"),
        ("3f64", 3.0, "float64"),
        ("inff", np.inf, "float32"),
        ("-inff", -np.inf, "float32"),
        ("--inff", np.inf, "float32"),
    ],
)
def test_number(text: str, value: float, dtype: str):
    scalar = parse_number(text)
    assert (scalar.value, scalar.dtype) == (value, dtype)
    module = read(HEADER + f"def @main() {{ {text} }}")
    assert scalar.array == np.array(value, dtype)
    assert f"tensor<{dtype.replace('float', 'f').replace('int', 'i')}>" in str(module)


def test_negative_zero_and_nan():
    assert struct.pack("d", parse_number("-0f").value) == struct.pack("d", -0.0)
    assert np.isnan(parse_number("nanf").value)


@pytest.mark.parametrize(
    "text", ["1.5", "1e5", "1f8", "1i8", "1i128", "32768i16", "1e39f", "65520f16", "99999999999999999999"]
)
def test_bad_number(text: str):
    with pytest.raises(ValueError):
        parse_number(text)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_keep_their_bits(dtype: str):
    random = np.random.default_rng(1)
    width = np.dtype(dtype).itemsize
    bits = random.integers(0, 256, (500, width), np.uint8)
    values = [*bits.view(dtype).reshape(-1), *np.array([0.0, -0.0, 1.0, 0.1, 65504.0, 1e-7, np.inf, -np.inf], dtype)]
    written = 0
    for value in values:
        text = scalar_text(np.asarray(value))
        if text is not None:
            written += 1
            scalar = parse_number(text)
            assert (scalar.dtype, scalar.array.tobytes()) == (dtype, np.asarray(value).tobytes())
    assert written > len(values) * 0.9


def test_what_no_literal_gives():
    for value in (np.float32(np.nan), np.float64(np.inf), np.float64(5e-324), np.int8(3), np.uint8(3)):
        assert scalar_text(np.asarray(value)) is None


def test_integers_and_booleans():
    for value in (np.bool_(True), np.int16(-3), np.int32(-(2**31)), np.int64(2**63 - 1)):
        text = scalar_text(np.asarray(value))
        assert text is not None
        if value.dtype != np.bool_:
            assert parse_number(text).array == value
