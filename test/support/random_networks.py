"""Random small convolutional networks as relay programs, for tests that compare a program before and after passes."""

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp, NameLoc, StringAttr, UnknownLoc
from xdsl.ir import Block, Region, SSAValue

from relay_mlir.dialects.relay.activation import LeakyRelu, Relu
from relay_mlir.dialects.relay.channelwise import BatchNorm, BiasAdd
from relay_mlir.dialects.relay.conv import Conv2D
from relay_mlir.dialects.relay.core import FuncOp, ReturnOp, WeightOp
from relay_mlir.dialects.relay.elementwise_binary import Add, Maximum, Multiply
from relay_mlir.dialects.relay.elementwise_unary import Tanh
from relay_mlir.dialects.relay.global_pool import GlobalAvgPool2D
from relay_mlir.dialects.relay.join import Concatenate
from relay_mlir.dialects.relay.matmul import Dense
from relay_mlir.dialects.relay.op import Operator
from relay_mlir.dialects.relay.pool import AvgPool2D, MaxPool2D
from relay_mlir.dialects.relay.reshape import BatchFlatten
from relay_mlir.dialects.relay.types import f32, tensor, type_of
from relay_mlir.dialects.relay.weights import WeightStore


class NetworkBuilder:
    """Grows `@main` on images (2, 4, 9, 9): values stay images of several channels until `finish`."""

    def __init__(self, store: WeightStore, seed: int):
        self.rng = np.random.default_rng(seed)
        self.store = store
        self.block = Block(arg_types=[tensor((2, 4, 9, 9), f32)])
        self.images: list[SSAValue] = [self.block.args[0]]
        self.count = 0

    def emit(self, operator: Operator, *operands: SSAValue) -> SSAValue:
        """Applies an operator, with a location of its own."""
        op = operator.on(*operands)
        op.location = NameLoc(StringAttr(f"n{self.count}"), UnknownLoc())
        self.count += 1
        self.block.add_op(op)
        return op.results[0]

    def weight(self, *shape: int, positive: bool = False) -> SSAValue:
        """A new random weight."""
        array = self.rng.normal(size=shape).astype(np.float32)
        array = np.abs(array) + np.float32(0.5) if positive else array
        key = f"w{len(list(self.store))}"
        self.store.add(key, array)
        op = WeightOp(key, type_of(array))
        op.location = NameLoc(StringAttr(key), UnknownLoc())
        self.block.add_op(op)
        return op.result

    def pick(self) -> SSAValue:
        """One of the latest images."""
        return self.images[-1 - int(self.rng.integers(min(3, len(self.images))))]

    def grow(self) -> None:
        """Adds one random layer."""
        x = self.pick()
        c = x.type.get_shape()[1]
        match int(self.rng.integers(12)):
            case 0 | 1 | 2:
                groups = int(self.rng.choice([1, 2, c] if c % 2 == 0 else [1, c]))
                out = groups * int(self.rng.integers(1, 4))
                kernel = self.weight(out, c // groups, 3, 3)
                y = self.emit(Conv2D(padding=(1, 1, 1, 1), groups=groups), x, kernel)
            case 3:
                statistics = [self.weight(c, positive=k != 1) for k in range(4)]
                y = self.emit(BatchNorm(), x, *statistics)
            case 4:
                y = self.emit(Multiply(), x, self.weight(c, 1, 1, positive=bool(self.rng.integers(2))))
            case 5:
                y = self.emit(Add(), x, self.weight(c, 1, 1))
            case 6:
                y = self.emit(BiasAdd(), x, self.weight(c))
            case 7:
                operators = [Relu(), LeakyRelu(alpha=0.125), Tanh()]
                y = self.emit(operators[int(self.rng.integers(3))], x)
            case 8:
                pool = MaxPool2D if self.rng.integers(2) else AvgPool2D
                y = self.emit(pool(pool_size=(3, 3), strides=(1, 1), padding=(1, 1, 1, 1)), x)
            case 9:
                same = [v for v in self.images if v.type == x.type]
                other = same[int(self.rng.integers(len(same)))]
                y = self.emit(Add() if self.rng.integers(2) else Maximum(), x, other)
            case 10:
                y = self.emit(Concatenate(axis=1), x, self.pick()) if c <= 8 else self.emit(Relu(), x)
            case _:
                gate = self.emit(Tanh(), self.emit(GlobalAvgPool2D(), x))
                y = self.emit(Multiply(), x, gate)
        self.images.append(y)

    def finish(self) -> ModuleOp:
        """The module: returns an image and a classification of the last one."""
        image = self.images[-1]
        features = self.emit(BatchFlatten(), self.emit(GlobalAvgPool2D(), image))
        scores = self.emit(Dense(), features, self.weight(5, features.type.get_shape()[1]))
        returned = [scores, self.pick()]
        self.block.add_op(ReturnOp(*returned))
        type_ = FunctionType.from_lists([v.type for v in self.block.args], [v.type for v in returned])
        module = ModuleOp([FuncOp("main", type_, Region(self.block))])
        module.verify()
        return module


def random_network(store: WeightStore, seed: int, layers: int = 12) -> ModuleOp:
    """A random network whose weights are put into the store."""
    builder = NetworkBuilder(store, seed)
    for _ in range(layers):
        builder.grow()
    return builder.finish()
