"""LSTM, GRU and RNN with every attribute, interpreted and compiled, against onnxruntime."""

from typing import Any

import numpy as np
import onnx
import pytest

import relay_mlir
from test.support.onnx_graphs import info, model, onnxruntime_run, problems, run

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}


def layer(
    op: str,
    steps: int = 5,
    batch: int = 3,
    inputs: int = 4,
    units: int = 5,
    bias: bool = True,
    lengths: list[int] | None = None,
    initial: bool = True,
    peepholes: bool = False,
    dtype: str = "float32",
    known: bool = True,
    outputs: int | None = None,
    **attributes: Any,
) -> tuple[onnx.ModelProto, list[np.ndarray]]:
    """A model of one layer, and its inputs: the data, the number of steps if given, the initial states if wanted."""
    random = np.random.default_rng(11)
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    batch_first = attributes.get("layout", 0)
    rows = GATES[op] * units

    def normal(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) * 0.7).astype(dtype)

    weights = {"W": normal(directions, rows, inputs), "R": normal(directions, rows, units)}
    given = {"X": normal(batch, steps, inputs) if batch_first else normal(steps, batch, inputs)}
    names = ["X", "W", "R", "", "", "", "", ""]
    if bias:
        weights["B"] = normal(directions, 2 * rows)
        names[3] = "B"
    if lengths is not None:
        given["lengths"] = np.array(lengths, np.int32)
        names[4] = "lengths"
    if initial:
        shape = (batch, directions, units) if batch_first else (directions, batch, units)
        given |= {name: normal(*shape) for name in ("h", "c")[: 1 + (op == "LSTM")]}
        names[5:7] = ["h", "c" if op == "LSTM" else ""]
    if peepholes:
        weights["P"] = normal(directions, 3 * units)
        names[7] = "P"
    while not names[-1]:
        names.pop()
    wanted = ["Y", "Y_h", "Y_c"][: outputs or 2 + (op == "LSTM")]
    attributes.setdefault("hidden_size", units)
    node = onnx.helper.make_node(op, names, wanted, name="layer", **attributes)
    if not known:
        given |= weights
        weights = {}
    kinds = {name: onnx.helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in given.items()}
    declared = [info(name, array.shape, kinds[name]) for name, array in given.items()]
    results = [info(name, None, kinds["X"]) for name in wanted]
    return model([node], declared, results, weights, opset=17), list(given.values())


def check(proto: onnx.ModelProto, args: list[np.ndarray], tolerance: float = 2e-6) -> None:
    """Compares what the interpreter and the compiled program give with onnxruntime."""
    expected = onnxruntime_run(proto, *args)
    names = [value.name for value in proto.graph.input]
    compiled = relay_mlir.compile(proto)(**dict(zip(names, args, strict=True)))
    for found in (run(proto, *args), list(compiled.values())):
        for name, got, want in zip(("Y", "Y_h", "Y_c"), found, expected, strict=False):
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance, err_msg=name)


OPS = list(GATES)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("steps", "batch", "units"), [(5, 3, 5), (1, 1, 17), (3, 1, 32)])
def test_directions(op: str, direction: str, steps: int, batch: int, units: int):
    check(*layer(op, direction=direction, steps=steps, batch=batch, units=units))


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_lengths(op: str, direction: str):
    check(*layer(op, direction=direction, lengths=[2, 5, 1]))


@pytest.mark.parametrize("op", OPS)
def test_length_of_no_steps(op: str):
    check(*layer(op, direction="bidirectional", lengths=[0, 5, 2]))


@pytest.mark.parametrize("op", OPS)
def test_left_out(op: str):
    """No bias, no initial state; only the first output."""
    check(*layer(op, bias=False, initial=False, outputs=1))


@pytest.mark.parametrize("op", OPS)
def test_weights_given_at_run_time(op: str):
    check(*layer(op, known=False, direction="bidirectional"))


@pytest.mark.parametrize("op", OPS)
def test_clip(op: str):
    check(*layer(op, clip=0.4))


@pytest.mark.parametrize("linear_before_reset", [0, 1])
@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
def test_gru_linear_before_reset(linear_before_reset: int, direction: str):
    check(*layer("GRU", linear_before_reset=linear_before_reset, direction=direction))


@pytest.mark.parametrize("attributes", [{}, {"input_forget": 1}, {"clip": 0.5}, {"direction": "bidirectional"}])
def test_lstm_peepholes(attributes: dict[str, Any]):
    check(*layer("LSTM", peepholes=True, **attributes))


def test_lstm_coupled_gates():
    check(*layer("LSTM", input_forget=1))


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(
    "name",
    "Affine Relu LeakyRelu ThresholdedRelu ScaledTanh HardSigmoid Elu Softsign Softplus Tanh Sigmoid".split(),
)
def test_activations(op: str, name: str):
    """Each function as f, with parameters of its own."""
    others = {"RNN": [], "GRU": ["Tanh"], "LSTM": ["Tanh", "Softsign"]}[op]
    parameters: dict[str, list[float]] = {}
    if name in ("Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu"):
        parameters["activation_alpha"] = [0.3]
    if name in ("Affine", "ScaledTanh", "HardSigmoid"):
        parameters["activation_beta"] = [0.6]
    check(*layer(op, activations=[name, *others], **parameters), tolerance=1e-5)


def test_activation_defaults():
    check(*layer("LSTM", activations=["HardSigmoid", "LeakyRelu", "Elu"]))


def test_activations_of_two_directions():
    check(
        *layer(
            "GRU",
            direction="bidirectional",
            activations=["HardSigmoid", "tanh", "SIGMOID", "LeakyRelu"],
            activation_alpha=[0.25, 0.1],
            activation_beta=[0.4],
        )
    )


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"hidden_size": 7}, "attribute 'hidden_size' is 7"),
        ({"direction": "sideways"}, "attribute 'direction' is 'sideways'"),
        ({"activations": ["Tanh"]}, "must name 3 for each direction"),
        ({"activations": ["Tanh", "Tanh", "Cosh"]}, "'Cosh' is not one of"),
        ({"activation_alpha": [1.0, 2.0]}, "has 2 values, but 0 of the activations use one"),
    ],
)
def test_refused(attributes: dict[str, Any], message: str):
    (found,) = problems(layer("LSTM", **attributes)[0])
    assert message in found
    assert "node 'layer' LSTM (opset 17)" in found
