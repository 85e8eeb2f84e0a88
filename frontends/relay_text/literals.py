"""Scalars of Relay text: what a number token means, and how a value is written so that it is read bit for bit."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

_NUMBER = re.compile(r"(-*)(?:(inf|nan)f|([0-9.eE+-]*?)([fi])?)((?<=[fi])\d*)?")
_FLOAT_MAX = {16: 65504.0, 32: 3.4028234663852886e38, 64: 1.7976931348623157e308}
_INTEGER_WIDTHS = (16, 32, 64)


@dataclass(frozen=True, slots=True)
class Scalar:
    """The value of a literal and its dtype, by Relay's name."""

    value: int | float | bool
    dtype: str

    @property
    def array(self) -> np.ndarray:
        """The value as a 0-d array."""
        return np.array(self.value, np.dtype(self.dtype))


def parse_number(text: str) -> Scalar:
    """The value of a number token; raises ValueError that says what is wrong with it."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(f"invalid number `{text}`")
    minus, special, digits, letter, suffix = match.groups()
    negative = len(minus) % 2 == 1
    if special is not None or letter == "f":
        return _float(special or digits, suffix or "", negative, text)
    width = int(suffix) if suffix else 32
    if width not in _INTEGER_WIDTHS:
        raise ValueError(f"invalid numeric suffix `i{suffix}`; expected i16, i32 or i64")
    if not digits.isdigit():
        raise ValueError(f"invalid integer number `{text}`; a floating point number ends in `f`")
    value = -int(digits) if negative else int(digits)
    if not suffix and not -(2**31) <= value < 2**31:
        width = 64  # an integer without a width that does not fit 32 bits has 64
    if not -(2 ** (width - 1)) <= value < 2 ** (width - 1):
        raise ValueError(f"integer number `{text}` does not fit {width} bits")
    return Scalar(value, f"int{width}")


def _float(digits: str, suffix: str, negative: bool, text: str) -> Scalar:
    width = int(suffix) if suffix else 32
    if width not in _FLOAT_MAX:
        raise ValueError(f"invalid numeric suffix `f{suffix}`; expected f16, f32 or f64")
    try:
        value = float(digits)
    except ValueError:
        raise ValueError(f"invalid floating point number `{text}`") from None
    special = digits in ("inf", "nan")
    if not special and (math.isinf(value) or abs(value) > _FLOAT_MAX[width]):
        raise ValueError(f"floating point number `{text}` does not fit {width} bits")
    return Scalar(math.copysign(value, -1.0 if negative else 1.0), f"float{width}")


def scalar_text(value: np.ndarray) -> str | None:
    """The literal of a 0-d array, or None where no literal gives exactly its bits (then it goes to the metadata)."""
    item = value.item()
    match value.dtype.name:
        case "bool":
            return "True" if item else "False"
        case "int16" | "int64":
            return f"{item}i{value.dtype.itemsize * 8}"
        case "int32":
            return str(item)
        case "float16" | "float32" | "float64":
            return _float_text(value)
        case _:
            return None


def _float_text(value: np.ndarray) -> str | None:
    item, name = value.item(), value.dtype.name
    if math.isnan(item) or (math.isinf(item) and name != "float32"):
        return None  # `inff` is a float32; a NaN has bits that no literal gives
    if math.isinf(item):
        return "-inff" if item < 0 else "inff"
    if 0 < abs(item) < 2.2250738585072014e-308:
        return None  # below the normal range TVM's reader refuses it
    text = str(value[()]).removesuffix(".0")
    return text + {"float16": "f16", "float32": "f", "float64": "f64"}[name]


def attribute_float_text(value: float) -> str:
    """A float attribute: the shortest decimal that gives the value."""
    if math.isnan(value):
        return "nanf"
    if math.isinf(value):
        return "-inff" if value < 0 else "inff"
    return repr(value).removesuffix(".0") + ("f" if abs(value) <= _FLOAT_MAX[32] else "f64")
