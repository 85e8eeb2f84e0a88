"""bufferize against stock MLIR's own bufferization: programs on tensors, written by hand and at random."""

import random

import numpy as np
import pytest
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.lowering.bufferize import BufferizePass
from test.support import mlir_oracle
from test.support.linalg_values import function_values

needs_mlir = pytest.mark.skipif(not mlir_oracle.AVAILABLE, reason="mlir-opt-22 is not installed")


def parsed(text: str) -> ModuleOp:
    ctx = RelayContext()
    for name, factory in get_all_dialects().items():
        ctx.register_dialect(name, factory)
    module = Parser(ctx, text).parse_module()
    module.verify()
    return module


def bufferized(text: str) -> str:
    module = parsed(text)
    BufferizePass().apply(RelayContext(), module)
    module.verify()
    return str(module)


def check(text: str, args: list[np.ndarray], results: list[np.ndarray]) -> str:
    """Both bufferizations compute the same; returns the text of ours."""
    ours = bufferized(text)
    expected = [np.zeros_like(r) for r in results]
    inputs = [a.copy() for a in args]
    mlir_oracle.run_text(text, [a.copy() for a in args], expected)  # stock MLIR may write to its arguments
    try:
        mlir_oracle.run_text(ours, inputs, results)
    except AssertionError:
        print(ours)
        raise
    for found, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(found, wanted, err_msg=ours)
    for before, after in zip(args, inputs, strict=True):
        np.testing.assert_array_equal(before, after, err_msg="an input was written to\n" + ours)
    return ours


ID = "affine_map<(i, j) -> (i, j)>"
HEAD = "attributes {llvm.emit_c_interface}"


def elementwise(result: str, ins: list[str], out: str, body: str, rows: int = 4, cols: int = 6) -> str:
    """A linalg.generic over 4x6 tensors; `body` yields from %a0, %a1, ... and the old value %o."""
    type_ = f"tensor<{rows}x{cols}xf32>"
    maps = ", ".join([ID] * (len(ins) + 1))
    given = f"ins({', '.join(ins)} : {', '.join([type_] * len(ins))}) " if ins else ""
    arguments = ", ".join([*(f"%a{i}: f32" for i in range(len(ins))), "%o: f32"])
    return (
        f'{result} = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel"]}} '
        f"{given}outs({out} : {type_}) {{\n^bb0({arguments}):\n{body}\n}} -> {type_}\n"
    )


T = "tensor<4x6xf32>"


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.integers(-8, 8, shape).astype(np.float32) for shape in shapes]


ADD = "%sum = arith.addf %a0, %a1 : f32\nlinalg.yield %sum : f32"


@needs_mlir
def test_a_result_is_computed_in_its_argument():
    text = f"func.func @f(%x: {T}) -> {T} {HEAD} {{\n%e = tensor.empty() : {T}\n"
    text += elementwise("%r", ["%x", "%x"], "%e", ADD) + f"return %r : {T}\n}}"
    ours = check(text, arrays((4, 6)), arrays((4, 6)))
    assert "memref.alloc" not in ours
    assert "memref.copy" not in ours


@needs_mlir
def test_padding_computes_in_the_padded_buffer():
    text = f"""func.func @f(%x: {T}) -> tensor<6x8xf32> {HEAD} {{
      %e = tensor.empty() : {T}
      {elementwise("%r", ["%x", "%x"], "%e", ADD)}
      %zero = arith.constant 0.0 : f32
      %wide = tensor.empty() : tensor<6x8xf32>
      %filled = linalg.fill ins(%zero : f32) outs(%wide : tensor<6x8xf32>) -> tensor<6x8xf32>
      %p = tensor.insert_slice %r into %filled[1, 1] [4, 6] [1, 1] : {T} into tensor<6x8xf32>
      return %p : tensor<6x8xf32>
    }}"""
    ours = check(text, arrays((4, 6)), arrays((6, 8)))
    assert "memref.alloc" not in ours
    assert "memref.copy" not in ours


@needs_mlir
def test_concatenation_computes_in_the_parts():
    text = f"""func.func @f(%x: {T}, %y: {T}) -> tensor<8x6xf32> {HEAD} {{
      %e = tensor.empty() : {T}
      {elementwise("%a", ["%x", "%y"], "%e", ADD)}
      {elementwise("%b", ["%x", "%a"], "%e", ADD)}
      %all = tensor.empty() : tensor<8x6xf32>
      %1 = tensor.insert_slice %b into %all[0, 0] [4, 6] [1, 1] : {T} into tensor<8x6xf32>
      %2 = tensor.insert_slice %x into %1[4, 0] [4, 6] [1, 1] : {T} into tensor<8x6xf32>
      return %2 : tensor<8x6xf32>
    }}"""
    ours = check(text, arrays((4, 6), (4, 6)), arrays((8, 6)))
    assert ours.count("memref.copy") == 1  # of the input


@needs_mlir
def test_a_slice_read_after_its_place_is_overwritten_is_kept():
    text = f"""func.func @f(%x: {T}) -> (tensor<2x6xf32>, {T}) {HEAD} {{
      %e = tensor.empty() : {T}
      {elementwise("%r", ["%x", "%x"], "%e", ADD)}
      %s = tensor.extract_slice %r[1, 0] [2, 6] [2, 1] : {T} to tensor<2x6xf32>
      {elementwise("%t", ["%x", "%r"], "%r", ADD)}
      return %s, %t : tensor<2x6xf32>, {T}
    }}"""
    check(text, arrays((4, 6)), arrays((2, 6), (4, 6)))


@needs_mlir
def test_values_carried_by_a_loop_stay_in_their_buffers_and_may_be_swapped():
    text = f"""func.func @f(%x: {T}, %y: {T}) -> ({T}, {T}, {T}) {HEAD} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %e = tensor.empty() : {T}
      {elementwise("%i", ["%x", "%y"], "%e", ADD)}
      %r:3 = scf.for %k = %c0 to %c3 step %c1 iter_args(%p = %x, %q = %i, %s = %i) -> ({T}, {T}, {T}) {{
        {elementwise("%n", ["%p", "%q"], "%s", ADD.replace("%a1 :", "%o :"))}
        scf.yield %q, %p, %n : {T}, {T}, {T}
      }}
      return %r#0, %r#1, %r#2 : {T}, {T}, {T}
    }}"""
    check(text, arrays((4, 6), (4, 6)), arrays((4, 6), (4, 6), (4, 6)))


@needs_mlir
def test_a_branch_writes_the_result_of_scf_if():
    text = f"""func.func @f(%x: {T}, %c: tensor<i1>) -> {T} {HEAD} {{
      %b = tensor.extract %c[] : tensor<i1>
      %r = scf.if %b -> ({T}) {{
        %e = tensor.empty() : {T}
        {elementwise("%n", ["%x", "%x"], "%e", ADD)}
        scf.yield %n : {T}
      }} else {{
        scf.yield %x : {T}
      }}
      return %r : {T}
    }}"""
    for condition in (True, False):
        ours = check(text, [*arrays((4, 6)), np.array(condition)], arrays((4, 6)))
        assert ours.count("memref.copy") == 1


@needs_mlir
def test_scf_while_carries_tensors():
    text = f"""func.func @f(%x: {T}) -> ({T}, {T}) {HEAD} {{
      %c0 = arith.constant 0 : index
      %limit = arith.constant 50.0 : f32
      %r:2 = scf.while (%p = %x, %q = %x) : ({T}, {T}) -> ({T}, {T}) {{
        %v = tensor.extract %p[%c0, %c0] : {T}
        %go = arith.cmpf olt, %v, %limit : f32
        scf.condition(%go) %q, %p : {T}, {T}
      }} do {{
      ^bb0(%a: {T}, %b: {T}):
        %one = arith.constant 9.0 : f32
        %v = tensor.extract %b[%c0, %c0] : {T}
        %w = arith.addf %v, %one : f32
        %n = tensor.insert %w into %b[%c0, %c0] : {T}
        scf.yield %n, %b : {T}, {T}
      }}
      return %r#0, %r#1 : {T}, {T}
    }}"""
    check(text, arrays((4, 6)), arrays((4, 6), (4, 6)))


@needs_mlir
def test_bools_are_bytes():
    maps = "affine_map<(i) -> (i)>"
    text = f"""func.func @f(%x: tensor<5xi1>, %y: tensor<5xf32>) -> (tensor<5xi1>, tensor<5xi1>) {HEAD} {{
      %c = arith.constant dense<[true, false, true, true, false]> : tensor<5xi1>
      %e = tensor.empty() : tensor<5xi1>
      %r = linalg.generic {{indexing_maps = [{maps}, {maps}, {maps}], iterator_types = ["parallel"]}}
          ins(%x, %c : tensor<5xi1>, tensor<5xi1>) outs(%e : tensor<5xi1>) {{
      ^bb0(%a: i1, %b: i1, %o: i1):
        %v = arith.xori %a, %b : i1
        linalg.yield %v : i1
      }} -> tensor<5xi1>
      %i = arith.constant 1 : index
      %true = arith.constant true
      %s = tensor.insert %true into %r[%i] : tensor<5xi1>
      %f = linalg.fill ins(%true : i1) outs(%e : tensor<5xi1>) -> tensor<5xi1>
      return %s, %f : tensor<5xi1>, tensor<5xi1>
    }}"""
    given = [np.array([True, True, False, False, True]), *arrays((5,))]
    ours = check(text, given, [np.zeros(5, bool), np.zeros(5, bool)])
    assert "xi1>" not in ours


@needs_mlir
def test_reshapes_are_views_and_copies_of_strided_slices():
    text = f"""func.func @f(%x: {T}) -> (tensor<24xf32>, tensor<2x3xf32>, tensor<6xf32>) {HEAD} {{
      %e = tensor.empty() : {T}
      {elementwise("%r", ["%x", "%x"], "%e", ADD)}
      %flat = tensor.collapse_shape %r [[0, 1]] : {T} into tensor<24xf32>
      %s = tensor.extract_slice %r[0, 1] [2, 3] [2, 2] : {T} to tensor<2x3xf32>
      %t = tensor.collapse_shape %s [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
      return %flat, %s, %t : tensor<24xf32>, tensor<2x3xf32>, tensor<6xf32>
    }}"""
    check(text, arrays((4, 6)), arrays((24,), (2, 3), (6,)))


@needs_mlir
def test_calls_take_buffers_for_results():
    text = f"""func.func private @g(%a: {T}, %b: {T}) -> {T} {{
      %e = tensor.empty() : {T}
      {elementwise("%r", ["%a", "%b"], "%e", ADD)}
      return %r : {T}
    }}
    func.func @f(%x: {T}) -> ({T}, {T}, {T}) {HEAD} {{
      %0 = func.call @g(%x, %x) : ({T}, {T}) -> {T}
      %s = tensor.extract_slice %0[0, 0] [2, 6] [2, 1] : {T} to tensor<2x6xf32>
      %y = tensor.insert_slice %s into %x[2, 0] [2, 6] [1, 1] : tensor<2x6xf32> into {T}
      %1 = func.call @g(%0, %y) : ({T}, {T}) -> {T}
      return %1, %x, %1 : {T}, {T}, {T}
    }}"""
    check(text, arrays((4, 6)), arrays((4, 6), (4, 6), (4, 6)))


@needs_mlir
def test_a_body_that_reads_elsewhere_keeps_the_old_values():
    body = """%i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %c3 = arith.constant 3 : index
      %m = arith.subi %c3, %i : index
      %v = tensor.extract %r[%m, %j] : tensor<4x6xf32>
      linalg.yield %v : f32"""
    text = f"func.func @f(%x: {T}) -> {T} {HEAD} {{\n%e = tensor.empty() : {T}\n"
    text += elementwise("%r", ["%x", "%x"], "%e", ADD) + elementwise("%t", [], "%r", body) + f"return %t : {T}\n}}"
    check(text, arrays((4, 6)), arrays((4, 6)))


def random_program(seed: int) -> str:
    """A function of two 4x6 tensors that updates whatever values it has, in loops and branches too."""
    rng = random.Random(seed)
    counter = iter(range(10000))

    def name() -> str:
        return f"%v{next(counter)}"

    def block(values: list[str], size: int, depth: int) -> tuple[str, list[str]]:
        text, values = "", list(values)
        for _ in range(size):
            new, a, b, c = name(), rng.choice(values), rng.choice(values), rng.choice(values)
            kind = rng.choice(["map", "map", "accumulate", "shift", "slice", "slice", "insert", "fill", "for", "if"])
            if kind in ("for", "if") and depth == 0:
                kind = "map"
            if rng.random() < 0.4:
                fresh = name()
                text += f"{fresh} = tensor.empty() : {T}\n"
                if kind in ("map", "fill", "shift"):
                    c = fresh
            match kind:
                case "map":
                    text += elementwise(new, [a, b], c, ADD)
                case "accumulate":
                    text += elementwise(new, [a], c, "%sum = arith.subf %a0, %o : f32\nlinalg.yield %sum : f32")
                case "shift":
                    text += (
                        elementwise(new, [a], c, "linalg.yield %a0 : f32")
                        .replace(ID, "affine_map<(i, j) -> (3 - i, j)>", 1)
                        .replace("(3 - i, j)", "(-i + 3, j)")
                    )
                case "slice":
                    part, row, rows = name(), rng.randrange(3), rng.randrange(3)
                    text += f"{part} = tensor.extract_slice {a}[{row}, 0] [2, 6] [1, 1] : {T} to tensor<2x6xf32>\n"
                    if rng.random() < 0.6:
                        empty, moved = name(), name()
                        text += f"{empty} = tensor.empty() : tensor<2x6xf32>\n"
                        text += elementwise(moved, [part, part], empty, ADD, rows=2)
                        part = moved
                    text += f"{new} = tensor.insert_slice {part} into {c}[{rows}, 0] [2, 6] [1, 1] "
                    text += f": tensor<2x6xf32> into {T}\n"
                case "insert":
                    scalar = name()
                    text += f"{scalar} = tensor.extract {a}[%c1, %c0] : {T}\n"
                    text += f"{new} = tensor.insert {scalar} into {c}[%c0, %c1] : {T}\n"
                case "fill":
                    text += f"{new} = linalg.fill ins(%two : f32) outs({c} : {T}) -> {T}\n"
                case "for":
                    p, q = name(), name()
                    inner, inside = block([*values, p, q], 4, depth - 1)
                    y = [rng.choice(inside[-4:]) for _ in range(2)]
                    text += f"{new}:2 = scf.for {name()} = %c0 to %c2 step %c1 iter_args({p} = {a}, {q} = {b}) "
                    text += f"-> ({T}, {T}) {{\n{inner}scf.yield {y[0]}, {y[1]} : {T}, {T}\n}}\n"
                    values.append(f"{new}#1")
                    new = f"{new}#0"
                case _:
                    branches = []
                    for _ in range(2):
                        inner, inside = block(values, 3, depth - 1)
                        branches.append(f"{inner}scf.yield {inside[-1]}, {rng.choice(inside)} : {T}, {T}\n")
                    text += f"{new}:2 = scf.if %b -> ({T}, {T}) {{\n{branches[0]}}} else {{\n{branches[1]}}}\n"
                    values.append(f"{new}#1")
                    new = f"{new}#0"
            values.append(new)
        return text, values

    body, values = block(["%x", "%y"], 14, 2)
    returned = [values[-1], rng.choice(values), rng.choice(values)]
    return f"""func.func @f(%x: {T}, %y: {T}, %c: tensor<i1>) -> ({T}, {T}, {T}) {HEAD} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %two = arith.constant 2.0 : f32
      %b = tensor.extract %c[] : tensor<i1>
      {body}
      return {", ".join(returned)} : {T}, {T}, {T}
    }}"""


@needs_mlir
@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed: int):
    """Against numpy: stock MLIR crashes on some of these programs, and aliases in others."""
    text = random_program(seed)
    args = [*arrays((4, 6), (4, 6)), np.array(seed % 2 == 0)]
    function = next(op for op in parsed(text).ops if isinstance(op, FuncOp))
    expected = function_values(function, args)
    inputs, results = [a.copy() for a in args], [np.full((4, 6), np.nan, np.float32) for _ in range(3)]
    mlir_oracle.run_text(bufferized(text), inputs, results)
    for found, wanted in zip([*results, *inputs], [*expected, *args], strict=True):
        np.testing.assert_array_equal(found, wanted, err_msg=text)


def test_an_operation_without_a_buffer_form_is_refused():
    text = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n%0 = arith.negf %x : tensor<4xf32>\n"
    with pytest.raises(Exception, match=r"'arith\.negf' on tensors has no form on buffers"):
        bufferized(text + "return %0 : tensor<4xf32>\n}")
