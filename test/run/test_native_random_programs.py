"""Random programs of the whole relay language: native code gives what the interpreter gives, and leaves no object."""

import pytest

from relay_mlir.runtime.compiler import Options, compile_module, executable, make_context
from relay_mlir.runtime.interpreter import interpret
from relay_mlir.runtime.values import show
from test.support.random_programs import close, random_program


@pytest.mark.parametrize("seed", range(100, 112))
def test_native_code_agrees_with_the_interpreter(seed: int):
    program = random_program(seed)
    expected = interpret(program.module)(*program.args)
    compiled = executable(compile_module(program.module.clone(), make_context(), Options()))
    outputs = compiled.run({f"x{i}": value for i, value in enumerate(program.args)})
    found = tuple(outputs.values()) if len(outputs) != 1 else outputs["y0"]
    assert close(found, expected), f"{show(found)} instead of {show(expected)}"
    assert compiled.live_objects() == 0
