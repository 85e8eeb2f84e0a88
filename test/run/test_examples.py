"""The recurrent models of examples/: native code and the interpreter against numpy, and no object left behind."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relay_mlir.dialects.errors import InputError
from relay_mlir.runtime.compiler import compile as compile_model
from relay_mlir.runtime.interpreter import interpret
from relay_mlir.runtime.value_executable import ValueExecutable
from relay_mlir.runtime.values import ADT, elements, list_of
from relay_mlir.tools import relay_run

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

import recurrent

Arrays = dict[str, np.ndarray]


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def double(value: Any) -> Any:
    """An array in float64, anything else as it is."""
    return value.astype(np.float64) if isinstance(value, np.ndarray) and value.dtype == np.float32 else value


def rnn(inputs: Arrays, weights: Arrays) -> np.ndarray:
    """A vector loop over time."""
    h = inputs["h"][0]
    for x in inputs["x"][:, 0]:
        h = np.tanh(weights["w"] @ x + weights["u"] @ h + weights["b"] + weights["d"])
    return h[np.newaxis]


def gru(inputs: Arrays, weights: Arrays) -> np.ndarray:
    """The gates from slices of the weights, one product each."""
    w, u, b, d = (np.split(weights[key], 3) for key in "wubd")
    h = inputs["h"][0]
    for x in inputs["x"][:, 0]:
        r = sigmoid(w[0] @ x + b[0] + u[0] @ h + d[0])
        z = sigmoid(w[1] @ x + b[1] + u[1] @ h + d[1])
        n = np.tanh(w[2] @ x + b[2] + r * (u[2] @ h + d[2]))
        h = (1 - z) * n + z * h
    return h[np.newaxis]


def lstm(inputs: Arrays, weights: Arrays) -> np.ndarray:
    """The gates from slices of the weights, one product each."""
    gates = list(zip(*(np.split(weights[key], 4) for key in "wubd"), strict=True))
    h, c = inputs["h"][0], inputs["c"][0]
    for x in inputs["x"][:, 0]:
        i, f, g, o = (w @ x + u @ h + b + d for w, u, b, d in gates)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    return h[np.newaxis]


def char_rnn(inputs: Arrays, weights: Arrays) -> list[np.ndarray]:
    """A loop that stops at the end letter or after 20 letters."""
    letter, h = int(inputs["letter"]), inputs["h"][0]
    letters = [letter]
    while len(letters) < 20:
        x = np.concatenate([inputs["category"][0], np.arange(59) == letter, h])
        h = weights["w_h"] @ x + weights["b_h"]
        scores = weights["w_s"] @ np.concatenate([h, weights["w_o"] @ x + weights["b_o"]]) + weights["b_s"]
        letter = int(scores.argmax())
        if letter == 58:
            break
        letters.append(letter)
    return [np.array(letter, np.int32) for letter in letters]


def tree_lstm(inputs: Any, weights: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """A recursive function on the tree."""

    def state(node: ADT) -> tuple[np.ndarray, np.ndarray]:
        x = node.fields[0][0].astype(np.float64)
        below = [state(child) for child in elements(node.fields[1])]
        h = sum((h for h, _ in below), np.zeros(150))
        i, o, u = np.split(weights["w"] @ x + weights["b"] + weights["u"] @ h, 3)
        f = weights["v"] @ x + weights["d"]
        c = sigmoid(i) * np.tanh(u) + sum(sigmoid(f + weights["r"] @ h_k) * c_k for h_k, c_k in below)
        return sigmoid(o) * np.tanh(c), c

    h, c = state(inputs["tree"])
    return h[np.newaxis], c[np.newaxis]


ORACLES = {
    "rnn": rnn,
    "gru": gru,
    "lstm": lstm,
    "char_rnn": char_rnn,
    "char_rnn_128": char_rnn,
    "tree_lstm": tree_lstm,
}


def expected(name: str, inputs: dict[str, Any], weights: Arrays) -> list[np.ndarray]:
    """The tensors of the result, by numpy in float64."""
    wide = {key: double(value) for key, value in inputs.items()}, {key: double(value) for key, value in weights.items()}
    result: Any = ORACLES[name](*wide)
    return list(result) if isinstance(result, list | tuple) else [result]


def check(found: Any, wanted: list[np.ndarray]) -> None:
    """The tensors of a value are these: integers exactly, floats to what float32 gives."""
    tensors = recurrent.leaves(found)
    assert len(tensors) == len(wanted)
    for a, b in zip(tensors, wanted, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def only(outputs: dict[str, Any]) -> Any:
    """The value of a run."""
    values = list(outputs.values())
    return values[0] if len(values) == 1 else tuple(values)


@pytest.mark.parametrize("name", list(recurrent.MODELS))
def test_native_interpreter_and_numpy_agree(name: str):
    _, _, weights = recurrent.read(name)
    native, slow = recurrent.compiled(name), recurrent.interpreted(name)
    for seed in range(2):
        inputs = recurrent.inputs_of(name, seed)
        wanted = expected(name, inputs, weights)
        check(slow(**inputs), wanted)
        check(only(native.run(inputs)), wanted)
        assert native.live_objects() == 0
    assert native.unreleased_objects() == 0


def test_char_rnn_stops_at_the_end_letter():
    module, ctx, weights = recurrent.read("char_rnn")
    weights["b_s"][-1] += 1000  # the array of the program
    found = interpret(module, weights=ctx.weights)(**recurrent.inputs_of("char_rnn"))
    native = recurrent.executable(recurrent.compile_module(module, ctx, recurrent.Options()))
    start = [np.array(recurrent.LETTERS.index("R"), np.int32)]
    check(found, start)
    check(only(native.run(recurrent.inputs_of("char_rnn"))), start)
    assert native.live_objects() == 0


def test_tree_lstm_of_other_trees():
    _, _, weights = recurrent.read("tree_lstm")
    native = recurrent.compiled("tree_lstm")
    random = np.random.default_rng(5)

    def leaf() -> ADT:
        return ADT("Rose", (recurrent.normal(random, 1, 300), list_of([])))

    chain = leaf()
    for _ in range(40):
        chain = ADT("Rose", (recurrent.normal(random, 1, 300), list_of([chain])))
    wide = ADT("Rose", (recurrent.normal(random, 1, 300), list_of([leaf() for _ in range(30)])))
    for tree in (leaf(), chain, wide):
        check(only(native.run({"tree": tree})), expected("tree_lstm", {"tree": tree}, weights))
        assert native.live_objects() == 0


def test_inputs_that_do_not_fit_are_refused():
    native = recurrent.compiled("tree_lstm")
    bad = ADT("Rose", (np.zeros((1, 299), np.float32), list_of([])))
    with pytest.raises(InputError, match=r"expected shape .*300.*299"):
        native.run({"tree": bad})
    assert native.live_objects() == 0


@pytest.mark.parametrize("name", ["lstm", "char_rnn"])
def test_the_text_alone_takes_weights_as_inputs(name: str):
    _, _, weights = recurrent.read(name)
    given = {**recurrent.inputs_of(name), **weights}
    path = recurrent.HERE / f"{name}.relay"
    wanted = expected(name, recurrent.inputs_of(name), weights)
    check(interpret(path)(**given), wanted)
    native = compile_model(path)
    check(only(native.run(given)), wanted)
    assert native.live_objects() == 0


def test_a_written_program_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "gru.mlir"
    monkeypatch.setattr(sys, "argv", ["recurrent.py", "gru", "-o", str(path)])
    assert recurrent.main() == 0
    _, _, weights = recurrent.read("gru")
    inputs = recurrent.inputs_of("gru")
    check(only(compile_model(path).run(inputs)), expected("gru", inputs, weights))


def test_show_prints_both_results(capsys: pytest.CaptureFixture[str]):
    assert recurrent.show("rnn", 3)
    assert "rnn agree; objects left: 0" in capsys.readouterr().out


def test_relay_run_takes_texts(capsys: pytest.CaptureFixture[str]):
    path = str(recurrent.HERE / "lstm.relay")
    assert relay_run.main([path, "--check", "reference"]) == 0
    assert "check: agrees with the interpreter" in capsys.readouterr().out


def test_relay_run_says_what_it_cannot_give(capsys: pytest.CaptureFixture[str]):
    assert relay_run.main([str(recurrent.HERE / "char_rnn.relay")]) == 1
    assert "@main takes or gives more than tensors" in capsys.readouterr().err


def test_prepared_inputs_can_be_run_again():
    native = recurrent.compiled("tree_lstm")
    assert isinstance(native, ValueExecutable)
    inputs = recurrent.inputs_of("tree_lstm")
    run = native.prepared(inputs)
    wanted = recurrent.leaves(only(native.run(inputs)))
    for _ in range(3):
        for a, b in zip(recurrent.leaves(only(run())), wanted, strict=True):
            np.testing.assert_array_equal(a, b)
    assert native.live_objects() == 0
