"""Relay programs for tests of passes: parsing, running passes on them, and comparing what they compute."""

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import Builtin, ModuleOp, UnknownLoc
from xdsl.ir import Block, Operation, SSAValue
from xdsl.parser import Parser

from relay_mlir.dialects.relay import Relay
from relay_mlir.dialects.relay.core import FuncOp
from relay_mlir.dialects.relay.types import numpy_dtype
from relay_mlir.dialects.relay.weights import RelayContext, WeightStore
from relay_mlir.lowering.pipeline import pass_class
from relay_mlir.runtime.interpreter import evaluate


def context(weights: Mapping[str, np.ndarray] | None = None) -> RelayContext:
    """A context with the relay dialect and these weights."""
    ctx = RelayContext()
    ctx.load_dialect(Builtin)
    ctx.load_dialect(Relay)
    for key, value in (weights or {}).items():
        ctx.weights.add(key, value)
    return ctx


def parse(text: str, ctx: RelayContext | None = None) -> ModuleOp:
    """The verified module of a text."""
    module = Parser(ctx or context(), text).parse_module()
    module.verify()
    return module


def check(module: ModuleOp) -> None:
    """Verifies the module, and that every value is defined before it is used."""
    module.verify()
    for func in module.ops:
        assert isinstance(func, FuncOp)
        _check_block(func.block, set())


def _check_block(block: Block, outer: set[SSAValue]) -> None:
    defined = outer | set(block.args)
    for op in block.ops:
        missing = [operand for operand in op.operands if operand not in defined]
        assert not missing, f"{op} uses a value before it is defined"
        for region in op.regions:
            _check_block(region.block, defined)
        defined.update(op.results)


def run(module: ModuleOp, ctx: RelayContext, *passes: str) -> ModuleOp:
    """Runs passes in place, checking the module after each; returns it."""
    for name in passes:
        pass_class(name)().apply(ctx, module)
        check(module)
    return module


def random_inputs(module: ModuleOp, seed: int = 0) -> list[np.ndarray]:
    """Arguments for @main."""
    rng = np.random.default_rng(seed)
    main = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    return [np.asarray(rng.normal(size=arg.type.get_shape()), numpy_dtype(arg.type.element_type)) for arg in main.args]


def assert_same_meaning(
    module: ModuleOp, ctx: RelayContext, *passes: str, rtol: float = 1e-5, atol: float = 1e-5
) -> ModuleOp:
    """Runs the passes on a copy, which must compute what the module computes; returns the copy."""
    args = random_inputs(module)
    store = WeightStore({key: ctx.weights[key] for key in ctx.weights})
    expected = evaluate(module, store, args)
    after = run(module.clone(), ctx, *passes)
    found = evaluate(after, ctx.weights, args)
    assert len(found) == len(expected)
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)
    return after


def ops_of(module: ModuleOp, func: str = "main") -> list[str]:
    """The names of the operations of a function, without `relay.`, constants and the return."""
    found = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == func)
    names = [op.name.removeprefix("relay.") for op in found.block.ops]
    return [name for name in names if name not in ("weight", "constant", "return")]


def unlocated(ops: Sequence[Operation]) -> list[str]:
    """The operators among these operations and inside them that have lost their location."""
    return [op.name for top in ops for op in top.walk() if isinstance(op.location, UnknownLoc)]
