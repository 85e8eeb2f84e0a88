"""Programs of the whole relay language for tests: a prelude of functions on lists, and compiling programs on it."""

import re
from collections.abc import Mapping

import numpy as np

from relay_mlir.dialects.relay.weights import WeightStore
from relay_mlir.lowering.ir_text import SourceText, parse_ir
from relay_mlir.lowering.verifier import verify_module
from relay_mlir.runtime.compiler import Options, compile_module, executable, make_context
from relay_mlir.runtime.executable import Executable

PRELUDE = """
relay.adt @List<A> {
  relay.constructor @Nil
  relay.constructor @Cons($A, $LA)
}
relay.adt @Option<A> {
  relay.constructor @Some($A)
  relay.constructor @None
}
relay.func private @foldr(%f: ($A, $B) -> $B, %z: $B, %xs: $LA) -> $B attributes {type_params = ["A", "B"]} {
  %r = relay.match %xs : $LA -> $B {
  case @Nil {
    relay.yield %z : $B
  }
  case @Cons(%x: $A, %rest: $LA) {
    %t = relay.call @foldr(%f, %z, %rest) : (($A, $B) -> $B, $B, $LA) -> $B
    %y = relay.apply %f(%x, %t) : ($A, $B) -> $B, ($A, $B) -> $B
    relay.yield %y : $B
  }
  }
  relay.return %r : $B
}
relay.func private @foldl(%f: ($B, $A) -> $B, %z: $B, %xs: $LA) -> $B attributes {type_params = ["A", "B"]} {
  %r = relay.match %xs : $LA -> $B {
  case @Nil {
    relay.yield %z : $B
  }
  case @Cons(%x: $A, %rest: $LA) {
    %y = relay.apply %f(%z, %x) : ($B, $A) -> $B, ($B, $A) -> $B
    %t = relay.call @foldl(%f, %y, %rest) : (($B, $A) -> $B, $B, $LA) -> $B
    relay.yield %t : $B
  }
  }
  relay.return %r : $B
}
relay.func private @map(%f: ($A) -> $B, %xs: $LA) -> $LB attributes {type_params = ["A", "B"]} {
  %r = relay.match %xs : $LA -> $LB {
  case @Nil {
    %n = relay.construct @Nil() : () -> $LB
    relay.yield %n : $LB
  }
  case @Cons(%x: $A, %rest: $LA) {
    %y = relay.apply %f(%x) : ($A) -> $B, ($A) -> $B
    %ys = relay.call @map(%f, %rest) : (($A) -> $B, $LA) -> $LB
    %c = relay.construct @Cons(%y, %ys) : ($B, $LB) -> $LB
    relay.yield %c : $LB
  }
  }
  relay.return %r : $LB
}
relay.func private @filter(%f: ($A) -> $bool, %xs: $LA) -> $LA attributes {type_params = ["A"]} {
  %r = relay.match %xs : $LA -> $LA {
  case @Nil {
    %n = relay.construct @Nil() : () -> $LA
    relay.yield %n : $LA
  }
  case @Cons(%x: $A, %rest: $LA) {
    %keep = relay.apply %f(%x) : ($A) -> $bool, ($A) -> $bool
    %l = relay.if %keep : $bool -> ($LA) {
      %ys = relay.call @filter(%f, %rest) : (($A) -> $bool, $LA) -> $LA
      %c = relay.construct @Cons(%x, %ys) : ($A, $LA) -> $LA
      relay.yield %c : $LA
    } else {
      %ys = relay.call @filter(%f, %rest) : (($A) -> $bool, $LA) -> $LA
      relay.yield %ys : $LA
    }
    relay.yield %l : $LA
  }
  }
  relay.return %r : $LA
}
relay.func private @id(%x: $A) -> $A attributes {type_params = ["A"]} {
  relay.return %x : $A
}
relay.func private @range(%n: $int, %acc: $Lint) -> $Lint {
  %zero = relay.constant dense<0> : $int
  %one = relay.constant dense<1> : $int
  %done = relay.equal %n, %zero : ($int, $int) -> $bool
  %r = relay.if %done : $bool -> ($Lint) {
    relay.yield %acc : $Lint
  } else {
    %m = relay.subtract %n, %one : ($int, $int) -> $int
    %c = relay.construct @Cons(%m, %acc) : ($int, $Lint) -> $Lint
    %l = relay.call @range(%m, %c) : ($int, $Lint) -> $Lint
    relay.yield %l : $Lint
  }
  relay.return %r : $Lint
}
"""
"""`range n []` is the list of 0 to n - 1."""

SHORT = {
    "LA": "!relay.adt<@List<!relay.type_var<A>>>",
    "LB": "!relay.adt<@List<!relay.type_var<B>>>",
    "Lint": "!relay.adt<@List<tensor<i32>>>",
    "Lfloat": "!relay.adt<@List<tensor<f32>>>",
    "Lvec": "!relay.adt<@List<tensor<4xf32>>>",
    "A": "!relay.type_var<A>",
    "B": "!relay.type_var<B>",
    "C": "!relay.type_var<C>",
    "int": "tensor<i32>",
    "long": "tensor<i64>",
    "float": "tensor<f32>",
    "bool": "tensor<i1>",
    "vec": "tensor<4xf32>",
}
"""What `$name` stands for in the text of programs."""


def full_text(text: str, *, prelude: bool = True) -> str:
    """The text of a program without abbreviations."""
    return re.sub(r"\$(\w+)", lambda found: SHORT[found[1]], (PRELUDE if prelude else "") + text)


def compile_text(
    text: str,
    weights: Mapping[str, np.ndarray] | None = None,
    *,
    prelude: bool = True,
    prefix: str = "relay_model",
    options: Options | None = None,
) -> Executable:
    """Compiles a program."""
    ctx = make_context()
    ctx.weights = WeightStore()
    for key, value in (weights or {}).items():
        ctx.weights.add(key, value)
    module = parse_ir(ctx, SourceText(full_text(text, prelude=prelude), "test.mlir"))
    verify_module(module)
    return executable(compile_module(module, ctx, options or Options(prefix=prefix)))


def run_text(text: str, *arrays: np.ndarray, weights: Mapping[str, np.ndarray] | None = None) -> list[np.ndarray]:
    """The outputs of a program, which must leave no object behind."""
    compiled = compile_text(text, weights)
    outputs = compiled(**{f"x{i}": array for i, array in enumerate(arrays)})
    assert compiled.live_objects() == 0
    assert compiled.unreleased_objects() == 0
    return list(outputs.values())
