"""Imports an exported PyTorch program as a relay module: converts node by node, lists everything that is wrong."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, NameLoc, NoneAttr, StringAttr
from xdsl.ir import Block, Region
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.errors import ModelError
from relay_mlir.dialects.relay.core import FuncOp, ReturnOp, WeightOp
from relay_mlir.dialects.relay.types import ANY, Tensor, compatible, is_static, numpy_dtype, tensor
from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.torch.node import Found, NodeView, element_of, show
from relay_mlir.frontends.torch.program import Argument, Dim, Graph, Node, Program, Ref, Result, TensorType
from relay_mlir.frontends.torch.registry import handler_of
from relay_mlir.frontends.torch.sizes import bound_sizes

IMPORTER_FAILED = "the importer failed on it"
"""Marks a problem that is a mistake of ours."""


def import_torch(
    model: Any,
    ctx: RelayContext,
    shapes: Mapping[str, Sequence[int] | int] | None = None,
    values: Mapping[str, np.ndarray | Sequence[float]] | None = None,
) -> ModuleOp:
    """The relay module of a torch.export.ExportedProgram (or the `.pt2` file of one).

    Its parameters and buffers go to `ctx.weights` under their names in the model, without a copy. `shapes` gives
    sizes that the program leaves open: an input's name its shape, or a symbol (`s77`) its size. Sizes that stay open
    are `?`. `values` binds inputs to arrays that are then part of the program; bare numbers take the input's dtype.

    Raises ModelError, whose `problems` list everything that is wrong with the program or cannot be imported.
    """
    from relay_mlir.frontends.torch.reader import load, read

    exported = load(Path(cast(Any, model))) if isinstance(model, str | os.PathLike) else model
    return import_program(read(exported), ctx, shapes, values)


def import_program(
    program: Program,
    ctx: RelayContext,
    shapes: Mapping[str, Sequence[int] | int] | None = None,
    values: Mapping[str, np.ndarray | Sequence[float]] | None = None,
) -> ModuleOp:
    """The relay module of a program that was read; see `import_torch`."""
    before = set(ctx.weights)
    try:
        return _Importer(program, ctx, shapes or {}, values or {}).run()
    except RecursionError as e:
        ctx.weights.keep(before)
        raise ModelError("the program's graphs are nested too deeply") from e
    except BaseException:
        ctx.weights.keep(before)
        raise


class _Failed:
    """Stands for what a node gives that could not be imported."""


_FAILED = _Failed()


class _Missing:
    """Stands for a result that the handler of an operator does not give; a problem only where it is used."""


_MISSING = _Missing()


class _AlreadyReportedError(Exception):
    """A node depends on one whose problem is already on the list."""


@dataclass
class _Scope:
    """What the names of a graph stand for, and the types that torch declares for them."""

    values: dict[str, Found | _Failed | _Missing] = field(default_factory=dict[str, "Found | _Failed | _Missing"])
    types: dict[str, Result] = field(default_factory=dict[str, "Result"])


class _Importer:
    """One import: the emitter, the functions made so far, and the problems found so far."""

    def __init__(
        self,
        program: Program,
        ctx: RelayContext,
        shapes: Mapping[str, Sequence[int] | int],
        values: Mapping[str, np.ndarray | Sequence[float]],
    ):
        self.program = program
        self.ctx = ctx
        self.values = values
        self.emitter = Emitter(Block(), ctx.weights)
        self.problems = list(program.problems)
        self.sizes: dict[str, int] = {}
        arrays = {name: value.shape for name, value in values.items() if isinstance(value, np.ndarray)}
        try:
            self.sizes = bound_sizes(program, {**shapes, **arrays})
        except Problem as e:
            self.problems.append(str(e))

    def run(self) -> ModuleOp:
        """Imports the program; raises ModelError."""
        graph = self.program.graph
        scope = _Scope()
        names = self._inputs(graph, scope)
        results = self._body(graph, scope)
        outputs = [
            (item.name, result)
            for item, result in zip(graph.outputs, results, strict=True)
            if isinstance(item, Ref) and isinstance(result, Value)
        ]
        for position, (item, result) in enumerate(zip(graph.outputs, results, strict=True)):
            if item is not None and not isinstance(result, Value | _Failed):
                self.problems.append(f"output {position} is {show(result)}: only tensors (and None) can be results")
        if not outputs and not self.problems:
            self.problems.append("the program has no outputs")
        if self.problems:
            raise ModelError(list(dict.fromkeys(self.problems)))
        with self.emitter.at("return"):
            self.emitter.append(ReturnOp(*(self.emitter.ssa(value) for _, value in outputs)))
        return self._finish(names, _distinct([name for name, _ in outputs]))

    # Inputs.

    def _inputs(self, graph: Graph, scope: _Scope) -> list[str]:
        """Defines the inputs of the program and gives the names of those that are arguments of `@main`."""
        names: list[str] = []
        shared: dict[str, Value] = {}
        scope.types.update(graph.inputs)
        for name, declared in graph.inputs:
            source = self.program.sources.get(name)
            if source is None or not isinstance(declared, TensorType):
                scope.values[name] = cast(Found, declared)
                continue
            try:
                type_ = tensor(self._shape(declared), element_of(declared.dtype))
            except Problem as e:
                scope.values[name] = _FAILED
                self.problems.append(f"input '{source.key or name}': {e}")
                continue
            if source.load is not None:
                # Tied weights are one value.
                scope.values[name] = shared.setdefault(source.key, self.emitter.weight(type_, source.load, source.key))
                continue
            if source.name in self.values:
                scope.values[name] = self._bound(source.name, type_)
                continue
            argument = self.emitter.entry.insert_arg(type_, len(names))
            argument.name_hint = name if name.isidentifier() and name.isascii() else None
            scope.values[name] = Value(type_, ssa=argument)
            names.append(source.name)
        return names

    def _bound(self, name: str, type_: Tensor) -> Value | _Failed:
        """The value that an input is bound to; bare numbers take its dtype and shape."""
        value = self.values[name]
        dtype, shape = numpy_dtype(type_.element_type), type_.get_shape()
        if not isinstance(value, np.ndarray):
            value = np.asarray(value, dtype)
            value = value.reshape(shape) if is_static(shape) and value.size == np.prod(shape, dtype=int) else value
        if value.dtype == dtype and value.shape == shape:
            return self.emitter.constant(value, name)
        self.problems.append(f"input '{name}': the bound value is {value.dtype}{list(value.shape)}, but it is {type_}")
        return _FAILED

    def _shape(self, declared: TensorType) -> tuple[int, ...]:
        sizes = [dim.evaluate(self.sizes) if isinstance(dim, Dim) else dim for dim in declared.shape]
        return tuple(ANY if size is None else int(size) for size in sizes)

    # Graphs.

    def _body(self, graph: Graph, scope: _Scope) -> list[Found | _Failed]:
        """Converts the nodes and gives the outputs."""
        for node in graph.nodes:
            scope.types[node.name] = node.result
            scope.values[node.name] = self._node(node, scope)
        return [self._output(item, scope) for item in graph.outputs]

    def _output(self, item: Argument, scope: _Scope) -> Found | _Failed:
        if not isinstance(item, Ref):
            return cast(Found, item)
        try:
            return self._lookup(item, scope)
        except Problem as e:
            self.problems.append(f"output '{item.name}': {e}")
        except _AlreadyReportedError:
            pass
        return _FAILED

    def _subgraph(self, graph: Graph, values: Sequence[Value]) -> list[Value]:
        """The outputs of a branch or body, converted into the emitter's current block; raises Problem."""
        if len(values) != len(graph.inputs):
            raise Problem(f"its graph has {len(graph.inputs)} inputs, but {len(values)} values come in")
        scope = _Scope({name: value for (name, _), value in zip(graph.inputs, values, strict=True)}, dict(graph.inputs))
        results = self._body(graph, scope)
        if any(isinstance(result, _Failed) for result in results):
            raise _AlreadyReportedError
        for result in results:
            if not isinstance(result, Value):
                raise Problem(f"its graph gives {show(result)}, but must give tensors")
        return cast("list[Value]", results)

    # Nodes.

    def _node(self, node: Node, scope: _Scope) -> Found | _Failed | _Missing:
        """What a node gives; what is wrong with it is recorded."""
        try:
            return self._converted(node, scope)
        except _AlreadyReportedError:
            return _FAILED
        except (Problem, VerifyException) as e:
            self.problems.append(f"node '{node.location}' ({node.target}): {e}")
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as e:
            if os.environ.get("RELAY_TRACEBACK"):
                raise
            text = f"{IMPORTER_FAILED}: {type(e).__name__}: {e}"
            self.problems.append(f"node '{node.location}' ({node.target}): {text}")
        return _FAILED

    def _converted(self, node: Node, scope: _Scope) -> Found | _Missing:
        view = NodeView(node, lambda ref: self._lookup(ref, scope), scope.types, self.sizes, self._subgraph)
        for argument in node.arguments.values():
            view.resolve(argument)  # what failed before is not told again
        if isinstance(node.result, Dim | int | float):  # sizes and what is computed from them: torch says what it is
            return self._number(node)
        if node.target == "getitem":
            return _item(view)
        handler = handler_of(node.target)
        if handler is None:
            raise Problem("the operator is not supported")
        with self.emitter.at(node.location):
            results = handler(self.emitter, view)
        if leftovers := view.leftovers():
            raise Problem("; ".join(leftovers))
        return self._checked(results, node.result)

    def _number(self, node: Node) -> Found:
        result = node.result
        number = result.evaluate(self.sizes) if isinstance(result, Dim) else result
        return cast(Found, result if number is None else number)

    def _lookup(self, ref: Ref, scope: _Scope) -> Found:
        if ref.name not in scope.values:
            raise Problem(f"%{ref.name} is given by no node before it")
        found = scope.values[ref.name]
        if isinstance(found, _Failed):
            raise _AlreadyReportedError
        if isinstance(found, _Missing):
            raise Problem(f"it uses %{ref.name}, a result of an operator that is not supported")
        return found

    def _checked(self, results: Value | Sequence[Value], declared: Result) -> Found:
        """What a handler gives; raises Problem where it is not of the types that torch gives."""
        if isinstance(results, Value):
            results, declared, single = [results], [declared], True
        else:
            single = False
        wanted: list[Any] = list(declared) if isinstance(declared, list | tuple) else []
        if len(wanted) < len(results):
            raise Problem(f"{len(results)} results were made, but torch gives {len(wanted)}")
        for position, (value, type_) in enumerate(zip(results, wanted, strict=False)):
            if isinstance(type_, TensorType):
                expected = tensor(self._shape(type_), element_of(type_.dtype))
                if not compatible(value.type, expected):
                    raise Problem(f"{IMPORTER_FAILED}: result {position} is {value.type}, but torch gives {expected}")
        return results[0] if single else list(results)

    # The module.

    def _finish(self, inputs: Sequence[str], outputs: Sequence[str]) -> ModuleOp:
        """The module of the finished body and the functions it calls, without what no output needs."""
        block = self.emitter.entry
        for op in reversed(list(block.ops)):
            if not isinstance(op, ReturnOp) and not any(result.uses for result in op.results):
                op.detach()
                op.erase()
        returned = [operand.type for operand in cast(ReturnOp, block.last_op).operands]
        func = FuncOp("main", FunctionType.from_lists([arg.type for arg in block.args], returned), Region(block))
        func.attributes["input_names"] = ArrayAttr(map(StringAttr, inputs))
        func.attributes["output_names"] = ArrayAttr(map(StringAttr, outputs))
        module = ModuleOp([func, *self.emitter.functions])
        func.location = module.location = NameLoc(StringAttr(self.program.name), NoneAttr())
        used = {op.key.data for op in module.walk() if isinstance(op, WeightOp)}
        self.ctx.weights.keep(used | (set(self.ctx.weights) - self.emitter.added))
        try:
            module.verify()
        except VerifyException as e:
            raise ModelError(f"the imported program is not valid: {e}") from e
        return module


def _item(view: NodeView) -> Found | _Missing:
    """One of the results of a node that has several."""
    found, position = view.find("a"), view.integer("b")
    if not isinstance(found, list):
        raise Problem(f"it takes a part of {show(found)}, which has none")
    return found[position] if position < len(found) else _MISSING


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, a number behind those that occur again."""
    seen: set[str] = set()
    result: list[str] = []
    for name in names:
        unique, number = name, 1
        while unique in seen:
            unique, number = f"{name}_{number}", number + 1
        seen.add(unique)
        result.append(unique)
    return result
