"""The values of a small program of the linalg level, by numpy: every operation makes a new array, so none can alias."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Operation, SSAValue

Environment = dict[SSAValue, Any]


def function_values(function: FuncOp, args: Sequence[np.ndarray]) -> list[Any]:
    """The results of a function on tensors."""
    block = function.body.block
    return _block(block, dict(zip(block.args, args, strict=True)))


def _block(block: Block, env: Environment) -> list[Any]:
    """What the terminator of a block passes on."""
    for op in block.ops:
        values = [env[operand] for operand in op.operands]
        if op.name in ("scf.yield", "func.return", "linalg.yield"):
            return values
        env.update(zip(op.results, _operation(op, values, env), strict=True))
    raise AssertionError("a block ends without a terminator")


def _operation(op: Operation, values: list[Any], env: Environment) -> list[Any]:
    match op.name:
        case "arith.constant":
            return [op.properties["value"].value.data]
        case "arith.addf":
            return [np.float32(values[0] + values[1])]
        case "arith.subf":
            return [np.float32(values[0] - values[1])]
        case "tensor.empty":
            return [np.full(op.results[0].type.get_shape(), np.nan, np.float32)]
        case "tensor.extract":
            return [values[0][tuple(values[1:])]]
        case "tensor.insert":
            return [_replaced(values[1], tuple(values[2:]), values[0])]
        case "tensor.extract_slice":
            return [values[0][_slices(op)].copy()]
        case "tensor.insert_slice":
            return [_replaced(values[1], _slices(op), values[0])]
        case "linalg.fill":
            return [np.full_like(values[1], values[0])]
        case "linalg.generic":
            return [_generic(op, values, env)]
        case "scf.for":
            return _for(op, values, env)
        case "scf.if":
            assert isinstance(op, scf.IfOp)
            return _block((op.true_region if values[0] else op.false_region).block, dict(env))
        case _:
            raise AssertionError(f"no value of {op.name}")


def _replaced(array: np.ndarray, where: Any, by: Any) -> np.ndarray:
    copy = array.copy()
    copy[where] = by
    return copy


def _slices(op: Operation) -> tuple[slice, ...]:
    parts = (op.properties[f"static_{name}"].get_values() for name in ("offsets", "sizes", "strides"))
    return tuple(slice(low, low + size * step, step) for low, size, step in zip(*parts, strict=True))


def _generic(op: Operation, values: list[Any], env: Environment) -> np.ndarray:
    """One output, whose map is the identity."""
    assert isinstance(op, GenericOp)
    *inputs, out = values
    result = out.copy()
    maps = [attribute.data for attribute in op.indexing_maps.data]
    for position in np.ndindex(*out.shape):
        elements = [
            array[tuple(map_.eval(list(position), []))] for array, map_ in zip([*inputs, result], maps, strict=True)
        ]
        (result[position],) = _block(op.body.block, env | dict(zip(op.body.block.args, elements, strict=True)))
    return result


def _for(op: Operation, values: list[Any], env: Environment) -> list[Any]:
    assert isinstance(op, scf.ForOp)
    low, high, step, *carried = values
    block = op.body.block
    for counter in range(low, high, step):
        carried = _block(block, env | dict(zip(block.args, [counter, *carried], strict=True)))
    return carried
