"""Pattern matching as a decision tree: each part of a value is tested at most once on the way to a case.

The rows of the tree are the cases that can still match, each with the tests it has left. A node tests the first part
that the first row still has a test for; what the rows demand of it decides the branches. The first row without a test
left is the case that matches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import cf
from xdsl.dialects.builtin import DenseIntElementsAttr, TupleType, VectorType, i32
from xdsl.ir import Attribute, Block, SSAValue

from relay_mlir.dialects.heap.ops import FailOp, FieldOp, TagOp
from relay_mlir.dialects.relay.language import (
    AdtOp,
    ConstructorOp,
    MatchOp,
    constructor_fields,
)
from relay_mlir.dialects.relay.language_types import ADTType
from relay_mlir.dialects.relay.patterns import ConstructorPattern, MatchPattern, TuplePattern, VarPattern
from relay_mlir.lowering.diagnostics import OpError
from relay_mlir.lowering.heap_values import HeapBuilder, field_type


@dataclass(eq=False)
class Part:
    """A part of the matched value."""

    value: SSAValue
    type: Attribute
    fields: Sequence[SSAValue] | None = None
    """The fields of a tuple that the program made just before."""


@dataclass
class _Row:
    """A case that can still match: its tests left, in order, and the variables bound so far."""

    case: int
    tests: list[tuple[Part, MatchPattern, int]]
    """A part, what it must match, and the number of the first variable of that pattern."""
    bound: dict[int, Part] = field(default_factory=dict[int, Part])

    def simplify(self) -> _Row:
        """The row without the tests that every value passes."""
        bound, tests = dict(self.bound), list[tuple[Part, MatchPattern, int]]()
        for part, pattern, first in self.tests:
            if isinstance(pattern, VarPattern):
                bound[first] = part
            elif isinstance(pattern, ConstructorPattern | TuplePattern):
                tests.append((part, pattern, first))
        return _Row(self.case, tests, bound)

    def test_of(self, part: Part) -> MatchPattern | None:
        return next((pattern for tested, pattern, _ in self.tests if tested is part), None)

    def expand(self, part: Part, fields: Sequence[Part]) -> _Row:
        """The row after the test of a part was passed: its fields are to be tested."""
        tests: list[tuple[Part, MatchPattern, int]] = []
        for tested, pattern, first in self.tests:
            if tested is not part:
                tests.append((tested, pattern, first))
                continue
            for inner, each in zip(fields, cast("ConstructorPattern | TuplePattern", pattern).fields, strict=True):
                tests.append((inner, each, first))
                first += each.variables()
        return _Row(self.case, tests, self.bound).simplify()


@dataclass
class _Node:
    """A block of the tree to be written, and the rows that can still match there."""

    block: Block
    rows: list[_Row]


class MatchCompiler:
    """Writes the decision tree of one match."""

    def __init__(
        self,
        op: MatchOp,
        constructors: dict[str, ConstructorOp],
        cases: Sequence[Block],
        new_block: Callable[[], Block],
    ):
        self._op = op
        self._constructors = constructors
        self._cases = cases
        self._new_block = new_block

    def compile(self, block: Block, scrutinee: Part) -> None:
        """Writes the tree from `block` on; a case that matches is a branch to its block, with the variables."""
        rows = [_Row(i, [(scrutinee, pattern, 0)]).simplify() for i, pattern in enumerate(self._op.patterns)]
        nodes = [_Node(block, rows)]
        while nodes:
            node = nodes.pop()
            nodes += reversed(self._write(node))

    def _write(self, node: _Node) -> list[_Node]:
        build = HeapBuilder(node.block, self._op)
        while node.rows and node.rows[0].tests:
            part, pattern, _ = node.rows[0].tests[0]
            if isinstance(pattern, ConstructorPattern):
                return self._switch(build, node.rows, part)
            node.rows = self._open_tuple(build, node.rows, part)
        if not node.rows:
            build.add(FailOp("no case matches"))
            return []
        row = node.rows[0]
        target = self._cases[row.case]
        values = [build.convert(row.bound[i].value, arg.type) for i, arg in enumerate(target.args)]
        build.add(cf.BranchOp(target, *values))
        return []

    def _open_tuple(self, build: HeapBuilder, rows: list[_Row], part: Part) -> list[_Row]:
        types = list(cast(TupleType, part.type).types)
        fields = self._fields(build, part, types)
        return [row.expand(part, fields) for row in rows]

    def _fields(self, build: HeapBuilder, part: Part, types: Sequence[Attribute]) -> list[Part]:
        if part.fields is not None:
            return [Part(value, type_) for value, type_ in zip(part.fields, types, strict=True)]
        made: list[Part] = []
        for index, type_ in enumerate(types):
            word = FieldOp(part.value, index, len(types), field_type(type_, self._op))
            made.append(Part(build.value(word), type_))
        return made

    def _switch(self, build: HeapBuilder, rows: list[_Row], part: Part) -> list[_Node]:
        """A branch on the constructor of a part."""
        patterns = [row.test_of(part) for row in rows]
        names = list(dict.fromkeys(p.constructor.string_value() for p in patterns if isinstance(p, ConstructorPattern)))
        adt = self._constructors[names[0]].adt if names[0] in self._constructors else None
        if adt is None or not isinstance(part.type, ADTType):
            raise OpError(self._op, f"no data type of this module has a constructor @{names[0]}")
        declared = sorted((self._constructors[name] for name in names), key=lambda made: made.tag)
        nodes: list[_Node] = []
        targets: dict[int, Block] = {}
        for made in declared:
            block = self._new_block()
            inner = HeapBuilder(block, self._op)
            fields = self._fields(inner, part, constructor_fields(made, part.type))
            name = made.sym_name.data
            kept = [row for row, p in zip(rows, patterns, strict=True) if p is None or _names(p) == name]
            nodes.append(_Node(block, [row.expand(part, fields) for row in kept]))
            targets[made.tag] = block
        default = self._default(adt, rows, patterns, targets, nodes)
        _branch(build, part.value, targets, default)
        return nodes

    def _default(
        self,
        adt: AdtOp,
        rows: list[_Row],
        patterns: Sequence[MatchPattern | None],
        targets: dict[int, Block],
        nodes: list[_Node],
    ) -> Block:
        """Where the other constructors go; where there are none, the last one's block."""
        if len(targets) == len(adt.constructors):
            return targets.pop(max(targets))
        block = self._new_block()
        nodes.append(_Node(block, [row for row, p in zip(rows, patterns, strict=True) if p is None]))
        return block


def _names(pattern: MatchPattern) -> str | None:
    return pattern.constructor.string_value() if isinstance(pattern, ConstructorPattern) else None


def _branch(build: HeapBuilder, value: SSAValue, targets: dict[int, Block], default: Block) -> None:
    if not targets:
        build.add(cf.BranchOp(default))
        return
    tag = build.value(TagOp(value))
    values = DenseIntElementsAttr.from_list(VectorType(i32, [len(targets)]), list(targets))
    build.add(cf.SwitchOp(tag, default, [], values, list(targets.values()), [[] for _ in targets]))
