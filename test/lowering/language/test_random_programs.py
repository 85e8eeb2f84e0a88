"""Passes on random programs of the whole language: they keep types and results; broken programs give located errors."""

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from relay_mlir.lowering.diagnostics import op_of
from relay_mlir.lowering.pass_manager import PassError, run_passes
from relay_mlir.lowering.pass_spec import parse_passes
from relay_mlir.lowering.pipeline import pass_class
from relay_mlir.lowering.verifier import verify_module
from relay_mlir.runtime.compiler import make_context
from relay_mlir.runtime.interpreter import interpret
from relay_mlir.runtime.values import same
from test.support.program_changes import break_program, erase_types
from test.support.random_programs import RandomProgram, close, random_program

SEEDS = range(12)
PASSES = [
    "relay-infer-type",
    "remove-unused-functions",
    "eta-expand",
    "eta-expand{globals=true}",
    "inline",
    "lambda-lift",
    "to-a-normal-form",
    "to-basic-block-normal-form",
    "to-graph-normal-form",
    "to-cps",
    "to-cps,un-cps",
    "defunctionalization",
    "to-graph-normal-form,to-basic-block-normal-form,to-a-normal-form,inline,lambda-lift",
]


def assert_kept(program: RandomProgram, specs: str) -> None:
    """Runs passes, by name with options, on a copy; its types must be inferred as they are, its result the same."""
    expected = interpret(program.module)(*program.args)
    module = program.module.clone()
    run_passes(make_context(), module, parse_passes(specs))
    found = interpret(module)(*program.args)
    assert same(found, expected), f"seed {program.seed}: {found} instead of {expected}"
    before = str(module)
    run_passes(make_context(), module, [pass_class("relay-infer-type")()])
    assert str(module) == before


@pytest.mark.parametrize("spec", PASSES)
def test_results_are_kept(spec: str):
    for seed in SEEDS:
        assert_kept(random_program(seed), spec)


def test_erased_types_are_found_again():
    for seed in SEEDS:
        program = random_program(seed)
        erased = program.module.clone()
        erase_types(erased)
        assert str(erased) != str(program.module)
        run_passes(make_context(), erased, [pass_class("relay-infer-type")()])
        assert str(erased) == str(program.module)


def test_programs_are_the_same_each_time():
    assert str(random_program(3).module) == str(random_program(3).module)
    assert str(random_program(3).module) != str(random_program(4).module)


def refused_at(module: ModuleOp) -> Operation | None:
    """The operation that is wrong, None for a program that is well-typed; what is no diagnostic is raised."""
    try:
        verify_module(module)
        run_passes(make_context(), module, [pass_class("relay-infer-type")()])
    except PassError as error:
        if error.internal or error.op is None:
            raise
        return error.op
    except VerifyException as error:
        if op_of(error) is None:
            raise
        return op_of(error)
    return None


def test_broken_programs_give_located_errors():
    refused = 0
    for seed in range(60):
        module = random_program(seed % 6).module
        break_program(module, seed)
        refused += refused_at(module) is not None
    assert refused > 40


def test_results_are_compared_with_a_tolerance():
    result = interpret(random_program(0).module)(*random_program(0).args)
    assert close(result, result)
    assert not close(result, (result,))


def test_nothing_is_left_of_functions_as_values():
    for seed in SEEDS:
        module = random_program(seed).module
        run_passes(make_context(), module, parse_passes("defunctionalization"))
        text = str(module)
        assert not any(word in text for word in ("relay.fn", "relay.apply", "relay.global", "type_var<A>) ->"))


def test_calls_of_cps_take_no_frames(monkeypatch: pytest.MonkeyPatch):
    for seed in SEEDS:
        program = random_program(seed)
        expected = interpret(program.module)(*program.args)
        module = program.module.clone()
        run_passes(make_context(), module, parse_passes("to-cps"))
        with monkeypatch.context() as patch:
            patch.setattr("relay_mlir.runtime.interpreter.MAX_DEPTH", 1)
            assert same(interpret(module)(*program.args), expected)
