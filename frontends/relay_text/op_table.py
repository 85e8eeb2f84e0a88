"""How Relay writes an operator where that differs from the relay dialect: results, attributes, operands.

All differences stand here. An operator that is not named here has the same name, operands and attributes in both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from relay_mlir.dialects.relay.op import Operator

Results = Callable[[Operator, int], int]
"""How many results an operator has, from its attributes and its number of operands."""


def _one(operator: Operator, operands: int) -> int:
    del operator, operands
    return 1


def _top_k(operator: Operator, operands: int) -> int:
    del operands
    return 2 if cast(Any, operator).ret_type == "both" else 1


def _parts(operator: Operator, operands: int) -> int:
    del operands
    return len(cast(Any, operator).indices_or_sections) + 1


def _unique(operator: Operator, operands: int) -> int:
    del operands
    return 5 if cast(Any, operator).return_counts else 4


@dataclass(frozen=True)
class Form:
    """What is different about an operator in Relay text."""

    tuple_result: bool = False
    """Whether it gives a tuple even where that has one field."""
    results: Results = _one
    extra_results: tuple[int, ...] = ()
    """Operands that Relay gives back as further results, which the dialect does not."""
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Values of attributes that are absent in Relay text, where they differ from the dialect's defaults."""
    neutral: Mapping[str, tuple[Any, ...]] = field(default_factory=dict[str, "tuple[Any, ...]"])
    """Relay's attributes that the dialect has not, with the values that change nothing."""
    operand_attributes: tuple[tuple[int, str], ...] = ()
    """Operands of Relay, by position, that are attributes in the dialect; they must be constants."""
    attrs_key: str | None = None
    """The type key of the attributes, which TVM needs to be told."""
    required: tuple[str, ...] = ()
    """Attributes that are always written: Relay has no default of them, or another one."""


_STATISTICS = Form(tuple_result=True, extra_results=(3, 4))
_INDICES = {"dtype": "int32"}
_ARG = Form(defaults=_INDICES)
_UNITS = Form(required=("units",))
_DTYPE = Form(required=("dtype",))
_SCAN = Form(attrs_key="relay.attrs.ScanopAttrs")
_RESIZE = Form(neutral={"out_dtype": ("", None)})


def _count(count: int) -> Form:
    return Form(tuple_result=True, results=lambda operator, operands: count)


FORMS: dict[str, Form] = {
    "split": Form(tuple_result=True, results=_parts),
    "topk": Form(results=_top_k, defaults=_INDICES, required=("dtype",)),
    "nn.batch_norm": _STATISTICS,
    "argmax": _ARG,
    "argmin": _ARG,
    "argsort": Form(defaults=_INDICES, required=("dtype",)),
    "nn.dense": _UNITS,
    "nn.matmul": _UNITS,
    "zeros": _DTYPE,
    "ones": _DTYPE,
    "transpose": Form(required=("axes",)),
    "strided_slice": Form(required=("strides", "axes")),
    "nn.group_norm": Form(required=("num_groups",)),
    "arange": Form(operand_attributes=((0, "start"), (1, "stop"), (2, "step"))),
    "trilu": Form(operand_attributes=((1, "k"),), attrs_key="relay.attrs.TriluAttrs"),
    "cumsum": _SCAN,
    "cumprod": _SCAN,
    "gather_nd": Form(neutral={"index_rank": (...,)}),
    "scatter_elements": Form(attrs_key="relay.attrs.ScatterElementsAttrs"),
    "scatter_nd": Form(attrs_key="relay.attrs.ScatterNDAttrs"),
    "image.resize1d": _RESIZE,
    "image.resize2d": _RESIZE,
    "image.resize3d": _RESIZE,
    "broadcast_to": Form(neutral={"dtype": ("",)}),
    "broadcast_to_like": Form(neutral={"dtype": ("",), "shape": (...,)}),
    "sort": Form(neutral={"dtype": (...,)}),
    "nn.max_pool1d_with_indices": _count(2),
    "nn.max_pool2d_with_indices": _count(2),
    "nn.max_pool3d_with_indices": _count(2),
    "nn.dropout": _count(2),
    "meshgrid": Form(tuple_result=True, results=lambda operator, operands: operands),
    "unique": Form(tuple_result=True, results=_unique, attrs_key="relay.attrs.UniqueAttrs"),
    "dft": Form(tuple_result=True, results=lambda operator, operands: 2, attrs_key="relay.attrs.DFTAttrs"),
    "stft": Form(attrs_key="relay.attrs.StftAttrs"),
    "nn.dilate": Form(attrs_key="relay.attrs.DilateAttrs"),
    "sparse_reshape": _count(2),
    "sparse_fill_empty_rows": _count(3),
    "vision.get_valid_counts": _count(3),
    "vision.multibox_transform_loc": _count(2),
    "random.threefry_generate": _count(2),
    "random.threefry_split": _count(2),
    "random.uniform": _count(2),
    "random.normal": _count(2),
    "random.multinomial": _count(2),
}

_PLAIN = Form()

NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "attrs_type_key": (...,),
    "out_layout": ("",),
    "auto_scheduler_rewritten_layout": ("",),
    "meta_schedule_original_shape": (..., None),
}
"""Attributes that many operators of Relay have and none of the dialect; `...` stands for any value."""

OBJECT_FIELDS: Mapping[str, frozenset[str]] = {
    "relay.attrs.ScanopAttrs": frozenset(["axis", "exclusive"]),
    "relay.attrs.ScatterElementsAttrs": frozenset(["axis"]),
    "relay.attrs.ScatterNDAttrs": frozenset([]),
    "relay.attrs.DFTAttrs": frozenset(["inverse"]),
    "relay.attrs.TakeAttrs": frozenset(["axis", "batch_dims"]),
    "relay.attrs.RepeatAttrs": frozenset(["axis", "repeats"]),
    "relay.attrs.DilateAttrs": frozenset(["strides"]),
}
"""Fields of attribute objects of the metadata that hold objects though they look like plain values."""


def form(name: str) -> Form:
    """What is different about an operator in Relay text."""
    return FORMS.get(name, _PLAIN)
