"""Imports an ONNX model as a relay module: binds the inputs, converts node by node, lists everything that is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import onnx
from onnx import FunctionProto, GraphProto, NodeProto
from onnx.defs import OpSchema
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, NameLoc, NoneAttr, StringAttr
from xdsl.ir import Block, Region
from xdsl.utils.exceptions import VerifyException

from relay_mlir.dialects.errors import ModelError
from relay_mlir.dialects.relay.core import FuncOp, ReturnOp, WeightOp
from relay_mlir.dialects.relay.types import element_type, tensor
from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.frontends.common.emitter import Emitter
from relay_mlir.frontends.common.problem import Problem
from relay_mlir.frontends.common.value import Value
from relay_mlir.frontends.onnx.dims import name_of_dim, open_shape
from relay_mlir.frontends.onnx.functions import bind_attributes, has_body, specified_function
from relay_mlir.frontends.onnx.graph import FAILED, AlreadyReported, Failed, Scope, captured_names, in_order
from relay_mlir.frontends.onnx.inputs import Bindings
from relay_mlir.frontends.onnx.node import NodeView
from relay_mlir.frontends.onnx.reader import TensorReader, declared_type, numpy_type, read_model
from relay_mlir.frontends.onnx.registry import handler_of
from relay_mlir.frontends.onnx.schema import check_node, newest_opset, schema_of
from relay_mlir.frontends.onnx.structures import Item, Maybe, TensorList, describe, flat, flat_names

IMPORTER_FAILED = "the importer failed on it"
"""Marks a problem that is a mistake of ours."""

_MAX_DEPTH = 64
"""How deeply graphs and functions may be nested; deeper ones are a mistake or an attack."""


def import_onnx(
    model: Path | str | onnx.ModelProto,
    ctx: RelayContext,
    shapes: Mapping[str, Sequence[int] | Sequence[Sequence[int]] | int] | None = None,
    values: Mapping[str, np.ndarray | Sequence[float] | None] | None = None,
) -> ModuleOp:
    """The relay module of an ONNX model, its weights in `ctx.weights` under the names of their initializers.

    `shapes` binds dimensions that the model leaves open: an input's name to its whole shape, or the name of a
    dimension to its size; a sequence of tensors to the list of their shapes. `values` binds inputs to tensors that are
    then part of the program (an input that is a shape, for instance); bare numbers take the input's dtype; None says
    that an optional input is empty. Dimensions that stay open are `?`; a model that needs them is refused.

    Each tensor of a sequence `x` is an argument or result of its own, `x.0`, `x.1`, ...

    Raises ModelError, whose `problems` list everything that is wrong with the model or cannot be imported.
    """
    if isinstance(model, onnx.ModelProto):
        path = None
    else:
        path = Path(model)
        model = read_model(path)
    importer = _Importer(model, ctx, Bindings(shapes or {}, values or {}), TensorReader(path))
    del model
    try:
        return importer.run()
    except RecursionError as e:
        raise ModelError("the model is nested too deeply") from e


class _Importer:
    """One import: the scopes, the emitter, and the problems found so far."""

    def __init__(self, model: onnx.ModelProto, ctx: RelayContext, bindings: Bindings, tensors: TensorReader):
        self.model = model
        self.ctx = ctx
        self.bindings = bindings
        self.tensors = tensors
        self.problems: list[str] = []
        self.emitter = Emitter(Block(), ctx.weights)
        self.functions = {(_domain(f.domain), f.name): f for f in model.functions}
        self.depth = 0
        self.dim_names: list[tuple[str, ...]] = []
        """The names of the dimensions of each argument, empty for those that have none."""

    def run(self) -> ModuleOp:
        """Imports the model; raises ModelError."""
        before = set(self.ctx.weights)
        try:
            return self._module()
        except BaseException:
            self.ctx.weights.keep(before)
            raise

    def _module(self) -> ModuleOp:
        graph = self.model.graph
        opsets = self._opsets(self.model.opset_import)
        scope = Scope()
        self._initializers(graph, scope)
        names = self._inputs(graph, scope)
        if not graph.output:
            self.problems.append("the graph has no outputs")
        results = self._graph_body(graph.node, [output.name for output in graph.output], scope, opsets)
        self._check_outputs(graph, results)
        if self.problems:
            raise ModelError(list(dict.fromkeys(self.problems)))
        with self.emitter.at("return"):
            parts = [part for item in results if item is not None for part in flat(item)]
            self.emitter.append(ReturnOp(*map(self.emitter.ssa, parts)))
        given = zip(graph.output, results, strict=True)
        return self._finish(
            names, [name for out, item in given if item is not None for name in flat_names(out.name, item)]
        )

    def _opsets(self, imports: Sequence[onnx.OperatorSetIdProto]) -> dict[str, int]:
        """The opset of each domain."""
        opsets = {_domain(entry.domain): entry.version for entry in imports}
        if not imports:
            opsets[""] = 1  # what files of the first IR versions mean
        if opsets.get("", 1) > newest_opset():
            self.problems.append(
                f"the model needs opset {opsets['']}, but the newest that the onnx package {onnx.__version__} "
                f"knows is {newest_opset()}"
            )
        return opsets

    # The values that a graph starts with.

    def _initializers(self, graph: GraphProto, scope: Scope) -> None:
        """Defines the initializers of a graph; those bound as inputs keep the bound value."""
        for proto in graph.initializer:
            try:
                dtype, shape = numpy_type(proto.data_type), self.tensors.shape(proto)
                load = self.tensors.loader(proto)
                value = Value(tensor(shape, element_type(dtype)), load=load, name=proto.name)
                scope.define(proto.name, value)
            except Problem as e:
                scope.fail([proto.name])
                self.problems.append(f"initializer '{proto.name}': {e}")
        for sparse in graph.sparse_initializer:
            name = sparse.values.name
            try:
                scope.define(name, self.emitter.constant(self.tensors.densify(sparse), name))
            except Problem as e:
                scope.fail([name])
                self.problems.append(f"sparse initializer '{name}': {e}")

    def _inputs(self, graph: GraphProto, scope: Scope) -> list[str]:
        """Defines the inputs of the model and gives the names of those that are arguments of `@main`."""
        names: list[str] = []
        inputs = [proto for proto in graph.input if not scope.has(proto.name)]
        try:
            self.bindings.check_names(graph, {proto.name for proto in inputs})
        except Problem as e:
            self.problems.append(str(e))
        self.bindings.bind_names(inputs)
        for proto in inputs:
            try:
                if proto.type.WhichOneof("value") in ("sequence_type", "optional_type"):
                    scope.define(proto.name, self._structure(proto, names))
                    continue
                dtype, shape = self.bindings.resolve(proto)
                bound = self.bindings.value(proto.name, dtype, shape)
                if bound is not None:
                    scope.define(proto.name, self.emitter.constant(bound, proto.name))
                    continue
                type_ = tensor(shape, element_type(dtype))
                argument = self.emitter.entry.insert_arg(type_, len(names))
                argument.name_hint = _hint(proto.name)
                value = Value(type_, ssa=argument, shape=open_shape(proto, shape))
                self.emitter.remember(value)
                scope.define(proto.name, value)
                self.dim_names.append(tuple(name_of_dim(size) for size in open_shape(proto, shape)))
                names.append(proto.name)
            except Problem as e:
                scope.fail([proto.name])
                self.problems.append(f"input '{proto.name}': {e}")
        return names

    def _structure(self, proto: onnx.ValueInfoProto, names: list[str]) -> Item:
        """A sequence or an optional that is an input: an argument of `@main` for each of its tensors."""
        item = self.bindings.structure(proto)
        for name, value in zip(flat_names(proto.name, item), flat(item), strict=True):
            value.ssa = self.emitter.entry.insert_arg(value.type, len(names))
            value.ssa.name_hint = _hint(name)
            names.append(name)
        return item

    # Graphs.

    def _graph_body(
        self, nodes: Sequence[NodeProto], outputs: Sequence[str], scope: Scope, opsets: dict[str, int]
    ) -> list[Item | None]:
        """Converts the nodes and gives the outputs; None for an output that could not be imported."""
        ordered, cyclic = in_order(nodes, scope)
        for node in ordered:
            self._node(node, scope, opsets)
        if cyclic:
            self.problems.append(f"the graph has a cycle through {', '.join(_label(node) for node in cyclic[:4])}")
            for node in cyclic:
                scope.fail(node.output)
        results: list[Item | None] = []
        for name in outputs:
            value = scope.get(name)
            if value is None:
                self.problems.append(f"output '{name}': no node gives it")
            results.append(None if isinstance(value, Failed) else value)
        return results

    def _subgraph(self, graph: GraphProto, values: Sequence[Item], scope: Scope, opsets: dict[str, int]) -> list[Item]:
        """The outputs of a branch or body, converted into the emitter's current block; raises Problem."""
        if len(values) != len(graph.input):
            raise Problem(f"its graph '{graph.name}' has {len(graph.input)} inputs, but {len(values)} values come in")
        inner = Scope(scope)
        for proto, value in zip(graph.input, values, strict=True):
            if proto.type.HasField("optional_type") and not isinstance(value, Maybe):
                value = Maybe(value)
            inner.define(proto.name, value)
        self._initializers(graph, inner)
        results = self._graph_body(graph.node, [output.name for output in graph.output], inner, opsets)
        if any(value is None for value in results):
            raise AlreadyReported
        return [value for value in results if value is not None]

    def _check_outputs(self, graph: GraphProto, results: Sequence[Item | None]) -> None:
        """Compares the outputs with what the model declares for them."""
        names = [output.name for output in graph.output]
        if len(set(names)) != len(names):
            self.problems.append("two outputs have the same name")
        for proto, value in zip(graph.output, results, strict=True):
            if value is None or not proto.HasField("type"):
                continue
            kind = proto.type.WhichOneof("value")
            if not isinstance(value, Value) or kind not in (None, "tensor_type"):
                if kind is not None and kind != _KINDS[type(value)]:
                    self.problems.append(f"output '{proto.name}' is {describe(value)}, but declared a {kind}")
                continue
            try:
                self.bindings.check_output(value, *declared_type(proto))
            except Problem as e:
                self.problems.append(f"output '{proto.name}': {e}")

    # Nodes.

    def _node(self, node: NodeProto, scope: Scope, opsets: dict[str, int]) -> None:
        """Converts a node and defines its outputs; what is wrong is recorded and the outputs are marked."""
        domain = _domain(node.domain)
        opset = opsets.get(domain, 0)
        at = f"opset {opset}" if not domain else f"{domain} {opset}"
        try:
            self._convert(node, domain, opset, scope, opsets)
        except AlreadyReported:
            pass
        except (Problem, VerifyException) as e:
            self.problems.append(f"{_label(node)} ({at}): {e}")
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as e:
            # A mistake of a handler, on a model that is most likely damaged: the user still learns which node.
            self.problems.append(f"{_label(node)} ({at}): {IMPORTER_FAILED}: {type(e).__name__}: {e}")
        scope.fail(name for name in node.output if name)

    def _convert(self, node: NodeProto, domain: str, opset: int, scope: Scope, opsets: dict[str, int]) -> None:
        function = self.functions.get((domain, node.op_type))
        handler = None if function is not None else handler_of(domain, node.op_type, opset)
        schema = None if function is not None else schema_of(domain, node.op_type, opset)
        if function is None and handler is None and not has_body(schema):
            raise Problem("the operator is not supported")
        inputs = self._node_inputs(node, scope)
        if schema is not None:
            check_node(schema, node, inputs)
        if handler is not None:
            view = NodeView(node, opset, inputs, schema, self.tensors, lambda g, v: self._subgraph(g, v, scope, opsets))
            with self.emitter.at(node.name or node.op_type):
                results = handler(self.emitter, view)
            if leftovers := view.leftovers():
                raise Problem("; ".join(leftovers))
        else:
            if function is None:
                function = specified_function(cast(OpSchema, schema), node, opset, inputs)
            if function is None:
                raise Problem("the operator is not supported")
            results = self._call(function, node, schema, inputs, opsets)
        self._define(node, [results] if isinstance(results, Value | TensorList | Maybe) else results, scope)

    def _node_inputs(self, node: NodeProto, scope: Scope) -> list[Item | None]:
        """The inputs of a node, None for those left out; raises Problem for a name that nothing defines."""
        inputs: list[Item | None] = []
        failed = False
        for name in node.input:
            value = scope.get(name) if name else None
            if name and value is None:
                raise Problem(f"input '{name}' is given by no node, input or initializer")
            failed |= isinstance(value, Failed)
            inputs.append(None if isinstance(value, Failed) else value)
        if failed or any(scope.get(name) is FAILED for name in captured_names(node)):
            raise AlreadyReported
        while inputs and inputs[-1] is None:
            inputs.pop()
        return inputs

    def _define(self, node: NodeProto, results: Sequence[Item | None], scope: Scope) -> None:
        for position, name in enumerate(node.output):
            if not name:
                continue
            value = results[position] if position < len(results) else None
            if value is None:
                raise Problem(f"output {position} ('{name}') is not supported")
            if isinstance(value, Value) and value.ssa is None and not value.name:
                value.name = name
            scope.define(name, value)

    def _call(
        self,
        function: FunctionProto,
        node: NodeProto,
        schema: OpSchema | None,
        inputs: Sequence[Item | None],
        opsets: dict[str, int],
    ) -> list[Item | None]:
        """The outputs of a function, its body converted in place; raises Problem that names the inner node."""
        if len(inputs) > len(function.input):
            raise Problem(f"it has {len(inputs)} inputs, but the function takes {len(function.input)}")
        self.depth += 1
        outer, self.problems = self.problems, []
        try:
            if self.depth > _MAX_DEPTH:
                raise Problem("functions call each other without end")
            inner = Scope()
            for name, value in zip(function.input, inputs, strict=False):
                if value is not None:
                    inner.define(name, value)
            nodes = _without_absent(bind_attributes(function, node, schema), inner)
            with self.emitter.at(node.name or node.op_type):
                wanted = [out for out, used in zip(function.output, node.output, strict=False) if used]
                versions = opsets | {_domain(entry.domain): entry.version for entry in function.opset_import}
                results = dict(zip(wanted, self._graph_body(nodes, wanted, inner, versions), strict=True))
            if self.problems:
                raise Problem("in the operators that define it: " + "; ".join(self.problems))
        finally:
            self.problems = outer
            self.depth -= 1
        return [results.get(name) for name in function.output]

    # The module.

    def _finish(self, inputs: Sequence[str], outputs: Sequence[str]) -> ModuleOp:
        """The module of the finished body, without what no output needs."""
        block = self.emitter.entry
        for op in reversed(list(block.ops)):
            if not isinstance(op, ReturnOp) and not any(result.uses for result in op.results):
                op.detach()
                op.erase()
        returned = [operand.type for operand in cast(ReturnOp, block.last_op).operands]
        type_ = FunctionType.from_lists([arg.type for arg in block.args], returned)
        func = FuncOp("main", type_, Region(block))
        func.attributes["input_names"] = ArrayAttr(map(StringAttr, inputs))
        if any(name for dims in self.dim_names for name in dims):
            func.attributes["dim_names"] = ArrayAttr(ArrayAttr(map(StringAttr, dims)) for dims in self.dim_names)
        func.attributes["output_names"] = ArrayAttr(map(StringAttr, outputs))
        module = ModuleOp([func])
        func.location = module.location = NameLoc(StringAttr(self.model.graph.name or "main"), NoneAttr())
        used = {op.key.data for op in module.walk() if isinstance(op, WeightOp)}
        self.ctx.weights.keep(used | (set(self.ctx.weights) - self.emitter.added))
        try:
            module.verify()
        except VerifyException as e:
            raise ModelError(f"the imported program is not valid: {e}") from e
        return module


_KINDS = {Value: "tensor_type", TensorList: "sequence_type", Maybe: "optional_type"}
"""ONNX's names of what an item may be."""


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _label(node: NodeProto) -> str:
    """How a message names a node."""
    if node.name:
        return f"node '{node.name}' {node.op_type}"
    given = next((name for name in node.output if name), None)
    return f"node {node.op_type}" + (f" that gives '{given}'" if given else "")


def _hint(name: str) -> str | None:
    """A name for the printed SSA value, where the ONNX name can be one."""
    return name if name.isidentifier() and name.isascii() else None


def _without_absent(nodes: Sequence[NodeProto], scope: Scope) -> list[NodeProto]:
    """The nodes of a function body, inputs that the call leaves out written as absent."""
    produced = {name for node in nodes for name in node.output}
    for node in nodes:
        for position, name in enumerate(node.input):
            if name and name not in produced and not scope.has(name):
                node.input[position] = ""
    return list(nodes)
