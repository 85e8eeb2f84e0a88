"""Reads a torch.export.ExportedProgram as a `Program`: the only module of the importer that touches torch.

A program that writes to tensors in place is first made functional, and operators without a handler are decomposed by
torch's own table, one at a time: everything that has a handler stays whole (linear, attention, recurrent layers).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from relay_mlir.dialects.errors import InputError, ModelError
from relay_mlir.frontends.torch.higher_order import NAMES as HIGHER_ORDER
from relay_mlir.frontends.torch.program import (
    Argument,
    Dim,
    DType,
    Graph,
    Node,
    Number,
    Program,
    Ref,
    Result,
    Source,
    TensorType,
)
from relay_mlir.frontends.torch.registry import handler_of

if TYPE_CHECKING:
    import numpy as np

ROUNDS = 8
"""How often operators are decomposed, each time those that the last time gave."""

_LARGEST = 1 << 62
"""A limit of a size that is as good as none."""


def load(path: Path) -> Any:
    """The exported program of a `.pt2` file; raises ModelError for a file that is none."""
    torch = _torch()
    try:
        return torch.export.load(str(path))
    except Exception as e:  # of zipfile, pickle, json, torch: a damaged file shows in many ways
        raise ModelError(f"{path}: not an exported program that torch {torch.__version__} reads: {e}") from e


def _torch() -> Any:
    try:
        return import_module("torch")
    except ModuleNotFoundError as e:
        raise ModelError(
            "reading exported PyTorch programs needs the package torch: pip install relay-mlir[torch]"
        ) from e


def read(exported: Any) -> Program:
    """The program of an ExportedProgram; raises InputError for anything else."""
    torch = _torch()
    if not isinstance(exported, torch.export.ExportedProgram):
        raise InputError(
            f"expected a torch.export.ExportedProgram, but this is a {type(exported).__name__}; "
            "make one with torch.export.export(module.eval(), example_inputs)"
        )
    exported = decomposed(exported)
    return _Reader(torch, exported).program()


def decomposed(exported: Any) -> Any:
    """The program without writes in place, and with the operators decomposed that have no handler but a definition."""
    changed = exported
    functional = not any(_writes(node) for node in _calls(exported.graph_module))
    torch = _torch()
    definitions = torch.export.default_decompositions()
    tried: set[Any] = set()
    for _ in range(ROUNDS):
        missing = {node.target for node in _calls(changed.graph_module) if _has_no_handler(node)}
        table = {target: definitions[target] for target in missing - tried if target in definitions}
        if not table and functional:
            break
        tried |= set(table)
        changed = changed.run_decompositions(table)
        functional = True
    return changed


def _calls(module: Any) -> list[Any]:
    """The calls of operators in a graph and the graphs in it."""
    found: list[Any] = []
    for part in module.modules():
        if hasattr(part, "graph"):
            found += [
                node for node in part.graph.nodes if node.op == "call_function" and hasattr(node.target, "_schema")
            ]
    return found


def _writes(node: Any) -> bool:
    return bool(node.target._schema.is_mutable)


def _has_no_handler(node: Any) -> bool:
    return handler_of(_target(node)) is None and not _is_number(node.meta.get("val"))


def _target(node: Any) -> str:
    """The name of an operator: `aten.add.Tensor`."""
    if node.target is operator.getitem:
        return "getitem"
    name = getattr(node.target, "__name__", "")
    if name in HIGHER_ORDER:
        return name
    return str(node.target)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) or type(value).__name__ in ("SymInt", "SymFloat", "SymBool")


class _Reader:
    """Reads one program: values of torch become plain data."""

    def __init__(self, torch: Any, exported: Any):
        self.torch = torch
        self.exported = exported
        self.problems: list[str] = []

    def program(self) -> Program:
        signature = self.exported.graph_signature
        graph = self.graph(self.exported.graph_module)
        sources: dict[str, Source] = {}
        keys: dict[Any, str] = {}
        for spec in signature.input_specs:
            source = self.source(spec, keys)
            if source is not None:
                sources[spec.arg.name] = source
        self.outputs(signature.output_specs)
        limits = {
            str(name): (_limit(bounds.lower, 0), _limit(bounds.upper, _LARGEST))
            for name, bounds in self.exported.range_constraints.items()
        }
        return Program(graph, sources, "main", limits, self.problems)

    # The signature.

    def source(self, spec: Any, keys: dict[Any, str]) -> Source | None:
        """What an input is: a tensor of the model, an argument, or (None) a number that the export fixed."""
        kind = spec.kind.name
        if kind == "USER_INPUT":
            return Source(spec.arg.name) if type(spec.arg).__name__ == "TensorArgument" else None
        stores: list[Mapping[str, Any]] = [self.exported.state_dict, self.exported.constants]
        stored: Any = next((store[spec.target] for store in stores if spec.target in store), None)
        if kind not in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR") or not isinstance(stored, self.torch.Tensor):
            self.problems.append(f"input '{spec.arg.name}' is a {kind.lower()}, which is not supported")
            return None
        if stored.layout != self.torch.strided or stored.is_quantized:
            self.problems.append(f"weight '{spec.target}' is {stored.layout} {stored.dtype}, not a dense tensor")
            return None
        place = (
            (stored.data_ptr(), tuple(stored.shape), stored.stride(), stored.dtype) if stored.numel() else spec.target
        )
        key = keys.setdefault(place, spec.target)
        return Source(spec.arg.name, _loader(self.torch, stored), key)

    def outputs(self, specs: Sequence[Any]) -> None:
        """Checks that every output is a result for the caller."""
        for spec in specs:
            kind = spec.kind.name
            if kind == "BUFFER_MUTATION":
                self.problems.append(
                    f"the program changes its buffer '{spec.target}' (by '{spec.arg.name}'); only programs without "
                    "state are supported: export the module in eval() mode, or give the state as an input and a result"
                )
            elif kind == "USER_INPUT_MUTATION":
                self.problems.append(
                    f"the program changes its input '{spec.target}' in place (by '{spec.arg.name}'): return the new "
                    "value instead"
                )
            elif kind != "USER_OUTPUT":
                self.problems.append(f"output '{spec.arg.name}' is a {kind.lower()}, which is not supported")

    # Graphs.

    def graph(self, module: Any) -> Graph:
        inputs: list[tuple[str, Result]] = []
        nodes: list[Node] = []
        outputs: list[Argument] = []
        for node in module.graph.nodes:
            match node.op:
                case "placeholder":
                    inputs.append((node.name, self.result(node.meta.get("val"))))
                case "call_function":
                    nodes.append(self.node(node, module))
                case "output":
                    found = self.argument(node.args[0], module)
                    outputs = list(cast("Sequence[Argument]", found)) if isinstance(found, list) else [found]
                case "get_attr":  # a graph, which its user reads; or a tensor that was not lifted
                    value = _attribute(module, node.target)
                    if isinstance(value, self.torch.Tensor):
                        self.problems.append(f"node '{node.name}': the tensor '{node.target}' is not an input")
                case _:
                    self.problems.append(f"node '{node.name}': {node.op} is not supported")
        return Graph(inputs, nodes, outputs)

    def node(self, node: Any, module: Any) -> Node:
        target = _target(node)
        names, defaults = self.parameters(node, target)
        given = list(node.args)
        if names and names[-1].startswith("*"):
            names, given = [*names[:-1], names[-1][1:]], [*given[: len(names) - 1], given[len(names) - 1 :]]
        arguments = {name: self.argument(value, module) for name, value in zip(names, given, strict=False)}
        arguments |= {name: self.argument(value, module) for name, value in node.kwargs.items()}
        return Node(node.name, target, arguments, self.result(node.meta.get("val")), defaults, _module_path(node))

    def parameters(self, node: Any, target: str) -> tuple[Sequence[str], dict[str, Argument]]:
        """The names of an operator's parameters, and the defaults of those that have one."""
        if target in HIGHER_ORDER:
            return HIGHER_ORDER[target], {}
        schema = getattr(node.target, "_schema", None)
        if schema is None:
            return [chr(ord("a") + position) for position in range(len(node.args))], {}
        defaults = {
            item.name: self.argument(item.default_value, None) for item in schema.arguments if item.has_default_value()
        }
        return [item.name for item in schema.arguments], defaults

    def argument(self, value: Any, module: Any) -> Argument:
        torch = self.torch
        match value:
            case None | bool() | int() | float() | str():
                return value
            case list() | tuple():
                return [self.argument(item, module) for item in cast("Sequence[Any]", value)]
            case torch.dtype():
                return DType(str(value).removeprefix("torch."))
            case torch.fx.Node() if value.op == "get_attr":
                found = _attribute(module, value.target)
                return self.graph(found) if isinstance(found, torch.nn.Module) else Ref(value.name)
            case torch.fx.Node():
                return Ref(value.name)
            case _ if _is_number(value):
                return _dim(value)
            case _:  # layouts, devices, memory formats, generators
                return str(value).removeprefix("torch.")

    def result(self, value: Any) -> Result:
        if isinstance(value, self.torch.Tensor):
            dtype = str(value.dtype).removeprefix("torch.")
            return TensorType(dtype, tuple(_dim(size) for size in value.shape))
        if _is_number(value):
            return _dim(value)
        if isinstance(value, list | tuple):
            return [self.result(item) for item in cast("Sequence[Any]", value)]
        return value if isinstance(value, str) else None


def _attribute(module: Any, path: str) -> Any:
    for part in path.split("."):
        module = getattr(module, part)
    return module


def _dim(value: Any) -> Any:
    """A size: a number, or a `Dim` where it depends on symbols."""
    if isinstance(value, int | float):
        return value
    expression = value.node.expr
    if expression.is_number or expression in (True, False):
        return _number(expression)

    def evaluate(sizes: Mapping[str, int]) -> Number | None:
        wanted = [symbol for symbol in expression.free_symbols if str(symbol) in sizes]
        found = expression.xreplace({symbol: _sympy_integer(sizes[str(symbol)]) for symbol in wanted})
        return None if found.free_symbols else _number(found)

    return Dim(str(expression), evaluate)


def _sympy_integer(size: int) -> Any:
    return import_module("sympy").Integer(size)


def _number(expression: Any) -> Number:
    """The number that an expression without symbols stands for."""
    if getattr(expression, "is_Boolean", False) or isinstance(expression, bool):
        return bool(expression)
    return int(expression) if expression.is_integer else float(expression)


def _limit(bound: Any, default: int) -> int:
    """A bound of a size; the default where it is infinite."""
    return min(max(int(bound), 0), _LARGEST) if bound.is_Integer else default


def _loader(torch: Any, stored: Any) -> Callable[[], np.ndarray]:
    """A function that gives the elements as an array on the same memory (a copy where they are on another device)."""

    def array() -> np.ndarray:
        tensor = stored.detach().cpu()
        if tensor.is_conj() or tensor.is_neg():
            tensor = tensor.resolve_conj().resolve_neg()
        if tensor.dtype == torch.bfloat16:
            import ml_dtypes

            return cast("np.ndarray", tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16))
        return cast("np.ndarray", tensor.numpy())

    return array


def _module_path(node: Any) -> str:
    """The path of the module that a node belongs to: `layer1.0.conv1`."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    path = str(list(stack.values())[-1][0])
    return path.removeprefix("L['self']").removeprefix(".")


__all__ = ["decomposed", "load", "read"]
