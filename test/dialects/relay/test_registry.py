"""Operators are imported when a program names them, and found however well operator_table.py knows them."""

import subprocess
import sys

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin

from relay_mlir.dialects.relay import OPERATORS, Relay, registry
from relay_mlir.dialects.relay.weights import RelayContext

PROGRAM = '''
import io, sys
from relay_mlir.tools.opt_main import run
from relay_mlir.tools.driver import Streams

text = b"""relay.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.nn.relu %x : tensor<f32>
  relay.return %0 : tensor<f32>
}"""
out = io.StringIO()
assert run(["-"], Streams(io.BytesIO(text), out, sys.stderr)) == 0
assert "relay.nn.relu %x : tensor<f32>" in out.getvalue()
package = "relay_mlir.dialects.relay."
for name in sys.modules:
    print(name.removeprefix(package) if name.startswith(package) else name)
'''


def test_a_tool_imports_what_the_program_uses():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    modules = set(done.stdout.split())
    families = {cls.__module__.rpartition(".")[2] for cls in OPERATORS.values()}
    assert OPERATORS["nn.relu"].__module__.rpartition(".")[2] in modules
    assert len(families & modules) < 5
    assert not modules & {"numpy", "ml_dtypes", "llvmlite", "onnx", "safetensors", "xdsl.dialects.linalg.ops"}


def test_operators_that_the_table_does_not_know(monkeypatch: pytest.MonkeyPatch):
    wanted = OPERATORS["nn.conv2d"]
    fresh = registry.Operators()
    monkeypatch.setattr(registry, "MODULES", {"nn.conv2d": "pool"})  # a table from before the operator moved
    assert "nn.conv2d" not in fresh  # its module has been imported already, and defines nothing anew
    fresh.define(wanted)
    assert fresh["nn.conv2d"] is wanted
    with pytest.raises(ValueError, match=r"nn\.conv2d is defined twice"):
        fresh.define(wanted)


def test_unknown_operators():
    assert "nn.no_such" not in OPERATORS
    assert OPERATORS.get("nn.no_such") is None
    with pytest.raises(KeyError):
        OPERATORS["nn.no_such"]


@pytest.mark.parametrize("kind", [Context, RelayContext])
@pytest.mark.parametrize("registered", [True, False])
def test_contexts_know_every_operation(kind: type[Context], registered: bool):
    ctx = kind()
    ctx.load_dialect(Builtin)
    if registered:
        ctx.register_dialect("relay", lambda: Relay)
    else:
        ctx.load_dialect(Relay)
    for op in Relay.operations:
        assert ctx.get_op(op.name) is op
        assert ctx.get_op(op.name.removeprefix("relay."), dialect_stack=["relay"]) is op
    assert ctx.get_optional_op("relay.no_such") is None
    assert {op.name for op in Relay.operations} <= {op.name for op in ctx.loaded_ops}
