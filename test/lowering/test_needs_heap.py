"""Which programs take the pipeline of the language."""

import pytest

from relay_mlir.lowering.needs_heap import has_holes, needs_heap
from test.support.relay_programs import parse

CALL = "relay.call @f(%x) : (tensor<f32>) -> tensor<f32>"
STRAIGHT = "relay.negative %x : tensor<f32>"


def program(body: str, main: str = CALL) -> str:
    return f"""
relay.func private @f(%x: tensor<f32>) -> tensor<f32> {{
  %y = {body}
  relay.return %y : tensor<f32>
}}
relay.func @main(%x: tensor<f32>) -> tensor<f32> {{
  %y = {main}
  relay.return %y : tensor<f32>
}}
"""


@pytest.mark.parametrize(("text", "needed"), [(program(STRAIGHT), False), (program(CALL), True)])
def test_functions_that_call_themselves(text: str, needed: bool):
    assert needs_heap(parse(text)) is needed


def test_references():
    text = program(STRAIGHT, "relay.ref_read %r : !relay.ref<tensor<f32>> -> tensor<f32>")
    create = "  %r = relay.ref_create %x : tensor<f32> -> !relay.ref<tensor<f32>>\n"
    text = text.replace("  %y = relay.ref_read", f"{create}  %y = relay.ref_read")
    assert needs_heap(parse(text))


def test_holes():
    assert not has_holes(parse(program(STRAIGHT)))
    text = "relay.func @main(%x: !relay.incomplete) -> tensor<f32> {\n  relay.return %x : !relay.incomplete\n}"
    assert has_holes(parse(text))
