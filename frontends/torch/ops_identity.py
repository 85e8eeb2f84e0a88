"""Conversions of types, copies, and operators that leave a tensor as it is: dropout, checks of what is known."""

from __future__ import annotations

from xdsl.dialects.builtin import i1

from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.torch.node import NodeView
from relay_mlir.frontends.torch.promotion import converted
from relay_mlir.frontends.torch.registry import converts


@converts("aten.to.dtype", "aten._to_copy.default", "aten.to.dtype_layout", "aten.to.device", "aten.to.other")
def to(c: Emitter, node: NodeView) -> Value:
    if node.has("layout"):
        node.expect("layout", None, "strided", why="only dense tensors are supported")
    node.ignore("dtype", "other")  # torch has put them into the type of the result
    return converted(c, node.value("self"), node.element)


@converts("aten.type_as.default")
def type_as(c: Emitter, node: NodeView) -> Value:
    node.ignore("other")
    return converted(c, node.value("self"), node.element)


@converts("prims.convert_element_type.default")
def convert_element_type(c: Emitter, node: NodeView) -> Value:
    node.ignore("dtype")
    return converted(c, node.value("a"), node.element)


@converts(
    "aten.alias.default",
    "aten.clone.default",
    "aten.contiguous.default",
    "aten.detach.default",
    "aten.detach_.default",
    "aten.lift_fresh.default",
    "aten.lift_fresh_copy.default",
    "aten.positive.default",
)
def same(c: Emitter, node: NodeView) -> Value:
    return node.value("self")


@converts("aten.copy.default")
def copied(c: Emitter, node: NodeView) -> Value:
    x = node.value("self")
    source = converted(c, node.value("src"), x.element)
    return source if source.shape == x.shape else c.broadcast_to(source, x.static_shape("a copy needs the shape"))


@converts("aten.dropout.default", "aten.feature_dropout.default", "aten.alpha_dropout.default")
def dropout(c: Emitter, node: NodeView) -> Value:
    rate = node.real("p")
    if node.flag("train") and rate != 0:
        raise Problem("argument 'train' is True: export the module in eval() mode")
    return node.value("input")


@converts("aten.native_dropout.default")
def native_dropout(c: Emitter, node: NodeView) -> list[Value]:
    rate = node.real("p")
    if node.find("train") and rate != 0:
        raise Problem("argument 'train' is True: export the module in eval() mode")
    x = node.value("input")
    return [x, c.cast(c.op("ones_like", x), i1)]


@converts("aten._assert_tensor_metadata.default")
def metadata(c: Emitter, node: NodeView) -> list[Value]:
    """A check of what the types of the program already say."""
    node.ignore("a", "size", "stride", "dtype", "device", "layout")
    return []


@converts(
    "aten._assert_scalar.default", "aten.sym_constrain_range_for_size.default", "aten.sym_constrain_range.default"
)
def assertion(c: Emitter, node: NodeView) -> list[Value]:
    """A check of sizes, which must come out true at import."""
    if node.operator == "_assert_scalar":
        if not node.number("self"):
            raise Problem(f"the program asserts {node.string('assert_msg')!r}, which is not so")
        node.ignore("assert_msg")
    else:
        size = node.integer("size")
        low, high = node.optional_integer("min"), node.optional_integer("max")
        if (low is not None and size < low) or (high is not None and size > high):
            raise Problem(f"a size must be from {low} to {high}, but is {size}")
    return []
