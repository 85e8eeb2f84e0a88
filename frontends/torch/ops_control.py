"""Control flow: `cond` becomes `relay.if`, loops become functions that call themselves in tail position."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import FunctionType, i1, i64
from xdsl.ir import Attribute, Block, Region

from relay_mlir.dialects.relay.core import CallOp, FuncOp, IfOp, ReturnOp, YieldOp
from relay_mlir.dialects.relay.types import is_static, show_shape
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.torch.node import NodeView, element_of
from relay_mlir.frontends.torch.program import TensorType
from relay_mlir.frontends.torch.promotion import converted
from relay_mlir.frontends.torch.registry import converts


@converts("cond")
def cond(c: Emitter, node: NodeView) -> list[Value]:
    """One branch where the condition is known at import, else `relay.if`."""
    branches, operands = (node.graph("true_graph"), node.graph("false_graph")), node.values("operands")
    found = node.find("pred")
    if isinstance(found, int):
        return node.subgraph(branches[0 if found else 1], operands)
    condition = _truth(c, node.value("pred"))
    if condition.known:
        return node.subgraph(branches[0 if bool(condition.array()) else 1], operands)
    then, other = (lambda graph=graph: node.subgraph(graph, operands) for graph in branches)
    return branched(c, condition, then, other)


def _truth(c: Emitter, condition: Value) -> Value:
    return converted(c, c.reshape(condition, ()) if condition.rank else condition, i1)


def branched(
    c: Emitter, condition: Value, then: Callable[[], Sequence[Value]], other: Callable[[], Sequence[Value]]
) -> list[Value]:
    """`relay.if` of what two functions put into its branches."""
    regions: list[Region] = []
    yielded: list[Sequence[Value]] = []
    for branch in (then, other):
        block = Block()
        with c.into(block):
            values = branch()
            c.append(YieldOp(*map(c.ssa, values)))
        regions.append(Region(block))
        yielded.append(values)
    for position, (a, b) in enumerate(zip(*yielded, strict=True)):
        if a.type != b.type:
            raise Problem(f"result {position} is {a.type} in one branch, but {b.type} in the other")
    op = c.append(IfOp(c.ssa(condition), [value.type for value in yielded[0]], regions[0], regions[1]))
    return [Value(value.type, ssa=result) for value, result in zip(yielded[0], op.results, strict=True)]


def _function(
    c: Emitter,
    name: str,
    inputs: Sequence[Value],
    outputs: Sequence[Attribute],
    body: Callable[[str, Sequence[Value]], Sequence[Value]],
) -> list[Value]:
    """A call of a new function; `body` gets its name, for calls of itself, and its arguments."""
    taken = {function.sym_name.data for function in c.functions}
    while name in taken or name == "main":
        name += "_"
    block = Block(arg_types=[value.type for value in inputs])
    function = FuncOp(name, FunctionType.from_lists(list(block.arg_types), outputs), Region(block), private=True)
    function.location = c.location
    c.functions.append(function)
    with c.function(block):
        results = body(name, [Value(value.type, ssa=arg) for value, arg in zip(inputs, block.args, strict=True)])
        c.append(ReturnOp(*map(c.ssa, results)))
    return called(c, name, inputs, outputs)


def called(c: Emitter, name: str, inputs: Sequence[Value], outputs: Sequence[Attribute]) -> list[Value]:
    """A call of a function of the module."""
    op = c.append(CallOp(name, [c.ssa(value) for value in inputs], outputs))
    return [Value(result.type, ssa=result) for result in op.results]  # pyright: ignore[reportArgumentType]


def _same_types(before: Sequence[Value], after: Sequence[Value]) -> None:
    for position, (a, b) in enumerate(zip(before, after, strict=True)):
        if a.type != b.type:
            raise Problem(f"carried value {position} is {a.type} before a step, but {b.type} after it")


@converts("while_loop")
def while_loop(c: Emitter, node: NodeView) -> list[Value]:
    """`f(state) = if condition(state) then f(body(state)) else state`."""
    condition, step = node.graph("cond_graph"), node.graph("body_graph")
    state, more = node.values("carried"), node.values("additional")
    types = [value.type for value in state]

    def body(name: str, values: Sequence[Value]) -> Sequence[Value]:
        now, rest = values[: len(state)], values[len(state) :]

        def again() -> Sequence[Value]:
            after = node.subgraph(step, values)
            _same_types(now, after)
            return called(c, name, [*after, *rest], types)

        (goes_on,) = node.subgraph(condition, values)
        return branched(c, _truth(c, goes_on), again, lambda: now)

    return _function(c, node.node.name, [*state, *more], types, body)


@converts("scan")
def scan(c: Emitter, node: NodeView) -> list[Value]:
    """A loop over the first dimension of `xs`; each step gives the next state, and a row of each stacked result."""
    step = node.graph("body_graph")
    state, scanned, more = node.values("init"), node.values("xs"), node.values("additional")
    if not scanned:
        raise Problem("argument 'xs' must have a tensor to go over")
    length = scanned[0].static_shape("the number of steps must be known", [0])[0]
    stacked = _zeros(c, node, len(state))
    types = [value.type for value in (*state, *stacked)]

    def body(name: str, values: Sequence[Value]) -> Sequence[Value]:
        at, rest = values[0], list(values[1:])
        now = [rest.pop(0) for _ in state]
        rows = [rest.pop(0) for _ in stacked]

        def again() -> Sequence[Value]:
            taken = [c.op("take", xs, at, axis=0, mode="fast") for xs in rest[: len(scanned)]]
            after = node.subgraph(step, [*now, *taken, *rest[len(scanned) :]])
            _same_types(now, after[: len(now)])
            filled = [_with_row(c, all_, at, row) for all_, row in zip(rows, after[len(now) :], strict=True)]
            following = c.op("add", at, c.scalar(1, i64))
            return called(c, name, [following, *after[: len(now)], *filled, *rest], types)

        return branched(c, c.op("less", at, c.scalar(length, i64)), again, lambda: [*now, *rows])

    inputs = [c.scalar(0, i64), *state, *stacked, *scanned, *more]
    return _function(c, node.node.name, inputs, types, body)


def _zeros(c: Emitter, node: NodeView, skip: int) -> list[Value]:
    """What the stacked results are before the first step."""
    declared = node.node.result
    found: list[Value] = []
    for type_ in list(declared)[skip:] if isinstance(declared, list | tuple) else []:
        if not isinstance(type_, TensorType):
            raise Problem("its results must be tensors")
        shape = node.sizes(type_)
        if not is_static(shape):
            raise Problem(f"the shape of a stacked result must be known, but is {show_shape(shape)}")
        found.append(c.op("full", c.scalar(0, element_of(type_.dtype)), shape=shape))
    return found


def _with_row(c: Emitter, rows: Value, at: Value, row: Value) -> Value:
    return c.op("scatter_nd", rows, c.reshape(at, (1, 1)), c.op("expand_dims", row, axis=0))


@converts("wrap_with_set_grad_enabled")
def without_gradients(c: Emitter, node: NodeView) -> list[Value]:
    """A graph in which gradients are on or off, which does not matter here."""
    node.ignore("enabled")
    return node.subgraph(node.graph("graph"), node.values("operands"))
