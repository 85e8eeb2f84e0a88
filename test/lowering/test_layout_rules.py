"""Each layout rule computes on permuted data what the operator computes on the data; checked with numpy's transpose."""

import itertools

import numpy as np
import pytest

from relay_mlir.dialects.relay import core
from relay_mlir.dialects.relay.activation import LeakyRelu, PRelu
from relay_mlir.dialects.relay.adaptive_pool import AdaptiveAvgPool2D
from relay_mlir.dialects.relay.argreduce import ArgMax
from relay_mlir.dialects.relay.channelwise import BatchNorm, BiasAdd
from relay_mlir.dialects.relay.comparison import Where
from relay_mlir.dialects.relay.conv import Conv2D
from relay_mlir.dialects.relay.conv_transpose import Conv2DTranspose
from relay_mlir.dialects.relay.conversion import Clip
from relay_mlir.dialects.relay.create import ZerosLike
from relay_mlir.dialects.relay.elementwise_binary import Add, Subtract
from relay_mlir.dialects.relay.global_pool import GlobalMaxPool2D
from relay_mlir.dialects.relay.image import Resize2D
from relay_mlir.dialects.relay.join import Concatenate, Split
from relay_mlir.dialects.relay.l2_normalize import L2Normalize
from relay_mlir.dialects.relay.lrn import LRN
from relay_mlir.dialects.relay.matmul import Dense
from relay_mlir.dialects.relay.norm import GroupNorm, InstanceNorm, LayerNorm
from relay_mlir.dialects.relay.op import Operator, RelayOp
from relay_mlir.dialects.relay.pad import Pad
from relay_mlir.dialects.relay.pool import AvgPool2D, MaxPool2D
from relay_mlir.dialects.relay.reduce import Max, Mean, Sum
from relay_mlir.dialects.relay.reshape import BatchFlatten, BroadcastTo, ExpandDims, Reshape, ReshapeLike, Squeeze
from relay_mlir.dialects.relay.scan import CumSum
from relay_mlir.dialects.relay.slice import Repeat, Reverse, StridedSlice, Tile
from relay_mlir.dialects.relay.softmax import LogSoftmax, Softmax
from relay_mlir.dialects.relay.space import DepthToSpace, SpaceToDepth
from relay_mlir.dialects.relay.transpose import Transpose
from relay_mlir.dialects.relay.types import type_of
from relay_mlir.lowering.layout_rules import RULES, Plan, plan_for
from relay_mlir.lowering.permutations import Permutation, inverse, moves_data, reshaped

NCHW = (2, 4, 6, 8)

CASES: list[tuple[Operator, list[tuple[int, ...]]]] = [
    (LeakyRelu(alpha=0.5), [NCHW]),
    (Clip(a_min=-0.5, a_max=0.5), [NCHW]),
    (Add(), [NCHW, NCHW]),
    (Subtract(), [NCHW, (4, 1, 1)]),
    (Subtract(), [(6, 8), NCHW]),
    (Subtract(), [(1, 4, 1, 8), NCHW]),
    (Add(), [NCHW, ()]),
    (Add(), [NCHW, (1,)]),
    (PRelu(axis=1), [NCHW, (4,)]),
    (BiasAdd(axis=-3), [NCHW, (4,)]),
    (BatchNorm(axis=1), [NCHW, (4,), (4,), (4,), (4,)]),
    (LRN(size=3), [NCHW]),
    (Split(indices_or_sections=(1, 3), axis=1), [NCHW]),
    (Reverse(axis=2), [NCHW]),
    (Repeat(repeats=2, axis=1), [NCHW]),
    (CumSum(axis=2), [NCHW]),
    (Softmax(axis=1), [NCHW]),
    (LogSoftmax(axis=-1), [NCHW]),
    (LayerNorm(axis=-1), [NCHW, (8,), (8,)]),
    (GroupNorm(axis=1, num_groups=2), [NCHW, (4,), (4,)]),
    (InstanceNorm(axis=1), [NCHW, (4,), (4,)]),
    (L2Normalize(eps=1e-6, axis=(1, -1)), [NCHW]),
    (Concatenate(axis=1), [NCHW, (2, 1, 6, 8), NCHW]),
    (Sum(axis=(1, 3)), [NCHW]),
    (Max(axis=(0,), exclude=True), [NCHW]),
    (Mean(axis=(2, 3), keepdims=True), [NCHW]),
    (Mean(), [NCHW]),
    (ArgMax(axis=(1,)), [NCHW]),
    (MaxPool2D(pool_size=(2, 3), strides=(2, 1), padding=(1, 0, 0, 2)), [NCHW]),
    (AvgPool2D(pool_size=(2, 3)), [NCHW]),
    (GlobalMaxPool2D(), [NCHW]),
    (AdaptiveAvgPool2D(output_size=(3, 2)), [NCHW]),
    (DepthToSpace(block_size=2), [NCHW]),
    (SpaceToDepth(block_size=2), [NCHW]),
    (Conv2D(strides=(1, 2), padding=(1, 0, 0, 1), groups=2), [NCHW, (6, 2, 3, 2)]),
    (Conv2DTranspose(strides=(1, 2), groups=2), [NCHW, (4, 3, 3, 2)]),
    (Dense(), [(2, 3, 4), (5, 4)]),
    (Pad(pad_width=((0, 0), (1, 0), (2, 3), (0, -1))), [NCHW, ()]),
    (StridedSlice(begin=(1, 0), end=(3, 5), strides=(1, 2)), [NCHW]),
    (StridedSlice(begin=(-1,), end=(-9,), strides=(-1,), axes=(-1,)), [NCHW]),
    (Tile(reps=(2, 1, 3)), [NCHW]),
    (BroadcastTo(shape=(2, 4, 6, 8)), [(2, 1, 6, 1)]),
    (Reshape(newshape=(2, 2, 2, 6, 8)), [NCHW]),
    (Reshape(newshape=(2, 4, 48)), [NCHW]),
    (Reshape(newshape=(8, 6, 1, 8)), [NCHW]),
    (Squeeze(axis=(1,)), [(2, 1, 6, 8)]),
    (ExpandDims(axis=2, num_newaxis=2), [NCHW]),
    (BatchFlatten(), [NCHW]),
    (ReshapeLike(), [NCHW, (2, 24, 8)]),
    (Resize2D(size=(3, 16)), [NCHW]),
    (ZerosLike(), [NCHW]),
]


def constants(shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    """Positive operands with no two equal elements."""
    rng = np.random.default_rng(0)
    return [np.asarray(rng.permutation(int(np.prod(shape))) / 16 + 0.25, np.float32).reshape(shape) for shape in shapes]


def apply(operator: Operator, args: list[np.ndarray]) -> RelayOp:
    return operator.on(*(core.WeightOp(f"w{i}", type_of(arg)).result for i, arg in enumerate(args)))


def broadcast_operand(arg: np.ndarray, p: Permutation) -> np.ndarray:
    """The operand permuted, with dimensions of 1 put in front first."""
    return arg.reshape((1,) * (len(p) - arg.ndim) + arg.shape).transpose(p)


def check_plan(plan: Plan, operator: Operator, args: list[np.ndarray]) -> None:
    moved = [arg if q is None else broadcast_operand(arg, q) for arg, q in zip(args, plan.operands, strict=False)]
    expected = operator.evaluate(args)
    found = plan.operator.evaluate([np.ascontiguousarray(arg) for arg in moved])
    assert len(found) == len(expected) == len(plan.results)
    for got, want, q in zip(found, expected, plan.results, strict=True):
        np.testing.assert_allclose(got, want.transpose(q), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("operator", "shapes"), CASES, ids=lambda v: getattr(v, "name", None))
def test_rule(operator: Operator, shapes: list[tuple[int, ...]]):
    args = constants(shapes)
    op = apply(operator, args)
    rank = max(len(shape) for shape in shapes)
    applied = 0
    for p in itertools.permutations(range(rank)):
        plan = plan_for(op, p)
        if plan is not None:
            applied += 1
            check_plan(plan, operator, args)
    assert applied >= 2, "no rule applies to any permutation but the identity"


def test_where_has_the_rule_of_its_family():
    condition = np.arange(np.prod(NCHW)).reshape(NCHW) % 3 == 0
    args = [condition, *constants([NCHW, NCHW])]
    plan = plan_for(apply(Where(), args), (0, 2, 3, 1))
    assert plan is not None
    check_plan(plan, Where(), args)


def test_every_rule_is_tested():
    tested = [type(operator) for operator, _ in CASES]
    for cls in RULES:
        assert any(issubclass(each, cls) for each in tested), cls


@pytest.mark.parametrize(
    ("operator", "shapes", "p"),
    [
        (Softmax(axis=-1), [NCHW], (0, 3, 1, 2)),  # would leave the last dimension
        (GroupNorm(num_groups=2), [NCHW, (4,), (4,)], (1, 0, 2, 3)),  # dimension 0 is the batch
        (ArgMax(axis=None), [NCHW], (0, 2, 3, 1)),  # counts in row-major order
        (Dense(), [(2, 3, 4), (5, 4)], (0, 2, 1)),  # reads the last dimension
        (CumSum(axis=None), [NCHW], (0, 2, 3, 1)),  # flattens
        (DepthToSpace(block_size=2), [NCHW], (1, 0, 2, 3)),  # NCHW and NHWC only
        (Transpose(), [NCHW], (0, 2, 3, 1)),  # no rule
        (ReshapeLike(), [(8, 48), NCHW], (0, 2, 3, 1)),  # a permutation of another operand
        (Subtract(), [(6, 8), (8,)], (0, 2, 3, 1)),  # a permutation of more dimensions
    ],
    ids=lambda v: getattr(v, "name", None),
)
def test_no_plan(operator: Operator, shapes: list[tuple[int, ...]], p: Permutation):
    assert plan_for(apply(operator, constants(shapes)), p) is None


RESHAPES = [
    ((2, 3, 4), (6, 4)),
    ((6, 4), (2, 3, 2, 2)),
    ((1, 6, 1, 4), (6, 1, 2, 2, 1)),
    ((1, 1), ()),
    ((1, 4, 3, 5, 5), (1, 12, 5, 5)),
    ((2, 3, 4), (4, 3, 2)),
]


@pytest.mark.parametrize(("before", "after"), RESHAPES)
def test_reshaped(before: tuple[int, ...], after: tuple[int, ...]):
    data = np.arange(np.prod(before)).reshape(before)
    for p in itertools.permutations(range(len(before))):
        found = reshaped(before, after, p)
        assert found is not None
        q, r = found
        assert sorted(q) == list(range(len(before)))
        assert sorted(r) == list(range(len(after)))
        want = data.reshape(after).transpose(r)
        np.testing.assert_array_equal(data.transpose(q).reshape(want.shape), want)


def test_reshaped_leaves_data_that_it_does_not_join():
    assert reshaped((2, 3, 4), (6, 4), (2, 0, 1)) == ((2, 0, 1), (1, 0))
    assert reshaped((2, 3, 1, 1), (2, 3), (0, 2, 3, 1)) == ((0, 2, 3, 1), (0, 1))
    assert reshaped((0, 3), (3, 0), (1, 0)) is None


def test_moves_data():
    assert not moves_data((2, 3, 1, 1), (0, 2, 3, 1))
    assert moves_data((2, 3, 2, 1), (0, 2, 3, 1))


def test_inverse():
    assert inverse((2, 0, 1)) == (1, 2, 0)
