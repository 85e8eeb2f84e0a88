"""The operators of torch that take graphs, and the names of their arguments; a last `*` takes the rest."""

from __future__ import annotations

NAMES: dict[str, tuple[str, ...]] = {
    "cond": ("pred", "true_graph", "false_graph", "operands"),
    "while_loop": ("cond_graph", "body_graph", "carried", "additional"),
    "scan": ("body_graph", "init", "xs", "additional"),
    "wrap_with_set_grad_enabled": ("enabled", "graph", "*operands"),
}
