"""Finds the first operation whose result a compiled program gets wrong, with the interpreter as the judge.

The search goes down the levels: is it the import (against onnxruntime), a relay pass, or a fused group? A group is
found by compiling the program once more with the results of all groups as outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType
from xdsl.ir import Operation, SSAValue

from relay_mlir.dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp, WeightOp
from relay_mlir.dialects.relay.types import is_static
from relay_mlir.dialects.relay.weights import RelayContext
from relay_mlir.lowering.ir_files import main_function
from relay_mlir.lowering.locations import describe_origin, names_of
from relay_mlir.lowering.pass_manager import run_passes
from relay_mlir.lowering.pipeline import RELAY
from relay_mlir.runtime.compare import compare
from relay_mlir.runtime.compiler import Options, compile_module, pipeline
from relay_mlir.runtime.executable import Executable
from relay_mlir.runtime.interpreter import Interpreter
from relay_mlir.runtime.signature import signature_of

if TYPE_CHECKING:
    import numpy as np
    import onnx

Import = Callable[[], tuple[RelayContext, ModuleOp]]
"""Makes the relay module of the model anew."""
Arrays = Mapping[str, "np.ndarray"]


@dataclass(frozen=True)
class Finding:
    """What is wrong first, in a sentence."""

    text: str


def reference(ctx: RelayContext, module: ModuleOp, inputs: Arrays) -> dict[str, np.ndarray]:
    """The outputs of a relay module by name, from the interpreter."""
    main = cast(FuncOp, main_function(module))
    names = main.names("input_names")
    results = Interpreter(module, ctx.weights).run(*(inputs[name] for name in names))
    return dict(zip(main.names("output_names"), cast("list[np.ndarray]", results), strict=True))


def first_difference(import_model: Import, options: Options, inputs: Arrays) -> Finding:
    """Where the compiled program first leaves the meaning of the imported one."""
    ctx, module = import_model()
    expected = reference(ctx, module, inputs)
    passes = pipeline(options)
    relay = passes[: len(RELAY)]
    run_passes(ctx, module, relay)
    if not _agree(reference(ctx, module, inputs), expected):
        return _first_pass(import_model, options, inputs, expected)
    exposed = expose(module, lambda op: isinstance(op, CallOp))
    judged = reference(ctx, module, inputs)
    program = compile_module(module, ctx, options, passes=passes[len(RELAY) :])
    found = Executable(program).run(inputs)
    for name, op in exposed.items():
        if difference := compare(found[name], judged[name]):
            callee = cast(CallOp, op).callee.string_value()
            return Finding(f"the first wrong result is that of {_origin(op)} (group @{callee}): {difference.text}")
    return Finding(
        "no operation is wrong while the results of all groups are kept: the fault is in what they share "
        "(plan-memory, or a group that writes to its input)"
    )


def _first_pass(import_model: Import, options: Options, inputs: Arrays, expected: Arrays) -> Finding:
    ctx, module = import_model()
    for pass_ in pipeline(options)[: len(RELAY)]:
        run_passes(ctx, module, [pass_])
        found = reference(ctx, module, inputs)
        if not _agree(found, expected):
            name = next(name for name in expected if compare(found[name], expected[name]))
            difference = compare(found[name], expected[name])
            assert difference is not None
            return Finding(f"the pass '{pass_.name}' changes the meaning: output '{name}', {difference.text}")
    return Finding("the relay passes together change the meaning, but none of them does when it runs alone")


def _agree(found: Arrays, expected: Arrays) -> bool:
    return all(compare(found[name], expected[name]) is None for name in expected)


def expose(module: ModuleOp, wanted: Callable[[Operation], bool]) -> dict[str, Operation]:
    """Makes the tensor results of the wanted operations of @main further outputs; their operations by output name."""
    main = cast(FuncOp, main_function(module))
    names = main.names("output_names")
    last = main.return_op
    found: dict[str, Operation] = {}
    values: list[SSAValue] = list(last.operands)
    for op in main.block.ops:
        if not wanted(op):
            continue
        for number, result in enumerate(op.results):
            if isinstance(result.type, TensorType) and is_static(cast(Any, result.type).get_shape()):
                name = f"{len(found)}.{number}"
                while name in names:
                    name += "'"
                found[name] = op
                names.append(name)
                values.append(result)
    new = ReturnOp(*values)
    new.location = last.location
    main.block.insert_op_before(new, last)
    main.block.erase_op(last)
    main.attributes["output_names"] = ArrayAttr([StringAttr(name) for name in names])
    main.update_function_type()
    signature_of(main)
    return found


def _origin(op: Operation) -> str:
    return describe_origin(op) or f"'{op.name}'"


def first_import_difference(
    model: onnx.ModelProto, import_model: Import, inputs: Arrays, session_outputs: Callable[[Any, Arrays], Arrays]
) -> Finding | None:
    """The first ONNX node whose result differs between onnxruntime and the imported program, or None.

    `session_outputs(model, inputs)` runs a model in onnxruntime. Nodes are matched by name.
    """
    from onnx import ModelProto, ValueInfoProto

    ctx, module = import_model()
    exposed = expose(module, lambda op: not isinstance(op, ReturnOp | WeightOp | ConstantOp))
    last: dict[str, str] = {}
    for output, op in exposed.items():
        for name in names_of(op.location):
            last[name] = output
    judged = reference(ctx, module, inputs)
    copy = ModelProto()
    copy.CopyFrom(model)
    have = {output.name for output in copy.graph.output}
    nodes: list[tuple[str, str, str]] = []
    for node in copy.graph.node:
        if node.name in last and node.output and node.output[0]:
            nodes.append((node.name, node.op_type, node.output[0]))
            if node.output[0] not in have:
                copy.graph.output.append(ValueInfoProto(name=node.output[0]))
    found = session_outputs(copy, inputs)
    for name, kind, output in nodes:
        ours, theirs = judged[last[name]], found[output]
        if ours.shape == theirs.shape and ours.dtype == theirs.dtype and (difference := compare(ours, theirs)):
            return Finding(f'the import of node "{name}" ({kind}) is the first to differ: {difference.text}')
    return None


def outputs_differ(found: Arrays, expected: Arrays) -> Sequence[tuple[str, str]]:
    """The outputs that differ, with how."""
    differences = ((name, compare(found[name], expected[name])) for name in expected)
    return [(name, difference.text) for name, difference in differences if difference is not None]
