"""What the caller binds of the sizes that an exported program leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.torch.program import Dim, Program, TensorType


def bound_sizes(program: Program, shapes: Mapping[str, Sequence[int] | int]) -> dict[str, int]:
    """The sizes of symbols from shapes bound to inputs and sizes bound to symbols.

    Raises Problem for a name that is neither, and for a shape that contradicts the program.
    """
    inputs = {
        source.name: type_
        for name, type_ in program.graph.inputs
        if (source := program.sources.get(name)) is not None and source.load is None and isinstance(type_, TensorType)
    }
    symbols = {dim.text for type_ in inputs.values() for dim in type_.shape if isinstance(dim, Dim)}
    sizes: dict[str, int] = {}
    for name, bound in shapes.items():
        if isinstance(bound, int) and name in symbols:
            _bind(sizes, name, bound)
        elif name in inputs:
            shape = (bound,) if isinstance(bound, int) else tuple(bound)
            declared = inputs[name].shape
            if len(shape) != len(declared):
                raise Problem(f"the shape {list(shape)} is bound to input '{name}', whose rank is {len(declared)}")
            for dim, size in zip(declared, shape, strict=True):
                if isinstance(dim, Dim) and dim.text in program.limits:
                    _bind(sizes, dim.text, size)
        else:
            known = ", ".join(f"'{known}'" for known in (*inputs, *sorted(symbols)))
            raise Problem(f"'{name}' is bound, but is neither an input nor a size left open; there are {known}")
    _check(program, inputs, shapes, sizes)
    return sizes


def _bind(sizes: dict[str, int], name: str, size: int) -> None:
    if sizes.setdefault(name, size) != size:
        raise Problem(f"the size {name} is bound to both {sizes[name]} and {size}")


def _check(
    program: Program,
    inputs: Mapping[str, TensorType],
    shapes: Mapping[str, Sequence[int] | int],
    sizes: Mapping[str, int],
) -> None:
    """Raises Problem where a size is out of the limits of the export, or a bound shape is not what results."""
    for name, size in sizes.items():
        low, high = program.limits.get(name, (0, size))
        if not low <= size <= high:
            raise Problem(f"the size {name} is bound to {size}, but the program was exported for {low} to {high}")
    for name, bound in shapes.items():
        if name not in inputs:
            continue
        shape = (bound,) if isinstance(bound, int) else tuple(bound)
        for position, (dim, size) in enumerate(zip(inputs[name].shape, shape, strict=True)):
            expected = dim.evaluate(sizes) if isinstance(dim, Dim) else dim
            if expected is not None and expected != size:
                shown = f"{dim.text} = {expected}" if isinstance(dim, Dim) else expected
                raise Problem(
                    f"the shape {list(shape)} is bound to input '{name}', whose dimension {position} is {shown}"
                )
