"""The pass manager as a library: what it returns, raises, calls and keeps."""

from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, NameLoc, UnknownLoc, i1, i32
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.errors import CompileError
from relay_mlir.lowering.diagnostics import OpError, op_of
from relay_mlir.lowering.dominance import immediate_dominators, verify_dominance
from relay_mlir.lowering.ir_text import parse_text
from relay_mlir.lowering.locations import describe_origin
from relay_mlir.lowering.pass_manager import PassError, PassRun, run_passes, up_to
from relay_mlir.lowering.pass_spec import PipelineError, parse_passes
from relay_mlir.lowering.pipeline import PIPELINES
from relay_mlir.tools.driver import make_context

TEXT = """func.func @f(%x: i32) -> i32 {
  %y = arith.addi %x, %x : i32 loc("/a/Add")
  %z = arith.muli %y, %x : i32 loc(fused["/b/Mul", "/c/Mul"])
  func.return %z : i32
}
"""


def parsed() -> tuple[Context, ModuleOp]:
    ctx = make_context()
    return ctx, parse_text(ctx, TEXT)


def find(module: ModuleOp, name: str) -> Operation:
    return next(op for op in module.walk() if op.name == name)


class _AddToSub(RewritePattern):
    """`x + y` becomes `x - (0 - y)`: three operations for one, and one beside it."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.AddiOp, rewriter: PatternRewriter, /) -> None:
        zero = rewriter.insert(arith.ConstantOp.from_int_and_width(0, i32))
        negative = arith.SubiOp(zero.result, op.rhs)
        rewriter.replace(op, [negative, arith.SubiOp(op.lhs, negative.result)])


class _Rewrite(ModulePass):
    """Applies the pattern, and builds an operation without a rewriter."""

    name = "test-rewrite"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(_AddToSub()).rewrite_module(op)
        mul = find(op, "arith.muli")
        assert mul.parent is not None
        mul.parent.insert_op_before(one := arith.ConstantOp.from_int_and_width(1, i32), mul)
        mul.operands[1] = one.result


def test_locations_are_kept():
    ctx, module = parsed()
    run_passes(ctx, module, [_Rewrite()])
    origins = {op.name: describe_origin(op) for op in module.walk() if op.name != "arith.constant"}
    assert origins["arith.subi"] == '"/a/Add"'
    assert origins["arith.muli"] == '"/b/Mul", "/c/Mul"'
    constants = [describe_origin(op) for op in module.walk() if op.name == "arith.constant"]
    assert constants == ['"/a/Add"', '"/b/Mul", "/c/Mul"']
    assert isinstance(find(module, "arith.subi").location, NameLoc)


def test_runs_and_callback():
    ctx, module = parsed()
    seen: list[str] = []
    passes = [*parse_passes("cse"), _Rewrite()]
    runs = run_passes(ctx, module, passes, on_pass=lambda run, _: seen.append(run.name), compare=True)
    assert seen == ["cse", "test-rewrite"]
    assert [run.changed for run in runs] == [False, True]
    assert all(run.seconds >= 0 and run.peak_bytes > 1 << 20 for run in runs)


class _Refuse(ModulePass):
    """Cannot do something with an operation."""

    name = "test-refuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise OpError(find(op, "arith.muli"), "cannot be multiplied")


class _RefuseInPattern(ModulePass):
    """As `_Refuse`, from a pattern, where xDSL wraps the exception."""

    name = "test-refuse-pattern"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        class Pattern(RewritePattern):
            @op_type_rewrite_pattern
            def match_and_rewrite(self, op: arith.MuliOp, rewriter: PatternRewriter, /) -> None:
                raise VerifyException("cannot be multiplied")

        PatternRewriteWalker(Pattern()).rewrite_module(op)


@pytest.mark.parametrize("pass_", [_Refuse(), _RefuseInPattern()])
def test_refusal_names_pass_operation_and_origin(pass_: ModulePass, tmp_path: Path):
    ctx, module = parsed()
    with pytest.raises(PassError) as caught:
        run_passes(ctx, module, [*parse_passes("cse"), pass_], dump=tmp_path)
    error = caught.value
    assert str(error) == (f"pass '{pass_.name}': 'arith.muli' op cannot be multiplied [from \"/b/Mul\", \"/c/Mul\"]")
    assert (error.index, error.internal) == (1, False)
    assert error.op is find(module, "arith.muli")
    assert [path.name for path in tmp_path.iterdir()] == ["00-input.mlir"]


class _Break(ModulePass):
    """Leaves an operation with a result of another type than its operands."""

    name = "test-break"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        add = find(op, "arith.addi")
        assert add.parent is not None
        wrong = arith.AddiOp.create(operands=list(add.operands), result_types=[i1], properties=dict(add.properties))
        add.parent.insert_op_before(wrong, add)


class _Nothing(ModulePass):
    """Changes nothing."""

    name = "test-nothing"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


def test_verifies_after_every_pass_or_the_named_ones():
    ctx, module = parsed()
    run_passes(ctx, module, [_Break()], verify=("test-nothing",))
    with pytest.raises(PassError, match="test-nothing"):
        run_passes(ctx, module, [_Nothing()], verify=("test-nothing",))
    ctx, module = parsed()
    with pytest.raises(PassError, match="test-break"):
        run_passes(ctx, module, [_Break()])


def test_up_to():
    passes = parse_passes("cse,dce,cse,canonicalize")
    assert len(up_to(passes, "cse")) == 1
    assert len(up_to(passes, "cse:2")) == 3
    assert len(up_to(passes, None)) == 4
    for wrong in ("cse:3", "cse:0", "cse:x", "fuse-ops"):
        with pytest.raises(CompileError):
            up_to(passes, wrong)


def test_named_pipelines_may_stand_among_passes():
    names = [pass_.name for pass_ in parse_passes("cse, relay, dce")]
    assert names[0] == "cse"
    assert names[-1] == "dce"
    assert "fuse-ops" in names
    with pytest.raises(PipelineError, match="takes no options"):
        parse_passes("relay{a=1}")


def test_dominance_of_a_module_in_memory():
    _, module = parsed()
    add, mul = find(module, "arith.addi"), find(module, "arith.muli")
    verify_dominance(module)
    add.detach()
    assert mul.parent is not None
    mul.parent.insert_op_after(add, mul)
    with pytest.raises(OpError, match="operand 0 %y is used before it is defined") as caught:
        verify_dominance(module)
    assert op_of(caught.value) is mul


def test_immediate_dominators():
    """A loop with two exits, and a block that nothing reaches."""
    text = """func.func @f(%c: i1) {
  cf.br ^head
^head:
  cf.cond_br %c, ^left, ^right
^left:
  cf.cond_br %c, ^head, ^end
^right:
  cf.br ^end
^end:
  func.return
^dead:
  cf.br ^end
}"""
    module = parse_text(make_context(), text)
    blocks = list(find(module, "func.func").regions[0].blocks)
    entry, head, left, right, end, _ = blocks
    found = immediate_dominators(blocks[0].parent) if blocks[0].parent else {}
    assert found == {entry: entry, head: entry, left: head, right: head, end: head}


NETWORK = """relay.func @main(%x: tensor<1x3x8x8xf32>) -> tensor<1x4x6x6xf32> {
  %w = relay.constant dense<0.5> : tensor<4x3x3x3xf32> loc("/conv/weight")
  %0 = relay.nn.conv2d %x, %w : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32> loc("/conv/Conv")
  %1 = relay.nn.relu %0 : tensor<1x4x6x6xf32> loc("/conv/Relu")
  relay.return %1 : tensor<1x4x6x6xf32> loc("/output")
}
"""


def test_every_operation_has_a_location_after_every_pass():
    ctx = make_context()
    module = parse_text(ctx, NETWORK)
    lost: list[str] = []

    def check(run: PassRun, module: ModuleOp) -> None:
        ops = [op for op in module.walk() if op is not module]
        assert ops
        lost.extend(f"{run.name}: {op.name}" for op in ops if isinstance(op.location, UnknownLoc))

    runs = run_passes(ctx, module, parse_passes("cpu"), on_pass=check)
    assert len(runs) == len(PIPELINES["cpu"])
    assert not lost
    stores = [op for op in module.walk() if op.name == "llvm.store"]
    assert stores
    assert {describe_origin(op) for op in stores} & {'"/conv/Conv"', '"/conv/Relu"', '"/conv/Conv", "/conv/Relu"'}
