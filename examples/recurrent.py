"""The recurrent models beside this file with seeded weights: `recurrent.py lstm` runs one, compiled and interpreted.

The texts take their weights as parameters of `@main`. Here they are made from a seed and bound: what is left to give
at a run are the inputs. With `-o FILE.mlir` the program is written instead, its weights to FILE.safetensors.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr
from xdsl.rewriter import InsertPoint, Rewriter

from relay_mlir.dialects.relay.core import FuncOp, WeightOp
from relay_mlir.dialects.relay.types import numpy_dtype
from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.frontends.relay_text.reader import read_relay
from relay_mlir.lowering.ir_files import main_function
from relay_mlir.runtime.compiler import Options, compile_module, executable, make_context
from relay_mlir.runtime.executable import Executable
from relay_mlir.runtime.interpreter import interpret
from relay_mlir.runtime.values import ADT, elements, list_of

HERE = Path(__file__).resolve().parent
Arrays = dict[str, np.ndarray]
Random = np.random.Generator

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,;'-$"
"""What the letters of char_rnn stand for; the last is the end."""


def normal(random: Random, *shape: int) -> np.ndarray:
    """An array of the standard normal distribution."""
    return random.standard_normal(shape, np.float32)


def sequence(random: Random) -> dict[str, Any]:
    """Five steps and a first hidden state, for rnn and gru."""
    return {"x": normal(random, 5, 1, 128), "h": normal(random, 1, 128)}


def sequence_and_cell(random: Random) -> dict[str, Any]:
    """Five steps and a first state, for lstm."""
    return {**sequence(random), "c": normal(random, 1, 128)}


def name_start(hidden: int) -> Callable[[Random], dict[str, Any]]:
    """A category, a first letter and a first hidden state of zeros, for char_rnn."""

    def make(random: Random) -> dict[str, Any]:
        category = np.eye(18, dtype=np.float32)[random.integers(18)][np.newaxis]
        letter = np.array(LETTERS.index("R"), np.int32)
        return {"category": category, "letter": letter, "h": np.zeros((1, hidden), np.float32)}

    return make


def tree(random: Random, words: int = 19) -> dict[str, Any]:
    """A tree with as many nodes as a usual sentence has words; every node but the first hangs below one before it."""
    below: list[list[int]] = [[] for _ in range(words)]
    for node in range(1, words):
        below[random.integers(max(0, node - 4), node)].append(node)
    made: list[ADT] = []
    for node in reversed(range(words)):
        subtrees = [made[words - 1 - child] for child in below[node]]
        made.append(ADT("Rose", (normal(random, 1, 300), list_of(subtrees))))
    return {"tree": made[-1]}


@dataclasses.dataclass(frozen=True)
class Model:
    """A model: how its inputs are made, and the size of its weights, as a standard deviation."""

    inputs: Callable[[Random], dict[str, Any]]
    deviation: float


MODELS = {
    "rnn": Model(sequence, 0.06),
    "gru": Model(sequence, 0.06),
    "lstm": Model(sequence_and_cell, 0.06),
    "char_rnn": Model(name_start(16), 0.6),
    "char_rnn_128": Model(name_start(128), 0.3),
    "tree_lstm": Model(tree, 0.06),
}
"""The models by name; `NAME.relay` is the text."""


def inputs_of(name: str, seed: int = 0) -> dict[str, Any]:
    """Inputs of a model by name."""
    return MODELS[name].inputs(np.random.default_rng([seed, 1]))


def weights_of(name: str, main: FuncOp, seed: int = 0) -> Arrays:
    """The weights of a model by name: every parameter of `@main` that is no input."""
    random = np.random.default_rng([seed, 2])
    given = inputs_of(name)
    weights: Arrays = {}
    for key, argument in zip(main.names("input_names"), main.args, strict=True):
        if key not in given:
            type_ = cast(Any, argument.type)
            array = normal(random, *type_.get_shape()) * MODELS[name].deviation
            weights[key] = array.astype(numpy_dtype(type_.element_type))
    if "b_s" in weights:
        weights["b_s"][-1] -= 8  # the end of a name is unlikely, so that names have their full length
    return weights


def bind(module: ModuleOp, ctx: RelayContext, weights: Arrays) -> None:
    """Makes parameters of `@main` weights of the program, whose other functions become private."""
    main = cast(FuncOp, main_function(module))
    names = list(main.names("input_names"))
    for key, array in weights.items():
        argument = main.args[names.index(key)]
        weight = WeightOp(key, argument.type)
        Rewriter.insert_op(weight, InsertPoint.at_start(main.block))
        argument.replace_all_uses_with(weight.result)
        main.block.erase_arg(argument)
        names.remove(key)
        ctx.weights.add(key, array)
    inputs = [argument.type for argument in main.args]
    main.properties["function_type"] = FunctionType.from_lists(inputs, list(main.function_type.outputs))
    main.attributes["input_names"] = ArrayAttr([StringAttr(name) for name in names])
    for op in module.ops:
        if isinstance(op, FuncOp) and op is not main:
            op.properties["sym_visibility"] = StringAttr("private")


def read(name: str, seed: int = 0) -> tuple[ModuleOp, RelayContext, Arrays]:
    """The program of a model, its weights bound, and these weights."""
    ctx = make_context()
    module = read_relay(HERE / f"{name}.relay", ctx)
    weights = weights_of(name, cast(FuncOp, main_function(module)), seed)
    bind(module, ctx, weights)
    return module, ctx, weights


def compiled(name: str, seed: int = 0) -> Executable:
    """The model as native code."""
    module, ctx, _ = read(name, seed)
    return executable(compile_module(module, ctx, Options()))


def interpreted(name: str, seed: int = 0) -> Callable[..., Any]:
    """The model, run by the interpreter."""
    module, _, weights = read(name, seed)
    return interpret(module, weights=weights)


def leaves(value: Any) -> list[np.ndarray]:
    """The tensors of a value, in order."""
    if isinstance(value, ADT):
        return [leaf for element in elements(value) for leaf in leaves(element)]
    if isinstance(value, tuple):
        return [leaf for field in cast("tuple[Any, ...]", value) for leaf in leaves(field)]
    return [value]


def shown(name: str, value: Any) -> str:
    """A result as a person reads it."""
    if name.startswith("char_rnn"):
        return "".join(LETTERS[int(leaf)] for leaf in leaves(value))
    first = leaves(value)[0]
    return f"{first.dtype}{list(first.shape)} {np.array2string(first.reshape(-1)[:4], precision=6)[:-1]} ..."


def milliseconds(run: Callable[[], object], times: int) -> float:
    """The median time of a run, after one that is not counted."""
    run()
    kept: list[float] = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        kept.append(time.perf_counter() - start)
    return statistics.median(kept) * 1e3


def show(name: str, seed: int) -> bool:
    """Runs a model both ways and prints both results; says whether they agree."""
    inputs = inputs_of(name, seed)
    native, slow = compiled(name, seed), interpreted(name, seed)
    values = list(native.run(inputs).values())
    value, expected = values[0] if len(values) == 1 else tuple(values), slow(**inputs)
    agree = len(leaves(value)) == len(leaves(expected)) and all(
        np.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(leaves(value), leaves(expected), strict=True)
    )
    print(f"{name} native       {milliseconds(lambda: native.run(inputs), 20):9.3f} ms   {shown(name, value)}")
    print(f"{name} interpreter  {milliseconds(lambda: slow(**inputs), 3):9.3f} ms   {shown(name, expected)}")
    print(f"{name} {'agree' if agree else 'DIFFER'}; objects left: {native.live_objects()}")
    return agree and native.live_objects() == 0


def main() -> int:
    """The entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=[*MODELS, "all"])
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the inputs")
    parser.add_argument("-o", "--output", type=Path, help="write the program with its weights to this .mlir file")
    args = parser.parse_args()
    if args.output is None:
        names = list(MODELS) if args.name == "all" else [args.name]
        return 0 if all([show(name, args.seed) for name in names]) else 1
    if args.name == "all" or args.output.suffix != ".mlir":
        parser.error("-o needs one model and a file that ends in .mlir")
    from relay_mlir.lowering.ir_files import write_module

    module, ctx, _ = read(args.name, args.seed)
    write_module(ctx, module, args.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
