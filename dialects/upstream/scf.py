"""Upstream's syntax for scf.parallel and scf.reduce, which xDSL prints in the generic form.

    %sum = scf.parallel (%i, %j) = (%c0, %c0) to (%m, %n) step (%c1, %c1) init (%zero) -> f32 {
      scf.reduce(%x : f32) {
      ^bb0(%a: f32, %b: f32):
        ...
        scf.reduce.return %s : f32
      }
    }

Importing this module teaches it to xDSL's own classes.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import IndexType
from xdsl.dialects.scf import ParallelOp, ReduceOp, Scf
from xdsl.parser import Parser
from xdsl.printer import Printer

__all__ = ["SCF", "ParallelOp", "ReduceOp"]


def _print_parallel(op: ParallelOp, printer: Printer) -> None:
    def values(keyword: str, items: Any) -> None:
        printer.print_string(keyword)
        with printer.in_parens():
            printer.print_list(items, printer.print_ssa_value)

    values(" ", op.body.block.args)
    values(" = ", op.lowerBound)
    values(" to ", op.upperBound)
    values(" step ", op.step)
    if op.initVals:
        values(" init ", op.initVals)
        printer.print_string(" -> ")
        types = [result.type for result in op.results]
        if len(types) == 1:
            printer.print_attribute(types[0])
        else:
            with printer.in_parens():
                printer.print_list(types, printer.print_attribute)
    printer.print_string(" ")
    reduces = op.body.block.last_op
    printer.print_region(
        op.body,
        print_entry_block_args=False,
        print_empty_block=False,
        print_block_terminators=bool(op.initVals) or (reduces is not None and bool(reduces.attributes)),
    )
    printer.print_op_attributes(op.attributes)


def _parse_parallel(cls: type[ParallelOp], parser: Parser) -> ParallelOp:
    paren = parser.Delimiter.PAREN
    names = parser.parse_comma_separated_list(paren, lambda: parser.parse_argument(expect_type=False))
    bounds: list[Any] = []
    for keyword in ("=", "to", "step"):
        if keyword == "=":
            parser.parse_punctuation("=")
        else:
            parser.parse_keyword(keyword)
        operands = parser.parse_comma_separated_list(paren, parser.parse_unresolved_operand)
        bounds.append(parser.resolve_operands(operands, [IndexType()] * len(names), parser.pos))
    inits: Any = []
    types: list[Any] = []
    if parser.parse_optional_keyword("init"):
        operands = parser.parse_comma_separated_list(paren, parser.parse_unresolved_operand)
        parser.parse_punctuation("->")
        types = parser.parse_optional_comma_separated_list(paren, parser.parse_type) or [parser.parse_type()]
        inits = parser.resolve_operands(operands, types, parser.pos)
    body = parser.parse_region([name.resolve(IndexType()) for name in names])
    if not isinstance(body.block.last_op, ReduceOp):
        body.block.add_op(ReduceOp())
    op = cls(bounds[0], bounds[1], bounds[2], body, inits)
    op.attributes |= parser.parse_optional_attr_dict()
    return op


def _print_reduce(op: ReduceOp, printer: Printer) -> None:
    if op.args:
        with printer.in_parens():
            printer.print_list(op.args, printer.print_ssa_value)
            printer.print_string(" : ")
            printer.print_list((arg.type for arg in op.args), printer.print_attribute)
        printer.print_string(" ")
        printer.print_list(op.reductions, printer.print_region)
    printer.print_op_attributes(op.attributes)


def _parse_reduce(cls: type[ReduceOp], parser: Parser) -> ReduceOp:
    args: Any = []
    regions: list[Any] = []
    if parser.parse_optional_punctuation("("):
        names = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        parser.parse_punctuation(")")
        args = parser.resolve_operands(names, types, parser.pos)
        regions = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_region)
    op = cls(args, regions)
    op.attributes |= parser.parse_optional_attr_dict()
    return op


def _install() -> None:
    parallel: Any = ParallelOp
    parallel.print, parallel.parse = _print_parallel, classmethod(_parse_parallel)
    reduce: Any = ReduceOp
    reduce.print, reduce.parse = _print_reduce, classmethod(_parse_reduce)


_install()

SCF = Scf
"""The scf dialect."""
