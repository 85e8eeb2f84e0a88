"""The shape function of a program with open dimensions: the shapes of its outputs, and whether sizes fit together.

`@main.shapes(%n0: index, ...) -> (%failed, %left, %right, %m0, ... : index)` takes the open sizes of the inputs in
order. It gives the number of the first check that fails (0 for none) with the two sizes that must be equal, and the
open sizes of the outputs in order. Its attribute `checks` has a text for each check, which names the source operator.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, StringAttr, TensorType
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from relay_mlir.dialects.relay.dims import Dim, Quotient, substitute
from relay_mlir.dialects.relay.sizes import Requirement, SizeOf, Sizes
from relay_mlir.dialects.relay.types import ANY, Shape
from relay_mlir.lowering.diagnostics import OpError
from relay_mlir.lowering.locations import file_location, names_of


@dataclass
class Summary:
    """What a lowered function says to its callers: the shapes of its results, and what it demands of its arguments."""

    results: list[Shape]
    requirements: list[Requirement]


def shape_function(main: func.FuncOp, summary: Summary) -> func.FuncOp | None:
    """The shape function of a program; None where no dimension of an input or output is open."""
    arguments = [arg for arg in main.body.block.args if isinstance(arg.type, TensorType)]
    places = [
        SizeOf(arg, place)
        for arg in arguments
        for place, size in enumerate(cast("TensorType[Attribute]", arg.type).get_shape())
        if size == ANY
    ]
    outputs = [size for shape in summary.results for size in shape if isinstance(size, Dim)]
    if not places and not outputs:
        return None
    block = Block(arg_types=[IndexType()] * len(places))
    values = dict(zip(places, block.args, strict=True))

    def of(atom: Hashable) -> int:
        if not isinstance(atom, SizeOf) or atom not in values:
            raise OpError(main, "the shape of an output depends on data; only shapes that follow from shapes compile")
        return Dim.atom(values[atom])

    names = _names(main, arguments)
    builder, sizes = Builder(InsertPoint.at_end(block)), Sizes(block)

    def value(size: int) -> SSAValue:
        return sizes.index(substitute(size, of), builder, main.location)

    checked = [(value(r.left), value(r.right), "sgt" if r.at_most else "ne") for r in summary.requirements]
    results = _checks(builder, checked)
    results += [value(size) for size in outputs]
    builder.insert(func.ReturnOp(*results))
    made = func.FuncOp(
        "main.shapes", ([IndexType()] * len(places), [IndexType()] * len(results)), Region(block), "private"
    )
    made.attributes["checks"] = ArrayAttr([StringAttr(_text(r, names)) for r in summary.requirements])
    made.location = main.location
    return made


def _checks(builder: Builder, pairs: Sequence[tuple[SSAValue, SSAValue, str]]) -> list[SSAValue]:
    """The number of the first pair for which a comparison holds that must not, and the pair."""

    def constant(number: int) -> SSAValue:
        return builder.insert(arith.ConstantOp(IntegerAttr(number, IndexType()))).result

    zero = constant(0)
    found: list[SSAValue] = [zero, zero, zero]
    for number, (left, right, failure) in reversed(list(enumerate(pairs, 1))):
        differ = builder.insert(arith.CmpiOp(left, right, failure)).result
        mine = [constant(number), left, right]
        found = [builder.insert(arith.SelectOp(differ, a, b)).result for a, b in zip(mine, found, strict=True)]
    return found


def _names(main: func.FuncOp, arguments: Sequence[SSAValue]) -> dict[SSAValue, str]:
    """What messages call the inputs."""
    attribute = main.attributes.get("input_names")
    given = [name.data for name in cast("ArrayAttr[StringAttr]", attribute)] if attribute is not None else []
    names: dict[SSAValue, str] = {}
    for number, argument in enumerate(arguments):
        names[argument] = given[number] if number < len(given) else argument.name_hint or f"input {number}"
    return names


def _text(requirement: Requirement, names: dict[SSAValue, str]) -> str:
    """What a failed check says; the two sizes follow."""
    nodes = names_of(requirement.location)
    position = file_location(requirement.location)
    where = ", ".join(nodes[:3])
    if not where and position is not None:
        where = f"{position.filename.data}:{position.line.data}"
    left, right = _describe(requirement.left, names), _describe(requirement.right, names)
    text = f"{left} must be at most {right}" if requirement.at_most else f"{left} and {right} must be equal"
    return f"{where}: {text}" if where else text


def _describe(size: int, names: dict[SSAValue, str]) -> str:
    """A size in terms of the shapes of the inputs."""
    if not isinstance(size, Dim):
        return str(size)
    parts: list[str] = []
    for product, factor in cast(Dim, size).terms.items():
        factors = [_atom(atom, names) for atom, power in product for _ in range(power)]
        parts.append(" * ".join([*([str(factor)] if factor != 1 or not factors else []), *factors]))
    return " + ".join(parts)


def _atom(atom: Hashable, names: dict[SSAValue, str]) -> str:
    match atom:
        case SizeOf(value, position):
            return f"{names[value]}.shape[{position}]"
        case Quotient(dividend, divisor):
            return f"(({_describe(cast(int, dividend), names)}) // {divisor})"
        case _:
            return str(atom)
