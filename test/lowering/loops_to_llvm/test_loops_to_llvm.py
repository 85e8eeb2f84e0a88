"""The conversion and the LLVM text against stock MLIR, which lowers the same programs on its own."""

import math

import numpy as np
import pytest

from relay_mlir.lowering.diagnostics import OpError
from test.support.loops_run import AVAILABLE, agree, lowered, run

needs_stock_mlir = pytest.mark.skipif(not AVAILABLE, reason="mlir-opt-22 is not installed")
RNG = np.random.default_rng(7)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def elementwise(body: str, types: list[str], count: int, results: int, scalar: bool = True) -> str:
    """`@f` over arrays of `count` elements: the body computes %r0, %r1, ... from %a0, %a1, ..."""
    width = 1 if scalar else count
    args, code = [], []
    for i, type_ in enumerate(types):
        name = f"%x{i}" if i < len(types) - results else f"%y{i - len(types) + results}"
        args.append(f"{name}: memref<{count}x{type_}>")
        if i < len(types) - results:
            load = (
                f"%a{i} = memref.load {name}[%i] : memref<{count}x{type_}>"
                if scalar
                else f"%a{i} = vector.load {name}[%i] : memref<{count}x{type_}>, vector<{count}x{type_}>"
            )
            code.append(load)
    code.append(body)
    for i, type_ in enumerate(types[len(types) - results :]):
        if scalar:
            code.append(f"memref.store %r{i}, %y{i}[%i] : memref<{count}x{type_}>")
        else:
            code.append(f"vector.store %r{i}, %y{i}[%i] : memref<{count}x{type_}>, vector<{count}x{type_}>")
    lines = "\n    ".join(code)
    return f"""
func.func @f({", ".join(args)}) attributes {{llvm.emit_c_interface}} {{
  %c0 = arith.constant 0 : index
  %n = arith.constant {count} : index
  %step = arith.constant {width} : index
  scf.for %i = %c0 to %n step %step {{
    {lines}
  }}
  return
}}"""


INTEGER_BINARY = (
    "addi subi muli divsi divui remsi remui floordivsi ceildivsi ceildivui andi ori xori maxsi minsi maxui minui"
).split()


@needs_stock_mlir
@pytest.mark.parametrize("scalar", [True, False])
@pytest.mark.parametrize(("type_", "dtype"), [("i8", np.int8), ("i32", np.int32), ("i64", np.int64)])
def test_integer_operations(type_: str, dtype: type, scalar: bool):
    info = np.iinfo(dtype)
    left = np.array([7, -7, 7, -7, 0, 1, info.max, info.min, 5, -1, 100, -100, 3, 6, info.min, 2], dtype)
    right = np.array([2, 2, -2, -2, 3, info.max, info.max, 3, info.min, 1, 7, 7, -3, 6, 2, -5], dtype)
    shape = type_ if scalar else f"vector<16x{type_}>"
    body = "\n    ".join(f"%r{i} = arith.{op} %a0, %a1 : {shape}" for i, op in enumerate(INTEGER_BINARY))
    results = [np.zeros(16, dtype) for _ in INTEGER_BINARY]
    text = elementwise(body, [type_] * (2 + len(results)), 16, len(results), scalar)
    agree(text, [left, right, *results])


@needs_stock_mlir
@pytest.mark.parametrize("scalar", [True, False])
def test_shifts_comparisons_and_selects(scalar: bool):
    shape = "i32" if scalar else "vector<16xi32>"
    mask = "i1" if scalar else "vector<16xi1>"
    lines: list[str] = []
    predicates = "eq ne slt sle sgt sge ult ule ugt uge".split()
    for i, predicate in enumerate(predicates):
        lines.append(f"%p{i} = arith.cmpi {predicate}, %a0, %a1 : {shape}")
        select = f"{mask}, {shape}" if not scalar else shape
        lines.append(f"%r{i} = arith.select %p{i}, %a0, %a1 : {select}")
    one = "1 : i32" if scalar else "dense<31> : vector<16xi32>"
    lines.append(f"%c = arith.constant {one}\n    %s = arith.andi %a1, %c : {shape}")
    for i, op in enumerate(("shli", "shrui", "shrsi"), len(predicates)):
        lines.append(f"%r{i} = arith.{op} %a0, %s : {shape}")
    results = [np.zeros(16, np.int32) for _ in range(len(predicates) + 3)]
    text = elementwise("\n    ".join(lines), ["i32"] * (2 + len(results)), 16, len(results), scalar)
    inputs = [RNG.integers(-(2**31), 2**31, 16).astype(np.int32) for _ in range(2)]
    inputs[1][::3] = inputs[0][::3]
    agree(text, [*inputs, *results])


SPECIAL = np.array(
    [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5, 1.5, 2.5, -2.5, 1e-45, 3e38, -3e38, 1e30, 0.1], np.float32
)


@needs_stock_mlir
@pytest.mark.parametrize("scalar", [True, False])
def test_float_operations(scalar: bool):
    shape = "f32" if scalar else "vector<16xf32>"
    # Stock MLIR's maxnum is LLVM's as well; the sign of a zero that they give is left open.
    binary = "addf subf mulf divf maximumf minimumf".split()
    unary = "absf ceil floor sqrt round roundeven trunc".split()
    lines = [f"%r{i} = arith.{op} %a0, %a1 : {shape}" for i, op in enumerate(binary)]
    lines += [f"%r{i} = math.{op} %a0 : {shape}" for i, op in enumerate(unary, len(binary))]
    n = len(binary) + len(unary)
    lines += [f"%r{n} = arith.negf %a0 : {shape}", f"%r{n + 1} = math.copysign %a0, %a1 : {shape}"]
    lines += [f"%r{n + 2} = math.fma %a0, %a1, %a0 : {shape}", f"%r{n + 3} = arith.remf %a0, %a1 : {shape}"]
    results = [np.zeros(16, np.float32) for _ in range(n + 4)]
    text = elementwise("\n    ".join(lines), ["f32"] * (2 + len(results)), 16, len(results), scalar)
    for shift in (0, 1, 5):
        arrays = [SPECIAL, np.roll(SPECIAL, shift), *(r.copy() for r in results)]
        agree(text, arrays)


PREDICATES = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()


@needs_stock_mlir
@pytest.mark.parametrize("scalar", [True, False])
def test_float_comparisons(scalar: bool):
    shape, mask, out = ("f32", "i1", "i8") if scalar else ("vector<16xf32>", "vector<16xi1>", "vector<16xi8>")
    lines: list[str] = []
    for i, predicate in enumerate(PREDICATES):
        lines.append(f"%p{i} = arith.cmpf {predicate}, %a0, %a1 : {shape}")
        lines.append(f"%r{i} = arith.extui %p{i} : {mask} to {out}")
    results = [np.zeros(16, np.int8) for _ in PREDICATES]
    text = elementwise("\n    ".join(lines), ["f32", "f32", *["i8"] * 16], 16, 16, scalar)
    for shift in (0, 1, 5):
        agree(text, [SPECIAL, np.roll(SPECIAL, shift), *(r.copy() for r in results)])


@needs_stock_mlir
@pytest.mark.parametrize("scalar", [True, False])
def test_casts(scalar: bool):
    def of(type_: str) -> str:
        return type_ if scalar else f"vector<16x{type_}>"

    casts = [
        ("extsi", 0, "i8", "i32"),
        ("extui", 0, "i8", "i32"),
        ("trunci", 1, "i32", "i8"),
        ("sitofp", 1, "i32", "f32"),
        ("uitofp", 1, "i32", "f32"),
        ("fptosi", 2, "f32", "i32"),
        ("fptoui", 3, "f32", "i32"),
        ("extf", 2, "f32", "f64"),
        ("truncf", 2, "f32", "f16"),
        ("bitcast", 2, "f32", "i32"),
    ]
    lines = [f"%r{i} = arith.{op} %a{arg} : {of(a)} to {of(b)}" for i, (op, arg, a, b) in enumerate(casts)]
    dtypes = {"i8": np.int8, "i32": np.int32, "f32": np.float32, "f64": np.float64, "f16": np.float16}
    results = [np.zeros(16, dtypes[b]) for *_, b in casts]
    types = ["i8", "i32", "f32", "f32", *(b for *_, b in casts)]
    text = elementwise("\n    ".join(lines), types, 16, len(casts), scalar)
    inputs = [
        RNG.integers(-128, 128, 16).astype(np.int8),
        RNG.integers(-(2**31), 2**31, 16).astype(np.int32),
        (floats(16) * 1000).astype(np.float32),
        np.abs(floats(16)) * 1000,
    ]
    agree(text, [*inputs, *results])


def bf16_of(values: np.ndarray) -> np.ndarray:
    """The bits of bf16, rounded to nearest even: by way of exact fractions of the f32 spacing."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    return values.astype(ml_dtypes.bfloat16).view(np.int16)


@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("scalar", [True, False])
def test_bf16_is_storage(type_: str, scalar: bool):
    """Conversions round to nearest even; NaN stays NaN."""
    of = (lambda t: t) if scalar else (lambda t: f"vector<16x{t}>")
    body = (
        f"%r0 = arith.truncf %a0 : {of(type_)} to {of('bf16')}\n    %r1 = arith.extf %r0 : {of('bf16')} to {of(type_)}"
    )
    text = elementwise(body, [type_, "bf16", type_], 16, 2, scalar)
    halves = np.array([0x3F808000, 0x3F818000, 0x3F80FFFF, 0x7F7FFFFF, 0x00008000, 0x80018000], np.uint32)
    values = np.concatenate([SPECIAL[:10], halves.view(np.float32)]).astype(
        np.float32 if type_ == "f32" else np.float64
    )
    bits, back = np.zeros(16, np.int16), np.zeros(16, values.dtype)
    run(text, [values, bits, back])
    want = bf16_of(values)
    nan = np.isnan(values)
    np.testing.assert_array_equal(bits[~nan], want[~nan])
    assert np.isnan(back[nan]).all()
    np.testing.assert_array_equal(back, (bits.astype(np.uint16).astype(np.uint32) << 16).view(np.float32))


def test_f64_to_bf16_rounds_once():
    """A number just above the middle of two bf16, which f32 would round to the middle."""
    text = elementwise("%r0 = arith.truncf %a0 : f64 to bf16", ["f64", "bf16"], 2, 1)
    middle = np.float64(1 + 2**-8)
    values, bits = np.array([middle + 2**-40, -(middle + 2**-40)]), np.zeros(2, np.int16)
    run(text, [values, bits])
    assert [hex(int(b) & 0xFFFF) for b in bits] == ["0x3f81", "0xbf81"]


@needs_stock_mlir
def test_control_flow():
    """Loops with carried values, of no and one iteration, branches, switches and while loops."""
    text = """
    func.func @f(%n: memref<4xi64>, %out: memref<8xi64>) attributes {llvm.emit_c_interface} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %c5 = arith.constant 5 : index
      %c6 = arith.constant 6 : index
      %c10 = arith.constant 10 : index
      %zero = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      %seven = arith.constant 7 : i64
      %none = scf.for %i = %c4 to %c4 step %c1 iter_args(%s = %seven) -> (i64) {
        scf.yield %zero : i64
      }
      memref.store %none, %out[%c0] : memref<8xi64>
      %once = scf.for %i = %c3 to %c4 step %c2 iter_args(%s = %seven) -> (i64) {
        %v = arith.index_cast %i : index to i64
        %t = arith.addi %s, %v : i64
        scf.yield %t : i64
      }
      memref.store %once, %out[%c1] : memref<8xi64>
      scf.for %k = %c0 to %c4 step %c1 {
        %m = memref.load %n[%k] : memref<4xi64>
        %bound = arith.index_cast %m : i64 to index
        %sum = scf.for %i = %c1 to %bound step %c2 iter_args(%s = %zero) -> (i64) {
          %v = arith.index_cast %i : index to i64
          %odd = arith.remsi %v, %seven : i64
          %is = arith.cmpi sgt, %odd, %one : i64
          %w = scf.if %is -> (i64) {
            %d = arith.addi %v, %v : i64
            scf.yield %d : i64
          } else {
            scf.yield %v : i64
          }
          %t = arith.addi %s, %w : i64
          scf.yield %t : i64
        }
        %steps:2 = scf.while (%a = %m, %b = %zero) : (i64, i64) -> (i64, i64) {
          %more = arith.cmpi sgt, %a, %one : i64
          scf.condition(%more) %a, %b : i64, i64
        } do {
        ^bb0(%a: i64, %b: i64):
          %h = arith.shrsi %a, %one : i64
          %c = arith.addi %b, %one : i64
          scf.yield %h, %c : i64, i64
        }
        %case = scf.index_switch %k -> i64
        case 1 {
          scf.yield %sum : i64
        }
        case 3 {
          scf.yield %steps#1 : i64
        }
        default {
          %both = arith.addi %sum, %steps#1 : i64
          scf.yield %both : i64
        }
        %at = arith.addi %k, %c2 : index
        memref.store %case, %out[%at] : memref<8xi64>
        %big = arith.cmpi sgt, %m, %seven : i64
        scf.if %big {
          memref.store %sum, %out[%c6] : memref<8xi64>
        }
      }
      return
    }"""
    agree(text, [np.array([0, 9, 5, 1000], np.int64), np.zeros(8, np.int64)])


def test_views():
    """Subviews with constant and computed offsets, collapsed, expanded, reinterpreted, copied."""
    text = """
    func.func @f(%x: memref<6x8x4xf32>, %y: memref<6x8x4xf32>, %z: memref<3x4xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      memref.copy %x, %y : memref<6x8x4xf32> to memref<6x8x4xf32>
      scf.for %i = %c0 to %c3 step %c1 {
        %j = arith.addi %i, %c1 : index
        %s = memref.subview %x[%i, 2, %c0] [2, 3, 4] [2, 2, 1]
            : memref<6x8x4xf32> to memref<2x3x4xf32, strided<[64, 8, 1], offset: ?>>
        %t = memref.subview %y[%j, %i, 0] [2, 3, 4] [1, 1, 1]
            : memref<6x8x4xf32> to memref<2x3x4xf32, strided<[32, 4, 1], offset: ?>>
        memref.copy %s, %t
            : memref<2x3x4xf32, strided<[64, 8, 1], offset: ?>> to memref<2x3x4xf32, strided<[32, 4, 1], offset: ?>>
        %row = memref.subview %x[%i, %i, 0] [1, 1, 4] [1, 1, 1]
            : memref<6x8x4xf32> to memref<4xf32, strided<[1], offset: ?>>
        scf.for %k = %c0 to %c4 step %c1 {
          %v = memref.load %row[%k] : memref<4xf32, strided<[1], offset: ?>>
          memref.store %v, %z[%i, %k] : memref<3x4xf32>
        }
      }
      %flat = memref.collapse_shape %y [[0, 1, 2]] : memref<6x8x4xf32> into memref<192xf32>
      %wide = memref.expand_shape %flat [[0, 1]] output_shape [12, 16] : memref<192xf32> into memref<12x16xf32>
      %v = memref.load %wide[%c3, %c2] : memref<12x16xf32>
      memref.store %v, %z[%c2, %c3] : memref<3x4xf32>
      %r = memref.reinterpret_cast %y to offset: [5], sizes: [4, 2], strides: [3, 1]
          : memref<6x8x4xf32> to memref<4x2xf32, strided<[3, 1], offset: 5>>
      %w = memref.load %r[%c3, %c1] : memref<4x2xf32, strided<[3, 1], offset: 5>>
      memref.store %w, %z[%c0, %c0] : memref<3x4xf32>
      return
    }"""
    x, y, z = floats(6, 8, 4), floats(6, 8, 4), floats(3, 4)
    run(text, [x, y, z])
    want, rows = x.copy(), np.array([x[i, i] for i in range(3)])
    for i in range(3):
        want[i + 1 : i + 3, i : i + 3] = x[i : i + 4 : 2, 2:8:2]
    np.testing.assert_array_equal(y, want)
    rows[2, 3], rows[0, 0] = want.reshape(12, 16)[3, 2], want.ravel()[5 + 3 * 3 + 1]
    np.testing.assert_array_equal(z, rows)


@needs_stock_mlir
def test_strides_known_at_run_time():
    """A transposed view of a view, passed on with its sizes, strides and offset open."""
    text = """
    func.func private @add(%x: memref<?x?xf32, strided<[?, ?], offset: ?>>, %y: memref<?x?xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %m = memref.dim %x, %c0 : memref<?x?xf32, strided<[?, ?], offset: ?>>
      %n = memref.dim %x, %c1 : memref<?x?xf32, strided<[?, ?], offset: ?>>
      scf.for %i = %c0 to %m step %c1 {
        scf.for %j = %c0 to %n step %c1 {
          %v = memref.load %x[%i, %j] : memref<?x?xf32, strided<[?, ?], offset: ?>>
          %w = memref.load %y[%i, %j] : memref<?x?xf32>
          %s = arith.addf %v, %w : f32
          memref.store %s, %y[%i, %j] : memref<?x?xf32>
        }
      }
      return
    }
    func.func @f(%x: memref<6x8xf32>, %y: memref<3x5xf32>, %step: memref<1xindex>) attributes {llvm.emit_c_interface} {
      %c0 = arith.constant 0 : index
      %s = memref.load %step[%c0] : memref<1xindex>
      %v = memref.subview %x[%s, 1] [3, 5] [1, %s] : memref<6x8xf32> to memref<3x5xf32, strided<[8, ?], offset: ?>>
      %xd = memref.cast %v : memref<3x5xf32, strided<[8, ?], offset: ?>> to memref<?x?xf32, strided<[?, ?], offset: ?>>
      %yd = memref.cast %y : memref<3x5xf32> to memref<?x?xf32>
      func.call @add(%xd, %yd) : (memref<?x?xf32, strided<[?, ?], offset: ?>>, memref<?x?xf32>) -> ()
      return
    }"""
    agree(text, [floats(6, 8), floats(3, 5), np.array([1], np.int64)])


def test_private_names_do_not_hide_the_c_library():
    """Private symbols named as functions that the conversion (sin) and LLVM's code generator (fmod) call."""
    text = """
    memref.global "private" constant @cos : memref<1xf64> = dense<0.25>
    func.func private @sin(%x: memref<4xf64>, %y: memref<4xf64>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %table = memref.get_global @cos : memref<1xf64>
      %q = memref.load %table[%c0] : memref<1xf64>
      scf.for %i = %c0 to %c4 step %c1 {
        %v = memref.load %x[%i] : memref<4xf64>
        %s = math.sin %v : f64
        %c = math.cos %s : f64
        %r = func.call @fmod(%c, %q) : (f64, f64) -> f64
        memref.store %r, %y[%i] : memref<4xf64>
      }
      return
    }
    func.func private @fmod(%x: f64, %q: f64) -> f64 {
      %r = arith.remf %x, %q : f64
      %s = arith.addf %r, %x : f64
      return %s : f64
    }
    func.func @f(%x: memref<4xf64>, %y: memref<4xf64>) attributes {llvm.emit_c_interface} {
      func.call @sin(%x, %y) : (memref<4xf64>, memref<4xf64>) -> ()
      return
    }"""
    x, y = np.array([0.5, -1.25, 3.0, -0.0]), np.zeros(4)
    run(text, [x, y])
    cosines = np.cos(np.sin(x))
    np.testing.assert_allclose(y, np.fmod(cosines, 0.25) + cosines, rtol=1e-15)


@needs_stock_mlir
def test_allocation_globals_calls_and_sizes():
    text = """
    memref.global "private" constant @table : memref<2x3xf32> = dense<[[1.5, -0.0, 3.0], [4.0, 5.0, -6.25]]>
    memref.global "private" @state : memref<3xf32> = dense<2.0>
    func.func private @scale(%x: memref<?x3xf32>, %by: f32, %y: memref<?x3xf32>) -> f32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %zero = arith.constant 0.0 : f32
      %n = memref.dim %x, %c0 : memref<?x3xf32>
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> (f32) {
        %q = scf.for %j = %c0 to %c3 step %c1 iter_args(%t = %s) -> (f32) {
          %v = memref.load %x[%i, %j] : memref<?x3xf32>
          %w = arith.mulf %v, %by : f32
          memref.store %w, %y[%i, %j] : memref<?x3xf32>
          %u = arith.addf %t, %w : f32
          scf.yield %u : f32
        }
        scf.yield %q : f32
      }
      return %r : f32
    }
    func.func @f(%out: memref<2x3xf32>, %sum: memref<1xf32>) attributes {llvm.emit_c_interface} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %t = memref.get_global @table : memref<2x3xf32>
      %s = memref.get_global @state : memref<3xf32>
      %by = memref.load %s[%c1] : memref<3xf32>
      %a = memref.alloc(%c2) : memref<?x3xf32>
      %td = memref.cast %t : memref<2x3xf32> to memref<?x3xf32>
      %r = func.call @scale(%td, %by, %a) : (memref<?x3xf32>, f32, memref<?x3xf32>) -> f32
      memref.store %r, %sum[%c0] : memref<1xf32>
      %stack = memref.alloca() {alignment = 64 : i64} : memref<2x3xf32>
      %as = memref.cast %a : memref<?x3xf32> to memref<2x3xf32>
      memref.copy %as, %stack : memref<2x3xf32> to memref<2x3xf32>
      memref.copy %stack, %out : memref<2x3xf32> to memref<2x3xf32>
      memref.dealloc %a : memref<?x3xf32>
      return
    }"""
    arrays = [np.zeros((2, 3), np.float32), np.zeros(1, np.float32)]
    agree(text, arrays)
    assert arrays[0].tolist() == [[3.0, -0.0, 6.0], [8.0, 10.0, -12.5]]
    assert np.signbit(arrays[0][0, 1])


def test_view_of_bytes():
    """Buffers carved out of one block of bytes, at constant and computed offsets."""
    text = """
    func.func @f(%arena: memref<256xi8>, %x: memref<8xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c8 = arith.constant 8 : index
      %c64 = arith.constant 64 : index
      %c128 = arith.constant 128 : index
      %a = memref.view %arena[%c128][] : memref<256xi8> to memref<8xf32>
      scf.for %j = %c0 to %c2 step %c1 {
        %at = arith.muli %j, %c64 : index
        %b = memref.view %arena[%at][] : memref<256xi8> to memref<8xf32>
        scf.for %i = %c0 to %c8 step %c1 {
          %v = memref.load %x[%i] : memref<8xf32>
          memref.store %v, %a[%i] : memref<8xf32>
          %w = arith.addf %v, %v : f32
          memref.store %w, %b[%i] : memref<8xf32>
        }
      }
      return
    }"""
    arena, x = np.zeros(256, np.int8), floats(8)
    run(text, [arena, x])
    np.testing.assert_array_equal(arena.view(np.float32)[32:40], x)
    np.testing.assert_array_equal(arena.view(np.float32)[:8], 2 * x)
    np.testing.assert_array_equal(arena.view(np.float32)[16:24], 2 * x)


@needs_stock_mlir
def test_parallel_loops_with_reductions():
    text = """
    func.func @f(%x: memref<5x7xf32>, %y: memref<5x7xf32>, %sum: memref<2xf32>) attributes {llvm.emit_c_interface} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c5 = arith.constant 5 : index
      %c7 = arith.constant 7 : index
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      %r:2 = scf.parallel (%i, %j) = (%c0, %c0) to (%c5, %c7) step (%c1, %c1) init (%zero, %one) -> (f32, f32) {
        %v = memref.load %x[%i, %j] : memref<5x7xf32>
        %w = arith.negf %v : f32
        memref.store %w, %y[%i, %j] : memref<5x7xf32>
        scf.reduce(%v, %w : f32, f32) {
        ^bb0(%a: f32, %b: f32):
          %s = arith.addf %a, %b : f32
          scf.reduce.return %s : f32
        }, {
        ^bb0(%a: f32, %b: f32):
          %s = arith.maximumf %a, %b : f32
          scf.reduce.return %s : f32
        }
      }
      memref.store %r#0, %sum[%c0] : memref<2xf32>
      memref.store %r#1, %sum[%c1] : memref<2xf32>
      return
    }"""
    agree(text, [floats(5, 7), floats(5, 7), np.zeros(2, np.float32)])


@needs_stock_mlir
def test_vectors():
    """Masks, shuffles of unequal lengths, broadcasts, positions known at run time, reductions."""
    kinds = "add mul minsi maxsi minui maxui and or xor".split()
    reductions = "\n".join(
        f"%k{i} = vector.reduction <{kind}>, %iv : vector<8xi32> into i32\n"
        f"memref.store %k{i}, %ri[%c{i}] : memref<32xi32>\n"
        f"%l{i} = vector.reduction <{kind}>, %iv, %start : vector<8xi32> into i32\n"
        f"memref.store %l{i}, %ri[%c{i + 9}] : memref<32xi32>"
        for i, kind in enumerate(kinds)
    )
    floats_ = "\n".join(
        f"%m{i} = vector.reduction <{kind}>, %v : vector<8xf32> into f32\n"
        f"memref.store %m{i}, %rf[%c{i}] : memref<32xf32>\n"
        f"%n{i} = vector.reduction <{kind}>, %v, %fs : vector<8xf32> into f32\n"
        f"memref.store %n{i}, %rf[%c{i + 6}] : memref<32xf32>"
        for i, kind in enumerate("add mul minnumf maxnumf minimumf maximumf".split())
    )
    constants = "\n".join(f"%c{i} = arith.constant {i} : index" for i in range(20))
    text = f"""
    func.func @f(%x: memref<32xf32>, %ix: memref<32xi32>, %n: memref<3xindex>, %y: memref<64xf32>,
                 %ri: memref<32xi32>, %rf: memref<32xf32>)
        attributes {{llvm.emit_c_interface}} {{
      {constants}
      %start = arith.constant 77 : i32
      %fs = arith.constant 0.5 : f32
      %v = vector.load %x[%c3] : memref<32xf32>, vector<8xf32>
      %w = vector.load %x[%c12] : memref<32xf32>, vector<4xf32>
      %iv = vector.load %ix[%c0] : memref<32xi32>, vector<8xi32>
      %s = vector.shuffle %v, %w [0, 9, 1, 8, 11, 7] : vector<8xf32>, vector<4xf32>
      vector.store %s, %y[%c0] : memref<64xf32>, vector<6xf32>
      %t = vector.shuffle %w, %v [3, 4, 11, 0] : vector<4xf32>, vector<8xf32>
      vector.store %t, %y[%c6] : memref<64xf32>, vector<4xf32>
      %at = memref.load %n[%c0] : memref<3xindex>
      %e = vector.extract %v[%at] : f32 from vector<8xf32>
      %f = vector.extract %v[2] : f32 from vector<8xf32>
      %g = arith.addf %e, %f : f32
      %p = vector.insert %g, %v[%at] : f32 into vector<8xf32>
      %q = vector.insert %g, %p[7] : f32 into vector<8xf32>
      vector.store %q, %y[%c10] : memref<64xf32>, vector<8xf32>
      %many = memref.load %n[%c1] : memref<3xindex>
      %mask = vector.create_mask %many : vector<8xi1>
      %rest = vector.broadcast %f : f32 to vector<8xf32>
      %ld = vector.maskedload %x[%c19], %mask, %rest : memref<32xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
      %over = memref.load %n[%c2] : memref<3xindex>
      %all = vector.create_mask %over : vector<8xi1>
      %two = vector.create_mask %c2 : vector<8xi1>
      %at18 = arith.addi %c10, %c8 : index
      vector.maskedstore %y[%at18], %all, %ld : memref<64xf32>, vector<8xi1>, vector<8xf32>
      %at30 = arith.addi %at18, %c12 : index
      vector.maskedstore %y[%at30], %two, %ld : memref<64xf32>, vector<8xi1>, vector<8xf32>
      %bits = vector.bitcast %v : vector<8xf32> to vector<16xi16>
      %back = vector.bitcast %bits : vector<16xi16> to vector<8xf32>
      %fma = vector.fma %v, %back, %q : vector<8xf32>
      %step = vector.step : vector<8xindex>
      %si = arith.index_cast %step : vector<8xindex> to vector<8xi32>
      %sf = arith.sitofp %si : vector<8xi32> to vector<8xf32>
      %sum = arith.addf %fma, %sf : vector<8xf32>
      %at40 = arith.addi %at30, %c10 : index
      vector.store %sum, %y[%at40] : memref<64xf32>, vector<8xf32>
      {reductions}
      {floats_}
      return
    }}"""
    data = [floats(32), RNG.integers(-99, 99, 32).astype(np.int32), np.array([5, 3, 2**40], np.int64)]
    agree(text, [*data, floats(64), np.zeros(32, np.int32), np.zeros(32, np.float32)])
    data[2][:] = [0, -4, -1]
    agree(text, [*data, floats(64), np.zeros(32, np.int32), np.zeros(32, np.float32)])


@needs_stock_mlir
def test_gather():
    text = """
    func.func @f(%x: memref<4x16xf32>, %at: memref<8xi32>, %y: memref<8xf32>) attributes {llvm.emit_c_interface} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c6 = arith.constant 6 : index
      %rest = arith.constant dense<7.0> : vector<8xf32>
      %mask = vector.create_mask %c6 : vector<8xi1>
      %i = vector.load %at[%c0] : memref<8xi32>, vector<8xi32>
      %v = vector.gather %x[%c2, %c1] [%i], %mask, %rest
          : memref<4x16xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
      vector.store %v, %y[%c0] : memref<8xf32>, vector<8xf32>
      return
    }"""
    indices = np.array([3, 0, 14, -33, 7, 7, 10**9, -(10**9)], np.int32)
    agree(text, [floats(4, 16), indices, np.zeros(8, np.float32)])


@needs_stock_mlir
def test_branches_between_blocks():
    """cf in a function, with a branch of two edges to one block."""
    text = """
    func.func @f(%x: memref<4xi64>) attributes {llvm.emit_c_interface} {
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      %one = arith.constant 1 : i64
      %zero = arith.constant 0 : i64
      %v = memref.load %x[%c0] : memref<4xi64>
      cf.br ^loop(%v, %zero : i64, i64)
    ^loop(%a: i64, %n: i64):
      %odd = arith.trunci %a : i64 to i1
      %half = arith.shrsi %a, %one : i64
      %more = arith.addi %n, %one : i64
      cf.cond_br %odd, ^next(%more : i64), ^next(%n : i64)
    ^next(%m: i64):
      %done = arith.cmpi eq, %half, %zero : i64
      cf.cond_br %done, ^end, ^loop(%half, %m : i64, i64)
    ^end:
      cf.switch %m : i64, [
        default: ^store(%m : i64),
        5: ^store(%v : i64)
      ]
    ^store(%r: i64):
      memref.store %r, %x[%c3] : memref<4xi64>
      return
    }"""
    for value in (0b1011, 0b11111, 0):
        array = np.array([value, 0, 0, 0], np.int64)
        agree(text, [array])
        ones = bin(value).count("1")
        assert array[3] == (value if ones == 5 else ones)


@pytest.mark.parametrize("scalar", [True, False])
def test_library_functions_of_f64(scalar: bool):
    shape = "f64" if scalar else "vector<16xf64>"
    names = "exp log tanh erf sin cos atan expm1 log1p cbrt".split()
    lines = [f"%r{i} = math.{name} %a0 : {shape}" for i, name in enumerate(names)]
    text = elementwise("\n    ".join(lines), ["f64"] * (1 + len(names)), 16, len(names), scalar)
    x, *results = [np.abs(RNG.standard_normal(16)), *(np.zeros(16) for _ in names)]
    run(text, [x, *results])
    for name, result in zip(names, results, strict=True):
        np.testing.assert_array_equal(result, [getattr(math, name)(v) for v in x], err_msg=name)


def test_refusals():
    """What cannot be converted says what and what to do; reject.mlir has those that name an operation."""

    def message(body: str, args: str = "%x: memref<4xf32>") -> str:
        with pytest.raises(OpError) as caught:
            lowered(f"func.func @f({args}) {{\n {body}\n return }}")
        return str(caught.value)

    index = "%c0 = arith.constant 0 : index\n"
    assert "an i1 has no place in memory" in message("", "%x: memref<4xi1>")
    assert "vectors have one dimension" in message(
        index + "%v = vector.load %x[%c0, %c0] : memref<4x4xf32>, vector<2x2xf32>", "%x: memref<4x4xf32>"
    )
    assert "the last dimension of memref<4x4xf32, strided<[1, 4]>> is strided" in message(
        index + "%v = vector.load %x[%c0, %c0] : memref<4x4xf32, strided<[1, 4]>>, vector<4xf32>",
        "%x: memref<4x4xf32, strided<[1, 4]>>",
    )
    assert "no conversion of this operation" in message('%r = "memref.rank"(%x) : (memref<4xf32>) -> index')
