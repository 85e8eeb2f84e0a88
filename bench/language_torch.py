"""The recurrent models of examples/ in PyTorch as one writes them there: eager modules and Python loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from relay_mlir.runtime.values import ADT, elements

Arrays = dict[str, np.ndarray]
Tensor = torch.Tensor
LETTERS, LONGEST = 59, 20
RECURRENT = {"rnn": torch.nn.RNN, "gru": torch.nn.GRU, "lstm": torch.nn.LSTM}


def recurrent(name: str, inputs: Arrays, weights: Arrays) -> Callable[[], Any]:
    """torch.nn's own layer, which runs all steps in one call."""
    layer = RECURRENT[name](128, 128)
    names = {"weight_ih_l0": "w", "weight_hh_l0": "u", "bias_ih_l0": "b", "bias_hh_l0": "d"}
    layer.load_state_dict({key: torch.from_numpy(weights[ours]) for key, ours in names.items()})
    x, h = (torch.from_numpy(inputs[key]) for key in "xh")
    state = (h[None], torch.from_numpy(inputs["c"])[None]) if name == "lstm" else h[None]
    return lambda: layer(x, state)[0][-1].numpy()


def linear(weight: np.ndarray, bias: np.ndarray | None) -> torch.nn.Linear:
    """A torch.nn.Linear with these weights."""
    layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    layer.load_state_dict(
        {"weight": torch.from_numpy(weight)} | ({} if bias is None else {"bias": torch.from_numpy(bias)})
    )
    return layer


def char_rnn(inputs: Arrays, weights: Arrays) -> Callable[[], Any]:
    """The generator: a loop in Python that feeds each letter back."""
    to_hidden, to_output, to_scores = (linear(weights[f"w_{key}"], weights[f"b_{key}"]) for key in "hos")
    category, first = torch.from_numpy(inputs["category"]), torch.from_numpy(inputs["h"])
    start = int(inputs["letter"])

    def run() -> tuple[np.ndarray, ...]:
        letters, h = [start], first
        while len(letters) < LONGEST:
            letter = torch.zeros(1, LETTERS)
            letter[0, letters[-1]] = 1
            both = torch.cat((category, letter, h), 1)
            h = to_hidden(both)
            scores = torch.log_softmax(to_scores(torch.cat((h, to_output(both)), 1)), 1)
            picked = int(scores.argmax())
            if picked == LETTERS - 1:
                break
            letters.append(picked)
        return tuple(np.array(letter, np.int32) for letter in letters)

    return run


class Node:
    """A node of a tree of words."""

    def __init__(self, value: ADT):
        word, subtrees = value.fields
        self.word = torch.from_numpy(word)
        self.subtrees = [Node(subtree) for subtree in elements(subtrees)]


def tree_lstm(inputs: dict[str, Any], weights: Arrays) -> Callable[[], Any]:
    """The child-sum TreeLSTM; the forget gates of all subtrees of a node are one product."""
    from_word, from_sum = linear(weights["w"], weights["b"]), linear(weights["u"], None)
    forget_word, forget_state = linear(weights["v"], weights["d"]), linear(weights["r"], None)
    tree = Node(inputs["tree"])
    none = torch.zeros(1, 150)

    def state(node: Node) -> tuple[Tensor, Tensor]:
        below = [state(subtree) for subtree in node.subtrees]
        states = torch.cat([h for h, _ in below]) if below else none
        i, o, u = (from_word(node.word) + from_sum(states.sum(0, keepdim=True))).chunk(3, 1)
        c = torch.sigmoid(i) * torch.tanh(u)
        if below:
            forget = torch.sigmoid(forget_word(node.word) + forget_state(states))
            c = c + (forget * torch.cat([c for _, c in below])).sum(0, keepdim=True)
        return torch.sigmoid(o) * torch.tanh(c), c

    return lambda: tuple(part.numpy() for part in state(tree))


def program(name: str, inputs: dict[str, Any], weights: Arrays) -> Callable[[], Any]:
    """A model as a function without arguments, on one thread and without gradients."""
    torch.set_num_threads(1)
    with torch.inference_mode():
        if name in RECURRENT:
            run = recurrent(name, inputs, weights)
        else:
            run = tree_lstm(inputs, weights) if name == "tree_lstm" else char_rnn(inputs, weights)

    def without_gradients() -> Any:
        with torch.inference_mode():
            return run()

    return without_gradients
