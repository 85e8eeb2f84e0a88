"""plan-memory: no two buffers that are alive together overlap, and the planned program computes the same."""

import random
from itertools import pairwise

import numpy as np
import pytest
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.lowering.bufferize import BufferizePass
from relay_mlir.lowering.memory_layout import Interval, aligned, layout
from relay_mlir.lowering.plan_memory import PlanMemoryPass
from test.support import mlir_oracle

T = "tensor<4x6xf32>"


def context() -> RelayContext:
    ctx = RelayContext()
    for name, factory in get_all_dialects().items():
        ctx.register_dialect(name, factory)
    return ctx


def main_of(module: ModuleOp) -> FuncOp:
    return next(f for f in module.ops if isinstance(f, FuncOp) and f.sym_name.data == "main")


@pytest.mark.parametrize("seed", range(20))
def test_what_is_alive_together_does_not_overlap(seed: int):
    rng = random.Random(seed)
    intervals = []
    for _ in range(60):
        start = rng.randrange(100)
        intervals.append(Interval([], aligned(rng.randrange(0, 5000)), start, start + rng.randrange(15)))
    placed, total = layout(intervals)
    assert len(placed) == len(intervals)
    for moment in range(120):
        alive = sorted((o, o + i.size) for i, o in placed if i.start <= moment <= i.end)
        for (_, end), (begin, _) in pairwise(alive):
            assert end <= begin
        assert all(0 <= low and high <= total for low, high in alive)
    assert all(offset % 64 == 0 for _, offset in placed)


def program(seed: int) -> str:
    """A random @main of calls: element-wise ones, one with temporaries of its own, slices and branches."""
    rng = random.Random(seed)
    values, text = ["%x", "%y"], ""
    for index in range(25):
        new = f"%v{index}"
        a, b = rng.choice(values[-5:]), rng.choice(values[-5:])
        match rng.choice(["add", "add", "mix", "slice", "if"]):
            case "add":
                text += f"{new} = func.call @add({a}, {b}) : ({T}, {T}) -> {T}\n"
            case "mix":
                text += f"{new} = func.call @mix({a}, {b}) : ({T}, {T}) -> {T}\n"
            case "slice":
                text += f"{new}s = tensor.extract_slice {a}[1, 0] [2, 6] [1, 1] : {T} to tensor<2x6xf32>\n"
                text += f"{new} = tensor.insert_slice {new}s into {b}[2, 0] [2, 6] [1, 1] "
                text += f": tensor<2x6xf32> into {T}\n"
            case _:
                text += f"{new} = scf.if %bit -> ({T}) {{\n{new}t = func.call @mix({a}, {a}) : ({T}, {T}) -> {T}\n"
                text += f"scf.yield {new}t : {T}\n}} else {{\nscf.yield {b} : {T}\n}}\n"
        values.append(new)
    maps = '{indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}'
    flip = '{indexing_maps = [#flip, #id, #id], iterator_types = ["parallel", "parallel"]}'
    generic = (
        f"ins(%p, %q : {T}, {T}) outs(%o : {T}) {{\n^bb0(%a: f32, %b: f32, %c: f32):\n%s = arith.subf %a, %b : f32\n"
    )
    generic += f"linalg.yield %s : f32\n}} -> {T}\n"
    second = generic.replace("%p", "%t").replace("%o", "%o2").replace("subf", "addf")
    return f"""
    #id = affine_map<(i, j) -> (i, j)>
    #flip = affine_map<(i, j) -> (-i + 3, j)>
    func.func private @add(%p: {T}, %q: {T}) -> {T} {{
      %o = tensor.empty() : {T}
      %r = linalg.generic {maps} {generic}
      return %r : {T}
    }}
    func.func private @mix(%p: {T}, %q: {T}) -> {T} {{
      %o = tensor.empty() : {T}
      %t = linalg.generic {maps} {generic}
      %o2 = tensor.empty() : {T}
      %r = linalg.generic {flip} {second}
      return %r : {T}
    }}
    func.func @main(%x: {T}, %y: {T}, %c: tensor<i1>) -> ({T}, {T}) attributes {{llvm.emit_c_interface}} {{
      %bit = tensor.extract %c[] : tensor<i1>
      {text}
      return {values[-1]}, {rng.choice(values)} : {T}, {T}
    }}"""


@pytest.mark.skipif(not mlir_oracle.AVAILABLE, reason="mlir-opt-22 is not installed")
@pytest.mark.parametrize("seed", range(4))
def test_the_planned_program_computes_the_same(seed: int):
    text = program(seed)
    rng = np.random.default_rng(seed)
    args = [*rng.standard_normal((2, 4, 6)).astype(np.float32), np.array(seed % 2 == 0)]
    expected = [np.zeros((4, 6), np.float32) for _ in range(2)]
    mlir_oracle.run_text(text.replace("@main", "@f"), [a.copy() for a in args], expected)

    ctx = context()
    module = Parser(ctx, text).parse_module()
    BufferizePass().apply(ctx, module)
    separate = str(module).count("memref.alloc") * 128
    PlanMemoryPass().apply(ctx, module)
    module.verify()
    planned = str(module)
    assert "memref.alloc" not in planned
    arena_type = main_of(module).body.block.args[-1].type
    assert isinstance(arena_type, MemRefType)
    (size,) = arena_type.get_shape()
    assert 0 < size < separate
    results = [np.zeros((4, 6), np.float32) for _ in range(2)]
    extra = [np.zeros(0, np.int8), np.zeros(size, np.int8)]
    given = [a.copy() for a in args]
    # Outputs come before the blob and the arena.
    mlir_oracle.run_text(planned.replace("@main", "@f"), [*given, *results], extra)
    for found, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(found, wanted, err_msg=planned)
    for before, after in zip(args, given, strict=True):
        np.testing.assert_array_equal(before, after)


def test_equal_weights_are_stored_once():
    ctx = context()
    shared = np.arange(4, dtype=np.float32)
    for key, value in (("a", shared), ("b", shared.copy()), ("c", shared + 1), ("d", shared.view(np.int32))):
        ctx.weights.add(key, value)
    types = {"a": "f32", "b": "f32", "c": "f32", "d": "i32"}
    text = "".join(
        f'"memref.global"() <{{sym_name = "{key}", sym_visibility = "private", '
        f"type = memref<4x{type_}>, initial_value}}> : () -> ()\n"
        for key, type_ in types.items()
    )
    outs = ", ".join(f"%{key}: memref<4x{type_}>" for key, type_ in types.items())
    text += f"func.func @main({outs}) {{\n"
    for key, type_ in types.items():
        text += f"%w{key} = memref.get_global @{key} : memref<4x{type_}>\n"
        text += f'"memref.copy"(%w{key}, %{key}) : (memref<4x{type_}>, memref<4x{type_}>) -> ()\n'
    module = Parser(ctx, text + "return\n}").parse_module()
    PlanMemoryPass().apply(ctx, module)
    assert 'weight_layout = [["a", 0 : i64, 16 : i64], ["c", 64 : i64, 16 : i64], ["d", 128 : i64, 16 : i64]]' in str(
        main_of(module)
    )
    assert "%weights: memref<192xi8>" in str(module)


def test_recursion_is_refused():
    text = """func.func private @g(%a: memref<4xf32>) {
      func.call @g(%a) : (memref<4xf32>) -> ()
      return
    }
    func.func @main(%a: memref<4xf32>) {
      func.call @g(%a) : (memref<4xf32>) -> ()
      return
    }"""
    ctx = context()
    module = Parser(ctx, text).parse_module()
    with pytest.raises(Exception, match=r"@g calls itself \(main -> g -> g\)"):
        PlanMemoryPass().apply(ctx, module)
