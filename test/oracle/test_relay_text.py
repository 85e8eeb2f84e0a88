"""TVM 0.19 reads what this package prints, with the same types and values, and the other way round.

`make oracle` runs this, with RELAY_ORACLE naming a Python that has TVM; otherwise it is skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from relay_mlir.frontends.relay_text.printer import print_relay
from relay_mlir.frontends.relay_text.std import std_path
from test.frontends.relay_text.support import HEADER, LIST, make_context, read

PYTHON = os.environ.get("RELAY_ORACLE")
pytestmark = pytest.mark.skipif(not PYTHON, reason="RELAY_ORACLE does not name a Python that has TVM")

X = "%x: Tensor[(2, 4), float32]"
IMAGE = "%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32], %v: Tensor[(4), float32]"

CALLS = [
    *["nn.relu(%x)", "exp(%x)", "log(%x)", "sqrt(%x)", "rsqrt(%x)", "tanh(%x)", "sigmoid(%x)", "erf(%x)", "floor(%x)"],
    *["%x + %x * 2f - %x / 3f", "%x < 1f", "%x == %x", "maximum(%x, 1f)", "power(%x, 2f)", "negative(%x)", "abs(%x)"],
    *["sum(%x)", "sum(%x, axis=[1])", "mean(%x, axis=[0], keepdims=True)", "max(%x, axis=[0], exclude=True)"],
    *["argmax(%x, axis=[1])", "argmin(%x)", 'cast(%x, dtype="int64")', "clip(%x, a_min=1f, a_max=1.5f)"],
    *["reshape(%x, newshape=[4, -1])", "transpose(%x, axes=[1, 0])", "expand_dims(%x, axis=1, num_newaxis=2)"],
    *["squeeze(reshape(%x, newshape=[2, 1, 4]), axis=[1])", "tile(%x, reps=[2, 1])", "repeat(%x, repeats=2, axis=1)"],
    *["concatenate((%x, %x), axis=1)", "stack((%x, %x, %x), axis=-1)", "split(%x, indices_or_sections=[1, 3], axis=1)"],
    "strided_slice(%x, begin=[0, 1], end=[2, 4], strides=[1, 2], axes=None)",
    "strided_slice(%x, begin=[1], end=[3], strides=[1], axes=[1])",
    'take(%x, 1, axis=0, mode="clip")',
    "where(%x < 1f, %x, 0f * %x)",
    "nn.softmax(%x)",
    "nn.log_softmax(%x, axis=0)",
    "nn.dense(%x, %x, units=None)",
    "nn.batch_flatten(%x)",
    "nn.leaky_relu(%x, alpha=0.1f)",
    "nn.pad(%x, 0f, pad_width=[[1, 1], [0, 2]])",
    'topk(%x, k=2, dtype="int32")',
    'topk(%x, k=1, ret_type="values", dtype="int64")',
    'argsort(%x, axis=1, dtype="int32")',
    'cumsum(%x, axis=1, exclusive=True, attrs_type_key="relay.attrs.ScanopAttrs")',
    'trilu(%x, 0, upper=False, attrs_type_key="relay.attrs.TriluAttrs")',
    'one_hot(cast(%x, dtype="int32"), 1f, 0f, depth=3, dtype="float32")',
    'zeros(shape=[2, 3], dtype="float32")',
    'full(3, shape=[2], dtype="int32")',
    "broadcast_to(%x, shape=[3, 2, 4])",
    "reverse(%x, axis=1)",
    'layout_transform(reshape(%x, newshape=[1, 2, 2, 2]), src_layout="NCHW", dst_layout="NHWC")',
    'image.resize2d(reshape(%x, newshape=[1, 1, 2, 4]), size=[4, 8], roi=[0f, 0f, 0f, 0f], method="linear")',
]
IMAGE_CALLS = [
    "nn.conv2d(%x, %w, padding=[1, 1], kernel_size=[3, 3], channels=4)",
    "nn.conv2d_transpose(%x, %w, strides=[2, 2], padding=[1, 1], output_padding=[1, 1], channels=4)",
    "nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2])",
    "nn.avg_pool2d(%x, pool_size=[3, 3], padding=[1, 1], count_include_pad=True)",
    "nn.global_avg_pool2d(%x)",
    "nn.adaptive_avg_pool2d(%x, output_size=[2, 2])",
    "nn.bias_add(%x, %v)",
    "(nn.batch_norm(%x, %v, %v, %v, %v)).0",
    "(nn.batch_norm(%x, %v, %v, %v, %v, epsilon=0.1f, scale=False)).0",
    "nn.prelu(%x, %v)",
    "nn.lrn(%x)",
    "nn.depth_to_space(%x, block_size=2)",
]
PROGRAMS = [
    *(f"def @main({X}) {{ {call} }}" for call in CALLS),
    *(f"def @main({IMAGE}) {{ {call} }}" for call in IMAGE_CALLS),
    f"def @main({X}, %c: bool) {{ let %y = %x + 1f; if (%c) {{ %y }} else {{ %x * %y }} }}",
    f"def @main({X}) {{ let %f = fn (%y: Tensor[(2, 4), float32]) {{ %x + %y }}; %f(%f(%x)) }}",
    "def @main(%n: int32) { let %g = fn (%n: int32) -> int32 { if (%n <= 0) { 0 } else { %n + %g(%n - 1) } }; %g(%n) }",
    "def @f[A](%x: A) -> A { %x } def @main(%x: float32) { (@f(%x), @f((1, %x))) }",
    f"def @main({X}) {{ %0 = fn (%y: Tensor[(2, 4), float32], Primitive=1) {{ exp(%y) }}; %0(%x) }}",
    LIST
    + "def @main(%x: int32) { match (Cons(%x, Nil)) { Cons(%y, Cons(_, _)) => 0, Cons(%y, Nil) => %y, Nil => 2 } }",
    "def @main(%x: float32) { %0 = ref(%x); ref_write(%0, 2f); ref_read(%0) }",
    "def @main() { (1, 2i64, 3i16, 1.5f, 0.1f64, 3f16, True, inff, -0f) }",
]


def _compared(pairs: list[tuple[str, str]]) -> list[dict[str, object]]:
    """What TVM says of pairs of texts."""
    assert PYTHON is not None
    side = Path(__file__).with_name("tvm_side.py")
    done = subprocess.run([PYTHON, str(side)], input=json.dumps(pairs), capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("ANSWERS ")]
    assert lines, done.stderr[-2000:]
    return json.loads(lines[0].removeprefix("ANSWERS "))


def _content(module: ModuleOp) -> list[tuple[str, str]]:
    """The operations of a module with their types, in an order of their own: TVM writes some of them elsewhere."""
    shown = ((op.name, str([result.type for result in op.results])) for op in module.walk())
    return sorted(shown)


def test_programs():
    modules, pairs = [], []
    for program in PROGRAMS:
        ctx = make_context()
        modules.append(read(HEADER + program, ctx))
        pairs.append((HEADER + program, print_relay(modules[-1], ctx.weights)))
    compared = 0
    for (original, printed), module, answer in zip(pairs, modules, _compared(pairs), strict=True):
        shown = f"{original}\n{printed}\n{answer.get('error')}"
        assert "error" not in answer, shown
        types = answer["types"]
        assert isinstance(types, list)
        assert types[0] == types[1], shown
        assert answer["same"] is not False, shown
        compared += answer["same"] is True
        text = answer["text"]
        assert isinstance(text, str)
        assert _content(module) == _content(read(text)), text
    assert compared > len(PROGRAMS) * 0.8


def test_standard_libraries():
    def text(*names: str) -> str:
        ctx = make_context()
        library = std_path(names[-1]).read_text(encoding="utf-8") + "\ndef @main() { () }"
        return print_relay(read(library, ctx, std=names[:-1]), ctx.weights)

    texts = [text("gradient"), text("prelude"), text("prelude", "nat")]
    assert [answer.get("error") for answer in _compared([(t, t) for t in texts])] == [None] * 3
