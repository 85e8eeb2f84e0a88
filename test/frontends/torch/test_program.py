"""The importer on programs written out by hand: what it makes of a graph, without torch.

The numbers are checked against numpy, the messages against what a reader needs to find the place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from relay_mlir.dialects.errors import ModelError
from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.frontends.torch.importer import import_program
from relay_mlir.frontends.torch.program import Dim, DType, Graph, Node, Program, Ref, Source, TensorType, symbol
from relay_mlir.frontends.torch.registry import supported
from relay_mlir.runtime.interpreter import evaluate

BATCH = symbol("s0")
"""A size known at run time only."""


def floats(*shape: int | Dim) -> TensorType:
    return TensorType("float32", shape)


def call(name: str, target: str, result: Any, defaults: Mapping[str, Any] | None = None, **arguments: Any) -> Node:
    return Node(name, target, arguments, result, defaults or {})


def program(
    inputs: Mapping[str, TensorType],
    nodes: Sequence[Node],
    outputs: Sequence[str],
    weights: Mapping[str, np.ndarray] | None = None,
    **more: Any,
) -> Program:
    """A program of arguments and weights, named as in the graph."""
    weights = weights or {}
    declared = [(f"p_{name}", TensorType(array.dtype.name, array.shape)) for name, array in weights.items()]
    sources = {name: Source(name) for name in inputs}
    sources |= {f"p_{name}": Source(f"p_{name}", lambda a=array: a, name) for name, array in weights.items()}
    graph = Graph([*declared, *inputs.items()], nodes, [Ref(name) for name in outputs])
    return Program(graph, sources, **more)


def run(found: Program, *inputs: np.ndarray, **how: Any) -> list[Any]:
    ctx = RelayContext()
    return evaluate(import_program(found, ctx, **how), ctx.weights, inputs)


def problems(found: Program, **how: Any) -> list[str]:
    with pytest.raises(ModelError) as caught:
        import_program(found, RelayContext(), **how)
    return caught.value.problems


def test_a_linear_layer():
    rng = np.random.default_rng(0)
    weight, bias = rng.standard_normal((5, 4)).astype(np.float32), rng.standard_normal(5).astype(np.float32)
    nodes = [
        call("y", "aten.linear.default", floats(3, 5), input=Ref("x"), weight=Ref("p_w"), bias=Ref("p_b")),
        call("z", "aten.relu.default", floats(3, 5), self=Ref("y")),
    ]
    x = rng.standard_normal((3, 4)).astype(np.float32)
    (found,) = run(program({"x": floats(3, 4)}, nodes, ["z"], {"w": weight, "b": bias}), x)
    np.testing.assert_allclose(found, np.maximum(x @ weight.T + bias, 0), atol=1e-6)


def test_numbers_do_not_widen_tensors_but_raise_their_category():
    half, long = TensorType("float16", (2,)), TensorType("int64", (2,))
    nodes = [
        call("a", "aten.add.Tensor", half, {"alpha": 1}, self=Ref("h"), other=0.5, alpha=2),
        call("b", "aten.add.Tensor", floats(2), {"alpha": 1}, self=Ref("i"), other=0.5),
        call("c", "aten.lt.Scalar", TensorType("bool", (2,)), self=Ref("i"), other=1.5),
    ]
    found = run(
        program({"h": half, "i": long}, nodes, ["a", "b", "c"]),
        np.array([1, 2], np.float16),
        np.array([1, 2], np.int64),
    )
    assert [value.tolist() for value in found] == [[2.0, 3.0], [1.5, 2.5], [True, False]]
    assert [value.dtype.name for value in found] == ["float16", "float32", "bool"]


def test_several_results():
    nodes = [
        call("m", "aten.max.dim", [floats(2), TensorType("int64", (2,))], {"keepdim": False}, self=Ref("x"), dim=-1),
        call("values", "getitem", floats(2), a=Ref("m"), b=0),
        call("at", "getitem", TensorType("int64", (2,)), a=Ref("m"), b=1),
    ]
    found = run(program({"x": floats(2, 3)}, nodes, ["at", "values"]), np.array([[1, 5, 5], [9, 2, 3]], np.float32))
    assert [value.tolist() for value in found] == [[1, 0], [5.0, 9.0]]


def test_sizes_are_bound_and_computed_with():
    twice = Dim("2*s0", lambda sizes: 2 * sizes["s0"] if "s0" in sizes else None)
    nodes = [
        call("n", "aten.sym_size.int", BATCH, self=Ref("x"), dim=0),
        call("m", "mul", twice, a=Ref("n"), b=2),
        call("y", "aten.view.default", floats(twice, 2), self=Ref("x"), size=[Ref("m"), 2]),
    ]
    made = program({"x": floats(BATCH, 4)}, nodes, ["y"], limits={"s0": (1, 9)})
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(run(made, x, shapes={"s0": 3})[0], x.reshape(6, 2))
    np.testing.assert_array_equal(run(made, x)[0], x.reshape(6, 2))  # the only open size follows from the others
    assert problems(made, shapes={"x": (10, 4)}) == [
        "the size s0 is bound to 10, but the program was exported for 1 to 9"
    ]


def branch(target: str, **arguments: Any) -> Graph:
    return Graph([("a", floats(2))], [call("r", target, floats(2), self=Ref("a"), **arguments)], [Ref("r")])


@pytest.mark.parametrize("sign", [1, -1])
def test_cond(sign: int):
    true = TensorType("bool", ())
    nodes = [
        call("total", "aten.sum.default", floats(), {"dtype": None}, self=Ref("x")),
        call("positive", "aten.gt.Scalar", true, self=Ref("total"), other=0),
        call(
            "both",
            "cond",
            [floats(2)],
            pred=Ref("positive"),
            true_graph=branch("aten.exp.default"),
            false_graph=branch("aten.neg.default"),
            operands=[Ref("x")],
        ),
        call("y", "getitem", floats(2), a=Ref("both"), b=0),
    ]
    x = np.array([1, 2], np.float32) * sign
    np.testing.assert_allclose(run(program({"x": floats(2)}, nodes, ["y"]), x)[0], np.exp(x) if sign > 0 else -x)


def test_while_loop():
    number, state = TensorType("int64", ()), [("i", TensorType("int64", ())), ("a", floats(2))]
    goes_on = Graph(state, [call("c", "aten.lt.Scalar", TensorType("bool", ()), self=Ref("i"), other=1000)], [Ref("c")])
    step = Graph(
        state,
        [
            call("j", "aten.add.Tensor", number, {"alpha": 1}, self=Ref("i"), other=1),
            call("b", "aten.add.Tensor", floats(2), {"alpha": 1}, self=Ref("a"), other=0.5),
        ],
        [Ref("j"), Ref("b")],
    )
    nodes = [
        call(
            "loop",
            "while_loop",
            [number, floats(2)],
            cond_graph=goes_on,
            body_graph=step,
            carried=[Ref("i"), Ref("x")],
            additional=[],
        ),
        call("y", "getitem", floats(2), a=Ref("loop"), b=1),
    ]
    made = program({"i": number, "x": floats(2)}, nodes, ["y"])
    (found,) = run(made, np.array(998), np.array([1, 2], np.float32))
    assert found.tolist() == [2.0, 3.0]


# What is refused.


def test_operators_without_a_handler():
    nodes = [
        Node("f", "aten.fft.default", {"self": Ref("x")}, floats(2), module="layer.0"),
        call("y", "aten.relu.default", floats(2), self=Ref("f")),
        call("z", "aten.other.default", floats(2), self=Ref("x")),
    ]
    assert problems(program({"x": floats(2)}, nodes, ["y", "z"])) == [
        "node 'layer.0/f' (aten.fft.default): the operator is not supported",
        "node 'z' (aten.other.default): the operator is not supported",
    ]


def test_arguments_that_nothing_asks_for():
    defaults = {"out": None, "factor": 1.0}
    accepted = call("y", "aten.relu.default", floats(2), defaults, self=Ref("x"), factor=1.0, memory_format="any")
    assert run(program({"x": floats(2)}, [accepted], ["y"]), np.array([1, -1], np.float32))[0].tolist() == [1, 0]
    refused = call("y", "aten.relu.default", floats(2), defaults, self=Ref("x"), factor=2.0, dtype=DType("int8"))
    assert problems(program({"x": floats(2)}, [refused], ["y"])) == [
        "node 'y' (aten.relu.default): argument 'factor' = 2.0 is not supported; "
        "argument 'dtype' = int8 is not supported"
    ]


def test_arguments_of_other_kinds():
    nodes = [
        call("a", "aten.relu.default", floats(2), self=3),
        call("b", "aten.narrow.default", floats(1), self=Ref("x"), dim=0, start=0, length=BATCH),
        call("c", "aten.cat.default", floats(2), {"dim": 0}, tensors=[Ref("x"), None]),
        call("d", "aten.add.Tensor", floats(2), {"alpha": 1}, self=Ref("x")),
    ]
    assert problems(program({"x": floats(2)}, nodes, ["a"])) == [
        "node 'a' (aten.relu.default): argument 'self' must be a tensor, but is 3",
        "node 'b' (aten.narrow.default): argument 'length' must be an integer known at import "
        "(bind the inputs' shapes), but is s0",
        "node 'c' (aten.cat.default): argument 'tensors' must be tensors, but is [a tensor tensor<2xf32>, None]",
        "node 'd' (aten.add.Tensor): argument 'other' is required",
    ]


def test_results_of_other_types_than_declared():
    nodes = [call("y", "aten.relu.default", floats(3), self=Ref("x"))]
    (problem,) = problems(program({"x": floats(2)}, nodes, ["y"]))
    assert problem.endswith("the importer failed on it: result 0 is tensor<2xf32>, but torch gives tensor<3xf32>")


def test_every_family_registers_its_operators():
    found = supported()
    assert len(found) > 300
    assert {"aten.conv2d.default", "aten.lstm.input", "cond", "aten.scaled_dot_product_attention.default"} <= set(found)
